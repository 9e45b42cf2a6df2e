// SPDX-License-Identifier: Apache-2.0
//! The egress port's queues and which frame goes next. All times in bit times, all credits exact.

use std::collections::VecDeque;

use serde::Serialize;

use super::traffic::Traffic;

/// How an egress port chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Discipline {
    /// One queue: a switch without priorities.
    Fifo,
    /// The highest priority first (IEEE 802.1Q, 8.6.8.1).
    Strict,
    /// Credit-based shaper for the priorities of the streams (IEEE 802.1Qav), strict priority below.
    Cbs,
    /// Gates (IEEE 802.1Qbv): in each cycle a window for the streams' priorities alone, with a guard band before it.
    Tas,
    /// Asynchronous shaper for each stream (IEEE 802.1Qcr), strict priority behind it. Load from ports of streams that
    /// has a stream's priority is shaped like the stream.
    Ats,
}

impl Discipline {
    /// All, in the order of the tables.
    pub const ALL: [Self; 5] = [Self::Fifo, Self::Strict, Self::Cbs, Self::Tas, Self::Ats];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fifo => "FIFO",
            Self::Strict => "strict",
            Self::Cbs => "CBS",
            Self::Tas => "TAS",
            Self::Ats => "ATS",
        }
    }
}

/// A frame in the switch.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Which source sent it.
    pub source: usize,
    /// When its source wanted to send it.
    pub sent: u64,
    /// Bit times on the wire.
    pub wire: u64,
    /// Its bytes in a buffer.
    pub bytes: u64,
    /// It may not leave before (asynchronous shaper).
    pub eligible: u64,
}

/// What a queue's frames have to wait for.
#[derive(Clone, Copy, Debug)]
enum Shaper {
    None,
    /// Credit in bits times bits per second, and slopes in bits per second: one bit time changes it by a slope.
    Credit {
        credit: i128,
        idle: i128,
        rate: i128,
    },
    /// Open within `from..to` of each cycle.
    Gate {
        from: u64,
        to: u64,
        cycle: u64,
    },
}

struct Queue {
    frames: VecDeque<Frame>,
    bytes: u64,
    shaper: Shaper,
}

/// The queues of an egress port, the most urgent first.
pub struct Queues {
    queues: Vec<Queue>,
    /// From PCP to queue.
    class: [usize; 8],
    buffer: u64,
    credits_at: u64,
    sending: Option<usize>,
}

impl Queues {
    /// Empty ones, made for the streams of `traffic`.
    pub fn new(discipline: Discipline, traffic: &Traffic) -> Self {
        let shapers: Vec<Shaper> = match discipline {
            Discipline::Fifo => vec![Shaper::None],
            Discipline::Strict | Discipline::Ats => vec![Shaper::None; 8],
            Discipline::Cbs => (0..8).rev().map(|priority| credit(priority, traffic)).collect(),
            Discipline::Tas => gates(traffic),
        };
        let class = std::array::from_fn(|pcp| if shapers.len() == 1 { 0 } else { 7 - pcp });
        let buffer = traffic.buffer_bytes / shapers.len() as u64;
        let queue = |shaper| Queue { frames: VecDeque::new(), bytes: 0, shaper };
        Self { queues: shapers.into_iter().map(queue).collect(), class, buffer, credits_at: 0, sending: None }
    }

    /// Takes a frame of that priority; answers `false` if there is no room.
    pub fn push(&mut self, now: u64, priority: u8, frame: Frame) -> bool {
        self.advance(now);
        let queue = &mut self.queues[self.class[usize::from(priority)]];
        if queue.bytes + frame.bytes > self.buffer {
            return false;
        }
        queue.bytes += frame.bytes;
        let after = queue.frames.iter().rposition(|other| other.eligible <= frame.eligible).map_or(0, |at| at + 1);
        queue.frames.insert(after, frame);
        true
    }

    /// The next frame on the wire from `now` on; or when to ask again, if one waits that may not go yet.
    pub fn pop(&mut self, now: u64) -> Result<Frame, Option<u64>> {
        self.sent(now);
        let mut again = None;
        for (n, queue) in self.queues.iter_mut().enumerate() {
            let Some(frame) = queue.frames.front() else { continue };
            match ready(&queue.shaper, frame, now) {
                Ok(()) => {
                    let frame = queue.frames.pop_front().expect("it is there");
                    queue.bytes -= frame.bytes;
                    self.sending = Some(n);
                    return Ok(frame);
                }
                Err(at) => again = Some(again.map_or(at, |before: u64| before.min(at))),
            }
        }
        Err(again)
    }

    fn sent(&mut self, now: u64) {
        self.advance(now);
        self.sending = None;
        for queue in &mut self.queues {
            if let Shaper::Credit { credit, .. } = &mut queue.shaper
                && queue.frames.is_empty()
            {
                *credit = (*credit).min(0);
            }
        }
    }

    /// Lets credits follow time: a queue that sends loses, one that waits wins, an empty one wins up to zero.
    fn advance(&mut self, now: u64) {
        let span = i128::from(now - self.credits_at);
        self.credits_at = now;
        for (n, queue) in self.queues.iter_mut().enumerate() {
            let Shaper::Credit { credit, idle, rate } = &mut queue.shaper else { continue };
            if self.sending == Some(n) {
                *credit += (*idle - *rate) * span;
            } else if !queue.frames.is_empty() {
                *credit += *idle * span;
            } else {
                *credit = (*credit).min(0).max((*credit + *idle * span).min(0));
            }
        }
    }
}

/// Whether a queue's first frame may go; or when to ask again.
fn ready(shaper: &Shaper, frame: &Frame, now: u64) -> Result<(), u64> {
    if frame.eligible > now {
        return Err(frame.eligible);
    }
    match *shaper {
        Shaper::None => Ok(()),
        Shaper::Credit { credit, .. } if credit >= 0 => Ok(()),
        Shaper::Credit { credit, idle, .. } => {
            Err(now + u64::try_from((-credit + idle - 1) / idle).unwrap_or(u64::MAX))
        }
        Shaper::Gate { from, to, cycle } => {
            let phase = now % cycle;
            if phase >= from && phase + frame.wire <= to {
                Ok(())
            } else if phase < from {
                Err(now - phase + from)
            } else {
                Err(now - phase + cycle + from)
            }
        }
    }
}

/// Bits per second that the streams of a priority need, with what every frame has around it.
pub fn reserved_bps(priority: u8, traffic: &Traffic) -> u64 {
    let streams = traffic.streams().filter(|source| source.priority == priority);
    streams.map(|source| (source.wire() * traffic.link_bps).div_ceil(source.period)).sum()
}

fn credit(priority: u8, traffic: &Traffic) -> Shaper {
    match reserved_bps(priority, traffic) {
        0 => Shaper::None,
        idle => Shaper::Credit { credit: 0, idle: idle.into(), rate: traffic.link_bps.into() },
    }
}

/// The gates' cycle and the window at its beginning that is for the streams alone.
pub fn window(traffic: &Traffic) -> (u64, u64) {
    let cycle = traffic.streams().map(|source| source.period).min().unwrap_or(1);
    (cycle, traffic.streams().map(super::traffic::Source::wire).sum())
}

fn gates(traffic: &Traffic) -> Vec<Shaper> {
    let (cycle, window) = window(traffic);
    let is_stream = |priority| traffic.streams().any(|source| source.priority == priority);
    let gate = |priority| match is_stream(priority) {
        true => Shaper::Gate { from: 0, to: window, cycle },
        false => Shaper::Gate { from: window, to: cycle, cycle },
    };
    (0..8).rev().map(gate).collect()
}
