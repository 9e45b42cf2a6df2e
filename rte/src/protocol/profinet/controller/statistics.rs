// SPDX-License-Identifier: Apache-2.0
//! How evenly the device's frames come.

use crate::protocol::Nanos;

/// How far the time from frame to frame was from the cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Frames that were taken.
    pub frames: u64,
    /// Cycles in which none came, by the device's cycle counter.
    pub missed: u64,
    /// Of the time from frame to frame, in ns.
    pub mean: f64,
    /// The largest distance from the cycle, in ns.
    pub deviation_max: Nanos,
    spans: u64,
    squares: f64,
}

impl Statistics {
    /// A frame came `span` after the one before, which is `cycles` cycles by the device's counter.
    pub fn add(&mut self, span: Option<Nanos>, cycles: u64, period: Nanos) {
        self.frames += 1;
        let Some(span) = span else { return };
        self.missed += cycles.saturating_sub(1);
        self.spans += 1;
        self.deviation_max = self.deviation_max.max(span.abs_diff(period));
        // Welford's way: no sum grows.
        let distance = span as f64 - self.mean;
        self.mean += distance / self.spans as f64;
        self.squares += distance * (span as f64 - self.mean);
    }

    /// Standard deviation of the time from frame to frame, in ns.
    pub fn sigma(&self) -> f64 {
        if self.spans < 2 { 0.0 } else { (self.squares / (self.spans - 1) as f64).sqrt() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_deviation_are_those_of_the_spans() {
        let mut statistics = Statistics::default();
        statistics.add(None, 0, 1000);
        for span in [900, 1000, 1100, 1200] {
            statistics.add(Some(span), 1, 1000);
        }
        statistics.add(Some(3000), 3, 1000);
        assert_eq!((statistics.frames, statistics.missed, statistics.deviation_max), (6, 2, 2000));
        assert_eq!(statistics.mean, 1440.0);
        assert!((statistics.sigma() - 879.2).abs() < 0.1, "{}", statistics.sigma());
    }
}
