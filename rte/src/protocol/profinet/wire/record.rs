// SPDX-License-Identifier: Apache-2.0
//! Headers of record data: Read and Write calls.

use super::status::Status;
use super::{Malformed, Put, Reader, Uuid};

/// Bytes of such a header with its block header. The record follows it.
pub const HEADER_BYTES: usize = 64;
/// The index under which several records are written at once.
pub const WRITE_MULTIPLE: u16 = 0xe040;

/// IODReadReqHeader, IODReadResHeader, IODWriteReqHeader and IODWriteResHeader: the block's type tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct RecordHeader {
    pub sequence: u16,
    pub ar: Uuid,
    pub api: u32,
    pub slot: u16,
    pub subslot: u16,
    pub index: u16,
    /// Of the record that follows; in a Read request, most that the answer may have.
    pub bytes: u32,
    /// In a Read request.
    pub target_ar: Uuid,
    /// In answers.
    pub additional: [u16; 2],
    /// In answers to Write requests.
    pub status: Status,
}

impl RecordHeader {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (sequence, ar, api) = (reader.u16()?, reader.uuid()?, reader.u32()?);
        let (slot, subslot) = (reader.u16()?, reader.u16()?);
        reader.u16()?;
        let (index, bytes) = (reader.u16()?, reader.u32()?);
        Ok(Self { sequence, ar, api, slot, subslot, index, bytes, ..Self::default() })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put16(self.sequence);
        out.put(&self.ar.0);
        out.put32(self.api);
        out.put_all(&[self.slot, self.subslot, 0, self.index]);
        out.put32(self.bytes);
    }

    pub(super) fn decode_read_request(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let mut this = Self::decode(reader)?;
        this.target_ar = reader.uuid()?;
        reader.take(8)?;
        Ok(this)
    }

    pub(super) fn encode_read_request(&self, out: &mut Vec<u8>) {
        self.encode(out);
        out.put(&self.target_ar.0);
        out.put_zeros(8);
    }

    pub(super) fn decode_write_request(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let this = Self::decode(reader)?;
        reader.take(24)?;
        Ok(this)
    }

    pub(super) fn encode_write_request(&self, out: &mut Vec<u8>) {
        self.encode(out);
        out.put_zeros(24);
    }

    pub(super) fn decode_read_response(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let mut this = Self::decode(reader)?;
        this.additional = [reader.u16()?, reader.u16()?];
        reader.take(20)?;
        Ok(this)
    }

    pub(super) fn encode_read_response(&self, out: &mut Vec<u8>) {
        self.encode(out);
        out.put_all(&self.additional);
        out.put_zeros(20);
    }

    pub(super) fn decode_write_response(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let mut this = Self::decode(reader)?;
        this.additional = [reader.u16()?, reader.u16()?];
        this.status = Status(reader.u32()?);
        reader.take(16)?;
        Ok(this)
    }

    pub(super) fn encode_write_response(&self, out: &mut Vec<u8>) {
        self.encode(out);
        out.put_all(&self.additional);
        out.put32(self.status.0);
        out.put_zeros(16);
    }
}
