// SPDX-License-Identifier: Apache-2.0
//! The requests of every capture go to our slave, which answers as the captured slave did: byte for byte.
//!
//! No field is left aside: our slave is configured with what the captured one said of itself (version, vendor, model,
//! equipment version, management information, Ethernet address), and its application has the inputs and the error code
//! that the captured one had with each answer. While the own bit is off it has other inputs, which must not be seen.

use std::net::Ipv4Addr;

use weir_io::application::endpoint::State;
use weir_io::protocol::cclink::Identity;
use weir_io::protocol::cclink::slave::Wishes;
use weir_io::protocol::cclink::wire::cyclic::{EndCode, Request, Response};
use weir_io::protocol::cclink::wire::slmp;
use weir_io::protocol::{Address, Mac, Nanos, Received, Source};

use super::captures::{ALL, Datagram, read};
use super::device::{Device, Sent, image};

const MS: Nanos = 1_000_000;

/// The answer that a capture has to a cyclic request.
fn captured_answer(datagrams: &[Datagram], at: usize) -> Option<&Datagram> {
    let request = Request::read(&datagrams[at].payload).unwrap().fields();
    let answers = datagrams[at + 1..].iter().take_while(|other| {
        let next = Request::read(&other.payload).map(|next| next.fields());
        next.map_or(true, |next| next.master != request.master || next.sequence == request.sequence.wrapping_add(1))
    });
    answers.into_iter().find(|other| {
        other.to == datagrams[at].from
            && Response::read(&other.payload).is_ok_and(|answer| answer.fields().sequence == request.sequence)
    })
}

struct Replay {
    name: &'static str,
    device: Device,
    own: Ipv4Addr,
    now: Nanos,
    compared: usize,
    silent: usize,
}

impl Replay {
    fn new(name: &'static str, datagrams: &[Datagram]) -> Self {
        let first = datagrams.iter().find_map(|datagram| Some((datagram, Response::read(&datagram.payload).ok()?)));
        let (datagram, response) = first.unwrap();
        let fields = response.fields();
        let identity =
            Identity { vendor: fields.vendor, model: fields.model, equipment_version: fields.equipment_version };
        let is_refusal = |datagram: &Datagram| {
            slmp::Response::read(&datagram.payload)
                .is_ok_and(|answer| matches!(answer.answer, slmp::Answer::Refused(..)))
        };
        let refuses = datagrams.iter().any(is_refusal);
        let mut device = Device::new(response.stations(), identity, |settings| {
            settings.version = fields.version;
            settings.may_set_address = !refuses;
        });
        let address =
            Address { ip: fields.slave, mask: Ipv4Addr::new(255, 255, 255, 0), gateway: Ipv4Addr::UNSPECIFIED };
        for lane in &mut device.lanes {
            lane.address_changed(0, datagram.source, address, &mut Sent::default());
        }
        Self { name, device, own: fields.slave, now: MS, compared: 0, silent: 0 }
    }

    fn receive(&mut self, lane: usize, datagram: &Datagram) -> Sent {
        let mut sent = Sent::default();
        let received = Received { port: 0, from: Source::Udp(datagram.from), bytes: &datagram.payload };
        self.device.lanes[lane].receive(self.now, received, &mut sent);
        sent
    }

    /// Lets time pass, and what is due happen; answers what was sent and when.
    fn wait(&mut self, lane: usize, until: Nanos) -> Vec<(Nanos, Vec<u8>)> {
        let mut all = Vec::new();
        while let Some(due) = self.device.lanes[lane].due().filter(|due| *due <= until) {
            let mut sent = Sent::default();
            self.device.lanes[lane].run(due, &mut sent);
            all.extend(sent.datagrams.into_iter().map(|(_, payload)| (due, payload)));
        }
        self.now = self.now.max(until);
        all
    }

    /// The application's part for a request: what the captured one had.
    fn prepare(&mut self, answer: Option<&Datagram>, bit: bool) {
        let Some(answer) = answer else { return };
        let response = Response::read(&answer.payload).unwrap();
        let fields = response.fields();
        let inputs = if fields.end_code == EndCode::GOOD && bit {
            image(response.rx(), response.rwr())
        } else {
            image(&vec![0xFF; response.rx().len()], &vec![0xFF; response.rwr().len()])
        };
        self.device.door.publish(self.now, true, &inputs);
        self.device.control.wish(Wishes {
            disconnected: fields.end_code == EndCode::DISCONNECT,
            error: fields.error,
            management: fields.management,
        });
    }

    fn cyclic(&mut self, datagrams: &[Datagram], at: usize) {
        let datagram = &datagrams[at];
        let request = Request::read(&datagram.payload).unwrap();
        let answer = captured_answer(datagrams, at);
        let fields = request.fields();
        let place = request.find(self.own);
        let bit = place.is_some_and(|(first, _)| fields.state >> first & 1 != 0);
        self.prepare(answer, bit);
        let sent = self.receive(0, datagram);
        let when = format!("{} at {:?}, {fields:?}", self.name, datagram.at);
        // Where the capture was cut, an answer may be missing in it.
        let next = datagrams[at + 1..].iter().find_map(|next| {
            let next = Request::read(&next.payload).ok()?.fields();
            (next.master == fields.master).then_some(next.sequence)
        });
        let is_cut = next != Some(fields.sequence.wrapping_add(1));
        match (answer, sent.datagrams.front()) {
            (Some(answer), Some((to, payload))) => {
                assert_eq!(*payload, answer.payload, "{when}");
                assert_eq!(*to, answer.to, "{when}");
                self.compared += 1;
            }
            (None, None) => self.silent += 1,
            (None, Some(_)) if is_cut => {}
            (expected, ours) => panic!("{when}: captured {expected:?}, ours {ours:?}, told {:?}", sent.told),
        }
        assert!(sent.datagrams.len() <= 1);
        let good =
            answer.is_some_and(|answer| Response::read(&answer.payload).unwrap().fields().end_code == EndCode::GOOD);
        if good && let Some((first, stations)) = place {
            let safe = vec![0; self.device.image_bytes()];
            let (state, _, outputs) = self.device.door.outputs();
            let valid = state & State::VALID != 0;
            assert_eq!(valid, bit, "{when}");
            let (bits, words) = (request.ry(), request.rww());
            let expected = image(&bits[8 * first..8 * (first + stations)], &words[64 * first..64 * (first + stations)]);
            assert_eq!(outputs, if bit { expected } else { safe }, "{when}");
            assert!(!bit || (state & State::RUN != 0) == fields.unit.runs(), "{when}");
        }
    }

    /// A command; the answer comes at most 25 ms off the captured one's time. (The one of clpa-ref waits for a random
    /// time before it answers a search: that time is not compared.)
    fn command(&mut self, datagrams: &[Datagram], at: usize) {
        let datagram = &datagrams[at];
        let serial = slmp::Request::read(&datagram.payload).unwrap().serial;
        let answer = datagrams[at + 1..].iter().find(|other| {
            !other.is_cyclic() && slmp::Response::read(&other.payload).is_ok_and(|answer| answer.serial == serial)
        });
        let answer = answer.unwrap();
        let asked = self.now;
        let mut ours: Vec<_> =
            self.receive(1, datagram).datagrams.into_iter().map(|(_, bytes)| (asked, bytes)).collect();
        ours.extend(self.wait(1, asked + 1100 * MS));
        self.now = asked;
        assert_eq!(ours.len(), 1, "{} at {:?}", self.name, datagram.at);
        assert_eq!(ours[0].1, answer.payload, "{} at {:?}", self.name, datagram.at);
        let captured = (answer.at - datagram.at).as_nanos() as Nanos;
        if !self.name.contains("v1slave") {
            assert!(captured.abs_diff(ours[0].0 - asked) < 25 * MS, "{} at {:?}: {captured}", self.name, datagram.at);
        }
        self.compared += 1;
    }

    fn run(&mut self, datagrams: &[Datagram]) {
        let mut before = None;
        for (at, datagram) in datagrams.iter().enumerate() {
            if slmp::Request::read(&datagram.payload).is_ok() {
                self.command(datagrams, at);
            }
            let Ok(request) = Request::read(&datagram.payload) else { continue };
            let fields = request.fields();
            // Where the capture was cut, as the sequence shows, little time passes.
            let pause = match before {
                Some((sequence, at)) if fields.sequence == sequence + 1 => (datagram.at - at).as_nanos() as Nanos,
                _ => MS / 10,
            };
            if fields.master.octets()[3] == 100 {
                before = Some((fields.sequence, datagram.at));
            }
            self.wait(0, self.now + pause);
            self.cyclic(datagrams, at);
        }
    }
}

/// How many answers of each capture are compared, and how many requests neither slave answered.
fn replay(name: &'static str) -> (usize, usize) {
    let datagrams = read(name);
    let mut replay = Replay::new(name, &datagrams);
    if name.starts_with("dual") {
        // It begins in the middle of a connection.
        let mut first = datagrams.iter().find(|datagram| Request::read(&datagram.payload).is_ok()).unwrap().clone();
        first.payload[63] = 0;
        assert_eq!(replay.receive(0, &first).datagrams.len(), 1);
    }
    replay.run(&datagrams);
    (replay.compared, replay.silent)
}

#[test]
fn our_slave_answers_every_captured_request_as_the_captured_slave_did() {
    for (name, count) in ALL {
        let (compared, silent) = replay(name);
        println!("{name}: {count} datagrams, {compared} answers compared, {silent} requests unanswered by both");
        // Nearly every request has its answer in its capture; few are cut off.
        assert!(2 * (compared + silent) + 6 >= count);
    }
}

#[test]
fn a_slave_with_another_ethernet_address_ignores_the_new_address() {
    let datagrams = read("cciefb-v2-slmp-setip-ok");
    let mut replay = Replay::new("cciefb-v2-slmp-setip-ok", &datagrams);
    let address = Address {
        ip: Ipv4Addr::new(192, 168, 3, 9),
        mask: Ipv4Addr::new(255, 255, 255, 0),
        gateway: Ipv4Addr::UNSPECIFIED,
    };
    replay.device.lanes[1].address_changed(0, Mac([2, 0, 0, 0, 0, 9]), address, &mut Sent::default());
    let set = datagrams.iter().find(|datagram| {
        let request = slmp::Request::read(&datagram.payload);
        request.is_ok_and(|request| matches!(request.command, slmp::Command::AddressSet(..)))
    });
    let sent = replay.receive(1, set.unwrap());
    assert!(sent.datagrams.is_empty() && sent.requests.is_empty());
    assert_eq!(replay.device.lanes[1].due(), None);
}
