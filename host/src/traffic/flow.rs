// SPDX-License-Identifier: Apache-2.0
//! Which flow a frame belongs to.

use std::net::Ipv4Addr;

use smoltcp::wire::{EthernetAddress, IpProtocol};

use super::address::Subnet;
use super::headers::{self, Ipv4Header, Network};
use crate::scenario::{Listen, Protocol, Scenario, TaskKind};

/// The flow of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FlowId {
    /// The flow of the receiving task at this index of the scenario's tasks.
    Task(usize),
    /// None of these.
    Background,
}

/// Files frames by what the scenario's tasks listen to.
///
/// A frame is a task's when it is addressed to the device or to everybody (MAC and IPv4 address both), is
/// UDP or TCP, unfragmented or a first fragment, and goes to the task's port, from the task's sender if it
/// names one. Up to two VLAN tags are looked through.
#[derive(Debug)]
pub(super) struct Classifier {
    flows: Vec<(usize, Listen, Option<Ipv4Addr>)>,
    device_mac: EthernetAddress,
    device: Ipv4Addr,
    broadcast: Ipv4Addr,
}

impl Classifier {
    /// A classifier for the receiving tasks of a scenario.
    pub(super) fn new(scenario: &Scenario, subnet: &Subnet, device_mac: [u8; 6]) -> Classifier {
        let flows = scenario.tasks.iter().enumerate().filter_map(|(index, task)| match &task.kind {
            TaskKind::Receiving { listen, flow, .. } => Some((index, *listen, flow.from)),
            TaskKind::Periodic { .. } | TaskKind::Background => None,
        });
        Classifier {
            flows: flows.collect(),
            device_mac: EthernetAddress(device_mac),
            device: subnet.device(),
            broadcast: subnet.broadcast(),
        }
    }

    /// The flow of a frame.
    pub(super) fn classify(&self, frame: &[u8]) -> FlowId {
        self.task_of(frame).map_or(FlowId::Background, FlowId::Task)
    }

    fn task_of(&self, frame: &[u8]) -> Option<usize> {
        let mac = headers::dst_mac(frame);
        if mac != self.device_mac && !mac.is_broadcast() {
            return None;
        }
        let Network::Ipv4(start) = headers::network(frame) else {
            return None;
        };
        let header = headers::ipv4_header(frame, start);
        if header.fragment || ![self.device, self.broadcast, Ipv4Addr::BROADCAST].contains(&header.dst) {
            return None;
        }
        let listen = destination(frame, header)?;
        let matches = |from: &Option<Ipv4Addr>| from.is_none_or(|from| from == header.src);
        self.flows.iter().find(|(_, l, from)| *l == listen && matches(from)).map(|(index, ..)| *index)
    }
}

/// Protocol and destination port of a UDP or TCP packet with this header.
fn destination(frame: &[u8], header: Ipv4Header) -> Option<Listen> {
    let protocol = match header.protocol {
        IpProtocol::Udp => Protocol::Udp,
        IpProtocol::Tcp => Protocol::Tcp,
        _ => return None,
    };
    Some(Listen { protocol, port: headers::read_u16(frame, header.transport? + 2)? })
}

/// Sender of a frame, and the port that it goes to: what is in it of both. Fragments go to no port.
pub fn receiver(frame: &[u8]) -> (Option<Ipv4Addr>, Option<Listen>) {
    let Network::Ipv4(start) = headers::network(frame) else {
        return (None, None);
    };
    let header = headers::ipv4_header(frame, start);
    let port = if header.fragment { None } else { destination(frame, header) };
    (Some(header.src), port)
}
