// SPDX-License-Identifier: Apache-2.0
//! Blocks of the Connect call: the application relation (AR) and its alarm communication relation (CR).

use super::{Malformed, Put, Reader, Uuid};
use crate::protocol::Mac;

/// ARType of an IO controller.
pub const AR_TYPE_IO_CONTROLLER: u16 = 1;
/// Bits of ARProperties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct ArProperty;

#[allow(missing_docs)]
impl ArProperty {
    /// Bits 0 to 2: 1 is active.
    pub const STATE: u32 = 7;
    pub const SUPERVISOR_TAKEOVER: u32 = 1 << 3;
    pub const PARAMETERS_BY_INITIATOR: u32 = 1 << 4;
    pub const DEVICE_ACCESS: u32 = 1 << 8;
    pub const ADVANCED_START: u32 = 1 << 30;
}

/// ARBlockReq.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct ArRequest {
    pub kind: u16,
    pub ar: Uuid,
    pub session: u16,
    pub mac: Mac,
    /// The controller's object.
    pub object: Uuid,
    /// See [`ArProperty`].
    pub properties: u32,
    /// In 100 ms, 1 to 1000.
    pub activity_timeout: u16,
    pub udp_rt_port: u16,
    /// The controller's name.
    pub station: Vec<u8>,
}

impl ArRequest {
    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let mut this = Self {
            kind: reader.u16()?,
            ar: reader.uuid()?,
            session: reader.u16()?,
            mac: Mac(reader.array()?),
            object: reader.uuid()?,
            properties: reader.u32()?,
            activity_timeout: reader.u16()?,
            udp_rt_port: reader.u16()?,
            station: Vec::new(),
        };
        let length = reader.u16()?;
        this.station = reader.take(usize::from(length))?.to_vec();
        Ok(this)
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.put16(self.kind);
        out.put(&self.ar.0);
        out.put16(self.session);
        out.put(&self.mac.0);
        out.put(&self.object.0);
        out.put32(self.properties);
        out.put16(self.activity_timeout);
        out.put16(self.udp_rt_port);
        out.put16(self.station.len() as u16);
        out.put(&self.station);
    }
}

/// ARBlockRes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct ArResponse {
    pub kind: u16,
    pub ar: Uuid,
    pub session: u16,
    pub mac: Mac,
    pub udp_rt_port: u16,
}

impl ArResponse {
    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            kind: reader.u16()?,
            ar: reader.uuid()?,
            session: reader.u16()?,
            mac: Mac(reader.array()?),
            udp_rt_port: reader.u16()?,
        })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.put16(self.kind);
        out.put(&self.ar.0);
        out.put16(self.session);
        out.put(&self.mac.0);
        out.put16(self.udp_rt_port);
    }
}

/// AlarmCRBlockReq.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct AlarmCrRequest {
    pub kind: u16,
    pub ethertype: u16,
    pub properties: u32,
    /// In 100 ms, 1 to 100.
    pub timeout: u16,
    /// 3 to 15.
    pub retries: u16,
    /// The controller's end.
    pub reference: u16,
    /// 200 to 1432 bytes.
    pub data_bytes_max: u16,
    /// TCI of the VLAN tag of high alarms.
    pub tag_high: u16,
    /// TCI of the VLAN tag of low alarms.
    pub tag_low: u16,
}

impl AlarmCrRequest {
    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            kind: reader.u16()?,
            ethertype: reader.u16()?,
            properties: reader.u32()?,
            timeout: reader.u16()?,
            retries: reader.u16()?,
            reference: reader.u16()?,
            data_bytes_max: reader.u16()?,
            tag_high: reader.u16()?,
            tag_low: reader.u16()?,
        })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.put16(self.kind);
        out.put16(self.ethertype);
        out.put32(self.properties);
        for field in [self.timeout, self.retries, self.reference, self.data_bytes_max, self.tag_high, self.tag_low] {
            out.put16(field);
        }
    }
}

/// AlarmCRBlockRes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct AlarmCrResponse {
    pub kind: u16,
    /// The device's end.
    pub reference: u16,
    pub data_bytes_max: u16,
}

impl AlarmCrResponse {
    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self { kind: reader.u16()?, reference: reader.u16()?, data_bytes_max: reader.u16()? })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.put_all(&[self.kind, self.reference, self.data_bytes_max]);
    }
}

/// ARServerBlock: the device's name, in the answer of an advanced start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArServer {
    /// The device's name.
    pub station: Vec<u8>,
}

impl ArServer {
    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let length = reader.u16()?;
        let this = Self { station: reader.take(usize::from(length))?.to_vec() };
        reader.take(reader.rest().len())?;
        Ok(this)
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.put16(self.station.len() as u16);
        out.put(&self.station);
        // The block, with its header of 6 bytes and these 2, ends at a multiple of 4.
        out.put_zeros((4 - (8 + self.station.len()) % 4) % 4);
    }
}
