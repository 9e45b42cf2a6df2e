// SPDX-License-Identifier: Apache-2.0
//! The `weir-edge` command.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use weir_edge::core::membership::Role;

mod commands;

/// Offloads real-time tasks to machines nearby: accepted means in time
#[derive(Debug, Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// A machine that takes tasks from clients, runs them, and hands on what it cannot finish in time
    Node {
        /// Its configuration
        file: PathBuf,
    },
    /// A machine that takes tasks from clients and has its workers run them
    Scheduler {
        /// Its configuration
        file: PathBuf,
    },
    /// A machine that runs what schedulers hand it
    Worker {
        /// Its configuration
        file: PathBuf,
    },
    /// Has a task done and tells what became of it
    #[command(after_help = "Exit status: 0 in time, 2 no node answers or the input is refused, 3 rejected, \
4 late or lost, 5 the program failed or exceeded its worst case; of several tasks, the highest.")]
    Submit(commands::submit::SubmitArguments),
    /// Shows what machines do, from their metrics
    Status(commands::status::StatusArguments),
    /// Makes a site key: weir-edge key > site.key
    Key,
    /// Starts three nodes and ten clients on this machine, kills a node, and shows what becomes of the tasks
    Demo(commands::demo::DemoArguments),
    /// Tries whether this kernel delays packets on request; within a network namespace of its own
    #[command(hide = true)]
    ProbeNetem,
    /// Takes as much processor time as it is told: a program for trials
    #[command(hide = true)]
    Compute(commands::compute::ComputeArguments),
    Sim(commands::sim::Args),
    Confirm(commands::confirm::Args),
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Node { file } => commands::machine::run(&file, Role::Node),
        Command::Scheduler { file } => commands::machine::run(&file, Role::Scheduler),
        Command::Worker { file } => commands::machine::run(&file, Role::Worker),
        Command::Submit(arguments) => commands::submit::run(&arguments),
        Command::Status(arguments) => commands::status::run(&arguments),
        Command::Demo(arguments) => commands::demo::run(&arguments),
        Command::ProbeNetem => commands::demo::privileges::probe(),
        Command::Compute(arguments) => commands::compute::run(&arguments),
        Command::Key => commands::key::run(),
        Command::Sim(args) => commands::sim::run(&args),
        Command::Confirm(args) => commands::confirm::run(&args),
    }
}
