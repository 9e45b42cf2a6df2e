// SPDX-License-Identifier: Apache-2.0
//! Options and exit statuses.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use super::requirement::Requirement;
use super::{calibrate, check, check_suggest, compare, input, list, nic_trace, run};
use crate::scenario::Overrides;
use crate::workshop::Workshop;

/// The run was made, the claim holds, the scenario is valid.
const DONE: u8 = 0;
/// A run failed: a fault or a hang on the device, or a tool that is missing.
const FAILED: u8 = 1;
/// The input is refused.
const REFUSED: u8 = 2;
/// A `--require` does not hold.
const BROKEN_CLAIM: u8 = 3;

/// Shows what a network does to the deadlines of a small real-time device
#[derive(Debug, Parser)]
#[command(
    version,
    about,
    after_help = "Exit status: 0 done (missed deadlines are a result, not an error), 1 a run \
failed, 2 the input is refused, 3 a --require does not hold."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs a scenario and reports what happened to every deadline and every packet
    Run(RunArguments),
    /// Checks a scenario without running it
    Check {
        /// The scenario
        file: PathBuf,
        #[command(flatten)]
        overrides: Overrides,
        /// Fills what the queues of the multiqueue NIC leave open, so that every rule of the parameters holds
        #[arg(long)]
        suggest: bool,
    },
    /// Shows which interrupts a multiqueue NIC makes of a capture
    NicTrace(nic_trace::NicTraceArguments),
    /// Runs scenarios on both platforms and shows how far the model is from soc
    Compare(compare::CompareArguments),
    /// Measures anew, on soc, what the model's software costs; weir has to be built again after it
    Calibrate,
    /// Lists the scenarios that come with weir
    List {
        /// Another folder
        folder: Option<PathBuf>,
    },
}

/// `weir run`.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// The scenario
    pub file: PathBuf,
    #[command(flatten)]
    pub overrides: Overrides,
    /// Where results.json, report.html and timelines go [default: out/NAME-OF-THE-FILE]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Runs at the same time [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    /// Also writes a timeline per run that opens in Perfetto (ui.perfetto.dev)
    #[arg(long)]
    pub trace: bool,
    /// Prints results.json instead of the table
    #[arg(long)]
    pub json: bool,
    /// Exit status 3 unless it holds: no-misses, or no-misses=VARIANT; may be given several times
    #[arg(long, value_name = "CLAIM")]
    pub require: Vec<Requirement>,
}

/// What a command came to.
pub enum Verdict {
    /// Exit status 0.
    Done,
    /// Exit status 3, and why.
    BrokenClaim(String),
}

/// Why a command failed.
pub enum Failure {
    /// Exit status 1.
    Run(String),
    /// Exit status 2.
    Input(String),
}

/// The program.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match &arguments.command {
        Command::Run(options) => run::run(options),
        Command::Check { file, overrides, suggest } => input::read(file, overrides).and_then(|checked| {
            print(if *suggest { check_suggest::suggest(&checked) } else { Ok(check::describe(&checked)) })
        }),
        Command::NicTrace(options) => nic_trace::run(options),
        Command::Compare(options) => compare::run(options),
        Command::Calibrate => calibrate::run(),
        Command::List { folder } => print(list_scenarios(folder.clone())),
    };
    ExitCode::from(match result {
        Ok(Verdict::Done) => DONE,
        Ok(Verdict::BrokenClaim(text)) => {
            eprintln!("{text}");
            BROKEN_CLAIM
        }
        Err(Failure::Run(text)) => {
            eprintln!("weir: {text}");
            FAILED
        }
        Err(Failure::Input(text)) => {
            eprintln!("{}", text.trim_end());
            REFUSED
        }
    })
}

/// Prints; a reader who has gone away, as `head` does, is no error.
pub fn say(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

fn print(text: Result<String, String>) -> Result<Verdict, Failure> {
    say(&text.map_err(Failure::Input)?);
    Ok(Verdict::Done)
}

fn list_scenarios(folder: Option<PathBuf>) -> Result<String, String> {
    let folder = match folder {
        Some(folder) => folder,
        None => Workshop::find().map_err(|error| error.to_string())?.root().join("scenarios"),
    };
    list::run(&folder).map_err(|error| error.to_string())
}
