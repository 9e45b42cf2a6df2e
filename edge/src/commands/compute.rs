// SPDX-License-Identifier: Apache-2.0
//! `weir-edge compute`: a program that takes as much processor time as it is asked to, for the demo and the tests.

use std::io::Read;
use std::process::ExitCode;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Reads a duration, as "100ms", from standard input, adds numbers for so long, and writes the sum.
pub fn run() -> ExitCode {
    let mut input = String::new();
    let read = std::io::stdin().take(100).read_to_string(&mut input);
    let parsed = read.map_err(|e| e.to_string()).and_then(|_| {
        humantime::parse_duration(input.trim()).map_err(|_| format!("{input:?} is no duration, as \"100ms\""))
    });
    match parsed {
        Ok(duration) => {
            println!("{}", sum_for(duration));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Of the process's own time: while it stands still it does not pass.
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
