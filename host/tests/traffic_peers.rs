// SPDX-License-Identifier: Apache-2.0
//! Closed-loop peers against a device that answers.
#![allow(missing_docs)]

mod traffic_common;

use std::net::Ipv4Addr;

use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    EthernetAddress, EthernetFrame, EthernetProtocol, EthernetRepr, IpProtocol, Ipv4Packet, Ipv4Repr, TcpControl,
    TcpPacket, TcpRepr, TcpSeqNumber,
};
use traffic_common::device::{ECHO_PORT, FakeDevice, MODBUS_PORT, Manner, run};
use traffic_common::*;
use weir::scenario::{CaptureTcp, Pattern, Scenario, Target};
use weir::traffic::{FlowId, HOST_DELAY_US, PeerStats, Wire, WireFrame};

const CYCLES_PER_MS: u64 = 100_000;

fn modbus(registers: u16) -> Scenario {
    let pattern = Pattern::Modbus { rate_pps: 100.0, registers };
    let master = traffic("scada", Target::Port(tcp(MODBUS_PORT)), pattern);
    scenario(vec![listener("plc", tcp(MODBUS_PORT), None)], vec![master])
}

fn play(scenario: &Scenario, device: &mut FakeDevice) -> (Vec<WireFrame>, PeerStats) {
    let mut wire = Wire::new(scenario, DEVICE_MAC).expect("good");
    let end = u64::from(scenario.warmup_ms + scenario.duration_ms) * CYCLES_PER_MS;
    let frames = run(&mut wire, device, end);
    let mut stats = wire.peer_stats();
    assert_eq!(stats.len(), 1);
    (frames, stats.remove(0))
}

#[test]
fn the_master_reads_registers_at_its_rate() {
    for registers in [1, 10, 125] {
        let mut device = FakeDevice::new(Manner::Right);
        let (frames, stats) = play(&modbus(registers), &mut device);
        assert_eq!((stats.connections, device.accepted), (1, 1));
        assert!((21..=22).contains(&stats.sent), "{stats:?}");
        assert!(stats.sent - stats.answered <= 1);
        assert_eq!((stats.failed, stats.exceptions), (0, 0));
        assert_eq!(stats.round_trip_cycles.len() as u64, stats.answered);
        for cycles in &stats.round_trip_cycles {
            // Two frames of some 10 us, 20 us in the device, 10 us in the host.
            assert!((2000 + HOST_DELAY_US * 100..10_000).contains(cycles), "{cycles}");
        }
        assert!(frames.iter().any(|frame| frame.flow == FlowId::Task(0)));
    }
}

#[test]
fn the_master_tells_exceptions_from_errors() {
    let (_, stats) = play(&modbus(2), &mut FakeDevice::new(Manner::Exception));
    assert!(stats.exceptions > 20 && stats.exceptions == stats.answered && stats.failed == 0, "{stats:?}");
    let (_, stats) = play(&modbus(2), &mut FakeDevice::new(Manner::WrongTransaction));
    assert!(stats.answered == 0 && stats.failed > 5 && stats.connections >= stats.failed, "{stats:?}");
}

#[test]
fn the_master_connects_again_after_a_close_and_after_a_timeout() {
    let mut device = FakeDevice::new(Manner::Close);
    let (_, stats) = play(&modbus(2), &mut device);
    assert!(stats.connections > 5 && stats.failed >= stats.connections - 1, "{stats:?}");
    let mut scenario = modbus(2);
    scenario.duration_ms = 2500;
    let mut device = FakeDevice::new(Manner::Silent);
    let (_, stats) = play(&scenario, &mut device);
    assert_eq!((stats.sent, stats.failed, stats.connections, stats.answered), (3, 2, 3, 0));
}

#[test]
fn the_master_tries_again_where_nobody_listens() {
    let mut scenario = modbus(2);
    scenario.traffic[0].to = Target::Port(tcp(503));
    let (_, stats) = play(&scenario, &mut FakeDevice::new(Manner::Right));
    assert!(stats.failed > 10 && stats.sent == 0, "{stats:?}");
}

#[test]
fn the_client_counts_answers_and_timeouts() {
    let pattern = Pattern::Request { rate_pps: 500.0, timeout_ms: 5.0 };
    let client = traffic("client", Target::Port(udp(ECHO_PORT)), pattern);
    let scenario = scenario(vec![listener("echo", udp(ECHO_PORT), None)], vec![client]);
    let (_, stats) = play(&scenario, &mut FakeDevice::new(Manner::Right));
    assert!((109..=110).contains(&stats.sent) && stats.failed == 0, "{stats:?}");
    assert!(stats.sent - stats.answered <= 1);
    let mut device = FakeDevice::new(Manner::Right);
    device.lose_every = 4;
    let (_, stats) = play(&scenario, &mut device);
    assert!(stats.failed > 10 && stats.answered > 2 * stats.failed, "{stats:?}");
}

#[test]
fn answers_after_the_timeout_are_not_taken_for_the_next_ones() {
    // Shorter than the way there and back.
    let pattern = Pattern::Request { rate_pps: 500.0, timeout_ms: 0.02 };
    let client = traffic("client", Target::Port(udp(ECHO_PORT)), pattern);
    let scenario = scenario(vec![listener("echo", udp(ECHO_PORT), None)], vec![client]);
    let (_, stats) = play(&scenario, &mut FakeDevice::new(Manner::Right));
    assert!(stats.sent > 100 && stats.answered == 0 && stats.sent - stats.failed <= 1, "{stats:?}");
}

#[test]
fn two_programs_share_a_host_and_runs_are_equal() {
    let mut scenario = modbus(10);
    let pattern = Pattern::Request { rate_pps: 500.0, timeout_ms: 5.0 };
    scenario.traffic.push(traffic("client", Target::Port(udp(ECHO_PORT)), pattern));
    scenario.traffic.push(traffic("flood", Target::Port(udp(9)), Pattern::LineRate));
    let once = || {
        let mut wire = Wire::new(&scenario, DEVICE_MAC).expect("good");
        let frames = run(&mut wire, &mut FakeDevice::new(Manner::Right), 50 * CYCLES_PER_MS);
        (frames, wire.peer_stats())
    };
    let (frames, stats) = once();
    assert_eq!((frames, stats.clone()), once());
    assert!(stats.iter().all(|stats| stats.answered > 3 && stats.failed == 0), "{stats:?}");
}

const PLC: Ipv4Addr = Ipv4Addr::new(172, 16, 0, 1);
const CLIENT: Ipv4Addr = Ipv4Addr::new(172, 16, 0, 7);

/// A captured segment of the client; `seq` counts from its SYN.
fn segment(port: u16, seq: u32, control: TcpControl, ack: bool, payload: &[u8]) -> Vec<u8> {
    let caps = ChecksumCapabilities::default();
    let repr = TcpRepr {
        src_port: port,
        dst_port: MODBUS_PORT,
        control,
        seq_number: TcpSeqNumber(0x7FFF_FFF0i32.wrapping_add(seq as i32)),
        ack_number: ack.then_some(TcpSeqNumber(77)),
        window_len: 1000,
        window_scale: None,
        max_seg_size: None,
        sack_permitted: false,
        sack_ranges: [None; 3],
        timestamp: None,
        payload,
    };
    let ip = Ipv4Repr {
        src_addr: CLIENT,
        dst_addr: PLC,
        next_header: IpProtocol::Tcp,
        payload_len: repr.buffer_len(),
        hop_limit: 64,
    };
    let mut bytes = vec![0; 34 + repr.buffer_len()];
    EthernetRepr {
        src_addr: EthernetAddress([2, 1, 1, 1, 1, 7]),
        dst_addr: EthernetAddress([2, 1, 1, 1, 1, 1]),
        ethertype: EthernetProtocol::Ipv4,
    }
    .emit(&mut EthernetFrame::new_unchecked(&mut bytes));
    ip.emit(&mut Ipv4Packet::new_unchecked(&mut bytes[14..]), &caps);
    repr.emit(&mut TcpPacket::new_unchecked(&mut bytes[34..]), &CLIENT.into(), &PLC.into(), &caps);
    bytes
}

fn conversation() -> Vec<(u64, Vec<u8>)> {
    let (none, push) = (TcpControl::None, TcpControl::Psh);
    vec![
        (0, segment(4000, 0, TcpControl::Syn, false, &[])),
        (500, segment(4000, 1, none, true, &[])),
        (10_000, segment(4000, 1, push, true, b"hello ")),
        (10_300, segment(4000, 1, push, true, b"hello ")),
        (20_000, segment(4000, 7, push, true, b"again")),
        (40_000, segment(4000, 12, TcpControl::Fin, true, &[])),
        (41_000, segment(4000, 13, none, true, &[])),
        (50_000, segment(4000, 1000, TcpControl::Syn, false, &[])),
        (60_000, segment(4000, 1001, push, true, b" and reset")),
        (70_000, segment(4000, 1011, TcpControl::Rst, false, &[])),
        (80_000, segment(4001, 0, TcpControl::Syn, false, &[])),
    ]
}

fn captured(frames: &[(u64, Vec<u8>)], tcp_mode: CaptureTcp) -> (tempfile::TempDir, Scenario) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("plant.pcap");
    std::fs::write(&path, pcap(frames)).expect("written");
    let pattern = Pattern::Pcap { path, speed: 1.0, tcp: tcp_mode };
    let tasks = vec![listener("plc", tcp(MODBUS_PORT), None)];
    (directory, scenario(tasks, vec![traffic("plant", Target::Device, pattern)]))
}

#[test]
fn captured_conversations_are_held_anew_at_their_times() {
    let (_directory, scenario) = captured(&conversation(), CaptureTcp::Live);
    let mut device = FakeDevice::new(Manner::Right);
    let (frames, stats) = play(&scenario, &mut device);
    assert_eq!(device.received, b"hello again and reset", "no retransmission of the capture is sent again");
    assert_eq!((stats.connections, stats.sent, stats.failed), (2, 3, 0));
    assert_eq!(device.accepted, 2);
    let carries = |frame: &&WireFrame, text: &[u8]| frame.bytes.windows(text.len()).any(|window| window == text);
    for (text, ms) in [(&b"hello "[..], 10), (b"again", 20), (b" and reset", 60)] {
        let starts: Vec<u64> =
            frames.iter().filter(|frame| carries(frame, text)).map(|frame| frame.start_cycle).collect();
        assert_eq!(starts.len(), 1);
        assert_eq!(starts[0], ms * CYCLES_PER_MS);
    }
    let bare_syn = frames.iter().filter(|frame| frame.bytes[34..36] == 4001u16.to_be_bytes()).count();
    assert!(bare_syn >= 1, "the half-open connection is played as a frame");
}

#[test]
fn conversations_that_the_device_breaks_are_counted() {
    let (_directory, mut scenario) = captured(&conversation(), CaptureTcp::Live);
    // The device has no server behind the port that the scenario names.
    scenario.tasks = vec![listener("plc", tcp(MODBUS_PORT), None)];
    let mut wire = Wire::new(&scenario, DEVICE_MAC).expect("good");
    let mut device = FakeDevice::deaf();
    run(&mut wire, &mut device, 220 * CYCLES_PER_MS);
    let stats = wire.peer_stats().remove(0);
    assert_eq!((stats.connections, stats.answered, stats.failed), (2, 0, 2), "{stats:?}");
}

#[test]
fn with_frames_every_segment_is_played_as_captured() {
    let (_directory, scenario) = captured(&conversation(), CaptureTcp::Frames);
    let frames = frames_of(&scenario);
    assert_eq!(frames.len(), conversation().len());
    assert!(frames.iter().all(|frame| frame.flow == FlowId::Task(0)));
}

#[test]
fn the_reference_captures_are_held_live() {
    for name in ["modbus_clean_1min.pcap", "modbus_queryflood_1min.pcap"] {
        let Some(path) = reference_capture(name) else { continue };
        let pattern = Pattern::Pcap { path, speed: 1.0, tcp: CaptureTcp::Live };
        let tasks = vec![listener("plc", tcp(MODBUS_PORT), None)];
        let mut scenario = scenario(tasks, vec![traffic("plant", Target::Device, pattern)]);
        scenario.duration_ms = 5000;
        let mut device = FakeDevice::new(Manner::Right);
        let (_, stats) = play(&scenario, &mut device);
        println!(
            "{name}: {} connections, {} broken, {} of {} payloads answered",
            stats.connections, stats.failed, stats.answered, stats.sent
        );
        assert!(stats.connections >= 2 && stats.sent > 10 && stats.answered > 10, "{stats:?}");
        assert_eq!(stats.round_trip_cycles.len() as u64, stats.answered);
        assert!(!device.received.is_empty());
    }
}
