// SPDX-License-Identifier: Apache-2.0
//! Makes what is attached to the link from a scenario.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use rand_chacha::rand_core::Rng;

use super::address::{Subnet, mac_of};
use super::arp::ArpResponder;
use super::error::TrafficError;
use super::frame::MAX_UDP_PAYLOAD_BYTES;
use super::host::Host;
use super::pattern::LineRate;
use super::source::{Source, stream};
use super::time::Clock;
use crate::scenario::{Pattern, Protocol, Scenario, TaskKind, Traffic};

const LONGEST_PREFIX: u8 = 30;
/// Streams of random numbers: two for each traffic entry, then one for each host's address.
pub(super) const STREAMS_PER_ENTRY: u64 = 2;
const FIRST_HOST_STREAM: u64 = 1 << 32;

/// Everything attached to the link.
pub(super) struct Setup {
    pub(super) subnet: Subnet,
    pub(super) sources: Vec<(usize, Box<dyn Source + Send>)>,
    /// By address, each with the index of its first traffic entry.
    pub(super) hosts: BTreeMap<Ipv4Addr, (usize, Host)>,
    pub(super) arp: ArpResponder,
    pub(super) line_rate: Vec<LineRate>,
    pub(super) notes: Vec<String>,
    pub(super) device_mac: [u8; 6],
    /// TCP ports on which tasks of the device listen.
    pub(super) tcp_ports: BTreeSet<u16>,
    pub(super) clock: Clock,
    prefix: u8,
    pub(super) seed: u64,
    end_cycle: u64,
}

/// A traffic entry and when it is active.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    pub(super) index: usize,
    pub(super) traffic: &'a Traffic,
    pub(super) start_cycle: u64,
    pub(super) stop_cycle: u64,
}

impl Entry<'_> {
    /// An error of this entry.
    pub(super) fn error(&self, message: impl Into<String>) -> TrafficError {
        TrafficError::entry(&self.traffic.name, message)
    }

    /// The rate, if there can be such a rate.
    pub(super) fn checked_rate(&self, rate_pps: f64) -> Result<f64, TrafficError> {
        match rate_pps.is_finite() && rate_pps >= 0.0 {
            true => Ok(rate_pps),
            false => Err(self.error(format!("rate_pps is {rate_pps}; it has to be 0 or more"))),
        }
    }
}

impl Setup {
    /// Makes everything that the scenario names.
    pub(super) fn build(scenario: &Scenario, device_mac: [u8; 6]) -> Result<Setup, TrafficError> {
        check_device(scenario)?;
        let clock = Clock::new(scenario.device.cpu_mhz);
        let run_ms = f64::from(scenario.warmup_ms) + f64::from(scenario.duration_ms);
        let mut setup = Setup {
            subnet: Subnet::new(scenario.device.address, scenario.device.prefix),
            sources: Vec::new(),
            hosts: BTreeMap::new(),
            arp: ArpResponder::default(),
            line_rate: Vec::new(),
            notes: Vec::new(),
            device_mac,
            tcp_ports: tcp_ports(scenario),
            clock,
            prefix: scenario.device.prefix,
            seed: scenario.seed,
            end_cycle: clock.cycles_of_ms(run_ms),
        };
        setup.reserve_addresses(scenario);
        for (index, traffic) in scenario.traffic.iter().enumerate() {
            let stop_cycle = traffic.stop_ms.map_or(u64::MAX, |ms| clock.cycles_of_ms(ms)).min(setup.end_cycle);
            let start_cycle = clock.cycles_of_ms(traffic.start_ms);
            setup.add(Entry { index, traffic, start_cycle, stop_cycle })?;
        }
        for address in setup.hosts.keys() {
            setup.arp.remove(*address);
        }
        Ok(setup)
    }

    /// The host at this address, which is made if it is new.
    pub(super) fn host(&mut self, entry: usize, address: Ipv4Addr) -> &mut Host {
        let (clock, prefix, seed) = (self.clock, self.prefix, self.seed);
        let (_, host) = self.hosts.entry(address).or_insert_with(|| {
            let random_seed = stream(seed, FIRST_HOST_STREAM + u64::from(address.to_bits())).next_u64();
            (entry, Host::new(clock, address, prefix, random_seed))
        });
        host
    }

    /// Keeps captures' senders off the addresses that the scenario names.
    fn reserve_addresses(&mut self, scenario: &Scenario) {
        for traffic in &scenario.traffic {
            if !matches!(traffic.pattern, Pattern::Pcap { .. }) {
                self.subnet.take(traffic.from);
            }
        }
        for task in &scenario.tasks {
            if let TaskKind::Receiving { flow, .. } = &task.kind {
                flow.from.into_iter().for_each(|from| self.subnet.avoid(from));
            }
        }
    }

    fn add(&mut self, entry: Entry<'_>) -> Result<(), TrafficError> {
        if let Pattern::Pcap { path, speed, tcp } = &entry.traffic.pattern {
            return self.add_capture(entry, path, *speed, *tcp);
        }
        let from = entry.traffic.from;
        if from == self.subnet.device() {
            return Err(entry.error(format!("from is {from}, the device's own address; choose another")));
        }
        if entry.traffic.payload_bytes > MAX_UDP_PAYLOAD_BYTES {
            let bytes = entry.traffic.payload_bytes;
            let limit = MAX_UDP_PAYLOAD_BYTES;
            return Err(entry.error(format!("payload_bytes is {bytes}; one frame carries {limit} at most")));
        }
        self.arp.add(from, mac_of(from));
        match entry.traffic.pattern {
            Pattern::Modbus { rate_pps, registers } => self.add_modbus(entry, rate_pps, registers),
            Pattern::Request { rate_pps, timeout_ms } => self.add_request(entry, rate_pps, timeout_ms),
            Pattern::LineRate => self.add_line_rate(entry),
            _ => self.add_open_loop(entry),
        }
    }
}

fn check_device(scenario: &Scenario) -> Result<(), TrafficError> {
    let device = &scenario.device;
    let refuse = |message: String| Err(TrafficError::Device { message });
    if device.cpu_mhz == 0 {
        return refuse("cpu_mhz is 0; it has to be 1 or more".to_owned());
    }
    if ![10, 100, 1000].contains(&device.link_mbps) {
        return refuse(format!("link_mbps is {}; it has to be 10, 100 or 1000", device.link_mbps));
    }
    if device.prefix > LONGEST_PREFIX {
        return refuse(format!("address has the prefix {}; it has to be {LONGEST_PREFIX} at most", device.prefix));
    }
    Ok(())
}

fn tcp_ports(scenario: &Scenario) -> BTreeSet<u16> {
    let listens = scenario.tasks.iter().filter_map(|task| match &task.kind {
        TaskKind::Receiving { listen, .. } => Some(*listen),
        TaskKind::Periodic { .. } | TaskKind::Background => None,
    });
    listens.filter(|listen| listen.protocol == Protocol::Tcp).map(|listen| listen.port).collect()
}
