// SPDX-License-Identifier: Apache-2.0
//! The lane at the cycle: sends inputs, receives outputs, notices when nobody sends them.
//!
//! Frames are due at multiples of their period on the clock, and the cycle counter is that time: a frame that is late
//! has the counter of when it was due, and the next one is due when it would have been. Of frames that are late by more
//! than a period the newest alone is sent.

use std::sync::Arc;

use super::link::{CONNECTIONS_MAX, Consumed, Orders, Part, Provided, Relation, Report, Reports};
use crate::application::endpoint::{Endpoint, Safe};
use crate::application::triple_buffer::{Consumer, Producer};
use crate::protocol::profinet::counters::Counters;
use crate::protocol::profinet::wire::iocr::CLOCK_NANOS;
use crate::protocol::profinet::wire::rt::{
    BAD, Cyclic, DataStatus, Ethernet, GOOD, OVERHEAD_BYTES, TAGGED_HEADER_BYTES,
};
use crate::protocol::profinet::wire::status::Status;
use crate::protocol::profinet::wire::{ETHERTYPE, Malformed};
use crate::protocol::{Address, Lane, Mac, Nanos, Outbox, Port, Received, Source, Urgency};

/// FrameIDs of RT classes 1 and 2.
pub const FRAME_IDS: std::ops::RangeInclusive<u16> = 0x8000..=0xfbff;
/// A cycle counter that is ahead by more is behind.
const CYCLES_AHEAD_MAX: u16 = 61_440;

/// Safe values of a part of the outputs, as on the wire.
#[derive(Debug)]
struct SafePart {
    values: Vec<u8>,
    /// A bit is 0 where the last value is held.
    mask: Vec<u8>,
    scratch: Vec<u8>,
}

impl SafePart {
    fn new(part: &Part, safe: &Safe) -> Self {
        let wire = |image: &[u8]| {
            let mut wire = vec![0; part.bytes];
            if let Some(layout) = &part.layout {
                layout.pack(image, &mut wire);
            }
            wire
        };
        let mask: Vec<u8> = safe.replaced.iter().map(|replaced| if *replaced { 0xff } else { 0 }).collect();
        Self { values: wire(&safe.values), mask: wire(&mask), scratch: vec![0; part.bytes] }
    }

    /// Puts the safe values into an image of outputs.
    fn apply(&mut self, part: &Part, image: &mut [u8]) {
        let Some(layout) = &part.layout else { return };
        layout.pack(image, &mut self.scratch);
        for ((byte, safe), mask) in self.scratch.iter_mut().zip(&self.values).zip(&self.mask) {
            *byte = *byte & !mask | safe & mask;
        }
        layout.unpack(&self.scratch, image);
    }
}

/// A connection while it lasts.
#[derive(Debug)]
struct Running {
    relation: Arc<Relation>,
    frame: Vec<u8>,
    safe: Vec<SafePart>,
    /// When the next frame is due, once inputs are sent.
    send_at: Option<Nanos>,
    /// When the data is no longer held, once there was some.
    held_until: Option<Nanos>,
    cycle: Option<u16>,
    ended: Option<Status>,
}

impl Running {
    fn new(relation: &Arc<Relation>, mac: Mac, safe: &Safe) -> Self {
        let Provided { frame_id, tag, bytes, .. } = relation.provided;
        let mut frame = vec![0; bytes + OVERHEAD_BYTES];
        Ethernet { to: relation.mac, from: mac, tag: Some(tag), frame_id }.write(&mut frame);
        let safe = relation.consumed.parts.iter().map(|part| SafePart::new(part, safe)).collect();
        let relation = relation.clone();
        Self { relation, frame, safe, send_at: None, held_until: None, cycle: None, ended: None }
    }

    fn due(&self) -> Option<Nanos> {
        if self.ended.is_some() { None } else { self.send_at.into_iter().chain(self.held_until).min() }
    }

    /// The first moment at which a frame is due, not before `now`.
    fn next_send(&self, now: Nanos) -> Nanos {
        let Provided { period, offset, .. } = self.relation.provided;
        now.saturating_sub(offset).div_ceil(period) * period + offset
    }

    /// Fills in the frame that is due at `at`.
    fn fill(&mut self, at: Nanos, inputs: &[u8], is_good: bool, has_problem: bool) {
        let data = TAGGED_HEADER_BYTES + 2;
        for part in &self.relation.provided.parts {
            let wire = &mut self.frame[data + part.at..=data + part.status_at()];
            if let Some(layout) = &part.layout {
                layout.pack(inputs, wire);
            }
            wire[part.bytes] = if part.layout.is_some() && (is_good || part.bytes == 0) { GOOD } else { BAD };
        }
        for (at, status) in &self.relation.provided.consumers {
            self.frame[data + at] = *status;
        }
        let mut status = DataStatus::PRIMARY | DataStatus::VALID | DataStatus::RUN;
        if !has_problem {
            status |= DataStatus::NO_PROBLEM;
        }
        Cyclic::write_trailer(&mut self.frame, (at / CLOCK_NANOS) as u16, status);
    }

    fn report(&self) -> Report {
        Report { number: self.relation.number, has_data: self.held_until.is_some(), ended: self.ended }
    }
}

/// Why a frame is not taken, or what is to be done with it.
enum Verdict<'a> {
    Drop(&'static str),
    /// It keeps the connection, but its data is not to be used.
    Unused(u16),
    Use(Cyclic<'a>),
}

/// Whether a frame's data follows the last one's.
fn judge<'a>(rest: &'a [u8], consumed: &Consumed, last: Option<u16>) -> Verdict<'a> {
    let pdu = match Cyclic::decode(rest) {
        Ok(pdu) => pdu,
        Err(Malformed(why)) => return Verdict::Drop(why),
    };
    if pdu.data.len() != consumed.bytes {
        return Verdict::Drop("cyclic frame of another length");
    }
    if pdu.transfer != 0 {
        return Verdict::Drop("cyclic frame damaged on its way");
    }
    if last.is_some_and(|last| !(1..=CYCLES_AHEAD_MAX).contains(&pdu.cycle.wrapping_sub(last))) {
        return Verdict::Drop("cyclic frame repeated or overtaken");
    }
    if pdu.status & DataStatus::IGNORE != 0 || pdu.status & DataStatus::VALID == 0 {
        return Verdict::Drop("cyclic frame without valid data");
    }
    if pdu.status & DataStatus::PRIMARY == 0 { Verdict::Unused(pdu.cycle) } else { Verdict::Use(pdu) }
}

/// The lane.
pub struct CyclicLane {
    ports: [Port; 1],
    mac: Mac,
    urgency: Urgency,
    endpoint: Endpoint,
    safe: Safe,
    orders: Consumer<Orders>,
    reports: Producer<Reports>,
    has_problem: bool,
    running: [Option<Running>; CONNECTIONS_MAX],
    counters: Counters,
}

impl CyclicLane {
    /// With the shortest cycle that a controller may ask for.
    pub fn new(
        cycle: Nanos,
        endpoint: Endpoint,
        safe: Safe,
        orders: Consumer<Orders>,
        reports: Producer<Reports>,
    ) -> Self {
        Self {
            ports: [Port::Ethernet { ethertype: ETHERTYPE, groups: Vec::new(), first_word: FRAME_IDS }],
            mac: Mac::default(),
            urgency: Urgency::Cyclic(cycle),
            endpoint,
            safe,
            orders,
            reports,
            has_problem: false,
            running: [const { None }; CONNECTIONS_MAX],
            counters: Counters::default(),
        }
    }

    /// Takes over what the other lane has decided.
    fn follow_orders(&mut self, now: Nanos) {
        let Some(orders) = self.orders.newest(|orders, fresh| fresh.then(|| orders.clone())) else { return };
        self.has_problem = orders.has_problem;
        for (place, order) in orders.relations.iter().enumerate() {
            let number = order.as_ref().map(|order| order.relation.number);
            if self.running[place].as_ref().is_some_and(|running| Some(running.relation.number) != number) {
                self.lose(place, now);
                self.running[place] = None;
            }
            let Some(order) = order else { continue };
            let Self { running, safe, mac, .. } = self;
            let running = running[place].get_or_insert_with(|| Running::new(&order.relation, *mac, safe));
            if order.is_providing && running.send_at.is_none() {
                running.send_at = Some(running.next_send(now));
            }
        }
        self.report();
    }

    /// The outputs of the connection at a place go to their safe values.
    fn lose(&mut self, place: usize, now: Nanos) {
        let is_other = |(n, running): (usize, &Option<Running>)| {
            n != place
                && running.as_ref().is_some_and(|running| running.held_until.is_some() && running.ended.is_none())
        };
        let others = self.running.iter().enumerate().any(is_other);
        let Some(running) = &mut self.running[place] else { return };
        if running.held_until.is_none() || running.ended.is_some() {
            return;
        }
        if !others {
            return self.endpoint.outputs_lost(now);
        }
        let parts = running.relation.consumed.parts.iter().zip(&mut running.safe);
        self.endpoint.outputs(now, true, |image| parts.for_each(|(part, safe)| safe.apply(part, image)));
    }

    fn report(&mut self) {
        let running = &self.running;
        self.reports.publish(|reports| {
            for (report, running) in reports.iter_mut().zip(running) {
                *report = running.as_ref().map(Running::report).unwrap_or_default();
            }
        });
    }

    /// Sends what is due.
    fn send(&mut self, now: Nanos, out: &mut dyn Outbox) {
        for running in self.running.iter_mut().flatten() {
            let Some(at) = running.send_at.filter(|at| *at <= now && running.ended.is_none()) else { continue };
            let period = running.relation.provided.period;
            let missed = (now - at) / period;
            let at = at + missed * period;
            let (inputs, is_good) = self.endpoint.inputs(now);
            running.fill(at, inputs, is_good, self.has_problem);
            out.frame(0, &running.frame);
            running.send_at = Some(at + period);
            self.counters.count("cyclic frames sent");
            if missed > 0 {
                self.counters.add("cyclic frames not sent in time", missed);
            }
        }
    }

    /// Ends connections whose controller has fallen silent.
    fn watch(&mut self, now: Nanos, out: &mut dyn Outbox) {
        for place in 0..CONNECTIONS_MAX {
            let Some(running) = &self.running[place] else { continue };
            if running.ended.is_some() || running.held_until.is_none_or(|until| until > now) {
                continue;
            }
            self.lose(place, now);
            if let Some(running) = &mut self.running[place] {
                running.ended = Some(Status::DATA_HOLD_EXPIRED);
            }
            self.counters.count("data hold expired");
            self.report();
            out.wake_others();
        }
    }

    fn take(&mut self, now: Nanos, frame: &[u8], out: &mut dyn Outbox) -> Result<(), &'static str> {
        let (ethernet, rest) = Ethernet::decode(frame).map_err(|Malformed(why)| why)?;
        let is_it = |running: &Running| {
            let relation = &running.relation;
            relation.consumed.frame_id == ethernet.frame_id && relation.mac == ethernet.from
        };
        let running =
            self.running.iter_mut().flatten().find(|running| is_it(running)).ok_or("cyclic frame of nobody")?;
        if running.ended.is_some() {
            return Err("cyclic frame of nobody");
        }
        let consumed = &running.relation.consumed;
        let (cycle, pdu) = match judge(rest, consumed, running.cycle) {
            Verdict::Drop(why) => return Err(why),
            Verdict::Unused(cycle) => (cycle, None),
            Verdict::Use(pdu) => (pdu.cycle, Some(pdu)),
        };
        running.cycle = Some(cycle);
        let is_first = running.held_until.replace(now + consumed.held).is_none();
        if let Some(pdu) = pdu {
            let run = pdu.status & DataStatus::RUN != 0;
            let parts = consumed.parts.iter().zip(&mut running.safe);
            self.endpoint.outputs(now, run, |image| {
                for (part, safe) in parts {
                    match &part.layout {
                        Some(layout) if pdu.data[part.status_at()] & GOOD != 0 => {
                            layout.unpack(&pdu.data[part.at..], image);
                        }
                        _ => safe.apply(part, image),
                    }
                }
            });
        }
        self.counters.count("cyclic frames received");
        if is_first {
            self.report();
            out.wake_others();
        }
        Ok(())
    }
}

impl Lane for CyclicLane {
    fn name(&self) -> &str {
        "profinet cyclic"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn urgency(&self) -> Urgency {
        self.urgency
    }

    fn receive(&mut self, now: Nanos, received: Received<'_>, out: &mut dyn Outbox) {
        self.follow_orders(now);
        if let Source::Ethernet(_) = received.from
            && let Err(why) = self.take(now, received.bytes, out)
        {
            self.counters.count(why);
        }
    }

    fn due(&self) -> Option<Nanos> {
        self.running.iter().flatten().filter_map(Running::due).min()
    }

    fn run(&mut self, now: Nanos, out: &mut dyn Outbox) {
        self.follow_orders(now);
        self.send(now, out);
        self.watch(now, out);
    }

    fn address_changed(&mut self, _now: Nanos, mac: Mac, _address: Address, _out: &mut dyn Outbox) {
        self.mac = mac;
    }

    fn stop(&mut self, now: Nanos, _out: &mut dyn Outbox) {
        self.endpoint.outputs_lost(now);
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.counters.all()
    }
}
