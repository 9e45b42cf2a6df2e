// SPDX-License-Identifier: Apache-2.0
//! Answers ARP requests for senders that have no stack of their own.

use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;

use smoltcp::wire::{ArpOperation, ArpPacket, ArpRepr, EthernetAddress, EthernetFrame, EthernetProtocol};

use super::frame;
use super::source::Source;

/// The senders, and the answers on their way.
#[derive(Debug, Default)]
pub(super) struct ArpResponder {
    macs: BTreeMap<Ipv4Addr, [u8; 6]>,
    answers: VecDeque<(u64, Vec<u8>)>,
}

impl ArpResponder {
    /// Answers for this address from now on.
    pub(super) fn add(&mut self, address: Ipv4Addr, mac: [u8; 6]) {
        self.macs.entry(address).or_insert(mac);
    }

    /// Leaves the answering for this address to its own stack.
    pub(super) fn remove(&mut self, address: Ipv4Addr) {
        self.macs.remove(&address);
    }

    /// A frame from the device; an answer to it goes out at `cycle`, which never decreases.
    pub(super) fn receive(&mut self, cycle: u64, bytes: &[u8]) {
        if let Some(answer) = self.answer(bytes) {
            self.answers.push_back((cycle, answer));
        }
    }

    fn answer(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let frame = EthernetFrame::new_checked(bytes).ok()?;
        if frame.ethertype() != EthernetProtocol::Arp {
            return None;
        }
        let request = ArpRepr::parse(&ArpPacket::new_checked(frame.payload()).ok()?).ok()?;
        let ArpRepr::EthernetIpv4 {
            operation: ArpOperation::Request,
            source_hardware_addr,
            source_protocol_addr,
            target_protocol_addr,
            ..
        } = request
        else {
            return None;
        };
        let mac = EthernetAddress(*self.macs.get(&target_protocol_addr)?);
        let answer = ArpRepr::EthernetIpv4 {
            operation: ArpOperation::Reply,
            source_hardware_addr: mac,
            source_protocol_addr: target_protocol_addr,
            target_hardware_addr: source_hardware_addr,
            target_protocol_addr: source_protocol_addr,
        };
        Some(frame::arp(source_hardware_addr, mac, &answer))
    }
}

impl Source for ArpResponder {
    fn next_due(&self) -> Option<u64> {
        self.answers.front().map(|(cycle, _)| *cycle)
    }

    fn take(&mut self) -> Option<Vec<u8>> {
        self.answers.pop_front().map(|(_, bytes)| bytes)
    }
}
