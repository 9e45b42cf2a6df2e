// SPDX-License-Identifier: Apache-2.0
//! What befalls machines, and how soon the others know.

use super::*;

impl World<'_> {
    /// The machine of a fault's number: the scheduler comes before the workers.
    pub(super) fn faulty(&self, node: usize) -> usize {
        node + usize::from(self.scenario.mode == Mode::Central)
    }

    pub(super) fn fault(&mut self, fault: usize) {
        let Fault { node, what, .. } = self.faults[fault];
        let index = self.faulty(node);
        match what {
            What::Crash => {
                self.machines[index].up = false;
                self.books.crashed(address(index));
                self.begin_watch(index, true);
            }
            What::Restart => {
                let clock = self.machines[index].clock;
                self.books.crashed(address(index));
                let kind = self.node(index, clock);
                let machine = &mut self.machines[index];
                (machine.kind, machine.up, machine.wake) = (kind, true, None);
                self.after(index);
                self.begin_watch(index, false);
            }
            What::Silence => {
                self.machines[index].heard = false;
                self.begin_watch(index, true);
            }
            What::Heard => {
                self.machines[index].heard = true;
                self.begin_watch(index, false);
            }
            What::Partition => {
                for other in 0..self.machines.len() {
                    let in_turn = other >= self.nodes && other % 2 == 0;
                    self.machines[other].cut_off = other <= index || in_turn;
                }
            }
            What::Heal => self.machines.iter_mut().for_each(|m| m.cut_off = false),
        }
    }

    pub(super) fn begin_watch(&mut self, node: usize, down: bool) {
        self.watched.retain(|w| w.node != node);
        self.watched.push(Watched { node, since: self.now, down });
        self.foresee(self.now + WATCH, 0, Happening::Watch);
    }

    /// Whether all know of what befell a machine.
    pub(super) fn watch(&mut self) {
        let mut watched = std::mem::take(&mut self.watched);
        watched.retain(|w| {
            let others =
                self.machines[..self.nodes].iter().enumerate().filter(|(i, m)| *i != w.node && m.up && m.heard);
            let Kind::Node(subject, _) = &self.machines[w.node].kind else { return false };
            let mut views = others.filter_map(|(_, m)| match &m.kind {
                Kind::Node(node, _) if w.down => Some(!node.knows(subject.address())),
                Kind::Node(node, _) => Some(node.knows_anew(subject)),
                Kind::Device(_) => None,
            });
            if !views.all(|knows_it| knows_it) {
                return true;
            }
            let took = (self.now - w.since).as_secs_f64() * 1e3;
            if w.down {
                self.results.noticed_ms.push(took)
            } else {
                self.results.back_ms.push(took)
            }
            false
        });
        self.watched = watched;
        if !self.watched.is_empty() {
            self.foresee(self.now + WATCH, 0, Happening::Watch);
        }
    }
}
