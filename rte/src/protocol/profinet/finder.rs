// SPDX-License-Identifier: Apache-2.0
//! A tool: asks stations for what they are, names and addresses them.

use std::net::Ipv4Addr;
use std::sync::mpsc::SyncSender;

use super::name::StationName;
use super::wire::ETHERTYPE;
use super::wire::dcp::{self, Frame, IDENTIFY_GROUP, Item, Kind, Service, Writer, frame_id};
use crate::protocol::{Address, Lane, Mac, Nanos, Outbox, Port, Received, Urgency};

const SECOND: Nanos = 1_000_000_000;
/// Answers to an identification are spread over 64 times 10 ms.
const SPREAD: u16 = 64;
/// How long answers to an identification are waited for.
const ANSWERS_WITHIN: Nanos = 2 * SECOND;
/// How often something is asked that is not answered.
const TRIES: u32 = 3;

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// Which stations there are.
    Who,
    /// The station is to be called that. `true`: after a restart, too.
    Name(Mac, StationName, bool),
    /// The station is to have that address. `true`: after a restart, too.
    Address(Mac, Address, bool),
    /// The station is to blink.
    Blink(Mac),
}

/// A station that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its Ethernet address.
    pub mac: Mac,
    /// Its name; empty if it has none. What is not printable is replaced.
    pub name: String,
    /// Its address.
    pub address: Address,
    /// What it is.
    pub product: String,
    /// The numbers of its vendor and of the device.
    pub device: Option<(u16, u16)>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A station.
    Found(Found),
    /// What the station made of it: 0 is done, see [`dcp::Outcome::text`].
    Outcome(u8),
    /// No more answers are waited for.
    End,
}

/// The lane.
pub struct Finder {
    question: Question,
    answers: SyncSender<Answer>,
    ports: Vec<Port>,
    transaction: u32,
    mac: Mac,
    again_at: Option<Nanos>,
    tries: u32,
    heard: u64,
    malformed: u64,
    not_heard: u64,
}

impl Finder {
    /// Asks once it runs. `transaction` tells its answers from those to others.
    pub fn new(question: Question, transaction: u32, answers: SyncSender<Answer>) -> Self {
        let first_word = frame_id::GET_SET..=frame_id::IDENTIFIED;
        Self {
            question,
            answers,
            ports: vec![Port::Ethernet { ethertype: ETHERTYPE, groups: Vec::new(), first_word }],
            transaction,
            mac: Mac::default(),
            again_at: Some(0),
            tries: 0,
            heard: 0,
            malformed: 0,
            not_heard: 0,
        }
    }

    fn answer(&mut self, answer: Answer) {
        if self.answers.try_send(answer).is_err() {
            self.not_heard += 1;
        }
    }

    fn request(&self) -> Vec<u8> {
        let set = |mac| Writer::new(mac, self.mac, Service::Set, Kind::Request, self.transaction);
        match &self.question {
            Question::Who => Writer::new(IDENTIFY_GROUP, self.mac, Service::Identify, Kind::Request, self.transaction)
                .delay(SPREAD)
                .block(Item::ALL, &[]),
            Question::Name(mac, name, permanent) => {
                set(*mac).qualified(Item::NAME, u16::from(*permanent), name.as_str().as_bytes())
            }
            Question::Address(mac, address, permanent) => {
                set(*mac).qualified(Item::IP, u16::from(*permanent), &dcp::address_bytes(address))
            }
            // "Flash once" is the only signal that there is.
            Question::Blink(mac) => set(*mac).qualified(Item::SIGNAL, 0, &[1, 0]),
        }
        .finish()
    }

    fn heard(&mut self, frame: &Frame<'_>) {
        self.heard += 1;
        if frame.service == Service::Set {
            let outcome = frame.blocks().find(|block| block.item == Item::RESPONSE && block.value.len() == 3);
            self.answer(Answer::Outcome(outcome.map_or(u8::MAX, |block| block.value[2])));
            self.again_at = None;
            return self.answer(Answer::End);
        }
        let text = |item| frame.answer(item).map_or(String::new(), visible);
        let none = Ipv4Addr::UNSPECIFIED;
        let none = Address { ip: none, mask: none, gateway: none };
        let device = frame.answer(Item::DEVICE_ID).and_then(|id| <[u8; 4]>::try_from(id).ok());
        self.answer(Answer::Found(Found {
            mac: frame.from,
            name: text(Item::NAME),
            address: frame.answer(Item::IP).and_then(dcp::address).unwrap_or(none),
            product: text(Item::VENDOR),
            device: device.map(|[a, b, c, d]| (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))),
        }));
    }
}

/// Text from the network, fit for a terminal.
fn visible(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| if (0x20..0x7f).contains(byte) { char::from(*byte) } else { '?' }).collect()
}

impl Lane for Finder {
    fn name(&self) -> &str {
        "profinet finder"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn urgency(&self) -> Urgency {
        Urgency::Acyclic
    }

    fn receive(&mut self, _now: Nanos, received: Received<'_>, _out: &mut dyn Outbox) {
        match Frame::decode(received.bytes) {
            Ok(frame) if frame.kind == Kind::Done && frame.transaction == self.transaction => self.heard(&frame),
            Ok(_) => {}
            Err(_) => self.malformed += 1,
        }
    }

    fn due(&self) -> Option<Nanos> {
        self.again_at
    }

    fn run(&mut self, now: Nanos, out: &mut dyn Outbox) {
        if self.again_at.is_none_or(|at| at > now) {
            return;
        }
        let tries = if self.question == Question::Who { 1 } else { TRIES };
        if self.tries == tries {
            self.again_at = None;
            return self.answer(Answer::End);
        }
        out.frame(0, &self.request());
        self.tries += 1;
        self.again_at = Some(now + ANSWERS_WITHIN);
    }

    fn address_changed(&mut self, _now: Nanos, mac: Mac, _address: Address, _out: &mut dyn Outbox) {
        self.mac = mac;
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let (heard, malformed, not_heard) = (self.heard, self.malformed, self.not_heard);
        vec![("answers", heard), ("dropped: malformed", malformed), ("answers that nobody heard", not_heard)]
    }
}
