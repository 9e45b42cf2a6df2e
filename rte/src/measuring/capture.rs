// SPDX-License-Identifier: Apache-2.0
//! Frames of a capture, from a file or from a program that captures.

use std::io::{BufRead, BufReader, Read};

use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::{Block, PcapNgReader};
use pcap_file::{DataLink, PcapError};

/// First word of pcapng, the same in either byte order.
const SECTION_HEADER: [u8; 4] = [0x0A, 0x0D, 0x0D, 0x0A];

/// Calls `each` with the time, in nanoseconds since 1970, and the bytes of every frame.
///
/// # Errors
/// One line that says what is wrong with the capture. A capture that ends within a frame, as that of a program that was
/// killed, is none.
pub fn frames(from: impl Read, mut each: impl FnMut(u64, &[u8])) -> Result<(), String> {
    let mut from = BufReader::new(from);
    let head = from.fill_buf().map_err(|error| error.to_string())?;
    if head.starts_with(&SECTION_HEADER) { next_generation(from, &mut each) } else { classic(from, &mut each) }
}

fn classic(from: impl Read, each: &mut impl FnMut(u64, &[u8])) -> Result<(), String> {
    let mut reader = PcapReader::new(from).map_err(|_| "is no capture: pcap and pcapng can be read".to_owned())?;
    check(reader.header().datalink)?;
    while let Some(packet) = reader.next_packet() {
        match packet {
            Ok(packet) => each(packet.timestamp.as_nanos() as u64, &packet.data),
            Err(PcapError::IncompleteBuffer | PcapError::IoError(_)) => return Ok(()),
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(())
}

fn next_generation(from: impl Read, each: &mut impl FnMut(u64, &[u8])) -> Result<(), String> {
    let mut reader = PcapNgReader::new(from).map_err(|error| error.to_string())?;
    while let Some(block) = reader.next_block() {
        match block {
            Ok(Block::InterfaceDescription(interface)) => check(interface.linktype)?,
            Ok(Block::EnhancedPacket(packet)) => each(packet.timestamp.as_nanos() as u64, &packet.data),
            Ok(_) => {}
            Err(PcapError::IncompleteBuffer | PcapError::IoError(_)) => return Ok(()),
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(())
}

fn check(link: DataLink) -> Result<(), String> {
    if link == DataLink::ETHERNET { Ok(()) } else { Err(format!("was made on {link:?}: only Ethernet can be read")) }
}
