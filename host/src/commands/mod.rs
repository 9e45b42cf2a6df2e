// SPDX-License-Identifier: Apache-2.0
//! The command line.

mod arguments;
mod check;
mod input;
mod list;
mod nic_trace;
mod requirement;
mod run;

pub use arguments::main;
