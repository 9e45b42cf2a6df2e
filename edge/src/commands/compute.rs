// SPDX-License-Identifier: Apache-2.0
//! `weir-edge compute`: a program that takes as much processor time as it is asked to, for trials.

use std::io::{self, Read};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use signal_hook::consts::SIGCONT;

use say::say;

/// What `--hold` sleeps at a time.
const SLICE: Duration = Duration::from_millis(1);

/// What `compute` is given.
#[derive(Debug, clap::Args)]
pub struct ComputeArguments {
    /// For how long, as 100ms; read from standard input if not given
    #[arg(value_parser = humantime::parse_duration)]
    duration: Option<Duration>,
    /// Holds its worker for so long without needing the processor
    #[arg(long)]
    hold: bool,
}

/// Does it, and writes a line.
pub fn run(arguments: &ComputeArguments) -> ExitCode {
    let done = arguments.duration.map_or_else(read, Ok).and_then(|duration| match arguments.hold {
        true => hold(duration).map(|()| "held".to_owned()).map_err(|error| format!("SIGCONT: {error}")),
        false => Ok(sum_for(duration).to_string()),
    });
    match done {
        Ok(line) => {
            say!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn read() -> Result<Duration, String> {
    let mut input = String::new();
    io::stdin().take(100).read_to_string(&mut input).map_err(|error| error.to_string())?;
    humantime::parse_duration(input.trim()).map_err(|_| format!("{input:?} is no duration, as \"100ms\""))
}

/// What passes while the process stands still does not count, but for a slice: a stopped program takes that much longer,
/// as one that computes does.
fn hold(duration: Duration) -> io::Result<()> {
    let continued = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGCONT, Arc::clone(&continued))?;
    let mut left = duration;
    while !left.is_zero() {
        let began = Instant::now();
        std::thread::sleep(SLICE.min(left));
        let passed = began.elapsed();
        left = left.saturating_sub(if continued.swap(false, Ordering::Relaxed) { passed.min(SLICE) } else { passed });
    }
    Ok(())
}

/// Adds numbers for so long of the process's own time: while it stands still it does not pass.
fn sum_for(duration: Duration) -> u64 {
    let (mut sum, mut number) = (0_u64, 1_u64);
    loop {
        for _ in 0..10_000 {
            number = std::hint::black_box(number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
            sum = sum.wrapping_add(number >> 32);
        }
        let used = clock_gettime(ClockId::ProcessCPUTime);
        let used = Duration::new(used.tv_sec.unsigned_abs(), u32::try_from(used.tv_nsec).unwrap_or(0));
        if used >= duration {
            return sum;
        }
    }
}
