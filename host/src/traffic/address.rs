// SPDX-License-Identifier: Apache-2.0
//! Addresses of senders.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

/// MAC address of the sender with this IPv4 address: locally administered, `02:00` and the address.
pub fn mac_of(address: Ipv4Addr) -> [u8; 6] {
    let [a, b, c, d] = address.octets();
    [0x02, 0x00, a, b, c, d]
}

/// The device's subnet, and which of its addresses are given away.
#[derive(Debug, Clone)]
pub struct Subnet {
    device: Ipv4Addr,
    mask: u32,
    taken: BTreeSet<Ipv4Addr>,
    avoided: BTreeSet<Ipv4Addr>,
    next_host: u32,
}

impl Subnet {
    /// The subnet around the device.
    pub fn new(device: Ipv4Addr, prefix: u8) -> Subnet {
        let mask = u32::MAX.checked_shl(32 - u32::from(prefix.min(32))).unwrap_or(0);
        Subnet { device, mask, taken: BTreeSet::from([device]), avoided: BTreeSet::new(), next_host: 1 }
    }

    /// Address of the device.
    pub fn device(&self) -> Ipv4Addr {
        self.device
    }

    /// The subnet's own broadcast address.
    pub fn broadcast(&self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.device.to_bits() | !self.mask)
    }

    /// Hosts that the subnet has room for, the device included.
    pub fn capacity(&self) -> u64 {
        u64::from(!self.mask).saturating_sub(1)
    }

    /// Whether `address` is a host's in this subnet.
    pub fn contains(&self, address: Ipv4Addr) -> bool {
        let bits = address.to_bits();
        bits & self.mask == self.device.to_bits() & self.mask && bits & !self.mask != 0 && address != self.broadcast()
    }

    /// Marks an address as given away; whether it was free.
    pub fn take(&mut self, address: Ipv4Addr) -> bool {
        self.taken.insert(address)
    }

    /// Keeps an address from being given away by [`Subnet::take_next`]; it can still be taken by name.
    pub fn avoid(&mut self, address: Ipv4Addr) {
        self.avoided.insert(address);
    }

    /// Gives the lowest free address away.
    pub fn take_next(&mut self) -> Option<Ipv4Addr> {
        while u64::from(self.next_host) <= self.capacity() {
            let address = Ipv4Addr::from_bits(self.device.to_bits() & self.mask | self.next_host);
            self.next_host += 1;
            if !self.avoided.contains(&address) && self.take(address) {
                return Some(address);
            }
        }
        None
    }
}

/// Addresses that no host can have; a frame that carries one is meant as it is.
pub(super) fn is_martian(address: Ipv4Addr) -> bool {
    address.octets()[0] == 0 || address.is_loopback() || address.octets()[0] >= 224
}
