// SPDX-License-Identifier: Apache-2.0
//! `weir-edge status`: what machines do.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use super::table;
use say::say;

/// What `status` is given.
#[derive(Debug, Args)]
#[command(after_help = "Exit status with --once: 0 all machines answered, 1 one did not.")]
pub struct StatusArguments {
    /// The machines' metrics addresses, as in their configuration
    #[arg(required = true, value_name = "ADDRESS")]
    metrics: Vec<SocketAddr>,
    /// Prints the table once, for scripts
    #[arg(long)]
    once: bool,
    /// How often the table is renewed
    #[arg(long, value_parser = humantime::parse_duration, default_value = "1s", value_name = "DURATION")]
    every: Duration,
}

/// Prints the table, again and again unless told otherwise.
pub fn run(arguments: &StatusArguments) -> ExitCode {
    let terminal = std::io::stdout().is_terminal();
    loop {
        let fetched: Vec<_> = arguments.metrics.iter().map(|address| (*address, table::fetch(*address))).collect();
        let rows = fetched.iter().map(|(address, fetched)| table::row(*address, fetched));
        let lines: Vec<String> = std::iter::once(table::heading()).chain(rows).collect();
        let live = terminal && !arguments.once;
        let width = if live { table::width() } else { usize::MAX };
        let lines: Vec<String> = lines.iter().map(|line| table::cut(line, width)).collect();
        let home = if live { "\x1b[2J\x1b[H" } else { "" };
        say!("{home}{}", lines.join("\n"));
        if arguments.once {
            let all = fetched.iter().all(|(_, fetched)| fetched.is_ok());
            return if all { ExitCode::SUCCESS } else { ExitCode::FAILURE };
        }
        std::thread::sleep(arguments.every);
    }
}
