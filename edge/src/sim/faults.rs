// SPDX-License-Identifier: Apache-2.0
//! Random scenarios with everything that goes wrong: a seed is a scenario, and a run.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::scenario::{Admission, Clock, Fault, Mode, Scenario, TaskSettings, Way, What};
use crate::core::queue::Strategy;

/// The scenario of a seed: a small site, up to 20 % loss, duplicates, reordering by jitter, machines that crash, restart,
/// fall silent and are cut off, clocks that drift, programs that overrun.
pub fn scenario(seed: u64) -> Scenario {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let rng = &mut rng;
    let nodes = rng.random_range(1..=6);
    let seconds = 4.0;
    let mode = if rng.random_bool(0.25) { Mode::Central } else { Mode::Distributed };
    let delay_ms = rng.random_range(0.1..40.0);
    let link = way(delay_ms, rng);
    let delay_ms = rng.random_range(0.05..2.0);
    let wire = way(delay_ms, rng);
    let wcet_ms = rng.random_range(1.0..150.0);
    let strategies = [Strategy::FirstFit, Strategy::BestFit, Strategy::WorstFit];
    let fault = (0..rng.random_range(0..6)).flat_map(|_| trouble(nodes, seconds, rng)).collect();
    Scenario {
        name: format!("random {seed}"),
        mode,
        nodes,
        clients: rng.random_range(1..=8),
        seconds,
        warm_up_s: 1.0,
        seeds: 1,
        task: TaskSettings {
            wcet_ms,
            execution_ms: rng.random_bool(0.3).then(|| wcet_ms * rng.random_range(0.1..1.0)),
            slack_ms: rng.random_range(0.0..400.0),
            slack_deviation_ms: None,
            rate_per_s: rng.random_range(0.5..10.0),
            overrun_percent: if rng.random_bool(0.3) { 20.0 } else { 0.0 },
            payload_bytes: rng.random_range(0..1200),
        },
        link,
        wire,
        admission: Admission {
            uncertainty: rng.random_range(0.5..1.5),
            strategy: strategies[rng.random_range(0..3)],
            asked_max: rng.random_range(0..5),
            ..Admission::default()
        },
        clock: Clock { drift_ppm: 200.0 },
        fault,
    }
}

fn way(delay_ms: f64, rng: &mut ChaCha8Rng) -> Way {
    Way {
        delay_ms,
        jitter_ms: if rng.random_bool(0.7) { delay_ms * rng.random_range(0.0..1.0) } else { 0.0 },
        loss_percent: if rng.random_bool(0.5) { rng.random_range(0.0..20.0) } else { 0.0 },
        duplicate_percent: if rng.random_bool(0.3) { rng.random_range(0.0..10.0) } else { 0.0 },
    }
}

/// Something that befalls a machine, and mostly its end.
fn trouble(nodes: usize, seconds: f64, rng: &mut ChaCha8Rng) -> Vec<Fault> {
    let node = rng.random_range(0..nodes);
    let at_s = rng.random_range(0.0..seconds);
    let (what, end) = [(What::Crash, What::Restart), (What::Silence, What::Heard), (What::Partition, What::Heal)]
        [rng.random_range(0..3)];
    let end = Fault { at_s: at_s + rng.random_range(0.001..2.0), node, what: end };
    let begin = Fault { at_s, node, what };
    if rng.random_bool(0.8) { vec![begin, end] } else { vec![begin] }
}
