// SPDX-License-Identifier: Apache-2.0
//! The block of Control and Release calls.

use super::{Malformed, Put, Reader, Uuid};

/// Commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Command;

#[allow(missing_docs)]
impl Command {
    pub const PRM_END: u16 = 1;
    pub const APPLICATION_READY: u16 = 2;
    pub const RELEASE: u16 = 4;
    pub const DONE: u16 = 8;
    pub const PRM_BEGIN: u16 = 0x40;
}

/// IODControlReq, IOXControlReq, IODReleaseReq and what answers them: the block's type tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Control {
    pub ar: Uuid,
    pub session: u16,
    /// Of alarms, where the block is about plugging.
    pub alarm_sequence: u16,
    /// See [`Command`].
    pub command: u16,
    pub properties: u16,
}

impl Control {
    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        reader.u16()?;
        Ok(Self {
            ar: reader.uuid()?,
            session: reader.u16()?,
            alarm_sequence: reader.u16()?,
            command: reader.u16()?,
            properties: reader.u16()?,
        })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.put16(0);
        out.put(&self.ar.0);
        out.put_all(&[self.session, self.alarm_sequence, self.command, self.properties]);
    }
}
