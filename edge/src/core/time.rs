// SPDX-License-Identifier: Apache-2.0
//! Points in time of one machine's monotonic clock.

use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

/// Nanoseconds since an arbitrary start. Two machines' instants have nothing to do with each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(pub u64);

impl Instant {
    /// Further than any time that is reached.
    pub const NEVER: Self = Self(u64::MAX);

    /// The time from `earlier` to this; zero if it is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// This time shifted by nanoseconds of either sign, within the clock's range.
    pub fn shifted(self, nanoseconds: i64) -> Self {
        Self(self.0.saturating_add_signed(nanoseconds))
    }

    /// The signed nanoseconds from `other` to this, of clocks that need not agree.
    pub fn minus(self, other: Self) -> i64 {
        self.0.wrapping_sub(other.0).cast_signed()
    }
}

/// A duration in nanoseconds; those of messages and tasks are far below the 584 years that fit.
pub fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(nanoseconds(duration)))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;
    fn sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(nanoseconds(duration)))
    }
}
