// SPDX-License-Identifier: Apache-2.0
//! Connectionless DCE/RPC, version 4, and the NDR header of PROFINET's calls.

use super::status::Status;
use super::{Malformed, Put, Reader, Uuid};

/// Bytes of the header.
pub const HEADER_BYTES: usize = 80;
/// Most bytes of a body that one datagram takes; longer ones are sent in fragments.
pub const FRAGMENT_BYTES_MAX: usize = 1384;

/// What an interface of a device is called.
pub const DEVICE_INTERFACE: Uuid = Uuid(pnio(0x01));
/// What an interface of a controller is called.
pub const CONTROLLER_INTERFACE: Uuid = Uuid(pnio(0x02));
/// What the endpoint mapper is called.
pub const ENDPOINT_MAPPER: Uuid =
    Uuid([0xe1, 0xaf, 0x83, 0x08, 0x5d, 0x1f, 0x11, 0xc9, 0x91, 0xa4, 0x08, 0x00, 0x2b, 0x14, 0xa0, 0xfa]);

const fn pnio(which: u8) -> [u8; 16] {
    [0xde, 0xa0, 0, which, 0x6c, 0x97, 0x11, 0xd1, 0x82, 0x71, 0x00, 0xa0, 0x24, 0x42, 0xdf, 0x7d]
}

/// The object UUID of a PROFINET station.
pub fn object(instance: u16, device: u16, vendor: u16) -> Uuid {
    let mut bytes = [0xde, 0xa0, 0, 0, 0x6c, 0x97, 0x11, 0xd1, 0x82, 0x71, 0, 0, 0, 0, 0, 0];
    bytes[10..12].copy_from_slice(&instance.to_be_bytes());
    bytes[12..14].copy_from_slice(&device.to_be_bytes());
    bytes[14..16].copy_from_slice(&vendor.to_be_bytes());
    Uuid(bytes)
}

/// What kind of PDU it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Kind;

#[allow(missing_docs)]
impl Kind {
    pub const REQUEST: u8 = 0;
    pub const PING: u8 = 1;
    pub const RESPONSE: u8 = 2;
    pub const FAULT: u8 = 3;
    pub const WORKING: u8 = 4;
    pub const NO_CALL: u8 = 5;
    pub const REJECT: u8 = 6;
    pub const ACK: u8 = 7;
    pub const FRAGMENT_ACK: u8 = 9;
}

/// Bits of the first flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Flag;

#[allow(missing_docs)]
impl Flag {
    pub const LAST_FRAGMENT: u8 = 0x02;
    pub const FRAGMENT: u8 = 0x04;
    pub const NO_FRAGMENT_ACK: u8 = 0x08;
    pub const IDEMPOTENT: u8 = 0x20;
}

/// Numbers of PROFINET's calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Operation;

#[allow(missing_docs)]
impl Operation {
    pub const CONNECT: u16 = 0;
    pub const RELEASE: u16 = 1;
    pub const READ: u16 = 2;
    pub const WRITE: u16 = 3;
    pub const CONTROL: u16 = 4;
    pub const READ_IMPLICIT: u16 = 5;
}

/// Why a call was rejected or failed, as DCE names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Cause;

#[allow(missing_docs)]
impl Cause {
    pub const UNKNOWN_OPERATION: u32 = 0x1c01_0002;
    pub const UNKNOWN_INTERFACE: u32 = 0x1c01_0003;
    pub const PROTOCOL_ERROR: u32 = 0x1c01_000b;
    pub const REMOTE_NO_MEMORY: u32 = 0x1c00_001b;
}

/// The header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Header {
    /// See [`Kind`].
    pub kind: u8,
    /// See [`Flag`].
    pub flags: u8,
    pub flags2: u8,
    /// Whether numbers of the header and the NDR are little-endian.
    pub little: bool,
    pub object: Uuid,
    pub interface: Uuid,
    /// The session of a client.
    pub activity: Uuid,
    pub boot_time: u32,
    pub interface_version: u32,
    /// Counts the calls of a session.
    pub sequence: u32,
    /// See [`Operation`].
    pub operation: u16,
    pub fragment: u16,
    pub serial: u16,
}

impl Header {
    /// The header of a datagram and its body.
    ///
    /// # Errors
    /// If it is no connectionless RPC of version 4, or shorter than it says.
    pub fn decode(datagram: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        let mut reader = Reader::new(datagram);
        if reader.u8()? != 4 {
            return Err(Malformed("RPC version"));
        }
        let (kind, flags, flags2) = (reader.u8()?, reader.u8()?, reader.u8()?);
        let little = match reader.array::<3>()? {
            [0x00, ..] => false,
            [0x10, ..] => true,
            _ => return Err(Malformed("RPC data representation")),
        };
        let order = Ndr { little };
        let serial_high = reader.u8()?;
        let (object, interface, activity) =
            (order.uuid(&mut reader)?, order.uuid(&mut reader)?, order.uuid(&mut reader)?);
        let (boot_time, interface_version, sequence) =
            (order.u32(&mut reader)?, order.u32(&mut reader)?, order.u32(&mut reader)?);
        let operation = order.u16(&mut reader)?;
        let _hints = reader.u32()?;
        let (bytes, fragment) = (order.u16(&mut reader)?, order.u16(&mut reader)?);
        if reader.u8()? != 0 {
            return Err(Malformed("RPC authentication"));
        }
        let serial = u16::from_be_bytes([serial_high, reader.u8()?]);
        let body = reader.take(usize::from(bytes))?;
        let header = Self {
            kind,
            flags,
            flags2,
            little,
            object,
            interface,
            activity,
            boot_time,
            interface_version,
            sequence,
            operation,
            fragment,
            serial,
        };
        Ok((header, body))
    }

    /// A datagram with this header and that body, which has at most 65535 bytes.
    pub fn encode(&self, body: &[u8]) -> Vec<u8> {
        let order = self.ndr();
        let [serial_high, serial_low] = self.serial.to_be_bytes();
        let mut datagram = Vec::with_capacity(HEADER_BYTES + body.len());
        let representation = if self.little { 0x10 } else { 0 };
        datagram.put(&[4, self.kind, self.flags, self.flags2, representation, 0, 0, serial_high]);
        for uuid in [self.object, self.interface, self.activity] {
            order.put_uuid(&mut datagram, uuid);
        }
        for number in [self.boot_time, self.interface_version, self.sequence] {
            order.put32(&mut datagram, number);
        }
        order.put16(&mut datagram, self.operation);
        datagram.put32(u32::MAX);
        order.put16(&mut datagram, body.len() as u16);
        order.put16(&mut datagram, self.fragment);
        datagram.put(&[0, serial_low]);
        datagram.put(body);
        datagram
    }

    /// How its sender writes numbers.
    pub fn ndr(&self) -> Ndr {
        Ndr { little: self.little }
    }
}

/// How numbers of the header and the NDR are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ndr {
    /// The lowest byte first.
    pub little: bool,
}

#[allow(missing_docs, clippy::missing_errors_doc)]
impl Ndr {
    pub fn u16(self, reader: &mut Reader<'_>) -> Result<u16, Malformed> {
        reader.u16().map(|value| if self.little { value.swap_bytes() } else { value })
    }

    pub fn u32(self, reader: &mut Reader<'_>) -> Result<u32, Malformed> {
        reader.u32().map(|value| if self.little { value.swap_bytes() } else { value })
    }

    pub fn uuid(self, reader: &mut Reader<'_>) -> Result<Uuid, Malformed> {
        reader.uuid().map(|value| if self.little { value.swapped() } else { value })
    }

    pub fn put16(self, out: &mut Vec<u8>, value: u16) {
        out.put16(if self.little { value.swap_bytes() } else { value });
    }

    pub fn put32(self, out: &mut Vec<u8>, value: u32) {
        out.put32(if self.little { value.swap_bytes() } else { value });
    }

    pub fn put_uuid(self, out: &mut Vec<u8>, value: Uuid) {
        out.put(&if self.little { value.swapped() } else { value }.0);
    }
}

/// The body of a PROFINET call or its answer: blocks behind an NDR header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arguments<'a> {
    /// Of a request: most bytes of blocks that the answer may have. Of an answer: its [`Status`].
    pub first: u32,
    /// Most bytes of blocks that the array may have.
    pub maximum: u32,
    /// The blocks.
    pub blocks: &'a [u8],
}

impl<'a> Arguments<'a> {
    /// From a body.
    ///
    /// # Errors
    /// If its lengths contradict each other.
    pub fn decode(body: &'a [u8], ndr: Ndr) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let first = ndr.u32(&mut reader)?;
        let length = ndr.u32(&mut reader)?;
        let maximum = ndr.u32(&mut reader)?;
        let offset = ndr.u32(&mut reader)?;
        let actual = ndr.u32(&mut reader)?;
        if offset != 0 || actual != length || actual > maximum {
            return Err(Malformed("NDR lengths"));
        }
        let blocks = reader.take(usize::try_from(actual).map_err(|_| Malformed("NDR lengths"))?)?;
        Ok(Self { first, maximum, blocks })
    }

    /// A body.
    pub fn encode(&self, ndr: Ndr) -> Vec<u8> {
        let mut body = Vec::with_capacity(20 + self.blocks.len());
        let length = self.blocks.len() as u32;
        for number in [self.first, length, self.maximum, 0, length] {
            ndr.put32(&mut body, number);
        }
        body.put(self.blocks);
        body
    }

    /// Of an answer.
    pub fn status(&self) -> Status {
        Status(self.first)
    }
}
