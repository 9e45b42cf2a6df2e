// SPDX-License-Identifier: Apache-2.0
//! What a frame is to the receive paths: for whom, from whom, and how the IP stack deals with it.

use std::net::Ipv4Addr;

use smoltcp::wire::{
    ArpOperation, ArpPacket, ArpRepr, EthernetAddress, EthernetFrame, EthernetProtocol, IpProtocol, Ipv4Packet,
};

use super::costs::Class;
use crate::scenario::{Listen, Protocol, Scenario, TaskKind};
use crate::traffic::receiver;

/// A frame.
#[derive(Debug, Clone)]
pub struct Frame {
    /// Length without frame check sequence.
    pub bytes: usize,
    /// What the IP stack does with it.
    pub class: Class,
    /// What the classifiers of library and NIC see.
    pub kind: Kind,
    /// Receiving task whose socket gets it.
    pub task: Option<usize>,
    /// Sender's addresses.
    pub from: Option<(Ipv4Addr, EthernetAddress)>,
    /// UDP source port.
    pub from_port: u16,
    /// To this station or to all.
    pub to_station: bool,
    /// An ARP request for the device.
    pub asks: bool,
}

/// As `weir_classify` and the NIC's parser sort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// To a port.
    Port(Listen),
    /// ARP.
    Address,
    /// ICMP.
    Control,
    /// Part of a datagram.
    Fragment,
    /// Anything else.
    Other,
}

/// Sorts frames for a scenario's device.
#[derive(Debug, Clone)]
pub struct Sorter {
    device: Ipv4Addr,
    broadcast: Ipv4Addr,
    mac: EthernetAddress,
    sockets: Vec<(Listen, usize)>,
}

impl Sorter {
    /// For the sockets of a scenario.
    pub fn new(scenario: &Scenario, mac: [u8; 6]) -> Sorter {
        let device = scenario.device.address;
        let host_bits = u32::MAX.checked_shr(u32::from(scenario.device.prefix)).unwrap_or(0);
        let sockets = scenario.tasks.iter().enumerate().filter_map(|(index, task)| match &task.kind {
            TaskKind::Receiving { listen, .. } => Some((*listen, index)),
            _ => None,
        });
        Sorter {
            device,
            broadcast: Ipv4Addr::from_bits(device.to_bits() | host_bits),
            mac: EthernetAddress(mac),
            sockets: sockets.collect(),
        }
    }

    /// What a frame is.
    pub fn sort(&self, bytes: &[u8]) -> Frame {
        let ethernet = EthernetFrame::new_checked(bytes).ok();
        let to = ethernet.as_ref().map(|frame| frame.dst_addr());
        let mut frame = Frame {
            bytes: bytes.len(),
            class: Class::Other,
            kind: Kind::Other,
            task: None,
            from: None,
            from_port: 0,
            to_station: to.is_some_and(|to| to == self.mac || to.is_broadcast()),
            asks: false,
        };
        let Some(ethernet) = ethernet else { return frame };
        match ethernet.ethertype() {
            EthernetProtocol::Arp => self.sort_arp(&ethernet, &mut frame),
            EthernetProtocol::Ipv4 => self.sort_ipv4(bytes, &ethernet, &mut frame),
            _ => {}
        }
        frame
    }

    fn sort_arp(&self, ethernet: &EthernetFrame<&[u8]>, frame: &mut Frame) {
        frame.kind = Kind::Address;
        let packet = ArpPacket::new_checked(ethernet.payload()).ok();
        let Some(ArpRepr::EthernetIpv4 {
            operation,
            source_hardware_addr,
            source_protocol_addr,
            target_protocol_addr,
            ..
        }) = packet.and_then(|packet| ArpRepr::parse(&packet).ok())
        else {
            return;
        };
        if target_protocol_addr == self.device {
            frame.class = Class::Arp;
            frame.asks = operation == ArpOperation::Request;
            frame.from = Some((source_protocol_addr, source_hardware_addr));
        }
    }

    fn sort_ipv4(&self, bytes: &[u8], ethernet: &EthernetFrame<&[u8]>, frame: &mut Frame) {
        let Ok(ip) = Ipv4Packet::new_checked(ethernet.payload()) else { return };
        frame.from = Some((ip.src_addr(), ethernet.src_addr()));
        let to_device = ip.dst_addr() == self.device;
        let to_all = ip.dst_addr() == self.broadcast || ip.dst_addr() == Ipv4Addr::BROADCAST;
        if ip.more_frags() || ip.frag_offset() != 0 {
            frame.kind = Kind::Fragment;
            frame.class = Class::Fragment;
            return;
        }
        if ip.next_header() == IpProtocol::Icmp {
            frame.kind = Kind::Control;
            frame.class = if to_device { Class::Icmp } else { Class::Unanswered };
            return;
        }
        let (_, Some(listen)) = receiver(bytes) else { return };
        frame.kind = Kind::Port(listen);
        if listen.protocol == Protocol::Udp {
            let payload = ip.payload();
            frame.from_port = u16::from_be_bytes([payload[0], payload[1]]);
        }
        let reaches = frame.to_station && (to_device || to_all);
        frame.task = self.sockets.iter().find(|(socket, _)| reaches && *socket == listen).map(|(_, task)| *task);
        frame.class = match (frame.task, to_device && ethernet.dst_addr() == self.mac) {
            (Some(_), _) => Class::Udp,
            (None, true) if listen.protocol == Protocol::Udp => Class::Closed,
            _ => Class::Unanswered,
        };
    }
}
