// SPDX-License-Identifier: Apache-2.0
//! Cyclic frames of RT classes 1 and 2.
//!
//! ```text
//! destination 6 | source 6 | 8100 tci | 8892 | FrameID 2 | data and statuses 40 to 1440 | cycle 2 | DataStatus 1 | TransferStatus 1
//! ```

use super::{ETHERTYPE, Malformed, Reader};
use crate::protocol::Mac;

/// Bytes in front of the FrameID, with a VLAN tag.
pub const TAGGED_HEADER_BYTES: usize = 18;
/// Bytes behind the data.
pub const TRAILER_BYTES: usize = 4;
/// Bytes of a frame with a VLAN tag that are not data.
pub const OVERHEAD_BYTES: usize = TAGGED_HEADER_BYTES + 2 + TRAILER_BYTES;
/// An IOPS or IOCS that is good.
pub const GOOD: u8 = 0x80;
/// One that is bad, by the device.
pub const BAD: u8 = 0x00;

/// Bits of DataStatus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct DataStatus;

#[allow(missing_docs)]
impl DataStatus {
    pub const PRIMARY: u8 = 0x01;
    pub const VALID: u8 = 0x04;
    pub const RUN: u8 = 0x10;
    pub const NO_PROBLEM: u8 = 0x20;
    pub const IGNORE: u8 = 0x80;
}

/// What of an Ethernet frame stands in front of the data, with its VLAN tag or without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Ethernet {
    pub to: Mac,
    pub from: Mac,
    /// The tag's TCI, if there is one.
    pub tag: Option<u16>,
    pub frame_id: u16,
}

impl Ethernet {
    /// The begin of a frame, and what follows the FrameID.
    ///
    /// # Errors
    /// If it is too short or of another type.
    pub fn decode(frame: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        let mut reader = Reader::new(frame);
        let (to, from) = (Mac(reader.array()?), Mac(reader.array()?));
        let mut ethertype = reader.u16()?;
        let mut tag = None;
        if ethertype == 0x8100 {
            tag = Some(reader.u16()?);
            ethertype = reader.u16()?;
        }
        if ethertype != ETHERTYPE {
            return Err(Malformed("EtherType"));
        }
        Ok((Self { to, from, tag, frame_id: reader.u16()? }, reader.rest()))
    }

    /// Writes it at the begin of a buffer, which is long enough; answers how many bytes those were.
    pub fn write(&self, frame: &mut [u8]) -> usize {
        frame[0..6].copy_from_slice(&self.to.0);
        frame[6..12].copy_from_slice(&self.from.0);
        let mut at = 12;
        let mut put = |value: u16| {
            frame[at..at + 2].copy_from_slice(&value.to_be_bytes());
            at += 2;
        };
        if let Some(tag) = self.tag {
            put(0x8100);
            put(tag);
        }
        put(ETHERTYPE);
        put(self.frame_id);
        at
    }
}

/// What follows the FrameID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cyclic<'a> {
    /// Data and statuses.
    pub data: &'a [u8],
    /// In 31.25 us.
    pub cycle: u16,
    /// See [`DataStatus`].
    pub status: u8,
    /// 0.
    pub transfer: u8,
}

impl<'a> Cyclic<'a> {
    /// From what follows the FrameID.
    ///
    /// # Errors
    /// If it is too short.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (data, trailer) = bytes.split_last_chunk::<TRAILER_BYTES>().ok_or(super::TOO_SHORT)?;
        let [high, low, status, transfer] = *trailer;
        Ok(Self { data, cycle: u16::from_be_bytes([high, low]), status, transfer })
    }

    /// Writes the last bytes of a frame.
    pub fn write_trailer(frame: &mut [u8], cycle: u16, status: u8) {
        if let Some(trailer) = frame.last_chunk_mut::<TRAILER_BYTES>() {
            let [high, low] = cycle.to_be_bytes();
            *trailer = [high, low, status, 0];
        }
    }
}
