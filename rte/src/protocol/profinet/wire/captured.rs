// SPDX-License-Identifier: Apache-2.0
//! Captures of others' stations, for tests.

use std::path::Path;
use std::time::Duration;

use pcap_file::pcap::PcapReader;

/// All frames of a capture in `tests/captures/`, with their times.
pub fn frames(name: &str) -> Vec<(Duration, Vec<u8>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures").join(name).with_extension("pcap");
    let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut reader = PcapReader::new(file).unwrap();
    let mut frames = Vec::new();
    while let Some(packet) = reader.next_packet() {
        let packet = packet.unwrap();
        frames.push((packet.timestamp, packet.data.into_owned()));
    }
    frames
}
