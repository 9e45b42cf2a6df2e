// SPDX-License-Identifier: Apache-2.0
//! What discovery tells of the device.

use super::super::model::Model;
use super::super::name::StationName;
use super::super::wire::lldp::Link;

/// Who made the device, and which one it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The vendor's number, given by PROFIBUS & PROFINET International.
    pub vendor: u16,
    /// The device's number, given by its vendor.
    pub device: u16,
    /// What the product is called: at most 25 characters.
    pub product: String,
    /// Order number: at most 20 characters.
    pub order: String,
    /// Serial number: at most 16 characters.
    pub serial: String,
    /// Revision of the hardware.
    pub hardware: u16,
    /// Revision of the software: "V", and three numbers.
    pub software: [u8; 3],
}

impl Identity {
    /// The device in one line of fixed columns, as neighbours see it.
    pub fn system(&self) -> String {
        let Self { product, order, serial, hardware, software: [a, b, c], .. } = self;
        format!("{product:<25.25} {order:<20.20} {serial:<16.16} {hardware:>5} V{a:>3}{b:>3}{c:>3}")
    }
}

/// What discovery is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Who made the device, and which one it is.
    pub identity: Identity,
    /// What the station is called until somebody names it.
    pub name: StationName,
    /// The number of the interface (`ifIndex`).
    pub interface: u32,
    /// What the port can do.
    pub link: Link,
}

impl Settings {
    /// Of a device behind that interface.
    pub fn new(model: &Model, interface: u32) -> Self {
        let identity = Identity {
            vendor: model.vendor_id,
            device: model.device_id,
            product: model.product.clone(),
            order: model.order.clone(),
            serial: model.serial.clone(),
            hardware: model.hardware,
            software: model.software,
        };
        // The configuration has checked the name.
        let name = StationName::new(model.station.as_bytes()).unwrap_or_default();
        Self { identity, name, interface, link: Link::FAST }
    }
}
