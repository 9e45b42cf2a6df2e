// SPDX-License-Identifier: Apache-2.0
//! The server as clients see it: bytes in, bytes out.

use proptest::prelude::*;

use super::*;
use crate::application::endpoint::{Door, Safe, State};
use crate::application::image::{Image, Type};
use crate::application::memory::Memory;
use crate::application::memory::Plan;
use crate::protocol::AddressRequest;

const MS: Nanos = 1_000_000;

#[derive(Default)]
struct Heard {
    streams: Vec<(u32, Vec<u8>)>,
    closed: Vec<u32>,
    told: Vec<String>,
}

impl Outbox for Heard {
    fn frame(&mut self, _port: usize, _frame: &[u8]) {
        panic!("a server sends no frames");
    }
    fn datagram(&mut self, _port: usize, _to: std::net::SocketAddrV4, _payload: &[u8]) {
        panic!("a server sends no datagrams");
    }
    fn stream(&mut self, _port: usize, connection: u32, bytes: &[u8]) {
        self.streams.push((connection, bytes.to_vec()));
    }
    fn close(&mut self, _port: usize, connection: u32) {
        self.closed.push(connection);
    }
    fn wake_others(&mut self) {}
    fn request_address(&mut self, _request: AddressRequest) {
        panic!("a server wants no address");
    }
    fn tell(&mut self, event: &str) {
        self.told.push(event.to_owned());
    }
}

struct Bench {
    server: Server,
    door: Door,
    outputs: Image,
    now: Nanos,
}

fn settings() -> Settings {
    Settings {
        port: 502,
        connections: 3,
        unit: None,
        idle_timeout: 60_000 * MS,
        watchdog: Some(1_000 * MS),
        refresh: 750 * MS,
    }
}

/// Inputs: discrete 0 and 2; registers 0 (i8), 1 and 2 (u32). Outputs: coils 0 to 9; registers 0 (u8), 1 (i8), 2 (u16),
/// 3 and 4 (f32), 6 (bool).
fn bench(settings: Settings) -> Bench {
    let (mut inputs, mut outputs, mut map) = (Image::default(), Image::default(), Map::default());
    let add = |image: &mut Image, name: &str, kind| {
        assert!(image.add(name, kind));
        image.get(name).unwrap()
    };
    for (name, at) in [("one", None), ("two", Some(2))] {
        map.discrete_inputs.place(add(&mut inputs, name, Type::Bool), at).unwrap();
    }
    map.input_registers.place(add(&mut inputs, "small", Type::I8), None).unwrap();
    map.input_registers.place(add(&mut inputs, "large", Type::U32), None).unwrap();
    for n in 0..10 {
        map.coils.place(add(&mut outputs, &format!("coil_{n}"), Type::Bool), None).unwrap();
    }
    for (name, kind, at) in [
        ("r0", Type::U8, None),
        ("r1", Type::I8, None),
        ("r2", Type::U16, None),
        ("r3", Type::F32, None),
        ("r6", Type::Bool, Some(6)),
    ] {
        map.holding_registers.place(add(&mut outputs, name, kind), at).unwrap();
    }
    let plan = Plan { inputs: inputs.bytes(), outputs: outputs.bytes(), endpoints: 1 };
    let memory = Memory::anonymous(plan).unwrap();
    let safe = Safe { values: vec![0; plan.outputs], replaced: vec![true; plan.outputs] };
    let mut door = Door::new(&memory, 0);
    let mut image = vec![0; plan.inputs];
    image[inputs.get("two").unwrap().offset] = 1;
    image[inputs.get("small").unwrap().offset] = (-2_i8).cast_unsigned();
    let large = inputs.get("large").unwrap().offset;
    image[large..large + 4].copy_from_slice(&0x1234_5678_u32.to_ne_bytes());
    door.publish(MS, true, &image);
    let endpoint = Endpoint::new(&memory, 0, safe, 1_000_000 * MS, MS);
    Bench { server: Server::new(settings, map, endpoint), door, outputs, now: MS }
}

impl Bench {
    fn send(&mut self, connection: u32, bytes: &[u8]) -> Heard {
        let mut heard = Heard::default();
        let from = Source::Connection(connection);
        self.server.receive(self.now, Received { port: 0, from, bytes }, &mut heard);
        heard
    }

    /// The reply to one request.
    fn ask(&mut self, pdu: &[u8]) -> Vec<u8> {
        let heard = self.send(1, &framed(7, 1, pdu));
        assert_eq!((heard.streams.len(), heard.closed.len()), (1, 0));
        let reply = &heard.streams[0].1;
        assert_eq!((&reply[..4], reply[6]), (&[0, 7, 0, 0][..], 1));
        assert_eq!(usize::from(u16::from_be_bytes([reply[4], reply[5]])), reply.len() - 6);
        reply[7..].to_vec()
    }

    /// Lets time pass as a driver does.
    fn pass(&mut self, span: Nanos) -> Heard {
        let mut heard = Heard::default();
        let end = self.now + span;
        while let Some(due) = self.server.due().filter(|due| *due <= end) {
            self.now = self.now.max(due);
            self.server.run(self.now, &mut heard);
            assert!(self.server.due().is_none_or(|due| due > self.now), "it would spin");
        }
        self.now = end;
        heard
    }

    fn coil(&mut self, n: usize) -> (u8, u32) {
        let at = self.outputs.get(&format!("coil_{n}")).unwrap().offset;
        let (state, _, image) = self.door.outputs();
        (image[at], state)
    }

    fn counter(&self, name: &str) -> u64 {
        self.server.counters().into_iter().find(|(other, _)| *other == name).unwrap().1
    }
}

fn framed(transaction: u16, unit: u8, pdu: &[u8]) -> Vec<u8> {
    let [high, low] = transaction.to_be_bytes();
    let [longer, length] = (pdu.len() as u16 + 1).to_be_bytes();
    [&[high, low, 0, 0, longer, length, unit], pdu].concat()
}

#[test]
fn every_function_does_what_the_specification_says() {
    let mut bench = bench(settings());
    for (request, reply) in [
        // Inputs: a gap is 0, a sign is kept, the high word is first.
        (&[2, 0, 0, 0, 3][..], &[2, 1, 0b100][..]),
        (&[2, 0, 1, 0, 3], &[0x82, 2]),
        (&[4, 0, 0, 0, 3], &[4, 6, 0xff, 0xfe, 0x12, 0x34, 0x56, 0x78]),
        (&[4, 0, 3, 0, 1], &[0x84, 2]),
        // Coils.
        (&[1, 0, 0, 0, 10], &[1, 2, 0, 0]),
        (&[5, 0, 9, 0xff, 0], &[5, 0, 9, 0xff, 0]),
        (&[5, 0, 9, 1, 0], &[0x85, 3]),
        (&[5, 0, 10, 0xff, 0], &[0x85, 2]),
        (&[15, 0, 1, 0, 9, 2, 0b101, 0], &[15, 0, 1, 0, 9]),
        (&[1, 0, 0, 0, 10], &[1, 2, 0b1010, 0]),
        (&[15, 0, 1, 0, 10, 2, 0, 0], &[0x8f, 2]),
        (&[15, 0, 1, 0, 9, 1, 0], &[0x8f, 3]),
        (&[15, 0, 1, 0, 9, 2, 0], &[0x8f, 3]),
        // Holding registers.
        (&[6, 0, 0, 0, 255], &[6, 0, 0, 0, 255]),
        (&[6, 0, 0, 1, 0], &[0x86, 3]),
        (&[6, 0, 1, 0xff, 0x80], &[6, 0, 1, 0xff, 0x80]),
        (&[6, 0, 1, 0x80, 0], &[0x86, 3]),
        (&[6, 0, 5, 0, 1], &[0x86, 2]),
        (&[6, 0, 6, 0x10, 0], &[6, 0, 6, 0x10, 0]),
        (&[16, 0, 2, 0, 3, 6, 1, 2, 0x3f, 0xc0, 0, 0], &[16, 0, 2, 0, 3]),
        (&[16, 0, 2, 0, 3, 5, 1, 2, 0x3f, 0xc0, 0], &[0x90, 3]),
        (&[16, 0, 2, 0, 0, 0], &[0x90, 3]),
        (&[3, 0, 0, 0, 7], &[3, 14, 0, 255, 0xff, 0x80, 1, 2, 0x3f, 0xc0, 0, 0, 0, 0, 0, 1]),
        (&[23, 0, 1, 0, 2, 0, 2, 0, 1, 2, 0xab, 0xcd], &[23, 4, 0xff, 0x80, 0xab, 0xcd]),
        (&[23, 0, 6, 0, 2, 0, 2, 0, 1, 2, 0, 0], &[0x97, 2]),
        (&[3, 0, 2, 0, 1], &[3, 2, 0xab, 0xcd]),
        // Quantities, lengths, functions.
        (&[3, 0, 0, 0, 0], &[0x83, 3]),
        (&[3, 0, 0, 0, 126], &[0x83, 3]),
        (&[1, 0, 0, 7, 0xd1], &[0x81, 3]),
        (&[1, 0xff, 0xff, 0, 2], &[0x81, 2]),
        (&[3, 0, 0, 0], &[0x83, 3]),
        (&[7], &[0x87, 1]),
        (&[43, 14, 1, 0], &[0xab, 1]),
        (&[0x90], &[0x90, 3]),
    ] {
        assert_eq!(bench.ask(request), reply, "{request:?}");
    }
    assert_eq!(bench.coil(3), (1, State::VALID | State::RUN));
    assert_eq!((bench.counter("exception: illegal function"), bench.counter("requests")), (2, 34));
}

#[test]
fn inputs_that_are_not_good_are_a_failure_of_the_device() {
    let mut bench = bench(settings());
    bench.now = 2_000_000 * MS;
    assert_eq!(bench.ask(&[2, 0, 0, 0, 3]), [0x82, 4]);
    assert_eq!(bench.ask(&[4, 0, 0, 0, 1]), [0x84, 4]);
    assert_eq!(bench.ask(&[1, 0, 0, 0, 1]), [1, 1, 0]);
}

#[test]
fn a_unit_that_is_another_s_does_not_respond() {
    let mut bench = bench(Settings { unit: Some(9), ..settings() });
    for (unit, function) in [(9, 1), (0, 1), (255, 1), (8, 0x81)] {
        let heard = bench.send(1, &framed(1, unit, &[1, 0, 0, 0, 1]));
        assert_eq!(heard.streams[0].1[6..8], [unit, function]);
    }
    assert_eq!(bench.counter("exception: another unit"), 1);
}

#[test]
fn outputs_become_safe_when_the_last_writer_is_gone() {
    let mut bench = bench(settings());
    let write = framed(1, 1, &[5, 0, 0, 0xff, 0]);
    bench.send(1, &framed(1, 1, &[1, 0, 0, 0, 1]));
    assert_eq!(bench.send(2, &write).told, ["a client sends outputs"]);
    assert!(bench.send(3, &write).told.is_empty());
    bench.send(2, &[]);
    bench.send(1, &[]);
    assert_eq!(bench.coil(0), (1, State::VALID | State::RUN));
    assert_eq!(bench.send(3, &[]).told.len(), 1);
    assert_eq!(bench.coil(0), (0, 0));
    assert_eq!((bench.counter("connections"), bench.counter("outputs lost: closed")), (0, 1));
}

#[test]
fn outputs_become_safe_when_all_writers_are_silent() {
    let mut bench = bench(settings());
    let (write, read) = (framed(1, 1, &[5, 0, 0, 0xff, 0]), framed(1, 1, &[1, 0, 0, 0, 1]));
    bench.send(1, &write);
    for _ in 0..5 {
        assert!(bench.pass(999 * MS).told.is_empty());
        bench.send(1, &read);
        bench.send(2, &read);
    }
    let published = bench.door.outputs().1;
    assert!(bench.now - published < 1_000 * MS, "they are handed on");
    bench.pass(500 * MS);
    bench.send(2, &read);
    assert!(bench.pass(499 * MS).told.is_empty(), "who only reads is nobody's sign of life, but it is not time yet");
    assert_eq!(bench.pass(MS).told.len(), 1);
    assert_eq!((bench.coil(0), bench.counter("outputs lost: silent")), ((0, 0), 1));
    bench.send(1, &write);
    assert_eq!(bench.coil(0).0, 1);
}

#[test]
fn connections_that_are_idle_too_many_or_speak_something_else_are_closed() {
    let mut bench = bench(settings());
    let read = framed(1, 1, &[1, 0, 0, 0, 1]);
    (1..=3).for_each(|connection| assert!(bench.send(connection, &read).closed.is_empty()));
    assert_eq!(bench.send(4, &read).closed, [4]);
    assert_eq!(bench.send(1, b"GET / HTTP/1.1\r\n").closed, [1]);
    assert_eq!(bench.send(2, &[0, 1, 0, 0, 0, 255, 1]).closed, [2]);
    assert_eq!(bench.send(5, &[0, 1, 0, 0, 0, 1]).closed, [5]);
    assert_eq!(bench.pass(60_000 * MS).closed, [3]);
    assert_eq!((bench.counter("closed: idle"), bench.server.due()), (1, None));
}

/// A day in virtual time: a client that asks every second, one that comes each minute, writes, and leaves or falls silent.
#[test]
fn a_day_leaves_nothing_behind() {
    let mut bench = bench(Settings { idle_timeout: 10_000 * MS, ..settings() });
    bench.door.publish(u64::MAX / 2, true, &[0; 8]);
    let (write, read) = (framed(1, 1, &[5, 0, 0, 0xff, 0]), framed(1, 1, &[4, 0, 0, 0, 1]));
    let room = bench.server.connections.capacity();
    for second in 0..86_400_u32 {
        assert_eq!(bench.send(1, &read).streams[0].1[7], 4);
        let (minute, number) = (second / 60, 2 + second / 60);
        match second % 60 {
            10 => assert_eq!(bench.send(number, &write).streams.len(), 1),
            11 if minute % 2 == 0 => drop(bench.send(number, &[])),
            _ => {}
        }
        bench.pass(1_000 * MS);
    }
    assert_eq!((bench.counter("connections"), bench.server.connections.capacity()), (1, room));
    assert_eq!((bench.counter("outputs lost: silent"), bench.counter("outputs lost: closed")), (1_440, 0));
    assert_eq!(bench.counter("closed: idle"), 720);
}

fn request() -> impl Strategy<Value = Vec<u8>> {
    let number = prop_oneof![0..12_u16, any::<u16>()];
    let function = prop_oneof![1..=6_u8, Just(15), Just(16), Just(23), any::<u8>()];
    let good = (function, number.clone(), number, prop::collection::vec(any::<u8>(), 0..30)).prop_map(
        |(function, from, count, mut data)| {
            let mut pdu = vec![function];
            pdu.extend(from.to_be_bytes());
            pdu.extend(count.to_be_bytes());
            if matches!(function, 15 | 16 | 23) {
                pdu.push(data.len() as u8);
                pdu.append(&mut data);
            }
            pdu
        },
    );
    prop_oneof![4 => good, 1 => prop::collection::vec(any::<u8>(), 1..PDU)]
}

proptest! {
    /// However a stream is cut, the replies are the same, in order, one for each request, and sound.
    #[test]
    fn a_stream_may_be_cut_anywhere(
        requests in prop::collection::vec(request(), 1..8),
        cuts in prop::collection::vec(1..40_usize, 1..20),
    ) {
        let stream: Vec<_> = (0..).zip(&requests).flat_map(|(n, pdu)| framed(n, 1, pdu)).collect();
        let (mut whole, mut cut) = (bench(settings()), bench(settings()));
        let at_once = whole.send(1, &stream);
        let mut pieces = Vec::new();
        let (mut rest, mut cuts) = (&stream[..], cuts.iter().cycle());
        while !rest.is_empty() {
            let (head, tail) = rest.split_at((*cuts.next().unwrap()).min(rest.len()));
            let heard = cut.send(1, head);
            prop_assert!(heard.closed.is_empty());
            pieces.extend(heard.streams);
            rest = tail;
        }
        prop_assert_eq!(&at_once.streams, &pieces);
        prop_assert_eq!(at_once.streams.len(), requests.len());
        for (n, ((_, reply), pdu)) in at_once.streams.iter().zip(&requests).enumerate() {
            prop_assert_eq!(usize::from(u16::from_be_bytes([reply[0], reply[1]])), n);
            prop_assert_eq!(usize::from(u16::from_be_bytes([reply[4], reply[5]])), reply.len() - 6);
            prop_assert!(reply[7] == pdu[0] || (reply[7] == pdu[0] | 0x80 && reply.len() == 9));
        }
        prop_assert_eq!(whole.door.outputs().2, cut.door.outputs().2);
    }

    /// Whatever comes, over whatever connections, in whatever pieces: nothing panics, memory is bounded, a closed
    /// connection is forgotten, outputs are valid exactly while somebody writes.
    #[test]
    fn anything_may_come(
        steps in prop::collection::vec((0..5_u32, any::<bool>(), prop::collection::vec(any::<u8>(), 0..300),
            request(), 0..2_000_u64), 1..40),
    ) {
        let mut bench = bench(settings());
        for (connection, is_request, bytes, pdu, wait) in steps {
            bench.send(connection, &if is_request { framed(1, 1, &pdu) } else { bytes });
            bench.pass(wait * MS);
            prop_assert!(bench.server.connections.len() <= 3);
            prop_assert!(bench.server.connections.iter().all(|one| one.pending.capacity() <= LONGEST));
            let writers = bench.server.connections.iter().filter(|one| one.writes).count();
            prop_assert_eq!(bench.door.outputs().0 & State::VALID != 0, writers > 0);
        }
    }
}
