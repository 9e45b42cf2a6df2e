// SPDX-License-Identifier: Apache-2.0
//! The lane that is found, named and addressed: DCP's server and LLDP.
//!
//! Answers to an identification that went to all are spread over time by the station's own address, so that a thousand
//! stations do not answer at once. Whoever gets or sets something has the station to itself for [`HELD`].

mod set;
mod settings;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::net::Ipv4Addr;

pub use settings::{Identity, Settings};

use super::name::StationName;
use super::station::{DiscoverySide, Station, Store};
use super::wire::dcp::{self, Block, Frame, Item, Kind, Outcome, Service, Writer, frame_id};
use super::wire::{ETHERTYPE, lldp};
use crate::protocol::{Address, Lane, Mac, Nanos, Outbox, Port, Received, Source, Urgency};

const SECOND: Nanos = 1_000_000_000;
/// How long the one who got or set something has the station to itself.
pub const HELD: Nanos = 3 * SECOND;
/// Between two announcements to the neighbours, which are true for four times as long.
const ANNOUNCED_EVERY: Nanos = 5 * SECOND;
/// How long the owner of the address may take to agree to another.
const OWNER_ANSWERS_WITHIN: Nanos = SECOND;
/// How long a station that was asked to show itself blinks: three times, at 1 Hz.
pub const BLINKS: Nanos = 3 * SECOND;
/// Answers to identifications that wait for their time.
const WAITING_MAX: usize = 32;
/// Blocks of a Set.
const BLOCKS_MAX: usize = 32;
/// The key of the name in the [`Store`].
pub const NAME_KEY: &str = "profinet.name";

const DCP: usize = 0;
const LLDP: usize = 1;

/// All that can be got or set, in the order in which controllers have seen it from others.
const OPTIONS: [Item; 14] = [
    Item::IP,
    Item::MAC,
    Item::VENDOR,
    Item::NAME,
    Item::DEVICE_ID,
    Item::ROLE,
    Item::OPTIONS,
    Item::ALIAS,
    Item::START,
    Item::STOP,
    Item::SIGNAL,
    Item::FACTORY_RESET,
    Item::RESET_TO_FACTORY,
    Item::ALL,
];

#[derive(Debug, Default)]
struct Counters {
    malformed: u64,
    identified: u64,
    not_meant: u64,
    waiting_full: u64,
    got: u64,
    set: u64,
    refused: u64,
    held_by_another: u64,
    busy: u64,
    not_for_a_device: u64,
    announced: u64,
    neighbours_malformed: u64,
    blinked: u64,
}

/// An answer to a Set that waits for the owner of the address.
#[derive(Debug)]
struct Pending {
    wanted: Address,
    until: Nanos,
    client: Mac,
    transaction: u32,
    outcomes: Vec<(Item, Outcome)>,
}

/// A neighbour, as it announced itself.
#[derive(Debug)]
struct Neighbour {
    alias: Vec<u8>,
    until: Nanos,
}

/// The lane.
pub struct Discovery {
    settings: Settings,
    ports: Vec<Port>,
    side: DiscoverySide,
    store: Box<dyn Store>,
    station: Station,
    mac: Mac,
    address: Address,
    holder: Option<(Mac, Nanos)>,
    waiting: VecDeque<(Nanos, Mac, u32)>,
    pending: Option<Pending>,
    neighbour: Option<Neighbour>,
    announce_at: Option<Nanos>,
    blinks_until: Nanos,
    counters: Counters,
}

impl Discovery {
    /// A lane that is called what `store` says, or else what the settings say. `side` is told so at once.
    pub fn new(settings: Settings, mut side: DiscoverySide, store: Box<dyn Store>) -> Self {
        let kept = store.get(NAME_KEY).and_then(|name| StationName::new(name.as_bytes()).ok());
        let station = Station { name: kept.unwrap_or_else(|| settings.name.clone()), resets: 0 };
        side.publish(&station);
        let ethernet = |ethertype, group, first_word| Port::Ethernet { ethertype, groups: vec![group], first_word };
        Self {
            settings,
            ports: vec![
                ethernet(ETHERTYPE, dcp::IDENTIFY_GROUP, frame_id::GET_SET..=frame_id::IDENTIFY),
                ethernet(lldp::ETHERTYPE, lldp::GROUP, 0..=u16::MAX),
            ],
            side,
            store,
            station,
            mac: Mac::default(),
            address: Address { ip: Ipv4Addr::UNSPECIFIED, mask: Ipv4Addr::UNSPECIFIED, gateway: Ipv4Addr::UNSPECIFIED },
            holder: None,
            waiting: VecDeque::new(),
            pending: None,
            neighbour: None,
            announce_at: None,
            blinks_until: 0,
            counters: Counters::default(),
        }
    }

    /// Whether the device is to show which one it is.
    pub fn blinks(&self, now: Nanos) -> bool {
        now < self.blinks_until
    }

    /// What the station is called.
    pub fn name_of_station(&self) -> &StationName {
        &self.station.name
    }

    fn announce(&mut self, now: Nanos, out: &mut dyn Outbox) {
        let (chassis, port) = (self.settings.identity.system(), self.station.name.port());
        let announcement = lldp::Announcement {
            from: self.mac,
            chassis: chassis.as_bytes(),
            port: port.as_bytes(),
            seconds: (4 * ANNOUNCED_EVERY / SECOND) as u16,
            chassis_mac: Some(self.mac),
            link: Some(self.settings.link),
            management: Some((self.address.ip, self.settings.interface)),
        };
        out.frame(LLDP, &announcement.encode());
        self.counters.announced += 1;
        self.announce_at = Some(now + ANNOUNCED_EVERY);
    }

    /// Whether it is the one that is looked for: all filters must be met.
    fn is_meant(&self, now: Nanos, frame: &Frame<'_>) -> bool {
        let mut filters = 0;
        let all = frame.blocks().all(|Block { item, value }| {
            filters += 1;
            match item {
                Item::ALL => true,
                Item::ALIAS => {
                    self.neighbour.as_ref().is_some_and(|neighbour| now < neighbour.until && neighbour.alias == value)
                }
                Item::MAC => value == self.mac.0,
                Item::NAME => value == self.station.name.as_str().as_bytes(),
                _ => self.value(item).is_some_and(|own| own == value),
            }
        });
        all && filters > 0
    }

    /// What a Get of an option answers.
    fn value(&self, item: Item) -> Option<Vec<u8>> {
        let identity = &self.settings.identity;
        Some(match item {
            Item::MAC => self.mac.0.to_vec(),
            Item::IP => dcp::address_bytes(&self.address).to_vec(),
            Item::VENDOR => identity.product.clone().into_bytes(),
            Item::NAME => self.station.name.as_str().as_bytes().to_vec(),
            Item::DEVICE_ID => [identity.vendor.to_be_bytes(), identity.device.to_be_bytes()].concat(),
            // An IO device, and a byte that is reserved.
            Item::ROLE => vec![1, 0],
            Item::OPTIONS => OPTIONS.iter().flat_map(|Item(option, suboption)| [*option, *suboption]).collect(),
            Item::ALIAS => self.neighbour.as_ref()?.alias.clone(),
            _ => return None,
        })
    }

    /// BlockInfo: whether there is an address.
    fn info(&self, item: Item) -> u16 {
        u16::from(item == Item::IP && !self.address.ip.is_unspecified())
    }

    fn identify(&mut self, now: Nanos, frame: &Frame<'_>, out: &mut dyn Outbox) {
        if !self.is_meant(now, frame) {
            self.counters.not_meant += 1;
            return;
        }
        // Nobody else answers what was sent to this station alone.
        let delay = if frame.to.is_group() { self.delay(frame.delay) } else { 0 };
        if self.waiting.len() == WAITING_MAX {
            self.counters.waiting_full += 1;
        } else {
            self.waiting.push_back((now + delay, frame.from, frame.transaction));
            self.answer_identifications(now, out);
        }
    }

    /// How long an answer waits, of so many steps of 10 ms.
    fn delay(&self, steps: u16) -> Nanos {
        match steps {
            1..=6400 => u64::from(u16::from_be_bytes([self.mac.0[4], self.mac.0[5]]) % steps) * 10_000_000,
            _ => 0,
        }
    }

    fn answer_identifications(&mut self, now: Nanos, out: &mut dyn Outbox) {
        for _ in 0..self.waiting.len() {
            let Some((at, client, transaction)) = self.waiting.pop_front() else { return };
            if at > now {
                self.waiting.push_back((at, client, transaction));
                continue;
            }
            let writer = Writer::new(client, self.mac, Service::Identify, Kind::Done, transaction);
            let items = [Item::IP, Item::VENDOR, Item::NAME, Item::DEVICE_ID, Item::ROLE, Item::OPTIONS];
            let writer = items.into_iter().fold(writer, |writer, item| {
                writer.qualified(item, self.info(item), &self.value(item).unwrap_or_default())
            });
            out.frame(DCP, &writer.finish());
            self.counters.identified += 1;
        }
    }

    fn get(&mut self, frame: &Frame<'_>, out: &mut dyn Outbox) {
        let writer = Writer::new(frame.from, self.mac, Service::Get, Kind::Done, frame.transaction);
        let writer = frame.items().take(BLOCKS_MAX).fold(writer, |writer, item| match self.value(item) {
            // Repetition could make the answer longer than a frame.
            Some(value) if writer.bytes() + value.len() < 1200 => writer.qualified(item, self.info(item), &value),
            Some(_) => writer.outcome(item, Outcome::NoResource),
            None => writer.outcome(item, unknown(item)),
        });
        self.counters.got += 1;
        out.frame(DCP, &writer.finish());
    }

    fn changed(&mut self, now: Nanos, out: &mut dyn Outbox) {
        self.side.publish(&self.station);
        out.wake_others();
        self.announce(now, out);
    }

    fn receive_dcp(&mut self, now: Nanos, frame: &Frame<'_>, out: &mut dyn Outbox) {
        if frame.kind != Kind::Request || frame.from.is_group() {
            self.counters.not_for_a_device += 1;
            return;
        }
        match (frame.frame_id, frame.service) {
            (frame_id::IDENTIFY, Service::Identify) => self.identify(now, frame, out),
            (frame_id::GET_SET, service @ (Service::Get | Service::Set)) if frame.to == self.mac => {
                if self.holder.is_some_and(|(client, until)| client != frame.from && now < until) {
                    self.counters.held_by_another += 1;
                    return;
                }
                self.holder = Some((frame.from, now + HELD));
                if service == Service::Get { self.get(frame, out) } else { self.set(now, frame, out) }
            }
            (frame_id::GET_SET, service) if frame.to == self.mac => {
                let writer = Writer::new(frame.from, self.mac, service, Kind::Unsupported, frame.transaction);
                out.frame(DCP, &writer.with_frame_id(frame_id::GET_SET).finish());
                self.counters.refused += 1;
            }
            _ => self.counters.not_for_a_device += 1,
        }
    }

    fn receive_announcement(&mut self, now: Nanos, bytes: &[u8]) {
        let Ok(announcement) = lldp::Announcement::decode(bytes) else {
            self.counters.neighbours_malformed += 1;
            return;
        };
        self.neighbour = (announcement.seconds > 0)
            .then(|| Neighbour { alias: announcement.alias(), until: now + u64::from(announcement.seconds) * SECOND });
    }
}

/// Why there is no value of that option.
fn unknown(Item(option, _): Item) -> Outcome {
    if matches!(option, 1 | 2 | 5) { Outcome::SuboptionUnknown } else { Outcome::OptionUnknown }
}

impl Lane for Discovery {
    fn name(&self) -> &str {
        "profinet discovery"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn urgency(&self) -> Urgency {
        Urgency::Acyclic
    }

    fn receive(&mut self, now: Nanos, received: Received<'_>, out: &mut dyn Outbox) {
        if !matches!(received.from, Source::Ethernet(_)) {
            return;
        }
        if received.port == LLDP {
            return self.receive_announcement(now, received.bytes);
        }
        match Frame::decode(received.bytes) {
            Ok(frame) => self.receive_dcp(now, &frame, out),
            Err(_) => self.counters.malformed += 1,
        }
    }

    fn due(&self) -> Option<Nanos> {
        let waiting = self.waiting.iter().map(|(at, ..)| *at);
        let pending = self.pending.as_ref().map(|pending| pending.until);
        waiting.chain(pending).chain(self.announce_at).min()
    }

    fn run(&mut self, now: Nanos, out: &mut dyn Outbox) {
        self.answer_identifications(now, out);
        if let Some(mut pending) = self.pending.take_if(|pending| pending.until <= now) {
            for (item, outcome) in &mut pending.outcomes {
                if matches!(*item, Item::IP | Item::FACTORY_RESET | Item::RESET_TO_FACTORY) {
                    *outcome = Outcome::LocalReason;
                }
            }
            out.tell(&format!("profinet: {} wants another address, which was not agreed to", pending.client));
            self.answer_set(pending.client, pending.transaction, &pending.outcomes, out);
        }
        if self.announce_at.is_some_and(|at| at <= now) {
            self.announce(now, out);
        }
    }

    fn address_changed(&mut self, now: Nanos, mac: Mac, address: Address, out: &mut dyn Outbox) {
        (self.mac, self.address) = (mac, address);
        if let Some(pending) = self.pending.take_if(|pending| set::same_station(&pending.wanted, &address)) {
            self.answer_set(pending.client, pending.transaction, &pending.outcomes, out);
        }
        self.announce(now, out);
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let c = &self.counters;
        vec![
            ("identified", c.identified),
            ("identified: another was meant", c.not_meant),
            ("dropped: too many identifications wait", c.waiting_full),
            ("got", c.got),
            ("set", c.set),
            ("not set", c.refused),
            ("dropped: held by another client", c.held_by_another),
            ("dropped: another change is under way", c.busy),
            ("dropped: not for a device", c.not_for_a_device),
            ("dropped: malformed", c.malformed),
            ("dropped: malformed neighbour", c.neighbours_malformed),
            ("announced", c.announced),
            ("blinked", c.blinked),
        ]
    }
}
