// SPDX-License-Identifier: Apache-2.0
//! The NIC: frames off the wire, into buffers.

use super::costs::{Class, Mark, Regime, Role, Stretch};
use super::device::{Device, Path};
use super::frames::Frame;
use super::queues::Queues;
use crate::observe::Observed;

impl Device<'_> {
    fn nic_cycles(&self, bytes: usize) -> u64 {
        let store =
            Stretch { role: Role::Nic, from: Mark::In, to: Mark::Done, class: Class::Any, regime: Regime::First };
        self.costs.cycles(store, bytes as f64).unwrap_or(0)
    }

    pub(super) fn arrives(&mut self) -> bool {
        let mut any = false;
        while self.on_wire.front().is_some_and(|(frame, _)| frame.end_cycle <= self.now) {
            let Some((_, frame)) = self.on_wire.pop_front() else { break };
            self.emit(Observed::RxAccept);
            self.stored = self.stored.max(self.now + self.nic_cycles(frame.bytes));
            self.in_nic.push_back((self.stored, frame));
            any = true;
        }
        while self.in_nic.front().is_some_and(|(at, _)| *at <= self.now) {
            let Some((_, frame)) = self.in_nic.pop_front() else { break };
            self.store(frame);
            any = true;
        }
        any
    }

    fn store(&mut self, frame: Frame) {
        let now = self.now;
        let place = match &mut self.path {
            Path::Stock(path) => path.ring.store(),
            Path::Library(path) => path.ring.store(),
            Path::Multiqueue(path) => match Queues::filter(&path.flows, &frame) {
                None => return self.emit(Observed::RxError),
                Some(queue) => path.queues.store(now, queue, frame.bytes),
            },
        };
        match place {
            Some(place) => {
                self.buffers[place] = Some(frame);
                self.emit(Observed::RxDone(place as u32));
            }
            None => self.emit(Observed::RxNoDescriptor),
        }
    }
}
