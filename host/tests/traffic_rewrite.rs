// SPDX-License-Identifier: Apache-2.0
//! The device in the place of a capture's server.
#![allow(missing_docs)]

mod traffic_common;

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::path::Path;

use proptest::prelude::*;
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    ArpOperation, ArpPacket, ArpRepr, EthernetAddress, EthernetFrame, EthernetProtocol, EthernetRepr, IpProtocol,
    Ipv4Packet, Ipv4Repr, TcpPacket, UdpPacket, UdpRepr,
};
use traffic_common::*;
use weir::scenario::{CaptureTcp, Pattern, Scenario, Target};
use weir::traffic::{Capture, Subnet, Wire, WireFrame, mac_of, rewrite_to_device};

const SERVER: Ipv4Addr = Ipv4Addr::new(172, 16, 0, 1);

fn client(n: u8) -> Ipv4Addr {
    Ipv4Addr::new(172, 16, 0, 100 + n)
}

fn ethernet(src: Ipv4Addr, dst_mac: [u8; 6], ethertype: EthernetProtocol, body: usize) -> Vec<u8> {
    let mut bytes = vec![0; 14 + body];
    let [.., a, b] = src.octets();
    let src_addr = EthernetAddress([0, 0x1B, 0x1B, 0, a, b]);
    let repr = EthernetRepr { src_addr, dst_addr: EthernetAddress(dst_mac), ethertype };
    repr.emit(&mut EthernetFrame::new_unchecked(&mut bytes));
    bytes
}

fn captured_mac(address: Ipv4Addr) -> [u8; 6] {
    let [.., a, b] = address.octets();
    [0, 0x1B, 0x1B, 0, a, b]
}

fn udp_frame(src: Ipv4Addr, dst: Ipv4Addr, dst_mac: [u8; 6], port: u16) -> Vec<u8> {
    let caps = ChecksumCapabilities::default();
    let mut bytes = ethernet(src, dst_mac, EthernetProtocol::Ipv4, 20 + 8 + 18);
    let repr = Ipv4Repr { src_addr: src, dst_addr: dst, next_header: IpProtocol::Udp, payload_len: 26, hop_limit: 64 };
    let mut packet = Ipv4Packet::new_unchecked(&mut bytes[14..]);
    repr.emit(&mut packet, &caps);
    let udp = UdpRepr { src_port: 1000, dst_port: port };
    let fill = |payload: &mut [u8]| payload.fill(0xA5);
    udp.emit(&mut UdpPacket::new_unchecked(packet.payload_mut()), &src.into(), &dst.into(), 18, fill, &caps);
    bytes
}

fn to_server(n: u8) -> Vec<u8> {
    udp_frame(client(n), SERVER, captured_mac(SERVER), 5005)
}

fn arp_frame(src: Ipv4Addr, target: Ipv4Addr) -> Vec<u8> {
    let repr = ArpRepr::EthernetIpv4 {
        operation: ArpOperation::Request,
        source_hardware_addr: EthernetAddress(captured_mac(src)),
        source_protocol_addr: src,
        target_hardware_addr: EthernetAddress([0; 6]),
        target_protocol_addr: target,
    };
    let mut bytes = ethernet(src, [0xFF; 6], EthernetProtocol::Arp, 28);
    repr.emit(&mut ArpPacket::new_unchecked(&mut bytes[14..]));
    bytes
}

fn addresses(frame: &[u8]) -> (Ipv4Addr, Ipv4Addr) {
    let packet = Ipv4Packet::new_unchecked(&frame[14..]);
    (packet.src_addr(), packet.dst_addr())
}

fn checksums_right(frame: &[u8]) -> bool {
    let packet = Ipv4Packet::new_unchecked(&frame[14..]);
    let (src, dst) = (packet.src_addr().into(), packet.dst_addr().into());
    let transport = match packet.next_header() {
        IpProtocol::Udp => UdpPacket::new_unchecked(packet.payload()).verify_checksum(&src, &dst),
        IpProtocol::Tcp => TcpPacket::new_unchecked(packet.payload()).verify_checksum(&src, &dst),
        _ => true,
    };
    packet.verify_checksum() && transport
}

fn numbered(frames: Vec<Vec<u8>>) -> Vec<(u64, Vec<u8>)> {
    frames.into_iter().enumerate().map(|(at, frame)| (at as u64, frame)).collect()
}

#[test]
fn the_device_takes_the_servers_place() {
    let frames = numbered(vec![
        to_server(1),
        udp_frame(SERVER, client(1), captured_mac(client(1)), 1000),
        to_server(2),
        arp_frame(client(2), SERVER),
        arp_frame(SERVER, client(2)),
        udp_frame(client(1), Ipv4Addr::new(172, 16, 255, 255), [0xFF; 6], 137),
        udp_frame(client(1), Ipv4Addr::BROADCAST, [0xFF; 6], 137),
        udp_frame(client(3), client(1), captured_mac(client(1)), 7),
    ]);
    let rewritten = rewrite_to_device(&frames, DEVICE_MAC, &mut Subnet::new(DEVICE, 24)).expect("room");
    let times: Vec<u64> = rewritten.frames.iter().map(|(time, _)| *time).collect();
    assert_eq!(times, [0, 2, 3, 5, 6, 7], "what the server sent is left out");
    let new = |n: u8| rewritten.senders[&client(n)];
    let all: Vec<_> = rewritten.frames.iter().map(|(_, frame)| frame).collect();
    assert_eq!(addresses(all[0]), (new(1), DEVICE));
    assert_eq!(addresses(all[1]), (new(2), DEVICE));
    assert_eq!(addresses(all[3]), (new(1), Ipv4Addr::new(10, 0, 0, 255)));
    assert_eq!(addresses(all[4]), (new(1), Ipv4Addr::BROADCAST));
    assert_eq!(addresses(all[5]), (new(3), new(1)));
    for (at, sender) in [(0, 1), (1, 2), (3, 1), (4, 1), (5, 3)] {
        assert!(checksums_right(all[at]));
        assert_eq!(EthernetFrame::new_unchecked(all[at]).src_addr().0, mac_of(new(sender)));
    }
    assert_eq!(EthernetFrame::new_unchecked(all[0]).dst_addr().0, DEVICE_MAC);
    assert_eq!(EthernetFrame::new_unchecked(all[5]).dst_addr().0, mac_of(new(1)));
    let arp = ArpRepr::parse(&ArpPacket::new_unchecked(&all[2][14..])).expect("ARP");
    let ArpRepr::EthernetIpv4 { source_hardware_addr, source_protocol_addr, target_protocol_addr, .. } = arp else {
        panic!("ARP for IPv4");
    };
    assert_eq!((source_protocol_addr, target_protocol_addr), (new(2), DEVICE));
    assert_eq!(source_hardware_addr.0, mac_of(new(2)));
    assert!(rewritten.notes[0].contains("172.16.0.1"), "{:?}", rewritten.notes);
}

#[test]
fn senders_in_the_subnet_keep_their_address_and_the_device_keeps_its_own() {
    let (inside, double) = (Ipv4Addr::new(10, 0, 0, 40), DEVICE);
    let frames = numbered(vec![
        udp_frame(client(1), SERVER, captured_mac(SERVER), 1),
        udp_frame(inside, SERVER, captured_mac(SERVER), 1),
        udp_frame(double, SERVER, captured_mac(SERVER), 1),
        udp_frame(Ipv4Addr::new(227, 1, 2, 3), SERVER, captured_mac(SERVER), 1),
    ]);
    let rewritten = rewrite_to_device(&frames, DEVICE_MAC, &mut Subnet::new(DEVICE, 24)).expect("room");
    assert_eq!(rewritten.senders[&inside], inside);
    assert_ne!(rewritten.senders[&double], DEVICE);
    assert_eq!(addresses(&rewritten.frames[3].1).0, Ipv4Addr::new(227, 1, 2, 3), "impossible senders are kept");
    assert!(checksums_right(&rewritten.frames[3].1));
}

#[test]
fn a_subnet_that_is_too_small_is_named_with_one_that_is_not() {
    let frames = numbered((0..20).map(to_server).collect());
    let full = rewrite_to_device(&frames, DEVICE_MAC, &mut Subnet::new(DEVICE, 28)).expect_err("13 places");
    assert_eq!(full.senders, 20);
    assert!(rewrite_to_device(&frames, DEVICE_MAC, &mut Subnet::new(DEVICE, full.prefix)).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rewriting_keeps_right_checksums_right_and_broken_ones_broken(
        clients in proptest::collection::vec((0..100u8, any::<bool>(), any::<bool>(), any::<[u8; 2]>()), 1..40),
        device in any::<[u8; 2]>(),
    ) {
        let device = Ipv4Addr::new(10, 9, device[0], device[1].clamp(1, 254));
        let mut frames = Vec::new();
        for (n, break_ip, break_udp, noise) in &clients {
            let mut frame = to_server(*n);
            frame[42..44].copy_from_slice(noise);
            let mut udp = [frame[40], frame[41]];
            let (src, dst) = addresses(&frame);
            UdpPacket::new_unchecked(&mut frame[34..]).fill_checksum(&src.into(), &dst.into());
            if *break_udp {
                udp = [udp[0] ^ 0x55, udp[1]];
                frame[40..42].copy_from_slice(&udp);
            }
            frame[24] ^= if *break_ip { 0x11 } else { 0 };
            frames.push(frame);
        }
        let frames = numbered(frames);
        let rewritten = rewrite_to_device(&frames, DEVICE_MAC, &mut Subnet::new(device, 16)).expect("room");
        for ((_, old), (_, new)) in frames.iter().zip(&rewritten.frames) {
            prop_assert_eq!(checksums_right(old), checksums_right(new));
            prop_assert_eq!(addresses(new).1, device);
            prop_assert_eq!(&old[42..], &new[42..]);
        }
        let places: BTreeSet<_> = rewritten.senders.values().collect();
        prop_assert_eq!(places.len(), rewritten.senders.len());
        prop_assert!(!places.contains(&device));
    }

    #[test]
    fn any_frames_can_be_rewritten(
        frames in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..80), 1..20),
        kinds in proptest::collection::vec(0..5usize, 20),
    ) {
        let headers: [&[u8]; 5] = [&[8, 0, 0x45], &[8, 6], &[0x81, 0, 0, 1, 8, 0, 0x4F], &[8, 0, 0x41], &[]];
        let frames = frames.into_iter().zip(kinds).map(|(mut frame, kind)| {
            let header = headers[kind];
            if frame.len() >= 12 + header.len() {
                frame[12..12 + header.len()].copy_from_slice(header);
            }
            frame
        });
        let frames = numbered(frames.collect());
        if let Ok(rewritten) = rewrite_to_device(&frames, DEVICE_MAC, &mut Subnet::new(DEVICE, 24)) {
            prop_assert!(rewritten.frames.len() <= frames.len());
        }
        let bytes = pcap(&frames.iter().map(|(at, frame)| (*at, frame.clone())).collect::<Vec<_>>());
        prop_assert_eq!(Capture::parse(&bytes).expect("good").frames.len(), frames.len());
    }
}

fn replay(path: &Path, to: Target, tcp: CaptureTcp, speed: f64) -> Scenario {
    let pattern = Pattern::Pcap { path: path.to_owned(), speed, tcp };
    scenario(vec![listener("plc", traffic_common::tcp(502), None)], vec![traffic("plant", to, pattern)])
}

fn written(frames: &[(u64, Vec<u8>)]) -> (tempfile::TempDir, std::path::PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("plant.pcap");
    std::fs::write(&path, pcap(frames)).expect("written");
    (directory, path)
}

#[test]
fn as_is_plays_every_frame_untouched_at_its_time() {
    let frames: Vec<_> = (0..100).map(|n| (n * 1500, to_server((n % 7) as u8))).collect();
    let (_directory, path) = written(&frames);
    for speed in [1.0, 2.0] {
        let played = frames_of(&replay(&path, Target::AsIs, CaptureTcp::Frames, speed));
        assert_eq!(played.len(), frames.len());
        for (frame, (us, bytes)) in played.iter().zip(&frames) {
            assert_eq!(frame.start_cycle as f64, *us as f64 * 100.0 / speed);
            assert_eq!(frame.bytes, *bytes);
            assert_eq!(frame.flow, weir::traffic::FlowId::Background);
        }
    }
}

#[test]
fn a_capture_longer_than_the_run_is_cut_with_a_note() {
    let frames: Vec<_> = (0..100).map(|n| (n * 10_000, to_server(1))).collect();
    let (_directory, path) = written(&frames);
    let mut wire = Wire::new(&replay(&path, Target::Device, CaptureTcp::Frames, 1.0), DEVICE_MAC).expect("good");
    assert_eq!(all_frames(&mut wire).len(), 22);
    assert!(wire.notes().iter().any(|note| note.contains("22 of 100 frames")), "{:?}", wire.notes());
}

#[test]
fn captured_senders_keep_off_the_addresses_of_the_scenario() {
    let (_directory, path) = written(&[(0, to_server(1)), (1, to_server(2))]);
    let mut scenario = replay(&path, Target::Device, CaptureTcp::Frames, 1.0);
    scenario.tasks.push(listener("command", udp(5005), Some(Ipv4Addr::new(10, 0, 0, 3))));
    let quiet = traffic("quiet", Target::Port(udp(9)), Pattern::Uniform { rate_pps: 0.0 });
    scenario.traffic.push(quiet);
    let sources: Vec<_> = frames_of(&scenario).iter().map(|frame| addresses(&frame.bytes).0).collect();
    assert_eq!(sources, [Ipv4Addr::new(10, 0, 0, 4), Ipv4Addr::new(10, 0, 0, 5)]);
}

#[test]
fn the_reference_syn_flood_is_played_frame_by_frame() {
    let Some(path) = reference_capture("modbus_synflood_1min.pcap") else { return };
    let mut scenario = replay(&path, Target::Device, CaptureTcp::Live, 1.0);
    scenario.duration_ms = 60_000;
    let refused = Wire::new(&scenario, DEVICE_MAC).err().expect("more than a /24").to_string();
    assert!(refused.contains("senders") && refused.contains('/'), "{refused}");
    scenario.device.prefix = 16;
    let mut wire = Wire::new(&scenario, DEVICE_MAC).expect("good");
    // Live clients of a silent device knock for ever.
    let frames = frames_until(&mut wire, 60_020 * 100_000);
    let mut flags: BTreeMap<bool, usize> = BTreeMap::new();
    for frame in &frames {
        *flags.entry(is_syn_to_plc(frame)).or_default() += 1;
    }
    assert!(flags[&true] > 10_000, "{flags:?}");
    assert!(frames.iter().filter(|frame| is_syn_to_plc(frame)).all(|frame| checksums_right(&frame.bytes)));
}

fn is_syn_to_plc(frame: &WireFrame) -> bool {
    let packet = Ipv4Packet::new_unchecked(&frame.bytes[14..]);
    frame.bytes[12..14] == [8, 0]
        && packet.dst_addr() == DEVICE
        && packet.next_header() == IpProtocol::Tcp
        && TcpPacket::new_unchecked(packet.payload()).syn()
}
