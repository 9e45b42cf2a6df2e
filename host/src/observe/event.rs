// SPDX-License-Identifier: Apache-2.0
//! What happens on a device: the vocabulary in which both platforms tell the observer.

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
