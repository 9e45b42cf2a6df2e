// SPDX-License-Identifier: Apache-2.0
//! Records that say what a device is: I&M0 and the modules that are plugged.

use super::{Malformed, Put, Reader};

/// Index of I&M0.
pub const IM0_INDEX: u16 = 0xaff0;

/// I&M0.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Identification {
    pub vendor: u16,
    /// Padded with spaces, as the next.
    pub order: [u8; 20],
    pub serial: [u8; 16],
    pub hardware: u16,
    /// "V", and three numbers.
    pub software: (u8, [u8; 3]),
    pub revision_counter: u16,
    pub profile: u16,
    pub profile_type: u16,
    /// 1.1.
    pub version: (u8, u8),
    /// Bit n: there is I&Mn.
    pub supported: u16,
}

impl Identification {
    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            vendor: reader.u16()?,
            order: reader.array()?,
            serial: reader.array()?,
            hardware: reader.u16()?,
            software: (reader.u8()?, reader.array()?),
            revision_counter: reader.u16()?,
            profile: reader.u16()?,
            profile_type: reader.u16()?,
            version: (reader.u8()?, reader.u8()?),
            supported: reader.u16()?,
        })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.put16(self.vendor);
        out.put(&self.order);
        out.put(&self.serial);
        out.put16(self.hardware);
        out.put8(self.software.0);
        out.put(&self.software.1);
        out.put_all(&[self.revision_counter, self.profile, self.profile_type]);
        out.put(&[self.version.0, self.version.1]);
        out.put16(self.supported);
    }
}

/// A text in a field of fixed length: what is not printable ASCII becomes a space, and so does what is missing.
pub fn padded<const N: usize>(text: &str) -> [u8; N] {
    let mut field = [b' '; N];
    for (to, from) in field.iter_mut().zip(text.bytes()) {
        *to = if (0x20..0x7f).contains(&from) { from } else { b' ' };
    }
    field
}

/// A slot with what is plugged in it: its number, the module's ident number, and each subslot's with the submodule's.
pub type RealSlot = (u16, u32, Vec<(u16, u32)>);

/// RealIdentificationData (0x0013), or what was expected (0x0012), of version 1.1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RealIdentification {
    /// BlockType.
    pub kind: u16,
    /// By API.
    pub apis: Vec<(u32, Vec<RealSlot>)>,
}

impl RealIdentification {
    pub(super) fn decode(kind: u16, reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let mut apis = Vec::new();
        for _ in 0..reader.u16()? {
            let api = reader.u32()?;
            let mut slots = Vec::new();
            for _ in 0..reader.u16()? {
                let (slot, ident) = (reader.u16()?, reader.u32()?);
                let count = reader.u16()?;
                let subslots = (0..count).map(|_| Ok((reader.u16()?, reader.u32()?))).collect::<Result<_, _>>()?;
                slots.push((slot, ident, subslots));
            }
            apis.push((api, slots));
        }
        Ok(Self { kind, apis })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.put16(self.apis.len() as u16);
        for (api, slots) in &self.apis {
            out.put32(*api);
            out.put16(slots.len() as u16);
            for (slot, ident, subslots) in slots {
                out.put16(*slot);
                out.put32(*ident);
                out.put16(subslots.len() as u16);
                for (subslot, ident) in subslots {
                    out.put16(*subslot);
                    out.put32(*ident);
                }
            }
        }
    }
}
