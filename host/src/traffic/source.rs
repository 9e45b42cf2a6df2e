// SPDX-License-Identifier: Apache-2.0
//! What feeds the link.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Something that has frames for the device.
pub(super) trait Source {
    /// When it wants to act next; never earlier than it has acted before.
    fn next_due(&self) -> Option<u64>;

    /// Acts at the time it asked for. It may have no frame after all.
    fn take(&mut self) -> Option<Vec<u8>>;
}

/// The stream of random numbers with this number.
pub(super) fn stream(seed: u64, number: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(number);
    rng
}

/// Uniform in [0, 1), from the upper 53 bits of one draw. Spelled out so that no library's choice of
/// conversion can change the traffic of a seed.
pub(super) fn uniform01(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}
