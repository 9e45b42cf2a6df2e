// SPDX-License-Identifier: Apache-2.0
//! The one owner of the interface's address. DCP's "Set IP", SLMP's "IPAddressSet" and the configuration all want to set
//! it; none of them touches the interface, all ask here.

use std::fs;
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use serde::{Deserialize, Serialize};

use super::Error;
use super::interface::Interface;
use super::sockets::capabilities_hint;
use super::system::{interface_call, interface_request, route_call, to_sockaddr};
use crate::protocol::{Address, AddressRequest};

/// What survives a restart.
#[derive(Debug, Deserialize, Serialize)]
struct Kept {
    /// What the configuration said when it was kept. If it says something else now, that is newer.
    configured: Option<[Ipv4Addr; 3]>,
    address: [Ipv4Addr; 3],
}

fn words(address: Address) -> [Ipv4Addr; 3] {
    [address.ip, address.mask, address.gateway]
}

/// The owner of one address: the interface's, or one beside it that a protocol has for itself.
#[derive(Debug)]
pub struct Owner {
    interface: Interface,
    /// "eth0", or "eth0:1" for one beside it.
    label: String,
    configured: Option<Address>,
    state: PathBuf,
    may_change: bool,
    current: Address,
}

impl Owner {
    /// Gives the interface the address that somebody set for good, else the configured one; else it keeps its own.
    /// `number` is 0 for the interface's own address, and others for those beside it. `state` is the file for it. Answers
    /// what there is to tell, too.
    ///
    /// # Errors
    /// If the address cannot be set, with the way out.
    pub fn start(
        interface: Interface,
        number: usize,
        configured: Option<Address>,
        state: PathBuf,
        may_change: bool,
    ) -> Result<(Self, Vec<String>), Error> {
        let mut told = Vec::new();
        let kept = match kept(&state) {
            Ok(kept) => kept.filter(|kept| kept.configured == configured.map(words)),
            Err(error) => {
                told.push(format!("{}: {error}; the address in it is not used", state.display()));
                None
            }
        };
        let kept = kept.map(|Kept { address: [ip, mask, gateway], .. }| Address { ip, mask, gateway });
        let label = if number == 0 { interface.name.clone() } else { format!("{}:{number}", interface.name) };
        let current = interface.address_of(&label);
        let mut this = Self { interface, label, configured, state, may_change, current };
        if let Some(wanted) = kept.or(configured)
            && !this.has(wanted)
        {
            check(wanted)?;
            this.set(wanted)?;
            told.push(format!("{} has the address {} now", this.label, this.current.ip));
        }
        Ok((this, told))
    }

    fn has(&self, wanted: Address) -> bool {
        let Address { ip, mask, gateway } = self.current;
        (ip, mask) == (wanted.ip, wanted.mask) && (gateway == wanted.gateway || !is_a_gateway(wanted))
    }

    /// "eth0", or "eth0:1" for an address beside its first.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The address.
    pub fn address(&self) -> Address {
        self.current
    }

    /// Sets the address again if it is gone. The kernel takes those beside an interface's first address away when that
    /// one changes.
    ///
    /// # Errors
    /// If it cannot be set.
    pub fn restore(&mut self) -> Result<(), Error> {
        let current = self.current;
        if current.ip.is_unspecified() || self.interface.address_of(&self.label).ip == current.ip {
            return Ok(());
        }
        self.set(current)
    }

    /// Looks at the interface again: others may have changed it. Answers the new address if so.
    pub fn refresh(&mut self) -> Option<Address> {
        let address = self.interface.address_of(&self.label);
        (std::mem::replace(&mut self.current, address) != address).then_some(address)
    }

    /// Somebody on the network wants another address. Answers what there is to tell.
    ///
    /// # Errors
    /// Why it stays.
    pub fn request(&mut self, request: AddressRequest) -> Result<String, Error> {
        let AddressRequest { address, permanent } = request;
        if !self.may_change {
            return Err(Error::new(format!("address {} refused: [fitting] address_changes = false", address.ip)));
        }
        if !address.ip.is_unspecified() {
            check(address)?;
        }
        self.set(address)?;
        let name = &self.label;
        let mut line = match address.ip {
            Ipv4Addr::UNSPECIFIED => format!("{name} has no address now, as somebody on the network wanted"),
            ip => format!("{name} has the address {ip} now, as somebody on the network wanted"),
        };
        if permanent && let Err(error) = self.keep(address) {
            line += &format!("; but not after a restart: {}: {error}", self.state.display());
        }
        Ok(line)
    }

    fn keep(&self, address: Address) -> io::Result<()> {
        let kept = Kept { configured: self.configured.map(words), address: words(address) };
        let text = toml::to_string(&kept).map_err(io::Error::other)?;
        write_whole(&self.state, text.as_bytes())
    }

    fn set(&mut self, wanted: Address) -> Result<(), Error> {
        let name = &self.label;
        set(name, wanted).map_err(|error| {
            let way_out = if error.kind() == io::ErrorKind::PermissionDenied {
                format!(": {}", capabilities_hint("cap_net_admin"))
            } else {
                String::new()
            };
            Error::new(format!("{name} cannot have the address {}: {error}{way_out}", wanted.ip))
        })?;
        self.current = self.interface.address_of(&self.label);
        Ok(())
    }
}

fn kept(path: &Path) -> Result<Option<Kept>, String> {
    match fs::read_to_string(path) {
        Ok(text) => toml::from_str(&text).map(Some).map_err(|error| error.message().replace('\n', ", ")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

/// Writes a file so that it is there whole or as it was before, whenever the power goes. Makes its folder if need be.
///
/// # Errors
/// What the system says.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let new = path.with_extension("new");
    let mut file = fs::File::create(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    fs::File::open(folder)?.sync_all()
}

fn is_a_gateway(address: Address) -> bool {
    // PROFINET writes the device's own address where there is none, CC-Link all ones.
    let none = [Ipv4Addr::UNSPECIFIED, Ipv4Addr::BROADCAST, address.ip];
    !none.contains(&address.gateway)
}

/// Whether an interface can have it.
fn check(address: Address) -> Result<(), Error> {
    let Address { ip, mask, gateway } = address;
    let bits = u32::from(mask);
    let host = u32::from(ip) & !bits;
    let wrong = if bits.leading_ones() + bits.trailing_zeros() != 32 || !(1..=30).contains(&bits.leading_ones()) {
        format!("its mask {mask} is not one of 1 to 30 ones")
    } else if ip.is_loopback() || ip.is_multicast() || ip.octets()[0] == 0 || ip.octets()[0] >= 224 {
        "it is not one of a single station".to_owned()
    } else if host == 0 || host == !bits {
        "it is the network's or its broadcast's".to_owned()
    } else if is_a_gateway(address) && u32::from(gateway) & bits != u32::from(ip) & bits {
        format!("its gateway {gateway} is not in its network")
    } else {
        return Ok(());
    };
    Err(Error::new(format!("address {ip} refused: {wrong}")))
}

/// Sets the interface's first address in place of the one that it has; 0.0.0.0 takes it away.
fn set(name: &str, wanted: Address) -> io::Result<()> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    let call = |code, ip| {
        let mut request = interface_request(name)?;
        request.ifr_ifru.ifru_addr = to_sockaddr(ip);
        interface_call(&socket, code, &mut request)
    };
    call(libc::SIOCSIFADDR, wanted.ip)?;
    if wanted.ip.is_unspecified() {
        return Ok(());
    }
    call(libc::SIOCSIFNETMASK, wanted.mask)?;
    call(libc::SIOCSIFBRDADDR, wanted.broadcast())?;
    if !is_a_gateway(wanted) {
        return Ok(());
    }
    let device = name.split(':').next().unwrap_or(name);
    let mut device: Vec<libc::c_char> = device.bytes().map(|byte| byte as libc::c_char).chain([0]).collect();
    // SAFETY: all zeros are an empty route.
    let mut route: libc::rtentry = unsafe { std::mem::zeroed() };
    route.rt_dst = to_sockaddr(Ipv4Addr::UNSPECIFIED);
    route.rt_genmask = to_sockaddr(Ipv4Addr::UNSPECIFIED);
    route.rt_gateway = to_sockaddr(wanted.gateway);
    route.rt_flags = libc::RTF_UP | libc::RTF_GATEWAY;
    route.rt_dev = device.as_mut_ptr();
    match route_call(&socket, libc::SIOCADDRT, &mut route) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(ip: [u8; 4], mask: [u8; 4], gateway: [u8; 4]) -> Address {
        Address { ip: ip.into(), mask: mask.into(), gateway: gateway.into() }
    }

    #[test]
    fn addresses_that_no_station_can_have_are_refused_with_the_reason() {
        let mask = [255, 255, 255, 0];
        for (ip, mask, gateway, says) in [
            ([192, 168, 3, 20], [255, 0, 255, 0], [0; 4], "its mask 255.0.255.0 is not one of 1 to 30 ones"),
            ([192, 168, 3, 20], [0; 4], [0; 4], "its mask 0.0.0.0 is not one of 1 to 30 ones"),
            ([127, 0, 0, 1], mask, [0; 4], "it is not one of a single station"),
            ([224, 0, 0, 1], mask, [0; 4], "it is not one of a single station"),
            ([192, 168, 3, 0], mask, [0; 4], "it is the network's or its broadcast's"),
            ([192, 168, 3, 255], mask, [0; 4], "it is the network's or its broadcast's"),
            ([192, 168, 3, 20], mask, [192, 168, 4, 1], "its gateway 192.168.4.1 is not in its network"),
        ] {
            let error = check(address(ip, mask, gateway)).unwrap_err().to_string();
            assert!(error.ends_with(says), "{error}");
        }
        for gateway in [[0; 4], [255; 4], [192, 168, 3, 20], [192, 168, 3, 1]] {
            assert_eq!(check(address([192, 168, 3, 20], mask, gateway)), Ok(()));
        }
    }

    #[test]
    fn a_kept_address_is_read_back_and_a_damaged_file_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/address.toml");
        assert!(kept(&path).unwrap().is_none());
        let it = Kept { configured: None, address: words(address([10, 0, 0, 2], [255, 0, 0, 0], [0; 4])) };
        write_whole(&path, toml::to_string(&it).unwrap().as_bytes()).unwrap();
        assert_eq!(kept(&path).unwrap().unwrap().address, it.address);
        fs::write(&path, "address = 5").unwrap();
        assert!(kept(&path).is_err());
    }
}
