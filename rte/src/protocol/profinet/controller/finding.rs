// SPDX-License-Identifier: Apache-2.0
//! How the controller finds its device by DCP, and gives it its address.

use super::super::wire::dcp::{self, Frame, Item, Kind, Outcome, Service, Writer};
use super::Phase;
use super::lane::{Controller, FRAMES, SECOND, State};
use crate::protocol::{Nanos, Outbox};

/// How often the device is told its address.
const ADDRESSING_TRIES: u32 = 4;

impl Controller {
    pub(super) fn look(&mut self, now: Nanos, out: &mut dyn Outbox) {
        self.transaction = self.transaction.wrapping_add(1);
        let writer =
            Writer::new(dcp::IDENTIFY_GROUP, self.mac, Service::Identify, Kind::Request, self.transaction).delay(1);
        out.frame(FRAMES, &writer.block(Item::NAME, self.settings.station.as_str().as_bytes()).finish());
        self.state = State::Looking { again_at: now + SECOND };
        self.enter(Phase::Looking);
    }

    pub(super) fn receive_dcp(&mut self, now: Nanos, bytes: &[u8], out: &mut dyn Outbox) {
        let Ok(frame) = Frame::decode(bytes) else { return self.count("dropped: malformed") };
        if frame.transaction != self.transaction || frame.kind != Kind::Done {
            return self.count("dropped: DCP of another");
        }
        match (frame.service, &self.state) {
            (Service::Identify, State::Looking { .. }) => self.found(now, &frame, out),
            (Service::Identify, State::Connected(connection)) if connection.mac != frame.from => {
                self.double(&frame, out)
            }
            (Service::Set, State::Addressing { mac, wanted, .. }) if *mac == frame.from => {
                let outcome = frame.blocks().find(|block| block.item == Item::RESPONSE && block.value.len() == 3);
                match outcome.map_or(u8::MAX, |block| block.value[2]) {
                    0 => self.connect(now, frame.from, wanted.ip, out),
                    code => {
                        self.pause(now, &format!("the device does not take its address: {}", Outcome::text(code)), out)
                    }
                }
            }
            _ => {}
        }
    }

    fn double(&mut self, frame: &Frame<'_>, out: &mut dyn Outbox) {
        self.count("another station has the same name");
        if !std::mem::replace(&mut self.doubles_told, true) {
            let name = &self.settings.station;
            out.tell(&format!("profinet controller: {} is called \"{name}\", too: give it another name", frame.from));
        }
    }

    fn found(&mut self, now: Nanos, frame: &Frame<'_>, out: &mut dyn Outbox) {
        let Some(address) = frame.answer(Item::IP).and_then(dcp::address) else {
            return self.count("dropped: malformed");
        };
        if frame.answer(Item::NAME) != Some(self.settings.station.as_str().as_bytes()) {
            return self.count("dropped: DCP of another");
        }
        match self.settings.address {
            Some(wanted) if (wanted.ip, wanted.mask) != (address.ip, address.mask) => {
                self.state = State::Addressing { mac: frame.from, wanted, again_at: now, tries: 0 };
                self.enter(Phase::Addressing);
                self.run_addressing(now, out);
            }
            _ if address.ip.is_unspecified() => {
                self.pause(now, "the device has no address: give it one with --address, or weir-io dcp set-ip", out);
            }
            _ => self.connect(now, frame.from, address.ip, out),
        }
    }

    pub(super) fn run_addressing(&mut self, now: Nanos, out: &mut dyn Outbox) {
        let State::Addressing { mac, wanted, again_at, tries } = &mut self.state else { return };
        if *tries == ADDRESSING_TRIES {
            return self.pause(now, "the device does not answer when it is given an address", out);
        }
        (*again_at, *tries) = (now + SECOND, *tries + 1);
        let (mac, wanted) = (*mac, dcp::address_bytes(wanted));
        let writer = Writer::new(mac, self.mac, Service::Set, Kind::Request, self.transaction);
        out.frame(FRAMES, &writer.qualified(Item::IP, 0, &wanted).finish());
    }
}
