// SPDX-License-Identifier: Apache-2.0
//! What the observer of the simulated device sees, typed: `enum weir_event_kind` of soc/harness/device.h and
//! `enum trace_kind` of device/firmware/include/trace.h.

use super::ffi::Event;

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Observed {
    /// An interrupt was taken; `nic`: with the NIC's line high.
    EnterIsr {
        /// The NIC's line.
        nic: bool,
    },
    /// The running task called the kernel.
    EnterTrap,
    /// The task with this handle runs from now on.
    EnterTask(u32),
    /// The frame that just ended is in the NIC.
    RxAccept,
    /// The frame that just ended was dropped: no room in the NIC.
    RxOverrun,
    /// The frame that just ended was dropped as damaged.
    RxBad,
    /// The oldest accepted frame is in RAM at this address.
    RxDone(u32),
    /// The oldest accepted frame was dropped: no descriptor, or no room in its queue.
    RxNoDescriptor,
    /// The oldest accepted frame was dropped: too long, a bus error, or nobody's.
    RxError,
    /// A watched instruction was executed.
    Watch(u32),
    /// The firmware is set up.
    Ready,
    /// The firmware gave up.
    Failed,
    /// A job of this task began.
    JobStart(usize),
    /// A job of this task completed.
    JobEnd(usize),
    /// The driver took this buffer from the ring.
    Driver(usize),
    /// The IP stack began with it.
    Stack(usize),
    /// The IP stack returned.
    StackDone(usize),
    /// It is free.
    Freed(usize),
    /// It is in the ring.
    Given(usize),
    /// The eager half took it from the ring into a flow's queue.
    Queued(usize),
    /// The eager half discarded its packet; it is in the ring again.
    Dropped(usize, Drop),
    /// A queue of the NIC was turned off: what waits in the packet RAM from this frame number on is gone.
    Closed(usize),
    /// The frame in the first buffer was copied to the second, and the first one is free.
    Copied(usize, usize),
    /// The overall limit has turned the receive interrupt off, or on again.
    Polling(bool),
}

/// Why the eager half discarded a packet: `enum weir_drop`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drop {
    /// Buffers were scarce, and nothing waited that mattered less.
    ShortCircuit,
    /// Its flow's limit.
    Limited,
    /// It waited, and gave way to a packet that matters more.
    Recycled,
    /// Malformed, or background that is dropped at once.
    Refused,
}

impl Drop {
    fn decode(code: u32) -> Option<Drop> {
        [Drop::ShortCircuit, Drop::Limited, Drop::Recycled, Drop::Refused].get(code as usize).copied()
    }
}

const TRACE: u32 = 64;
/// Frames that have a place in packet RAM: copies come behind them (`TRACE_RX_KEPT`).
pub const PACKET_UNITS: u32 = (256 << 10) / 16;

impl Observed {
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
                10 => Observed::Dropped(index & 0xffff, Drop::decode(event.value >> 16)?),
                11 => Observed::Polling(event.value != 0),
                12 => Observed::Closed(index),
                13 => Observed::Copied(index & 0xffff, PACKET_UNITS as usize + (index >> 16)),
                _ => return None,
            },
        })
    }
}
