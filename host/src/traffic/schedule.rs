// SPDX-License-Identifier: Apache-2.0
//! When an open-loop source has its frames due.

use rand_chacha::ChaCha8Rng;

use super::source::uniform01;

/// Due times of one source, ascending, within `[start, stop)`.
#[derive(Debug)]
pub(super) struct Schedule {
    shape: Shape,
    start_cycle: u64,
    stop_cycle: u64,
    index: u64,
}

#[derive(Debug)]
enum Shape {
    Silent,
    /// Frame `k` at `(phase + k) * period`: no sum, so no drift.
    Uniform {
        period_cycles: f64,
        phase: f64,
    },
    Poisson {
        mean_cycles: f64,
        offset_cycles: f64,
        rng: Box<ChaCha8Rng>,
    },
    Burst {
        period_cycles: f64,
        frames_per_burst: u64,
        every_cycles: f64,
    },
    Pyramid {
        /// Frames per cycle at the top.
        peak: f64,
        steps: u32,
        step_cycles: f64,
        phase: f64,
        step: u32,
        /// Frames due before the present step.
        before: f64,
    },
}

impl Schedule {
    /// No frames.
    pub(super) fn silent() -> Schedule {
        Schedule { shape: Shape::Silent, start_cycle: 0, stop_cycle: 0, index: 0 }
    }

    /// Constant distance. The first frame is due at a random time within the first period, so that the
    /// source is not locked to the device's tick.
    pub(super) fn uniform(start_cycle: u64, stop_cycle: u64, period_cycles: f64, rng: &mut ChaCha8Rng) -> Schedule {
        let shape = Shape::Uniform { period_cycles, phase: uniform01(rng) };
        Schedule { shape, start_cycle, stop_cycle, index: 0 }
    }

    /// Exponential distances by inverse transform; the first one counts from the start.
    pub(super) fn poisson(start_cycle: u64, stop_cycle: u64, mean_cycles: f64, rng: ChaCha8Rng) -> Schedule {
        let shape = Shape::Poisson { mean_cycles, offset_cycles: 0.0, rng: Box::new(rng) };
        Schedule { shape, start_cycle, stop_cycle, index: 0 }
    }

    /// Bursts that begin at the start and at every multiple of `every_cycles` after it. No random phase: the
    /// user said when.
    pub(super) fn burst(
        start_cycle: u64,
        stop_cycle: u64,
        period_cycles: f64,
        burst_cycles: f64,
        every_cycles: f64,
    ) -> Schedule {
        let frames_per_burst = (burst_cycles.min(every_cycles) / period_cycles).ceil() as u64;
        let shape = match frames_per_burst {
            0 => Shape::Silent,
            _ => Shape::Burst { period_cycles, frames_per_burst, every_cycles },
        };
        Schedule { shape, start_cycle, stop_cycle, index: 0 }
    }

    /// `2 * steps + 1` steps of equal length with the rates 0, 1, .. `steps`, .. 1, 0 times `peak / steps`.
    /// The distances run on over the steps; the first one is shortened by a random phase.
    pub(super) fn pyramid(
        start_cycle: u64,
        stop_cycle: u64,
        period_cycles: f64,
        steps: u32,
        rng: &mut ChaCha8Rng,
    ) -> Schedule {
        let steps = steps.max(1);
        let step_cycles = stop_cycle.saturating_sub(start_cycle) as f64 / (2.0 * f64::from(steps) + 1.0);
        let shape = Shape::Pyramid {
            peak: 1.0 / period_cycles,
            steps,
            step_cycles,
            phase: uniform01(rng),
            step: 0,
            before: 0.0,
        };
        Schedule { shape, start_cycle, stop_cycle, index: 0 }
    }
}

impl Iterator for Schedule {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let offset_cycles = self.shape.offset_cycles(self.index)?;
        self.index += 1;
        let due = self.start_cycle.checked_add(offset_cycles as u64)?;
        (due < self.stop_cycle).then_some(due)
    }
}

impl Shape {
    fn offset_cycles(&mut self, index: u64) -> Option<f64> {
        match self {
            Shape::Silent => None,
            Shape::Uniform { period_cycles, phase } => Some((*phase + index as f64) * *period_cycles),
            Shape::Poisson { mean_cycles, offset_cycles, rng } => {
                *offset_cycles -= libm::log(1.0 - uniform01(rng)) * *mean_cycles;
                Some(*offset_cycles)
            }
            Shape::Burst { period_cycles, frames_per_burst, every_cycles } => {
                let burst = index / *frames_per_burst;
                let within = index % *frames_per_burst;
                Some(burst as f64 * *every_cycles + within as f64 * *period_cycles)
            }
            Shape::Pyramid { peak, steps, step_cycles, phase, step, before } => {
                let target = *phase + index as f64;
                while *step <= 2 * *steps {
                    let height = (*step).min(2 * *steps - *step);
                    let rate = *peak * f64::from(height) / f64::from(*steps);
                    if target < *before + rate * *step_cycles {
                        return Some(f64::from(*step) * *step_cycles + (target - *before) / rate);
                    }
                    *before += rate * *step_cycles;
                    *step += 1;
                }
                None
            }
        }
    }
}
