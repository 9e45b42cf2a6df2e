// SPDX-License-Identifier: Apache-2.0
//! The lane that answers a master's requests.
//!
//! ```text
//!                 own address listed, own bit 0, as many stations
//!   Searching ---------------------------------------------------> Linked
//!     ^  ^  <------------------------------------------------------  |
//!     |  |       watchdog; wrong number of stations; new address     |
//!     |  |                                                           | the application wants no master
//!     |  '---------------- it wants one again ---- Leaving <---------'
//!     |                                              | 2.5 s, or own bit 0
//!     '-------- it wants one again --- Disconnected <'
//! ```

use std::net::{Ipv4Addr, SocketAddrV4};

use super::super::wire::Malformed;
use super::super::wire::cyclic::{EndCode, RESPONSE_BYTES_MAX, Request, RequestFields, ResponseFields, response_data};
use super::super::{CYCLIC_PORT, Hush};
use super::{Application, MasterStop, Settings, Wishes};
use crate::application::endpoint::Endpoint;
use crate::application::triple_buffer::Consumer;
use crate::protocol::{Address, Lane, Mac, Nanos, Outbox, Port, Received, Source, Urgency};

const MS: Nanos = 1_000_000;
/// How long a master is told that the slave wants to go.
const LEAVING: Nanos = 2500 * MS;

/// A master, and the slave's place with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Link {
    master: Ipv4Addr,
    parameter: u16,
    group: u8,
    /// The slave's first station, from 0.
    first: usize,
    /// When the master is lost unless it sends a request before.
    deadline: Nanos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Searching,
    Linked(Link),
    Leaving { link: Link, until: Nanos, end_code: EndCode },
    Disconnected,
}

/// What the user is told of, once a second each.
#[derive(Clone, Copy)]
enum Event {
    Adopted,
    Lost,
    Leaving,
    SecondMaster,
    WrongStations,
    Duplicate,
}

/// What is done with a request.
enum Verdict {
    /// Nothing, and why.
    Silent(fn(&mut Counts) -> &mut u64),
    /// It is answered without data.
    Answer(EndCode),
    /// Data are exchanged.
    Exchange,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    exchanged: u64,
    without_data: u64,
    refused: u64,
    master_duplication: u64,
    wrong_stations: u64,
    masters_adopted: u64,
    masters_lost: u64,
    for_others: u64,
    stopped: u64,
    duplicate: u64,
    disconnected: u64,
    no_address: u64,
    false_master: u64,
    malformed: [u64; Malformed::ALL.len()],
}

/// The lane.
pub struct Cyclic {
    name: String,
    ports: [Port; 1],
    settings: Settings,
    application: Application,
    own: Ipv4Addr,
    state: State,
    /// When to look whether the master is lost: at its deadline, or before. Moved on only when it has come, so that the
    /// timer need not be set anew with every request.
    look_at: Nanos,
    /// Whether the application has outputs of the master's.
    has_outputs: bool,
    buffer: [u8; RESPONSE_BYTES_MAX],
    hush: Hush<6>,
    counts: Counts,
}

impl Cyclic {
    pub(super) fn new(settings: Settings, endpoint: Endpoint, wishes: Consumer<Wishes>) -> Self {
        Self {
            name: format!("{} cyclic", settings.name),
            ports: [Port::Udp { port: CYCLIC_PORT }],
            application: Application { endpoint, wishes, stop: settings.application_stop },
            settings,
            own: Ipv4Addr::UNSPECIFIED,
            state: State::Searching,
            look_at: 0,
            has_outputs: false,
            buffer: [0; RESPONSE_BYTES_MAX],
            hush: Hush::default(),
            counts: Counts::default(),
        }
    }

    fn lose_outputs(&mut self, now: Nanos) {
        if std::mem::take(&mut self.has_outputs) {
            self.application.endpoint.outputs_lost(now);
        }
    }

    /// Leaves the master that there is, if there is one.
    fn search(&mut self, now: Nanos) {
        self.lose_outputs(now);
        self.state = State::Searching;
    }

    /// Sees whether time is up for something.
    fn expire(&mut self, now: Nanos, out: &mut dyn Outbox) {
        match self.state {
            State::Linked(link) if now >= link.deadline => {
                self.counts.masters_lost += 1;
                self.search(now);
                if self.hush.allows(Event::Lost as usize, now) {
                    out.tell(&format!("master {} is lost: its requests do not come any more", link.master));
                }
            }
            State::Linked(link) => self.look_at = link.deadline,
            State::Leaving { until, .. } if now >= until => self.state = State::Disconnected,
            _ => {}
        }
    }

    /// Sees whether the application wants a master.
    fn follow_application(&mut self, now: Nanos, out: &mut dyn Outbox) {
        match (self.application.farewell(now), self.state) {
            (Some(end_code), State::Linked(link)) => {
                self.lose_outputs(now);
                self.state = State::Leaving { link, until: now + LEAVING, end_code };
                if self.hush.allows(Event::Leaving as usize, now) {
                    out.tell(&format!("disconnects from master {} with {:#06x}", link.master, end_code.0));
                }
            }
            (Some(_), State::Searching) => self.state = State::Disconnected,
            (None, State::Leaving { .. } | State::Disconnected) => self.state = State::Searching,
            _ => {}
        }
    }

    fn judge(&mut self, now: Nanos, request: &Request<'_>, fields: &RequestFields, out: &mut dyn Outbox) -> Verdict {
        match self.state {
            State::Disconnected => Verdict::Silent(|counts| &mut counts.disconnected),
            State::Searching => self.adopt(now, request, fields, out),
            State::Leaving { link, end_code, .. } => {
                if fields.master != link.master || fields.group != link.group {
                    return Verdict::Silent(|counts| &mut counts.disconnected);
                }
                if fields.state >> link.first & 1 == 0 || request.slave(link.first) != Some(self.own) {
                    self.state = State::Disconnected;
                    return Verdict::Silent(|counts| &mut counts.disconnected);
                }
                Verdict::Answer(end_code)
            }
            State::Linked(link) if fields.master != link.master => match request.find(self.own) {
                None => Verdict::Silent(|counts| &mut counts.for_others),
                Some(_) => {
                    if self.hush.allows(Event::SecondMaster as usize, now) {
                        let (other, own) = (fields.master, link.master);
                        out.tell(&format!("a second master, {other}, wants this slave, which {own} has"));
                    }
                    Verdict::Answer(EndCode::MASTER_DUPLICATION)
                }
            },
            State::Linked(link) if fields.parameter != link.parameter || fields.sequence == 0 => {
                self.adopt(now, request, fields, out)
            }
            State::Linked(link) => self.follow(now, link, request, fields),
        }
    }

    /// A request of the slave's master: it goes on.
    fn follow(&mut self, now: Nanos, link: Link, request: &Request<'_>, fields: &RequestFields) -> Verdict {
        if fields.group != link.group {
            return Verdict::Silent(|counts| &mut counts.for_others);
        }
        match request.slave(link.first) {
            Some(Ipv4Addr::UNSPECIFIED) => {
                // The master stops this slave. The watchdog runs on: unless it changes its mind, it is lost.
                self.lose_outputs(now);
                Verdict::Silent(|counts| &mut counts.stopped)
            }
            Some(slave) if slave == self.own && request.occupied(link.first) == self.settings.stations => {
                let deadline = now + fields.watchdog_ms() * MS;
                self.state = State::Linked(Link { deadline, ..link });
                self.look_at = self.look_at.min(deadline);
                Verdict::Exchange
            }
            _ => Verdict::Silent(|counts| &mut counts.for_others),
        }
    }

    /// A request of a master that the slave does not know, or that starts anew.
    fn adopt(&mut self, now: Nanos, request: &Request<'_>, fields: &RequestFields, out: &mut dyn Outbox) -> Verdict {
        let Some((first, stations)) = request.find(self.own) else {
            return Verdict::Silent(|counts| &mut counts.for_others);
        };
        if stations != self.settings.stations {
            self.search(now);
            if self.hush.allows(Event::WrongStations as usize, now) {
                let own = self.settings.stations;
                out.tell(&format!("master {} has {stations} stations for this slave of {own}", fields.master));
            }
            return Verdict::Answer(EndCode::WRONG_STATIONS);
        }
        if fields.state >> first & 1 != 0 {
            if self.hush.allows(Event::Duplicate as usize, now) {
                let (own, master) = (self.own, fields.master);
                out.tell(&format!(
                    "master {master} exchanges data with {own} already: late answers, or another has the address"
                ));
            }
            return Verdict::Silent(|counts| &mut counts.duplicate);
        }
        let (master, parameter, group) = (fields.master, fields.parameter, fields.group);
        let deadline = now + fields.watchdog_ms() * MS;
        self.counts.masters_adopted += 1;
        self.state = State::Linked(Link { master, parameter, group, first, deadline });
        self.look_at = deadline;
        if self.hush.allows(Event::Adopted as usize, now) {
            out.tell(&format!("master {master} has this slave as station {} of group {group}", first + 1));
        }
        Verdict::Exchange
    }

    /// Takes the data of a request, if it has some; answers whether it has.
    fn take(&mut self, now: Nanos, request: &Request<'_>, fields: &RequestFields) -> bool {
        let State::Linked(Link { first, .. }) = self.state else { return false };
        if fields.state >> first & 1 == 0 {
            self.lose_outputs(now);
            return false;
        }
        let (rww, ry) =
            (&request.rww()[super::super::words_bytes(first)..], &request.ry()[super::super::bits_bytes(first)..]);
        let Settings { rww: words, ry: bits, master_stop, .. } = &self.settings;
        let write = |image: &mut [u8]| {
            words.unpack(rww, image);
            bits.unpack(ry, image);
        };
        let endpoint = &mut self.application.endpoint;
        match (fields.unit.runs(), master_stop) {
            (true, _) => endpoint.outputs(now, true, write),
            (false, MasterStop::Pass) => endpoint.outputs(now, false, write),
            (false, MasterStop::Hold) => endpoint.outputs(now, false, |_| {}),
            (false, MasterStop::Safe) => {
                self.lose_outputs(now);
                return true;
            }
        }
        self.has_outputs = true;
        true
    }

    fn answer(
        &mut self,
        now: Nanos,
        to: SocketAddrV4,
        end_code: EndCode,
        with_data: bool,
        fields: &RequestFields,
        out: &mut dyn Outbox,
    ) {
        let Settings { identity, version, stations, rx, rwr, application_error, .. } = &self.settings;
        let (words, bits) = response_data(*stations, &mut self.buffer);
        let (image, good) = self.application.endpoint.inputs(now);
        if with_data {
            rwr.pack(image, words);
            rx.pack(image, bits);
        } else {
            words.fill(0);
            bits.fill(0);
        }
        let wishes = self.application.wishes.newest(|wishes, _| *wishes);
        let length = ResponseFields {
            version: *version,
            end_code,
            vendor: identity.vendor,
            model: identity.model,
            equipment_version: identity.equipment_version,
            unit: u16::from(good),
            error: if good || wishes.error != 0 { wishes.error } else { *application_error },
            management: wishes.management,
            slave: self.own,
            group: fields.group,
            sequence: fields.sequence,
        }
        .write(*stations, &mut self.buffer);
        out.datagram(0, to, &self.buffer[..length]);
    }
}

impl Lane for Cyclic {
    fn name(&self) -> &str {
        &self.name
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn urgency(&self) -> Urgency {
        Urgency::Cyclic(self.settings.cycle)
    }

    fn receive(&mut self, now: Nanos, received: Received<'_>, out: &mut dyn Outbox) {
        let Source::Udp(from) = received.from else { return };
        let request = match Request::read(received.bytes) {
            Ok(request) => request,
            Err(why) => return self.counts.malformed[why as usize] += 1,
        };
        let fields = request.fields();
        if self.own.is_unspecified() {
            return self.counts.no_address += 1;
        }
        if fields.master != *from.ip() || fields.master == self.own {
            return self.counts.false_master += 1;
        }
        self.expire(now, out);
        self.follow_application(now, out);
        match self.judge(now, &request, &fields, out) {
            Verdict::Silent(why) => *why(&mut self.counts) += 1,
            Verdict::Answer(end_code) => {
                match end_code {
                    EndCode::MASTER_DUPLICATION => self.counts.master_duplication += 1,
                    EndCode::WRONG_STATIONS => self.counts.wrong_stations += 1,
                    _ => self.counts.refused += 1,
                }
                self.answer(now, from, end_code, false, &fields, out);
            }
            Verdict::Exchange => {
                let with_data = self.take(now, &request, &fields);
                self.answer(now, from, EndCode::GOOD, with_data, &fields, out);
                *(if with_data { &mut self.counts.exchanged } else { &mut self.counts.without_data }) += 1;
            }
        }
    }

    fn due(&self) -> Option<Nanos> {
        match self.state {
            State::Linked(_) => Some(self.look_at),
            State::Leaving { until, .. } => Some(until),
            State::Searching | State::Disconnected => None,
        }
    }

    fn run(&mut self, now: Nanos, out: &mut dyn Outbox) {
        self.expire(now, out);
        self.follow_application(now, out);
    }

    fn address_changed(&mut self, now: Nanos, _mac: Mac, address: Address, _out: &mut dyn Outbox) {
        if self.own != address.ip {
            self.own = address.ip;
            self.search(now);
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let counts = &self.counts;
        let mut all = vec![
            ("exchanged", counts.exchanged),
            ("answered without data", counts.without_data),
            ("answered: disconnect", counts.refused),
            ("answered: master duplication", counts.master_duplication),
            ("answered: wrong number of stations", counts.wrong_stations),
            ("masters adopted", counts.masters_adopted),
            ("masters lost", counts.masters_lost),
            ("silent: for others", counts.for_others),
            ("silent: stopped by the master", counts.stopped),
            ("silent: slave duplication", counts.duplicate),
            ("silent: disconnected", counts.disconnected),
            ("dropped: no address yet", counts.no_address),
            ("dropped: not from its master", counts.false_master),
        ];
        all.extend(Malformed::ALL.map(|why| (why.name(), counts.malformed[why as usize])));
        all
    }
}
