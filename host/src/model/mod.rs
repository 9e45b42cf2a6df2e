// SPDX-License-Identifier: Apache-2.0
//! The platform `model`: the same device, event by event instead of cycle by cycle.
//!
//! Between two marks that the firmware makes at its trace port, and that the scheduler makes when it switches tasks,
//! a task costs so many cycles. [`costs`] names these stretches, [`measure`] reads them off the events of a run on
//! `soc`, [`calibrate`] makes such runs and writes the calibration file. [`device`] goes from mark to mark: it has
//! FreeRTOS's ready lists ([`ready`]), the NICs ([`ring`], [`queues`]), the library's flow queues ([`flows`]) and
//! decides what the firmware would decide. What it tells the observer is what `soc` would tell it, so that results and
//! reports are made by the same code.
//!
//! What a device does is in one file for each part of it: [`events`] has the time, [`nic`] the frames that arrive,
//! [`interrupts`] the handler, [`scheduler`] the ready tasks, [`tasks`] the one that runs. That one is the driver's
//! ([`driver`]), the library's network task ([`network`]), the IP stack ([`stack`], which [`sends`]) or one of the
//! scenario's ([`jobs`]).

pub mod calibrate;
mod costs;
mod covers;
mod device;
mod driver;
mod events;
mod flows;
mod frames;
mod interrupts;
mod jobs;
mod measure;
mod network;
mod nic;
mod notes;
mod paths;
mod queues;
mod ready;
mod ring;
mod run;
mod scheduler;
mod sends;
mod stack;
mod tasks;
mod threads;

pub use costs::Calibration;
pub use covers::{VARIANTS, refusal};
pub use notes::notes;
pub use run::Runner;
