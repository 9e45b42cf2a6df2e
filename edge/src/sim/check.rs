// SPDX-License-Identifier: Apache-2.0
//! What must be true of every run, whatever befell the machines.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use crate::core::node::Event;
use crate::core::task::TaskId;

/// Follows each task through all machines.
#[derive(Default)]
pub struct Books {
    /// Who runs a task, and which attempt.
    holders: BTreeMap<TaskId, BTreeMap<SocketAddr, u8>>,
    /// On whom somebody does not count any more.
    given_up: BTreeSet<(TaskId, SocketAddr)>,
    /// What was found to be wrong, the first few.
    wrong: Vec<String>,
}

impl Books {
    /// A machine's event.
    pub fn note(&mut self, at: SocketAddr, event: Event) {
        match event {
            Event::Accepted(id, attempt) => {
                let holders = self.holders.entry(id).or_default();
                let counted_on =
                    holders.iter().filter(|(h, a)| **a == attempt && **h != at && !self.given_up.contains(&(id, **h)));
                let twice: Vec<_> = counted_on.map(|(h, _)| h.to_string()).collect();
                if !twice.is_empty() && !self.given_up.contains(&(id, at)) {
                    let twice = twice.join(", ");
                    self.wrong(format!("{id}: accepted by {at} while {twice} had it and was not given up"));
                    return;
                }
                holders.insert(at, attempt);
            }
            Event::GivenUp(id, holder) => {
                self.given_up.insert((id, holder));
            }
            Event::Ended(id, _) | Event::Dropped(id) => {
                let held = self.holders.get_mut(&id).is_some_and(|holders| holders.remove(&at).is_some());
                if !held {
                    self.wrong(format!("{id}: ended at {at}, which had not accepted it"));
                }
            }
            Event::Submitted(_) | Event::Refused(..) | Event::Up(_) | Event::Down(_) => {}
        }
    }

    /// A machine lost all it had.
    pub fn crashed(&mut self, at: SocketAddr) {
        for holders in self.holders.values_mut() {
            holders.remove(&at);
        }
    }

    /// Something else is wrong.
    pub fn wrong(&mut self, what: String) {
        if self.wrong.len() < 10 {
            self.wrong.push(what);
        }
    }

    /// When all is over nobody has anything; returns what is wrong.
    pub fn close(mut self) -> Vec<String> {
        let held: Vec<String> =
            self.holders.iter().filter(|(_, h)| !h.is_empty()).map(|(id, _)| id.to_string()).collect();
        for id in held {
            self.wrong(format!("{id}: still in a queue at the end"));
        }
        self.wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::node::Event::{Accepted, Dropped, Ended, GivenUp};
    use crate::core::task::Exit;

    const TASK: TaskId = TaskId { client: 1, number: 1 };

    fn wrong(events: &[(u8, Event)]) -> usize {
        let mut books = Books::default();
        events.iter().for_each(|(at, event)| books.note(machine(*at), *event));
        books.close().len()
    }

    fn machine(last: u8) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, last], 1))
    }

    #[test]
    fn a_task_is_with_one_machine_at_a_time() {
        let ended = Ended(TASK, Exit::Done);
        assert_eq!(wrong(&[(1, Accepted(TASK, 1)), (1, ended)]), 0);
        assert_eq!(wrong(&[(1, Accepted(TASK, 1)), (2, Accepted(TASK, 1)), (1, ended)]), 1);
        assert_eq!(wrong(&[(1, Accepted(TASK, 1)), (2, Accepted(TASK, 2)), (1, ended), (2, ended)]), 0);
        let given_up = GivenUp(TASK, machine(1));
        assert_eq!(wrong(&[(1, Accepted(TASK, 1)), (3, given_up), (2, Accepted(TASK, 1)), (1, ended), (2, ended)]), 0);
        assert_eq!(wrong(&[(1, ended)]), 1);
        assert_eq!(wrong(&[(1, Accepted(TASK, 1))]), 1, "it is still there at the end");
        assert_eq!(wrong(&[(1, Accepted(TASK, 1)), (1, Dropped(TASK))]), 0);
    }
}
