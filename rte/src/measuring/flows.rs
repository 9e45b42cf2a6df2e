// SPDX-License-Identifier: Apache-2.0
//! The cyclic flows of a capture.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;

use crate::protocol::Mac;

const VLAN: u16 = 0x8100;
const PROFINET: u16 = 0x8892;
const IPV4: u16 = 0x0800;
/// FrameIDs of cyclic data, RT classes 1 and 2.
const CYCLIC: RangeInclusive<u16> = 0x8000..=0xF7FF;
const UDP: u8 = 17;
const CCLINK: u16 = 61_450;
/// PROFINET's connections.
const RPC: u16 = 34_964;
/// First words of a CC-Link IE Field Basic request and response.
const REQUEST: u16 = 0x5000;
const RESPONSE: u16 = 0xD000;

/// Who sends what cyclically.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flow {
    /// PROFINET RT: sender and FrameID.
    Profinet(Mac, u16),
    /// CC-Link IE Field Basic: a master and the group that it asks.
    CcLinkMaster(Ipv4Addr, u8),
    /// CC-Link IE Field Basic: a slave that answers.
    CcLinkSlave(Ipv4Addr),
}

impl std::fmt::Display for Flow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Profinet(from, id) => write!(f, "PROFINET {from} FrameID {id:04X}"),
            Self::CcLinkMaster(from, group) => write!(f, "CC-Link master {from} group {group}"),
            Self::CcLinkSlave(from) => write!(f, "CC-Link slave {from}"),
        }
    }
}

impl Flow {
    /// What it is, for a narrow column.
    pub fn short(&self) -> &'static str {
        match self {
            Self::Profinet(..) => "PROFINET",
            Self::CcLinkMaster(..) => "request",
            Self::CcLinkSlave(_) => "response",
        }
    }
}

/// The flows of a capture: when each one's frames were seen.
#[derive(Clone, Debug, Default)]
pub struct Flows {
    /// Nanoseconds since 1970, as they stand in the capture.
    pub seen: BTreeMap<Flow, Vec<u64>>,
    /// Nanoseconds from a CC-Link request to a slave's response.
    pub responses: BTreeMap<Flow, Vec<u64>>,
    /// Nanoseconds from a PROFINET Connect request to the flow's first frame after it.
    pub started: BTreeMap<Flow, u64>,
    /// All frames, cyclic or not.
    pub frames: u64,
    asked: Option<u64>,
    connecting: Option<u64>,
}

impl Flows {
    /// Adds a frame.
    pub fn add(&mut self, at: u64, frame: &[u8]) {
        self.frames += 1;
        let Some(flow) = recognise(frame) else {
            if is_connect(frame) {
                self.connecting = Some(at);
                self.started.clear();
            }
            return;
        };
        match flow {
            Flow::CcLinkMaster(..) => self.asked = Some(at),
            Flow::CcLinkSlave(_) => {
                if let Some(asked) = self.asked {
                    self.responses.entry(flow).or_default().push(at.saturating_sub(asked));
                }
            }
            Flow::Profinet(..) => {
                if let Some(connecting) = self.connecting {
                    self.started.entry(flow).or_insert(at.saturating_sub(connecting));
                }
            }
        }
        self.seen.entry(flow).or_default().push(at);
    }
}

fn recognise(frame: &[u8]) -> Option<Flow> {
    let from = Mac(frame.get(6..12)?.try_into().ok()?);
    let (kind, payload) = match word(frame, 12)? {
        VLAN => (word(frame, 16)?, frame.get(18..)?),
        kind => (kind, frame.get(14..)?),
    };
    match kind {
        PROFINET => word(payload, 0).filter(|id| CYCLIC.contains(id)).map(|id| Flow::Profinet(from, id)),
        IPV4 => recognise_udp(payload),
        _ => None,
    }
}

/// Whether it asks a PROFINET device for a connection: a DCE/RPC request (version 4, type 0) with operation 0.
fn is_connect(frame: &[u8]) -> bool {
    let datagram = frame.get(14..).filter(|_| word(frame, 12) == Some(IPV4)).and_then(udp);
    datagram.is_some_and(|(_, ports, payload)| {
        let operation = payload.get(68..70).map(|operation| if payload[4] == 0 { operation[1] } else { operation[0] });
        ports[1] == RPC && payload.starts_with(&[4, 0]) && operation == Some(0)
    })
}

/// Sender, ports and payload of a UDP packet.
fn udp(packet: &[u8]) -> Option<(Ipv4Addr, [u16; 2], &[u8])> {
    let header = usize::from(packet.first()? & 0xF) * 4;
    let from = Ipv4Addr::from(<[u8; 4]>::try_from(packet.get(12..16)?).ok()?);
    let datagram = packet.get(header..).filter(|_| packet.get(9) == Some(&UDP))?;
    Some((from, [word(datagram, 0)?, word(datagram, 2)?], datagram.get(8..)?))
}

fn recognise_udp(packet: &[u8]) -> Option<Flow> {
    let (from, ports, payload) = udp(packet)?;
    if !ports.contains(&CCLINK) {
        return None;
    }
    match word(payload, 0)? {
        REQUEST => Some(Flow::CcLinkMaster(from, *payload.get(51)?)),
        RESPONSE => Some(Flow::CcLinkSlave(from)),
        _ => None,
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}
