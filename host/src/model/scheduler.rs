// SPDX-License-Identifier: Apache-2.0
//! The scheduler: who has the CPU, who waits, and what the tick and the timer release.

use super::costs::{Mark, Regime, Role};
use super::device::{Device, Path};
use super::threads::{FIRST_TASK, handle};
use crate::observe::Observed;
use crate::scenario::{TaskKind, Variant};

impl Device<'_> {
    /// `vTaskSwitchContext`.
    pub(super) fn switch(&mut self) {
        self.running = self.ready.next();
        self.hold_back();
        self.emit(Observed::EnterTask(handle(self.running)));
    }

    /// The NIC's threshold follows the running task.
    pub(super) fn hold_back(&mut self) {
        if self.variant == Variant::Codesign
            && let Path::Multiqueue(path) = &mut self.path
        {
            path.queues.threshold = self.threads[self.running].priority + 1;
        }
    }

    pub(super) fn wake(&mut self, thread: usize) {
        let woken = &mut self.threads[thread];
        if !woken.ready {
            woken.ready = true;
            woken.last = Mark::In;
            woken.next = None;
            woken.regime = Regime::First;
            self.ready.insert(thread, woken.priority);
        }
    }

    pub(super) fn block(&mut self, thread: usize) {
        self.threads[thread].ready = false;
        self.ready.remove(thread, self.threads[thread].priority);
    }

    pub(super) fn set_priority(&mut self, thread: usize, priority: u32) {
        let old = self.threads[thread].priority;
        self.threads[thread].priority = priority;
        if self.threads[thread].ready && old != priority {
            self.ready.remove(thread, old);
            self.ready.insert(thread, priority);
        }
        if thread == self.running {
            self.hold_back();
        }
    }

    pub(super) fn period(&self, task: usize) -> u64 {
        match self.scenario.tasks[task].kind {
            TaskKind::Periodic { period_us, .. } => u64::from(period_us) * u64::from(self.scenario.device.cpu_mhz),
            _ => u64::MAX,
        }
    }

    pub(super) fn by_tick(&self, task: usize) -> bool {
        self.period(task).is_multiple_of(self.tick_cycles)
    }

    /// The tick under way releases tasks: how many.
    pub(super) fn tick_releases(&mut self) -> f64 {
        let tick = self.next_tick - self.tick_cycles;
        let mut released = 0.0;
        for task in 0..self.scenario.tasks.len() {
            let thread = FIRST_TASK + task;
            if self.threads[thread].role != Some(Role::Periodic) || !self.by_tick(task) || tick < self.epoch {
                continue;
            }
            if (tick - self.epoch).is_multiple_of(self.period(task)) {
                released += 1.0;
                if self.threads[thread].release <= tick {
                    self.wake(thread);
                }
            }
        }
        released
    }

    pub(super) fn release_timed(&mut self) {
        for index in 0..self.timed.len() {
            let (thread, at, period) = self.timed[index];
            if at <= self.now {
                self.timed[index].1 += period;
                self.threads[thread].releases += 1;
                self.wake(thread);
            }
        }
    }
}
