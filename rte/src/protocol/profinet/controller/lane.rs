// SPDX-License-Identifier: Apache-2.0
//! The controller's lane.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};

use super::super::wire::dcp::frame_id;
use super::super::wire::rpc::{Arguments, CONTROLLER_INTERFACE, Flag, Header, Kind, Operation};
use super::super::wire::rt::Ethernet;
use super::super::wire::rta::{HIGH, LOW};
use super::super::wire::status::Status;
use super::super::wire::{ETHERTYPE, RPC_PORT};
use super::alarms::{self, Alarms};
use super::call::{self, Heard};
use super::connection::{Connection, Step, record};
use super::cyclic::{Consumer, Provider};
use super::plan::Plan;
use super::{Command, Event, Handle, Phase, Settings, Side, View, sides};
use crate::protocol::{Address, Lane, Mac, Nanos, Outbox, Port, Received, Source, Urgency};

pub(super) const SECOND: Nanos = 1_000_000_000;
/// How long the device may take from the end of parameters until it is ready.
const READY_WITHIN: Nanos = 10 * SECOND;

/// How often a controller that has nothing to do looks for commands.
const REST: Nanos = SECOND / 10;

/// Its ports.
pub(super) const FRAMES: usize = 0;
const CLIENT: usize = 1;
const SERVER: usize = 2;

pub(super) enum State {
    Looking {
        again_at: Nanos,
    },
    Addressing {
        mac: Mac,
        wanted: Address,
        again_at: Nanos,
        tries: u32,
    },
    Connected(Box<Connection>),
    Pausing {
        until: Nanos,
    },
    /// Looks for commands now and then.
    Released {
        look_at: Nanos,
    },
}

/// The lane.
pub struct Controller {
    pub(super) settings: Settings,
    plan: Plan,
    ports: Vec<Port>,
    side: Side,
    pub(super) state: State,
    phase: Phase,
    pub(super) mac: Mac,
    address: Option<Address>,
    draws: u64,
    pub(super) transaction: u32,
    session: u16,
    connections: u64,
    lost: u64,
    pub(super) doubles_told: bool,
    counters: BTreeMap<&'static str, u64>,
}

impl Controller {
    /// A controller, and its user's side. It begins to look for its device at once.
    pub fn new(settings: Settings) -> (Self, Handle) {
        let plan = Plan::new(&settings);
        let view = View {
            phase: Phase::Looking,
            inputs: vec![0; plan.inputs.image_bytes()],
            good: false,
            device: None,
            statistics: Default::default(),
            connections: 0,
            lost: 0,
        };
        let (handle, side) = sides(view, plan.outputs.image_bytes());
        let this = Self {
            ports: vec![
                Port::Ethernet { ethertype: ETHERTYPE, groups: Vec::new(), first_word: 0x8000..=frame_id::IDENTIFIED },
                Port::Udp { port: 0 },
                Port::Udp { port: RPC_PORT },
            ],
            plan,
            side,
            state: State::Looking { again_at: 0 },
            phase: Phase::Looking,
            mac: Mac::default(),
            address: None,
            draws: settings.seed,
            transaction: settings.seed as u32,
            session: 0,
            connections: 0,
            lost: 0,
            doubles_told: false,
            counters: BTreeMap::new(),
            settings,
        };
        (this, handle)
    }

    pub(super) fn count(&mut self, what: &'static str) {
        *self.counters.entry(what).or_default() += 1;
    }

    /// A number that was not drawn before.
    fn draw(&mut self) -> u64 {
        self.draws = self.draws.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.draws;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn event(&mut self, event: Event) {
        if self.side.events.try_send(event).is_err() {
            self.count("event that nobody heard");
        }
    }

    pub(super) fn enter(&mut self, phase: Phase) {
        if self.phase != phase {
            self.phase = phase;
            self.event(Event::Phase(phase));
        }
        self.publish();
    }

    /// Shows what there is to see.
    fn publish(&mut self) {
        let (phase, connections, lost) = (self.phase, self.connections, self.lost);
        let connection = match &self.state {
            State::Connected(connection) => Some(connection),
            _ => None,
        };
        self.side.view.publish(|view| {
            (view.phase, view.connections, view.lost) = (phase, connections, lost);
            view.device = connection.map(|connection| (connection.mac, connection.ip));
            let consumer = connection.and_then(|connection| connection.cyclic.as_ref()).map(|(_, consumer)| consumer);
            view.good = phase == Phase::Data && consumer.is_some_and(|consumer| consumer.good);
            if let Some(consumer) = consumer {
                view.inputs.clone_from(&consumer.image);
                view.statistics = consumer.statistics;
            }
        });
    }

    pub(super) fn connect(&mut self, now: Nanos, mac: Mac, ip: Ipv4Addr, out: &mut dyn Outbox) {
        let draw = std::array::from_fn(|_| self.draw());
        self.session = self.session.wrapping_add(1);
        let mut connection = Box::new(Connection::new(mac, ip, &self.settings, draw, self.session));
        connection.connect(now, &self.plan, &self.settings, self.mac);
        self.state = State::Connected(connection);
        self.enter(Phase::Connecting);
        self.run_call(now, out);
    }

    /// Gives up, and tries again later.
    pub(super) fn pause(&mut self, now: Nanos, why: &str, out: &mut dyn Outbox) {
        out.tell(&format!("profinet controller: \"{}\": {why}", self.settings.station));
        if self.phase == Phase::Data {
            self.lost += 1;
        }
        self.state = State::Pausing { until: now + self.settings.again_after };
        self.enter(Phase::Pausing);
    }

    /// Ends the connection: tells the device, and gives up.
    fn abort(&mut self, now: Nanos, status: Status, why: &str, out: &mut dyn Outbox) {
        if let State::Connected(connection) = &self.state
            && let Some([_, low]) = &connection.alarms
        {
            out.frame(FRAMES, &low.error(status));
        }
        self.pause(now, why, out);
    }

    /// Sends the call, if it is due.
    fn run_call(&mut self, now: Nanos, out: &mut dyn Outbox) {
        let State::Connected(connection) = &mut self.state else { return };
        let to = SocketAddrV4::new(connection.ip, RPC_PORT);
        let Some(call) = connection.call.as_mut().filter(|call| call.again_at <= now) else { return };
        if let Some(datagrams) = call.send(now) {
            datagrams.iter().for_each(|datagram| out.datagram(CLIENT, to, datagram));
            return;
        }
        let name = call::name(call.operation());
        if connection.step == Step::Releasing {
            return self.released(now);
        }
        self.abort(now, Status::ALARM_ERROR, &format!("does not answer to {name}"), out);
    }

    fn released(&mut self, now: Nanos) {
        self.state = State::Released { look_at: now + REST };
        self.enter(Phase::Released);
    }

    fn receive_answer(&mut self, now: Nanos, from: SocketAddrV4, datagram: &[u8], out: &mut dyn Outbox) {
        let State::Connected(connection) = &mut self.state else { return };
        let Some(call) = connection.call.as_mut().filter(|_| *from.ip() == connection.ip) else { return };
        let operation = call.operation();
        match call.receive(now, datagram) {
            Err(_) => self.count("dropped: malformed"),
            Ok(Heard::Nothing) => {}
            Ok(Heard::Part(ack)) => {
                if let Some(ack) = ack {
                    out.datagram(CLIENT, from, &ack);
                }
            }
            Ok(Heard::Refused) => {
                let why = format!("rejects {}", call::name(operation));
                self.abort(now, Status::ALARM_ERROR, &why, out);
            }
            Ok(Heard::Answer(status, blocks)) => {
                connection.call = None;
                self.answered(now, operation, status, &blocks, out);
                self.next_call(now);
                self.run_call(now, out);
            }
        }
    }

    fn answered(&mut self, now: Nanos, operation: u16, status: Status, blocks: &[u8], out: &mut dyn Outbox) {
        let State::Connected(connection) = &mut self.state else { return };
        if let Some(index) = connection.record.take() {
            let event = match operation {
                Operation::WRITE => Event::Written(index, status),
                _ if status != Status::OK => Event::Read(index, Err(status)),
                _ => Event::Read(
                    index,
                    record(blocks).ok_or(Status::record(super::super::wire::status::Call::Read, Status::READ_ERROR)),
                ),
            };
            if let Step::Writing(n) = connection.step {
                connection.step = Step::Writing(n + 1);
            }
            return self.event(event);
        }
        match (operation, status) {
            (Operation::RELEASE, _) => self.released(now),
            (_, Status::OK) if operation == Operation::CONNECT => self.connected(now, blocks, out),
            (_, Status::OK) => {
                connection.step = Step::Waiting;
                connection.ready_until = now + READY_WITHIN;
                self.enter(Phase::Waiting);
                self.ready(now);
            }
            (_, status) => {
                let why = format!("refuses {}: {status}, {}", call::name(operation), status.meaning());
                self.abort(now, Status::ALARM_ERROR, &why, out);
            }
        }
    }

    fn connected(&mut self, now: Nanos, blocks: &[u8], out: &mut dyn Outbox) {
        let State::Connected(connection) = &mut self.state else { return };
        let Some(agreed) = connection.agreed(blocks) else {
            return self.pause(now, "answers Connect with something else", out);
        };
        let cycle = self.settings.cycle;
        let provider = Provider::new(now, self.mac, connection.mac, agreed.output_frame_id, cycle, &self.plan);
        let consumer = Consumer::new(now, connection.mac, cycle, self.settings.watchdog_factor, &self.plan);
        connection.cyclic = Some((provider, consumer));
        connection.input_frame_id = agreed.input_frame_id;
        connection.alarms =
            Some([true, false].map(|high| Alarms::new(high, self.mac, connection.mac, agreed.alarm_reference)));
        connection.step = Step::Writing(0);
        if agreed.differences > 0 {
            let (station, count) = (&self.settings.station, agreed.differences);
            out.tell(&format!("profinet controller: \"{station}\": {count} modules are not as they should be"));
        }
        self.enter(Phase::Parameterising);
    }

    /// Begins the next call, if there is none and something is to be done.
    fn next_call(&mut self, now: Nanos) {
        let State::Connected(connection) = &mut self.state else { return };
        if connection.call.is_some() {
            return;
        }
        match connection.step {
            Step::Writing(n) => match self.settings.parameters.get(n) {
                Some(parameter) => connection.write(now, parameter),
                None => connection.end_parameters(now),
            },
            Step::Data => match self.side.commands.try_recv() {
                Ok(Command::Read { slot, subslot, index, bytes }) => connection.read(now, slot, subslot, index, bytes),
                Ok(Command::Write(parameter)) => connection.write(now, &parameter),
                Ok(Command::Release) => {
                    connection.release(now);
                    self.enter(Phase::Releasing);
                }
                Ok(Command::Connect) | Err(_) => {}
            },
            _ => {}
        }
    }

    /// Goes on when the device is ready, has been told all, and its data comes.
    fn ready(&mut self, now: Nanos) {
        let State::Connected(connection) = &mut self.state else { return };
        let begun = connection.cyclic.as_ref().is_some_and(|(_, consumer)| consumer.has_begun());
        if connection.step == Step::Waiting && connection.ready && begun {
            connection.step = Step::Data;
            if let Some((_, consumer)) = &mut connection.cyclic {
                consumer.lost_at = consumer.lost_at.max(now);
            }
            self.connections += 1;
            self.enter(Phase::Data);
        }
    }

    /// The device calls: "ApplicationReady".
    fn receive_call(&mut self, now: Nanos, from: SocketAddrV4, datagram: &[u8], out: &mut dyn Outbox) {
        let State::Connected(connection) = &mut self.state else { return };
        let Ok((header, body)) = Header::decode(datagram) else { return self.count("dropped: malformed") };
        let is_control = header.interface == CONTROLLER_INTERFACE && header.operation == Operation::CONTROL;
        if header.kind != Kind::REQUEST || !is_control || *from.ip() != connection.ip {
            return self.count("dropped: unknown call");
        }
        let Ok(arguments) = Arguments::decode(body, header.ndr()) else { return self.count("dropped: malformed") };
        let Some(blocks) = connection.ready_answer(arguments.blocks) else {
            return self.count("dropped: call of another connection");
        };
        connection.ready = true;
        let answer = Arguments { first: 0, maximum: arguments.first, blocks: &blocks }.encode(header.ndr());
        let flags = Flag::LAST_FRAGMENT | Flag::NO_FRAGMENT_ACK;
        let header = Header { kind: Kind::RESPONSE, flags, flags2: 0, ..header };
        out.datagram(SERVER, from, &header.encode(&answer));
        self.ready(now);
    }

    fn receive_frame(&mut self, now: Nanos, bytes: &[u8], out: &mut dyn Outbox) {
        let Ok((ethernet, rest)) = Ethernet::decode(bytes) else { return self.count("dropped: malformed") };
        if ethernet.frame_id >= frame_id::HELLO {
            return self.receive_dcp(now, bytes, out);
        }
        let State::Connected(connection) = &mut self.state else { return self.count("dropped: no connection") };
        let heard = match (ethernet.frame_id, &mut connection.cyclic, &mut connection.alarms) {
            (HIGH | LOW, _, Some([high, low])) => {
                let alarms = if ethernet.frame_id == HIGH { high } else { low };
                if ethernet.from != connection.mac {
                    return self.count("dropped: alarm of another connection");
                }
                alarms.receive(now, rest, &mut |frame| out.frame(FRAMES, frame))
            }
            (frame_id, Some((_, consumer)), _) if frame_id == connection.input_frame_id => {
                if let Err(why) = consumer.receive(now, ethernet.from, rest, &self.plan) {
                    return self.count(why);
                }
                self.ready(now);
                return self.publish();
            }
            _ => return self.count("dropped: unknown FrameID"),
        };
        match heard {
            alarms::Heard::Nothing => {}
            alarms::Heard::Dropped(why) => self.count(why),
            alarms::Heard::Alarm(alarm) => {
                self.count("alarms");
                self.event(Event::Alarm(alarm));
            }
            alarms::Heard::Ended(_) if connection.step == Step::Releasing => {}
            alarms::Heard::Ended(status) => {
                self.pause(now, &format!("ends the connection: {status}, {}", status.meaning()), out);
            }
        }
    }

    fn run_connection(&mut self, now: Nanos, out: &mut dyn Outbox) {
        self.next_call(now);
        self.run_call(now, out);
        let State::Connected(connection) = &mut self.state else { return };
        if let Some((provider, consumer)) = &mut connection.cyclic {
            if provider.next <= now {
                let plan = &self.plan;
                self.side.outputs.newest(|outputs, _| {
                    out.frame(FRAMES, provider.frame(now, plan, &outputs.image, outputs.run));
                });
            }
            if connection.step == Step::Data && consumer.lost_at <= now {
                return self.abort(now, Status::DATA_HOLD_EXPIRED, "its data does not come any more", out);
            }
        }
        if connection.step == Step::Waiting && connection.ready_until <= now {
            return self.abort(now, Status::ACTIVITY_TIMEOUT, "does not get ready", out);
        }
        let mut alarms = connection.alarms.iter_mut().flatten();
        if !alarms.all(|alarms| alarms.run(now, &mut |frame| out.frame(FRAMES, frame))) {
            self.abort(now, Status::ALARM_NOT_SENT, "does not acknowledge the answer to its alarm", out);
        }
    }
}

impl Lane for Controller {
    fn name(&self) -> &str {
        "profinet controller"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn urgency(&self) -> Urgency {
        Urgency::Cyclic(self.settings.cycle.period())
    }

    fn receive(&mut self, now: Nanos, received: Received<'_>, out: &mut dyn Outbox) {
        match (received.port, received.from) {
            (FRAMES, _) => self.receive_frame(now, received.bytes, out),
            (CLIENT, Source::Udp(from)) => self.receive_answer(now, from, received.bytes, out),
            (SERVER, Source::Udp(from)) => self.receive_call(now, from, received.bytes, out),
            _ => {}
        }
    }

    fn due(&self) -> Option<Nanos> {
        self.address?;
        match &self.state {
            State::Looking { again_at } | State::Addressing { again_at, .. } => Some(*again_at),
            State::Connected(connection) => connection.due(),
            State::Pausing { until } => Some(*until),
            State::Released { look_at } => Some(*look_at),
        }
    }

    fn run(&mut self, now: Nanos, out: &mut dyn Outbox) {
        if self.address.is_none() {
            return;
        }
        match &self.state {
            State::Looking { again_at } if *again_at <= now => self.look(now, out),
            State::Pausing { until } if *until <= now => self.look(now, out),
            State::Addressing { again_at, .. } if *again_at <= now => self.run_addressing(now, out),
            State::Connected(_) => self.run_connection(now, out),
            State::Released { .. } if self.side.commands.try_recv() == Ok(Command::Connect) => self.look(now, out),
            State::Released { look_at } if *look_at <= now => self.state = State::Released { look_at: now + REST },
            _ => {}
        }
    }

    fn address_changed(&mut self, now: Nanos, mac: Mac, address: Address, out: &mut dyn Outbox) {
        self.mac = mac;
        let has_one = !address.ip.is_unspecified();
        if !has_one {
            out.tell("profinet controller: the interface has no address: give it one, the device must answer to it");
        }
        let is_another = self.address.is_some_and(|before| before != address);
        if is_another && matches!(self.state, State::Connected(_)) {
            self.abort(now, Status::ADDRESS_CHANGED, "the controller's own address was changed", out);
        }
        self.address = has_one.then_some(address);
    }

    fn stop(&mut self, now: Nanos, out: &mut dyn Outbox) {
        if let State::Connected(connection) = &mut self.state {
            connection.release(now);
            self.run_call(now, out);
            self.released(now);
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let mut all = vec![("connections", self.connections), ("connections lost", self.lost)];
        if let State::Connected(connection) = &self.state
            && let Some((provider, consumer)) = &connection.cyclic
        {
            all.push(("cycles skipped", provider.skipped));
            all.push(("cycles missed", consumer.statistics.missed));
        }
        all.extend(self.counters.iter().map(|(name, count)| (*name, *count)));
        all
    }
}
