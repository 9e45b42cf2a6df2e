// SPDX-License-Identifier: Apache-2.0
//! The `weir-io` command.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use say::say;
use weir_io::configuration::Configuration;
use weir_io::fitting::child::Place;

mod commands;

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
    /// Runs a device until SIGTERM; SIGUSR1 prints what it counted
    Run {
        /// The configuration
        file: PathBuf,
    },
    /// Runs one protocol of a device; for `weir-io run`
    #[command(hide = true)]
    Protocol {
        /// The configuration
        file: PathBuf,
        /// Which one
        name: String,
        /// The set of CPUs that it enters
        #[arg(long)]
        set: Option<PathBuf>,
        /// The CPU that its cycle is pinned to
        #[arg(long)]
        cpu: Option<usize>,
    },
    /// Runs a device's application, if it is a plug-in; for `weir-io run`
    #[command(hide = true)]
    Plugin {
        /// The configuration
        file: PathBuf,
    },
    Demo(commands::demo::DemoArguments),
    Experiment(commands::experiment::ExperimentArguments),
    Alarm(commands::alarm::AlarmArguments),
    Dcp(commands::dcp::DcpArguments),
    CclinkMaster(commands::cclink_master::CclinkMasterArguments),
    Describe(commands::describe::DescribeArguments),
    ProfinetController(Box<commands::profinet_controller::ControllerArguments>),
    Switch(commands::switch::SwitchArguments),
    Tune(commands::tune::TuneArguments),
    Measure(commands::measure::MeasureArguments),
    Wakeups(commands::wakeups::WakeupsArguments),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Check { file } => check(&file),
        Command::Run { file } => commands::run::run(&file),
        Command::Protocol { file, name, set, cpu } => commands::run::protocol(&file, &name, &Place { set, cpu }),
        Command::Alarm(arguments) => commands::alarm::run(&arguments),
        Command::Dcp(arguments) => commands::dcp::run(&arguments),
        Command::ProfinetController(arguments) => commands::profinet_controller::run(&arguments),
        Command::CclinkMaster(arguments) => commands::cclink_master::run(&arguments),
        Command::Describe(arguments) => commands::describe::run(&arguments),
        Command::Experiment(arguments) => commands::experiment::run(&arguments),
        Command::Demo(arguments) => commands::demo::run(&arguments),
        Command::Plugin { file } => commands::run::plugin(&file),
        Command::Tune(arguments) => commands::tune::run(&arguments),
        Command::Switch(arguments) => commands::switch::run(&arguments),
        Command::Wakeups(arguments) => commands::wakeups::run(&arguments),
        Command::Measure(arguments) => commands::measure::run(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("weir-io: {error}");
            ExitCode::FAILURE
        }
    }
}

fn check(file: &Path) -> Result<(), String> {
    let configuration = Configuration::read(file).map_err(|error| error.to_string())?;
    say!("{}: {} is right", file.display(), configuration.device.name);
    Ok(())
}
