// SPDX-License-Identifier: Apache-2.0
//! Frames of open-loop sources.

use std::net::Ipv4Addr;

use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    ArpOperation, ArpPacket, ArpRepr, EthernetAddress, EthernetFrame, EthernetProtocol, EthernetRepr, Icmpv4Packet,
    Icmpv4Repr, IpProtocol, Ipv4Packet, Ipv4Repr, TcpControl, TcpPacket, TcpRepr, TcpSeqNumber, UdpPacket, UdpRepr,
};

use super::address::mac_of;

const ETHERNET_HEADER_BYTES: usize = 14;
const IPV4_HEADER_BYTES: usize = 20;
const UDP_HEADER_BYTES: usize = 8;
const HOP_LIMIT: u8 = 64;
const SYN_MSS_BYTES: u16 = 1460;
const SYN_WINDOW_BYTES: u16 = 64_240;

/// Largest payload of one unfragmented UDP datagram, and largest data of one echo request.
pub const MAX_UDP_PAYLOAD_BYTES: u32 = 1472;

/// Sender and receiver of a frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Path {
    pub(crate) from: Ipv4Addr,
    pub(crate) to: Ipv4Addr,
    pub(crate) to_mac: [u8; 6],
    pub(crate) dscp: u8,
}

/// A big-endian sequence number, then the bytes 4, 5, 6 and so on; cut to `bytes`.
pub(super) fn payload(sequence: u32, bytes: u32) -> Vec<u8> {
    let pattern = (4..bytes.max(4)).map(|i| i as u8);
    let mut payload: Vec<u8> = sequence.to_be_bytes().into_iter().chain(pattern).collect();
    payload.truncate(bytes as usize);
    payload
}

/// A UDP datagram.
pub(crate) fn udp(path: Path, ident: u16, src_port: u16, dst_port: u16, payload: &[u8]) -> Vec<u8> {
    let repr = UdpRepr { src_port, dst_port };
    ipv4(path, ident, IpProtocol::Udp, UDP_HEADER_BYTES + payload.len(), |body| {
        let mut packet = UdpPacket::new_unchecked(body);
        let (src, dst) = (path.from.into(), path.to.into());
        let fill = |buffer: &mut [u8]| buffer.copy_from_slice(payload);
        repr.emit(&mut packet, &src, &dst, payload.len(), fill, &ChecksumCapabilities::default());
    })
}

/// The same datagram as the first of several fragments.
pub(super) fn first_fragment(mut datagram: Vec<u8>) -> Vec<u8> {
    let mut packet = Ipv4Packet::new_unchecked(&mut datagram[ETHERNET_HEADER_BYTES..]);
    packet.set_more_frags(true);
    packet.fill_checksum();
    datagram
}

/// A TCP SYN.
pub(super) fn tcp_syn(path: Path, ident: u16, src_port: u16, dst_port: u16, sequence: u32) -> Vec<u8> {
    let repr = TcpRepr {
        src_port,
        dst_port,
        control: TcpControl::Syn,
        // The wrap into i32 keeps the bits, which is all that a sequence number is.
        seq_number: TcpSeqNumber(sequence as i32),
        ack_number: None,
        window_len: SYN_WINDOW_BYTES,
        window_scale: None,
        max_seg_size: Some(SYN_MSS_BYTES),
        sack_permitted: false,
        sack_ranges: [None, None, None],
        timestamp: None,
        payload: &[],
    };
    ipv4(path, ident, IpProtocol::Tcp, repr.buffer_len(), |body| {
        let mut packet = TcpPacket::new_unchecked(body);
        repr.emit(&mut packet, &path.from.into(), &path.to.into(), &ChecksumCapabilities::default());
    })
}

/// An ICMP echo request.
pub(super) fn echo_request(path: Path, ip_ident: u16, ident: u16, seq_no: u16, data: &[u8]) -> Vec<u8> {
    let repr = Icmpv4Repr::EchoRequest { ident, seq_no, data };
    ipv4(path, ip_ident, IpProtocol::Icmp, repr.buffer_len(), |body| {
        repr.emit(&mut Icmpv4Packet::new_unchecked(body), &ChecksumCapabilities::default());
    })
}

/// A broadcast ARP request.
pub(super) fn arp_request(from: Ipv4Addr, target: Ipv4Addr) -> Vec<u8> {
    let repr = ArpRepr::EthernetIpv4 {
        operation: ArpOperation::Request,
        source_hardware_addr: EthernetAddress(mac_of(from)),
        source_protocol_addr: from,
        target_hardware_addr: EthernetAddress([0; 6]),
        target_protocol_addr: target,
    };
    arp(EthernetAddress::BROADCAST, EthernetAddress(mac_of(from)), &repr)
}

/// Any ARP frame.
pub(crate) fn arp(dst_addr: EthernetAddress, src_addr: EthernetAddress, repr: &ArpRepr) -> Vec<u8> {
    let mut bytes = ethernet(dst_addr, src_addr, EthernetProtocol::Arp, repr.buffer_len());
    repr.emit(&mut ArpPacket::new_unchecked(&mut bytes[ETHERNET_HEADER_BYTES..]));
    bytes
}

fn ethernet(
    dst_addr: EthernetAddress,
    src_addr: EthernetAddress,
    ethertype: EthernetProtocol,
    bytes: usize,
) -> Vec<u8> {
    let repr = EthernetRepr { src_addr, dst_addr, ethertype };
    let mut frame = vec![0; ETHERNET_HEADER_BYTES + bytes];
    repr.emit(&mut EthernetFrame::new_unchecked(&mut frame));
    frame
}

fn ipv4(path: Path, ident: u16, next_header: IpProtocol, bytes: usize, fill: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let (dst, src) = (EthernetAddress(path.to_mac), EthernetAddress(mac_of(path.from)));
    let mut frame = ethernet(dst, src, EthernetProtocol::Ipv4, IPV4_HEADER_BYTES + bytes);
    let repr =
        Ipv4Repr { src_addr: path.from, dst_addr: path.to, next_header, payload_len: bytes, hop_limit: HOP_LIMIT };
    let mut packet = Ipv4Packet::new_unchecked(&mut frame[ETHERNET_HEADER_BYTES..]);
    repr.emit(&mut packet, &ChecksumCapabilities::ignored());
    // smoltcp always writes identification 0 and no differentiated service.
    packet.set_ident(ident);
    packet.set_dscp(path.dscp);
    packet.fill_checksum();
    fill(packet.payload_mut());
    frame
}
