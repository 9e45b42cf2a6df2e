// SPDX-License-Identifier: Apache-2.0
//! Where every frame is, from the wire to its end.

use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::ops::Range;

use smoltcp::wire::{
    ArpPacket, EthernetFrame, EthernetProtocol, Icmpv4Message, Icmpv4Packet, IpProtocol, Ipv4Packet, TcpPacket,
};

use super::event::Drop;
use crate::timeline::{Fate, LaneKind, Stage};

/// Index of a frame in the order of the wire.
pub type FrameId = usize;

/// What a frame is for; decides whether "consumed by the IP stack" is delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// The IP stack itself is the addressee: ARP, echo requests, TCP control of a port that is listened on.
    Stack,
    /// Data for a socket.
    Socket,
    /// Anything else: the stack can only drop it.
    Other,
}

/// A frame and what is known of it.
#[derive(Debug, Clone)]
pub struct Frame {
    /// `None` is the background.
    pub task: Option<usize>,
    /// Length without frame check sequence.
    pub bytes: usize,
    /// Last bit on the wire.
    pub arrival: u64,
    /// Stages in order of time; empty if they are not recorded.
    pub steps: Vec<(u64, Stage)>,
    /// How it ended.
    pub fate: Option<Fate>,
    /// Part of a datagram: which flow it is for is not known before the others are there.
    pub is_fragment: bool,
    purpose: Purpose,
    in_driver: bool,
    in_queue: bool,
    in_socket: bool,
    stack_done: bool,
}

impl Frame {
    /// Ended without being delivered.
    pub fn is_dropped(&self) -> bool {
        self.fate.is_some_and(|fate| fate != Fate::Delivered)
    }
}

/// All frames of a run.
#[derive(Debug)]
pub struct Packets {
    /// In the order of the wire.
    pub frames: Vec<Frame>,
    on_wire: VecDeque<FrameId>,
    in_nic: VecDeque<FrameId>,
    buffers: Vec<Option<FrameId>>,
    in_stack: Option<FrameId>,
    record: bool,
}

fn purpose(bytes: &[u8], device: Ipv4Addr, tcp_ports: &[u16]) -> Option<Purpose> {
    let ethernet = EthernetFrame::new_checked(bytes).ok()?;
    if ethernet.ethertype() == EthernetProtocol::Arp {
        let arp = ArpPacket::new_checked(ethernet.payload()).ok()?;
        return Some(if arp.target_protocol_addr() == device.octets() { Purpose::Stack } else { Purpose::Other });
    }
    if ethernet.ethertype() != EthernetProtocol::Ipv4 {
        return None;
    }
    let ip = Ipv4Packet::new_checked(ethernet.payload()).ok()?;
    if ip.dst_addr() != device {
        return Some(Purpose::Other);
    }
    match ip.next_header() {
        IpProtocol::Icmp => {
            let icmp = Icmpv4Packet::new_checked(ip.payload()).ok()?;
            let echo = icmp.msg_type() == Icmpv4Message::EchoRequest;
            Some(if echo { Purpose::Stack } else { Purpose::Other })
        }
        IpProtocol::Tcp => {
            let tcp = TcpPacket::new_checked(ip.payload()).ok()?;
            Some(match (tcp_ports.contains(&tcp.dst_port()), tcp.payload().is_empty()) {
                (true, true) => Purpose::Stack,
                (true, false) => Purpose::Socket,
                (false, _) => Purpose::Other,
            })
        }
        IpProtocol::Udp => Some(Purpose::Socket),
        _ => Some(Purpose::Other),
    }
}

fn is_fragment(bytes: &[u8]) -> Option<bool> {
    let ethernet = EthernetFrame::new_checked(bytes).ok()?;
    let ip = Ipv4Packet::new_checked(ethernet.payload()).ok()?;
    Some(ethernet.ethertype() == EthernetProtocol::Ipv4 && (ip.more_frags() || ip.frag_offset() != 0))
}

impl Packets {
    /// For a pool of `buffers`.
    pub fn new(buffers: usize, record: bool) -> Packets {
        Packets {
            frames: Vec::new(),
            on_wire: VecDeque::new(),
            in_nic: VecDeque::new(),
            buffers: vec![None; buffers],
            in_stack: None,
            record,
        }
    }

    /// A frame goes on the wire.
    pub fn offer(&mut self, bytes: &[u8], arrival: u64, task: Option<usize>, device: Ipv4Addr, tcp_ports: &[u16]) {
        self.on_wire.push_back(self.frames.len());
        self.frames.push(Frame {
            task,
            bytes: bytes.len(),
            arrival,
            steps: Vec::new(),
            fate: None,
            is_fragment: is_fragment(bytes).unwrap_or(false),
            purpose: purpose(bytes, device, tcp_ports).unwrap_or(Purpose::Other),
            in_driver: false,
            in_queue: false,
            in_socket: false,
            stack_done: false,
        });
    }

    fn step(&mut self, id: FrameId, now: u64, stage: Stage) {
        if self.record {
            self.frames[id].steps.push((now, stage));
        }
    }

    fn end(&mut self, id: Option<FrameId>, fate: Fate) {
        if let Some(id) = id {
            self.frames[id].fate = Some(fate);
        }
    }

    /// The frame that just ended is in the NIC.
    pub fn accepted(&mut self) {
        self.in_nic.extend(self.on_wire.pop_front());
    }

    /// The frame that just ended was dropped by the NIC.
    pub fn refused(&mut self, fate: Fate) {
        let id = self.on_wire.pop_front();
        self.end(id, fate);
    }

    /// The oldest accepted frame was dropped by the NIC.
    pub fn dropped_in_nic(&mut self, fate: Fate) {
        let id = self.in_nic.pop_front();
        self.end(id, fate);
    }

    /// The oldest accepted frame is in this buffer.
    pub fn in_ram(&mut self, now: u64, buffer: usize) {
        if let Some(id) = self.in_nic.pop_front() {
            self.buffers[buffer] = Some(id);
            self.step(id, now, Stage::Ram);
        }
    }

    /// The frame in a buffer.
    pub fn in_buffer(&self, buffer: usize) -> Option<FrameId> {
        self.buffers.get(buffer).copied().flatten()
    }

    /// The frame in a buffer, if it waits in a flow queue.
    pub fn in_queue(&self, buffer: usize) -> Option<FrameId> {
        self.in_buffer(buffer).filter(|id| self.frames[*id].in_queue)
    }

    /// Driver, flow queue or IP stack took it up.
    pub fn taken_up(&mut self, now: u64, buffer: usize, stage: Stage) {
        let id = self.in_buffer(buffer);
        if stage == Stage::Stack {
            self.in_stack = id;
        }
        if let Some(id) = id {
            self.frames[id].in_driver = true;
            self.frames[id].in_queue = stage == Stage::Queue;
            self.step(id, now, stage);
        }
    }

    /// The eager half discarded the packet in a buffer.
    pub fn discarded(&mut self, now: u64, buffer: usize, why: Drop) {
        let id = self.buffers.get_mut(buffer).and_then(Option::take);
        if let Some(id) = id {
            self.step(id, now, Stage::Freed);
        }
        self.end(
            id,
            match why {
                Drop::ShortCircuit | Drop::Recycled => Fate::Recycled,
                Drop::Limited | Drop::Refused => Fate::FlowLimit,
            },
        );
    }

    /// The IP stack found the socket of the frame that it works on.
    pub fn matched_socket(&mut self, now: u64) {
        if let Some(id) = self.in_stack {
            self.frames[id].in_socket = true;
            self.step(id, now, Stage::Socket);
        }
    }

    /// The IP stack is done with the frame.
    pub fn stack_done(&mut self) {
        if let Some(id) = self.in_stack.take() {
            self.frames[id].stack_done = true;
        }
    }

    /// The frame in a buffer is in another one now.
    pub fn copied(&mut self, from: usize, to: usize) {
        self.buffers[to] = self.buffers[from].take();
    }

    /// A buffer is free again, by code of this kind. Returns the frame if a task took it.
    pub fn freed(&mut self, now: u64, buffer: usize, by: LaneKind) -> Option<FrameId> {
        let id = self.buffers.get_mut(buffer)?.take()?;
        let frame = &self.frames[id];
        if frame.in_queue {
            // Its socket was closed before anybody began with it.
            self.step(id, now, Stage::Freed);
            self.end(Some(id), Fate::Socket);
            return None;
        }
        let fate = match (by, frame.in_socket, frame.purpose) {
            (LaneKind::Task, ..) => Fate::Delivered,
            (_, _, Purpose::Stack) if self.in_stack == Some(id) => Fate::Delivered,
            // TCP keeps what a full mailbox refuses, so that data freed by the stack itself was a duplicate.
            (_, true, _) => Fate::Socket,
            _ => Fate::Stack,
        };
        if by == LaneKind::Task {
            self.step(id, now, Stage::Task);
        }
        self.step(id, now, Stage::Freed);
        self.frames[id].fate = Some(fate);
        (by == LaneKind::Task).then_some(id)
    }

    /// Buffers that hold a frame which nobody can free any more: the IP stack has returned from it, and it is in no
    /// socket. Fragments and out-of-order segments are kept by the stack for good reason: `Purpose::Socket`.
    pub fn leaked(&self) -> u64 {
        let lost = |id: &FrameId| {
            let frame = &self.frames[*id];
            frame.stack_done && !frame.in_socket && frame.purpose == Purpose::Stack
        };
        self.buffers.iter().flatten().filter(|id| lost(id)).count() as u64
    }

    /// Buffers that hold a frame which the driver has not taken yet: still in the ring.
    pub fn waiting_in_ring(&self) -> u64 {
        self.buffers.iter().flatten().filter(|id| !self.frames[**id].in_driver).count() as u64
    }

    /// Frames that ended before `cycle` and of which the NIC has said nothing; always 0, or events are missing.
    pub fn unaccounted(&self, cycle: u64) -> usize {
        self.on_wire.iter().filter(|id| self.frames[**id].arrival < cycle).count()
    }

    /// Frames that wait in places that are gone with their queue.
    pub fn closed(&mut self, now: u64, places: Range<usize>) {
        for place in places {
            if let Some(id) = self.in_buffer(place)
                && !self.frames[id].in_driver
            {
                self.buffers[place] = None;
                self.step(id, now, Stage::Freed);
                self.end(Some(id), Fate::Socket);
            }
        }
    }

    /// Buffers that hold a frame which software has taken up.
    pub fn taken_up_count(&self) -> u64 {
        self.buffers_in_use() - self.waiting_in_ring()
    }

    /// Buffers that hold a frame.
    pub fn buffers_in_use(&self) -> u64 {
        self.buffers.iter().flatten().count() as u64
    }
}
