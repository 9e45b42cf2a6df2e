// SPDX-License-Identifier: Apache-2.0
//! What a Set does: name, address, signal, reset.

use std::net::Ipv4Addr;

use super::super::name::StationName;
use super::super::station::Station;
use super::super::wire::dcp::{self, Frame, Item, Kind, Outcome, Service, Writer};
use super::{BLINKS, BLOCKS_MAX, DCP, Discovery, NAME_KEY, OWNER_ANSWERS_WITHIN, Pending, unknown};
use crate::protocol::{Address, AddressRequest, Mac, Nanos, Outbox};

impl Discovery {
    pub(super) fn set(&mut self, now: Nanos, frame: &Frame<'_>, out: &mut dyn Outbox) {
        if self.pending.is_some() || frame.blocks().count() > BLOCKS_MAX {
            self.counters.busy += 1;
            return;
        }
        let mut outcomes = Vec::new();
        let mut wanted = None;
        for block in frame.blocks() {
            let outcome = match (block.item, block.qualified()) {
                (Item::IP, Some((qualifier, value))) => self.set_address(qualifier, value, &mut wanted, out),
                (Item::NAME, Some((qualifier, value))) => self.set_name(now, qualifier & 1 == 1, value, out),
                (Item::SIGNAL, Some((_, [1, 0]))) => self.blink(now, frame.from, out),
                (Item::FACTORY_RESET, Some(_)) => self.reset(now, &mut wanted, out),
                // Modes 1 and 2: application data, of which there is none, and the communication's.
                (Item::RESET_TO_FACTORY, Some((qualifier, _))) => match qualifier >> 1 {
                    1 => Outcome::Done,
                    2..=4 | 8 => self.reset(now, &mut wanted, out),
                    _ => Outcome::NotSet,
                },
                (Item::START | Item::STOP, _) => Outcome::Done,
                (Item::SIGNAL | Item::RESET_TO_FACTORY | Item::FACTORY_RESET | Item::IP | Item::NAME, _) => {
                    Outcome::NotSet
                }
                (item, _) => unknown(item),
            };
            outcomes.push((block.item, outcome));
        }
        let (client, transaction) = (frame.from, frame.transaction);
        match wanted {
            Some(wanted) => {
                self.pending =
                    Some(Pending { wanted, until: now + OWNER_ANSWERS_WITHIN, client, transaction, outcomes });
            }
            None => self.answer_set(client, transaction, &outcomes, out),
        }
    }

    pub(super) fn answer_set(
        &mut self,
        client: Mac,
        transaction: u32,
        outcomes: &[(Item, Outcome)],
        out: &mut dyn Outbox,
    ) {
        self.counters.set += outcomes.iter().filter(|(_, outcome)| *outcome == Outcome::Done).count() as u64;
        self.counters.refused += outcomes.iter().filter(|(_, outcome)| *outcome != Outcome::Done).count() as u64;
        let writer = Writer::new(client, self.mac, Service::Set, Kind::Done, transaction);
        out.frame(
            DCP,
            &outcomes.iter().fold(writer, |writer, (item, outcome)| writer.outcome(*item, *outcome)).finish(),
        );
    }

    fn set_address(
        &mut self,
        qualifier: u16,
        value: &[u8],
        wanted: &mut Option<Address>,
        out: &mut dyn Outbox,
    ) -> Outcome {
        let Some(address) = dcp::address(value).filter(is_usable) else { return Outcome::NotSet };
        let is_another = !same_station(&address, &self.address);
        if is_another && self.side.is_connected() {
            return Outcome::InOperation;
        }
        // Also if it is the same: it may have to be kept over a restart from now on.
        out.request_address(AddressRequest { address, permanent: qualifier & 1 == 1 });
        if is_another {
            *wanted = Some(address);
        }
        Outcome::Done
    }

    fn set_name(&mut self, now: Nanos, permanent: bool, value: &[u8], out: &mut dyn Outbox) -> Outcome {
        let Ok(name) = StationName::new(value) else { return Outcome::NotSet };
        if name != self.station.name && self.side.is_connected() {
            return Outcome::InOperation;
        }
        // A name that is not to be kept replaces one that was: the station has none after a restart.
        let kept = if permanent { name.as_str() } else { "" };
        let is_kept = self.store.get(NAME_KEY).as_deref() == Some(kept);
        if let Err(why) = if is_kept { Ok(()) } else { self.store.put(NAME_KEY, kept) } {
            out.tell(&format!("profinet: the station's new name cannot be kept: {why}"));
            return Outcome::NoResource;
        }
        if name != self.station.name {
            out.tell(&format!("profinet: the station is called \"{name}\" now, not \"{}\"", self.station.name));
            self.station.name = name;
            self.changed(now, out);
        }
        Outcome::Done
    }

    fn blink(&mut self, now: Nanos, client: Mac, out: &mut dyn Outbox) -> Outcome {
        if !self.blinks(now) {
            out.tell(&format!("profinet: {client} asks which device this is: blinking for 3 s"));
        }
        self.blinks_until = now + BLINKS;
        self.counters.blinked += 1;
        Outcome::Done
    }

    /// Everything that was set over the network is forgotten; connections end.
    fn reset(&mut self, now: Nanos, wanted: &mut Option<Address>, out: &mut dyn Outbox) -> Outcome {
        if let Err(why) = self.store.put(NAME_KEY, "") {
            out.tell(&format!("profinet: the station cannot be reset: {why}"));
            return Outcome::NoResource;
        }
        out.tell("profinet: the station was reset: it has no name and no address");
        self.station = Station { name: StationName::default(), resets: self.station.resets + 1 };
        let none = Ipv4Addr::UNSPECIFIED;
        let address = Address { ip: none, mask: none, gateway: none };
        out.request_address(AddressRequest { address, permanent: true });
        if !same_station(&address, &self.address) {
            *wanted = Some(address);
        }
        self.changed(now, out);
        Outcome::Done
    }
}

/// Whether two addresses are the same but for the gateway, which an interface may not have as it was written.
pub(super) fn same_station(a: &Address, b: &Address) -> bool {
    (a.ip, a.mask) == (b.ip, b.mask)
}

/// Whether a station can have that address: none, or one of a host in a network, with a gateway of that network.
fn is_usable(address: &Address) -> bool {
    let [ip, mask, gateway] = [address.ip, address.mask, address.gateway].map(u32::from);
    if ip == 0 {
        return mask == 0 && gateway == 0;
    }
    let host = ip & !mask;
    let is_mask = mask.leading_ones() + mask.trailing_zeros() == 32 && (1..=30).contains(&mask.leading_ones());
    let is_host = host != 0 && host != !mask && !address.ip.is_loopback() && ip < 0xe000_0000;
    is_mask && is_host && (gateway == 0 || gateway & mask == ip & mask)
}
