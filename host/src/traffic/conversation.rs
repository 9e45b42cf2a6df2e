// SPDX-License-Identifier: Apache-2.0
//! Finds the TCP conversations of a capture that a live client can hold anew.
//!
//! A conversation is told by its 4-tuple and, where ports are used again, by its SYN. One that never gets
//! beyond its SYN is half-open on purpose (a SYN flood) and stays a matter of frames; so do segments whose
//! headers do not fit their frames.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use smoltcp::wire::{IpProtocol, Ipv4Packet, TcpPacket};

use super::address::is_martian;
use super::headers::{self, Network};

/// Where the network header of an untagged frame begins.
const UNTAGGED: usize = 14;
/// A sequence number further off than this is a new beginning rather than lost segments.
const MAX_GAP_BYTES: u32 = 1 << 20;

/// What a captured client did, with the cycles at which it did so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Script {
    pub(super) client: Ipv4Addr,
    pub(super) client_port: u16,
    pub(super) server_port: u16,
    pub(super) start_cycle: u64,
    pub(super) steps: Vec<(u64, Step)>,
}

/// One thing that a client does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Ends its direction.
    Close,
    /// Resets the connection.
    Abort,
}

/// Frames with their cycles.
pub(super) type TimedFrames = Vec<(u64, Vec<u8>)>;

/// Takes the conversations with these TCP ports of the device out of `frames`.
pub(super) fn split(frames: TimedFrames, device: Ipv4Addr, ports: &BTreeSet<u16>) -> (TimedFrames, Vec<Script>) {
    let mut builder = Builder::default();
    for (index, (cycle, frame)) in frames.iter().enumerate() {
        if let Some(segment) = Segment::read(frame, device, ports) {
            builder.add(index, *cycle, &segment);
        }
    }
    let (scripts, live) = builder.finish();
    let rest = frames.into_iter().enumerate().filter(|(index, _)| !live.contains(index));
    (rest.map(|(_, frame)| frame).collect(), scripts)
}

/// Client address, client port, server port.
type Key = (Ipv4Addr, u16, u16);

struct Segment<'a> {
    key: Key,
    sequence: u32,
    syn: bool,
    fin: bool,
    rst: bool,
    payload: &'a [u8],
}

impl<'a> Segment<'a> {
    fn read(frame: &'a [u8], device: Ipv4Addr, ports: &BTreeSet<u16>) -> Option<Segment<'a>> {
        if headers::network(frame) != Network::Ipv4(UNTAGGED) {
            return None;
        }
        let packet = Ipv4Packet::new_checked(&frame[UNTAGGED..]).ok()?;
        let whole = packet.frag_offset() == 0 && !packet.more_frags();
        let client = packet.src_addr();
        if packet.dst_addr() != device || packet.next_header() != IpProtocol::Tcp || !whole || is_martian(client) {
            return None;
        }
        let tcp = TcpPacket::new_checked(packet.payload()).ok()?;
        let meant = ports.contains(&tcp.dst_port()) && tcp.src_port() != 0 && !(tcp.syn() && tcp.ack());
        meant.then(|| Segment {
            key: (client, tcp.src_port(), tcp.dst_port()),
            sequence: tcp.seq_number().0 as u32,
            syn: tcp.syn(),
            fin: tcp.fin(),
            rst: tcp.rst(),
            payload: &packet.payload()[usize::from(tcp.header_len())..],
        })
    }
}

#[derive(Default)]
struct Builder {
    conversations: Vec<Conversation>,
    /// The latest conversation of each 4-tuple.
    open: BTreeMap<Key, usize>,
}

struct Conversation {
    script: Script,
    frames: Vec<usize>,
    initial: u32,
    next: u32,
    live: bool,
    ended: bool,
}

impl Builder {
    fn add(&mut self, index: usize, cycle: u64, segment: &Segment<'_>) {
        let open = self.open.get(&segment.key).copied();
        let known = open.filter(|at| {
            let conversation = &self.conversations[*at];
            !segment.syn || conversation.initial == segment.sequence
        });
        let at = match known {
            Some(at) => at,
            // A stray reset opens nothing.
            None if segment.rst => return,
            None => {
                if let Some(before) = open {
                    self.conversations[before].end(cycle, Step::Abort);
                }
                self.begin(cycle, segment)
            }
        };
        self.conversations[at].add(index, cycle, segment);
    }

    fn begin(&mut self, cycle: u64, segment: &Segment<'_>) -> usize {
        let (client, client_port, server_port) = segment.key;
        let script = Script { client, client_port, server_port, start_cycle: cycle, steps: Vec::new() };
        let (initial, frames) = (segment.sequence, Vec::new());
        let next = initial.wrapping_add(u32::from(segment.syn));
        let conversation = Conversation { script, frames, initial, next, live: false, ended: false };
        self.conversations.push(conversation);
        self.open.insert(segment.key, self.conversations.len() - 1);
        self.conversations.len() - 1
    }

    fn finish(self) -> (Vec<Script>, BTreeSet<usize>) {
        let live = self.conversations.into_iter().filter(|conversation| conversation.live);
        let mut indices = BTreeSet::new();
        let scripts = live.map(|conversation| {
            indices.extend(conversation.frames);
            conversation.script
        });
        (scripts.collect(), indices)
    }
}

impl Conversation {
    fn add(&mut self, index: usize, cycle: u64, segment: &Segment<'_>) {
        self.frames.push(index);
        if segment.rst {
            self.end(cycle, Step::Abort);
            return;
        }
        self.live |= !segment.syn;
        let new = self.new_bytes(segment);
        if !new.is_empty() && !self.ended {
            self.next = self.next.wrapping_add(new.len() as u32);
            self.script.steps.push((cycle, Step::Send(new.to_vec())));
        }
        if segment.fin {
            self.end(cycle, Step::Close);
        }
    }

    /// The payload without what was sent before; lost segments leave no hole.
    fn new_bytes<'a>(&mut self, segment: &Segment<'a>) -> &'a [u8] {
        let sequence = segment.sequence.wrapping_add(u32::from(segment.syn));
        let ahead = sequence.wrapping_sub(self.next);
        let behind = self.next.wrapping_sub(sequence);
        if behind <= MAX_GAP_BYTES {
            segment.payload.get(behind as usize..).unwrap_or_default()
        } else {
            self.next = self.next.wrapping_add(ahead);
            segment.payload
        }
    }

    fn end(&mut self, cycle: u64, step: Step) {
        if !self.ended || step == Step::Abort && self.script.steps.last().is_none_or(|(_, s)| *s != Step::Abort) {
            self.ended = true;
            self.script.steps.push((cycle, step));
        }
    }
}
