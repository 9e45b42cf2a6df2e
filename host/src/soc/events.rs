// SPDX-License-Identifier: Apache-2.0
//! The events of the simulated device, typed: `enum weir_event_kind` of soc/harness/device.h and `enum trace_kind` of
//! device/firmware/include/trace.h.

use super::ffi::Event;
use crate::observe::{Drop, Observed};

fn decode_drop(code: u32) -> Option<Drop> {
    [Drop::ShortCircuit, Drop::Limited, Drop::Recycled, Drop::Refused].get(code as usize).copied()
}

const TRACE: u32 = 64;
/// Frames that have a place in packet RAM: copies come behind them (`TRACE_RX_KEPT`).
pub const PACKET_UNITS: u32 = (256 << 10) / 16;

/// Decodes an event; `None`: a write to the trace port that is not ours, e.g. by a user's own code.
pub fn decode(event: Event) -> Option<Observed> {
    let index = event.value as usize;
    Some(match event.kind {
        0 => Observed::EnterIsr { nic: event.value != 0 },
        1 => Observed::EnterTrap,
        2 => Observed::EnterTask(event.value),
        3 => Observed::RxAccept,
        4 => Observed::RxOverrun,
        5 => Observed::RxBad,
        6 => Observed::RxDone(event.value),
        7 => Observed::RxNoDescriptor,
        8 => Observed::RxError,
        9 => Observed::Watch(event.value),
        kind => match kind.checked_sub(TRACE)? {
            0 => Observed::Ready,
            1 => Observed::Failed,
            2 => Observed::JobStart(index),
            3 => Observed::JobEnd(index),
            4 => Observed::Driver(index),
            5 => Observed::Stack(index),
            6 => Observed::StackDone(index),
            7 => Observed::Freed(index),
            8 => Observed::Given(index),
            9 => Observed::Queued(index),
            10 => Observed::Dropped(index & 0xffff, decode_drop(event.value >> 16)?),
            11 => Observed::Polling(event.value != 0),
            12 => Observed::Closed(index),
            13 => Observed::Copied(index & 0xffff, PACKET_UNITS as usize + (index >> 16)),
            _ => return None,
        },
    })
}
