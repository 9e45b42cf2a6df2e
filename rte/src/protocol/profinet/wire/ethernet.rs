// SPDX-License-Identifier: Apache-2.0
//! What stands before everything on an Ethernet.

use super::{Malformed, Reader};
use crate::protocol::Mac;

/// A frame's receiver, sender, EtherType and what comes after it. A VLAN tag is passed over.
///
/// # Errors
/// If it is too short.
pub fn split(frame: &[u8]) -> Result<(Mac, Mac, u16, &[u8]), Malformed> {
    let mut reader = Reader::new(frame);
    let (to, from) = (Mac(reader.array()?), Mac(reader.array()?));
    let kind = match reader.u16()? {
        0x8100 => {
            reader.u16()?;
            reader.u16()?
        }
        kind => kind,
    };
    Ok((to, from, kind, reader.rest()))
}
