// SPDX-License-Identifier: Apache-2.0
//! The command line.

mod arguments;
mod calibrate;
mod check;
mod check_nic;
mod check_suggest;
mod compare;
mod input;
mod list;
mod nic_trace;
mod requirement;
mod run;
mod whole_file;

pub use arguments::main;
