// SPDX-License-Identifier: Apache-2.0
//! `weir nic-trace`: what a multiqueue NIC would announce of a load, and when.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;

use super::arguments::{Failure, Verdict, say};
use super::whole_file;
use crate::nic::{Cause, Interrupt, Load, Nic, Settings, Totals};

/// `weir nic-trace`.
#[derive(Debug, Args)]
pub struct NicTraceArguments {
    /// A capture (pcap, pcapng), or a list of frames (.csv: MICROSECONDS,SENDER per line)
    pub load: PathBuf,
    /// The NIC's queues and timers
    #[arg(long, value_name = "FILE.toml")]
    pub nic: PathBuf,
    /// Where the interrupts go, as CSV: time_us,queue,cause,frames
    #[arg(long, value_name = "FILE.csv")]
    pub out: Option<PathBuf>,
}

/// Runs it and prints a table.
pub fn run(options: &NicTraceArguments) -> Result<Verdict, Failure> {
    let settings = Settings::open(&options.nic).map_err(|error| Failure::Input(error.to_string()))?;
    let load = Load::open(&options.load, &settings).map_err(|error| Failure::Input(error.to_string()))?;
    for note in &load.notes {
        eprintln!("note: {note}");
    }
    let mut interrupts = Vec::new();
    let mut nic = Nic::new(&settings);
    for frame in &load.frames {
        nic.frame(frame.time, usize::from(frame.queue), |interrupt| interrupts.push(interrupt));
    }
    if let Some(last) = load.frames.last() {
        nic.advance(last.time + settle_cycles(&settings), |interrupt| interrupts.push(interrupt));
    }
    if let Some(out) = &options.out {
        whole_file::write(out, trace(&interrupts, &settings).as_bytes())
            .map_err(|(_, error)| Failure::Run(format!("cannot write {}: {error}", out.display())))?;
    }
    say(&table(&settings, &load, &nic.totals()));
    Ok(Verdict::Done)
}

/// After the last frame: as long as the longest timer, so that what waits is announced.
fn settle_cycles(settings: &Settings) -> u64 {
    settings.queues.iter().map(|queue| queue.packet_cycles.max(queue.absolute_cycles)).max().unwrap_or(0)
}

fn trace(interrupts: &[Interrupt], settings: &Settings) -> String {
    let mut text = "time_us,queue,cause,frames\n".to_owned();
    let clock = u64::from(settings.clock_mhz);
    for Interrupt { time, queue, cause, frames } in interrupts {
        let (us, ns) = (time / clock, time % clock * 1000 / clock);
        let _ = writeln!(text, "{us}.{ns:03},{},{},{frames}", settings.queues[*queue].name, cause.name());
    }
    text
}

fn table(settings: &Settings, load: &Load, totals: &[Totals]) -> String {
    let widest = settings.queues.iter().map(|queue| queue.name.chars().count()).max().unwrap_or(0).max("queue".len());
    let mut text = format!("{:<widest$}  {:>10}  {:>10}  {:>10}", "queue", "frames", "full", "interrupts");
    for cause in Cause::ALL {
        let _ = write!(text, "  {:>14}", cause.name());
    }
    text.push('\n');
    for (queue, totals) in settings.queues.iter().zip(totals) {
        let interrupts: u64 = totals.interrupts.iter().sum();
        let _ = write!(text, "{:<widest$}  {:>10}  {:>10}  {interrupts:>10}", queue.name, totals.frames, totals.full);
        for count in totals.interrupts {
            let _ = write!(text, "  {count:>14}");
        }
        text.push('\n');
    }
    let sum = |of: fn(&Totals) -> u64| totals.iter().map(of).sum::<u64>();
    let interrupts = sum(|totals| totals.interrupts.iter().sum());
    let frames = sum(|totals| totals.frames) + load.filtered;
    let (full, waiting, announced) =
        (sum(|totals| totals.full), sum(|totals| totals.waiting), sum(|totals| totals.announced));
    let _ = writeln!(
        text,
        "\n{frames} frames, {interrupts} interrupts: {announced} announced, {} filtered, {full} dropped in full queues, \
         {waiting} waiting.",
        load.filtered
    );
    let lost = frames - load.filtered - announced - full - waiting;
    if lost > 0 {
        let _ = writeln!(text, "{lost} lost without being counted, as in the published simulator.");
    }
    text
}
