// SPDX-License-Identifier: Apache-2.0
//! `weir-io run` and the processes that it starts.

use std::path::Path;

use weir_io::configuration::Configuration;
use weir_io::fitting::child::{self, Place};
use weir_io::fitting::plugin;
use weir_io::fitting::supervisor::Supervisor;

/// Runs a device.
pub fn run(file: &Path) -> Result<(), String> {
    let configuration = Configuration::read(file).map_err(|error| error.to_string())?;
    Supervisor::new(&configuration, file).and_then(Supervisor::run).map_err(|error| error.to_string())
}

/// Runs its application.
pub fn plugin(file: &Path) -> Result<(), String> {
    let configuration = Configuration::read(file).map_err(|error| error.to_string())?;
    plugin::run(&configuration).map_err(|error| error.to_string())
}

/// Runs one of its protocols.
pub fn protocol(file: &Path, name: &str, place: &Place) -> Result<(), String> {
    let configuration = Configuration::read(file).map_err(|error| error.to_string())?;
    child::run(&configuration, name, place).map_err(|error| error.to_string())
}
