// SPDX-License-Identifier: Apache-2.0
//! From the events of a run to its figures. Exact: everything comes from cycle stamps, nothing from sampling.
//!
//! [`cpu`] knows who has the CPU, [`packets`] where every frame is, [`jobs`] what every task achieved;
//! [`Observer`] feeds them and makes the result.

mod cpu;
mod eager;
mod event;
mod inversion;
mod jobs;
mod observer;
mod packets;
mod quantiles;
#[cfg(test)]
mod tests;

pub use cpu::{Lanes, Thread};
pub use event::{Drop, Observed};
pub use observer::{Ending, FirmwareBuffers, Measured, Observer, StuckJob};
pub use quantiles::{cycle_quantiles, quantiles_us};
