// SPDX-License-Identifier: Apache-2.0
//! The library's priority rule: how long does the network task work on a packet while a more urgent one waits?
//!
//! A packet that is in process is finished first, so that this is never longer than one packet's work. All times are
//! cycles that the network task itself has executed so far: whoever preempts it is no part of it.

use std::collections::BTreeMap;

/// Follows flow queues and network task.
#[derive(Debug, Default)]
pub struct Inversion {
    /// Number of packets in flow queues, by priority.
    waiting: BTreeMap<u32, usize>,
    /// Priority of the packet in process.
    working: Option<u32>,
    /// The network task's cycles at the last event.
    seen_cycles: u64,
    /// Cycles since a more urgent packet began to wait.
    stretch_cycles: u64,
    longest_cycles: u64,
}

impl Inversion {
    /// A packet waits in a flow queue.
    pub fn queued(&mut self, cycles: u64, priority: u32) {
        self.advance(cycles);
        *self.waiting.entry(priority).or_default() += 1;
    }

    /// A packet that waited was discarded.
    pub fn discarded(&mut self, cycles: u64, priority: u32) {
        self.advance(cycles);
        self.leaves(priority);
    }

    /// The IP stack begins with a packet; `waited`: in a flow queue.
    pub fn begun(&mut self, cycles: u64, priority: u32, waited: bool) {
        self.advance(cycles);
        if waited {
            self.leaves(priority);
        }
        self.working = Some(priority);
        self.settle();
    }

    /// The IP stack has returned.
    pub fn done(&mut self, cycles: u64) {
        self.advance(cycles);
        self.working = None;
    }

    /// The longest time of all.
    pub fn longest_cycles(&self) -> u64 {
        self.longest_cycles
    }

    fn leaves(&mut self, priority: u32) {
        if let Some(count) = self.waiting.get_mut(&priority) {
            *count -= 1;
            if *count == 0 {
                self.waiting.remove(&priority);
            }
        }
        self.settle();
    }

    fn inverted(&self) -> bool {
        let highest = self.waiting.last_key_value().map(|(priority, _)| *priority);
        self.working.is_some_and(|working| highest > Some(working))
    }

    /// Between two packets nothing is decided: the next may be the wrong one again.
    fn settle(&mut self) {
        if self.working.is_some() && !self.inverted() {
            self.stretch_cycles = 0;
        }
    }

    fn advance(&mut self, cycles: u64) {
        if self.inverted() {
            self.stretch_cycles += cycles - self.seen_cycles;
            self.longest_cycles = self.longest_cycles.max(self.stretch_cycles);
        }
        self.seen_cycles = cycles;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_inverted_without_a_more_urgent_packet() {
        let mut rule = Inversion::default();
        rule.queued(0, 3);
        rule.queued(10, 3);
        rule.begun(20, 3, true);
        rule.queued(40, 1);
        rule.done(1000);
        assert_eq!(rule.longest_cycles(), 0);
    }

    #[test]
    fn a_packet_that_arrives_during_work_waits_for_the_rest_of_it() {
        let mut rule = Inversion::default();
        rule.queued(0, 1);
        rule.begun(100, 1, true);
        rule.queued(400, 5);
        rule.done(1100);
        rule.begun(1300, 5, true);
        rule.done(9000);
        assert_eq!(rule.longest_cycles(), 700);
    }

    #[test]
    fn work_on_several_lower_packets_adds_up() {
        let mut rule = Inversion::default();
        rule.queued(0, 1);
        rule.queued(0, 1);
        rule.begun(100, 1, true);
        rule.queued(400, 5);
        rule.done(1100);
        rule.begun(1200, 1, true);
        rule.done(2200);
        rule.begun(2300, 5, true);
        assert_eq!(rule.longest_cycles(), 700 + 1000);
    }

    #[test]
    fn a_packet_that_is_discarded_waits_no_longer() {
        let mut rule = Inversion::default();
        rule.queued(0, 1);
        rule.begun(0, 1, true);
        rule.queued(100, 5);
        rule.discarded(150, 5);
        rule.queued(1000, 6);
        rule.done(1020);
        assert_eq!(rule.longest_cycles(), 50);
    }
}
