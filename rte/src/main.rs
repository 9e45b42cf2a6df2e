// SPDX-License-Identifier: Apache-2.0
//! The `weir-io` command.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use weir_io::configuration::Configuration;

/// An I/O device that serves several PLCs at once, each with its own real-time Ethernet protocol
#[derive(Debug, Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Tells whether a configuration is right, and touches nothing
    Check {
        /// The configuration
        file: PathBuf,
    },
}

fn main() -> ExitCode {
    let Command::Check { file } = Arguments::parse().command;
    match Configuration::read(&file) {
        Ok(configuration) => {
            println!("{}: {} is right", file.display(), configuration.device.name);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("weir-io: {error}");
            ExitCode::FAILURE
        }
    }
}
