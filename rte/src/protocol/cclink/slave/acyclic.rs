// SPDX-License-Identifier: Apache-2.0
//! The lane that answers searches and takes addresses.

use std::net::{Ipv4Addr, SocketAddrV4};

use super::super::wire::Malformed;
use super::super::wire::slmp::{Answer, Asker, BYTES_MAX, Command, Found, Request, Response};
use super::super::{Identity, SLMP_PORT};
use super::Settings;
use crate::protocol::{Address, AddressRequest, Lane, Mac, Nanos, Outbox, Port, Received, Source, Urgency};

const MS: Nanos = 1_000_000;
/// Commands and answers go to all.
const ALL: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::BROADCAST, SLMP_PORT);
/// Searches that are waiting for their answer at once.
const SEARCHES_MAX: usize = 4;
/// How long the owner of the address has for its decision. Masters wait for 500 ms.
const DECISION: Nanos = 300 * MS;

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    searches: u64,
    addresses_taken: u64,
    addresses_refused: u64,
    for_others: u64,
    too_many: u64,
    malformed: [u64; Malformed::ALL.len()],
}

/// Something that is done later.
#[derive(Clone, Copy, Debug)]
struct Later {
    at: Nanos,
    serial: u16,
    asker: Asker,
}

/// The lane.
pub struct Acyclic {
    name: String,
    ports: [Port; 1],
    identity: Identity,
    may_set_address: bool,
    mac: Mac,
    address: Address,
    searches: [Option<Later>; SEARCHES_MAX],
    /// The address that the owner is asked for, and until when.
    asked: Option<(Later, Address)>,
    counts: Counts,
}

/// How long a slave waits before it answers a search, so that not all do at once: 0 to 1023 ms, from its Ethernet
/// address. Bit k of the last byte weighs 512 / 2^k ms, bits 0 and 1 of the one before it 2 and 1 ms.
pub fn answer_delay_ms(mac: Mac) -> u64 {
    let [.., before, last] = mac.0;
    let low = u64::from(before & 1) << 1 | u64::from(before >> 1 & 1);
    u64::from(last.reverse_bits()) << 2 | low
}

impl Acyclic {
    pub(super) fn new(settings: &Settings) -> Self {
        let none = Ipv4Addr::UNSPECIFIED;
        Self {
            name: format!("{} acyclic", settings.name),
            ports: [Port::Udp { port: SLMP_PORT }],
            identity: settings.identity,
            may_set_address: settings.may_set_address,
            mac: Mac::default(),
            address: Address { ip: none, mask: none, gateway: none },
            searches: [None; SEARCHES_MAX],
            asked: None,
            counts: Counts::default(),
        }
    }

    fn send(&self, response: Response, out: &mut dyn Outbox) {
        let mut buffer = [0; BYTES_MAX];
        let length = response.write(&mut buffer);
        out.datagram(0, ALL, &buffer[..length]);
    }

    fn searched(&mut self, now: Nanos, serial: u16, asker: Asker) {
        let later = Later { at: now + answer_delay_ms(self.mac) * MS, serial, asker };
        let place = self.searches.iter().position(|search| search.is_some_and(|search| search.asker == asker));
        match place.or_else(|| self.searches.iter().position(Option::is_none)) {
            // Who asks again before the answer does not wait longer for it.
            Some(place) => {
                let at = self.searches[place].map_or(later.at, |earlier| earlier.at);
                self.searches[place] = Some(Later { at, ..later });
            }
            None => self.counts.too_many += 1,
        }
    }

    fn found(&mut self, search: Later, out: &mut dyn Outbox) {
        self.counts.searches += 1;
        let found = Found {
            mac: self.mac,
            address: self.address,
            vendor: self.identity.vendor,
            model: self.identity.model,
            equipment_version: self.identity.equipment_version,
            status: 0,
            port: SLMP_PORT,
        };
        self.send(Response { serial: search.serial, answer: Answer::Found(search.asker, found) }, out);
    }

    fn refuse(&mut self, serial: u16, asker: Asker, address: Address, why: &str, out: &mut dyn Outbox) {
        self.counts.addresses_refused += 1;
        self.send(Response::address_refused(serial), out);
        out.tell(&format!("master {} wants this slave to be {}: {why}", asker.ip, address.ip));
    }

    fn take(&mut self, serial: u16, asker: Asker, out: &mut dyn Outbox) {
        self.counts.addresses_taken += 1;
        self.send(Response { serial, answer: Answer::Set(asker.mac) }, out);
    }

    fn set(&mut self, now: Nanos, serial: u16, asker: Asker, address: Address, out: &mut dyn Outbox) {
        if !self.may_set_address {
            return self.refuse(serial, asker, address, "refused, the configuration has set_address = false", out);
        }
        if !is_for_a_station(address) {
            return self.refuse(serial, asker, address, "refused, a station cannot have that address", out);
        }
        if (address.ip, address.mask) == (self.address.ip, self.address.mask) {
            return self.take(serial, asker, out);
        }
        if self.asked.is_some() {
            return self.refuse(serial, asker, address, "refused, another change is under way", out);
        }
        self.asked = Some((Later { at: now + DECISION, serial, asker }, address));
        let gateway = if address.gateway.is_unspecified() { self.address.gateway } else { address.gateway };
        let is_near = u32::from(gateway) & u32::from(address.mask) == u32::from(address.ip) & u32::from(address.mask);
        let gateway = if is_near { gateway } else { Ipv4Addr::UNSPECIFIED };
        out.request_address(AddressRequest { address: Address { gateway, ..address }, permanent: true });
    }
}

/// Whether a station can have it: no group, no broadcast, and the mask is one.
fn is_for_a_station(Address { ip, mask, .. }: Address) -> bool {
    let (host, mask) = (u32::from(ip) & !u32::from(mask), u32::from(mask));
    let is_mask = (1..=30).contains(&mask.leading_ones()) && mask.leading_ones() + mask.trailing_zeros() == 32;
    let is_common = !(ip.is_unspecified() || ip.is_loopback() || ip.is_multicast() || ip.octets()[0] >= 240);
    is_mask && is_common && host != 0 && host != !mask
}

impl Lane for Acyclic {
    fn name(&self) -> &str {
        &self.name
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn urgency(&self) -> Urgency {
        Urgency::Acyclic
    }

    fn receive(&mut self, now: Nanos, received: Received<'_>, out: &mut dyn Outbox) {
        let Source::Udp(_) = received.from else { return };
        match Request::read(received.bytes) {
            // Other slaves' answers come to all, too.
            Err(_) if Response::read(received.bytes).is_ok() => self.counts.for_others += 1,
            Err(why) => self.counts.malformed[why as usize] += 1,
            Ok(Request { serial, asker, command: Command::NodeSearch }) => self.searched(now, serial, asker),
            Ok(Request { serial, asker, command: Command::AddressSet(mac, address) }) => {
                if mac == self.mac {
                    self.set(now, serial, asker, address, out);
                } else {
                    self.counts.for_others += 1;
                }
            }
        }
    }

    fn due(&self) -> Option<Nanos> {
        let asked = self.asked.iter().map(|(later, _)| later.at);
        self.searches.iter().flatten().map(|search| search.at).chain(asked).min()
    }

    fn run(&mut self, now: Nanos, out: &mut dyn Outbox) {
        for place in 0..SEARCHES_MAX {
            if let Some(search) = self.searches[place].take_if(|search| search.at <= now) {
                self.found(search, out);
            }
        }
        if let Some((later, address)) = self.asked.take_if(|(later, _)| later.at <= now) {
            self.refuse(later.serial, later.asker, address, "refused by the owner of the interface's address", out);
        }
    }

    fn address_changed(&mut self, _now: Nanos, mac: Mac, address: Address, out: &mut dyn Outbox) {
        (self.mac, self.address) = (mac, address);
        let is_it = |asked: &mut (Later, Address)| (asked.1.ip, asked.1.mask) == (address.ip, address.mask);
        if let Some((later, _)) = self.asked.take_if(is_it) {
            self.take(later.serial, later.asker, out);
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let counts = &self.counts;
        let mut all = vec![
            ("searches answered", counts.searches),
            ("addresses taken", counts.addresses_taken),
            ("addresses refused", counts.addresses_refused),
            ("for others", counts.for_others),
            ("dropped: too many searches", counts.too_many),
        ];
        all.extend(Malformed::ALL.map(|why| (why.name(), counts.malformed[why as usize])));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ApplicationStop, MasterStop};
    use super::*;
    use crate::application::layout::{Layout, Order};

    /// The Ethernet addresses and delays of two captures: 971 ms and 197 ms (cciefb-v2-slmp-seterror-masterstate and
    /// cciefb-v2-slmp-setip-ok, where the answers came 973 and 198 ms after the requests).
    #[test]
    fn the_delay_is_that_of_captured_slaves() {
        assert_eq!(answer_delay_ms(Mac([0xd2, 0xc6, 0x4a, 0xaf, 0xe3, 0x4f])), 971);
        assert_eq!(answer_delay_ms(Mac([0x2e, 0xc2, 0x9d, 0xfa, 0xe6, 0x8c])), 197);
        assert_eq!(answer_delay_ms(Mac::BROADCAST), 1023);
    }

    #[test]
    fn who_searches_again_and_again_does_not_wait_longer() {
        let none = Layout::new(Order::Little);
        let mut slave = Acyclic::new(&Settings {
            name: "slave".to_owned(),
            identity: Identity { vendor: 1, model: 1, equipment_version: 1 },
            version: 2,
            stations: 1,
            rx: none.clone(),
            rwr: none.clone(),
            ry: none.clone(),
            rww: none,
            application_stop: ApplicationStop::Report,
            application_error: 1,
            master_stop: MasterStop::Safe,
            may_set_address: false,
            cycle: MS,
        });
        let asker = Asker { mac: Mac::default(), ip: Ipv4Addr::LOCALHOST };
        slave.mac = Mac::BROADCAST;
        for n in 0..3 {
            slave.searched(u64::from(n) * 500 * MS, n, asker);
            assert_eq!(slave.due(), Some(1023 * MS));
        }
        assert_eq!(slave.searches[0].map(|search| search.serial), Some(2), "it waits for the answer to its last");
    }

    #[test]
    fn only_addresses_of_stations_are_taken() {
        let good = |ip: [u8; 4], mask: [u8; 4]| {
            is_for_a_station(Address { ip: ip.into(), mask: mask.into(), gateway: Ipv4Addr::UNSPECIFIED })
        };
        assert!(good([192, 168, 3, 1], [255, 255, 255, 0]));
        assert!(!good([192, 168, 3, 0], [255, 255, 255, 0]));
        assert!(!good([192, 168, 3, 255], [255, 255, 255, 0]));
        assert!(!good([192, 168, 3, 1], [255, 0, 255, 0]));
        assert!(!good([192, 168, 3, 1], [0, 0, 0, 0]));
        assert!(!good([192, 168, 3, 1], [255, 255, 255, 255]));
        assert!(!good([224, 0, 0, 1], [255, 255, 255, 0]));
        assert!(!good([127, 0, 0, 1], [255, 255, 255, 0]));
        assert!(!good([0, 0, 0, 0], [255, 255, 255, 0]));
    }
}
