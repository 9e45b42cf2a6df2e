// SPDX-License-Identifier: Apache-2.0
//! The platform `soc`: the whole device, cycle for cycle, in Verilator.

mod events;
mod ffi;
mod image;
mod run;
mod scenario_block;

pub use ffi::open as open_library;
pub use image::Image;
pub use run::{Outcome, RunError, Runner, Witness};
pub use scenario_block::device_mac;
