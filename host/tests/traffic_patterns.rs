// SPDX-License-Identifier: Apache-2.0
//! Shapes of traffic over time.
#![allow(missing_docs)]

mod traffic_common;

use traffic_common::*;
use weir::scenario::{Pattern, Scenario, Target, Traffic};

const CYCLES_PER_MS: u64 = 100_000;

fn one_second(pattern: Pattern) -> Scenario {
    let mut scenario = scenario(vec![], vec![traffic("t", Target::Port(udp(9)), pattern)]);
    scenario.warmup_ms = 0;
    scenario.duration_ms = 1000;
    scenario
}

fn starts(scenario: &Scenario) -> Vec<u64> {
    frames_of(scenario).iter().map(|frame| frame.start_cycle).collect()
}

#[test]
fn uniform_keeps_its_distance_with_a_phase_from_the_seed() {
    let mut scenario = one_second(Pattern::Uniform { rate_pps: 3000.0 });
    let first = starts(&scenario);
    assert_eq!(first.len(), 3000);
    assert!(first[0] < 33_334);
    for (k, start) in first.iter().enumerate() {
        let exact = first[0] as f64 + k as f64 * 1e8 / 3000.0;
        assert!((*start as f64 - exact).abs() <= 1.0, "no drift at frame {k}");
    }
    scenario.seed = 2;
    assert_ne!(starts(&scenario)[0], first[0]);
}

#[test]
fn poisson_has_its_mean_and_the_spread_of_exponential_distances() {
    let scenario = one_second(Pattern::Poisson { rate_pps: 10_000.0 });
    let starts = starts(&scenario);
    // Five standard deviations of a Poisson count.
    assert!((starts.len() as f64 - 10_000.0).abs() < 500.0, "{}", starts.len());
    let distances: Vec<f64> = starts.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    let mean = distances.iter().sum::<f64>() / distances.len() as f64;
    let variance = distances.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>() / distances.len() as f64;
    assert!((mean / 10_000.0 - 1.0).abs() < 0.05, "{mean}");
    // Distances shorter than a frame are stretched to one; that takes a little off the spread.
    assert!((variance.sqrt() / mean - 1.0).abs() < 0.1, "{}", variance.sqrt() / mean);
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_does_not() {
    let mut scenario = one_second(Pattern::Poisson { rate_pps: 5000.0 });
    let first = frames_of(&scenario);
    assert_eq!(first, frames_of(&scenario));
    scenario.seed = 2;
    assert_ne!(first, frames_of(&scenario));
}

#[test]
fn an_entry_more_leaves_the_others_as_they_were() {
    let mut scenario = one_second(Pattern::Poisson { rate_pps: 100.0 });
    scenario.tasks = vec![listener("t", udp(9), None)];
    let bytes = |scenario: &Scenario| -> Vec<Vec<u8>> {
        let frames = frames_of(scenario).into_iter();
        frames.filter(|frame| frame.flow == weir::traffic::FlowId::Task(0)).map(|frame| frame.bytes).collect()
    };
    let alone = bytes(&scenario);
    scenario.traffic.push(Traffic {
        name: "more".to_owned(),
        ..traffic("more", Target::Port(udp(10)), Pattern::Poisson { rate_pps: 500.0 })
    });
    assert_eq!(bytes(&scenario), alone);
}

#[test]
fn bursts_begin_where_they_should_and_have_their_length() {
    let mut scenario = one_second(Pattern::Burst { rate_pps: 10_000.0, burst_ms: 5.0, every_ms: 100.0 });
    scenario.traffic[0].start_ms = 50.0;
    let starts = starts(&scenario);
    assert_eq!(starts.len(), 10 * 50);
    for (burst, frames) in starts.chunks(50).enumerate() {
        let begin = (50 + burst as u64 * 100) * CYCLES_PER_MS;
        assert_eq!(frames[0], begin);
        assert_eq!(frames[49], begin + 49 * 10_000);
    }
}

#[test]
fn a_pyramid_rises_and_falls_in_equal_steps() {
    let scenario = one_second(Pattern::Pyramid { rate_pps: 9000.0, steps: 3 });
    let step_cycles = 1e8 / 7.0;
    let mut counts = [0i64; 7];
    for start in starts(&scenario) {
        counts[((start as f64 / step_cycles) as usize).min(6)] += 1;
    }
    for (count, height) in counts.iter().zip([0, 1, 2, 3, 2, 1, 0]) {
        let expected = (3000 * height) as f64 / 7.0;
        assert!((*count as f64 - expected).abs() <= 2.0, "{counts:?}");
    }
}

#[test]
fn start_and_stop_bound_the_traffic() {
    for pattern in [
        Pattern::Uniform { rate_pps: 5000.0 },
        Pattern::Poisson { rate_pps: 5000.0 },
        Pattern::Pyramid { rate_pps: 5000.0, steps: 4 },
        Pattern::LineRate,
    ] {
        let mut scenario = one_second(pattern);
        scenario.traffic[0].start_ms = 100.0;
        scenario.traffic[0].stop_ms = Some(200.0);
        let starts = starts(&scenario);
        assert!(starts.len() > 100);
        assert!(starts.iter().all(|start| (100 * CYCLES_PER_MS..200 * CYCLES_PER_MS).contains(start)));
    }
}

#[test]
fn a_rate_of_zero_is_silence() {
    for pattern in [
        Pattern::Uniform { rate_pps: 0.0 },
        Pattern::Poisson { rate_pps: 0.0 },
        Pattern::Burst { rate_pps: 0.0, burst_ms: 1.0, every_ms: 2.0 },
        Pattern::Pyramid { rate_pps: 0.0, steps: 4 },
    ] {
        assert!(starts(&one_second(pattern)).is_empty());
    }
}
