// SPDX-License-Identifier: Apache-2.0
//! What is odd about a capture, but no reason to refuse it.

use smoltcp::wire::{IpAddress, IpProtocol, Ipv4Packet, TcpPacket, UdpPacket};

use super::headers::{self, Network};
use super::link::MIN_FRAME_BYTES;

/// Notes on frames in the order of the file.
pub(super) fn notes(frames: &[(i128, Vec<u8>)]) -> Vec<String> {
    let backwards = frames.windows(2).filter(|pair| pair[1].0 < pair[0].0).count();
    let short = frames.iter().filter(|(_, frame)| frame.len() < MIN_FRAME_BYTES).count();
    let count = |kind: Oddity| frames.iter().filter(|(_, frame)| oddity(frame) == Some(kind)).count();
    let broken = count(Oddity::Length);
    let wrong = count(Oddity::Checksum);
    let mut notes = Vec::new();
    if backwards > 0 {
        notes.push(format!("{backwards} time stamps go backwards; frames are sorted by time"));
    }
    if short > 0 {
        notes.push(format!("{short} frames are shorter than {MIN_FRAME_BYTES} bytes and padded on the wire"));
    }
    if broken > 0 {
        notes.push(format!("{broken} frames have length fields that do not fit; they are kept as they are"));
    }
    if wrong > 0 {
        notes.push(format!(
            "{wrong} frames have wrong checksums and are kept as they are; if the machine that recorded them sent \
             them, its network card had still to fill them in (ethtool -K IF tx off)"
        ));
    }
    notes
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Oddity {
    /// A length field contradicts the frame.
    Length,
    /// A checksum is wrong.
    Checksum,
}

fn oddity(frame: &[u8]) -> Option<Oddity> {
    let Network::Ipv4(start) = headers::network(frame) else {
        return None;
    };
    let Ok(packet) = Ipv4Packet::new_checked(&frame[start..]) else {
        return Some(Oddity::Length);
    };
    if !packet.verify_checksum() {
        return Some(Oddity::Checksum);
    }
    if packet.frag_offset() != 0 || packet.more_frags() {
        return None;
    }
    let (src, dst) = (packet.src_addr().into(), packet.dst_addr().into());
    transport_oddity(packet.next_header(), packet.payload(), &src, &dst)
}

fn transport_oddity(protocol: IpProtocol, payload: &[u8], src: &IpAddress, dst: &IpAddress) -> Option<Oddity> {
    let right = match protocol {
        IpProtocol::Udp => UdpPacket::new_checked(payload).map(|udp| udp.verify_checksum(src, dst)),
        IpProtocol::Tcp => TcpPacket::new_checked(payload).map(|tcp| tcp.verify_checksum(src, dst)),
        _ => return None,
    };
    match right {
        Ok(true) => None,
        Ok(false) => Some(Oddity::Checksum),
        Err(_) => Some(Oddity::Length),
    }
}
