// SPDX-License-Identifier: Apache-2.0
//! Frames through the egress port: every one is sent once, and leaves or is counted as lost.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::queues::{Discipline, Frame, Queues, reserved_bps};
use super::traffic::Traffic;

/// What became of one source's frames.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// From the moment that the source wanted to send a frame to its last bit at the receiver, in bit times, in the
    /// order of arrival.
    pub delays: Vec<u64>,
    /// Frames for which there was no room.
    pub lost: u64,
    /// The longest time between two frames at the receiver, in bit times.
    pub longest_gap: u64,
    /// When its frames were at the receiver, in bit times.
    pub arrivals: Vec<u64>,
}

/// An asynchronous shaper's state for one stream (IEEE 802.1Qcr, 8.6.11.3).
#[derive(Clone, Copy)]
struct Bucket {
    empty_at: i128,
    rate: u64,
    burst: u64,
}

/// What becomes of all sources' frames, in their order.
pub fn simulate(discipline: Discipline, traffic: &Traffic) -> Vec<Outcome> {
    let mut arrivals = Arrivals::new(traffic);
    let mut shaping = (discipline == Discipline::Ats).then(|| Shaping::new(traffic));
    let mut queues = Queues::new(discipline, traffic);
    let mut outcomes = vec![Outcome::default(); traffic.sources.len()];
    let mut wire_free = 0;
    let mut arrival = arrivals.next();
    while arrival.is_some() || wire_free < u64::MAX {
        // The port asks for a frame when the wire is free, but sees all that arrived until then.
        while let Some((at, mut frame)) = arrival.filter(|(at, _)| *at <= wire_free || wire_free == u64::MAX) {
            let source = &traffic.sources[frame.source];
            let eligible = shaping.as_mut().map_or(Some(at), |shaping| shaping.eligible(at, &frame, traffic));
            frame.eligible = eligible.unwrap_or(0);
            if eligible.is_none() || !queues.push(at, source.priority, frame) {
                outcomes[frame.source].lost += 1;
            }
            if wire_free == u64::MAX {
                wire_free = at;
            }
            arrival = arrivals.next();
        }
        match queues.pop(wire_free) {
            Ok(frame) => {
                wire_free += frame.wire;
                outcomes[frame.source].arrive(wire_free, frame.sent);
            }
            Err(again) => {
                let next = arrival.map(|(at, _)| at);
                wire_free = again.into_iter().chain(next).min().unwrap_or(u64::MAX);
            }
        }
    }
    outcomes
}

impl Outcome {
    fn arrive(&mut self, at: u64, sent: u64) {
        if let Some(before) = self.arrivals.last() {
            self.longest_gap = self.longest_gap.max(at - before);
        }
        self.arrivals.push(at);
        self.delays.push(at - sent);
    }

    /// The delay that a share of the frames has at most.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let mut sorted = self.delays.clone();
        sorted.sort_unstable();
        let last = sorted.len().checked_sub(1)?;
        sorted.get(((share * sorted.len() as f64).ceil() as usize).saturating_sub(1).min(last)).copied()
    }
}

/// Frames as they are complete in the switch, in the order of time.
struct Arrivals<'a> {
    traffic: &'a Traffic,
    /// When the next frame of each source wants to be sent.
    next: BinaryHeap<Reverse<(u64, usize)>>,
    /// Until when each port's link is busy.
    links: BTreeMap<&'a str, u64>,
    /// Those that are complete, before any that is sent later can be.
    complete: BinaryHeap<Reverse<(u64, u64, usize, u64)>>,
    count: u64,
}

impl<'a> Arrivals<'a> {
    fn new(traffic: &'a Traffic) -> Self {
        let next = traffic.sources.iter().enumerate().map(|(n, source)| Reverse((source.offset, n))).collect();
        Self { traffic, next, links: BTreeMap::new(), complete: BinaryHeap::new(), count: 0 }
    }
}

impl Iterator for Arrivals<'_> {
    type Item = (u64, Frame);

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(Reverse((sent, n))) = self.next.peek().copied() {
            if self.complete.peek().is_some_and(|Reverse((complete, ..))| *complete <= sent) {
                break;
            }
            self.next.pop();
            let source = &self.traffic.sources[n];
            if sent >= source.until || sent >= self.traffic.span {
                continue;
            }
            let link = self.links.entry(&source.port).or_insert(0);
            *link = sent.max(*link) + source.wire();
            self.count += 1;
            self.complete.push(Reverse((*link, self.count, n, sent)));
            self.next.push(Reverse((sent + source.period, n)));
        }
        let Reverse((at, _, source, sent)) = self.complete.pop()?;
        let of = &self.traffic.sources[source];
        Some((at, Frame { source, sent, wire: of.wire(), bytes: of.frame_bytes, eligible: at }))
    }
}

/// The asynchronous shapers in front of the queues: a bucket for each stream, one group for each port and priority.
struct Shaping<'a> {
    buckets: BTreeMap<(&'a str, u8), Bucket>,
    groups: BTreeMap<(&'a str, u8), u64>,
    residence: u64,
}

impl<'a> Shaping<'a> {
    fn new(traffic: &'a Traffic) -> Self {
        let mut buckets = BTreeMap::new();
        for source in traffic.streams() {
            let bucket = buckets.entry((source.port.as_str(), source.priority)).or_insert(Bucket {
                empty_at: 0,
                rate: 0,
                burst: 0,
            });
            bucket.rate += (source.wire() * traffic.link_bps).div_ceil(source.period);
            bucket.burst += source.wire();
        }
        for bucket in buckets.values_mut() {
            bucket.empty_at = -i128::from(bucket.time(bucket.burst, traffic));
        }
        let residence = traffic.streams().map(|source| source.period).max().unwrap_or(0);
        Self { buckets, groups: BTreeMap::new(), residence }
    }

    /// When a frame that is complete at `at` may leave; none if it would be older than the longest residence. A frame
    /// with the priority of streams from a port that has none is load that somebody has marked: it has no bucket, and
    /// no place among the streams.
    fn eligible(&mut self, at: u64, frame: &Frame, traffic: &'a Traffic) -> Option<u64> {
        let source = &traffic.sources[frame.source];
        let key = (source.port.as_str(), source.priority);
        let Some(bucket) = self.buckets.get_mut(&key) else {
            let is_reserved = reserved_bps(source.priority, traffic) > 0;
            return (!is_reserved).then_some(at);
        };
        let group = self.groups.entry(key).or_insert(0);
        let scheduler = bucket.empty_at + i128::from(bucket.time(frame.wire, traffic));
        let full_at = bucket.empty_at + i128::from(bucket.time(bucket.burst, traffic));
        let eligible = i128::from(at).max(i128::from(*group)).max(scheduler);
        if eligible > i128::from(at + self.residence) {
            return None;
        }
        bucket.empty_at = if eligible < full_at { scheduler } else { scheduler + eligible - full_at };
        *group = u64::try_from(eligible).ok()?;
        Some(*group)
    }
}

impl Bucket {
    /// Bit times in which that many bits come into it.
    fn time(&self, bits: u64, traffic: &Traffic) -> u64 {
        (bits * traffic.link_bps).div_ceil(self.rate)
    }
}
