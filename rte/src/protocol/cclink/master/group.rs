// SPDX-License-Identifier: Apache-2.0
//! The link scan of one group.

use std::net::Ipv4Addr;
use std::ops::Range;

use super::super::wire::cyclic::{
    EndCode, FURTHER_STATION, REQUEST_BYTES_MAX, RequestFields, Response, ResponseFields,
};
use super::super::{Identity, bits_bytes, words_bytes};
use super::{Orders, Report, Scan, Settings, SlaveSettings};
use crate::protocol::Nanos;

const MS: Nanos = 1_000_000;

/// How it stands with a slave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It was not asked yet. The first scan waits for it.
    New,
    /// It does not answer, or said that it does not want to. It gets no data, and no scan waits for it.
    Lost,
    /// It gets data, and the scan waits for it.
    Connected,
    /// The user stopped it.
    Stopped,
}

#[derive(Clone, Debug)]
struct Slave {
    settings: SlaveSettings,
    /// Its number over all groups.
    number: usize,
    /// Its first station in the group.
    first: usize,
    state: State,
    /// Whether its bit is on in the present request.
    has_data: bool,
    /// Whether the present scan waits for it.
    awaited: bool,
    answered: bool,
    /// Answers that did not come, in a row.
    missed: u16,
}

/// What an answer leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// Nothing that anybody must know.
    Nothing,
    /// It was dropped.
    Dropped(Dropped),
    /// A slave answered for the first time, or again.
    Came(Ipv4Addr),
    /// A slave said that it does not want to be connected.
    Refused(Ipv4Addr, EndCode),
    /// The slave has another master.
    OtherMaster(Ipv4Addr),
    /// Two slaves have the address.
    Duplicate(Ipv4Addr),
}

/// Why an answer was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dropped {
    UnknownSlave,
    WrongStations,
    OldSequence,
}

impl Dropped {
    pub(super) const NAMES: [&str; 3] =
        ["dropped: unknown slave", "dropped: wrong number of stations", "dropped: old sequence number"];
}

/// The link scan of one group.
pub(super) struct Group {
    number: u8,
    slaves: Vec<Slave>,
    stations: usize,
    /// Its first station over all groups.
    base: usize,
    scan: Scan,
    timeout_count: u16,
    next_sequence: u16,
    sequence: u16,
    /// When the present request was sent.
    began: Nanos,
    /// When the present scan ends.
    pub(super) timer: Nanos,
    buffer: [u8; REQUEST_BYTES_MAX],
    ids: [Ipv4Addr; 16],
    words: [u8; words_bytes(16)],
    bits: [u8; bits_bytes(16)],
}

impl Group {
    /// Group `number`, whose first slave has number `slave` and whose first station has number `base` over all groups.
    pub(super) fn new(settings: &Settings, number: u8, slave: usize, base: usize) -> Self {
        let mut first = 0;
        let slaves = settings.groups[usize::from(number) - 1].iter().enumerate().map(|(n, settings)| {
            let this = Slave {
                settings: *settings,
                number: slave + n,
                first,
                state: State::New,
                has_data: false,
                awaited: false,
                answered: false,
                missed: 0,
            };
            first += settings.stations;
            this
        });
        let slaves = slaves.collect();
        Self {
            number,
            slaves,
            stations: first,
            base,
            scan: settings.scan,
            timeout_count: settings.timeout_count,
            next_sequence: 0,
            sequence: 0,
            began: 0,
            timer: 0,
            buffer: [0; REQUEST_BYTES_MAX],
            ids: [FURTHER_STATION; 16],
            words: [0; words_bytes(16)],
            bits: [0; bits_bytes(16)],
        }
    }

    /// Begins anew: nobody is connected. The first scan is at `at`.
    pub(super) fn restart(&mut self, at: Nanos, report: &mut Report) {
        self.next_sequence = 0;
        self.timer = at;
        for n in 0..self.slaves.len() {
            self.lose(n, State::New, report);
        }
    }

    /// The slave is not connected any more.
    fn lose(&mut self, n: usize, state: State, report: &mut Report) {
        let slave = &mut self.slaves[n];
        let seen = &mut report.slaves[slave.number];
        seen.lost += u64::from(slave.state == State::Connected);
        seen.connected = false;
        slave.state = state;
        slave.has_data = false;
        let stations = self.base + slave.first..self.base + slave.first + slave.settings.stations;
        let bytes = |of: fn(usize) -> usize| of(stations.start)..of(stations.end);
        report.rx[bytes(bits_bytes)].fill(0);
        report.rwr[bytes(words_bytes)].fill(0);
    }

    /// Ends the present scan and answers the next request, if it is time for it.
    pub(super) fn run(
        &mut self,
        now: Nanos,
        fields: &RequestFields,
        orders: &Orders,
        report: &mut Report,
    ) -> Option<&[u8]> {
        let is_complete = matches!(self.scan, Scan::Fast(_)) && self.is_complete();
        if now < self.timer && !is_complete {
            return None;
        }
        for n in 0..self.slaves.len() {
            self.judge(n, orders, report);
        }
        if self.next_sequence != 0 {
            report.cycles[usize::from(self.number) - 1].add(now - self.began);
        }
        self.timer = match self.scan {
            Scan::Fast(ms) => now + Nanos::from(ms) * MS,
            // The grid stands still; cycles that were missed are left out.
            Scan::Constant(ms) => {
                let cycle = Nanos::from(ms) * MS;
                self.timer + cycle * ((now - self.timer) / cycle + 1)
            }
        };
        self.began = now;
        self.sequence = self.next_sequence;
        self.next_sequence = if self.sequence == u16::MAX { 1 } else { self.sequence + 1 };
        Some(self.request(fields, orders))
    }

    fn is_complete(&self) -> bool {
        let mut awaited = self.slaves.iter().filter(|slave| slave.awaited).peekable();
        awaited.peek().is_some() && awaited.all(|slave| slave.answered)
    }

    /// What becomes of a slave at the end of a scan, and what it is for the next one.
    fn judge(&mut self, n: usize, orders: &Orders, report: &mut Report) {
        let slave = &mut self.slaves[n];
        let is_first = self.next_sequence == 0;
        if slave.state == State::Connected && !slave.answered {
            slave.missed += 1;
            report.slaves[slave.number].missed += 1;
            if slave.missed >= self.timeout_count {
                self.lose(n, State::Lost, report);
            }
        }
        let slave = &mut self.slaves[n];
        match (slave.state, orders.stopped[slave.number]) {
            (State::Stopped, false) => slave.state = State::Lost,
            (State::New, false) if !is_first => slave.state = State::Lost,
            (State::Stopped, true) | (_, false) => {}
            (_, true) => self.lose(n, State::Stopped, report),
        }
        let slave = &mut self.slaves[n];
        slave.has_data = slave.state == State::Connected;
        slave.awaited = slave.has_data || slave.state == State::New;
        slave.answered = false;
    }

    fn request(&mut self, fields: &RequestFields, orders: &Orders) -> &[u8] {
        let mut state = 0;
        for slave in &self.slaves {
            let stations = slave.first..slave.first + slave.settings.stations;
            self.ids[slave.first] =
                if slave.state == State::Stopped { Ipv4Addr::UNSPECIFIED } else { slave.settings.ip };
            let (words, bits) = (byte_range(&stations, words_bytes), byte_range(&stations, bits_bytes));
            if slave.has_data {
                state |= 1 << slave.first;
                let over_all = self.base + stations.start..self.base + stations.end;
                self.words[words].copy_from_slice(&orders.rww[byte_range(&over_all, words_bytes)]);
                self.bits[bits].copy_from_slice(&orders.ry[byte_range(&over_all, bits_bytes)]);
            } else {
                self.words[words].fill(0);
                self.bits[bits].fill(0);
            }
        }
        let fields = RequestFields { group: self.number, sequence: self.sequence, state, ..*fields };
        let length = fields.write(&self.ids[..self.stations], &self.words, &self.bits, &mut self.buffer);
        &self.buffer[..length]
    }

    /// An answer to this group came from a slave.
    pub(super) fn receive(&mut self, now: Nanos, response: &Response<'_>, report: &mut Report) -> Event {
        let fields = response.fields();
        let Some(n) = self.slaves.iter().position(|slave| slave.settings.ip == fields.slave) else {
            return Event::Dropped(Dropped::UnknownSlave);
        };
        let slave = &mut self.slaves[n];
        let is_current = fields.sequence == self.sequence;
        if !is_current && matches!(slave.state, State::Connected | State::New) {
            return Event::Dropped(Dropped::OldSequence);
        }
        let seen = &mut report.slaves[slave.number];
        seen.end_code = fields.end_code.0;
        if fields.end_code != EndCode::GOOD {
            return self.refused(n, &fields, report);
        }
        if response.stations() != slave.settings.stations {
            return Event::Dropped(Dropped::WrongStations);
        }
        if slave.answered && is_current {
            self.lose(n, State::Lost, report);
            return Event::Duplicate(fields.slave);
        }
        seen.identity =
            Some(Identity { vendor: fields.vendor, model: fields.model, equipment_version: fields.equipment_version });
        (seen.version, seen.runs, seen.error) = (fields.version, fields.unit & 1 != 0, fields.error);
        if is_current {
            seen.response.add(now - self.began);
        }
        slave.answered = true;
        slave.missed = 0;
        if slave.has_data {
            let over_all = self.base + slave.first..self.base + slave.first + slave.settings.stations;
            report.rwr[byte_range(&over_all, words_bytes)].copy_from_slice(response.rwr());
            report.rx[byte_range(&over_all, bits_bytes)].copy_from_slice(response.rx());
            return Event::Nothing;
        }
        if matches!(slave.state, State::New | State::Lost) {
            slave.state = State::Connected;
            seen.connected = true;
            return Event::Came(fields.slave);
        }
        Event::Nothing
    }

    /// A slave does not want to be connected. A scan goes on if it was, and waits for its end if it was not, as those of
    /// captured masters.
    fn refused(&mut self, n: usize, fields: &ResponseFields, report: &mut Report) -> Event {
        if fields.end_code == EndCode::MASTER_DUPLICATION {
            return Event::OtherMaster(fields.slave);
        }
        let slave = &mut self.slaves[n];
        match slave.state {
            State::Connected => {
                slave.answered = true;
                self.lose(n, State::Lost, report);
            }
            State::New => slave.state = State::Lost,
            State::Lost | State::Stopped => return Event::Nothing,
        }
        Event::Refused(fields.slave, fields.end_code)
    }
}

fn byte_range(stations: &Range<usize>, bytes: fn(usize) -> usize) -> Range<usize> {
    bytes(stations.start)..bytes(stations.end)
}
