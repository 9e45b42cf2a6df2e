// SPDX-License-Identifier: Apache-2.0
//! One end of an alarm relation: high or low alarms of a connection, one at a time, acknowledged and repeated.

use std::collections::VecDeque;

use crate::protocol::profinet::wire::rt::Ethernet;
use crate::protocol::profinet::wire::rta::{
    ACKNOWLEDGED_START, Answer, HIGH, Kind, LOW, Notification, Rta, SEQUENCE_START, Specifier, next_sequence,
};
use crate::protocol::profinet::wire::status::Status;
use crate::protocol::{Mac, Nanos};

/// Alarms that wait for their turn.
const WAITING_MAX: usize = 16;

/// What the ends of an alarm relation agreed on.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// The controller.
    pub to: Mac,
    /// The device.
    pub from: Mac,
    /// The controller's end.
    pub remote: u16,
    /// The device's end.
    pub local: u16,
    /// TCI of the VLAN tag.
    pub tag: u16,
    /// High or low alarms.
    pub high: bool,
    /// Until it is sent again.
    pub timeout: Nanos,
    /// How often it is sent again.
    pub retries: u16,
    /// Most bytes of a PDU's data.
    pub bytes_max: usize,
}

/// An alarm on its way.
#[derive(Debug)]
struct Sent {
    notification: Notification,
    data: Vec<u8>,
    /// When it is sent again; none once it was acknowledged and only its answer is missing.
    again_at: Option<Nanos>,
    repeated: u16,
}

/// What happened to an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Nothing to be told.
    Nothing,
    /// Not understood, or not expected.
    Dropped(&'static str),
    /// The controller's application answered an alarm.
    Answered(Answer),
    /// The connection is over.
    Ended(Status),
}

/// One end.
#[derive(Debug)]
pub struct AlarmEnd {
    terms: Terms,
    waiting: VecDeque<Notification>,
    sent: Option<Sent>,
    /// The number of the next data, of the last, and of the last that came.
    next: u16,
    last: u16,
    received: u16,
    expected: u16,
    specifier: u16,
}

impl AlarmEnd {
    /// At the begin of a connection.
    pub fn new(terms: Terms) -> Self {
        Self {
            terms,
            waiting: VecDeque::new(),
            sent: None,
            next: SEQUENCE_START,
            last: ACKNOWLEDGED_START,
            received: ACKNOWLEDGED_START,
            expected: SEQUENCE_START,
            specifier: 0,
        }
    }

    /// Appends an alarm, if there is room.
    ///
    /// # Errors
    /// Why it is not sent.
    pub fn raise(&mut self, mut notification: Notification) -> Result<(), &'static str> {
        if self.waiting.len() == WAITING_MAX {
            return Err("alarm not sent: too many wait");
        }
        // A notification's block has 28 bytes in front of its data and the data's structure.
        if notification.data.len() + 30 > self.terms.bytes_max {
            return Err("alarm not sent: longer than the controller takes");
        }
        notification.high = self.terms.high;
        notification.specifier |= self.specifier & Specifier::SEQUENCE;
        self.specifier = self.specifier.wrapping_add(1);
        self.waiting.push_back(notification);
        Ok(())
    }

    /// When something is to be done.
    pub fn due(&self) -> Option<Nanos> {
        match &self.sent {
            Some(sent) => sent.again_at,
            None if self.waiting.is_empty() => None,
            None => Some(0),
        }
    }

    /// Sends what is due.
    ///
    /// # Errors
    /// If the controller does not acknowledge.
    pub fn run(&mut self, now: Nanos, send: &mut dyn FnMut(&[u8])) -> Result<(), Status> {
        let Some(sent) = &mut self.sent else {
            let Some(notification) = self.waiting.pop_front() else { return Ok(()) };
            let data = notification.encode();
            let again_at = Some(now + self.terms.timeout);
            self.last = self.next;
            self.next = next_sequence(self.next);
            send(&self.frame(Kind::Data, &data));
            self.sent = Some(Sent { notification, data, again_at, repeated: 0 });
            return Ok(());
        };
        if sent.again_at.is_none_or(|at| at > now) {
            return Ok(());
        }
        if sent.repeated == self.terms.retries {
            return Err(Status::ALARM_NOT_SENT);
        }
        sent.repeated += 1;
        sent.again_at = Some(now + self.terms.timeout);
        let data = std::mem::take(&mut sent.data);
        send(&self.frame(Kind::Data, &data));
        if let Some(sent) = &mut self.sent {
            sent.data = data;
        }
        Ok(())
    }

    /// Something came for this end.
    pub fn receive(&mut self, pdu: &Rta<'_>, send: &mut dyn FnMut(&[u8])) -> Event {
        if pdu.to != self.terms.local || pdu.from != self.terms.remote {
            return Event::Dropped("alarm of another connection");
        }
        if pdu.kind == Kind::Error {
            return Event::Ended(pdu.status().unwrap_or(Status::ALARM_ERROR));
        }
        if let Some(sent) = &mut self.sent
            && pdu.acknowledged == self.last
            && pdu.kind != Kind::Nack
        {
            sent.again_at = None;
        }
        match pdu.kind {
            Kind::Data => self.data(pdu, send),
            Kind::Nack => Event::Dropped("alarm refused by the controller"),
            Kind::Ack | Kind::Error => Event::Nothing,
        }
    }

    fn data(&mut self, pdu: &Rta<'_>, send: &mut dyn FnMut(&[u8])) -> Event {
        if pdu.sequence == self.received && pdu.sequence != ACKNOWLEDGED_START {
            send(&self.frame(Kind::Ack, &[]));
            return Event::Dropped("alarm repeated");
        }
        if pdu.sequence != self.expected {
            return Event::Dropped("alarm out of sequence");
        }
        self.received = pdu.sequence;
        self.expected = next_sequence(pdu.sequence);
        send(&self.frame(Kind::Ack, &[]));
        let Ok(answer) = Answer::decode(pdu.data) else { return Event::Dropped("alarm that is no answer") };
        let is_it = self.sent.as_ref().is_some_and(|sent| {
            let Notification { kind, slot, subslot, specifier, .. } = sent.notification;
            (kind, slot, subslot, specifier) == (answer.kind, answer.slot, answer.subslot, answer.specifier)
        });
        if !is_it {
            return Event::Dropped("answer to an alarm that was not sent");
        }
        self.sent = None;
        Event::Answered(answer)
    }

    /// The PDU that says that the connection is over.
    pub fn error(&self, status: Status) -> Vec<u8> {
        self.frame(Kind::Error, &status.0.to_be_bytes())
    }

    fn frame(&self, kind: Kind, data: &[u8]) -> Vec<u8> {
        let Terms { to, from, remote, local, tag, high, .. } = self.terms;
        let pdu = Rta {
            to: remote,
            from: local,
            kind,
            acknowledge: kind == Kind::Data,
            sequence: self.last,
            acknowledged: self.received,
            data,
        };
        // An error is no data: in front of the first data it has the number of the first.
        let pdu = if kind == Kind::Error { Rta { sequence: self.next, ..pdu } } else { pdu };
        pdu.encode(&Ethernet { to, from, tag: Some(tag), frame_id: if high { HIGH } else { LOW } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::profinet::wire::rta::AlarmType;

    const TIMEOUT: Nanos = 100_000_000;

    fn end() -> AlarmEnd {
        let (to, from) = (Mac([2, 0, 0, 0, 0, 1]), Mac([2, 0, 0, 0, 0, 2]));
        AlarmEnd::new(Terms {
            to,
            from,
            remote: 7,
            local: 9,
            tag: 0xc000,
            high: true,
            timeout: TIMEOUT,
            retries: 3,
            bytes_max: 200,
        })
    }

    fn alarm() -> Notification {
        Notification { kind: AlarmType::PROCESS, slot: 1, subslot: 1, data: vec![1], ..Notification::default() }
    }

    fn run(end: &mut AlarmEnd, now: Nanos) -> (Result<(), Status>, Vec<Vec<u8>>) {
        let mut frames = Vec::new();
        let result = end.run(now, &mut |frame| frames.push(frame.to_vec()));
        (result, frames)
    }

    fn receive(end: &mut AlarmEnd, kind: Kind, sequence: u16, acknowledged: u16, data: &[u8]) -> (Event, usize) {
        let mut frames = 0;
        let pdu = Rta { to: 9, from: 7, kind, acknowledge: true, sequence, acknowledged, data };
        let event = end.receive(&pdu, &mut |_| frames += 1);
        (event, frames)
    }

    #[test]
    fn numbers_are_as_captured_and_then_wrap_within_15_bits() {
        let mut end = end();
        for (number, before) in [(0xffff, 0xfffe), (0, 0xffff), (1, 0)] {
            end.raise(alarm()).unwrap();
            let (_, frames) = run(&mut end, 0);
            let (_, rest) = Ethernet::decode(&frames[0]).unwrap();
            let pdu = Rta::decode(rest).unwrap();
            assert_eq!((pdu.sequence, pdu.acknowledged), (number, before));
            assert_eq!(receive(&mut end, Kind::Ack, before, number, &[]), (Event::Nothing, 0));
            assert_eq!(end.due(), None);
            let sent = Notification::decode(pdu.data).unwrap();
            let answer = Answer {
                high: true,
                kind: sent.kind,
                slot: 1,
                subslot: 1,
                specifier: sent.specifier,
                ..Answer::default()
            };
            assert_eq!(receive(&mut end, Kind::Data, number, number, &answer.encode()), (Event::Answered(answer), 1));
            let again = receive(&mut end, Kind::Data, number, number, &answer.encode());
            assert_eq!(again, (Event::Dropped("alarm repeated"), 1));
        }
    }

    #[test]
    fn an_alarm_is_repeated_and_then_given_up() {
        let mut end = end();
        end.raise(alarm()).unwrap();
        for n in 0..4 {
            let (result, frames) = run(&mut end, n * TIMEOUT);
            assert_eq!((result, frames.len()), (Ok(()), 1));
            assert_eq!(run(&mut end, n * TIMEOUT + 1).1.len(), 0);
        }
        assert_eq!(run(&mut end, 4 * TIMEOUT), (Err(Status::ALARM_NOT_SENT), vec![]));
    }

    #[test]
    fn what_waits_is_bounded_and_so_is_its_length() {
        let mut end = end();
        assert!(end.raise(Notification { data: vec![0; 171], ..alarm() }).is_err());
        (0..WAITING_MAX).for_each(|_| end.raise(alarm()).unwrap());
        assert!(end.raise(alarm()).is_err());
    }
}
