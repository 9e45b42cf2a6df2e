// SPDX-License-Identifier: Apache-2.0
//! The configuration file of a device.
//!
//! ```toml
//! [device]
//! name = "press-3"
//! interface = "eth0"
//! address = "192.168.3.20/24"   # left out: the interface keeps the one that it has
//!
//! [inputs]                      # from the sensors to the PLCs
//! temperature = "i16"
//! door_closed = "bool"
//!
//! [outputs]                     # from the PLCs to the actuators
//! speed = { type = "u16", safe = 0 }
//! lamp = { type = "bool", safe = "hold" }
//! ```
//!
//! and [`[application]`](application), [`[fitting]`](fitting), and a table for each protocol: `[profinet]`, `[[cclink]]`, `[modbus]`. An output belongs to one protocol; an input
//! may be shown to all.

mod application;
mod cclink;
mod error;
mod fitting;
mod modbus;
mod points;
pub mod profinet;

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;

use serde::Deserialize;
use toml::Spanned;

pub use application::{Application, Plugin};
pub use cclink::{Cclink, Placed};
pub use error::{Error, Place};
pub use fitting::{Cpu, Fitting, Policy};
pub use modbus::Modbus;
pub use points::Points;

use crate::application::description::Description;
use crate::protocol::Address;
use crate::protocol::profinet::model::Model;

/// What a device is told.
#[derive(Debug)]
pub struct Configuration {
    /// What is common to all protocols.
    pub device: Device,
    /// The data points.
    pub points: Points,
    /// The application.
    pub application: Application,
    /// The PROFINET device, if it is to be one.
    pub profinet: Option<Model>,
    /// The Modbus/TCP server, if there is one.
    pub modbus: Option<Modbus>,
    /// How the cycles come to their time.
    pub fitting: Fitting,
    /// The slaves of CC-Link IE Field Basic.
    pub cclink: Vec<Cclink>,
}

/// What is common to all protocols.
#[derive(Debug)]
pub struct Device {
    /// What it is called in messages and files.
    pub name: String,
    /// The interface. No other is touched.
    pub interface: String,
    /// The address that the interface gets, if one is named.
    pub address: Option<Address>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    device: DeviceTable,
    #[serde(default)]
    inputs: points::Table,
    #[serde(default)]
    outputs: points::Table,
    #[serde(default)]
    application: application::Table,
    modbus: Option<modbus::Table>,
    profinet: Option<profinet::Table>,
    #[serde(default)]
    fitting: fitting::Table,
    #[serde(default)]
    cclink: Vec<Spanned<cclink::Table>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeviceTable {
    name: Spanned<String>,
    interface: Spanned<String>,
    address: Option<Spanned<String>>,
    gateway: Option<Spanned<Ipv4Addr>>,
}

impl Configuration {
    /// Reads a file.
    ///
    /// # Errors
    /// One line that says which line of which file is wrong, why, and what would be right.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = fs::read_to_string(path).map_err(|error| Error::new(path, &format!("cannot be read: {error}")))?;
        Self::parse(&text, path)
    }

    /// Reads a file's text; `path` is what it is called in errors.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn parse(text: &str, path: &Path) -> Result<Self, Error> {
        let place = Place { path, text };
        let file: File = toml::from_str(text).map_err(|error| place.toml(&error))?;
        let points = Points::new(&file.inputs, &file.outputs, &place)?;
        let device = device(&file.device, &place)?;
        let application = Application::new(&file.application, &device.name, &place)?;
        let profinet = file.profinet.map(|table| table.model(&points, &place)).transpose()?;
        let stale_after = application.outputs_stale_after;
        let modbus = file.modbus.map(|table| Modbus::new(&table, &points, stale_after, &place)).transpose()?;
        let fitting = Fitting::new(&file.fitting, &device.name, &place)?;
        let cclink = Cclink::all(&file.cclink, &device, &points, &place)?;
        Ok(Self { device, points, application, profinet, modbus, fitting, cclink })
    }

    /// What the application must know. `endpoints` are the protocols' names by number, each as it was named when it
    /// took its outputs ([`Points::output`]).
    pub fn description(&self, endpoints: &[String]) -> Description {
        let owner = |name: &str| {
            let owner = self.points.owner(name)?;
            endpoints.iter().position(|endpoint| *endpoint == owner)
        };
        let owners = self.points.outputs.points().filter_map(|(name, _)| Some((name.to_owned(), owner(name)?)));
        Description {
            endpoints: endpoints.to_vec(),
            inputs: self.points.inputs.clone(),
            outputs: self.points.outputs.clone(),
            safe: self.points.safe.clone(),
            owners: owners.collect(),
            outputs_stale_after: self.application.outputs_stale_after,
        }
    }
}

fn device(table: &DeviceTable, place: &Place) -> Result<Device, Error> {
    let name = table.name.get_ref();
    if name.trim().is_empty() || name.len() > 64 || name.chars().any(char::is_control) {
        return Err(place.at(&table.name, "a device's name is one line of 1 to 64 bytes, such as \"press-3\""));
    }
    let interface = table.interface.get_ref();
    if interface.is_empty() || interface.len() > 15 || interface.contains(['/', ' ']) {
        return Err(place.at(&table.interface, "an interface's name has 1 to 15 characters, such as \"eth0\""));
    }
    let address = match (&table.address, &table.gateway) {
        (None, None) => None,
        (None, Some(gateway)) => return Err(place.at(gateway, "there is a gateway, but no address = \"…/24\"")),
        (Some(text), gateway) => Some(parse_address(text, gateway.as_ref().map(|gateway| *gateway.get_ref()), place)?),
    };
    Ok(Device { name: table.name.get_ref().clone(), interface: interface.clone(), address })
}

/// An address with its prefix, "192.168.3.20/24".
fn parse_address(text: &Spanned<String>, gateway: Option<Ipv4Addr>, place: &Place) -> Result<Address, Error> {
    let wrong = || place.at(text, "an address is written with its prefix, such as \"192.168.3.20/24\"");
    let (ip, prefix) = text.get_ref().split_once('/').ok_or_else(wrong)?;
    let prefix: u32 = prefix.parse().ok().filter(|prefix| (1..=30).contains(prefix)).ok_or_else(wrong)?;
    let ip = ip.parse().map_err(|_| wrong())?;
    let gateway = gateway.unwrap_or(Ipv4Addr::UNSPECIFIED);
    Ok(Address { ip, mask: Ipv4Addr::from(u32::MAX << (32 - prefix)), gateway })
}
