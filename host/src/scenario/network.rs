// SPDX-License-Identifier: Apache-2.0
//! The device's network: which addresses can be hosts in it.

use std::net::Ipv4Addr;

use super::reader::Reader;

/// The address that peers have unless something else is said.
const PEER_PREFERRED: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// The device's address and the length of its network's prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Network {
    /// The device.
    pub device: Ipv4Addr,
    /// Length of the prefix.
    pub prefix: u8,
}

impl Network {
    /// From `10.0.0.1/24`; otherwise, why not.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Some((address, prefix)) = text.split_once('/') else {
            return Err("the prefix length is missing".to_owned());
        };
        let device: Ipv4Addr = address.parse().map_err(|_| format!("`{address}` is no IPv4 address"))?;
        let prefix: u8 = prefix.parse().map_err(|_| format!("`{prefix}` is no prefix length"))?;
        if !(8..=30).contains(&prefix) {
            return Err("the prefix length must be 8 to 30".to_owned());
        }
        if device.is_loopback() || device.is_multicast() || device.octets()[0] == 0 || device.octets()[0] >= 240 {
            return Err("no device can have this address".to_owned());
        }
        let network = Self { device, prefix };
        match network.reserved(device) {
            Some(what) => Err(format!("this is {what}")),
            None => Ok(network),
        }
    }

    /// The first address of the network.
    fn first(&self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.device.to_bits() & !self.hosts_mask())
    }

    /// The last address of the network.
    fn last(&self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.device.to_bits() | self.hosts_mask())
    }

    fn hosts_mask(&self) -> u32 {
        u32::MAX >> self.prefix
    }

    fn reserved(&self, address: Ipv4Addr) -> Option<&'static str> {
        if address == self.first() {
            Some("the network's own address")
        } else if address == self.last() {
            Some("the network's broadcast address")
        } else {
            None
        }
    }

    /// Why a peer cannot have this address.
    pub fn refusal(&self, peer: Ipv4Addr) -> Option<String> {
        if !(self.first()..=self.last()).contains(&peer) {
            return Some(format!("not in the device's network {}/{}", self.first(), self.prefix));
        }
        if peer == self.device {
            return Some("this is the device itself".to_owned());
        }
        self.reserved(peer).map(|what| format!("this is {what}"))
    }

    /// The address of a peer that is given none.
    pub fn peer(&self) -> Ipv4Addr {
        let hosts = self.first().to_bits() + 1..self.last().to_bits();
        let mut candidates = std::iter::once(PEER_PREFERRED).chain(hosts.map(Ipv4Addr::from_bits));
        candidates.find(|address| self.refusal(*address).is_none()).unwrap_or(PEER_PREFERRED)
    }
}

/// The address under `from`. `Ok(None)`: none given; `Err`: a wrong one, which is reported.
pub(super) fn sender(reader: &Reader<'_>, network: Option<Network>) -> Result<Option<Ipv4Addr>, ()> {
    if !reader.given("from") {
        return Ok(None);
    }
    let text = reader.text("from").ok_or(())?;
    let peer = network.map_or_else(|| "10.0.0.2".to_owned(), |network| network.peer().to_string());
    let help = format!("for example `from = \"{peer}\"`");
    let Ok(address) = text.parse::<Ipv4Addr>() else {
        reader.refuse("from", format!("`{text}` is no IPv4 address"), "must be an address", help);
        return Err(());
    };
    if let Some(why) = network.and_then(|network| network.refusal(address)) {
        reader.refuse("from", format!("{address} cannot be a sender"), why, help);
        return Err(());
    }
    Ok(Some(address))
}
