// SPDX-License-Identifier: Apache-2.0
//! A network in virtual time: stations with lanes, a switch between them. One seed is one run; an hour takes seconds.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::{Ipv4Addr, SocketAddrV4};

use crate::protocol::{Address, AddressRequest, Lane, Mac, Nanos, Outbox, Port, Received, Source};

/// A station of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Station(usize);

/// Something on the wire: a frame, or a datagram, whose headers are not simulated.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Packet {
    /// A frame, as it was sent.
    Frame(Vec<u8>),
    /// A datagram: sender, receiver, payload.
    Datagram(SocketAddrV4, SocketAddrV4, Vec<u8>),
    /// Bytes to a connection of that number.
    Stream(u16, u32, Vec<u8>),
}

struct Member {
    mac: Mac,
    address: Address,
    lanes: Vec<Box<dyn Lane>>,
    /// Ephemeral ports, given out for port 0.
    udp: Vec<Vec<u16>>,
    woken: bool,
    connected: bool,
    may_change_address: bool,
}

/// What goes wrong on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trouble {
    /// Of a thousand packets, that many are lost.
    pub lost: u32,
    /// Of a thousand packets, that many come twice.
    pub doubled: u32,
    /// A packet takes up to that much longer, so that one overtakes another.
    pub longer: Nanos,
}

/// The network.
pub struct Network {
    trouble: Trouble,
    draws: u64,
    now: Nanos,
    delay: Nanos,
    members: Vec<Member>,
    wire: BinaryHeap<Reverse<(Nanos, u64, usize, Packet)>>,
    count: u64,
    seen: Vec<(Nanos, Station, Packet)>,
    told: Vec<(Nanos, Station, String)>,
    recording: bool,
}

impl Network {
    /// An empty one, in which everything takes `delay` from station to station.
    pub fn new(delay: Nanos) -> Self {
        Self {
            trouble: Trouble::default(),
            draws: 0,
            now: 1_000_000_000,
            delay,
            members: Vec::new(),
            wire: BinaryHeap::new(),
            count: 0,
            seen: Vec::new(),
            told: Vec::new(),
            recording: true,
        }
    }

    /// Does not keep what is on the wire: for long runs.
    pub fn forget(&mut self) {
        self.recording = false;
        self.seen.clear();
    }

    /// Has this go wrong from now on; `seed` says when.
    pub fn trouble(&mut self, trouble: Trouble, seed: u64) {
        (self.trouble, self.draws) = (trouble, seed);
    }

    /// The virtual time.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Adds a station.
    pub fn attach(&mut self, mac: Mac, address: Address, lanes: Vec<Box<dyn Lane>>) -> Station {
        let station = Station(self.members.len());
        let mut free = 0xC000;
        let udp = lanes.iter().map(|lane| {
            let port = |port: &Port| match port {
                Port::Udp { port: 0 } => {
                    free += 1;
                    free
                }
                Port::Udp { port } => *port,
                _ => 0,
            };
            lane.ports().iter().map(port).collect()
        });
        let udp = udp.collect();
        let member = Member { mac, address, lanes, udp, woken: false, connected: true, may_change_address: true };
        self.members.push(member);
        for lane in 0..self.members[station.0].lanes.len() {
            self.with_lane(station.0, lane, |lane, now, out| lane.address_changed(now, mac, address, out));
        }
        self.wake(station.0);
        station
    }

    /// Pulls a station's plug, or puts it in again.
    pub fn connect(&mut self, station: Station, connected: bool) {
        self.members[station.0].connected = connected;
    }

    /// Whether a station's owner of the address agrees to changes. It does at first.
    pub fn permit_address_changes(&mut self, station: Station, permitted: bool) {
        self.members[station.0].may_change_address = permitted;
    }

    /// A station's address.
    pub fn address(&self, station: Station) -> Address {
        self.members[station.0].address
    }

    /// Puts something on the wire that no lane sent.
    pub fn inject(&mut self, from: Station, packet: Packet) {
        self.send(from.0, packet);
    }

    /// A lane of a station, to look at.
    pub fn lane(&self, station: Station, lane: usize) -> &dyn Lane {
        self.members[station.0].lanes[lane].as_ref()
    }

    /// What was on the wire since the last call: when it was sent, by whom, and what.
    pub fn seen(&mut self) -> Vec<(Nanos, Station, Packet)> {
        std::mem::take(&mut self.seen)
    }

    /// What lanes told the user since the last call.
    pub fn told(&mut self) -> Vec<(Nanos, Station, String)> {
        std::mem::take(&mut self.told)
    }

    /// Lets `span` pass.
    pub fn run(&mut self, span: Nanos) {
        let end = self.now + span;
        loop {
            let packet = self.wire.peek().map(|Reverse((at, ..))| *at);
            let due = self.members.iter().flat_map(|member| &member.lanes).filter_map(|lane| lane.due()).min();
            let Some(next) = packet.into_iter().chain(due).min().filter(|next| *next <= end) else { break };
            self.now = self.now.max(next);
            if packet == Some(next) {
                let Reverse((.., to, packet)) = self.wire.pop().expect("it was there");
                self.deliver(to, &packet);
            } else {
                for member in 0..self.members.len() {
                    for lane in 0..self.members[member].lanes.len() {
                        if self.members[member].lanes[lane].due().is_some_and(|due| due <= self.now) {
                            self.with_lane(member, lane, |lane, now, out| lane.run(now, out));
                        }
                    }
                }
            }
            (0..self.members.len()).for_each(|member| self.wake(member));
        }
        self.now = end;
    }

    fn wake(&mut self, member: usize) {
        for _ in 0..8 {
            if !std::mem::take(&mut self.members[member].woken) {
                return;
            }
            for lane in 0..self.members[member].lanes.len() {
                self.with_lane(member, lane, |lane, now, out| lane.run(now, out));
            }
        }
    }

    fn deliver(&mut self, to: usize, packet: &Packet) {
        let member = &self.members[to];
        if !member.connected {
            return;
        }
        for lane in 0..self.members[to].lanes.len() {
            for port in 0..self.members[to].lanes[lane].ports().len() {
                let Some((from, bytes)) = received(&self.members[to], lane, port, packet) else { continue };
                self.with_lane(to, lane, |lane, now, out| {
                    lane.receive(now, Received { port, from, bytes: &bytes }, out);
                });
            }
        }
    }

    fn with_lane(&mut self, member: usize, lane: usize, act: impl FnOnce(&mut dyn Lane, Nanos, &mut dyn Outbox)) {
        let now = self.now;
        let this = &mut self.members[member];
        let mut out = Collected { udp: this.udp[lane].clone(), ip: Some(this.address.ip), ..Collected::default() };
        act(this.lanes[lane].as_mut(), now, &mut out);
        this.woken |= out.woken;
        out.packets.into_iter().for_each(|packet| self.send(member, packet));
        self.told.extend(out.told.into_iter().map(|line| (now, Station(member), line)));
        for request in out.requests {
            self.change_address(member, request.address);
        }
    }

    /// Gives a station another address, if its owner agrees.
    fn change_address(&mut self, member: usize, address: Address) {
        if self.members[member].may_change_address {
            self.members[member].address = address;
            let mac = self.members[member].mac;
            for lane in 0..self.members[member].lanes.len() {
                self.with_lane(member, lane, |lane, now, out| lane.address_changed(now, mac, address, out));
            }
        }
    }

    fn send(&mut self, from: usize, packet: Packet) {
        if self.recording {
            self.seen.push((self.now, Station(from), packet.clone()));
        }
        if !self.members[from].connected {
            return;
        }
        for to in (0..self.members.len()).filter(|to| *to != from || matches!(packet, Packet::Stream(..))) {
            let Trouble { lost, doubled, longer } = self.trouble;
            if self.draw(1000) < u64::from(lost) {
                continue;
            }
            let copies = if self.draw(1000) < u64::from(doubled) { 2 } else { 1 };
            for _ in 0..copies {
                self.count += 1;
                let at = self.now + self.delay + self.draw(longer + 1);
                self.wire.push(Reverse((at, self.count, to, packet.clone())));
            }
        }
    }

    /// A number below `limit`, by splitmix64.
    fn draw(&mut self, limit: u64) -> u64 {
        self.draws = self.draws.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.draws;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % limit
    }
}

/// What a lane's port gets of a packet, if anything.
fn received(member: &Member, lane: usize, port: usize, packet: &Packet) -> Option<(Source, Vec<u8>)> {
    let own = member.udp[lane][port];
    match (packet, &member.lanes[lane].ports()[port]) {
        (Packet::Frame(frame), Port::Ethernet { ethertype, groups, first_word }) => {
            let frame = untagged(frame);
            let word = |at: usize| Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]));
            let address = |at: usize| Mac(frame[at..at + 6].try_into().expect("six bytes"));
            let is_for_it = word(12)? == *ethertype && first_word.contains(&word(14)?) && {
                let to = address(0);
                to == member.mac || to == Mac::BROADCAST || groups.contains(&to)
            };
            is_for_it.then(|| (Source::Ethernet(address(6)), frame.clone()))
        }
        (Packet::Datagram(from, to, payload), Port::Udp { .. }) => {
            let ip = *to.ip();
            let is_for_it = to.port() == own
                && (ip == member.address.ip || ip == member.address.broadcast() || ip == Ipv4Addr::BROADCAST);
            is_for_it.then(|| (Source::Udp(*from), payload.clone()))
        }
        (Packet::Stream(number, connection, bytes), Port::Tcp { port, .. }) => {
            (number == port).then(|| (Source::Connection(*connection), bytes.clone()))
        }
        _ => None,
    }
}

/// A frame without its VLAN tag, as a socket hands it over.
fn untagged(frame: &[u8]) -> Vec<u8> {
    match frame.get(12..14) {
        Some([0x81, 0x00]) => [&frame[..12], &frame[16.min(frame.len())..]].concat(),
        _ => frame.to_vec(),
    }
}

#[derive(Default)]
struct Collected {
    udp: Vec<u16>,
    ip: Option<Ipv4Addr>,
    packets: Vec<Packet>,
    requests: Vec<AddressRequest>,
    told: Vec<String>,
    woken: bool,
}

impl Outbox for Collected {
    fn frame(&mut self, _port: usize, frame: &[u8]) {
        self.packets.push(Packet::Frame(frame.to_vec()));
    }

    fn datagram(&mut self, port: usize, to: SocketAddrV4, payload: &[u8]) {
        let from = SocketAddrV4::new(self.ip.unwrap_or(Ipv4Addr::UNSPECIFIED), self.udp[port]);
        self.packets.push(Packet::Datagram(from, to, payload.to_vec()));
    }

    fn stream(&mut self, _port: usize, connection: u32, bytes: &[u8]) {
        self.packets.push(Packet::Stream(0, connection, bytes.to_vec()));
    }

    fn close(&mut self, _port: usize, connection: u32) {
        self.packets.push(Packet::Stream(0, connection, Vec::new()));
    }

    fn wake_others(&mut self) {
        self.woken = true;
    }

    fn request_address(&mut self, request: AddressRequest) {
        self.requests.push(request);
    }

    fn tell(&mut self, event: &str) {
        self.told.push(event.to_owned());
    }
}
