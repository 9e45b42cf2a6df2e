// SPDX-License-Identifier: Apache-2.0
//! The running task: on to its next mark, and into the kernel after it.

use super::costs::{Class, Mark, Regime, Role, Stretch};
use super::device::Device;

impl Device<'_> {
    pub(super) fn class_of(&self, buffer: Option<usize>) -> (Class, f64) {
        let frame = buffer.and_then(|buffer| self.buffers[buffer].as_ref());
        frame.map_or((Class::Any, 0.0), |frame| (frame.class, frame.bytes as f64))
    }

    pub(super) fn go(&mut self, to: Mark, class: Class, x: f64, beside: u64) -> Result<(), String> {
        let thread = &self.threads[self.running];
        let Some(role) = thread.role else { return Ok(()) };
        let stretch = Stretch { role, from: thread.last, to, class, regime: thread.regime };
        let remaining = self.costs.cycles(stretch, x)? + beside;
        let thread = &mut self.threads[self.running];
        thread.next = Some(to);
        thread.remaining = remaining;
        Ok(())
    }

    /// Decides what the running task does next.
    pub(super) fn aim(&mut self) -> Result<(), String> {
        match self.threads[self.running].role {
            Some(Role::Driver) => {
                let (class, x) = self.class_of(self.threads[self.running].frame);
                let to = if self.driver_has_frames() { Mark::Driver } else { Mark::Out };
                self.go(to, class, x, 0)
            }
            Some(Role::Tcpip) => self.aim_stack(),
            Some(Role::Network) => self.aim_stack(),
            Some(Role::Booster) => self.go(Mark::Out, Class::Any, 0.0, 0),
            Some(Role::Receiver) => self.aim_receiver(),
            Some(Role::Periodic) => self.aim_periodic(),
            _ => Ok(()),
        }
    }

    /// The running task makes a mark.
    pub(super) fn mark(&mut self, mark: Mark) -> Result<(), String> {
        let index = self.running;
        if mark == Mark::In {
            // Out of the kernel: the others' turn, or its own again.
            self.threads[index].in_kernel = false;
            self.threads[index].last = Mark::In;
            self.threads[index].next = None;
            self.threads[index].regime = Regime::First;
            self.switch();
            return Ok(());
        }
        self.threads[index].next = None;
        match self.threads[index].role {
            Some(Role::Driver) => self.driver_mark(mark)?,
            Some(Role::Tcpip | Role::Network) => self.stack_mark(mark)?,
            Some(Role::Booster) => self.booster_mark(),
            Some(Role::Receiver) => self.receiver_mark(mark),
            Some(Role::Periodic) => self.periodic_mark(mark),
            _ => {}
        }
        let thread = &mut self.threads[index];
        if mark != Mark::Out && thread.next.is_none() {
            thread.last = mark;
        }
        self.leave_if_needed(index, mark)
    }

    /// After a mark: into the kernel, to wait or because somebody more urgent has become ready.
    fn leave_if_needed(&mut self, index: usize, mark: Mark) -> Result<(), String> {
        let urgent = self.ready.highest() > self.threads[index].priority;
        let waits = !self.threads[index].ready;
        if !waits && !urgent && !self.threads[index].yields {
            return Ok(());
        }
        if mark != Mark::Out
            && !waits
            && self.threads[index].role.is_some_and(|role| self.costs.knows(role, mark, Mark::Out))
        {
            self.threads[index].yields = true;
            return self.go(Mark::Out, Class::Any, 0.0, 0);
        }
        self.threads[index].yields = false;
        self.threads[index].in_kernel = true;
        self.threads[index].last = Mark::Out;
        self.threads[index].regime = Regime::First;
        self.go(Mark::In, Class::Any, 0.0, 0)
    }
}
