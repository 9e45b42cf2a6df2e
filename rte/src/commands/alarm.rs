// SPDX-License-Identifier: Apache-2.0
//! `weir-io alarm`: tells the PROFINET controllers of a device that runs that something happened.

use std::path::PathBuf;

use clap::Args;
use weir_io::configuration::Configuration;
use weir_io::fitting::requests;
use weir_io::protocol::profinet::device::request::parse;

/// Raises a process alarm or a diagnosis of the PROFINET device that runs
#[derive(Debug, Args)]
pub struct AlarmArguments {
    /// The configuration
    file: PathBuf,
    /// `process SLOT SUBSLOT STRUCTURE HEX`, or `diagnosis SLOT SUBSLOT CHANNEL ERROR appears` (or `disappears`)
    #[arg(required = true)]
    alarm: Vec<String>,
}

/// Does it.
pub fn run(arguments: &AlarmArguments) -> Result<(), String> {
    let configuration = Configuration::read(&arguments.file).map_err(|error| error.to_string())?;
    let file = arguments.file.display();
    let model = configuration.profinet.as_ref().ok_or_else(|| format!("{file}: it has no [profinet]"))?;
    let line = arguments.alarm.join(" ");
    let (slot, subslot) = parse(&line)?.place();
    if model.submodule(slot, subslot).is_none() {
        return Err(format!("{file}: nothing is plugged in slot {slot}, subslot {subslot}: see [[profinet.module]]"));
    }
    requests::send(&requests::path(&configuration.application.memory), &line).map_err(|error| error.to_string())
}
