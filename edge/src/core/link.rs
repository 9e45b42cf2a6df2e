// SPDX-License-Identifier: Apache-2.0
//! What the live link takes, and how much it varies.
//!
//! Every datagram carries its sender's clock. The receiver's clock less that is the delay plus the clocks' offset; the
//! offset is unknown and need not be known: a client that says by when a result must leave *in the node's clock* adds it
//! again. So the way back is reserved from its own measured distribution, and what the way there took is known exactly
//! for each task. (The thesis reserves the delay of the way there, times U, and needs synchronised clocks; 8.3.2.)

use std::collections::VecDeque;
use std::time::Duration;

use super::time::{Instant, nanoseconds};

/// Of how many datagrams the distribution is.
const SAMPLES_MAX: usize = 128;
/// How old they may be. Clocks that drift by 200 ppm move by 1 ms in this time.
const AGE_MAX: Duration = Duration::from_secs(5);

/// The way from one machine to this.
#[derive(Clone, Debug, Default)]
pub struct Link {
    /// (when it came, our clock less the sender's) of the last datagrams.
    one_way: VecDeque<(Instant, i64)>,
    /// (when it came, how long it took) of the last round trips.
    round_trips: VecDeque<(Instant, Duration)>,
}

impl Link {
    /// A datagram came that was sent at this time of its sender's clock.
    pub fn came(&mut self, now: Instant, sent_at: Instant) {
        keep(&mut self.one_way, now, now.minus(sent_at));
    }

    /// An answer came to what was sent at this time of our clock.
    pub fn answered(&mut self, now: Instant, asked_at: Instant) {
        keep(&mut self.round_trips, now, now.since(asked_at));
    }

    /// The delay plus the clocks' offset that this share of the datagrams did not exceed, in nanoseconds.
    pub fn one_way(&self, now: Instant, share: f64) -> Option<i64> {
        let mut recent: Vec<i64> = recent(&self.one_way, now).collect();
        let place = (share * recent.len() as f64).ceil() as usize;
        let place = place.clamp(1, recent.len().max(1)) - 1;
        (!recent.is_empty()).then(|| *recent.select_nth_unstable(place).1)
    }

    /// The shortest of the last round trips.
    pub fn round_trip_min(&self, now: Instant) -> Option<Duration> {
        recent(&self.round_trips, now).min()
    }

    /// The longest of the last round trips.
    pub fn round_trip_max(&self, now: Instant) -> Option<Duration> {
        recent(&self.round_trips, now).max()
    }

    /// By when, in the sender's clock, something must leave there to be here at `due`.
    ///
    /// The way back is reserved as long as `share` of the datagrams took. `uncertainty` is the thesis's factor U: that
    /// delay is multiplied by it. What of it is delay and what is offset is taken from half the shortest round trip;
    /// with a factor of 1 this does not matter.
    pub fn leave_by(&self, now: Instant, due: Instant, share: f64, uncertainty: f64) -> Option<Instant> {
        let shortest = self.one_way(now, 0.0)?;
        let reserved = self.one_way(now, share)?;
        let delay = nanoseconds(self.round_trip_min(now)?) as f64 / 2.0 + reserved.abs_diff(shortest) as f64;
        Some(due.shifted(reserved.saturating_neg()).shifted(-((uncertainty - 1.0) * delay) as i64))
    }
}

fn keep<T>(samples: &mut VecDeque<(Instant, T)>, now: Instant, value: T) {
    if samples.len() == SAMPLES_MAX {
        samples.pop_front();
    }
    samples.push_back((now, value));
}

/// The values that are not too old; the last one whatever its age.
fn recent<T: Copy>(samples: &VecDeque<(Instant, T)>, now: Instant) -> impl Iterator<Item = T> {
    let last = samples.len().saturating_sub(1);
    samples.iter().enumerate().filter(move |(i, (at, _))| *i == last || now.since(*at) <= AGE_MAX).map(|(_, (_, v))| *v)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn leave_by_needs_no_synchronised_clocks() {
        // The sender's clock is 7 s ahead; a datagram takes 30 to 39 ms, as the one before did on its way there.
        let mut link = Link::default();
        let offset = 7_000 * MS;
        for i in 0..10 {
            let sent = 1_000 * MS * (i + 1) / 10;
            link.answered(Instant(sent + (30 + i) * MS), Instant(sent - 30 * MS));
            link.came(Instant(sent + (30 + i) * MS), Instant(sent + offset));
        }
        let now = Instant(1_100 * MS);
        let due = Instant(2_000 * MS);
        assert_eq!(link.leave_by(now, due, 1.0, 1.0), Some(Instant(2_000 * MS + offset - 39 * MS)));
        assert_eq!(link.leave_by(now, due, 0.5, 1.0), Some(Instant(2_000 * MS + offset - 34 * MS)));
        assert_eq!(link.leave_by(now, due, 1.0, 2.0), Some(Instant(2_000 * MS + offset - 78 * MS)));
    }

    #[test]
    fn clocks_that_mean_nothing_do_no_harm() {
        let extremes = [0, 1, i64::MAX as u64, 1 << 63, u64::MAX];
        for (first, second) in extremes.iter().flat_map(|a| extremes.map(|b| (*a, b))) {
            let mut link = Link::default();
            link.answered(Instant(2), Instant(first));
            link.came(Instant(1), Instant(first));
            link.came(Instant(2), Instant(second));
            assert!(extremes.iter().all(|due| link.leave_by(Instant(2), Instant(*due), 0.99, 1.5).is_some()));
        }
        // The sender's clock is as far ahead as can be said.
        let mut link = Link::default();
        link.answered(Instant(0), Instant(0));
        link.came(Instant(0), Instant(1 << 63));
        assert_eq!(link.leave_by(Instant(0), Instant(0), 1.0, 1.0), Some(Instant(i64::MAX as u64)));
    }

    #[test]
    fn what_is_old_is_forgotten_but_for_the_last() {
        let mut link = Link::default();
        link.came(Instant(100 * MS), Instant(0));
        link.came(Instant(1_000 * MS), Instant(990 * MS));
        assert_eq!(link.one_way(Instant(5_050 * MS), 1.0), Some(100 * MS as i64));
        assert_eq!(link.one_way(Instant(5_500 * MS), 1.0), Some(10 * MS as i64));
        assert_eq!(link.one_way(Instant(60_000 * MS), 1.0), Some(10 * MS as i64));
    }
}
