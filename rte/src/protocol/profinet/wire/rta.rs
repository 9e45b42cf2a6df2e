// SPDX-License-Identifier: Apache-2.0
//! Alarms: acknowledged acyclic frames (RTA).

use super::block::{Header, put_block};
use super::rt::Ethernet;
use super::status::Status;
use super::{Malformed, Put, Reader};

/// FrameID of high alarms.
pub const HIGH: u16 = 0xfc01;
/// FrameID of low alarms.
pub const LOW: u16 = 0xfe01;
/// Numbers count within these bits.
pub const SEQUENCE_MASK: u16 = 0x7fff;
/// The number that data has first.
pub const SEQUENCE_START: u16 = 0xffff;
/// The number that is acknowledged before there was data.
pub const ACKNOWLEDGED_START: u16 = 0xfffe;

/// The number that follows.
pub fn next_sequence(sequence: u16) -> u16 {
    sequence.wrapping_add(1) & SEQUENCE_MASK
}

/// What kind of PDU it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Kind {
    Data = 1,
    Nack = 2,
    Ack = 3,
    Error = 4,
}

/// A PDU, behind the FrameID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Rta<'a> {
    /// The receiver's end.
    pub to: u16,
    /// The sender's end.
    pub from: u16,
    pub kind: Kind,
    /// To be acknowledged at once.
    pub acknowledge: bool,
    pub sequence: u16,
    pub acknowledged: u16,
    /// Of data: a block. Of an error: a [`Status`].
    pub data: &'a [u8],
}

impl<'a> Rta<'a> {
    /// From what follows the FrameID. Padding is left over.
    ///
    /// # Errors
    /// If it is too short or of another version or kind.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let (to, from) = (reader.u16()?, reader.u16()?);
        let kind = match reader.u8()? {
            0x11 => Kind::Data,
            0x12 => Kind::Nack,
            0x13 => Kind::Ack,
            0x14 => Kind::Error,
            _ => return Err(Malformed("alarm PDU type")),
        };
        let acknowledge = reader.u8()? & 0x10 != 0;
        let (sequence, acknowledged) = (reader.u16()?, reader.u16()?);
        let length = reader.u16()?;
        let data = reader.take(usize::from(length))?;
        Ok(Self { to, from, kind, acknowledge, sequence, acknowledged, data })
    }

    /// A frame.
    pub fn encode(&self, ethernet: &Ethernet) -> Vec<u8> {
        let mut frame = vec![0; 20];
        let length = ethernet.write(&mut frame);
        frame.truncate(length);
        frame.put16(self.to);
        frame.put16(self.from);
        frame.put(&[0x10 | self.kind as u8, if self.acknowledge { 0x11 } else { 0x01 }]);
        frame.put_all(&[self.sequence, self.acknowledged, self.data.len() as u16]);
        frame.put(self.data);
        frame
    }

    /// Of an error.
    pub fn status(&self) -> Option<Status> {
        Reader::new(self.data).u32().ok().map(Status)
    }
}

/// AlarmType.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct AlarmType;

#[allow(missing_docs)]
impl AlarmType {
    pub const DIAGNOSIS: u16 = 1;
    pub const PROCESS: u16 = 2;
    pub const PULL: u16 = 3;
    pub const PLUG: u16 = 4;
    pub const PLUG_WRONG: u16 = 0x0a;
    pub const RETURN_OF_SUBMODULE: u16 = 0x0b;
    pub const DIAGNOSIS_DISAPPEARS: u16 = 0x0c;
}

/// Bits of AlarmSpecifier above the sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Specifier;

#[allow(missing_docs)]
impl Specifier {
    pub const SEQUENCE: u16 = 0x07ff;
    pub const CHANNEL_DIAGNOSIS: u16 = 1 << 11;
    pub const SUBMODULE_DIAGNOSIS: u16 = 1 << 13;
    pub const AR_DIAGNOSIS: u16 = 1 << 15;
}

/// AlarmNotification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Notification {
    pub high: bool,
    /// See [`AlarmType`].
    pub kind: u16,
    pub api: u32,
    pub slot: u16,
    pub subslot: u16,
    pub module: u32,
    pub submodule: u32,
    /// See [`Specifier`].
    pub specifier: u16,
    /// UserStructureIdentifier, if there is data: 0 to 0x7fff, or 0x8000 of a channel's diagnosis.
    pub usi: u16,
    pub data: Vec<u8>,
}

impl Notification {
    /// From a PDU's data.
    ///
    /// # Errors
    /// If it is none.
    pub fn decode(data: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(data);
        let high = alarm_block(&mut reader, 0x0001)?;
        let mut this = Self {
            high,
            kind: reader.u16()?,
            api: reader.u32()?,
            slot: reader.u16()?,
            subslot: reader.u16()?,
            module: reader.u32()?,
            submodule: reader.u32()?,
            specifier: reader.u16()?,
            ..Self::default()
        };
        if !reader.rest().is_empty() {
            this.usi = reader.u16()?;
            this.data = reader.rest().to_vec();
        }
        Ok(this)
    }

    /// A PDU's data.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_block(&mut out, Header { kind: if self.high { 1 } else { 2 }, version: (1, 0) }, |out| {
            out.put16(self.kind);
            out.put32(self.api);
            out.put16(self.slot);
            out.put16(self.subslot);
            out.put32(self.module);
            out.put32(self.submodule);
            out.put16(self.specifier);
            if !self.data.is_empty() {
                out.put16(self.usi);
                out.put(&self.data);
            }
        });
        out
    }
}

/// AlarmAck: what the receiver's application makes of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Answer {
    pub high: bool,
    pub kind: u16,
    pub api: u32,
    pub slot: u16,
    pub subslot: u16,
    pub specifier: u16,
    pub status: Status,
}

impl Answer {
    /// From a PDU's data.
    ///
    /// # Errors
    /// If it is none.
    pub fn decode(data: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(data);
        let high = alarm_block(&mut reader, 0x8001)?;
        Ok(Self {
            high,
            kind: reader.u16()?,
            api: reader.u32()?,
            slot: reader.u16()?,
            subslot: reader.u16()?,
            specifier: reader.u16()?,
            status: Status(reader.u32()?),
        })
    }

    /// A PDU's data.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_block(&mut out, Header { kind: if self.high { 0x8001 } else { 0x8002 }, version: (1, 0) }, |out| {
            out.put16(self.kind);
            out.put32(self.api);
            out.put_all(&[self.slot, self.subslot, self.specifier]);
            out.put32(self.status.0);
        });
        out
    }
}

/// Reads the header of an alarm's block, which has the type `high` or the next; answers whether it is the first.
fn alarm_block(reader: &mut Reader<'_>, high: u16) -> Result<bool, Malformed> {
    let kind = reader.u16()?;
    if kind != high && kind != high + 1 {
        return Err(Malformed("alarm block type"));
    }
    let length = reader.u16()?;
    if usize::from(length) != reader.rest().len() {
        return Err(Malformed("alarm block length"));
    }
    if reader.u16()? != 0x0100 {
        return Err(Malformed("alarm block version"));
    }
    Ok(kind == high)
}
