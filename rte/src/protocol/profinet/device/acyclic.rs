// SPDX-License-Identifier: Apache-2.0
//! The lane with the connections: calls, alarms, and what is to be done in time.

use std::collections::BTreeSet;
use std::net::SocketAddrV4;
use std::sync::Arc;

use super::alarms::Event;
use super::calls::{Reply, decode_blocks};
use super::check::{Circumstances, Place, Request};
use super::connection::{Connection, State};
use super::handle::{Alarm, Handle};
use super::link::{CONNECTIONS_MAX, Order, Orders, Reports};
use super::request::{Requests, parse};
use super::server::{Incoming, Server};
use crate::application::triple_buffer::{Consumer, Producer};
use crate::protocol::profinet::counters::Counters;
use crate::protocol::profinet::model::{self, Model};
use crate::protocol::profinet::station::DeviceSide;
use crate::protocol::profinet::wire::block::ControlKind;
use crate::protocol::profinet::wire::control::Command;
use crate::protocol::profinet::wire::diagnosis::{Channel, USI_CHANNEL};
use crate::protocol::profinet::wire::rpc::{Arguments, Header, Kind};
use crate::protocol::profinet::wire::rt::Ethernet;
use crate::protocol::profinet::wire::rta::{AlarmType, HIGH, LOW, Notification, Rta, Specifier};
use crate::protocol::profinet::wire::status::{Call, Fault, Rpc, Status};
use crate::protocol::profinet::wire::{ETHERTYPE, Malformed, RPC_PORT, Reader, Uuid};
use crate::protocol::{Address, Lane, Mac, Nanos, Outbox, Port, Received, Source, Urgency};

/// Ports of the lane.
pub(super) const RPC: usize = 0;
const OWN: usize = 1;
const ALARMS: usize = 2;
/// How often the lane looks whether the application has something to tell, while there is a connection.
const LOOKED_EVERY: Nanos = 10_000_000;

/// Lines of other processes at a time.
const REQUESTS_MAX: usize = 16;

/// The lane.
pub struct AcyclicLane {
    ports: [Port; 3],
    mac: Mac,
    address: Option<Address>,
    pub(super) model: Arc<Model>,
    pub(super) handle: Handle,
    pub(super) station: DeviceSide,
    resets: u64,
    orders: Producer<Orders>,
    reports: Consumer<Reports>,
    pub(super) server: Server,
    pub(super) connections: [Option<Connection>; CONNECTIONS_MAX],
    connected: u64,
    requests: Option<Box<dyn Requests>>,
    look_at: Nanos,
    had_problem: bool,
    pub(super) counters: Counters,
}

impl AcyclicLane {
    /// Of a device.
    pub fn new(
        model: Arc<Model>,
        handle: Handle,
        mut station: DeviceSide,
        orders: Producer<Orders>,
        reports: Consumer<Reports>,
    ) -> Self {
        let resets = station.station().0.resets;
        let ports = [
            Port::Udp { port: RPC_PORT },
            Port::Udp { port: 0 },
            Port::Ethernet { ethertype: ETHERTYPE, groups: Vec::new(), first_word: HIGH..=LOW },
        ];
        Self {
            ports,
            mac: Mac::default(),
            address: None,
            model,
            handle,
            station,
            resets,
            orders,
            reports,
            server: Server::default(),
            connections: [const { None }; CONNECTIONS_MAX],
            connected: 0,
            requests: None,
            look_at: 0,
            had_problem: false,
            counters: Counters::default(),
        }
    }

    /// Raises the alarms that come from there, too.
    pub fn listen_to(&mut self, requests: Box<dyn Requests>) {
        self.requests = Some(requests);
    }

    /// How many controllers are connected.
    pub fn connections(&self) -> usize {
        self.connections.iter().flatten().count()
    }

    /// The place of a connection.
    pub(super) fn place(&self, ar: Uuid) -> Option<usize> {
        self.connections.iter().position(|place| place.as_ref().is_some_and(|this| this.request.ar.ar == ar))
    }

    fn publish(&mut self, out: &mut dyn Outbox) {
        let (connections, has_problem) = (&self.connections, self.had_problem);
        self.orders.publish(|orders| {
            orders.has_problem = has_problem;
            for (order, connection) in orders.relations.iter_mut().zip(connections) {
                *order = connection.as_ref().map(|connection| Order {
                    relation: connection.relation.clone(),
                    is_providing: connection.is_providing,
                });
            }
        });
        self.station.set_connected(self.connections() > 0);
        out.wake_others();
    }

    /// A Connect call.
    pub(super) fn connect(
        &mut self,
        now: Nanos,
        from: SocketAddrV4,
        blocks: &[u8],
        out: &mut dyn Outbox,
    ) -> Result<Vec<u8>, Status> {
        let request = Request::new(decode_blocks(blocks, Call::Connect)?)?;
        // The controller that has a connection and connects again has forgotten the old one.
        let is_same = |other: &Connection| {
            other.request.ar.ar == request.ar.ar
                || (other.request.ar.mac, &other.request.ar.station) == (request.ar.mac, &request.ar.station)
        };
        let old = self.connections.iter().position(|other| other.as_ref().is_some_and(is_same));
        let others = || self.connections.iter().enumerate().filter(|(place, _)| Some(*place) != old);
        let others = || others().filter_map(|(_, connection)| connection.as_ref());
        let taken: BTreeSet<Place> = others().flat_map(|other| other.places.iter().copied()).collect();
        let frame_ids = others().map(|other| other.relation.consumed.frame_id).collect();
        let around =
            Circumstances { model: &self.model, taken: &taken, frame_ids: &frame_ids, number: self.connected + 1 };
        let agreed = request.check(&around)?;
        let free = self.connections.iter().take(self.model.connections).position(Option::is_none);
        let Some(place) = old.or(free) else {
            let controller = String::from_utf8_lossy(&request.ar.station).into_owned();
            out.tell(&format!(
                "controller \"{controller}\" ({from}) is refused: connections = {} are in use",
                self.model.connections
            ));
            return Err(Status::rpc(Call::Connect, Rpc::NoArLeft));
        };
        if old.is_some() {
            self.end(place, Status::CONNECTED_ANEW, out);
        }
        self.connected += 1;
        let connection = Connection::new(request, agreed, self.mac, from, now);
        let mut answer = Vec::new();
        let station = self.station.station().0.name;
        connection.answer(self.mac, &self.model, station.as_str(), &mut answer);
        self.connections[place] = Some(connection);
        self.look_at = now + LOOKED_EVERY;
        self.counters.count("connections");
        self.publish(out);
        Ok(answer)
    }

    /// A connection is over.
    pub(super) fn end(&mut self, place: usize, why: Status, out: &mut dyn Outbox) {
        let Some(connection) = self.connections[place].take() else { return };
        self.server.forget(*connection.peer().ip());
        // A controller that connects anew, or ended it, has no end any more that could be told.
        if why != Status::CONNECTED_ANEW && why != Status::ALARM_ERROR {
            out.frame(ALARMS, &connection.alarms[1].error(why));
        }
        let name = String::from_utf8_lossy(&connection.request.ar.station).into_owned();
        let what = if why.is_abort() { why.meaning() } else { "ended by the controller" };
        out.tell(&format!("controller \"{name}\" is disconnected: {what} ({why})"));
        self.counters.count(if why == Status::RELEASED { "connections released" } else { "connections aborted" });
        self.publish(out);
    }

    /// A Control or Release call.
    pub(super) fn control(
        &mut self,
        now: Nanos,
        blocks: &[u8],
        call: Call,
        out: &mut dyn Outbox,
    ) -> Result<Vec<u8>, Status> {
        let (kind, control) = super::calls::control_block(blocks, call)?;
        let place = self.place(control.ar).ok_or(Status::rpc(call, Rpc::UnknownAr))?;
        let Some(connection) = &mut self.connections[place] else { return Err(Status::rpc(call, Rpc::UnknownAr)) };
        let fault = if call == Call::Release { Fault::Release } else { Fault::ControlConnect };
        if control.session != connection.request.ar.session {
            return Err(Status::block(call, fault, 6));
        }
        connection.active(now);
        match (call, kind, control.command) {
            (Call::Release, ControlKind::RELEASE, Command::RELEASE) => self.end(place, Status::RELEASED, out),
            (Call::Control, ControlKind::PRM_END, Command::PRM_END) => {
                if connection.state != State::Parameters {
                    return Err(Status::rpc(call, Rpc::WrongState));
                }
                connection.parameters_end(now);
                self.publish(out);
            }
            (Call::Control, ControlKind::PRM_BEGIN, Command::PRM_BEGIN) => {
                if connection.state != State::Data {
                    return Err(Status::rpc(call, Rpc::WrongState));
                }
                connection.parameters_begin();
            }
            _ => return Err(Status::block(call, fault, 8)),
        }
        Ok(super::calls::done(kind, control))
    }

    /// Tells the controller that the device is ready, if that is what it is.
    pub(super) fn tell_ready(&self, ar: Uuid, out: &mut dyn Outbox) {
        let connection = self.place(ar).and_then(|place| self.connections[place].as_ref());
        if let Some(connection) = connection.filter(|this| matches!(this.state, State::Ready { .. })) {
            let (to, call) = connection.ready_call();
            out.datagram(OWN, to, &call);
        }
    }

    /// The answer to ApplicationReady.
    fn confirmed(&mut self, now: Nanos, datagram: &[u8], out: &mut dyn Outbox) -> Result<(), &'static str> {
        let (header, body) = Header::decode(datagram).map_err(|Malformed(why)| why)?;
        let status = match header.kind {
            Kind::RESPONSE => Arguments::decode(body, header.ndr()).map_err(|Malformed(why)| why)?.status(),
            Kind::FAULT | Kind::REJECT => Status::CALL_FAILED,
            Kind::WORKING | Kind::NO_CALL => return Ok(()),
            _ => return Err("RPC that is no answer"),
        };
        for place in 0..CONNECTIONS_MAX {
            let Some(connection) = &mut self.connections[place] else { continue };
            match connection.confirm(&header, status) {
                None => continue,
                Some(Err(why)) => self.end(place, why, out),
                Some(Ok(())) => {
                    connection.active(now);
                    let name = String::from_utf8_lossy(&connection.request.ar.station).into_owned();
                    let period = connection.relation.provided.period;
                    let mac = connection.request.ar.mac;
                    out.tell(&format!("controller \"{name}\" ({mac}) is connected, cycle {} us", period / 1000));
                    self.look_at = now;
                }
            }
            return Ok(());
        }
        Err("answer to no call")
    }

    fn alarm(&mut self, frame: &[u8], out: &mut dyn Outbox) -> Result<(), &'static str> {
        let (ethernet, rest) = Ethernet::decode(frame).map_err(|Malformed(why)| why)?;
        if ethernet.frame_id != HIGH && ethernet.frame_id != LOW {
            return Err("alarm of another FrameID");
        }
        let pdu = Rta::decode(rest).map_err(|Malformed(why)| why)?;
        for place in 0..CONNECTIONS_MAX {
            let Some(connection) = &mut self.connections[place] else { continue };
            if connection.request.ar.mac != ethernet.from {
                continue;
            }
            let end = &mut connection.alarms[usize::from(ethernet.frame_id == LOW)];
            match end.receive(&pdu, &mut |frame| out.frame(ALARMS, frame)) {
                Event::Dropped("alarm of another connection") => continue,
                Event::Dropped(why) => return Err(why),
                Event::Nothing => {}
                Event::Answered(answer) if answer.status == Status::OK => self.counters.count("alarms answered"),
                Event::Answered(_) => self.counters.count("alarms answered with an error"),
                Event::Ended(_) => self.end(place, Status::ALARM_ERROR, out),
            }
            return Ok(());
        }
        Err("alarm of another connection")
    }

    /// What the lane at the cycle reports.
    fn follow_reports(&mut self, out: &mut dyn Outbox) {
        let Some(reports) = self.reports.newest(|reports, fresh| fresh.then_some(*reports)) else { return };
        for (place, report) in reports.into_iter().enumerate() {
            let Some(connection) = &mut self.connections[place] else { continue };
            if connection.relation.number != report.number {
                continue;
            }
            connection.has_data |= report.has_data;
            if let Some(why) = report.ended {
                self.end(place, why, out);
            }
        }
    }

    /// What the application wants to tell.
    fn follow_application(&mut self, now: Nanos, out: &mut dyn Outbox) {
        if self.look_at > now {
            return;
        }
        self.look_at = now + LOOKED_EVERY;
        self.hear_others(out);
        let (alarms, has_problem) = {
            let mut shared = self.handle.shared();
            (std::mem::take(&mut shared.alarms), !shared.diagnoses.is_empty())
        };
        for alarm in alarms {
            self.raise(&alarm);
        }
        if has_problem != self.had_problem {
            self.had_problem = has_problem;
            self.publish(out);
        }
    }

    /// Alarms of other processes.
    fn hear_others(&mut self, out: &mut dyn Outbox) {
        let Some(requests) = &mut self.requests else { return };
        for line in std::iter::from_fn(|| requests.next()).take(REQUESTS_MAX) {
            let raised = parse(&line).map_err(str::to_owned).and_then(|alarm| self.handle.raise(alarm));
            if let Err(why) = raised {
                self.counters.count("alarms of applications refused");
                let line: String = line.chars().filter(|c| c.is_ascii_graphic() || *c == ' ').take(80).collect();
                out.tell(&format!("alarm \"{line}\" is not sent: {why}"));
            }
        }
    }

    fn raise(&mut self, alarm: &Alarm) {
        let place = alarm.place();
        let (Some(module), Some(submodule)) = (self.model.module(place.0), self.model.submodule(place.0, place.1))
        else {
            return;
        };
        let mut notification = Notification {
            api: model::API,
            slot: place.0,
            subslot: place.1,
            module: module.ident,
            submodule: submodule.ident,
            ..Notification::default()
        };
        match alarm {
            Alarm::Process { structure, data, .. } => {
                notification.high = true;
                notification.kind = AlarmType::PROCESS;
                notification.usi = *structure;
                notification.data.clone_from(data);
            }
            Alarm::Diagnosis { channel, error, appears, .. } => {
                notification.kind = if *appears { AlarmType::DIAGNOSIS } else { AlarmType::DIAGNOSIS_DISAPPEARS };
                notification.usi = USI_CHANNEL;
                let all = Specifier::CHANNEL_DIAGNOSIS | Specifier::SUBMODULE_DIAGNOSIS | Specifier::AR_DIAGNOSIS;
                notification.specifier = if self.handle.shared().diagnoses.is_empty() { 0 } else { all };
                let properties = if *appears { Channel::APPEARS } else { Channel::DISAPPEARS };
                Channel { number: *channel, properties, error: *error }.encode(&mut notification.data);
            }
        }
        let mut is_sent = false;
        let owners = self.connections.iter_mut().flatten().filter(|connection| connection.places.contains(&place));
        for connection in owners.filter(|connection| connection.state == State::Data) {
            match connection.raise(notification.clone()) {
                Ok(()) => is_sent = true,
                Err(why) => self.counters.count(why),
            }
        }
        self.counters.count(if is_sent { "alarms sent" } else { "alarms without a controller" });
    }

    /// Does what is due for each connection.
    fn supervise(&mut self, now: Nanos, out: &mut dyn Outbox) {
        for place in 0..CONNECTIONS_MAX {
            let Some(connection) = &mut self.connections[place] else { continue };
            let mut result = connection.supervise(now);
            for end in &mut connection.alarms {
                let sent = end.run(now, &mut |frame| out.frame(ALARMS, frame));
                result = result.and_then(|again| sent.map(|()| again));
            }
            match result {
                Ok(false) => {}
                Ok(true) => {
                    let (to, call) = connection.ready_call();
                    out.datagram(OWN, to, &call);
                    self.counters.count("ApplicationReady repeated");
                }
                Err(why) => self.end(place, why, out),
            }
        }
    }

    fn end_all(&mut self, why: Status, out: &mut dyn Outbox) {
        (0..CONNECTIONS_MAX).for_each(|place| self.end(place, why, out));
    }

    fn call(&mut self, now: Nanos, from: SocketAddrV4, datagram: &[u8], out: &mut dyn Outbox) {
        let incoming = self.server.receive(now, from, datagram, &mut |answer| out.datagram(RPC, from, answer));
        match incoming {
            Incoming::Done => {}
            Incoming::Dropped(why) => self.counters.count(why),
            Incoming::Call(header, body) => match self.dispatch(now, from, &header, &body, out) {
                Reply::Answer(answer, then) => {
                    self.server.answer(now, from, &header, &answer, &mut |answer| out.datagram(RPC, from, answer));
                    if let Some(ar) = then {
                        self.tell_ready(ar, out);
                    }
                }
                Reply::Reject(cause, why) => {
                    Server::reject(&header, cause, &mut |answer| out.datagram(RPC, from, answer));
                    self.counters.count(why);
                }
            },
        }
    }
}

impl Lane for AcyclicLane {
    fn name(&self) -> &str {
        "profinet acyclic"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn urgency(&self) -> Urgency {
        Urgency::Acyclic
    }

    fn receive(&mut self, now: Nanos, received: Received<'_>, out: &mut dyn Outbox) {
        self.follow_reports(out);
        let result = match (received.port, received.from) {
            (RPC, Source::Udp(from)) => {
                self.call(now, from, received.bytes, out);
                Ok(())
            }
            (OWN, Source::Udp(_)) => self.confirmed(now, received.bytes, out),
            (ALARMS, _) => self.alarm(received.bytes, out),
            _ => Ok(()),
        };
        if let Err(why) = result {
            self.counters.count(why);
        }
    }

    fn due(&self) -> Option<Nanos> {
        let look = (self.connections() > 0 || self.requests.is_some()).then_some(self.look_at);
        self.connections.iter().flatten().filter_map(Connection::due).chain(look).min()
    }

    fn run(&mut self, now: Nanos, out: &mut dyn Outbox) {
        self.follow_reports(out);
        let (station, is_fresh) = self.station.station();
        if is_fresh && station.resets != self.resets {
            self.resets = station.resets;
            self.end_all(Status::RESET, out);
        }
        self.follow_application(now, out);
        self.supervise(now, out);
    }

    fn address_changed(&mut self, _now: Nanos, mac: Mac, address: Address, out: &mut dyn Outbox) {
        self.mac = mac;
        if self.address.replace(address).is_some_and(|old| old.ip != address.ip) {
            self.end_all(Status::ADDRESS_CHANGED, out);
        }
    }

    fn stop(&mut self, _now: Nanos, out: &mut dyn Outbox) {
        self.end_all(Status::DEVICE_DEACTIVATED, out);
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.counters.all()
    }
}

/// What follows a record's header in a call.
pub(super) fn rest(blocks: &[u8], skip: usize) -> &[u8] {
    let mut reader = Reader::new(blocks);
    reader.take(skip).map_or(&[], |_| reader.rest())
}
