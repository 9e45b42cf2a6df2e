// SPDX-License-Identifier: Apache-2.0
//! Takes alarms and acknowledges them: an ACK for the transport, an answer for what the alarm says.

use super::super::wire::rt::Ethernet;
use super::super::wire::rta::{
    ACKNOWLEDGED_START, Answer, HIGH, Kind, LOW, Notification, Rta, SEQUENCE_START, next_sequence,
};
use super::super::wire::status::Status;
use super::plan::{ALARM_REFERENCE, ALARM_RETRIES, ALARM_TIMEOUT, TAG, TAG_LOW};
use crate::protocol::{Mac, Nanos};

/// After what time an answer that was not acknowledged is sent again.
const AGAIN_AFTER: Nanos = ALARM_TIMEOUT as Nanos * 100_000_000;

/// The alarms of one priority.
#[derive(Debug)]
pub(super) struct Alarms {
    ethernet: Ethernet,
    device_reference: u16,
    /// What is sent next, was sent last, comes next, came last.
    next: u16,
    sent: u16,
    expected: u16,
    came: u16,
    /// The answer that waits for its acknowledgement: again when, how often yet, and what.
    waiting: Option<(Nanos, u16, Vec<u8>)>,
}

/// What became of a PDU.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// An alarm.
    Alarm(Notification),
    /// The device ends the connection.
    Ended(Status),
    /// Nothing that anybody needs to know.
    Nothing,
    /// It was dropped.
    Dropped(&'static str),
}

impl Alarms {
    pub(super) fn new(high: bool, from: Mac, to: Mac, device_reference: u16) -> Self {
        let (frame_id, tag) = if high { (HIGH, TAG) } else { (LOW, TAG_LOW) };
        Self {
            ethernet: Ethernet { to, from, tag: Some(tag), frame_id },
            device_reference,
            next: SEQUENCE_START,
            sent: ACKNOWLEDGED_START,
            expected: SEQUENCE_START,
            came: ACKNOWLEDGED_START,
            waiting: None,
        }
    }

    /// When an answer is sent again.
    pub(super) fn due(&self) -> Option<Nanos> {
        self.waiting.as_ref().map(|(at, ..)| *at)
    }

    fn pdu(&self, kind: Kind, sequence: u16, data: &[u8]) -> Vec<u8> {
        let acknowledge = kind == Kind::Data;
        let (to, from, acknowledged) = (self.device_reference, ALARM_REFERENCE, self.came);
        Rta { to, from, kind, acknowledge, sequence, acknowledged, data }.encode(&self.ethernet)
    }

    /// The frame that ends the connection.
    pub(super) fn error(&self, status: Status) -> Vec<u8> {
        self.pdu(Kind::Error, self.sent, &status.0.to_be_bytes())
    }

    /// Takes what follows the FrameID.
    pub(super) fn receive(&mut self, now: Nanos, bytes: &[u8], send: &mut dyn FnMut(&[u8])) -> Heard {
        let Ok(pdu) = Rta::decode(bytes) else { return Heard::Dropped("dropped: malformed") };
        if pdu.to != ALARM_REFERENCE || pdu.from != self.device_reference {
            return Heard::Dropped("dropped: alarm of another connection");
        }
        if pdu.acknowledged == self.sent && pdu.kind != Kind::Error {
            self.waiting = None;
        }
        match pdu.kind {
            Kind::Error => Heard::Ended(pdu.status().unwrap_or_default()),
            Kind::Ack | Kind::Nack => Heard::Nothing,
            Kind::Data if pdu.sequence == self.came => {
                // The acknowledgement was lost.
                send(&self.pdu(Kind::Ack, self.sent, &[]));
                Heard::Nothing
            }
            Kind::Data if pdu.sequence == self.expected && self.waiting.is_none() => self.alarm(now, &pdu, send),
            Kind::Data => Heard::Dropped("dropped: alarm out of turn"),
        }
    }

    fn alarm(&mut self, now: Nanos, pdu: &Rta<'_>, send: &mut dyn FnMut(&[u8])) -> Heard {
        let Ok(alarm) = Notification::decode(pdu.data) else { return Heard::Dropped("dropped: malformed") };
        self.came = pdu.sequence;
        self.expected = next_sequence(pdu.sequence);
        send(&self.pdu(Kind::Ack, self.sent, &[]));
        let Notification { high, kind, api, slot, subslot, specifier, .. } = alarm;
        let answer = Answer { high, kind, api, slot, subslot, specifier, status: Status::OK }.encode();
        self.sent = self.next;
        self.next = next_sequence(self.next);
        let frame = self.pdu(Kind::Data, self.sent, &answer);
        send(&frame);
        self.waiting = Some((now + AGAIN_AFTER, 0, frame));
        Heard::Alarm(alarm)
    }

    /// Sends an answer again. Answers `false` if that was done often enough.
    pub(super) fn run(&mut self, now: Nanos, send: &mut dyn FnMut(&[u8])) -> bool {
        let Some((at, tries, frame)) = self.waiting.as_mut().filter(|(at, ..)| *at <= now) else { return true };
        if *tries == ALARM_RETRIES {
            return false;
        }
        *tries += 1;
        *at = now + AGAIN_AFTER;
        send(frame);
        true
    }
}
