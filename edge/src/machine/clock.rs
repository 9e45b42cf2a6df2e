// SPDX-License-Identifier: Apache-2.0
//! The monotonic clock, as the core counts it.

use std::time::Duration;

use crate::core::time::{Instant, nanoseconds};

/// Counts from its making.
#[derive(Clone, Copy, Debug)]
pub struct Clock(std::time::Instant);

impl Default for Clock {
    fn default() -> Self {
        Self(std::time::Instant::now())
    }
}

impl Clock {
    /// The time.
    pub fn now(&self) -> Instant {
        Instant(nanoseconds(self.0.elapsed()))
    }

    /// How long it is until then: none if it never comes.
    pub fn until(&self, then: Instant) -> Option<Duration> {
        (then != Instant::NEVER).then(|| then.since(self.now()))
    }
}
