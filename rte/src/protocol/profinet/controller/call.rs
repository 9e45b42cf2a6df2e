// SPDX-License-Identifier: Apache-2.0
//! A call of the device over RPC: one at a time, sent again until it is answered.

use super::super::wire::rpc::{Arguments, DEVICE_INTERFACE, FRAGMENT_BYTES_MAX, Flag, Header, Kind, Ndr, Operation};
use super::super::wire::status::Status;
use super::super::wire::{Malformed, Uuid};
use crate::protocol::Nanos;

/// After what time a call is sent again.
pub(super) const AGAIN_AFTER: Nanos = 1_000_000_000;
/// How often.
const TRIES_MAX: u32 = 4;
/// Most bytes of blocks in an answer.
pub(super) const ANSWER_BYTES_MAX: u32 = 16_384;

/// A call that is under way.
#[derive(Debug)]
pub(super) struct Call {
    header: Header,
    datagrams: Vec<Vec<u8>>,
    tries: u32,
    pub(super) again_at: Nanos,
    answer: Vec<u8>,
    fragments: u16,
}

/// What became of a datagram.
#[derive(Debug)]
pub(super) enum Heard {
    /// It belongs to another call, or came before.
    Nothing,
    /// A part of the answer; with what is to be sent back.
    Part(Option<Vec<u8>>),
    /// The answer: its status and its blocks.
    Answer(Status, Vec<u8>),
    /// The device did not do it at all.
    Refused,
}

impl Call {
    /// Begins a call with these blocks.
    pub(super) fn new(now: Nanos, object: Uuid, activity: Uuid, sequence: u32, operation: u16, blocks: &[u8]) -> Self {
        let header = Header {
            kind: Kind::REQUEST,
            flags: Flag::IDEMPOTENT,
            object,
            interface: DEVICE_INTERFACE,
            activity,
            interface_version: 1,
            sequence,
            operation,
            ..Header::default()
        };
        let most = ANSWER_BYTES_MAX.max(blocks.len() as u32);
        let body = Arguments { first: most, maximum: most, blocks }.encode(Ndr { little: false });
        let parts = body.len().div_ceil(FRAGMENT_BYTES_MAX);
        let datagrams = body.chunks(FRAGMENT_BYTES_MAX).enumerate().map(|(n, part)| {
            let flags = match (parts, n + 1 == parts) {
                (1, _) => 0,
                (_, true) => Flag::FRAGMENT | Flag::LAST_FRAGMENT | Flag::NO_FRAGMENT_ACK,
                _ => Flag::FRAGMENT | Flag::NO_FRAGMENT_ACK,
            };
            Header { flags: header.flags | flags, fragment: n as u16, ..header }.encode(part)
        });
        Self { header, datagrams: datagrams.collect(), tries: 0, again_at: now, answer: Vec::new(), fragments: 0 }
    }

    /// What the call is.
    pub(super) fn operation(&self) -> u16 {
        self.header.operation
    }

    /// What is to be sent now, or `None` if it was sent often enough.
    pub(super) fn send(&mut self, now: Nanos) -> Option<&[Vec<u8>]> {
        if self.tries == TRIES_MAX {
            return None;
        }
        self.tries += 1;
        // What takes longer to answer than once is asked less often.
        self.again_at = now + AGAIN_AFTER * u64::from(self.tries);
        Some(&self.datagrams)
    }

    /// Takes what came from the device.
    pub(super) fn receive(&mut self, now: Nanos, datagram: &[u8]) -> Result<Heard, Malformed> {
        let (header, body) = Header::decode(datagram)?;
        if header.activity != self.header.activity || header.sequence != self.header.sequence {
            return Ok(Heard::Nothing);
        }
        match header.kind {
            Kind::RESPONSE => self.answer(&header, body),
            Kind::FAULT | Kind::REJECT => Ok(Heard::Refused),
            Kind::WORKING => {
                self.again_at = now + AGAIN_AFTER;
                Ok(Heard::Nothing)
            }
            _ => Ok(Heard::Nothing),
        }
    }

    fn answer(&mut self, header: &Header, body: &[u8]) -> Result<Heard, Malformed> {
        if header.flags & Flag::FRAGMENT == 0 {
            let arguments = Arguments::decode(body, header.ndr())?;
            return Ok(Heard::Answer(arguments.status(), arguments.blocks.to_vec()));
        }
        if header.fragment == self.fragments {
            if self.answer.len() + body.len() > ANSWER_BYTES_MAX as usize + 20 {
                return Err(Malformed("answer too long"));
            }
            self.answer.extend_from_slice(body);
            self.fragments += 1;
            if header.flags & Flag::LAST_FRAGMENT != 0 {
                let arguments = Arguments::decode(&self.answer, header.ndr())?;
                return Ok(Heard::Answer(arguments.status(), arguments.blocks.to_vec()));
            }
        }
        let wants_ack = header.flags & Flag::NO_FRAGMENT_ACK == 0 && self.fragments > 0;
        let ack =
            Header { kind: Kind::FRAGMENT_ACK, flags: 0, fragment: self.fragments.wrapping_sub(1), ..self.header };
        Ok(Heard::Part(wants_ack.then(|| ack.encode(&[]))))
    }
}

/// What a call is, in words.
pub(super) fn name(operation: u16) -> &'static str {
    match operation {
        Operation::CONNECT => "Connect",
        Operation::RELEASE => "Release",
        Operation::READ | Operation::READ_IMPLICIT => "Read",
        Operation::WRITE => "Write",
        _ => "Control",
    }
}
