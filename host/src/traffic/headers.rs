// SPDX-License-Identifier: Apache-2.0
//! Looks into frames of any content: where the headers are, as far as they are there.

use std::net::Ipv4Addr;

use smoltcp::wire::{EthernetAddress, EthernetFrame, IPV4_HEADER_LEN, IpProtocol, Ipv4Packet};

const ETHERNET_HEADER_BYTES: usize = 14;
const VLAN_TAG_BYTES: usize = 4;
const MAX_VLAN_TAGS: usize = 2;
const VLAN: u16 = 0x8100;
const SERVICE_VLAN: u16 = 0x88A8;
const IPV4: u16 = 0x0800;
const ARP: u16 = 0x0806;

/// What follows the Ethernet header and up to two VLAN tags, and where it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Network {
    /// An IPv4 header of which at least the fixed part is there.
    Ipv4(usize),
    /// ARP.
    Arp(usize),
    /// Anything else.
    Other,
}

/// VLAN tags at the front of a frame, two at most.
pub(super) fn vlan_tags(frame: &[u8]) -> usize {
    (0..MAX_VLAN_TAGS)
        .take_while(|tag| {
            let at = ETHERNET_HEADER_BYTES - 2 + tag * VLAN_TAG_BYTES;
            matches!(read_u16(frame, at), Some(VLAN | SERVICE_VLAN))
        })
        .count()
}

/// Finds the network header.
pub(super) fn network(frame: &[u8]) -> Network {
    let start = ETHERNET_HEADER_BYTES + vlan_tags(frame) * VLAN_TAG_BYTES;
    match read_u16(frame, start - 2) {
        Some(IPV4) if frame.len() >= start + IPV4_HEADER_LEN && frame[start] >> 4 == 4 => Network::Ipv4(start),
        Some(ARP) => Network::Arp(start),
        _ => Network::Other,
    }
}

/// Destination MAC address, zeros where the frame is too short for one.
pub(super) fn dst_mac(frame: &[u8]) -> EthernetAddress {
    EthernetFrame::new_checked(frame).map_or(EthernetAddress([0; 6]), |f| f.dst_addr())
}

/// Source MAC address, zeros where the frame is too short for one.
pub(super) fn src_mac(frame: &[u8]) -> EthernetAddress {
    EthernetFrame::new_checked(frame).map_or(EthernetAddress([0; 6]), |f| f.src_addr())
}

/// The parts of an IPv4 header that decide where a packet goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ipv4Header {
    pub(super) src: Ipv4Addr,
    pub(super) dst: Ipv4Addr,
    pub(super) protocol: IpProtocol,
    /// One of several fragments, or the first of them.
    pub(super) fragment: bool,
    /// Where the transport header begins in the frame; `None` for a later fragment or a header length that
    /// does not fit.
    pub(super) transport: Option<usize>,
}

/// Reads the IPv4 header at `start`, which [`network`] found.
pub(super) fn ipv4_header(frame: &[u8], start: usize) -> Ipv4Header {
    let packet = Ipv4Packet::new_unchecked(&frame[start..]);
    let header_bytes = usize::from(packet.header_len());
    let fits = header_bytes >= IPV4_HEADER_LEN && start + header_bytes <= frame.len();
    Ipv4Header {
        src: packet.src_addr(),
        dst: packet.dst_addr(),
        protocol: packet.next_header(),
        fragment: packet.more_frags() || packet.frag_offset() != 0,
        transport: (fits && packet.frag_offset() == 0).then_some(start + header_bytes),
    }
}

/// A big-endian number in the frame.
pub(super) fn read_u16(frame: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(frame.get(at..at + 2)?.try_into().ok()?))
}

/// An IPv4 address in the frame.
pub(super) fn read_address(frame: &[u8], at: usize) -> Option<Ipv4Addr> {
    let octets: [u8; 4] = frame.get(at..at + 4)?.try_into().ok()?;
    Some(Ipv4Addr::from(octets))
}
