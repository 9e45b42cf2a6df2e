// SPDX-License-Identifier: Apache-2.0
//! `weir-io demo`: a device with two PLCs on this machine, both at 1 ms, on one port and one address.

mod network;
mod panel;
mod plcs;
mod press;
pub mod session;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clap::Args;
use weir_io::measuring::flows::Flows;
use weir_io::measuring::statistics::cycles;

use super::measure;
use say::say;
use session::{Session, Site};

/// How long all may take to find one another: a CC-Link master listens for another one first.
const START: Duration = Duration::from_secs(4);
/// How often the PLCs' programs have their turn.
const TURN: Duration = Duration::from_millis(5);

/// Runs a device between a PROFINET controller and a CC-Link master on this machine and shows the cycles on the wire
#[derive(Debug, Args)]
pub struct DemoArguments {
    /// The cycle of both protocols
    #[arg(long, default_value = "1ms", value_parser = humantime::parse_duration)]
    cycle: Duration,
    /// How long
    #[arg(long, default_value = "10s", value_parser = humantime::parse_duration)]
    during: Duration,
    /// Write scatter plot, distribution and table into one HTML file
    #[arg(long)]
    html: Option<PathBuf>,
    /// Write all frames on the device's cable into a capture (pcap)
    #[arg(long)]
    capture: Option<PathBuf>,
}

/// Runs it; the error is one line.
pub fn run(arguments: &DemoArguments) -> Result<(), String> {
    let site = Site::build()?;
    let cycle = humantime::format_duration(arguments.cycle);
    say!("a switch, and at it, each in a network namespace of its own:");
    say!("  device      weir-io run rte/examples/press.toml: PROFINET, CC-Link IE Field Basic and Modbus/TCP");
    say!("  controller  our PROFINET controller, cycle {cycle}");
    say!("  master      our CC-Link master, cycle {cycle}, with two slaves: the device has two addresses");
    say!("  panel       a Modbus/TCP client, 50 requests a second\n");
    let mut session = Session::start(&site, arguments.cycle, "", arguments.capture.as_deref())?;
    let watched = watch(&mut session, arguments.during);
    let (flows, log) = session.stop();
    say!("\nthe device said:");
    log.lines().for_each(|line| say!("  {line}"));
    watched?;
    let rows = measure::rows(Path::new("on the device's cable"), &flows, None);
    say!("\n{}", measure::table(&rows));
    measure::write_page(arguments.html.as_deref(), &rows)
}

/// Has the PLCs' programs run, and tells each second how it is.
fn watch(session: &mut Session, during: Duration) -> Result<(), String> {
    let heading = format!("{:>4}  {:<26} {:<30} {:<14}", "s", "PROFINET", "CC-Link", "Modbus/TCP");
    say!("{heading} mean cycle and largest deviation of the last second");
    let begin = Instant::now();
    let mut next = Duration::from_secs(1);
    let mut shown = 0;
    while begin.elapsed() < during + START {
        let seen = turn(session, begin.elapsed())?;
        if begin.elapsed() >= next {
            next += Duration::from_secs(1);
            say!("{:>4}  {seen} {}", begin.elapsed().as_secs(), recent(&session.heard, &mut shown));
        }
        std::thread::sleep(TURN);
    }
    Ok(())
}

/// One turn of both PLCs' programs. Answers what they see.
pub fn turn(session: &mut Session, since: Duration) -> Result<String, String> {
    session.check()?;
    let seconds = since.as_secs_f64();
    let speed = (1500.0 + 1000.0 * (seconds * 0.8).sin()) as u16;
    let force = (300.0 * (seconds * 0.5).sin()) as i16;
    let (phase, inputs) = session.controller.turn(&session.configuration, speed);
    let (scan, connected, seen) = session.master.turn(force);
    let speed_now = session
        .configuration
        .points
        .inputs
        .get("speed_now")
        .map_or(0, |point| u16::from_ne_bytes([inputs[point.offset], inputs[point.offset + 1]]));
    let profinet = format!("{phase:?}, speed {speed} → {speed_now}");
    let cclink = format!("{scan:?}, {connected} slaves, sees {seen}");
    let panel = &session.panel.seen;
    let (answers, speed) = (panel.answers.load(Ordering::Relaxed), panel.speed.load(Ordering::Relaxed));
    let panel = format!("{answers}, sees {speed}");
    Ok(format!("{profinet:<26} {cclink:<30} {panel:<14}"))
}

/// The last second's cycles of all flows.
fn recent(heard: &Mutex<Flows>, shown: &mut u64) -> String {
    let Ok(flows) = heard.lock() else { return String::new() };
    let newest = flows.seen.values().filter_map(|seen| seen.last()).max().copied().unwrap_or(0);
    let since = std::mem::replace(shown, newest);
    let one = flows.seen.iter().filter_map(|(flow, seen)| {
        let from = seen.partition_point(|at| *at < since);
        let of = cycles(&seen[from..], None)?;
        Some(format!("{} {:.3} ms, {:.0} µs", flow.short(), of.average_ms, of.deviation_max_ms * 1e3))
    });
    one.collect::<Vec<_>>().join("; ")
}
