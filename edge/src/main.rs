// SPDX-License-Identifier: Apache-2.0
//! The `weir-edge` command.

mod commands;

use std::process::ExitCode;

use clap::Parser;

/// Offloads real-time tasks to machines nearby: accepted means in time.
#[derive(Parser)]
#[command(version)]
enum Command {
    Sim(commands::sim::Args),
}

fn main() -> ExitCode {
    match Command::parse() {
        Command::Sim(args) => commands::sim::run(&args),
    }
}
