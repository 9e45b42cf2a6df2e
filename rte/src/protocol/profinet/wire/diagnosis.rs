// SPDX-License-Identifier: Apache-2.0
//! Diagnoses of channels, in records and alarms.

use super::{Malformed, Put, Reader};

/// UserStructureIdentifier of a channel's diagnosis.
pub const USI_CHANNEL: u16 = 0x8000;
/// ChannelNumber of a whole submodule.
pub const WHOLE_SUBMODULE: u16 = 0x8000;

/// ChannelDiagnosisData.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Channel {
    /// 0 to 0x7fff, or [`WHOLE_SUBMODULE`].
    pub number: u16,
    /// Bits 11 and 12: 1 appears, 2 disappears.
    pub properties: u16,
    /// ChannelErrorType: 1 short circuit, 2 undervoltage, 5 overtemperature, 6 line break …
    pub error: u16,
}

impl Channel {
    /// Properties of one that appeared and is still there.
    pub const APPEARS: u16 = 1 << 11;
    /// Properties of one that is gone, the others of the channel too.
    pub const DISAPPEARS: u16 = 2 << 11;

    /// From six bytes.
    ///
    /// # Errors
    /// If there are fewer.
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self { number: reader.u16()?, properties: reader.u16()?, error: reader.u16()? })
    }

    /// Six bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.put_all(&[self.number, self.properties, self.error]);
    }
}

/// DiagnosisData, version 1.1: the channels of a submodule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Diagnosis {
    pub api: u32,
    pub slot: u16,
    pub subslot: u16,
    pub channels: Vec<Channel>,
}

impl Diagnosis {
    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (api, slot, subslot) = (reader.u32()?, reader.u16()?, reader.u16()?);
        let (_number, _properties, usi) = (reader.u16()?, reader.u16()?, reader.u16()?);
        if usi != USI_CHANNEL {
            return Err(Malformed("diagnosis structure"));
        }
        let mut channels = Vec::new();
        while !reader.rest().is_empty() {
            channels.push(Channel::decode(reader)?);
        }
        Ok(Self { api, slot, subslot, channels })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.put32(self.api);
        out.put_all(&[self.slot, self.subslot, WHOLE_SUBMODULE, Channel::APPEARS, USI_CHANNEL]);
        self.channels.iter().for_each(|channel| channel.encode(out));
    }
}
