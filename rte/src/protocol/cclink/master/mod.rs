// SPDX-License-Identifier: Apache-2.0
//! The master, as a tool: for commissioning and for tests.
//!
//! It listens for another master first, and then scans its groups, each for itself: a request, the answers of all slaves
//! that are connected, the next request. A slave that answers a request without data gets data from the next one on; one
//! that does not answer a number of times is without data until it answers again.

mod acyclic;
mod cyclic;
mod group;

pub use acyclic::{Commission, Commissioner, Findings, Outcome};
pub use cyclic::Cyclic;

use std::net::Ipv4Addr;

use super::wire::cyclic::MasterUnit;
use super::{GROUPS_MAX, Identity, STATIONS_MAX, STATIONS_PER_GROUP_MAX, bits_bytes, words_bytes};
use crate::application::triple_buffer::{Consumer, Producer, triple_buffer};
use crate::protocol::Nanos;

/// A slave that the master is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlaveSettings {
    /// Its address.
    pub ip: Ipv4Addr,
    /// How many stations it occupies.
    pub stations: usize,
}

/// When a request follows the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scan {
    /// When all answers have come, or after that many milliseconds.
    Fast(u16),
    /// Always after that many milliseconds: 1 to 2000.
    Constant(u16),
}

impl Scan {
    /// What the master tells as its time-out: how long it waits for answers.
    pub fn timeout_ms(self) -> u16 {
        let (Self::Fast(ms) | Self::Constant(ms)) = self;
        ms
    }
}

/// What a master is told.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The slaves of each group, in the order of their stations.
    pub groups: Vec<Vec<SlaveSettings>>,
    /// The protocol version: 1 or 2.
    pub version: u16,
    /// When a request follows the one before.
    pub scan: Scan,
    /// After how many missing answers a slave is without data.
    pub timeout_count: u16,
    /// The number of the configuration: not the one that a master had before with this address.
    pub parameter: u16,
    /// Milliseconds since 1970 at time 0 of the lane's clock; none if the master has no clock.
    pub clock_zero_ms: Option<u64>,
}

impl Settings {
    /// Whether a master can have these slaves.
    ///
    /// # Errors
    /// What is wrong, in a line.
    pub fn check(&self) -> Result<(), String> {
        let slaves = || self.groups.iter().flatten();
        let all: usize = slaves().map(|slave| slave.stations).sum();
        if self.groups.is_empty() || self.groups.iter().any(Vec::is_empty) {
            return Err("a master has at least one group, and a group at least one slave".to_owned());
        }
        if self.groups.len() > usize::from(GROUPS_MAX) || all > STATIONS_MAX {
            return Err(format!("{all} stations in {} groups: 64 of each are the most", self.groups.len()));
        }
        for (n, group) in self.groups.iter().enumerate() {
            let stations: usize = group.iter().map(|slave| slave.stations).sum();
            if stations > STATIONS_PER_GROUP_MAX {
                return Err(format!("group {} has {stations} stations: 16 are the most", n + 1));
            }
        }
        for slave in slaves() {
            if slave.stations == 0 {
                return Err(format!("slave {} has no station: 1 to 16", slave.ip));
            }
            if slave.ip.is_unspecified() || slave.ip.is_broadcast() {
                return Err(format!("{} is no slave's address", slave.ip));
            }
            if slaves().filter(|other| other.ip == slave.ip).count() > 1 {
                return Err(format!("slave {} is there twice", slave.ip));
            }
        }
        if !(1..=2000).contains(&self.scan.timeout_ms()) {
            return Err(format!("{} ms: a cycle or a time-out is 1 to 2000 ms", self.scan.timeout_ms()));
        }
        Ok(())
    }

    fn stations(&self) -> usize {
        self.groups.iter().flatten().map(|slave| slave.stations).sum()
    }
}

/// What the user wants of the master. The data are those of all stations, group after group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Orders {
    /// The state that it tells slaves.
    pub unit: MasterUnit,
    /// Slaves that are to be stopped, by their number over all groups.
    pub stopped: Vec<bool>,
    /// Bits.
    pub ry: Vec<u8>,
    /// Words, little-endian.
    pub rww: Vec<u8>,
}

/// What the master is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// It waits for an address.
    #[default]
    NoAddress,
    /// It listens whether there is another master.
    Listening,
    /// It scans.
    Scanning,
    /// It gave up, for there is another master.
    OtherMaster(Ipv4Addr),
    /// It gave up, for this slave has another master.
    SlaveHasOther(Ipv4Addr),
}

/// Count, extremes and mean of times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// How many.
    pub count: u64,
    /// All together.
    pub sum: Nanos,
    /// The shortest; 0 if there is none.
    pub min: Nanos,
    /// The longest.
    pub max: Nanos,
}

impl Spread {
    fn add(&mut self, time: Nanos) {
        self.min = if self.count == 0 { time } else { self.min.min(time) };
        self.max = self.max.max(time);
        self.sum += time;
        self.count += 1;
    }

    /// The mean, 0 if there is none.
    pub fn mean(&self) -> Nanos {
        self.sum.checked_div(self.count).unwrap_or(0)
    }
}

/// A slave as the master sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlaveReport {
    /// Its address.
    pub ip: Ipv4Addr,
    /// Its group, from 1.
    pub group: u8,
    /// Its first station in the group, from 1.
    pub station: usize,
    /// How many it has.
    pub stations: usize,
    /// Whether data are exchanged with it.
    pub connected: bool,
    /// What it said that it is.
    pub identity: Option<Identity>,
    /// The protocol version that it said.
    pub version: u16,
    /// Whether its application runs.
    pub runs: bool,
    /// Its error code.
    pub error: u16,
    /// What it said last of a request.
    pub end_code: u16,
    /// Answers that did not come while it was connected.
    pub missed: u64,
    /// How often it was lost.
    pub lost: u64,
    /// From the request to its answer.
    pub response: Spread,
}

/// What the master sees. The data are those of all stations, group after group; those of slaves that are not connected
/// are 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// What it is doing.
    pub phase: Phase,
    /// The slaves, group after group.
    pub slaves: Vec<SlaveReport>,
    /// From request to request, for each group.
    pub cycles: Vec<Spread>,
    /// Bits.
    pub rx: Vec<u8>,
    /// Words, little-endian.
    pub rwr: Vec<u8>,
}

impl Report {
    /// Replaces all without taking memory anew.
    fn copy(&mut self, from: &Self) {
        self.phase = from.phase;
        self.slaves.clone_from(&from.slaves);
        self.cycles.clone_from(&from.cycles);
        self.rx.clone_from(&from.rx);
        self.rwr.clone_from(&from.rwr);
    }
}

/// The user's side of a master.
#[derive(Debug)]
pub struct Desk {
    /// What is wanted of it.
    pub orders: Producer<Orders>,
    /// What it sees.
    pub report: Consumer<Report>,
}

/// A master's cyclic lane and its user's side. Its orders are: run, no slave stopped, all data 0.
///
/// # Errors
/// As [`Settings::check`].
pub fn master(settings: Settings) -> Result<(Cyclic, Desk), String> {
    settings.check()?;
    let stations = settings.stations();
    let orders = Orders {
        unit: MasterUnit::RUN,
        stopped: vec![false; settings.groups.iter().flatten().count()],
        ry: vec![0; bits_bytes(stations)],
        rww: vec![0; words_bytes(stations)],
    };
    let (orders, wanted) = triple_buffer(orders);
    let lane = Cyclic::new(settings, wanted);
    let (seen, report) = triple_buffer(lane.report().clone());
    Ok((lane.with_report(seen), Desk { orders, report }))
}
