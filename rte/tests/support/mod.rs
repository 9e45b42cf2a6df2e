// SPDX-License-Identifier: Apache-2.0
//! Captures of other makers' devices, to compare with.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::Path;

use pcap_file::pcap::PcapReader;

/// The Ethernet frames of a capture, each with its time in ns since the first.
pub fn frames(name: &str) -> Vec<(u64, Vec<u8>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures").join(name).with_extension("pcap");
    let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut reader = PcapReader::new(file).expect("a capture");
    let packets = std::iter::from_fn(|| {
        reader.next_packet().map(|packet| {
            let packet = packet.expect("a complete packet");
            (packet.timestamp.as_nanos() as u64, packet.data.into_owned())
        })
    });
    let packets: Vec<_> = packets.collect();
    let first = packets[0].0;
    packets.into_iter().map(|(at, frame)| (at - first, frame)).collect()
}

/// The UDP datagram in a frame, if there is one: from whom, to whom, payload.
pub fn datagram(frame: &[u8]) -> Option<(SocketAddrV4, SocketAddrV4, &[u8])> {
    let ip = frame.get(14..)?;
    if frame[12..14] != [0x08, 0x00] || *ip.get(9)? != 17 {
        return None;
    }
    let udp = ip.get(usize::from(ip[0] & 0xf) * 4..)?;
    let word = |bytes: &[u8], at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    let address = |at: usize| Ipv4Addr::new(ip[at], ip[at + 1], ip[at + 2], ip[at + 3]);
    let payload = udp.get(8..usize::from(word(udp, 4)))?;
    Some((SocketAddrV4::new(address(12), word(udp, 0)), SocketAddrV4::new(address(16), word(udp, 2)), payload))
}
