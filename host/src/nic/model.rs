// SPDX-License-Identifier: Apache-2.0
//! Moderation by queue: a packet timer, an absolute timer and a threshold of frames (thesis 6.2, 6.3.2).
//!
//! Time is in clock cycles. What belongs to one cycle happens in this order: timers that are due, queues in their order,
//! then the frame. So a frame that arrives when a timer expires is the first of the next interrupt.

use super::settings::{AbsoluteMode, Queue, Settings};

/// No timer runs.
const NEVER: u64 = u64::MAX;

/// Why there was an interrupt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The queue is not moderated.
    AtOnce,
    /// As many frames as the threshold wait.
    Frames,
    /// So long nothing more has come.
    PacketTimer,
    /// So long the first one has waited, or a period is over.
    AbsoluteTimer,
}

impl Cause {
    /// All.
    pub const ALL: [Cause; 4] = [Cause::AtOnce, Cause::Frames, Cause::PacketTimer, Cause::AbsoluteTimer];

    /// In tables and traces.
    pub fn name(self) -> &'static str {
        match self {
            Cause::AtOnce => "at-once",
            Cause::Frames => "frames",
            Cause::PacketTimer => "packet-timer",
            Cause::AbsoluteTimer => "absolute-timer",
        }
    }
}

/// One interrupt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interrupt {
    /// Clock cycle.
    pub time: u64,
    /// Index of the queue.
    pub queue: usize,
    /// Why.
    pub cause: Cause,
    /// Frames that it announces; 0 only with the published simulator's empty interrupts.
    pub frames: u32,
}

/// What became of a queue's frames: `frames = announced + full + waiting`, but for the published simulator's losses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Arrived.
    pub frames: u64,
    /// Announced by an interrupt.
    pub announced: u64,
    /// Dropped: the queue was full.
    pub full: u64,
    /// Still waiting.
    pub waiting: u64,
    /// Interrupts by cause, in the order of [`Cause::ALL`].
    pub interrupts: [u64; 4],
}

#[derive(Debug, Clone)]
struct State {
    packet_cycles: u64,
    absolute_cycles: u64,
    periodic: bool,
    threshold: u32,
    capacity: u32,
    at_once: bool,
    waiting: u32,
    packet_due: u64,
    absolute_due: u64,
    totals: Totals,
}

impl State {
    fn new(queue: &Queue) -> Self {
        let absolute_due = match queue.absolute_mode {
            AbsoluteMode::Periodic { offset_cycles } if queue.absolute_cycles > 0 => {
                offset_cycles + queue.absolute_cycles
            }
            _ => NEVER,
        };
        Self {
            packet_cycles: queue.packet_cycles,
            absolute_cycles: queue.absolute_cycles,
            periodic: absolute_due != NEVER,
            threshold: queue.frames,
            capacity: queue.capacity,
            at_once: queue.packet_cycles == 0 && queue.absolute_cycles == 0 && queue.frames == 0,
            waiting: 0,
            packet_due: NEVER,
            absolute_due,
            totals: Totals::default(),
        }
    }

    fn due(&self) -> u64 {
        self.packet_due.min(self.absolute_due)
    }

    /// Announces what waits.
    fn interrupt(&mut self, time: u64, queue: usize, cause: Cause) -> Interrupt {
        let frames = self.waiting;
        self.waiting = 0;
        self.packet_due = NEVER;
        if !self.periodic {
            self.absolute_due = NEVER;
        }
        self.totals.announced += u64::from(frames);
        self.totals.interrupts[cause as usize] += 1;
        Interrupt { time, queue, cause, frames }
    }
}

/// The NIC.
#[derive(Debug, Clone)]
pub struct Nic {
    queues: Vec<State>,
    /// No timer is due before it.
    next: u64,
    empty_interrupts: bool,
    uncounted_losses: bool,
}

impl Nic {
    /// With nothing waiting, at cycle 0.
    pub fn new(settings: &Settings) -> Self {
        let queues: Vec<State> = settings.queues.iter().map(State::new).collect();
        let next = queues.iter().map(State::due).min().unwrap_or(NEVER);
        Self { queues, next, empty_interrupts: settings.empty_interrupts, uncounted_losses: settings.uncounted_losses }
    }

    /// A frame for `queue` is in RAM. Times must not go back.
    #[inline]
    pub fn frame(&mut self, time: u64, queue: usize, mut on: impl FnMut(Interrupt)) {
        if self.next <= time {
            self.expire(time, &mut on);
        }
        let state = &mut self.queues[queue];
        state.totals.frames += 1;
        if state.waiting >= state.capacity {
            state.totals.full += u64::from(!self.uncounted_losses);
            return;
        }
        state.waiting += 1;
        if state.at_once {
            on(state.interrupt(time, queue, Cause::AtOnce));
            return;
        }
        if state.waiting == 1 && state.absolute_cycles > 0 && !state.periodic {
            state.absolute_due = time + state.absolute_cycles;
        }
        let reached = state.waiting == state.threshold;
        if reached {
            on(state.interrupt(time, queue, Cause::Frames));
        }
        if state.packet_cycles > 0 && (!reached || self.empty_interrupts) {
            state.packet_due = time + state.packet_cycles;
        }
        self.next = self.next.min(state.due());
    }

    /// No timer expires before this cycle; `None`: none runs.
    pub fn next_due(&self) -> Option<u64> {
        (self.next != NEVER).then_some(self.next)
    }

    /// Lets time pass: timers that are due at `time` or before have expired.
    pub fn advance(&mut self, time: u64, mut on: impl FnMut(Interrupt)) {
        if self.next <= time {
            self.expire(time, &mut on);
        }
    }

    #[cold]
    fn expire(&mut self, time: u64, on: &mut impl FnMut(Interrupt)) {
        loop {
            // Earliest first; of one cycle the first queue.
            let due = self.queues.iter().enumerate().map(|(index, state)| (state.due(), index)).min();
            let (now, index) = due.unwrap_or((NEVER, 0));
            self.next = now;
            if now > time || now == NEVER {
                return;
            }
            let state = &mut self.queues[index];
            if state.absolute_due == now {
                if state.periodic {
                    state.absolute_due = now + state.absolute_cycles;
                }
                state.packet_due = NEVER; // one interrupt is enough
                if state.waiting > 0 {
                    on(state.interrupt(now, index, Cause::AbsoluteTimer));
                }
            } else if state.waiting > 0 || self.empty_interrupts {
                on(state.interrupt(now, index, Cause::PacketTimer));
            } else {
                state.packet_due = NEVER;
            }
        }
    }

    /// Of each queue.
    pub fn totals(&self) -> Vec<Totals> {
        self.queues.iter().map(|state| Totals { waiting: u64::from(state.waiting), ..state.totals }).collect()
    }
}
