// SPDX-License-Identifier: Apache-2.0
//! Captured controllers talk to our device: it answers as the captured device did.

use std::net::SocketAddrV4;

use weir_io::protocol::profinet::device::handle::Alarm;
use weir_io::protocol::profinet::wire::RPC_PORT;
use weir_io::protocol::profinet::wire::rpc::{Header, Kind};
use weir_io::protocol::{Mac, Nanos, Source};

use crate::rig::{ACYCLIC, MS, OWN, RPC, Rig, Sent};
use crate::support::{datagram, frames};

/// What a packet is to the test.
#[derive(Clone, Debug)]
pub enum Packet {
    Datagram { from: SocketAddrV4, to: SocketAddrV4, payload: Vec<u8> },
    Cyclic(Vec<u8>),
    Alarm(Vec<u8>),
}

/// The PROFINET packets of a capture: time, whether the controller sent it, what.
pub fn conversation(name: &str) -> (Mac, Vec<(Nanos, bool, Packet)>) {
    let frames = frames(name);
    let connect = frames.iter().find(|(_, frame)| {
        datagram(frame).is_some_and(|(_, to, payload)| to.port() == RPC_PORT && payload[1] == Kind::REQUEST)
    });
    let device = Mac(connect.expect("a Connect").1[..6].try_into().unwrap());
    let packet = |frame: &[u8]| {
        if let Some((from, to, payload)) = datagram(frame) {
            let payload = payload.to_vec();
            let is_rpc = from.port() == RPC_PORT || to.port() == RPC_PORT;
            return is_rpc.then_some(Packet::Datagram { from, to, payload });
        }
        let is_tagged = frame[12..14] == [0x81, 0x00] && frame[16..18] == [0x88, 0x92];
        match u16::from_be_bytes([*frame.get(18)?, *frame.get(19)?]) {
            _ if !is_tagged => None,
            0xfc01 | 0xfe01 => Some(Packet::Alarm(frame.to_vec())),
            0x8000..=0xf7ff => Some(Packet::Cyclic(frame.to_vec())),
            _ => None,
        }
    };
    let packets = frames.iter().filter_map(|(at, frame)| Some((*at, frame[6..12] != device.0, packet(frame)?)));
    (device, packets.collect())
}

/// A device's datagram without what carries identity: the session of its own calls, the profile of I&M0.
fn comparable(payload: &[u8]) -> Vec<u8> {
    let mut payload = payload.to_vec();
    let (header, _) = Header::decode(&payload).unwrap();
    if header.kind == Kind::REQUEST {
        payload[40..56].fill(0);
    }
    if payload.len() == 80 + 20 + 124 {
        let at = payload.len() - 8;
        payload[at..].fill(0);
    }
    payload
}

/// Lets a captured controller talk to our device. Answers how many datagrams, alarms and cyclic frames were the same.
fn replay(name: &str, alarm_at: Option<Nanos>) -> (Rig, [usize; 3]) {
    let (mac, packets) = conversation(name);
    let mut rig = Rig::new(mac, [192, 168, 0, 50]);
    let start = rig.now;
    let mut same = [0; 3];
    let mut activity = [0; 16];
    let mut alarm_at = alarm_at;
    let mut last_cycle = None;
    for (at, is_controller, packet) in packets {
        if alarm_at.is_some_and(|alarm| alarm <= at) {
            alarm_at = None;
            let alarm = Alarm::Process { place: (1, 1), structure: 0x10, data: vec![1] };
            rig.handle.raise(alarm).unwrap();
            rig.run(10 * MS);
        }
        // The captured device had its frames late now and then; ours has until then what it needs.
        rig.run_until(start + at);
        rig.publish(true, &[0; 12]);
        match (is_controller, packet) {
            (true, Packet::Datagram { from, mut payload, to }) => {
                let port = if to.port() == RPC_PORT { RPC } else { OWN };
                if port == OWN {
                    payload[40..56].copy_from_slice(&activity);
                }
                rig.receive(ACYCLIC, port, Source::Udp(from), &payload);
            }
            (true, Packet::Cyclic(frame) | Packet::Alarm(frame)) => rig.receive_frame(&frame),
            (false, Packet::Datagram { to, payload, .. }) => {
                let is_it = |(_, sent): &(Nanos, Sent)| matches!(sent, Sent::Datagram(..));
                let at = rig.sent.iter().position(is_it).unwrap_or_else(|| panic!("no answer like {payload:02x?}"));
                let Sent::Datagram(port, receiver, ours) = rig.sent.remove(at).1 else { unreachable!() };
                assert_eq!(comparable(&ours), comparable(&payload), "\nours\n{ours:02x?}\n{payload:02x?}");
                assert_eq!(receiver, to);
                if ours[1] == Kind::REQUEST {
                    assert_eq!(port, OWN);
                    activity.copy_from_slice(&ours[40..56]);
                }
                same[0] += 1;
            }
            (false, Packet::Alarm(frame)) => {
                let is_it = |(_, sent): &(Nanos, Sent)| matches!(sent, Sent::Frame(frame) if matches!(frame[18..20], [0xfc, 1] | [0xfe, 1]));
                let at = rig.sent.iter().position(is_it).unwrap_or_else(|| panic!("no alarm like {frame:02x?}"));
                let Sent::Frame(ours) = rig.sent.remove(at).1 else { unreachable!() };
                assert_eq!(ours, frame);
                same[1] += 1;
            }
            (false, Packet::Cyclic(frame)) => {
                let is_it = |(_, sent): &(Nanos, Sent)| matches!(sent, Sent::Frame(frame) if frame[18] < 0xf8);
                let Some(at) = rig.sent.iter().position(is_it) else { continue };
                let Sent::Frame(ours) = rig.sent.remove(at).1 else { unreachable!() };
                check_cyclic(&ours, &frame, &mut last_cycle);
                same[2] += 1;
            }
        }
    }
    (rig, same)
}

/// All but the inputs and the cycle counter is the same; ours counts evenly.
fn check_cyclic(ours: &[u8], captured: &[u8], last: &mut Option<u16>) {
    let masked = |frame: &[u8]| {
        let mut frame = frame.to_vec();
        frame[20 + 3] = 0;
        frame[20 + 5..20 + 13].fill(0);
        let end = frame.len();
        frame[end - 4..end - 2].fill(0);
        frame
    };
    assert_eq!(masked(ours), masked(captured));
    let cycle = u16::from_be_bytes([ours[ours.len() - 4], ours[ours.len() - 3]]);
    if let Some(last) = last.replace(cycle) {
        let step = cycle.wrapping_sub(last);
        assert!(step == 256 || step == 32, "{last} {cycle}");
    }
}

#[test]
fn a_whole_life_at_8_ms_is_as_captured() {
    let (rig, same) = replay("pn-rt1-8ms-connect-write-read-alarm-release", Some(8_100 * MS));
    // Connect, PrmEnd, ApplicationReady, two writes, four reads, release; the alarm, its acknowledgement, the error.
    assert_eq!(same[..2], [10, 3]);
    assert!(same[2] > 400, "{same:?}");
    assert_eq!(rig.handle.record((1, 1), 123).unwrap().len(), 4);
    assert_eq!(rig.counter("alarms answered"), 1);
    assert_eq!(rig.counter("connections released"), 1);
    let told: Vec<_> = rig.told.iter().map(|(_, line)| line.as_str()).collect();
    assert_eq!(
        told,
        [
            "controller \"tp\" (02:b3:d6:e2:b0:03) is connected, cycle 8000 us",
            "controller \"tp\" is disconnected: released by the controller (CF 81 FD 0F)"
        ]
    );
}

#[test]
fn a_start_at_1_ms_is_as_captured() {
    let (rig, same) = replay("pn-rt1-1ms-cyclic", None);
    assert_eq!(same[..2], [3, 0]);
    assert!(same[2] > 250, "{same:?}");
    assert_eq!(rig.counter("connections aborted"), 0);
}
