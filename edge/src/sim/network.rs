// SPDX-License-Identifier: Apache-2.0
//! What a datagram meets on its way, and the machines' clocks.

use std::time::Duration;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::scenario::Way;
use crate::core::time::{Instant, nanoseconds};

/// The delays of the copies that arrive: none, one, or two.
pub fn delays(way: &Way, rng: &mut ChaCha8Rng) -> impl Iterator<Item = Duration> + use<> {
    let copies = if rng.random_bool(way.loss_percent / 100.0) {
        0
    } else {
        1 + usize::from(rng.random_bool(way.duplicate_percent / 100.0))
    };
    let mut delay = || {
        let jitter = if way.jitter_ms > 0.0 { rng.random_range(-way.jitter_ms..=way.jitter_ms) } else { 0.0 };
        Duration::from_secs_f64((way.delay_ms + jitter).max(0.0) / 1000.0)
    };
    let delays = [delay(), delay()];
    delays.into_iter().take(copies)
}

/// A machine's clock: where it stood at the run's start, and how it drifts.
#[derive(Clone, Copy, Debug)]
pub struct MachineClock {
    offset: u64,
    rate: f64,
}

impl MachineClock {
    /// One that starts anywhere within a day.
    pub fn random(drift_ppm: f64, rng: &mut ChaCha8Rng) -> Self {
        let drift = if drift_ppm > 0.0 { rng.random_range(-drift_ppm..=drift_ppm) } else { 0.0 };
        Self { offset: rng.random_range(0..nanoseconds(Duration::from_secs(86_400))), rate: drift / 1e6 }
    }

    /// What it shows.
    pub fn at(&self, now: Duration) -> Instant {
        let now = nanoseconds(now);
        Instant(self.offset + now).shifted((now as f64 * self.rate) as i64)
    }

    /// When it will have reached a time, at the latest.
    pub fn when(&self, instant: Instant) -> Option<Duration> {
        if instant == Instant::NEVER {
            return None;
        }
        let shown = instant.0.saturating_sub(self.offset);
        let mut now = (shown as f64 / (1.0 + self.rate)) as u64;
        while self.at(Duration::from_nanos(now)) < instant {
            now += 1 + (instant.0 - self.at(Duration::from_nanos(now)).0) / 2;
        }
        Some(Duration::from_nanos(now))
    }
}
