// SPDX-License-Identifier: Apache-2.0
//! The library's FreeRTOS port: the network task, what wakes it, and its priority.

use super::costs::{Class, Mark};
use super::device::{Device, Path};
use super::paths::Next;
use super::threads::NET;
use crate::observe::{Drop, Observed};

impl Device<'_> {
    /// `weir_freertos_wake`
    pub(super) fn wake_network(&mut self, priority: u32) {
        if self.net_idle {
            self.net_idle = false;
            self.threads[NET].notified = true;
            self.wake(NET);
        }
        if priority > self.threads[NET].priority && !self.boosting {
            self.boosting = true;
            let booster = self.threads.len() - 2;
            self.wake(booster);
        }
    }

    pub(super) fn booster_mark(&mut self) {
        let waiting = match &self.path {
            Path::Library(path) => path.flows.priority(),
            Path::Multiqueue(path) => path.flows.priority(),
            Path::Stock(_) => None,
        };
        if let Some(priority) = waiting
            && priority > self.threads[NET].priority
        {
            self.set_priority(NET, priority);
        }
        self.boosting = false;
        let booster = self.running;
        self.block(booster);
    }

    /// `next` of the port: the network task goes to the priority of what waits most urgently. Whether it has to leave
    /// the CPU for that.
    fn network_follows(&mut self) -> bool {
        let waiting = match &self.path {
            Path::Library(path) => path.flows.priority(),
            Path::Multiqueue(path) => path.flows.priority(),
            Path::Stock(_) => None,
        };
        let Some(priority) = waiting else { return false };
        let own = self.threads[NET].priority;
        if priority != own {
            self.set_priority(NET, priority);
        }
        priority < own
    }

    /// A packet for the network task; discarded ones on the way are told.
    fn network_takes(&mut self) -> Option<usize> {
        loop {
            let now = self.now;
            match &mut self.path {
                Path::Library(path) => match path.next()? {
                    (buffer, true) => return Some(buffer),
                    (buffer, false) => {
                        self.buffers[buffer] = None;
                        self.emit(Observed::Dropped(buffer, Drop::Limited));
                    }
                },
                Path::Multiqueue(path) => match path.next(now) {
                    Next::Frame(place) => return Some(place),
                    Next::Parked => {}
                    Next::None => {
                        // What was held back from it, before it waits.
                        path.queues.threshold = 0;
                        let more = path.interrupt().is_some();
                        self.hold_back();
                        if !more {
                            return None;
                        }
                    }
                },
                Path::Stock(_) => return None,
            }
        }
    }

    pub(super) fn aim_network(&mut self) -> Result<(), String> {
        if self.network_follows() {
            self.threads[NET].yields = true;
            return self.go(Mark::Out, Class::Any, 0.0, 0);
        }
        self.threads[NET].frame = self.network_takes();
        let to = if self.threads[NET].frame.is_some() { Mark::Stack } else { Mark::Out };
        self.go(to, Class::Any, 0.0, 0)
    }
}
