// SPDX-License-Identifier: Apache-2.0
//! Changes addresses under a checksum.
//!
//! The checksum is updated by the difference (RFC 1624, equation 3) and not computed anew: a right one stays
//! right and a broken one stays exactly as broken, also where the data it covers is not all there, as in a
//! first fragment.

use std::net::Ipv4Addr;

use smoltcp::wire::IpProtocol;

use super::headers::Ipv4Header;

const IPV4_CHECKSUM_AT: usize = 10;
const IPV4_SRC_AT: usize = 12;
const IPV4_DST_AT: usize = 16;
const TCP_CHECKSUM_AT: usize = 16;
const UDP_CHECKSUM_AT: usize = 6;

/// Gives the IPv4 packet at `start` other addresses, with its header's and its transport's checksum.
pub(super) fn set_addresses(frame: &mut [u8], start: usize, header: &Ipv4Header, src: Ipv4Addr, dst: Ipv4Addr) {
    let old = [header.src, header.dst];
    let new = [src, dst];
    update(frame, start + IPV4_CHECKSUM_AT, old, new);
    match (header.protocol, header.transport) {
        (IpProtocol::Tcp, Some(at)) => update(frame, at + TCP_CHECKSUM_AT, old, new),
        (IpProtocol::Udp, Some(at)) => update_udp(frame, at + UDP_CHECKSUM_AT, old, new),
        _ => {}
    }
    frame[start + IPV4_SRC_AT..][..4].copy_from_slice(&src.octets());
    frame[start + IPV4_DST_AT..][..4].copy_from_slice(&dst.octets());
}

fn update_udp(frame: &mut [u8], at: usize, old: [Ipv4Addr; 2], new: [Ipv4Addr; 2]) {
    // Zero means that the sender computed none, and is never the value of one.
    if frame.get(at..at + 2) == Some(&[0, 0]) {
        return;
    }
    update(frame, at, old, new);
    if frame.get(at..at + 2) == Some(&[0, 0]) {
        frame[at..at + 2].copy_from_slice(&[0xFF, 0xFF]);
    }
}

fn update(frame: &mut [u8], at: usize, old: [Ipv4Addr; 2], new: [Ipv4Addr; 2]) {
    let Some(field) = frame.get_mut(at..at + 2) else {
        return;
    };
    let checksum = u16::from_be_bytes([field[0], field[1]]);
    let mut sum = u32::from(!checksum);
    sum += words(old).map(|word| u32::from(!word)).sum::<u32>();
    sum += words(new).map(u32::from).sum::<u32>();
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    field.copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

fn words(addresses: [Ipv4Addr; 2]) -> impl Iterator<Item = u16> {
    addresses.into_iter().flat_map(|address| {
        let bits = address.to_bits();
        [(bits >> 16) as u16, bits as u16]
    })
}
