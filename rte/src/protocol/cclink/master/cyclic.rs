// SPDX-License-Identifier: Apache-2.0
//! The master's cyclic lane: it listens, and scans its groups.

use std::net::{Ipv4Addr, SocketAddrV4};

use super::super::wire::Malformed;
use super::super::wire::cyclic::{Request, RequestFields, Response};
use super::super::{CYCLIC_PORT, Hush, bits_bytes, words_bytes};
use super::group::{Dropped, Event, Group};
use super::{Orders, Phase, Report, Scan, Settings, SlaveReport, Spread};
use crate::application::triple_buffer::{Consumer, Producer};
use crate::protocol::{Address, Lane, Mac, Nanos, Outbox, Port, Received, Source, Urgency};

const MS: Nanos = 1_000_000;
/// How long a master listens whether there is another one.
const LISTENING: Nanos = 2500 * MS;

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    requests: u64,
    responses: u64,
    foreign_requests: u64,
    duplicates: u64,
    refusals: u64,
    dropped: [u64; Dropped::NAMES.len()],
    false_slave: u64,
    malformed: [u64; Malformed::ALL.len()],
}

/// The lane.
pub struct Cyclic {
    ports: [Port; 1],
    settings: Settings,
    orders: Consumer<Orders>,
    wanted: Orders,
    seen: Option<Producer<Report>>,
    report: Report,
    own: Ipv4Addr,
    broadcast: SocketAddrV4,
    /// When listening ends.
    listening: Nanos,
    groups: Vec<Group>,
    hush: Hush<4>,
    counts: Counts,
}

impl Cyclic {
    pub(super) fn new(settings: Settings, mut orders: Consumer<Orders>) -> Self {
        let mut groups = Vec::new();
        let mut slaves = Vec::new();
        let mut base = 0;
        for (number, group) in (1..).zip(&settings.groups) {
            groups.push(Group::new(&settings, number, slaves.len(), base));
            let mut station = 1;
            for slave in group {
                slaves.push(SlaveReport {
                    ip: slave.ip,
                    group: number,
                    station,
                    stations: slave.stations,
                    connected: false,
                    identity: None,
                    version: 0,
                    runs: false,
                    error: 0,
                    end_code: 0,
                    missed: 0,
                    lost: 0,
                    response: Spread::default(),
                });
                station += slave.stations;
            }
            base += station - 1;
        }
        let report = Report {
            phase: Phase::NoAddress,
            slaves,
            cycles: vec![Spread::default(); groups.len()],
            rx: vec![0; bits_bytes(base)],
            rwr: vec![0; words_bytes(base)],
        };
        Self {
            ports: [Port::Udp { port: CYCLIC_PORT }],
            wanted: orders.newest(|orders, _| orders.clone()),
            settings,
            orders,
            seen: None,
            report,
            own: Ipv4Addr::UNSPECIFIED,
            broadcast: SocketAddrV4::new(Ipv4Addr::BROADCAST, CYCLIC_PORT),
            listening: 0,
            groups,
            hush: Hush::default(),
            counts: Counts::default(),
        }
    }

    pub(super) fn with_report(self, seen: Producer<Report>) -> Self {
        Self { seen: Some(seen), ..self }
    }

    /// What it sees.
    pub fn report(&self) -> &Report {
        &self.report
    }

    fn publish(&mut self) {
        if let Some(seen) = &mut self.seen {
            seen.publish(|report| report.copy(&self.report));
        }
    }

    fn stop(&mut self, now: Nanos, phase: Phase, why: &str, out: &mut dyn Outbox) {
        self.report.phase = phase;
        self.groups.iter_mut().for_each(|group| group.restart(now, &mut self.report));
        out.tell(why);
        self.publish();
    }

    fn follow_orders(&mut self) {
        let wanted = &mut self.wanted;
        self.orders.newest(|orders, fresh| {
            let has_shape = orders.stopped.len() == wanted.stopped.len()
                && orders.ry.len() == wanted.ry.len()
                && orders.rww.len() == wanted.rww.len();
            if fresh && has_shape {
                wanted.clone_from(orders);
            }
        });
    }

    fn scan(&mut self, now: Nanos, out: &mut dyn Outbox) {
        self.follow_orders();
        let fields = RequestFields {
            version: self.settings.version,
            unit: self.wanted.unit,
            clock_ms: self.settings.clock_zero_ms.map_or(0, |zero| zero + now / MS),
            master: self.own,
            group: 0,
            sequence: 0,
            timeout_ms: self.settings.scan.timeout_ms(),
            timeout_count: self.settings.timeout_count,
            parameter: self.settings.parameter,
            state: 0,
        };
        let mut sent = false;
        for group in &mut self.groups {
            if let Some(request) = group.run(now, &fields, &self.wanted, &mut self.report) {
                self.counts.requests += 1;
                out.datagram(0, self.broadcast, request);
                sent = true;
            }
        }
        if sent {
            self.publish();
        }
    }

    /// Another master's request.
    fn foreign(&mut self, now: Nanos, from: SocketAddrV4, bytes: &[u8], out: &mut dyn Outbox) {
        match Request::read(bytes) {
            Err(why) => self.counts.malformed[why as usize] += 1,
            // Own broadcasts come back on some networks.
            Ok(_) if *from.ip() == self.own => {}
            Ok(_) => {
                self.counts.foreign_requests += 1;
                if self.report.phase == Phase::Listening {
                    let why = format!("there is another master, {}: this one stays silent", from.ip());
                    self.stop(now, Phase::OtherMaster(*from.ip()), &why, out);
                }
            }
        }
    }

    fn answered(&mut self, now: Nanos, from: SocketAddrV4, response: &Response<'_>, out: &mut dyn Outbox) {
        let fields = response.fields();
        if fields.slave != *from.ip() {
            return self.counts.false_slave += 1;
        }
        let Some(group) = self.groups.get_mut(usize::from(fields.group) - 1) else {
            return self.counts.dropped[Dropped::UnknownSlave as usize] += 1;
        };
        self.counts.responses += 1;
        match group.receive(now, response, &mut self.report) {
            Event::Nothing => {}
            Event::Dropped(why) => self.counts.dropped[why as usize] += 1,
            Event::Came(slave) => {
                if self.hush.allows(0, now) {
                    out.tell(&format!("slave {slave} is connected"));
                }
            }
            Event::Refused(slave, end_code) => {
                self.counts.refusals += 1;
                if self.hush.allows(1, now) {
                    out.tell(&format!("slave {slave} is not connected: it says {:#06x}", end_code.0));
                }
            }
            Event::Duplicate(slave) => {
                self.counts.duplicates += 1;
                if self.hush.allows(2, now) {
                    out.tell(&format!("slave {slave} answered twice: late, or another has its address"));
                }
            }
            Event::OtherMaster(slave) => {
                let why = format!("slave {slave} has another master: this one stays silent");
                self.stop(now, Phase::SlaveHasOther(slave), &why, out);
            }
        }
    }
}

impl Lane for Cyclic {
    fn name(&self) -> &str {
        "cclink master cyclic"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn urgency(&self) -> Urgency {
        Urgency::Cyclic(match self.settings.scan {
            Scan::Constant(ms) => Nanos::from(ms) * MS,
            Scan::Fast(_) => MS,
        })
    }

    fn receive(&mut self, now: Nanos, received: Received<'_>, out: &mut dyn Outbox) {
        let Source::Udp(from) = received.from else { return };
        match Response::read(received.bytes) {
            Err(Malformed::Subheader | Malformed::Length) if received.bytes.first() != Some(&0xD0) => {
                self.foreign(now, from, received.bytes, out);
            }
            Err(why) => self.counts.malformed[why as usize] += 1,
            Ok(response) if self.report.phase == Phase::Scanning => {
                self.answered(now, from, &response, out);
                if self.report.phase == Phase::Scanning {
                    self.scan(now, out);
                }
            }
            Ok(_) => {}
        }
    }

    fn due(&self) -> Option<Nanos> {
        match self.report.phase {
            Phase::Listening => Some(self.listening),
            Phase::Scanning => self.groups.iter().map(|group| group.timer).min(),
            Phase::NoAddress | Phase::OtherMaster(_) | Phase::SlaveHasOther(_) => None,
        }
    }

    fn run(&mut self, now: Nanos, out: &mut dyn Outbox) {
        if self.report.phase == Phase::Listening && now >= self.listening {
            self.report.phase = Phase::Scanning;
            self.groups.iter_mut().for_each(|group| group.restart(now, &mut self.report));
        }
        if self.report.phase == Phase::Scanning {
            self.scan(now, out);
        }
    }

    fn address_changed(&mut self, now: Nanos, _mac: Mac, address: Address, _out: &mut dyn Outbox) {
        self.own = address.ip;
        self.broadcast = SocketAddrV4::new(address.broadcast(), CYCLIC_PORT);
        self.listening = now + LISTENING;
        self.report.phase = if address.ip.is_unspecified() { Phase::NoAddress } else { Phase::Listening };
        self.publish();
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let counts = &self.counts;
        let mut all = vec![
            ("requests", counts.requests),
            ("responses", counts.responses),
            ("refusals", counts.refusals),
            ("slave duplications", counts.duplicates),
            ("other masters' requests", counts.foreign_requests),
            ("dropped: not from its slave", counts.false_slave),
        ];
        all.extend(Dropped::NAMES.into_iter().zip(counts.dropped));
        all.extend(Malformed::ALL.map(|why| (why.name(), counts.malformed[why as usize])));
        all
    }
}
