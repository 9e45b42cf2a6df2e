// SPDX-License-Identifier: Apache-2.0
//! The scenario's tasks: messages, releases and jobs.

use super::costs::{Class, Mark, Regime};
use super::device::Device;
use super::measure::job;
use crate::observe::Observed;

impl Device<'_> {
    pub(super) fn aim_receiver(&mut self) -> Result<(), String> {
        let index = self.running;
        let Some(task) = self.threads[index].task else { return Ok(()) };
        match self.threads[index].last {
            Mark::Freed => self.go(Mark::JobStart, Class::Any, 0.0, 0),
            Mark::JobStart => self.aim_job(task),
            _ if self.threads[index].message.is_some() => self.go(Mark::JobStart, Class::Any, 0.0, 0),
            _ => {
                if self.threads[index].frame.is_none() {
                    self.threads[index].frame = self.sockets[task].pop_front();
                }
                match self.threads[index].frame {
                    Some(buffer) => {
                        let (class, x) = self.class_of(Some(buffer));
                        self.go(Mark::Freed, class, x, 0)
                    }
                    None => self.go(Mark::Out, Class::Any, 0.0, 0),
                }
            }
        }
    }

    fn aim_job(&mut self, task: usize) -> Result<(), String> {
        let (class, x, work) = job(self.scenario, &self.scenario.tasks[task]);
        self.go(Mark::JobEnd, class, x, work)
    }

    pub(super) fn receiver_mark(&mut self, mark: Mark) {
        let index = self.running;
        let task = self.threads[index].task.unwrap_or(0);
        match mark {
            Mark::Freed => {
                if let Some(buffer) = self.threads[index].frame.take() {
                    self.threads[index].message = self.buffers[buffer].clone();
                    self.free(buffer);
                }
            }
            Mark::JobStart => self.emit(Observed::JobStart(task)),
            Mark::JobEnd => {
                if let Some(message) = self.threads[index].message.take() {
                    self.reply(task, &message);
                }
                self.emit(Observed::JobEnd(task));
                self.threads[index].regime = Regime::Next;
            }
            Mark::Out if !self.threads[index].yields => {
                if self.sockets[task].is_empty() {
                    self.block(index);
                } else {
                    self.threads[index].last = Mark::In;
                }
            }
            _ => {}
        }
    }

    fn has_release(&self, index: usize) -> bool {
        let thread = &self.threads[index];
        match thread.task {
            Some(task) if self.by_tick(task) => thread.release <= self.handled_tick,
            _ => thread.releases > 0,
        }
    }

    pub(super) fn aim_periodic(&mut self) -> Result<(), String> {
        let index = self.running;
        let Some(task) = self.threads[index].task else { return Ok(()) };
        match self.threads[index].last {
            Mark::JobStart => self.aim_job(task),
            _ if self.has_release(index) => self.go(Mark::JobStart, Class::Any, 0.0, 0),
            _ => self.go(Mark::Out, Class::Any, 0.0, 0),
        }
    }

    pub(super) fn periodic_mark(&mut self, mark: Mark) {
        let index = self.running;
        let task = self.threads[index].task.unwrap_or(0);
        match mark {
            Mark::JobStart => {
                self.emit(Observed::JobStart(task));
                if self.by_tick(task) {
                    self.threads[index].release += self.period(task);
                } else {
                    self.threads[index].releases -= 1;
                }
            }
            Mark::JobEnd => {
                self.emit(Observed::JobEnd(task));
                self.threads[index].regime = Regime::Next;
            }
            Mark::Out if !self.threads[index].yields => {
                if self.has_release(index) {
                    self.threads[index].last = Mark::In;
                } else {
                    self.block(index);
                }
            }
            _ => {}
        }
    }
}
