// SPDX-License-Identifier: Apache-2.0
//! The subcommands.

pub mod compute;
pub mod confirm;
pub mod demo;
pub mod key;
pub mod machine;
mod processes;
pub mod sim;
pub mod status;
pub mod submit;
mod table;
