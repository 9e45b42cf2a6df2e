// SPDX-License-Identifier: Apache-2.0
//! `weir-io wakeups`: the paper's figure 5: how late the kernel wakes a thread, by policy, pinned and not.

use std::path::{Path, PathBuf};

use clap::Args;
use report_page::{CHART_LIBRARY, STYLE, escape_script, fill};
use say::say;
use weir_io::configuration::Policy;
use weir_io::fitting::wakeup::{Trial, errors};
use weir_io::measuring::statistics::quantile;

use super::measure::write;

/// As in the paper.
const PERIOD: u64 = 500_000;
/// Of a curve.
const POINTS: usize = 400;
const PAGE: &str = include_str!("../../assets/wakeups.html");
const POLICIES: [(Policy, &str); 3] =
    [(Policy::Other, "SCHED_OTHER"), (Policy::Fifo, "SCHED_FIFO"), (Policy::Deadline, "SCHED_DEADLINE")];

/// Measures how late this machine wakes a thread every 500 µs, by policy, pinned to a CPU and not (figure 5 of the paper)
#[derive(Debug, Args)]
pub struct WakeupsArguments {
    /// How often for each policy; 1000000, as in the paper, takes nine minutes each
    #[arg(long, default_value_t = 10_000)]
    samples: usize,
    /// The CPU to pin to; the last one, if none is named
    #[arg(long)]
    cpu: Option<usize>,
    /// Write the probability plot into an HTML file
    #[arg(long)]
    html: Option<PathBuf>,
}

/// Runs it; the error is one line.
pub fn run(arguments: &WakeupsArguments) -> Result<(), String> {
    let last = std::thread::available_parallelism().map_or(0, |count| count.get() - 1);
    let pinned = arguments.cpu.unwrap_or(last);
    say!("{:<24} {:>9} {:>9} {:>9} {:>9} {:>9}   µs late", "", "50 %", "99 %", "99.9 %", "99.99 %", "max");
    let mut curves = Vec::new();
    for (policy, name) in POLICIES {
        for cpu in [None, Some(pinned)] {
            let name = cpu.map_or_else(|| name.to_owned(), |cpu| format!("{name}, CPU {cpu}"));
            match errors(Trial { policy, cpu, period: PERIOD, samples: arguments.samples }) {
                Ok(late) => curves.push(row(&name, late)),
                Err(error) => say!("{name:<24} {error}"),
            }
        }
    }
    arguments.html.as_deref().map_or(Ok(()), |path: &Path| {
        let data = escape_script(&serde_json::json!(curves).to_string());
        write(path, &fill(PAGE, &[("style", STYLE), ("library", CHART_LIBRARY), ("data", &data)]))
    })
}

/// Prints a line; answers name and curve: microseconds late, and the share that is at most that.
fn row(name: &str, late: Vec<u32>) -> (String, Vec<(f64, f64)>) {
    let mut sorted: Vec<u64> = late.into_iter().map(u64::from).collect();
    sorted.sort_unstable();
    let us = |share: f64| quantile(&sorted, share) as f64 / 1e3;
    let [a, b, c, d, e] = [0.5, 0.99, 0.999, 0.9999, 1.0].map(us);
    say!("{name:<24} {a:>9.1} {b:>9.1} {c:>9.1} {d:>9.1} {e:>9.1}");
    // Dense where it matters: at the rare ones.
    let share = |n: usize| 1.0 - 10_f64.powf(-6.0 * n as f64 / POINTS as f64);
    let curve = (0..=POINTS).map(|n| (us(share(n)), share(n))).collect();
    (name.to_owned(), curve)
}
