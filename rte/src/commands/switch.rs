// SPDX-License-Identifier: Apache-2.0
//! `weir-io switch`: what a switch's port does to the streams, and how a Linux switch is told to protect them.

use std::path::PathBuf;
use std::process::Command;

use clap::Args;
use say::{put, say};
use weir_io::fitting::switch::analysis::bound;
use weir_io::fitting::switch::linux::{commands, slopes};
use weir_io::fitting::switch::queues::Discipline;
use weir_io::fitting::switch::simulation::{Outcome, simulate};
use weir_io::fitting::switch::traffic::{Source, Traffic};

/// Shows what a switch's port does to streams, and prints or applies the configuration of a Linux switch
#[derive(Debug, Args)]
pub struct SwitchArguments {
    /// Streams and load, as in rte/scenarios/switch
    file: PathBuf,
    /// The switch's port, for the commands
    #[arg(long, default_value = "PORT")]
    interface: String,
    /// Have the switch's hardware shape
    #[arg(long)]
    offload: bool,
    /// Run the commands on this machine
    #[arg(long, requires = "interface")]
    apply: bool,
}

/// Runs the command; the error is one line.
pub fn run(arguments: &SwitchArguments) -> Result<(), String> {
    let traffic = Traffic::read(&arguments.file).map_err(|error| error.to_string())?;
    put(format_args!("{}", table(&traffic)));
    say!("\nIEEE 802.1Qav, from the streams:");
    for of in slopes(&traffic) {
        say!(
            "  priority {}: idle slope {} bit/s, send slope {} bit/s, credit {} to {} bytes",
            of.priority,
            of.idle_bps,
            of.send_bps,
            of.low_bytes,
            of.high_bytes
        );
    }
    let text = commands(&traffic, &arguments.interface, arguments.offload);
    say!("\nOn a Linux switch, for the port towards the receiver:\n{text}");
    say!(
        "Frames from ports that have no stream must not keep a stream's priority: give these ports\n\
         an ingress rule that sets priority 0 (tc … ingress … action skbedit priority 0)."
    );
    if arguments.apply { apply(&text) } else { Ok(()) }
}

fn table(traffic: &Traffic) -> String {
    let mut text = format!(
        "{:<8} {:<18} {:>8} {:>7} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}  connection\n",
        "port", "from", "frames", "lost", "min µs", "mean µs", "99.9 % µs", "max µs", "bound µs", "gap ms"
    );
    for discipline in Discipline::ALL {
        for (source, outcome) in traffic.sources.iter().zip(simulate(discipline, traffic)) {
            text += &row(discipline, source, &outcome, traffic);
        }
    }
    text
}

fn row(discipline: Discipline, source: &Source, outcome: &Outcome, traffic: &Traffic) -> String {
    let frames = outcome.delays.len() as u64 + outcome.lost;
    let us = |bit_times: Option<u64>| bit_times.map_or_else(|| "-".into(), |value| format!("{:.1}", traffic.us(value)));
    let mean = outcome.delays.iter().sum::<u64>().checked_div(outcome.delays.len() as u64);
    let bound = if source.is_stream { us(bound(discipline, source, traffic)) } else { String::new() };
    let gap = if source.is_stream { format!("{:.2}", traffic.us(outcome.longest_gap) / 1e3) } else { String::new() };
    let connection = match source.is_stream {
        false => String::new(),
        true if outcome.delays.is_empty() => "lost".into(),
        true if outcome.longest_gap > source.watchdog * source.period => lost(outcome, traffic),
        true => "held".into(),
    };
    format!(
        "{:<8} {:<18} {frames:>8} {:>7} {:>9} {:>9} {:>9} {:>9} {bound:>9} {gap:>9}  {connection}\n",
        discipline.name(),
        source.name,
        outcome.lost,
        us(outcome.delays.iter().min().copied()),
        us(mean),
        us(outcome.quantile(0.999)),
        us(outcome.delays.iter().max().copied()),
    )
}

/// When frames come again after the last load that ends before the simulation does.
fn lost(outcome: &Outcome, traffic: &Traffic) -> String {
    let loads = traffic.sources.iter().filter(|source| !source.is_stream && source.until < traffic.span);
    let again = loads.map(|source| source.until).max().and_then(|end| {
        let next = outcome.arrivals.iter().find(|at| **at >= end)?;
        Some(format!("lost, again {:.1} ms after the load", traffic.us(next - end) / 1e3))
    });
    again.unwrap_or_else(|| "lost".into())
}

fn apply(commands: &str) -> Result<(), String> {
    for line in commands.lines() {
        let mut words = line.split(' ');
        let program = words.next().unwrap_or_default();
        let output = Command::new(program)
            .args(words)
            .output()
            .map_err(|error| format!("{program} cannot be run: {error}; it is in the package iproute2"))?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
            return Err(format!("\"{line}\" failed: {}", why.trim().replace('\n', " ")));
        }
    }
    say!("applied");
    Ok(())
}
