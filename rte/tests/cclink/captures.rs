// SPDX-License-Identifier: Apache-2.0
//! The UDP datagrams of captures.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::Path;
use std::time::Duration;

use pcap_file::pcap::PcapReader;
use weir_io::protocol::Mac;
use weir_io::protocol::cclink::{CYCLIC_PORT, SLMP_PORT};

/// What is in a capture of CC-Link.
#[derive(Clone, Debug)]
pub struct Datagram {
    /// Since the first packet.
    pub at: Duration,
    pub source: Mac,
    pub from: SocketAddrV4,
    pub to: SocketAddrV4,
    pub payload: Vec<u8>,
}

impl Datagram {
    pub fn is_cyclic(&self) -> bool {
        self.to.port() == CYCLIC_PORT || self.from.port() == CYCLIC_PORT
    }
}

/// All captures with CC-Link in them, and how many of its datagrams each has (as `tshark -r FILE -Y "udp.port in
/// {61450..61451}" | wc -l` says).
pub const ALL: [(&str, usize); 9] = [
    ("cciefb-v1-ti-ti-2occupied", 150),
    ("cciefb-v1slave-ti-nodesearch", 16),
    ("cciefb-v1slave-ti-v2master-rtlabs", 120),
    ("cciefb-v2-1slave-lifecycle", 392),
    ("cciefb-v2-master-duplication", 17),
    ("cciefb-v2-slmp-seterror-masterstate", 75),
    ("cciefb-v2-slmp-setip-ok", 22),
    ("cciefb-v2-wrong-occupied", 4),
    ("dual-pn-1ms-and-cciefb", 419),
];

/// The datagrams of CC-Link in a capture, in the order in which they were seen.
pub fn read(name: &str) -> Vec<Datagram> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures").join(name).with_extension("pcap");
    let mut reader = PcapReader::new(File::open(&path).unwrap()).unwrap();
    let mut start = None;
    let mut datagrams = Vec::new();
    while let Some(packet) = reader.next_packet() {
        let packet = packet.unwrap();
        let at = packet.timestamp - *start.get_or_insert(packet.timestamp);
        datagrams.extend(datagram(at, &packet.data).filter(|datagram| {
            let ports = [datagram.from.port(), datagram.to.port()];
            ports.contains(&CYCLIC_PORT) || ports.contains(&SLMP_PORT)
        }));
    }
    datagrams
}

fn datagram(at: Duration, frame: &[u8]) -> Option<Datagram> {
    let source = Mac(frame.get(6..12)?.try_into().ok()?);
    let (ethertype, packet) = (frame.get(12..14)?, frame.get(14..)?);
    if ethertype != [0x08, 0x00] || packet.len() < 20 || packet[9] != 17 {
        return None;
    }
    let ip = |at: usize| Ipv4Addr::new(packet[at], packet[at + 1], packet[at + 2], packet[at + 3]);
    let udp = packet.get(usize::from(packet[0] & 0xF) * 4..)?;
    let word = |at: usize| u16::from_be_bytes([udp[at], udp[at + 1]]);
    Some(Datagram {
        at,
        source,
        from: SocketAddrV4::new(ip(12), word(0)),
        to: SocketAddrV4::new(ip(16), word(2)),
        payload: udp.get(8..usize::from(word(4)))?.to_vec(),
    })
}
