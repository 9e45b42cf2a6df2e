// SPDX-License-Identifier: Apache-2.0
//! How evenly something comes: the figures of the paper's table III.

use serde::Serialize;

/// The unit of PROFINET's cycles, 1/32 ms, in nanoseconds.
const CYCLE_UNIT_NS: u64 = 31_250;
/// A longer silence is no cycle, but a connection that ended.
const INTERRUPTION_NS: u64 = 1_000_000_000;

/// Cycle times of one flow, in milliseconds.
#[derive(Clone, Debug, Serialize)]
pub struct Cycles {
    /// Cycles that were looked at.
    pub count: usize,
    /// The cycle that is meant: the median, to the nearest 1/32 ms, unless it was given.
    pub cycle_ms: f64,
    /// Mean.
    pub average_ms: f64,
    /// Standard deviation.
    pub sigma_ms: f64,
    /// The longest.
    pub maximum_ms: f64,
    /// Mean of the deviations from the meant cycle, without their signs.
    pub average_jitter_ms: f64,
    /// 99.9 % of the deviations from the meant cycle are at most that, without their signs.
    pub deviation_p999_ms: f64,
    /// The largest of these.
    pub deviation_max_ms: f64,
    /// Silences of more than a second, which are not among the cycles.
    pub interruptions: usize,
}

/// The cycles between these moments, in nanoseconds, with their beginnings.
pub fn intervals(seen: &[u64]) -> impl Iterator<Item = (u64, u64)> {
    seen.windows(2).map(|pair| (pair[0], pair[1].saturating_sub(pair[0])))
}

/// The figures of a flow; none if there is no cycle.
pub fn cycles(seen: &[u64], cycle_ns: Option<u64>) -> Option<Cycles> {
    let (mut all, interruptions): (Vec<u64>, Vec<u64>) =
        intervals(seen).map(|(_, span)| span).partition(|span| *span <= INTERRUPTION_NS);
    all.sort_unstable();
    let count = all.len();
    let nearest = |ns: u64| ((ns + CYCLE_UNIT_NS / 2) / CYCLE_UNIT_NS).max(1) * CYCLE_UNIT_NS;
    let cycle = cycle_ns.unwrap_or(nearest(*all.get(count / 2)?));
    let ms = |ns: u64| ns as f64 / 1e6;
    let mean = all.iter().sum::<u64>() as f64 / count as f64;
    let variance = all.iter().map(|span| (*span as f64 - mean).powi(2)).sum::<f64>() / count as f64;
    let mut deviations: Vec<u64> = all.iter().map(|span| span.abs_diff(cycle)).collect();
    deviations.sort_unstable();
    Some(Cycles {
        count,
        cycle_ms: ms(cycle),
        average_ms: mean / 1e6,
        sigma_ms: variance.sqrt() / 1e6,
        maximum_ms: ms(all[count - 1]),
        average_jitter_ms: deviations.iter().sum::<u64>() as f64 / count as f64 / 1e6,
        deviation_p999_ms: ms(quantile(&deviations, 0.999)),
        deviation_max_ms: ms(deviations[count - 1]),
        interruptions: interruptions.len(),
    })
}

/// The value that a share of `sorted` has at most; 0 if there is none.
pub fn quantile(sorted: &[u64], share: f64) -> u64 {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1).min(sorted.len().saturating_sub(1))).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_five_frames() {
        let of = cycles(&[0, 1_000_000, 2_000_000, 3_010_000, 4_000_000, 6_000_000_000], None).unwrap();
        assert_eq!((of.count, of.interruptions, of.cycle_ms), (4, 1, 1.0));
        assert_eq!((of.average_ms, of.maximum_ms, of.deviation_max_ms), (1.0, 1.01, 0.01));
        assert_eq!(of.average_jitter_ms, 0.005);
        assert!((of.sigma_ms - 0.007_071).abs() < 1e-6);
        assert!(cycles(&[1], None).is_none());
    }
}
