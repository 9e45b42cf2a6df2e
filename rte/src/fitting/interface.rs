// SPDX-License-Identifier: Apache-2.0
//! The network interface: what it is called by.

use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType, netdevice, socket_with};

use super::Error;
use super::system::{from_sockaddr, interface_call, interface_request};
use crate::protocol::{Address, Mac};

/// An interface of this machine, in the network namespace of the thread that opened it.
#[derive(Debug)]
pub struct Interface {
    /// "eth0".
    pub name: String,
    /// The kernel's number of it.
    pub index: u32,
    /// Its Ethernet address.
    pub mac: Mac,
    socket: OwnedFd,
}

impl Interface {
    /// Opens one by its name. Changes nothing.
    ///
    /// # Errors
    /// If there is none of that name, or it is not an Ethernet; with those that there are.
    pub fn open(name: &str) -> Result<Self, Error> {
        let failed = |error: io::Error| Error::new(format!("interface \"{name}\": {error}"));
        let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
            .map_err(|error| failed(error.into()))?;
        let index = netdevice::name_to_index(&socket, name).map_err(|_| missing(name))?;
        let mut request = interface_request(name).map_err(failed)?;
        interface_call(&socket, libc::SIOCGIFHWADDR, &mut request).map_err(failed)?;
        // SAFETY: the kernel has written a hardware address.
        let address = unsafe { request.ifr_ifru.ifru_hwaddr };
        if address.sa_family != libc::ARPHRD_ETHER {
            return Err(Error::new(format!("interface \"{name}\" is not an Ethernet")));
        }
        let [a, b, c, d, e, f, ..] = address.sa_data.map(|byte| byte as u8);
        Ok(Self { name: name.to_owned(), index, mac: Mac([a, b, c, d, e, f]), socket })
    }

    /// Whether it is still the one that was opened: an interface that was taken away and has come back is another.
    pub fn is_there(&self) -> bool {
        netdevice::name_to_index(&self.socket, &self.name) == Ok(self.index)
    }

    /// Its first address, as it is now; 0.0.0.0 if it has none.
    pub fn address(&self) -> Address {
        self.address_of(&self.name)
    }

    /// The address of a label of it: "eth0" itself, or "eth0:1" for one beside its first.
    pub fn address_of(&self, label: &str) -> Address {
        let get = |code| {
            let mut request = interface_request(label).ok()?;
            // SAFETY: all of the request is bytes that mean an address.
            request.ifr_ifru.ifru_addr.sa_family = libc::AF_INET as libc::sa_family_t;
            interface_call(&self.socket, code, &mut request).ok()?;
            // SAFETY: the kernel has written an address.
            Some(from_sockaddr(unsafe { &request.ifr_ifru.ifru_addr }))
        };
        let none = Ipv4Addr::UNSPECIFIED;
        let Some(ip) = get(libc::SIOCGIFADDR) else { return Address { ip: none, mask: none, gateway: none } };
        let mask = get(libc::SIOCGIFNETMASK).unwrap_or(none);
        Address { ip, mask, gateway: gateway(&self.name).unwrap_or(none) }
    }
}

/// The gateway of the default route over an interface.
fn gateway(name: &str) -> Option<Ipv4Addr> {
    // Of this thread: its namespace may be another than the process's.
    let table = fs::read_to_string("/proc/thread-self/net/route").ok()?;
    table.lines().skip(1).find_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        let (interface, to, gateway) = (fields.next()?, fields.next()?, fields.next()?);
        let gateway = u32::from_str_radix(gateway, 16).ok()?;
        (interface == name && to == "00000000" && gateway != 0).then(|| Ipv4Addr::from(gateway.to_ne_bytes()))
    })
}

fn missing(name: &str) -> Error {
    let table = fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    let others = table.lines().skip(2).filter_map(|line| Some(line.split_once(':')?.0.trim()));
    let others = others.filter(|other| *other != "lo").collect::<Vec<_>>().join(", ");
    let others = if others.is_empty() { "there is none but lo".to_owned() } else { format!("there are: {others}") };
    Error::new(format!("there is no interface \"{name}\"; {others}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_interface_is_told_with_those_that_there_are() {
        let error = Interface::open("not-there").unwrap_err().to_string();
        assert!(error.starts_with("there is no interface \"not-there\"; there "), "{error}");
    }

    #[test]
    fn the_loopback_is_no_ethernet() {
        assert_eq!(Interface::open("lo").unwrap_err().to_string(), "interface \"lo\" is not an Ethernet");
    }
}
