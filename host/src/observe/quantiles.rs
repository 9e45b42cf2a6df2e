// SPDX-License-Identifier: Apache-2.0
//! Distributions.

use crate::results::{CycleQuantiles, Quantiles};

/// Value of rank `ceil(share / 10,000 * n)` (nearest rank: always a value that occurred).
fn rank(sorted: &[u64], share: usize) -> u64 {
    let position = (sorted.len() * share).div_ceil(10_000).max(1) - 1;
    sorted[position]
}

/// Microseconds with nanoseconds as the last digit.
pub fn microseconds(cycles: f64, cpu_hz: u64) -> f64 {
    let nanoseconds = (cycles * 1e9 / cpu_hz as f64).round();
    nanoseconds / 1000.0
}

/// Distribution of durations; `None` of none.
pub fn quantiles_us(cycles: &[u64], cpu_hz: u64) -> Option<Quantiles> {
    if cycles.is_empty() {
        return None;
    }
    let mut sorted = cycles.to_vec();
    sorted.sort_unstable();
    let at = |share| microseconds(rank(&sorted, share) as f64, cpu_hz);
    Some(Quantiles { min: at(0), p50: at(5000), p90: at(9000), p99: at(9900), p999: at(9990), max: at(10_000) })
}

/// Distribution of cycles; `None` of none.
pub fn cycle_quantiles(cycles: &[u64]) -> Option<CycleQuantiles> {
    if cycles.is_empty() {
        return None;
    }
    let mut sorted = cycles.to_vec();
    sorted.sort_unstable();
    let at = |share| rank(&sorted, share);
    Some(CycleQuantiles {
        min: at(0),
        p50: at(5000),
        p90: at(9000),
        p99: at(9900),
        p999: at(9990),
        p9999: at(9999),
        max: at(10_000),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_occurred() {
        let cycles: Vec<u64> = (1..=1000).rev().collect();
        let quantiles = quantiles_us(&cycles, 1_000_000).unwrap();
        assert_eq!((quantiles.min, quantiles.p50, quantiles.p99, quantiles.max), (1.0, 500.0, 990.0, 1000.0));
    }

    #[test]
    fn one_value_is_every_quantile() {
        let quantiles = quantiles_us(&[7], 1_000_000).unwrap();
        assert_eq!((quantiles.min, quantiles.p50, quantiles.p999), (7.0, 7.0, 7.0));
    }

    #[test]
    fn nothing_has_no_quantiles() {
        assert!(quantiles_us(&[], 1).is_none());
        assert!(cycle_quantiles(&[]).is_none());
    }
}
