// SPDX-License-Identifier: Apache-2.0
//! What the receive paths keep: device/lwip/stock_netif.c, device/weir/src/rx.c, device/weir/multiqueue/multiqueue.c.

use std::collections::VecDeque;

use super::flows::{FLOWS, Flows};
use super::queues::Queues;
use super::ring::{DESCRIPTORS, Ring};
use crate::observe::Drop;
use crate::scenario::{Limit, Scenario};

/// `REFILL_BATCH`.
const REFILL_BATCH: usize = DESCRIPTORS / 2;
/// `weir_rx_config.refill`, `WEIR_FLOW_RESERVE`.
const REFILL: usize = 10;
const FLOW_RESERVE: usize = 2;
/// `FIRMWARE_LIMIT_*`.
const LIMIT_CAPACITY: u32 = 2;
const LIMIT_BATCH: u32 = 10;
const LIMIT_PERIOD_CYCLES: u64 = 6000;
const LIMIT_SHARE_PERCENT: u64 = 40;

/// Variant `stock`: the pool, and the mailbox of lwIP's thread.
#[derive(Debug)]
pub struct Stock {
    pub ring: Ring,
    free: Vec<usize>,
    starved: bool,
}

impl Stock {
    pub fn new(buffers: usize) -> Stock {
        let mut stock = Stock { ring: Ring::default(), free: (0..buffers).collect(), starved: false };
        stock.refill();
        stock
    }

    /// `rx_refill`.
    pub fn refill(&mut self) {
        let room = self.ring.room();
        if room < REFILL_BATCH {
            return;
        }
        for _ in 0..room {
            match self.free.pop() {
                Some(buffer) => self.ring.give(buffer),
                None => {
                    self.starved = true;
                    break;
                }
            }
        }
    }

    /// `rx_free_push`. Whether the driver is to be woken.
    pub fn free(&mut self, buffer: usize) -> bool {
        self.free.push(buffer);
        let nic_idle = self.ring.given() == 0;
        let wake = self.starved && (nic_idle || self.free.len() >= REFILL_BATCH);
        self.starved &= !wake;
        wake
    }

    /// Buffers on the free list or with the NIC.
    pub fn at_rest(&self) -> usize {
        self.free.len() + self.ring.given()
    }
}

/// What becomes of the frame that the eager half takes next.
#[derive(Debug, Clone, Copy)]
pub enum Verdict {
    /// Kept; for its sake this flow gives up a packet.
    Keep { victim: Option<usize> },
    /// Discarded.
    Discard(Drop),
}

/// Variant `driver`: the library on the plain NIC.
#[derive(Debug)]
pub struct Library {
    pub ring: Ring,
    pub flows: Flows,
    clean: Vec<usize>,
    dirty: Vec<usize>,
    held: usize,
    held_max: usize,
    shared: i64,
    /// Flow of each buffer.
    flow_of: Vec<usize>,
    pub interrupt_enabled: bool,
    polling: bool,
    spent: u32,
    period_start: u64,
    pub poll_at: Option<u64>,
    capacity: u32,
    batch: u32,
    period: u64,
}

impl Library {
    pub fn new(scenario: &Scenario, now: u64) -> Library {
        let buffers = scenario.device.rx_buffers as usize;
        let cycles_per_us = u64::from(scenario.device.cpu_mhz);
        let (capacity, batch, period) = match scenario.limit {
            Some(Limit { capacity, period_us }) => (capacity, capacity, u64::from(period_us) * cycles_per_us),
            None => (LIMIT_CAPACITY, LIMIT_BATCH, LIMIT_PERIOD_CYCLES),
        };
        let mut library = Library {
            ring: Ring::default(),
            flows: Flows::new(scenario, true),
            clean: Vec::new(),
            dirty: (0..buffers).collect(),
            held: 0,
            held_max: buffers - FLOWS,
            shared: buffers as i64 - DESCRIPTORS as i64,
            flow_of: vec![0; buffers],
            interrupt_enabled: true,
            polling: false,
            spent: 0,
            period_start: now,
            poll_at: None,
            capacity,
            batch,
            period,
        };
        library.refill();
        library
    }

    /// `refill`.
    fn refill(&mut self) {
        self.clean.append(&mut self.dirty);
        while self.ring.room() > 0
            && let Some(buffer) = self.clean.pop()
        {
            self.ring.give(buffer);
        }
    }

    fn may_hold(&self, flow: usize) -> bool {
        let held = self.flows.table[flow].held;
        held == 0 || (self.held < self.held_max && (held < FLOW_RESERVE || self.shared > 0))
    }

    /// An interrupt begins: how many frames it may take.
    pub fn begin(&mut self, now: u64, timer: bool) -> u32 {
        if timer || now - self.period_start >= self.period {
            let on_time = self.period_start + self.period;
            let on_grid = timer && now >= on_time && now - on_time < self.period;
            self.period_start = if on_grid { on_time } else { now };
            self.spent = 0;
        }
        if self.polling { self.batch } else { self.capacity.saturating_sub(self.spent) }
    }

    /// It has taken so many. Whether polling begins or ends.
    pub fn end(&mut self, began: u64, now: u64, served: u32) -> Option<bool> {
        self.spent += served;
        let before = self.polling;
        if self.spent >= self.capacity {
            self.polling = true;
            let rest = now + (now - began) * (16 * (100 - LIMIT_SHARE_PERCENT) / LIMIT_SHARE_PERCENT) / 16;
            self.poll_at = Some(rest.max(self.period_start + self.period));
            self.interrupt_enabled = false;
        } else if self.polling {
            self.polling = false;
            self.poll_at = None;
            self.interrupt_enabled = true;
        }
        (self.polling != before).then_some(self.polling)
    }

    /// What becomes of the frame taken from the ring, of `flow`.
    pub fn judge(&mut self, now: u64, flow: usize) -> Verdict {
        let mut victim = None;
        if self.ring.given() < REFILL {
            if let Some(buffer) = self.clean.pop() {
                self.ring.give(buffer);
            } else {
                victim = self.flows.victim(flow);
                if victim.is_none() && self.flows.waiting() > 0 {
                    return Verdict::Discard(Drop::ShortCircuit);
                }
            }
        }
        let admitted = self.may_hold(flow) && self.flows.table[flow].server.as_mut().is_none_or(|s| s.admit(now));
        if admitted { Verdict::Keep { victim } } else { Verdict::Discard(Drop::Limited) }
    }

    /// A waiting packet is given up: its buffer is the NIC's.
    pub fn recycle(&mut self, victim: usize) -> Option<usize> {
        let buffer = self.flows.take(victim)?;
        self.ring.give(buffer);
        Some(buffer)
    }

    /// A frame is kept.
    pub fn keep(&mut self, buffer: usize, flow: usize) {
        self.flow_of[buffer] = flow;
        self.flows.put(flow, buffer);
    }

    /// `weir_rx_next`: a buffer, and whether its packet is to be worked on; it is discarded otherwise.
    pub fn next(&mut self) -> Option<(usize, bool)> {
        let flow = self.flows.highest()?;
        let buffer = self.flows.take(flow)?;
        if !self.may_hold(flow) {
            self.clean.push(buffer);
            if self.ring.room() > 0
                && let Some(buffer) = self.clean.pop()
            {
                self.ring.give(buffer);
            }
            return Some((buffer, false));
        }
        self.held += 1;
        self.flows.table[flow].held += 1;
        self.shared -= i64::from(self.flows.table[flow].held > FLOW_RESERVE);
        Some((buffer, true))
    }

    /// `weir_rx_free`.
    pub fn free(&mut self, buffer: usize) {
        let flow = &mut self.flows.table[self.flow_of[buffer]];
        self.shared += i64::from(flow.held > FLOW_RESERVE);
        flow.held -= 1;
        self.held -= 1;
        self.dirty.push(buffer);
        let urgent = self.ring.given() + self.clean.len() < REFILL / 2;
        if urgent || self.dirty.len() >= REFILL {
            self.refill();
        }
    }

    /// Buffers that hold nothing, or wait with the NIC.
    pub fn at_rest(&self) -> usize {
        self.clean.len() + self.dirty.len() + self.ring.given()
    }

    /// Buffers whose packets wait in flow queues.
    pub fn waiting(&self) -> usize {
        self.flows.waiting()
    }
}

/// Of a buffer of the multiqueue NIC that software has.
#[derive(Debug, Clone, Default)]
struct Taken {
    taken: bool,
    left: VecDeque<usize>,
    held: usize,
}

/// Variants `nic` and `codesign`.
#[derive(Debug)]
pub struct Multiqueue {
    pub queues: Queues,
    pub flows: Flows,
    buffers: Vec<Taken>,
    buffer_of: Vec<usize>,
    parked: Vec<Option<(usize, u64)>>,
    pub poll_at: Option<u64>,
}

/// What `weir_mq_next` gives.
#[derive(Debug, Clone, Copy)]
pub enum Next {
    /// Nothing waits.
    None,
    /// A flow has to wait for its limit.
    Parked,
    /// The frame at this place.
    Frame(usize),
}

/// Places in the packet RAM.
pub const PLACES: usize = 16 * 1024;
/// Behind them: more than there are copies of kept frames at a time.
pub const COPIES: usize = 16;

impl Multiqueue {
    pub fn new(scenario: &Scenario, library: bool) -> Multiqueue {
        let flows = Flows::new(scenario, library);
        Multiqueue {
            queues: Queues::new(scenario, &flows),
            flows,
            buffers: vec![Taken::default(); 2 * FLOWS],
            buffer_of: vec![0; PLACES],
            parked: vec![None; FLOWS],
            poll_at: None,
        }
    }

    /// `weir_mq_interrupt`: the highest priority that waits then. Whole buffers, whatever is in them.
    pub fn interrupt(&mut self) -> Option<u32> {
        while let Some((queue, half, frames)) = self.queues.take() {
            let index = 2 * queue + half;
            for place in &frames {
                self.buffer_of[*place] = index;
            }
            self.buffers[index].left = frames.into();
            self.buffers[index].taken = true;
            self.flows.put(queue, index);
        }
        self.flows.priority()
    }

    fn poll_for_the_first(&mut self) {
        self.poll_at = self.parked.iter().flatten().map(|(_, until)| *until).min();
    }

    /// `weir_mq_timer`.
    pub fn timer(&mut self, now: u64) -> Option<u32> {
        for flow in 0..FLOWS {
            if let Some((index, until)) = self.parked[flow]
                && until <= now
            {
                self.parked[flow] = None;
                self.flows.put(flow, index);
            }
        }
        self.poll_for_the_first();
        self.flows.priority()
    }

    /// `weir_mq_next`.
    pub fn next(&mut self, now: u64) -> Next {
        let Some(flow) = self.flows.highest() else { return Next::None };
        if let Some(server) = &mut self.flows.table[flow].server
            && !server.admit(now)
        {
            let until = server.next();
            if let Some(index) = self.flows.take(flow) {
                self.parked[flow] = Some((index, until));
            }
            self.poll_for_the_first();
            return Next::Parked;
        }
        let Some(index) = self.flows.table[flow].waiting.front().copied() else { return Next::None };
        let Some(place) = self.buffers[index].left.pop_front() else { return Next::None };
        self.buffers[index].held += 1;
        self.flows.table[flow].held += 1;
        if self.buffers[index].left.is_empty() {
            let _ = self.flows.take(flow);
        }
        Next::Frame(place)
    }

    /// `weir_mq_free`.
    pub fn free(&mut self, place: usize) {
        let index = self.buffer_of[place];
        self.flows.table[index / 2].held -= 1;
        let buffer = &mut self.buffers[index];
        buffer.held -= 1;
        if buffer.taken && buffer.left.is_empty() && buffer.held == 0 {
            buffer.taken = false;
            self.queues.release(index / 2);
        }
    }

    /// Buffers that are the NIC's, of all.
    pub fn at_rest(&self) -> (usize, usize) {
        (self.buffers.iter().filter(|buffer| !buffer.taken).count(), self.buffers.len())
    }
}
