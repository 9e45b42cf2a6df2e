// SPDX-License-Identifier: Apache-2.0
//! `weir-io experiment`: the paper's figures 4 and 7 and its table III: the device as stacks usually are, and as it is
//! here, on the same machine in the same run.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use clap::Args;
use say::say;

use super::demo::session::{Session, Site};
use super::demo::turn;
use super::measure;

/// What a CC-Link master takes to begin, and policies to settle.
const START: Duration = Duration::from_secs(8);
const TURN: Duration = Duration::from_millis(5);
/// The variants: what they are called, and their `[fitting]`.
const VARIANTS: [(&str, &str); 4] = [
    ("a tick of 500 µs, SCHED_OTHER", "policy = \"other\"\ncpu = \"any\"\ntick_us = 500"),
    ("a tick of 500 µs, SCHED_FIFO", "policy = \"fifo\"\ncpu = \"any\"\ntick_us = 500"),
    ("the event, SCHED_FIFO", "policy = \"fifo\"\ncpu = \"any\""),
    ("the event, SCHED_DEADLINE where allowed", ""),
];

/// Compares the device with stacks that tick, both protocols at once, on this machine in one run (table III of the paper)
#[derive(Debug, Args)]
pub struct ExperimentArguments {
    /// The cycle of both protocols
    #[arg(long, default_value = "1ms", value_parser = humantime::parse_duration)]
    cycle: Duration,
    /// How long each variant is measured
    #[arg(long, default_value = "20s", value_parser = humantime::parse_duration)]
    during: Duration,
    /// So many programs that compute all the time, of ordinary priority
    #[arg(long, default_value_t = 0)]
    load: usize,
    /// Write scatter plots, distributions and the table into one HTML file
    #[arg(long)]
    html: Option<PathBuf>,
    /// Write the figures as JSON
    #[arg(long)]
    json: Option<PathBuf>,
}

/// Runs it; the error is one line.
pub fn run(arguments: &ExperimentArguments) -> Result<(), String> {
    let site = Site::build()?;
    let load = Load::start(arguments.load);
    let (mut rows, mut executions) = (Vec::new(), Vec::new());
    for (name, fitting) in VARIANTS {
        eprintln!("{name}: {} ...", humantime::format_duration(arguments.during));
        let mut session = Session::start(&site, arguments.cycle, fitting, None)?;
        let begin = Instant::now();
        let mut is_settled = false;
        while begin.elapsed() < START + arguments.during {
            turn(&mut session, begin.elapsed())?;
            if !is_settled && begin.elapsed() >= START {
                is_settled = true;
                if let Ok(mut heard) = session.heard.lock() {
                    *heard = Default::default();
                }
            }
            std::thread::sleep(TURN);
        }
        let heard = session.heard.lock().map(|mut flows| std::mem::take(&mut *flows)).unwrap_or_default();
        executions.push((name, session.executions()));
        session.stop();
        rows.extend(measure::rows(Path::new(name), &heard, Some(arguments.cycle.as_nanos() as u64)));
    }
    load.stop();
    say!("{}", measure::table(&rows));
    say!(
        "What the rounds of the cyclic lanes took of the CPU in µs, and the runtime that follows: mean and three sigma"
    );
    say!(
        "{:<44} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "",
        "mean",
        "σ",
        "50 %",
        "99 %",
        "99.9 %",
        "max",
        "runtime"
    );
    for (name, lanes) in executions {
        say!("{name}");
        for (lane, figures) in lanes {
            let figures: String = figures.iter().map(|ns| format!(" {:>8.1}", *ns as f64 / 1e3)).collect();
            say!("  {lane:<42}{figures}");
        }
    }
    measure::write_page(arguments.html.as_deref(), &rows)?;
    measure::write_json(arguments.json.as_deref(), &rows)
}

/// Threads that compute.
struct Load {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    fn start(count: usize) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let threads = (0..count).map(|_| {
            let stopped = stop.clone();
            std::thread::spawn(move || {
                while !stopped.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        });
        let threads = threads.collect();
        Self { stop, threads }
    }

    fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            let _ = thread.join();
        }
    }
}
