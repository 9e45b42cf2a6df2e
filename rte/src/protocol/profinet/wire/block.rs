// SPDX-License-Identifier: Apache-2.0
//! Blocks: what calls, records and alarms consist of. Each begins with its type, its length behind these four bytes, and
//! its version.

use super::connect::{AlarmCrRequest, AlarmCrResponse, ArRequest, ArResponse, ArServer};
use super::control::Control;
use super::diagnosis::Diagnosis;
use super::expected::{Expected, ModuleDiff};
use super::identification::{Identification, RealIdentification};
use super::iocr::{IocrRequest, IocrResponse};
use super::record::RecordHeader;
use super::{Malformed, Put, Reader};

/// Bytes of a block's header.
pub const HEADER_BYTES: usize = 6;

/// A block's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// BlockType.
    pub kind: u16,
    /// Version, high and low: 1.0 for most.
    pub version: (u8, u8),
}

/// A block that is known, or another.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Block {
    ArRequest(ArRequest),
    ArResponse(ArResponse),
    IocrRequest(IocrRequest),
    IocrResponse(IocrResponse),
    AlarmCrRequest(AlarmCrRequest),
    AlarmCrResponse(AlarmCrResponse),
    Expected(Expected),
    ModuleDiff(ModuleDiff),
    ArServer(ArServer),
    /// With the block's type.
    Control(u16, Control),
    ReadRequest(RecordHeader),
    ReadResponse(RecordHeader),
    WriteRequest(RecordHeader),
    WriteResponse(RecordHeader),
    Identification(Identification),
    RealIdentification(RealIdentification),
    Diagnosis(Diagnosis),
    /// One that nobody here looks into.
    Other(Header, Vec<u8>),
}

/// Types of the blocks that [`Block::Control`] has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct ControlKind;

#[allow(missing_docs)]
impl ControlKind {
    pub const PRM_END: u16 = 0x0110;
    pub const APPLICATION_READY: u16 = 0x0112;
    pub const RELEASE: u16 = 0x0114;
    pub const PRM_BEGIN: u16 = 0x0118;
    /// Added to a request's type, it is the type of its answer.
    pub const RESPONSE: u16 = 0x8000;
}

/// A block that could not be decoded: its type, if that much was there, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faulty {
    /// BlockType; 0 if there was none.
    pub kind: u16,
    /// Why.
    pub why: Malformed,
}

impl Block {
    /// The next block. All of its bytes must be used.
    ///
    /// # Errors
    /// If there is none that is complete.
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, Faulty> {
        let kind = reader.u16().map_err(|why| Faulty { kind: 0, why })?;
        let inner = || {
            let length = reader.u16()?;
            let mut body = Reader::new(reader.take(usize::from(length))?);
            let header = Header { kind, version: (body.u8()?, body.u8()?) };
            let block = Self::decode_body(header, &mut body)?;
            if body.rest().is_empty() { Ok(block) } else { Err(Malformed("block length")) }
        };
        let mut inner = inner;
        inner().map_err(|why| Faulty { kind, why })
    }

    fn decode_body(header: Header, reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let is_control = matches!(header.kind & 0x7fff, 0x0110..=0x0118);
        if header.version != (1, 0) && !matches!(header.kind, 0x0010 | 0x0012 | 0x0013) {
            return Self::other(header, reader);
        }
        Ok(match header.kind {
            0x0101 => Self::ArRequest(ArRequest::decode(reader)?),
            0x8101 => Self::ArResponse(ArResponse::decode(reader)?),
            0x0102 => Self::IocrRequest(IocrRequest::decode(reader)?),
            0x8102 => Self::IocrResponse(IocrResponse::decode(reader)?),
            0x0103 => Self::AlarmCrRequest(AlarmCrRequest::decode(reader)?),
            0x8103 => Self::AlarmCrResponse(AlarmCrResponse::decode(reader)?),
            0x0104 => Self::Expected(Expected::decode(reader)?),
            0x8104 => Self::ModuleDiff(ModuleDiff::decode(reader)?),
            0x8106 => Self::ArServer(ArServer::decode(reader)?),
            0x0009 => Self::ReadRequest(RecordHeader::decode_read_request(reader)?),
            0x8009 => Self::ReadResponse(RecordHeader::decode_read_response(reader)?),
            0x0008 => Self::WriteRequest(RecordHeader::decode_write_request(reader)?),
            0x8008 => Self::WriteResponse(RecordHeader::decode_write_response(reader)?),
            0x0020 => Self::Identification(Identification::decode(reader)?),
            0x0012 | 0x0013 if header.version == (1, 1) => {
                Self::RealIdentification(RealIdentification::decode(header.kind, reader)?)
            }
            0x0010 if header.version == (1, 1) => Self::Diagnosis(Diagnosis::decode(reader)?),
            kind if is_control => Self::Control(kind, Control::decode(reader)?),
            _ => Self::other(header, reader)?,
        })
    }

    fn other(header: Header, reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self::Other(header, reader.take(reader.rest().len())?.to_vec()))
    }

    /// Its header.
    pub fn header(&self) -> Header {
        let kind = match self {
            Self::ArRequest(_) => 0x0101,
            Self::ArResponse(_) => 0x8101,
            Self::IocrRequest(_) => 0x0102,
            Self::IocrResponse(_) => 0x8102,
            Self::AlarmCrRequest(_) => 0x0103,
            Self::AlarmCrResponse(_) => 0x8103,
            Self::Expected(_) => 0x0104,
            Self::ModuleDiff(_) => 0x8104,
            Self::ArServer(_) => 0x8106,
            Self::Control(kind, _) => *kind,
            Self::ReadRequest(_) => 0x0009,
            Self::ReadResponse(_) => 0x8009,
            Self::WriteRequest(_) => 0x0008,
            Self::WriteResponse(_) => 0x8008,
            Self::Identification(_) => 0x0020,
            Self::RealIdentification(real) => return Header { kind: real.kind, version: (1, 1) },
            Self::Diagnosis(_) => return Header { kind: 0x0010, version: (1, 1) },
            Self::Other(header, _) => return *header,
        };
        Header { kind, version: (1, 0) }
    }

    /// Appends it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_block(out, self.header(), |out| match self {
            Self::ArRequest(block) => block.encode(out),
            Self::ArResponse(block) => block.encode(out),
            Self::IocrRequest(block) => block.encode(out),
            Self::IocrResponse(block) => block.encode(out),
            Self::AlarmCrRequest(block) => block.encode(out),
            Self::AlarmCrResponse(block) => block.encode(out),
            Self::Expected(block) => block.encode(out),
            Self::ModuleDiff(block) => block.encode(out),
            Self::ArServer(block) => block.encode(out),
            Self::Control(_, block) => block.encode(out),
            Self::ReadRequest(block) => block.encode_read_request(out),
            Self::ReadResponse(block) => block.encode_read_response(out),
            Self::WriteRequest(block) => block.encode_write_request(out),
            Self::WriteResponse(block) => block.encode_write_response(out),
            Self::Identification(block) => block.encode(out),
            Self::RealIdentification(block) => block.encode(out),
            Self::Diagnosis(block) => block.encode(out),
            Self::Other(_, bytes) => out.put(bytes),
        });
    }
}

/// Appends a block with what `body` appends.
pub fn put_block(out: &mut Vec<u8>, header: Header, body: impl FnOnce(&mut Vec<u8>)) {
    out.put16(header.kind);
    let at = out.len();
    out.put16(0);
    out.put(&[header.version.0, header.version.1]);
    body(out);
    let length = (out.len() - at - 2) as u16;
    out[at..at + 2].copy_from_slice(&length.to_be_bytes());
}
