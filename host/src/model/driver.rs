// SPDX-License-Identifier: Apache-2.0
//! The driver's task: frames from the NIC to `tcpip_thread`.

use super::costs::Mark;
use super::device::{Device, Path};
use super::paths::Next;
use super::threads::{NET, TCPIP};
use crate::observe::Observed;

/// Depth of `tcpip_thread`'s mailbox.
const TCPIP_MESSAGES: usize = 64;

impl Device<'_> {
    pub(super) fn driver_has_frames(&self) -> bool {
        match &self.path {
            Path::Stock(path) => path.ring.has_frames(),
            Path::Multiqueue(path) => path.flows.priority().is_some(),
            Path::Library(_) => false,
        }
    }

    fn driver_take(&mut self) -> Option<usize> {
        match &mut self.path {
            Path::Stock(path) => path.ring.take(),
            Path::Multiqueue(path) => match path.next(self.now) {
                Next::Frame(place) => Some(place),
                Next::None | Next::Parked => None,
            },
            Path::Library(_) => None,
        }
    }

    /// The frame that the driver has had in hand is lwIP's.
    fn driver_posts(&mut self) {
        if let Some(buffer) = self.threads[NET].frame.take() {
            if self.tcpip.len() < TCPIP_MESSAGES {
                self.tcpip.push_back(buffer);
                self.wake(TCPIP);
            } else {
                self.free(buffer);
            }
        }
        if let Path::Stock(path) = &mut self.path {
            path.refill();
        }
    }

    pub(super) fn driver_mark(&mut self, mark: Mark) -> Result<(), String> {
        self.driver_posts();
        if mark == Mark::Driver || self.driver_has_frames() {
            if let Some(buffer) = self.driver_take() {
                self.threads[NET].frame = Some(buffer);
                self.emit(Observed::Driver(buffer));
            }
            self.threads[NET].last = Mark::Driver;
            if mark == Mark::Out {
                let (class, x) = self.class_of(self.threads[NET].frame);
                let to = if self.driver_has_frames() { Mark::Driver } else { Mark::Out };
                self.threads[NET].yields = false;
                return self.go(to, class, x, 0);
            }
        } else if self.threads[NET].yields {
            // Only the CPU goes to another one.
        } else if std::mem::take(&mut self.threads[NET].notified) && self.threads[NET].last != Mark::In {
            self.threads[NET].last = Mark::In;
        } else {
            self.block(NET);
        }
        Ok(())
    }
}
