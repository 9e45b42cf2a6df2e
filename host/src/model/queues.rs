// SPDX-License-Identifier: Apache-2.0
//! The multiqueue NIC around its moderation ([`crate::nic`]): two buffers for each queue, of which software has one at
//! a time, and a threshold that holds interrupts back.

use super::flows::{ADDRESS, BACKGROUND, CONTROL, FLOWS, Flows, What};
use super::frames::{Frame, Kind};
use crate::nic::{AbsoluteMode, Match, Nic, Queue, Settings};
use crate::scenario::{NicQueue, Scenario, TaskKind};

/// Frame numbers of a queue, a unit, and the room before a frame: `WEIR_MQ_QUEUE_UNITS`, `WEIR_MQ_UNIT_BYTES`,
/// `WEIR_MQ_HEADROOM_UNITS` of the firmware.
const QUEUE_UNITS: usize = 1024;
const UNIT_BYTES: usize = 16;
const HEADROOM_UNITS: usize = 3;

#[derive(Debug, Clone)]
struct Buffers {
    /// Units of each of the two buffers.
    units: usize,
    /// Which one is filled.
    filling: usize,
    /// Units in it, and places of the frames.
    used: usize,
    frames: Vec<usize>,
    /// The moderation has asked for a hand-over.
    wanted: bool,
    /// At software: which one, and its frames.
    ready: Option<(usize, Vec<usize>)>,
    /// Software has acknowledged it.
    taken: bool,
    priority: u32,
}

/// The NIC.
#[derive(Debug)]
pub struct Queues {
    moderation: Nic,
    queues: Vec<Buffers>,
    /// Queues of a lower priority do not interrupt.
    pub threshold: u32,
}

fn settings(scenario: &Scenario) -> Vec<NicQueue> {
    let receiving = scenario.tasks.iter().filter_map(|task| match &task.kind {
        TaskKind::Receiving { flow, .. } => Some(scenario.nic.queue.with(&flow.queue)),
        _ => None,
    });
    let mut all: Vec<NicQueue> = receiving.collect();
    all.resize(FLOWS, scenario.nic.queue);
    all
}

impl Queues {
    /// As the firmware sets it up for a scenario.
    pub fn new(scenario: &Scenario, flows: &Flows) -> Queues {
        let cycles = |us: u32| u64::from(us) * u64::from(scenario.device.cpu_mhz);
        let all = settings(scenario);
        let moderation = all.iter().map(|queue| Queue {
            name: String::new(),
            matches: Match::default(),
            packet_cycles: cycles(queue.packet_timer_us),
            absolute_cycles: cycles(queue.absolute_timer_us),
            absolute_mode: match scenario.nic.periodic && queue.absolute_timer_us != 0 {
                true => AbsoluteMode::Periodic { offset_cycles: 0 },
                false => AbsoluteMode::FromFirst,
            },
            frames: queue.frames,
            capacity: u32::MAX, // how many fit is a matter of bytes, below
        });
        let moderation = Settings {
            clock_mhz: scenario.device.cpu_mhz,
            empty_interrupts: false,
            uncounted_losses: false,
            queues: moderation.collect(),
        };
        let queues = all.iter().zip(&flows.table).map(|(queue, flow)| Buffers {
            units: queue.bytes as usize / UNIT_BYTES,
            filling: 0,
            used: 0,
            frames: Vec::new(),
            wanted: false,
            ready: None,
            taken: false,
            priority: flow.priority,
        });
        Queues { moderation: Nic::new(&moderation), queues: queues.collect(), threshold: 0 }
    }

    /// The queue of a frame; `None`: no entry of the filter matches.
    pub fn filter(flows: &Flows, frame: &Frame) -> Option<usize> {
        if !frame.to_station {
            return None;
        }
        match frame.kind {
            Kind::Address => Some(ADDRESS),
            Kind::Control => Some(CONTROL),
            Kind::Fragment => Some(BACKGROUND),
            Kind::Other => None,
            Kind::Port(listen) => flows.socket(listen, frame).filter(|at| flows.table[*at].what == What::Port(listen)),
        }
    }

    fn hand_over(&mut self, queue: usize) {
        let buffers = &mut self.queues[queue];
        if buffers.wanted && buffers.ready.is_none() && !buffers.frames.is_empty() {
            buffers.ready = Some((buffers.filling, std::mem::take(&mut buffers.frames)));
            buffers.taken = false;
            buffers.wanted = false;
            buffers.filling = 1 - buffers.filling;
            buffers.used = 0;
        }
    }

    fn wanted(&mut self, at: Vec<usize>) {
        for queue in at {
            self.queues[queue].wanted = !self.queues[queue].frames.is_empty();
            self.hand_over(queue);
        }
    }

    /// A frame is to be stored: its place; `None`: there is no room.
    pub fn store(&mut self, now: u64, queue: usize, bytes: usize) -> Option<usize> {
        self.advance(now);
        let units = bytes.div_ceil(UNIT_BYTES) + HEADROOM_UNITS;
        let buffers = &mut self.queues[queue];
        if buffers.used + units > buffers.units {
            if buffers.ready.is_some() || buffers.frames.is_empty() || units > buffers.units {
                return None;
            }
            buffers.wanted = true; // cause "full"
            self.hand_over(queue);
        }
        let buffers = &mut self.queues[queue];
        let base = queue * QUEUE_UNITS + buffers.filling * buffers.units;
        let place = base + buffers.used + HEADROOM_UNITS;
        buffers.used += units;
        buffers.frames.push(place);
        let mut wanted = Vec::new();
        self.moderation.frame(now, queue, |interrupt| wanted.push(interrupt.queue));
        self.wanted(wanted);
        Some(place)
    }

    /// Timers that are due have expired.
    pub fn advance(&mut self, now: u64) {
        let mut wanted = Vec::new();
        self.moderation.advance(now, |interrupt| wanted.push(interrupt.queue));
        self.wanted(wanted);
    }

    /// When the next timer expires.
    pub fn next_due(&self) -> Option<u64> {
        self.moderation.next_due()
    }

    fn interrupts(&self, buffers: &Buffers) -> bool {
        buffers.ready.is_some() && !buffers.taken && buffers.priority >= self.threshold
    }

    /// The line.
    pub fn line(&self) -> bool {
        self.queues.iter().any(|buffers| self.interrupts(buffers))
    }

    /// The most urgent queue that interrupts, acknowledged: its number, which buffer, and the frames in it.
    pub fn take(&mut self) -> Option<(usize, usize, Vec<usize>)> {
        let urgent = (0..self.queues.len())
            .filter(|at| self.interrupts(&self.queues[*at]))
            .max_by_key(|at| (self.queues[*at].priority, std::cmp::Reverse(*at)))?;
        let buffers = &mut self.queues[urgent];
        buffers.taken = true;
        let (half, frames) = buffers.ready.as_mut().map(|(half, frames)| (*half, std::mem::take(frames)))?;
        Some((urgent, half, frames))
    }

    /// Software gives the buffer back.
    pub fn release(&mut self, queue: usize) {
        self.queues[queue].ready = None;
        self.hand_over(queue);
    }
}
