// SPDX-License-Identifier: Apache-2.0
//! Random numbers of the distributions that devices' tasks have, and what was drawn.

use std::time::Duration;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Exponentially distributed, with mean 1.
pub fn exponential(rng: &mut ChaCha8Rng) -> f64 {
    let even: f64 = rng.random_range(f64::MIN_POSITIVE..1.0);
    -even.ln()
}

/// Normally distributed, with mean 0 and deviation 1: Box and Muller's transform of two even numbers.
pub fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let (radius, angle): (f64, f64) = (rng.random_range(f64::MIN_POSITIVE..1.0), rng.random());
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

/// A device as a run drew it. Submitted again to other machines, its tasks are the same ones.
#[derive(Clone, Debug)]
pub struct Device {
    /// The node that it knows from the start.
    pub node: usize,
    /// Its tasks, in the order in which it submitted them.
    pub tasks: Vec<Task>,
}

/// A task as it was drawn, and whether it was accepted in that run.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// When it fell due, from the first moment on at which devices submit. It is submitted then or, if that is later, as
    /// the device's task before it is over.
    pub due: Duration,
    /// The result is wanted within this.
    pub budget: Duration,
    /// Whether a machine took it on.
    pub accepted: bool,
}
