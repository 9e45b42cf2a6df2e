// SPDX-License-Identifier: Apache-2.0
//! Random numbers of the distributions that devices' tasks have.

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
