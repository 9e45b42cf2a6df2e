// SPDX-License-Identifier: Apache-2.0
//! What a user should know of the costs that a run used.

use super::costs::{Calibration, fingerprint};
use crate::scenario::Scenario;
use crate::soc::Image;
use crate::workshop::Workshop;

/// Whether the calibration is of the firmware that `soc` would run, and of the scenario's link order.
pub fn notes(calibration: &Calibration, scenario: &Scenario) -> Vec<String> {
    let mut notes = Vec::new();
    let mut calibrated = scenario.clone();
    calibrated.device.link_order = 0;
    calibrated.device.cpu_mhz = CALIBRATED_MHZ;
    calibrated.device.tick_us = CALIBRATED_TICK_US;
    let image = Workshop::find().and_then(|workshop| workshop.firmware(&calibrated));
    match image.map_err(|error| error.to_string()).and_then(|path| Image::open(&path)) {
        Ok(image) if fingerprint(&image) == calibration.firmware => {}
        Ok(image) => notes.push(format!(
            "the model's costs were read off another firmware ({}, this one is {}); `weir calibrate` reads them anew",
            calibration.firmware,
            fingerprint(&image)
        )),
        Err(_) => notes.push("there is no firmware here to hold the model's costs against".to_string()),
    }
    if scenario.device.link_order != 0 {
        notes.push("the model's costs are those of link order 0".to_string());
    }
    notes
}

/// As in the calibration's scenarios: the defaults.
const CALIBRATED_MHZ: u32 = 100;
const CALIBRATED_TICK_US: u32 = 1000;
