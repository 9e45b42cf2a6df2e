// SPDX-License-Identifier: Apache-2.0
//! Who has the CPU.

use std::ops::Range;

use crate::results::{CpuShares, Interrupts};
use crate::timeline::{Lane, LaneKind, Span};

/// A thread of the firmware.
#[derive(Debug, Clone)]
pub struct Thread {
    /// TCB address.
    pub handle: u32,
    /// Its place in the timeline.
    pub lane: Lane,
}

/// Accounts every cycle to exactly one lane. Lane 0 is the interrupt handlers. Kernel calls count for the task that
/// makes them, a handler's return into another task for the handler.
#[derive(Debug)]
pub struct Lanes {
    /// Lane 0: handlers; then the threads.
    pub lanes: Vec<Lane>,
    handles: Vec<u32>,
    window: Range<u64>,
    current: usize,
    interrupted: usize,
    since: u64,
    /// Cycles of each lane since the beginning.
    pub total: Vec<u64>,
    /// Cycles of each lane in the window.
    pub measured: Vec<u64>,
    isr_since: Option<(u64, bool)>,
    isr: Interrupts,
    /// Durations of the handler runs with the NIC's line high, in the window.
    pub nic_handlers: Vec<u64>,
    /// Everything, if asked for.
    pub spans: Option<Vec<Span>>,
}

/// A stretch that just ended.
#[derive(Debug, Clone, Copy)]
pub struct Ended {
    /// Whose.
    pub lane: usize,
    /// All of it.
    pub cycles: u64,
    /// What part of it lies in the window.
    pub measured_cycles: u64,
}

impl Lanes {
    /// The running lane at `cycle` is `running`.
    pub fn new(threads: &[Thread], window: Range<u64>, cycle: u64, record: bool) -> Lanes {
        let handlers = Lane { name: "ISR".to_string(), kind: LaneKind::Isr, priority: 0 };
        let lanes: Vec<Lane> = std::iter::once(handlers).chain(threads.iter().map(|t| t.lane.clone())).collect();
        let count = lanes.len();
        Lanes {
            lanes,
            handles: threads.iter().map(|t| t.handle).collect(),
            window,
            current: count - 1,
            interrupted: count - 1,
            since: cycle,
            total: vec![0; count],
            measured: vec![0; count],
            isr_since: None,
            isr: Interrupts { count: 0, nic: 0, cycles_total: 0, cycles_max: 0, off_cycles_max: 0 },
            nic_handlers: Vec::new(),
            spans: record.then(Vec::new),
        }
    }

    /// The lane that has the CPU.
    pub fn current(&self) -> usize {
        self.current
    }

    /// Its kind.
    pub fn current_kind(&self) -> LaneKind {
        self.lanes[self.current].kind
    }

    /// The lane of a task, also while a handler runs: the one that it has interrupted. A store of that may reach the
    /// trace port after the interrupt was taken.
    pub fn task(&self) -> usize {
        if self.current_kind() == LaneKind::Isr { self.interrupted } else { self.current }
    }

    /// Cycles of a lane up to `now`, including the stretch that is under way.
    pub fn cycles_until(&self, lane: usize, now: u64) -> u64 {
        self.total[lane] + if lane == self.current { now - self.since } else { 0 }
    }

    fn clipped(&self, from: u64, to: u64) -> u64 {
        to.min(self.window.end).saturating_sub(from.max(self.window.start))
    }

    fn switch(&mut self, now: u64, lane: usize) -> Ended {
        let measured_cycles = self.clipped(self.since, now);
        let ended = Ended { lane: self.current, cycles: now - self.since, measured_cycles };
        self.total[self.current] += ended.cycles;
        self.measured[self.current] += ended.measured_cycles;
        if let Some(spans) = &mut self.spans
            && now > self.since
        {
            match spans.last_mut() {
                Some(last) if last.lane == self.current && last.end == self.since => last.end = now,
                _ => spans.push(Span { lane: self.current, start: self.since, end: now }),
            }
        }
        self.current = lane;
        self.since = now;
        ended
    }

    /// A handler begins.
    pub fn enter_isr(&mut self, now: u64, nic: bool) -> Ended {
        if self.window.contains(&now) {
            self.isr.count += 1;
            self.isr.nic += u64::from(nic);
        }
        self.isr_since = Some((now, nic));
        self.interrupted = self.task();
        self.switch(now, 0)
    }

    /// A task runs; unknown handles (the start-up task) count as idle.
    pub fn enter_task(&mut self, now: u64, handle: u32) -> Ended {
        if let Some((since, nic)) = self.isr_since.take()
            && self.window.contains(&since)
        {
            let cycles = now - since;
            self.isr.cycles_total += self.clipped(since, now);
            self.isr.cycles_max = self.isr.cycles_max.max(cycles);
            if nic {
                self.nic_handlers.push(cycles);
            }
        }
        let lane = self.handles.iter().position(|h| *h == handle).map_or(self.lanes.len() - 1, |i| i + 1);
        self.switch(now, lane)
    }

    /// The run ends.
    pub fn finish(&mut self, now: u64) -> Ended {
        let lane = self.current;
        self.switch(now.max(self.since), lane) // it may have gone on a little, looking for a buffer
    }

    /// All handlers of the window.
    pub fn interrupts(&self, off_cycles_max: u64) -> Interrupts {
        Interrupts { off_cycles_max, ..self.isr.clone() }
    }

    /// Shares of the window.
    pub fn shares(&self) -> CpuShares {
        let all: u64 = self.measured.iter().sum::<u64>().max(1);
        let share = |kind: LaneKind| {
            let cycles: u64 =
                self.lanes.iter().zip(&self.measured).filter(|(lane, _)| lane.kind == kind).map(|(_, c)| c).sum();
            (cycles as f64 / all as f64 * 1e6).round() / 1e6
        };
        CpuShares {
            isr: share(LaneKind::Isr),
            net: share(LaneKind::Net),
            tasks: share(LaneKind::Task),
            idle: share(LaneKind::Idle),
        }
    }
}
