// SPDX-License-Identifier: Apache-2.0
//! `weir calibrate`.

use super::arguments::{Failure, Verdict, say};
use crate::model;
use crate::workshop::Workshop;

/// Writes the calibration of the platform `model`.
pub fn run() -> Result<Verdict, Failure> {
    let workshop = Workshop::find().map_err(|error| Failure::Run(error.to_string()))?;
    let path = model::calibrate::run(&workshop, |run| eprintln!("{run}")).map_err(Failure::Run)?;
    say(&format!("Calibration: {}\n", path.display()));
    Ok(Verdict::Done)
}
