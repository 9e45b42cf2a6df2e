// SPDX-License-Identifier: Apache-2.0
//! `weir-io measure`: on-wire cycle times of captures.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use report_page::{CHART_LIBRARY, STYLE, escape, escape_script, fill};
use say::put;
use serde::Serialize;
use weir_io::measuring::capture::frames;
use weir_io::measuring::flows::{Flow, Flows};
use weir_io::measuring::live::Ear;
use weir_io::measuring::statistics::{Cycles, cycles, intervals, quantile};

/// At most so many points of a flow are drawn; the rarest, the longest cycles, always are.
const POINTS_MAX: usize = 4000;
const PAGE: &str = include_str!("../../assets/measure.html");

/// Shows how evenly the cyclic frames of captures, or of an interface, come
#[derive(Debug, Args)]
pub struct MeasureArguments {
    /// Captures (pcap, pcapng); - is standard input
    #[arg(required_unless_present = "live")]
    files: Vec<PathBuf>,
    /// Listen to an interface, such as a mirror port's, instead
    #[arg(long, value_name = "INTERFACE", conflicts_with = "files")]
    live: Option<String>,
    /// How long to listen
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = humantime::parse_duration, requires = "live")]
    during: Duration,
    /// The cycle that is meant, such as 1ms; otherwise the median to the nearest 1/32 ms
    #[arg(long, value_parser = humantime::parse_duration)]
    cycle: Option<Duration>,
    /// Write scatter plot, histogram and table into one HTML file
    #[arg(long)]
    html: Option<PathBuf>,
    /// Write the figures as JSON
    #[arg(long)]
    json: Option<PathBuf>,
}

/// The figures of a flow.
#[derive(Serialize)]
pub struct Row {
    capture: String,
    flow: String,
    cycles: Cycles,
    /// Median, 99.9 % and longest response time in microseconds.
    response_us: Option<[f64; 3]>,
    /// From the controller's Connect request to the first cyclic frame, in milliseconds.
    start_ms: Option<f64>,
    /// Seconds since the first frame and the cycle that began there in milliseconds.
    points: Vec<(f64, f64)>,
    /// Deviations in microseconds and which share of the cycles has a larger one.
    tail: Vec<(f64, f64)>,
}

/// Runs the command; the error is one line.
pub fn run(arguments: &MeasureArguments) -> Result<(), String> {
    let cycle = arguments.cycle.map(|cycle| cycle.as_nanos() as u64);
    let mut rows = Vec::new();
    for source in arguments.live.iter().map(PathBuf::from).chain(arguments.files.iter().cloned()) {
        let file = source.as_path();
        let flows = match &arguments.live {
            Some(interface) => listen(interface, arguments.during)?,
            None => read(file).map_err(|error| format!("{}: {error}", file.display()))?,
        };
        if flows.seen.is_empty() {
            let what = "has no cyclic frames of PROFINET (RT) or CC-Link IE Field Basic";
            return Err(format!("{}: {what} among its {} frames", file.display(), flows.frames));
        }
        rows.extend(self::rows(file, &flows, cycle));
    }
    put(format_args!("{}", table(&rows)));
    write_page(arguments.html.as_deref(), &rows)?;
    write_json(arguments.json.as_deref(), &rows)
}

/// The figures of all flows; `source` is what they are called by.
pub fn rows(source: &Path, flows: &Flows, cycle: Option<u64>) -> Vec<Row> {
    flows.seen.iter().filter_map(|(flow, seen)| row(source, *flow, seen, flows, cycle)).collect()
}

/// Writes the page, if one is wanted.
pub fn write_page(path: Option<&Path>, rows: &[Row]) -> Result<(), String> {
    path.map_or(Ok(()), |path| write(path, &page(rows)))
}

/// Writes the figures, if they are wanted.
pub fn write_json(path: Option<&Path>, rows: &[Row]) -> Result<(), String> {
    let Some(path) = path else { return Ok(()) };
    let mut json = serde_json::json!(rows);
    for row in json.as_array_mut().into_iter().flatten() {
        for long in ["points", "tail"] {
            row.as_object_mut().map(|row| row.remove(long));
        }
    }
    write(path, &format!("{json:#}\n"))
}

fn listen(interface: &str, during: Duration) -> Result<Flows, String> {
    let mut flows = Flows::default();
    let ear = Ear::open(interface).map_err(|error| error.to_string())?;
    ear.listen(during, |at, frame| flows.add(at, frame)).map_err(|error| error.to_string())?;
    Ok(flows)
}

fn read(file: &Path) -> Result<Flows, String> {
    let mut flows = Flows::default();
    let each = |at, frame: &[u8]| flows.add(at, frame);
    if file == Path::new("-") {
        frames(io::stdin().lock(), each)?;
    } else {
        frames(File::open(file).map_err(|error| error.to_string())?, each)?;
    }
    Ok(flows)
}

fn row(file: &Path, flow: Flow, seen: &[u64], flows: &Flows, cycle: Option<u64>) -> Option<Row> {
    let response_us = flows.responses.get(&flow).map(|spans| {
        let mut sorted = spans.clone();
        sorted.sort_unstable();
        [0.5, 0.999, 1.0].map(|share| quantile(&sorted, share) as f64 / 1e3)
    });
    let start_ms = flows.started.get(&flow).map(|span| *span as f64 / 1e6);
    let first = *seen.first()?;
    let mut points: Vec<_> = intervals(seen).map(|(at, span)| ((at - first) as f64 / 1e9, span as f64 / 1e6)).collect();
    points.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let step = points.len().div_ceil(POINTS_MAX).max(1);
    let points =
        points.iter().enumerate().filter(|(n, _)| *n < 100 || n % step == 0).map(|(_, point)| *point).collect();
    let capture = file.display().to_string();
    let mut row = Row {
        capture,
        flow: flow.to_string(),
        cycles: cycles(seen, cycle)?,
        response_us,
        start_ms,
        points,
        tail: Vec::new(),
    };
    row.tail = tail(seen, row.cycles.cycle_ms);
    Some(row)
}

/// Deviations of a few hundred ranks, the largest ones all.
fn tail(seen: &[u64], cycle_ms: f64) -> Vec<(f64, f64)> {
    let cycle = (cycle_ms * 1e6) as u64;
    let mut deviations: Vec<u64> = intervals(seen).map(|(_, span)| span.abs_diff(cycle)).collect();
    deviations.sort_unstable_by(|one, other| other.cmp(one));
    let count = deviations.len() as f64;
    let ranks = std::iter::successors(Some(0_usize), |rank| Some((rank + 1).max(rank * 103 / 100)));
    let ranks = ranks.take_while(|rank| *rank < deviations.len());
    let mut tail: Vec<_> = ranks.map(|rank| (deviations[rank] as f64 / 1e3, (rank + 1) as f64 / count)).collect();
    tail.reverse();
    tail
}

/// The paper's table III.
pub fn table(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<44} {:>8} {:>8} {:>9} {:>9} {:>9} {:>12} {:>12} {:>12}\n",
        "", "cycles", "cycle ms", "avg. ms", "σ ms", "max. ms", "avg. jitter", "99.9 % dev.", "max. dev. ms"
    );
    let mut capture = "";
    for row in rows {
        if row.capture != capture {
            capture = &row.capture;
            text += &format!("{capture}\n");
        }
        let of = &row.cycles;
        text += &format!(
            "  {:<42} {:>8} {:>8.3} {:>9.3} {:>9.3} {:>9.3} {:>12.6} {:>12.3} {:>12.3}\n",
            row.flow,
            of.count,
            of.cycle_ms,
            of.average_ms,
            of.sigma_ms,
            of.maximum_ms,
            of.average_jitter_ms,
            of.deviation_p999_ms,
            of.deviation_max_ms
        );
        if let Some([median, most, max]) = row.response_us {
            text +=
                &format!("    answers after {median:.0} µs (median), {most:.0} µs (99.9 %), {max:.0} µs (longest)\n");
        }
        if let Some(ms) = row.start_ms {
            text += &format!("    first frame {ms:.1} ms after the Connect request\n");
        }
        if of.interruptions > 0 {
            text += &format!("    {} silences of more than a second are left out\n", of.interruptions);
        }
    }
    text
}

fn page(rows: &[Row]) -> String {
    let values = [
        ("title", escape("On-wire cycle times")),
        ("style", STYLE.to_owned()),
        ("library", CHART_LIBRARY.to_owned()),
        ("data", escape_script(&serde_json::json!(rows).to_string())),
    ];
    fill(PAGE, &values.each_ref().map(|(name, value)| (*name, value.as_str())))
}

/// Writes a file, whole or not at all.
pub fn write(path: &Path, text: &str) -> Result<(), String> {
    let new = path.with_extension("new");
    let written = fs::write(&new, text).and_then(|()| fs::rename(&new, path));
    written.map_err(|error| format!("{}: cannot be written: {error}", path.display()))
}
