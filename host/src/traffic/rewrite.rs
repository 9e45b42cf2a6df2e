// SPDX-License-Identifier: Apache-2.0
//! Puts the device in the place of a capture's server.
//!
//! * The server is the unicast IPv4 address that most frames of the capture go to.
//! * Frames to it go to the device, MAC and IPv4 address. What it sent itself is left out: the device will
//!   answer in its stead. Frames without IPv4 or ARP are told by its MAC address.
//! * Every sender gets an address of the device's subnet, and the MAC address that belongs to it, in the order
//!   of first appearance; a sender whose address is already there, and free, keeps it. The same address gets
//!   the same new one everywhere in the capture. Addresses that no host can have (0.0.0.0/8, 127.0.0.0/8, 224.0.0.0
//!   and above) are the point of the frames that have them as senders, and stay.
//! * A broadcast to the capture's own subnet becomes one to the device's.
//! * Checksums follow by difference: right ones stay right, broken ones stay broken.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use smoltcp::wire::EthernetAddress;

use super::address::{Subnet, is_martian, mac_of};
use super::checksum;
use super::headers::{self, Network};

const ARP_SENDER_MAC_AT: usize = 8;
const ARP_SENDER_AT: usize = 14;
const ARP_TARGET_AT: usize = 24;
const ARP_BYTES: usize = 28;
const DST_MAC_AT: usize = 0;
const SRC_MAC_AT: usize = 6;

/// A capture with the device in the place of its server.
#[derive(Debug, Clone, Default)]
pub struct Rewritten {
    /// What is left of the frames, at their times.
    pub frames: Vec<(u64, Vec<u8>)>,
    /// Addresses of the capture's senders in the device's subnet.
    pub senders: BTreeMap<Ipv4Addr, Ipv4Addr>,
    /// What was done.
    pub notes: Vec<String>,
}

/// The device's subnet has not enough addresses for a capture's senders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubnetFull {
    /// Senders to place.
    pub senders: usize,
    /// Longest prefix that has room for them.
    pub prefix: u8,
}

/// The address that a capture's frames go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Server {
    pub(super) address: Ipv4Addr,
    pub(super) mac: EthernetAddress,
    pub(super) frames: usize,
}

/// Finds the server; of equals, the lowest address.
pub(super) fn server_of(frames: &[(u64, Vec<u8>)]) -> Option<Server> {
    let mut counts: BTreeMap<Ipv4Addr, BTreeMap<EthernetAddress, usize>> = BTreeMap::new();
    for (_, frame) in frames {
        let mac = headers::dst_mac(frame);
        if let Network::Ipv4(start) = headers::network(frame) {
            let dst = headers::ipv4_header(frame, start).dst;
            if mac.is_unicast() && !is_martian(dst) {
                *counts.entry(dst).or_default().entry(mac).or_default() += 1;
            }
        }
    }
    let total = |macs: &BTreeMap<EthernetAddress, usize>| macs.values().sum::<usize>();
    // Reversed, because the last of equal maxima is taken.
    let (address, macs) = counts.iter().rev().max_by_key(|(_, macs)| total(macs))?;
    let (mac, _) = macs.iter().rev().max_by_key(|(_, frames)| **frames)?;
    Some(Server { address: *address, mac: *mac, frames: total(macs) })
}

/// Puts the device in the place of the server of `frames`.
pub fn rewrite_to_device(
    frames: &[(u64, Vec<u8>)],
    device_mac: [u8; 6],
    subnet: &mut Subnet,
) -> Result<Rewritten, SubnetFull> {
    rewrite(frames, server_of(frames), device_mac, subnet)
}

/// As [`rewrite_to_device`], for a part of a capture whose server is known.
pub(super) fn rewrite(
    frames: &[(u64, Vec<u8>)],
    server: Option<Server>,
    device_mac: [u8; 6],
    subnet: &mut Subnet,
) -> Result<Rewritten, SubnetFull> {
    let kept: Vec<_> = frames.iter().filter(|(_, frame)| !server.is_some_and(|s| s.sent(frame))).collect();
    let senders = assign(&kept, server, subnet)?;
    let rewriter = Rewriter { server, senders: &senders, device_mac: EthernetAddress(device_mac), subnet };
    let rewritten = kept.iter().map(|(time, frame)| (*time, rewriter.rewrite(frame))).collect();
    let mut notes = vec![match server {
        Some(server) => format!(
            "the device takes the place of {}, which receives {} frames, more than any other address",
            server.address, server.frames
        ),
        None => "no frame goes to a unicast IPv4 address; only senders are rewritten".to_owned(),
    }];
    if kept.len() < frames.len() {
        notes.push(format!("{} frames that it sent itself are left out", frames.len() - kept.len()));
    }
    notes.push(format!("{} senders have addresses in the device's subnet", senders.len()));
    Ok(Rewritten { frames: rewritten, senders, notes })
}

impl Server {
    fn sent(&self, frame: &[u8]) -> bool {
        match sender_of(frame) {
            Some(sender) => sender == self.address,
            None => headers::network(frame) == Network::Other && headers::src_mac(frame) == self.mac,
        }
    }
}

/// The sender's IPv4 address, of IPv4 and ARP frames.
pub(super) fn sender_of(frame: &[u8]) -> Option<Ipv4Addr> {
    match headers::network(frame) {
        Network::Ipv4(start) => Some(headers::ipv4_header(frame, start).src),
        Network::Arp(start) if frame.len() >= start + ARP_BYTES => headers::read_address(frame, start + ARP_SENDER_AT),
        _ => None,
    }
}

/// Gives every sender an address. Receivers keep theirs, unless it is the device's own.
fn assign(
    frames: &[&(u64, Vec<u8>)],
    server: Option<Server>,
    subnet: &mut Subnet,
) -> Result<BTreeMap<Ipv4Addr, Ipv4Addr>, SubnetFull> {
    let mut found = BTreeSet::new();
    let mut order = Vec::new();
    let device = subnet.device();
    let mut note = |address: Ipv4Addr| {
        let is_server = server.is_some_and(|s| s.address == address);
        if !is_server && !is_martian(address) && found.insert(address) {
            order.push(address);
        }
    };
    for (_, frame) in frames {
        sender_of(frame).into_iter().for_each(&mut note);
        receiver_of(frame).filter(|receiver| *receiver == device).into_iter().for_each(&mut note);
    }
    let mut new = BTreeMap::new();
    for address in &order {
        if subnet.contains(*address) && subnet.take(*address) {
            new.insert(*address, *address);
        }
    }
    for address in &order {
        if !new.contains_key(address) {
            let free = subnet.take_next().ok_or_else(|| subnet_full(order.len()))?;
            new.insert(*address, free);
        }
    }
    Ok(new)
}

fn subnet_full(senders: usize) -> SubnetFull {
    // Network, broadcast and device, and room for the addresses of other traffic.
    let addresses = senders as u64 + 3 + 64;
    let host_bits = u64::BITS - (addresses - 1).leading_zeros();
    SubnetFull { senders, prefix: 32u32.saturating_sub(host_bits) as u8 }
}

fn receiver_of(frame: &[u8]) -> Option<Ipv4Addr> {
    match headers::network(frame) {
        Network::Ipv4(start) => Some(headers::ipv4_header(frame, start).dst),
        Network::Arp(start) => headers::read_address(frame, start + ARP_TARGET_AT),
        Network::Other => None,
    }
}

struct Rewriter<'a> {
    server: Option<Server>,
    senders: &'a BTreeMap<Ipv4Addr, Ipv4Addr>,
    device_mac: EthernetAddress,
    subnet: &'a Subnet,
}

impl Rewriter<'_> {
    fn rewrite(&self, frame: &[u8]) -> Vec<u8> {
        let mut frame = frame.to_vec();
        match headers::network(&frame) {
            Network::Ipv4(start) => self.rewrite_ipv4(&mut frame, start),
            Network::Arp(start) if frame.len() >= start + ARP_BYTES => self.rewrite_arp(&mut frame, start),
            _ => self.rewrite_dst_mac(&mut frame),
        }
        frame
    }

    fn rewrite_ipv4(&self, frame: &mut [u8], start: usize) {
        let header = headers::ipv4_header(frame, start);
        let dst_mac = headers::dst_mac(frame);
        let directed_broadcast = dst_mac.is_broadcast() && !is_martian(header.dst);
        let dst = match self.server {
            Some(server) if header.dst == server.address => self.subnet.device(),
            _ if directed_broadcast => self.subnet.broadcast(),
            _ => self.new_address(header.dst),
        };
        checksum::set_addresses(frame, start, &header, self.new_address(header.src), dst);
        self.rewrite_src_mac(frame, header.src);
        if dst == self.subnet.device() && dst_mac.is_unicast() {
            set_mac(frame, DST_MAC_AT, self.device_mac);
        } else {
            self.rewrite_third_mac(frame, header.dst);
        }
    }

    fn rewrite_arp(&self, frame: &mut [u8], start: usize) {
        let (sender_at, target_at) = (start + ARP_SENDER_AT, start + ARP_TARGET_AT);
        let sender = headers::read_address(frame, sender_at).unwrap_or(Ipv4Addr::UNSPECIFIED);
        let target = headers::read_address(frame, target_at).unwrap_or(Ipv4Addr::UNSPECIFIED);
        if let Some(new) = self.senders.get(&sender) {
            frame[sender_at..][..4].copy_from_slice(&new.octets());
            set_mac(frame, start + ARP_SENDER_MAC_AT, EthernetAddress(mac_of(*new)));
        }
        let new_target = match self.server {
            Some(server) if target == server.address => self.subnet.device(),
            _ => self.new_address(target),
        };
        frame[target_at..][..4].copy_from_slice(&new_target.octets());
        self.rewrite_src_mac(frame, sender);
        self.rewrite_dst_mac(frame);
    }

    fn new_address(&self, old: Ipv4Addr) -> Ipv4Addr {
        self.senders.get(&old).copied().unwrap_or(old)
    }

    fn rewrite_src_mac(&self, frame: &mut [u8], sender: Ipv4Addr) {
        if let Some(new) = self.senders.get(&sender) {
            set_mac(frame, SRC_MAC_AT, EthernetAddress(mac_of(*new)));
        }
    }

    /// A unicast frame to one of the senders follows it to its new MAC address.
    fn rewrite_third_mac(&self, frame: &mut [u8], receiver: Ipv4Addr) {
        match self.senders.get(&receiver) {
            Some(new) if headers::dst_mac(frame).is_unicast() => {
                set_mac(frame, DST_MAC_AT, EthernetAddress(mac_of(*new)));
            }
            _ => {}
        }
    }

    fn rewrite_dst_mac(&self, frame: &mut [u8]) {
        if self.server.is_some_and(|server| headers::dst_mac(frame) == server.mac) {
            set_mac(frame, DST_MAC_AT, self.device_mac);
        }
    }
}

fn set_mac(frame: &mut [u8], at: usize, mac: EthernetAddress) {
    if let Some(field) = frame.get_mut(at..at + 6) {
        field.copy_from_slice(&mac.0);
    }
}
