// SPDX-License-Identifier: Apache-2.0
//! Scenario files: the user's whole input.
//!
//! [`load()`] reads a TOML file, applies the command line's [`Overrides`], checks everything that can be checked before
//! a run, and returns one [`Case`] for each combination of swept values. What is wrong comes back all at once, each
//! problem with its file, line and column ([`InputErrors`]).
//!
//! On the way from text to [`Scenario`]:
//!
//! ```text
//! text -> tree (values with places) -> overrides -> sweep (one tree per case) -> device, tasks, traffic -> link
//! ```
//!
//! [`keys`] is the table of every key; the reader takes ranges and defaults from it, and so does the reference.

mod device;
mod files;
pub mod keys;
mod link;
mod load;
mod model;
pub mod moderation;
mod naming;
mod network;
mod nic;
mod overrides;
mod pattern;
mod reader;
mod report;
mod suggest;
mod sweep;
mod target;
mod task;
mod top;
mod traffic;
mod tree;
mod warnings;
mod work;

pub use load::{Checked, InputErrors, check, load};
pub use model::*;
pub use overrides::Overrides;
pub use report::{Problem, Report, Severity};
