// SPDX-License-Identifier: Apache-2.0
//! Cycles of the device's CPU, and what they are in other units.

use smoltcp::time::Instant;

/// The device's clock. Its frequency is a whole number of megahertz, so microseconds convert exactly.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    cycles_per_us: u64,
}

impl Clock {
    /// A clock of this frequency.
    pub(super) fn new(cpu_mhz: u32) -> Clock {
        Clock { cycles_per_us: u64::from(cpu_mhz) }
    }

    /// Whole microseconds in cycles.
    pub(super) fn cycles_of_us(self, us: u64) -> u64 {
        us.saturating_mul(self.cycles_per_us)
    }

    /// Milliseconds in cycles, rounded down.
    pub(super) fn cycles_of_ms(self, ms: f64) -> u64 {
        (ms * 1000.0 * self.cycles_per_us as f64) as u64
    }

    /// Nanoseconds in cycles, played at `speed` times their pace, rounded down.
    pub(super) fn cycles_of_ns(self, ns: u64, speed: f64) -> u64 {
        (ns as f64 * self.cycles_per_us as f64 / (1000.0 * speed)) as u64
    }

    /// Distance of two events at this rate.
    pub(super) fn period_cycles(self, rate_pps: f64) -> f64 {
        self.cycles_per_us as f64 * 1e6 / rate_pps
    }

    /// The instant of smoltcp in which this cycle lies.
    pub(super) fn instant(self, cycle: u64) -> Instant {
        Instant::from_micros((cycle / self.cycles_per_us) as i64)
    }

    /// First cycle of an instant of smoltcp.
    pub(super) fn cycle(self, instant: Instant) -> u64 {
        self.cycles_of_us(instant.total_micros().max(0) as u64)
    }

    /// First cycle of the microsecond after the one in which `cycle` lies.
    pub(super) fn next_us(self, cycle: u64) -> u64 {
        self.cycles_of_us(cycle / self.cycles_per_us + 1)
    }
}
