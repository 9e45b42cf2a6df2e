// SPDX-License-Identifier: Apache-2.0
//! Blocks of the Connect call about an IO communication relation (CR): one direction of cyclic data.

use super::{Malformed, Put, Reader};
use crate::protocol::{Mac, Nanos};

/// IOCRType of inputs: from the device to the controller.
pub const INPUT: u16 = 1;
/// IOCRType of outputs: from the controller to the device.
pub const OUTPUT: u16 = 2;
/// The unit of send clocks and cycle counters.
pub const CLOCK_NANOS: Nanos = 31_250;

/// Where a submodule's data, or the status of its consumer, lies in the frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Item {
    pub slot: u16,
    pub subslot: u16,
    /// In bytes behind the FrameID.
    pub offset: u16,
}

/// What of an API is in the frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Api {
    pub api: u32,
    /// Data, each followed by its IOPS.
    pub data: Vec<Item>,
    /// IOCS.
    pub status: Vec<Item>,
}

/// IOCRBlockReq.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct IocrRequest {
    /// [`INPUT`] or [`OUTPUT`].
    pub kind: u16,
    pub reference: u16,
    pub ethertype: u16,
    /// The low four bits are the RT class.
    pub properties: u32,
    /// Bytes of data and statuses, 40 to 1440.
    pub data_bytes: u16,
    pub frame_id: u16,
    /// In 31.25 us, 1 to 128.
    pub send_clock: u16,
    /// A frame in every that many send clocks, 1 to 512.
    pub reduction_ratio: u16,
    /// In which of them, 1 to `reduction_ratio`.
    pub phase: u16,
    pub sequence: u16,
    /// In ns from the begin of the send clock; all ones: as good as it can.
    pub send_offset: u32,
    pub watchdog_factor: u16,
    /// After that many missing frames the data is no longer held.
    pub data_hold_factor: u16,
    /// TCI of the VLAN tag.
    pub tag: u16,
    pub multicast: Mac,
    pub apis: Vec<Api>,
}

impl IocrRequest {
    /// The RT class: 1 or 2 are not synchronised.
    pub fn rt_class(&self) -> u32 {
        self.properties & 0xf
    }

    /// From frame to frame.
    pub fn period(&self) -> Nanos {
        CLOCK_NANOS * Nanos::from(self.send_clock) * Nanos::from(self.reduction_ratio)
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let mut this = Self {
            kind: reader.u16()?,
            reference: reader.u16()?,
            ethertype: reader.u16()?,
            properties: reader.u32()?,
            data_bytes: reader.u16()?,
            frame_id: reader.u16()?,
            send_clock: reader.u16()?,
            reduction_ratio: reader.u16()?,
            phase: reader.u16()?,
            sequence: reader.u16()?,
            send_offset: reader.u32()?,
            watchdog_factor: reader.u16()?,
            data_hold_factor: reader.u16()?,
            tag: reader.u16()?,
            multicast: Mac(reader.array()?),
            apis: Vec::new(),
        };
        for _ in 0..reader.u16()? {
            let api = Api { api: reader.u32()?, data: decode_items(reader)?, status: decode_items(reader)? };
            this.apis.push(api);
        }
        Ok(this)
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.put16(self.kind);
        out.put16(self.reference);
        out.put16(self.ethertype);
        out.put32(self.properties);
        let fields = [self.data_bytes, self.frame_id, self.send_clock, self.reduction_ratio, self.phase, self.sequence];
        out.put_all(&fields);
        out.put32(self.send_offset);
        out.put_all(&[self.watchdog_factor, self.data_hold_factor, self.tag]);
        out.put(&self.multicast.0);
        out.put16(self.apis.len() as u16);
        for api in &self.apis {
            out.put32(api.api);
            for items in [&api.data, &api.status] {
                out.put16(items.len() as u16);
                items.iter().for_each(|item| {
                    out.put_all(&[item.slot, item.subslot, item.offset]);
                });
            }
        }
    }
}

fn decode_items(reader: &mut Reader<'_>) -> Result<Vec<Item>, Malformed> {
    let count = reader.u16()?;
    (0..count).map(|_| Ok(Item { slot: reader.u16()?, subslot: reader.u16()?, offset: reader.u16()? })).collect()
}

/// IOCRBlockRes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct IocrResponse {
    pub kind: u16,
    pub reference: u16,
    pub frame_id: u16,
}

impl IocrResponse {
    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self { kind: reader.u16()?, reference: reader.u16()?, frame_id: reader.u16()? })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.put_all(&[self.kind, self.reference, self.frame_id]);
    }
}
