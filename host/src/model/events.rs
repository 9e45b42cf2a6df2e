// SPDX-License-Identifier: Apache-2.0
//! Time: from one event to the next.

use super::costs::Role;
use super::device::{Device, Path};
use crate::traffic::FlowId;

/// As on `soc`.
const LOOKAHEAD_US: u64 = 10;
/// So many things at one cycle are a circle.
const EVENTS_AT_ONCE_MAX: u32 = 1_000_000;

impl Device<'_> {
    /// Runs up to cycle `end`.
    pub fn run_until(&mut self, end: u64) -> Result<(), String> {
        loop {
            let mut at_once = 0;
            while self.happens()? {
                at_once += 1;
                if at_once > EVENTS_AT_ONCE_MAX {
                    return Err(format!("the model goes in circles at cycle {}", self.now));
                }
            }
            if self.now >= end {
                return Ok(());
            }
            self.feed();
            self.advance(self.next_event().min(end));
        }
    }

    fn feed(&mut self) {
        let horizon = self.now + LOOKAHEAD_US * u64::from(self.scenario.device.cpu_mhz);
        let Some(until) = horizon.checked_sub(self.epoch) else { return };
        while let Some(mut frame) = self.wire.next_frame(until) {
            frame.end_cycle += self.epoch;
            let task = match frame.flow {
                FlowId::Task(task) => Some(task),
                FlowId::Background => None,
            };
            self.observer.offer(&frame.bytes, frame.end_cycle, task);
            let sorted = self.sorter.sort(&frame.bytes);
            self.on_wire.push_back((frame, sorted));
        }
    }

    fn next_event(&self) -> u64 {
        let horizon = self.now + LOOKAHEAD_US * u64::from(self.scenario.device.cpu_mhz);
        let mut next = self.wire.next_due().map_or(u64::MAX, |due| (due + self.epoch).max(horizon)).min(self.next_tick);
        if self.wire.next_due().is_none() && self.on_wire.is_empty() {
            next = next.min(self.next_tick);
        }
        let times = [
            self.on_wire.front().map(|(frame, _)| frame.end_cycle),
            self.in_nic.front().map(|(at, _)| *at),
            self.timed.iter().map(|(_, at, _)| *at).filter(|at| *at > self.now).min(),
            self.poll_at().filter(|at| *at > self.now),
            self.interrupt_at(),
            match &self.path {
                Path::Multiqueue(path) => path.queues.next_due().filter(|at| *at > self.now),
                _ => None,
            },
            match &self.handler {
                Some(handler) => Some(self.now + handler.remaining),
                None => self.threads[self.running].next.map(|_| self.now + self.threads[self.running].remaining),
            },
        ];
        times.into_iter().flatten().fold(next, u64::min).max(self.now)
    }

    fn advance(&mut self, to: u64) {
        let spent = to - self.now;
        match &mut self.handler {
            Some(handler) => handler.remaining = handler.remaining.saturating_sub(spent),
            None => {
                let thread = &mut self.threads[self.running];
                thread.remaining = thread.remaining.saturating_sub(spent);
            }
        }
        self.now = to;
    }

    /// What is due now; whether there was anything.
    fn happens(&mut self) -> Result<bool, String> {
        let mut any = self.arrives();
        if self.now >= self.next_tick {
            self.next_tick += self.tick_cycles;
            self.tick = true;
            any = true;
        }
        if let Path::Multiqueue(path) = &mut self.path {
            path.queues.advance(self.now);
        }
        self.note_lines();
        if self.interrupt_at().is_some_and(|at| at <= self.now) {
            self.enter_handler()?;
            return Ok(true);
        }
        if let Some(handler) = &self.handler {
            if handler.remaining == 0 {
                self.handler_mark()?;
                return Ok(true);
            }
            return Ok(any);
        }
        let thread = &self.threads[self.running];
        match thread.next {
            Some(mark) if thread.remaining == 0 => {
                self.mark(mark)?;
                Ok(true)
            }
            None if thread.role.is_some_and(|role| role != Role::Background) => {
                self.aim()?;
                Ok(true)
            }
            _ => Ok(any),
        }
    }
}
