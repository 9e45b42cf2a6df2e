// SPDX-License-Identifier: Apache-2.0
//! The endpoint mapper's lookup (C706, appendices I and O): which interfaces answer at which port.

use super::rpc::{DEVICE_INTERFACE, Ndr};
use super::{Malformed, Put, Reader, Uuid};

/// Number of the call.
pub const LOOKUP: u16 = 2;
/// Its status when there is nothing (more) to tell: `ept_s_not_registered`.
pub const NOT_REGISTERED: u32 = 0x16c9_a0d6;
const ANNOTATION_BYTES: usize = 64;

/// What is looked up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Lookup {
    /// 0 all, 1 by interface, 2 by object, 3 by both.
    pub inquiry: u32,
    pub object: Option<Uuid>,
    pub interface: Option<Uuid>,
    /// Where an earlier lookup ended; nil for the first.
    pub handle: Uuid,
    pub entries_max: u32,
}

impl Lookup {
    /// From a body.
    ///
    /// # Errors
    /// If it is too short.
    pub fn decode(body: &[u8], ndr: Ndr) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let mut this = Self { inquiry: ndr.u32(&mut reader)?, ..Self::default() };
        if ndr.u32(&mut reader)? != 0 {
            this.object = Some(ndr.uuid(&mut reader)?);
        }
        if ndr.u32(&mut reader)? != 0 {
            this.interface = Some(ndr.uuid(&mut reader)?);
            let _version = reader.u32()?;
        }
        let _version_option = reader.u32()?;
        let _attributes = reader.u32()?;
        this.handle = ndr.uuid(&mut reader)?;
        this.entries_max = ndr.u32(&mut reader)?;
        Ok(this)
    }

    /// A body.
    pub fn encode(&self, ndr: Ndr) -> Vec<u8> {
        let mut body = Vec::new();
        ndr.put32(&mut body, self.inquiry);
        ndr.put32(&mut body, self.object.map_or(0, |_| 1));
        if let Some(object) = self.object {
            ndr.put_uuid(&mut body, object);
        }
        ndr.put32(&mut body, self.interface.map_or(0, |_| 2));
        if let Some(interface) = self.interface {
            ndr.put_uuid(&mut body, interface);
            ndr.put16(&mut body, 1);
            ndr.put16(&mut body, 0);
        }
        ndr.put32(&mut body, 1);
        ndr.put32(&mut body, 0);
        ndr.put_uuid(&mut body, self.handle);
        ndr.put32(&mut body, self.entries_max);
        body
    }
}

/// An entry of the answer: the device's interface over UDP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The device's object.
    pub object: Uuid,
    /// The UDP port.
    pub port: u16,
    /// The device in words: 25 characters type, 20 order number, 5 hardware, 10 software, with spaces between.
    pub annotation: String,
}

/// The answer, with that entry or with none.
pub fn encode_answer(entry: Option<&Entry>, handle: Uuid, ndr: Ndr) -> Vec<u8> {
    let mut body = Vec::new();
    ndr.put32(&mut body, 0);
    ndr.put_uuid(&mut body, handle);
    let count = u32::from(entry.is_some());
    for number in [count, 1, 0, count] {
        ndr.put32(&mut body, number);
    }
    if let Some(entry) = entry {
        ndr.put_uuid(&mut body, entry.object);
        for number in [3, 0, ANNOTATION_BYTES as u32] {
            ndr.put32(&mut body, number);
        }
        let mut annotation = entry.annotation.clone().into_bytes();
        annotation.resize(ANNOTATION_BYTES, 0);
        annotation[ANNOTATION_BYTES - 1] = 0;
        body.put(&annotation);
        let tower = tower(entry.port);
        ndr.put32(&mut body, tower.len() as u32);
        ndr.put32(&mut body, tower.len() as u32);
        body.put(&tower);
        body.put_zeros(body.len().next_multiple_of(4) - body.len());
    }
    ndr.put32(&mut body, if entry.is_some() { 0 } else { NOT_REGISTERED });
    body
}

/// Floors of an interface over connectionless RPC, UDP and IP. Little-endian but for the port, whoever asks.
fn tower(port: u16) -> Vec<u8> {
    const NDR: Uuid =
        Uuid([0x8a, 0x88, 0x5d, 0x04, 0x1c, 0xeb, 0x11, 0xc9, 0x9f, 0xe8, 0x08, 0x00, 0x2b, 0x10, 0x48, 0x60]);
    let mut tower = vec![5, 0];
    for (uuid, version) in [(DEVICE_INTERFACE, 1), (NDR, 2)] {
        tower.put(&[19, 0, 0x0d]);
        tower.put(&uuid.swapped().0);
        tower.put(&[version, 0, 2, 0, 0, 0]);
    }
    tower.put(&[1, 0, 0x0a, 2, 0, 0, 0]);
    tower.put(&[1, 0, 0x08, 2, 0]);
    tower.put16(port);
    tower.put(&[1, 0, 0x09, 4, 0, 0, 0, 0, 0]);
    tower
}
