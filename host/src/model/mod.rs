// SPDX-License-Identifier: Apache-2.0
//! The platform `model`: the same device, event by event instead of cycle by cycle.
//!
//! Between two marks that the firmware makes at its trace port, and that the scheduler makes when it switches tasks,
//! a task costs so many cycles. [`costs`] names these stretches, [`measure`] reads them off the events of a run on
//! `soc`, [`calibrate`] makes such runs and writes the calibration file. [`device`] goes from mark to mark: it has
//! FreeRTOS's ready lists ([`ready`]), the NICs ([`ring`], [`queues`]), the library's flow queues ([`flows`]) and
//! decides what the firmware would decide. What it tells the observer is what `soc` would tell it, so that results and
//! reports are made by the same code.

pub mod calibrate;
mod costs;
mod covers;
mod device;
mod flows;
mod frames;
mod measure;
mod notes;
mod paths;
mod queues;
mod ready;
mod ring;
mod run;
mod threads;

pub use costs::Calibration;
pub use covers::{VARIANTS, refusal};
pub use notes::notes;
pub use run::Runner;
