// SPDX-License-Identifier: Apache-2.0
//! How long a cyclic lane runs in each round, and what runtime follows from it.

use crate::protocol::Nanos;

/// Times are counted in steps of a microsecond up to here; longer ones together.
const STEPS: usize = 1_000;
const STEP: Nanos = 1_000;
/// Runtimes are multiples of 100 us, as in the paper, table II.
const RUNTIME_STEP: Nanos = 100_000;

/// Execution times since the start.
#[derive(Clone, Debug)]
pub struct Execution {
    count: u64,
    mean: f64,
    /// Sum of squares of what deviates from the mean (Welford).
    deviation: f64,
    max: Nanos,
    histogram: Box<[u64]>,
}

impl Default for Execution {
    fn default() -> Self {
        let histogram = vec![0; STEPS + 1].into_boxed_slice();
        Self { count: 0, mean: 0.0, deviation: 0.0, max: 0, histogram }
    }
}

impl Execution {
    /// One round took so long. Allocates nothing.
    pub fn add(&mut self, time: Nanos) {
        self.count += 1;
        let difference = time as f64 - self.mean;
        self.mean += difference / self.count as f64;
        self.deviation += difference * (time as f64 - self.mean);
        self.max = self.max.max(time);
        self.histogram[((time / STEP) as usize).min(STEPS)] += 1;
    }

    /// How many rounds there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The average, in nanoseconds.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The standard deviation, in nanoseconds.
    pub fn sigma(&self) -> f64 {
        if self.count < 2 { 0.0 } else { (self.deviation / (self.count - 1) as f64).sqrt() }
    }

    /// The longest.
    pub fn max(&self) -> Nanos {
        self.max
    }

    /// The time that a share of the rounds took at most, to the microsecond above; 1 ms stands for more, too.
    fn quantile(&self, share: f64) -> Nanos {
        let rank = (share * self.count as f64).ceil() as u64;
        let mut seen = 0;
        let step = self.histogram.iter().position(|rounds| {
            seen += rounds;
            seen >= rank
        });
        step.map_or(0, |step| (step as Nanos + 1) * STEP)
    }

    /// What a user wants to know of them (the paper's figure 6).
    pub fn figures(&self) -> [(&'static str, u64); 7] {
        [
            ("execution mean (ns)", self.mean() as u64),
            ("execution sigma (ns)", self.sigma() as u64),
            ("execution 50 % (ns)", self.quantile(0.5)),
            ("execution 99 % (ns)", self.quantile(0.99)),
            ("execution 99.9 % (ns)", self.quantile(0.999)),
            ("execution max (ns)", self.max()),
            ("execution runtime (ns)", self.runtime()),
        ]
    }

    /// How many rounds took 0 to 1 us, 1 to 2 us, and so on; the last of the 1001 counts all that took 1 ms and more.
    pub fn histogram(&self) -> &[u64] {
        &self.histogram
    }

    /// The runtime for `SCHED_DEADLINE` that the paper's rule gives: the average and three standard deviations, up to
    /// the next 100 us (section VII-C).
    pub fn runtime(&self) -> Nanos {
        let needed = (self.mean + 3.0 * self.sigma()).ceil() as Nanos;
        needed.div_ceil(RUNTIME_STEP).max(1) * RUNTIME_STEP
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runtime_is_the_average_and_three_sigma_up_to_the_next_100_us() {
        let mut execution = Execution::default();
        assert_eq!(execution.runtime(), 100_000);
        for time in [80_000, 90_000, 100_000, 110_000, 120_000] {
            execution.add(time);
        }
        // The mean is 100 us, sigma 15.8 us.
        assert_eq!((execution.mean().round(), execution.sigma().round()), (100_000.0, 15_811.0));
        assert_eq!((execution.runtime(), execution.max()), (200_000, 120_000));
        assert_eq!((execution.histogram()[80], execution.histogram().iter().sum::<u64>()), (1, 5));
        execution.add(5_000_000);
        assert_eq!(execution.histogram()[1_000], 1);
    }
}
