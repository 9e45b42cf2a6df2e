// SPDX-License-Identifier: Apache-2.0
//! Merges everything that is attached to the link.

use std::collections::BTreeMap;

use super::arp::ArpResponder;
use super::error::TrafficError;
use super::flow::{Classifier, FlowId};
use super::headers;
use super::host::{HOST_DELAY_US, Host};
use super::link::{Link, MIN_FRAME_BYTES};
use super::pattern::LineRate;
use super::setup::Setup;
use super::source::Source;
use super::stats::PeerStats;
use super::time::Clock;
use crate::scenario::Scenario;

/// Everything attached to the device's link, plus the link itself.
pub struct Wire {
    clock: Clock,
    link: Link,
    classifier: Classifier,
    /// Open-loop sources, with the index of their traffic entry.
    sources: Vec<(usize, Box<dyn Source + Send>)>,
    /// Hosts, with the index of their first traffic entry.
    hosts: Vec<(usize, Host)>,
    arp: ArpResponder,
    line_rate: Vec<LineRate>,
    next_line_rate: usize,
    /// The time up to which sources have acted.
    now: u64,
    next_id: u64,
    notes: Vec<String>,
}

/// A frame on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WireFrame {
    /// 0, 1, 2 and so on, in the order on the wire.
    pub id: u64,
    /// Whose it is.
    pub flow: FlowId,
    /// At least [`MIN_FRAME_BYTES`], without FCS.
    pub bytes: Vec<u8>,
    /// First bit of the preamble.
    pub start_cycle: u64,
    /// Last bit of the FCS.
    pub end_cycle: u64,
}

/// What acts next. The order breaks ties: scenario order, then ARP answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Actor {
    Source { entry: usize, at: usize },
    Host { entry: usize, at: usize },
    Arp,
}

impl Wire {
    /// Reads the captures and makes the senders of a scenario.
    pub fn new(scenario: &Scenario, device_mac: [u8; 6]) -> Result<Wire, TrafficError> {
        let setup = Setup::build(scenario, device_mac)?;
        Ok(Wire {
            clock: Clock::new(scenario.device.cpu_mhz),
            link: Link::new(scenario.device.cpu_mhz, scenario.device.link_mbps),
            classifier: Classifier::new(scenario, &setup.subnet, device_mac),
            sources: setup.sources,
            hosts: setup.hosts.into_values().collect(),
            arp: setup.arp,
            line_rate: setup.line_rate,
            next_line_rate: 0,
            now: 0,
            next_id: 0,
            notes: setup.notes,
        })
    }

    /// The next frame that starts before `until`, if any. Frames come in the order on the wire and do not
    /// overlap.
    ///
    /// What is on the wire can depend on what the device has sent up to [`HOST_DELAY_US`] before. As long as
    /// `until` lies no further beyond the latest simulated time, the frames are the same however often this
    /// is called; beyond that, answers come later than they would have. Open-loop sources end with the run, but
    /// the stacks of live peers go on: a TCP client of a silent device tries for ever.
    pub fn next_frame(&mut self, until: u64) -> Option<WireFrame> {
        loop {
            let next = self.earliest();
            if let Some((at, start)) = self.idle_line_rate(next) {
                if start >= until {
                    return None;
                }
                self.next_line_rate = (at + 1) % self.line_rate.len();
                let due = self.line_rate[at].start_cycle;
                let bytes = self.line_rate[at].template.next_frame();
                return Some(self.put(due, bytes));
            }
            let (due, actor) = next?;
            if self.link.start_cycle(due) >= until {
                return None;
            }
            self.now = self.now.max(due);
            if let Some(bytes) = self.source_mut(actor).take() {
                return Some(self.put(due, bytes));
            }
        }
    }

    /// The earliest cycle at which a frame could start; `None`: none will, unless the device sends.
    pub fn next_due(&self) -> Option<u64> {
        let next = self.earliest();
        match self.idle_line_rate(next) {
            Some((_, start)) => Some(start),
            None => next.map(|(due, _)| self.link.start_cycle(due)),
        }
    }

    /// A frame that the device sent, whose last bit was on the wire at `cycle`. Cycles must not decrease.
    pub fn receive(&mut self, cycle: u64, bytes: &[u8]) {
        self.now = self.now.max(cycle.saturating_add(self.clock.cycles_of_us(HOST_DELAY_US)));
        let dst = headers::dst_mac(bytes);
        for (_, host) in &mut self.hosts {
            host.receive(self.now, dst, bytes);
        }
        self.arp.receive(self.now, bytes);
    }

    /// Counts of the closed-loop traffic entries, in the order of the scenario.
    pub fn peer_stats(&self) -> Vec<PeerStats> {
        let mut entries: BTreeMap<usize, PeerStats> = BTreeMap::new();
        for (entry, stats) in self.hosts.iter().flat_map(|(_, host)| host.stats()) {
            entries.entry(entry).or_insert_with(|| PeerStats::new(&stats.name)).add(stats);
        }
        entries.into_values().collect()
    }

    /// What a user should know about the traffic although it can be made.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    fn earliest(&self) -> Option<(u64, Actor)> {
        let sources = self.sources.iter().enumerate().map(|(at, (entry, source))| {
            let actor = Actor::Source { entry: *entry, at };
            (source.next_due(), *entry, actor)
        });
        let hosts = self.hosts.iter().enumerate().map(|(at, (entry, host))| {
            let actor = Actor::Host { entry: *entry, at };
            (host.next_due(), *entry, actor)
        });
        let arp = (self.arp.next_due(), usize::MAX, Actor::Arp);
        let all = sources.chain(hosts).chain([arp]);
        let due = all.filter_map(|(due, entry, actor)| Some((due?, entry, actor)));
        due.min().map(|(due, _, actor)| (due, actor))
    }

    fn source_mut(&mut self, actor: Actor) -> &mut dyn Source {
        match actor {
            Actor::Source { at, .. } => &mut *self.sources[at].1,
            Actor::Host { at, .. } => &mut self.hosts[at].1,
            Actor::Arp => &mut self.arp,
        }
    }

    /// The line-rate source whose turn it is, and its start, if the link is idle until the next frame is due.
    fn idle_line_rate(&self, next: Option<(u64, Actor)>) -> Option<(usize, u64)> {
        let count = self.line_rate.len();
        let turns = (0..count).map(|turn| (self.next_line_rate + turn) % count);
        let starts = turns.map(|at| (at, self.link.start_cycle(self.line_rate[at].start_cycle)));
        let (at, start) =
            starts.filter(|(at, start)| *start < self.line_rate[*at].stop_cycle).min_by_key(|(_, start)| *start)?;
        let first = match next {
            Some((due, _)) => self.link.idle_before(due) && self.line_rate[at].start_cycle < due,
            None => true,
        };
        first.then_some((at, start))
    }

    fn put(&mut self, due: u64, mut bytes: Vec<u8>) -> WireFrame {
        if bytes.len() < MIN_FRAME_BYTES {
            bytes.resize(MIN_FRAME_BYTES, 0);
        }
        let slot = self.link.send(due, bytes.len());
        let flow = self.classifier.classify(&bytes);
        let id = self.next_id;
        self.next_id += 1;
        WireFrame { id, flow, bytes, start_cycle: slot.start_cycle, end_cycle: slot.end_cycle }
    }
}
