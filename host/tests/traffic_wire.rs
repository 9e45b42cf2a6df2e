// SPDX-License-Identifier: Apache-2.0
//! The link: exact times, merging, flows, answers to ARP.
#![allow(missing_docs)]

mod traffic_common;

use proptest::prelude::*;
use smoltcp::wire::{
    ArpOperation, ArpPacket, ArpRepr, EthernetAddress, EthernetFrame, EthernetProtocol, EthernetRepr, Icmpv4Packet,
    IpProtocol, Ipv4Packet, TcpPacket, UdpPacket,
};
use traffic_common::*;
use weir::scenario::{Pattern, Scenario, Target};
use weir::traffic::{FlowId, MIN_FRAME_BYTES, TrafficError, Wire, WireFrame, mac_of};

const UDP_9: fn() -> Target = || Target::Port(udp(9));

fn wire_bytes(frame: &WireFrame) -> u64 {
    8 + frame.bytes.len() as u64 + 4
}

fn assert_no_overlap(frames: &[WireFrame], scenario: &Scenario) {
    let (mhz, mbps) = (u64::from(scenario.device.cpu_mhz), u64::from(scenario.device.link_mbps));
    for (index, frame) in frames.iter().enumerate() {
        assert_eq!(frame.id, index as u64);
        assert!(frame.bytes.len() >= MIN_FRAME_BYTES);
        let exact_ticks = wire_bytes(frame) * 8 * mhz;
        let cycles = frame.end_cycle - frame.start_cycle;
        assert!(cycles * mbps + mbps > exact_ticks && cycles * mbps < exact_ticks + mbps, "{cycles}");
    }
    for pair in frames.windows(2) {
        let gap = (pair[1].start_cycle - pair[0].end_cycle) * mbps + mbps;
        assert!(gap > 96 * mhz, "the gap of 12 bytes is kept");
    }
}

#[test]
fn line_rate_is_148_809_frames_of_64_bytes_per_second_at_100_mbps() {
    let mut scenario = scenario(vec![], vec![traffic("flood", UDP_9(), Pattern::LineRate)]);
    scenario.warmup_ms = 0;
    scenario.duration_ms = 1000;
    let frames = frames_of(&scenario);
    // Frame k starts at k * 672 bit times; the last one begins before the second is over.
    assert_eq!(frames.len(), 148_810);
    assert!(frames.iter().all(|frame| frame.bytes.len() == 60));
    for (k, frame) in frames.iter().enumerate() {
        assert_eq!(frame.start_cycle, k as u64 * 672);
        assert_eq!(frame.end_cycle, k as u64 * 672 + 576);
    }
}

#[test]
fn nothing_drifts_where_a_bit_is_no_whole_number_of_cycles() {
    for (mhz, mbps) in [(25, 1000), (33, 100), (7, 1000), (150, 10), (125, 1000)] {
        let mut scenario = scenario(vec![], vec![traffic("flood", UDP_9(), Pattern::LineRate)]);
        scenario.device.cpu_mhz = mhz;
        scenario.device.link_mbps = mbps;
        let frames = frames_of(&scenario);
        let (mhz, mbps) = (u64::from(mhz), u64::from(mbps));
        for (k, frame) in frames.iter().enumerate() {
            assert_eq!(frame.start_cycle, (k as u64 * 672 * mhz).div_ceil(mbps));
        }
        assert_no_overlap(&frames, &scenario);
    }
}

#[test]
fn line_rate_yields_to_frames_that_are_due() {
    let critical = traffic("critical", Target::Port(udp(5005)), Pattern::Uniform { rate_pps: 500.0 });
    let flood = traffic("flood", UDP_9(), Pattern::LineRate);
    let alone = frames_of(&scenario(vec![listener("t", udp(5005), None)], vec![critical.clone()]));
    let both = frames_of(&scenario(vec![listener("t", udp(5005), None)], vec![critical, flood]));
    let under_flood: Vec<_> = both.iter().filter(|frame| frame.flow == FlowId::Task(0)).collect();
    assert_eq!(alone.len(), 110);
    assert_eq!(under_flood.len(), alone.len());
    for (quiet, loud) in alone.iter().zip(under_flood) {
        let delay = loud.start_cycle - quiet.start_cycle;
        assert!(delay < 672, "waits for one frame of the flood at most, waited {delay}");
    }
}

#[test]
fn two_line_rate_sources_share_the_link() {
    let entries = vec![
        traffic("a", Target::Port(udp(1)), Pattern::LineRate),
        traffic("b", Target::Port(udp(2)), Pattern::LineRate),
    ];
    let tasks = vec![listener("a", udp(1), None), listener("b", udp(2), None)];
    let frames = frames_of(&scenario(tasks, entries));
    let first = frames.iter().filter(|frame| frame.flow == FlowId::Task(0)).count();
    assert_eq!(first, frames.len().div_ceil(2));
}

#[test]
fn asking_in_small_steps_gives_the_same_frames() {
    let entries = || {
        vec![
            traffic("flood", UDP_9(), Pattern::Poisson { rate_pps: 20_000.0 }),
            traffic("critical", Target::Port(udp(5005)), Pattern::Uniform { rate_pps: 500.0 }),
            traffic("arp", Target::Device, Pattern::Arp { rate_pps: 3000.0 }),
        ]
    };
    let at_once = frames_of(&scenario(vec![], entries()));
    let mut wire = Wire::new(&scenario(vec![], entries()), DEVICE_MAC).expect("good");
    let mut stepwise = Vec::new();
    while let Some(due) = wire.next_due() {
        assert_eq!(wire.next_frame(due), None, "nothing starts before it is due");
        while let Some(frame) = wire.next_frame(due + 1) {
            assert_eq!(frame.start_cycle, due);
            stepwise.push(frame);
        }
    }
    assert_eq!(at_once, stepwise);
}

#[test]
fn ties_go_in_the_order_of_the_scenario() {
    let burst = Pattern::Burst { rate_pps: 1000.0, burst_ms: 10.0, every_ms: 20.0 };
    let entries =
        vec![traffic("first", Target::Port(udp(1)), burst.clone()), traffic("second", Target::Port(udp(2)), burst)];
    let tasks = vec![listener("second", udp(2), None), listener("first", udp(1), None)];
    for pair in frames_of(&scenario(tasks, entries)).chunks(2) {
        assert_eq!((pair[0].flow, pair[1].flow), (FlowId::Task(1), FlowId::Task(0)));
    }
}

#[test]
fn headers_and_checksums_are_right() {
    let mut big = traffic("big", UDP_9(), Pattern::Uniform { rate_pps: 1000.0 });
    big.payload_bytes = 1472;
    let entries = vec![
        big,
        traffic("syn", Target::Port(tcp(502)), Pattern::Uniform { rate_pps: 1000.0 }),
        traffic("ping", Target::Device, Pattern::Icmp { rate_pps: 1000.0 }),
        traffic("storm", Target::Broadcast(137), Pattern::Uniform { rate_pps: 1000.0 }),
    ];
    let mut syn_ports = std::collections::BTreeSet::new();
    let mut seen = [0; 4];
    for frame in frames_of(&scenario(vec![], entries)) {
        let ethernet = EthernetFrame::new_checked(&frame.bytes).expect("Ethernet");
        assert_eq!(ethernet.src_addr().0, mac_of(SENDER));
        let ipv4 = Ipv4Packet::new_checked(ethernet.payload()).expect("IPv4");
        assert!(ipv4.verify_checksum());
        let (src, dst) = (ipv4.src_addr().into(), ipv4.dst_addr().into());
        match ipv4.next_header() {
            IpProtocol::Udp => {
                let udp = UdpPacket::new_checked(ipv4.payload()).expect("UDP");
                assert!(udp.verify_checksum(&src, &dst));
                let index = if ethernet.dst_addr().is_broadcast() { 3 } else { 0 };
                let sequence = u32::from_be_bytes(udp.payload()[..4].try_into().expect("four bytes"));
                assert_eq!(sequence, seen[index]);
                seen[index] += 1;
            }
            IpProtocol::Tcp => {
                let tcp = TcpPacket::new_checked(ipv4.payload()).expect("TCP");
                assert!(tcp.verify_checksum(&src, &dst) && tcp.syn() && !tcp.ack());
                syn_ports.insert(tcp.src_port());
                seen[1] += 1;
            }
            _ => {
                assert!(Icmpv4Packet::new_checked(ipv4.payload()).expect("ICMP").verify_checksum());
                seen[2] += 1;
            }
        }
    }
    assert_eq!(seen, [220; 4]);
    assert_eq!(syn_ports.len(), 220, "every SYN from another port");
}

#[test]
fn flows_are_told_by_port_and_sender() {
    let stranger = "10.0.0.3".parse().expect("address");
    let mut other = traffic("stranger", Target::Port(udp(5005)), Pattern::Uniform { rate_pps: 100.0 });
    other.from = stranger;
    let entries = vec![
        traffic("friend", Target::Port(udp(5005)), Pattern::Uniform { rate_pps: 100.0 }),
        other,
        traffic("all", Target::Broadcast(5006), Pattern::Uniform { rate_pps: 100.0 }),
    ];
    let tasks = vec![listener("command", udp(5005), Some(SENDER)), listener("news", udp(5006), None)];
    let frames = frames_of(&scenario(tasks, entries));
    let count = |flow: FlowId| frames.iter().filter(|frame| frame.flow == flow).count();
    assert_eq!(count(FlowId::Task(0)), 22);
    assert_eq!(count(FlowId::Task(1)), 22);
    assert_eq!(count(FlowId::Background), 22);
}

fn arp_request_by_device(target: std::net::Ipv4Addr) -> Vec<u8> {
    let repr = ArpRepr::EthernetIpv4 {
        operation: ArpOperation::Request,
        source_hardware_addr: EthernetAddress(DEVICE_MAC),
        source_protocol_addr: DEVICE,
        target_hardware_addr: EthernetAddress([0; 6]),
        target_protocol_addr: target,
    };
    let mut bytes = vec![0; 60];
    EthernetRepr {
        src_addr: EthernetAddress(DEVICE_MAC),
        dst_addr: EthernetAddress::BROADCAST,
        ethertype: EthernetProtocol::Arp,
    }
    .emit(&mut EthernetFrame::new_unchecked(&mut bytes));
    repr.emit(&mut ArpPacket::new_unchecked(&mut bytes[14..]));
    bytes
}

#[test]
fn senders_answer_arp_after_the_host_delay() {
    let entries = vec![traffic("quiet", UDP_9(), Pattern::Uniform { rate_pps: 0.0 })];
    let mut wire = Wire::new(&scenario(vec![], entries), DEVICE_MAC).expect("good");
    assert_eq!(wire.next_due(), None);
    wire.receive(5000, &arp_request_by_device("10.0.0.77".parse().expect("address")));
    assert_eq!(wire.next_due(), None, "nobody has this address");
    wire.receive(6000, &arp_request_by_device(SENDER));
    assert_eq!(wire.next_due(), Some(7000));
    let answer = wire.next_frame(END).expect("an answer");
    let ethernet = EthernetFrame::new_checked(&answer.bytes).expect("Ethernet");
    assert_eq!(ethernet.dst_addr().0, DEVICE_MAC);
    let arp = ArpRepr::parse(&ArpPacket::new_checked(ethernet.payload()).expect("ARP")).expect("ARP");
    let ArpRepr::EthernetIpv4 { source_hardware_addr, source_protocol_addr, operation, .. } = arp else {
        panic!("ARP for IPv4");
    };
    assert_eq!(operation, ArpOperation::Reply);
    assert_eq!((source_hardware_addr.0, source_protocol_addr), (mac_of(SENDER), SENDER));
}

#[test]
fn impossible_entries_are_refused_by_name() {
    let refused = |change: fn(&mut Scenario)| {
        let mut scenario = scenario(vec![], vec![traffic("x", UDP_9(), Pattern::Uniform { rate_pps: 1.0 })]);
        change(&mut scenario);
        let error = Wire::new(&scenario, DEVICE_MAC).err().expect("refused");
        if !matches!(error, TrafficError::Device { .. }) {
            assert!(error.to_string().starts_with("traffic \"x\": "), "{error}");
        }
        error.to_string()
    };
    assert!(refused(|s| s.traffic[0].from = DEVICE).contains("device's own"));
    assert!(refused(|s| s.traffic[0].payload_bytes = 1473).contains("1472"));
    assert!(refused(|s| s.traffic[0].to = Target::Device).contains("udp/PORT"));
    assert!(refused(|s| s.traffic[0].pattern = Pattern::Uniform { rate_pps: f64::NAN }).contains("rate_pps"));
    assert!(refused(|s| s.traffic[0].pattern = Pattern::Modbus { rate_pps: 1.0, registers: 0 }).contains("125"));
    assert!(refused(|s| s.device.link_mbps = 99).contains("10, 100 or 1000"));
}

fn any_pattern() -> impl Strategy<Value = Pattern> {
    let rate = 0.0..30_000.0f64;
    prop_oneof![
        rate.clone().prop_map(|rate_pps| Pattern::Uniform { rate_pps }),
        rate.clone().prop_map(|rate_pps| Pattern::Poisson { rate_pps }),
        (rate.clone(), 1.0..20.0f64, 1.0..50.0f64).prop_map(|(rate_pps, burst_ms, every_ms)| Pattern::Burst {
            rate_pps,
            burst_ms,
            every_ms
        }),
        (rate, 1..20u32).prop_map(|(rate_pps, steps)| Pattern::Pyramid { rate_pps, steps }),
        Just(Pattern::LineRate),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn frames_never_overlap_and_stay_within_the_run(
        patterns in proptest::collection::vec((any_pattern(), 0..1473u32, 0.0..30.0f64), 1..5),
        mhz in 1..400u32,
        mbps in prop_oneof![Just(10u32), Just(100), Just(1000)],
        seed in any::<u64>(),
    ) {
        let entries = patterns.into_iter().enumerate().map(|(index, (pattern, payload_bytes, start_ms))| {
            let mut entry = traffic(&format!("t{index}"), UDP_9(), pattern);
            entry.payload_bytes = payload_bytes;
            entry.start_ms = start_ms;
            entry
        });
        let mut scenario = scenario(vec![], entries.collect());
        scenario.seed = seed;
        scenario.duration_ms = 30;
        scenario.warmup_ms = 10;
        scenario.device.cpu_mhz = mhz;
        scenario.device.link_mbps = mbps;
        let mut wire = Wire::new(&scenario, DEVICE_MAC).expect("good");
        let end = 40_000 * u64::from(mhz);
        let frames: Vec<_> = std::iter::from_fn(|| wire.next_frame(end)).collect();
        assert_no_overlap(&frames, &scenario);
        prop_assert!(frames.iter().all(|frame| frame.start_cycle < end));
    }
}
