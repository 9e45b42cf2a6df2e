// SPDX-License-Identifier: Apache-2.0
//! The lane that finds slaves, or sets one's address: once, when the interface has an address.

use std::net::{Ipv4Addr, SocketAddrV4};

use super::super::wire::Malformed;
use super::super::wire::slmp::{Answer, Asker, BYTES_MAX, Command, Found, Request, Response};
use super::super::{SLMP_PORT, STATIONS_MAX};
use crate::application::triple_buffer::{Consumer, Producer, triple_buffer};
use crate::protocol::{Address, Lane, Mac, Nanos, Outbox, Port, Received, Source, Urgency};

const MS: Nanos = 1_000_000;
/// Slaves answer a search within 1.5 s.
const SEARCH: Nanos = 2000 * MS;
/// Slaves answer a new address within 0.5 s.
const SET: Nanos = 500 * MS;
/// Slaves that are remembered.
const FOUND_MAX: usize = 4 * STATIONS_MAX;

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commission {
    /// Find all slaves.
    Search,
    /// Give the slave with that Ethernet address that address.
    Set(Mac, Address),
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// It is under way.
    #[default]
    Open,
    /// The search is over, or the slave took the address.
    Done,
    /// The slave did not take the address; its end code.
    Refused(u16),
    /// No slave with that Ethernet address answered.
    Silent,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// How it stands.
    pub outcome: Outcome,
    /// The slaves that answered a search, in the order of their answers.
    pub slaves: Vec<Found>,
}

/// The lane.
pub struct Commissioner {
    ports: [Port; 1],
    commission: Commission,
    serial: u16,
    asker: Asker,
    /// When the time for answers is over.
    until: Option<Nanos>,
    findings: Findings,
    told: Producer<Findings>,
    too_many: u64,
    malformed: [u64; Malformed::ALL.len()],
}

impl Commissioner {
    /// One for that commission, and what comes of it. `serial` is the number of the command.
    pub fn new(commission: Commission, serial: u16) -> (Self, Consumer<Findings>) {
        let (told, findings) = triple_buffer(Findings::default());
        let this = Self {
            ports: [Port::Udp { port: SLMP_PORT }],
            commission,
            serial,
            asker: Asker { mac: Mac::default(), ip: Ipv4Addr::UNSPECIFIED },
            until: None,
            findings: Findings::default(),
            told,
            too_many: 0,
            malformed: [0; Malformed::ALL.len()],
        };
        (this, findings)
    }

    fn tell(&mut self) {
        let findings = &self.findings;
        self.told.publish(|told| told.clone_from(findings));
    }

    fn end(&mut self, outcome: Outcome) {
        self.findings.outcome = outcome;
        self.until = None;
        self.tell();
    }
}

impl Lane for Commissioner {
    fn name(&self) -> &str {
        "cclink master acyclic"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn urgency(&self) -> Urgency {
        Urgency::Acyclic
    }

    fn receive(&mut self, _now: Nanos, received: Received<'_>, _out: &mut dyn Outbox) {
        let (Source::Udp(_), Some(_)) = (received.from, self.until) else { return };
        let response = match Response::read(received.bytes) {
            Ok(response) => response,
            // Commands come to all, the own one among them.
            Err(_) if Request::read(received.bytes).is_ok() => return,
            Err(why) => return self.malformed[why as usize] += 1,
        };
        if response.serial != self.serial {
            return;
        }
        match (self.commission, response.answer) {
            (Commission::Search, Answer::Found(asker, found)) if asker == self.asker => {
                if self.findings.slaves.len() == FOUND_MAX {
                    self.too_many += 1;
                } else if !self.findings.slaves.contains(&found) {
                    self.findings.slaves.push(found);
                    self.tell();
                }
            }
            (Commission::Set(..), Answer::Set(master)) if master == self.asker.mac => self.end(Outcome::Done),
            (Commission::Set(..), Answer::Refused(end_code, _)) => self.end(Outcome::Refused(end_code)),
            _ => {}
        }
    }

    fn due(&self) -> Option<Nanos> {
        self.until
    }

    fn run(&mut self, now: Nanos, _out: &mut dyn Outbox) {
        if self.until.is_some_and(|until| now >= until) {
            let is_search = self.commission == Commission::Search;
            self.end(if is_search { Outcome::Done } else { Outcome::Silent });
        }
    }

    fn address_changed(&mut self, now: Nanos, mac: Mac, address: Address, out: &mut dyn Outbox) {
        if address.ip.is_unspecified() || self.findings.outcome != Outcome::Open || self.until.is_some() {
            return;
        }
        self.asker = Asker { mac, ip: address.ip };
        let (command, patience) = match self.commission {
            Commission::Search => (Command::NodeSearch, SEARCH),
            Commission::Set(mac, address) => (Command::AddressSet(mac, address), SET),
        };
        self.until = Some(now + patience);
        let mut buffer = [0; BYTES_MAX];
        let length = Request { serial: self.serial, asker: self.asker, command }.write(&mut buffer);
        out.datagram(0, SocketAddrV4::new(Ipv4Addr::BROADCAST, SLMP_PORT), &buffer[..length]);
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let mut all =
            vec![("slaves found", self.findings.slaves.len() as u64), ("dropped: too many slaves", self.too_many)];
        all.extend(Malformed::ALL.map(|why| (why.name(), self.malformed[why as usize])));
        all
    }
}
