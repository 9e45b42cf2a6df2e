// SPDX-License-Identifier: Apache-2.0
//! What a device is: its identity, and what is plugged in which slot.

use crate::application::layout::Layout;

/// The only API: without a profile.
pub const API: u32 = 0;
/// Subslot of the access point itself.
pub const ACCESS_POINT: u16 = 1;
/// Subslot of the interface, in slot 0.
pub const INTERFACE: u16 = 0x8000;
/// Subslot of the interface's port.
pub const PORT: u16 = 0x8001;

/// One direction of a submodule's data.
#[derive(Clone, Debug)]
pub struct Data {
    /// Which data points lie where.
    pub layout: Layout,
    /// Their names, in the order in which they lie.
    pub names: Vec<String>,
}

impl Data {
    /// Bytes on the wire.
    pub fn bytes(&self) -> usize {
        self.layout.bytes()
    }
}

/// A record that a controller may read and write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// 0 to 0x7fff.
    pub index: u16,
    /// What it is called.
    pub name: String,
    /// How long it is.
    pub bytes: usize,
}

/// A submodule.
#[derive(Clone, Debug)]
pub struct Submodule {
    /// Its subslot.
    pub subslot: u16,
    /// SubmoduleIdentNumber.
    pub ident: u32,
    /// What it is called.
    pub name: String,
    /// From the device to the controller.
    pub inputs: Data,
    /// From the controller to the device.
    pub outputs: Data,
    /// Its records.
    pub records: Vec<Record>,
}

/// A module.
#[derive(Clone, Debug)]
pub struct Module {
    /// Its slot.
    pub slot: u16,
    /// ModuleIdentNumber.
    pub ident: u32,
    /// What it is called.
    pub name: String,
    /// What is plugged in its subslots.
    pub submodules: Vec<Submodule>,
}

/// A device.
#[derive(Clone, Debug)]
pub struct Model {
    /// The name it has until it gets another over the network.
    pub station: String,
    /// Who made it, by PI's number.
    pub vendor_id: u16,
    /// Which of the vendor's devices it is.
    pub device_id: u16,
    /// Who made it, in words.
    pub vendor: String,
    /// What it is called in catalogues.
    pub product: String,
    /// Order number, up to 20 characters.
    pub order: String,
    /// Serial number, up to 16 characters.
    pub serial: String,
    /// HardwareRevision.
    pub hardware: u16,
    /// SoftwareRevision, behind the letter V.
    pub software: [u8; 3],
    /// Shortest cycle, in 31.25 us.
    pub interval_min: u16,
    /// How many controllers may be connected at once.
    pub connections: usize,
    /// What is plugged, the access point in slot 0 first.
    pub modules: Vec<Module>,
}

impl Model {
    /// A module by its slot.
    pub fn module(&self, slot: u16) -> Option<&Module> {
        self.modules.iter().find(|module| module.slot == slot)
    }

    /// A submodule by its slot and subslot.
    pub fn submodule(&self, slot: u16, subslot: u16) -> Option<&Submodule> {
        self.module(slot)?.submodules.iter().find(|submodule| submodule.subslot == subslot)
    }
}
