// SPDX-License-Identifier: Apache-2.0
//! What nobody should send: it is counted, nothing panics, nothing grows, and the cycle goes on.
//!
//! Runs for a second; `WEIR_FUZZ_SECONDS=3600 cargo test --release -p weir-io --test profinet_device hostile` for an hour.

use std::time::Duration;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weir_io::protocol::Source;
use weir_io::protocol::profinet::device::handle::Alarm;
use weir_io::protocol::profinet::wire::Reader;
use weir_io::protocol::profinet::wire::block::Block;
use weir_io::protocol::profinet::wire::endpoint_mapper::Lookup;
use weir_io::protocol::profinet::wire::rpc::{Arguments, Header};
use weir_io::protocol::profinet::wire::rt::{Cyclic, Ethernet};
use weir_io::protocol::profinet::wire::rta::{Answer, Notification, Rta};

use crate::life::{Controller, rig};
use crate::replay::{Packet, conversation};
use crate::rig::{ACYCLIC, MS, OWN, RPC, Rig, SECOND, Sent};

fn seconds() -> Duration {
    let text = std::env::var("WEIR_FUZZ_SECONDS").ok();
    Duration::from_secs(text.map_or(1, |text| text.parse().expect("WEIR_FUZZ_SECONDS is a number of seconds")))
}

/// Damages bytes: cut, lengthened, bits inverted, bytes and words replaced. Lengths in front of it stay wrong.
fn damage(rng: &mut ChaCha8Rng, bytes: &mut Vec<u8>, from: usize) {
    for _ in 0..rng.random_range(1..4) {
        if bytes.len() <= from + 2 {
            return;
        }
        let at = rng.random_range(from..bytes.len() - 1);
        match rng.random_range(0..6) {
            0 => bytes.truncate(at),
            1 => bytes.extend((0..rng.random_range(1..600)).map(|_| rng.random::<u8>())),
            2 => bytes[at] ^= 1 << rng.random_range(0..8),
            3 => bytes[at..at + 2].copy_from_slice(&[[0, 0], [0xff, 0xff], [0x80, 0], [0, 1]][rng.random_range(0..4)]),
            _ => bytes[at] = rng.random(),
        }
    }
}

/// Everything that captured controllers sent.
fn samples() -> Vec<Packet> {
    let names = ["pn-rt1-8ms-connect-write-read-alarm-release", "pn-rt1-1ms-cyclic"];
    let packets = names.iter().flat_map(|name| conversation(name).1);
    let mut cyclic = 0;
    let kept = packets.filter_map(|(_, is_controller, packet)| {
        cyclic += usize::from(matches!(packet, Packet::Cyclic(_)));
        (is_controller && (cyclic < 20 || !matches!(packet, Packet::Cyclic(_)))).then_some(packet)
    });
    kept.collect()
}

/// A datagram whose lengths are right again after its blocks were damaged, so that they are looked into.
fn damaged_call(rng: &mut ChaCha8Rng, payload: &[u8], sequence: u32) -> Vec<u8> {
    let (header, body) = Header::decode(payload).unwrap();
    let Ok(arguments) = Arguments::decode(body, header.ndr()) else { return payload.to_vec() };
    let mut blocks = arguments.blocks.to_vec();
    damage(rng, &mut blocks, 0);
    let body = Arguments { blocks: &blocks, ..arguments }.encode(header.ndr());
    Header { sequence, operation: rng.random_range(0..6), ..header }.encode(&body)
}

#[test]
fn decoders_take_anything() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let samples = samples();
    let (began, mut count) = (std::time::Instant::now(), 0u64);
    while began.elapsed() < seconds() {
        let mut bytes = match &samples[rng.random_range(0..samples.len())] {
            Packet::Datagram { payload, .. } => payload.clone(),
            Packet::Cyclic(frame) | Packet::Alarm(frame) => frame.clone(),
        };
        match rng.random_range(0..3) {
            0 => bytes.truncate(rng.random_range(0..=bytes.len())),
            1 => {
                bytes.resize(rng.random_range(0..400), 0);
                rng.fill_bytes(&mut bytes);
            }
            _ => damage(&mut rng, &mut bytes, 0),
        }
        let _ = Cyclic::decode(&bytes);
        if let Ok((_, rest)) = Ethernet::decode(&bytes) {
            let _ = Rta::decode(rest).map(|pdu| (Notification::decode(pdu.data), Answer::decode(pdu.data)));
        }
        let _ = (Notification::decode(&bytes), Answer::decode(&bytes));
        if let Ok((header, body)) = Header::decode(&bytes) {
            let _ = (Arguments::decode(body, header.ndr()), Lookup::decode(body, header.ndr()));
        }
        for skip in [0, 100] {
            let mut reader = Reader::new(bytes.get(skip..).unwrap_or(&[]));
            while let Ok(block) = Block::decode(&mut reader) {
                // What was decoded can be encoded, and is the same again.
                let mut encoded = Vec::new();
                block.encode(&mut encoded);
                assert_eq!(Block::decode(&mut Reader::new(&encoded)).unwrap(), block);
            }
        }
        count += 1;
    }
    println!("{count} inputs");
}

#[test]
fn the_device_takes_anything_at_any_time() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let samples = samples();
    let (began, mut count, mut round) = (std::time::Instant::now(), 0u64, 0u64);
    let mut connected = 0;
    while began.elapsed() < seconds() {
        round += 1;
        let mut rig = rig();
        let mut controller = Controller::new();
        let mut sequence = 1 << 20;
        if rng.random_bool(0.7) {
            controller.start(&mut rig);
        }
        for _ in 0..300 {
            sequence += 1;
            one(&mut rng, &samples, &mut rig, sequence);
            rig.run(rng.random_range(0..4 * MS));
            count += 1;
            // Bounded whatever comes: answers to one packet, and names of counters.
            assert!(rig.take_sent().len() < 100);
        }
        connected += rig.counter("connections");
        assert!(rig.lanes.iter().all(|lane| lane.counters().len() < 64));
        // Whatever was said, silence ends it, and the device is free again.
        rig.run(150 * SECOND);
        assert_eq!(rig.lanes[ACYCLIC].due(), None);
        let (_, run, led) = rig.output("led");
        assert!(!run && led == 9);
        let mut controller = Controller::new();
        controller.start(&mut rig);
        controller.send(&mut rig, (3, 0x80), 1);
        assert_eq!(rig.output("led"), (true, true, 3));
    }
    println!("{count} packets in {round} rounds, {connected} connections");
    assert!(connected > round / 2);
}

/// Something that somebody sends or does.
fn one(rng: &mut ChaCha8Rng, samples: &[Packet], rig: &mut Rig, sequence: u32) {
    if rng.random_bool(0.05) {
        let mut data = vec![0; rng.random_range(0..300)];
        rng.fill_bytes(&mut data);
        let _ = rig.handle.raise(Alarm::Process { place: (1, 1), structure: 1, data });
        let appears = rng.random_bool(0.5);
        let _ = rig.handle.raise(Alarm::Diagnosis { place: (2, 1), channel: 1, error: rng.random(), appears });
    }
    match &samples[rng.random_range(0..samples.len())] {
        Packet::Datagram { from, payload, .. } => {
            let port = if rng.random_bool(0.1) { OWN } else { RPC };
            let mut payload = if rng.random_bool(0.6) {
                damaged_call(rng, payload, sequence)
            } else {
                let (header, body) = Header::decode(payload).unwrap();
                Header { sequence, ..header }.encode(body)
            };
            if rng.random_bool(0.2) {
                damage(rng, &mut payload, 0);
            }
            rig.receive(ACYCLIC, port, Source::Udp(*from), &payload);
        }
        Packet::Cyclic(frame) | Packet::Alarm(frame) => {
            let mut frame = frame.clone();
            if rng.random_bool(0.6) {
                let from = if rng.random_bool(0.8) { 20 } else { 0 };
                damage(rng, &mut frame, from);
            }
            rig.receive_frame(&frame);
        }
    }
}

#[test]
fn a_flood_of_damaged_packets_leaves_the_cycle_undisturbed() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let samples: Vec<_> = samples().into_iter().filter(|packet| matches!(packet, Packet::Datagram { .. })).collect();
    let mut rig = rig();
    let mut controller = Controller::new();
    controller.start(&mut rig);
    rig.take_sent();
    let cycles = 500;
    for n in 0..cycles {
        controller.send(&mut rig, (n as u8, 0x80), n);
        for _ in 0..20 {
            let Packet::Datagram { payload, .. } = &samples[rng.random_range(0..samples.len())] else { continue };
            let mut payload = payload.clone();
            // Another session, another connection's UUID: nothing that the one that there is would have to obey.
            payload[40..56].fill(7);
            damage(&mut rng, &mut payload, 100);
            if let Some(at) = payload.windows(3).position(|bytes| bytes == [0xe9, 0x04, 0x17]) {
                payload[at] = 0;
            }
            rig.receive(ACYCLIC, RPC, Source::Udp("192.168.0.99:999".parse().unwrap()), &payload);
            rig.run(MS / 10);
        }
        rig.run_until(SECOND + u64::from(n + 1) * 8 * MS);
    }
    let frames = rig.sent.iter().filter(|(_, sent)| matches!(sent, Sent::Frame(frame) if frame[18] == 0xc0)).count();
    assert!(frames.abs_diff(cycles as usize) <= 1, "{frames}");
    assert_eq!(rig.counter("cyclic frames received"), u64::from(cycles));
    assert_eq!(rig.counter("connections aborted"), 0);
}
