// SPDX-License-Identifier: Apache-2.0
//! A Modbus/TCP server: "MODBUS Messaging on TCP/IP Implementation Guide V1.0b". Any number of clients read, and those
//! that write share the outputs; when the last of them is gone or silent, outputs become safe.

pub mod map;
pub mod request;
#[cfg(test)]
mod tests;

use crate::application::endpoint::Endpoint;
use crate::protocol::{Lane, Nanos, Outbox, Port, Received, Source, Urgency};

use map::Map;
use request::{Bank, PDU};

/// Bytes of the header of the Modbus application protocol: transaction, protocol, length, unit.
const HEADER: usize = 7;
/// Bytes of the longest request with its header.
const LONGEST: usize = HEADER + PDU;

/// What a server is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// TCP port.
    pub port: u16,
    /// Connections at once.
    pub connections: usize,
    /// The unit that it answers for, besides 0 and 255, which mean the device itself; none: for all.
    pub unit: Option<u8>,
    /// A connection over which nothing was asked for so long is closed.
    pub idle_timeout: Nanos,
    /// Outputs become safe when nobody who writes them asks anything for so long; none: when their connections are closed.
    pub watchdog: Option<Nanos>,
    /// How often outputs are handed to the application even if nobody writes them anew.
    pub refresh: Nanos,
}

#[derive(Debug)]
struct Connection {
    number: u32,
    /// The beginning of a request.
    pending: Vec<u8>,
    asked: Nanos,
    /// It has written outputs since they were safe.
    writes: bool,
}

/// What happened, see [`Lane::counters`].
#[derive(Debug, Default)]
struct Counters {
    requests: u64,
    exceptions: [u64; 12],
    not_modbus: u64,
    length: u64,
    idle: u64,
    too_many: u64,
    lost_closed: u64,
    lost_silent: u64,
}

/// The server.
#[derive(Debug)]
pub struct Server {
    settings: Settings,
    ports: [Port; 1],
    bank: Bank,
    connections: Vec<Connection>,
    /// While outputs are valid: when they are handed on next.
    refresh: Option<Nanos>,
    counters: Counters,
}

impl Server {
    /// A server of the data points of `map`.
    pub fn new(settings: Settings, map: Map, endpoint: Endpoint) -> Self {
        let ports = [Port::Tcp { port: settings.port, connections: settings.connections }];
        let connections = Vec::with_capacity(settings.connections);
        let counters = Counters::default();
        Self { settings, ports, bank: Bank::new(map, endpoint), connections, refresh: None, counters }
    }

    /// Takes what there is of a stream; false if the connection is to be closed.
    fn take(&mut self, now: Nanos, index: usize, mut bytes: &[u8], out: &mut dyn Outbox) -> bool {
        let mut pending = std::mem::take(&mut self.connections[index].pending);
        while !bytes.is_empty() {
            let wanted = match pending.get(4..6) {
                None => 6 - pending.len(),
                Some(length) => HEADER - 1 + usize::from(u16::from_be_bytes([length[0], length[1]])) - pending.len(),
            };
            let (head, rest) = bytes.split_at(wanted.min(bytes.len()));
            pending.extend_from_slice(head);
            bytes = rest;
            if pending.len() < HEADER - 1 {
                continue;
            }
            if pending[2..4] != [0, 0] {
                self.counters.not_modbus += 1;
                return false;
            }
            let length = usize::from(u16::from_be_bytes([pending[4], pending[5]]));
            // A unit and a function at least.
            if !(2..=PDU + 1).contains(&length) {
                self.counters.length += 1;
                return false;
            }
            if pending.len() == HEADER - 1 + length {
                self.answer(now, index, &pending, out);
                pending.clear();
            }
        }
        self.connections[index].pending = pending;
        true
    }

    /// Answers a whole request.
    fn answer(&mut self, now: Nanos, index: usize, request: &[u8], out: &mut dyn Outbox) {
        self.counters.requests += 1;
        let mut reply = [0; PDU];
        let (unit, pdu) = (request[HEADER - 1], &request[HEADER..]);
        let is_for_us = self.settings.unit.is_none_or(|own| [own, 0, 255].contains(&unit));
        let answer = if is_for_us {
            self.bank.answer(now, pdu, &mut reply)
        } else {
            // Of a gateway: the unit behind it does not respond.
            reply[..2].copy_from_slice(&[pdu[0] | 0x80, 0x0B]);
            request::Answer { length: 2, wrote: false, exception: Some(0x0B) }
        };
        if let Some(code) = answer.exception {
            self.counters.exceptions[usize::from(code).min(11)] += 1;
        }
        let connection = &mut self.connections[index];
        connection.asked = now;
        if answer.wrote {
            connection.writes = true;
            if self.refresh.is_none() {
                out.tell("a client sends outputs");
            }
            self.refresh = Some(now + self.settings.refresh);
        }
        let mut whole = [0; LONGEST];
        whole[..4].copy_from_slice(&request[..4]);
        whole[4..6].copy_from_slice(&(answer.length as u16 + 1).to_be_bytes());
        whole[6] = unit;
        whole[HEADER..HEADER + answer.length].copy_from_slice(&reply[..answer.length]);
        out.stream(0, connection.number, &whole[..HEADER + answer.length]);
    }

    /// A connection is no more.
    fn forget(&mut self, now: Nanos, index: usize, out: &mut dyn Outbox) {
        let wrote = self.connections.swap_remove(index).writes;
        if wrote && !self.connections.iter().any(|connection| connection.writes) {
            self.counters.lost_closed += 1;
            self.lose(now, "the last client that sent outputs is gone: they are safe", out);
        }
    }

    fn lose(&mut self, now: Nanos, why: &str, out: &mut dyn Outbox) {
        self.connections.iter_mut().for_each(|connection| connection.writes = false);
        self.refresh = None;
        self.bank.lose_outputs(now);
        out.tell(why);
    }

    /// When those that write have been silent for too long.
    fn silent(&self) -> Option<Nanos> {
        let writers = self.connections.iter().filter(|connection| connection.writes);
        Some(writers.map(|connection| connection.asked).max()? + self.settings.watchdog?)
    }
}

impl Lane for Server {
    fn name(&self) -> &str {
        "modbus"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn urgency(&self) -> Urgency {
        Urgency::Acyclic
    }

    fn receive(&mut self, now: Nanos, received: Received<'_>, out: &mut dyn Outbox) {
        let Source::Connection(number) = received.from else { return };
        let known = self.connections.iter().position(|connection| connection.number == number);
        if received.bytes.is_empty() {
            if let Some(index) = known {
                self.forget(now, index, out);
            }
            return;
        }
        let index = match known {
            Some(index) => index,
            None if self.connections.len() == self.settings.connections => {
                self.counters.too_many += 1;
                out.close(0, number);
                return;
            }
            None => {
                let pending = Vec::with_capacity(LONGEST);
                self.connections.push(Connection { number, pending, asked: now, writes: false });
                self.connections.len() - 1
            }
        };
        if !self.take(now, index, received.bytes, out) {
            out.close(0, number);
            self.forget(now, index, out);
        }
    }

    fn due(&self) -> Option<Nanos> {
        let idle = self.connections.iter().map(|connection| connection.asked + self.settings.idle_timeout);
        idle.chain(self.silent()).chain(self.refresh).min()
    }

    fn run(&mut self, now: Nanos, out: &mut dyn Outbox) {
        if self.silent().is_some_and(|silent| silent <= now) {
            self.counters.lost_silent += 1;
            self.lose(now, "no client that sends outputs asks any more: they are safe", out);
        }
        while let Some(index) =
            self.connections.iter().position(|connection| connection.asked + self.settings.idle_timeout <= now)
        {
            self.counters.idle += 1;
            out.close(0, self.connections[index].number);
            self.forget(now, index, out);
        }
        if self.refresh.is_some_and(|refresh| refresh <= now) {
            self.bank.refresh(now);
            self.refresh = Some(now + self.settings.refresh);
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let Counters { requests, exceptions, not_modbus, length, idle, too_many, lost_closed, lost_silent } =
            &self.counters;
        vec![
            ("requests", *requests),
            ("connections", self.connections.len() as u64),
            ("exception: illegal function", exceptions[1]),
            ("exception: illegal data address", exceptions[2]),
            ("exception: illegal data value", exceptions[3]),
            ("exception: inputs are not good", exceptions[4]),
            ("exception: another unit", exceptions[11]),
            ("closed: not Modbus", *not_modbus),
            ("closed: impossible length", *length),
            ("closed: idle", *idle),
            ("closed: too many", *too_many),
            ("outputs lost: closed", *lost_closed),
            ("outputs lost: silent", *lost_silent),
        ]
    }
}
