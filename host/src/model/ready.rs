// SPDX-License-Identifier: Apache-2.0
//! FreeRTOS's ready lists (`pxReadyTasksLists`): of each priority a ring, of which one member had the CPU last.

const PRIORITIES: usize = 16;

#[derive(Debug, Clone, Default)]
struct Ring {
    members: Vec<usize>,
    /// The kernel's `pxIndex`; `None`: the list's end marker.
    index: Option<usize>,
}

impl Ring {
    /// `listINSERT_END`: the last in turn.
    fn insert(&mut self, thread: usize) {
        match &mut self.index {
            None => self.members.push(thread),
            Some(at) => {
                self.members.insert(*at, thread);
                *at += 1;
            }
        }
    }

    /// `uxListRemove`.
    fn remove(&mut self, thread: usize) {
        let Some(at) = self.members.iter().position(|member| *member == thread) else { return };
        self.members.remove(at);
        self.index = match self.index {
            Some(index) if index >= at => index.checked_sub(1),
            other => other,
        };
    }

    /// `listGET_OWNER_OF_NEXT_ENTRY`.
    fn next(&mut self) -> usize {
        let at = self.index.map_or(0, |at| (at + 1) % self.members.len());
        self.index = Some(at);
        self.members[at]
    }
}

/// All of them.
#[derive(Debug, Clone, Default)]
pub struct Ready([Ring; PRIORITIES]);

impl Ready {
    /// A thread is ready.
    pub fn insert(&mut self, thread: usize, priority: u32) {
        self.0[priority as usize].insert(thread);
    }

    /// It is no longer.
    pub fn remove(&mut self, thread: usize, priority: u32) {
        self.0[priority as usize].remove(thread);
    }

    /// The highest priority of a ready thread.
    pub fn highest(&self) -> u32 {
        self.0.iter().rposition(|ring| !ring.members.is_empty()).unwrap_or(0) as u32
    }

    /// `vTaskSwitchContext`: whose turn it is.
    pub fn next(&mut self) -> usize {
        let highest = self.highest();
        self.0[highest as usize].next()
    }

    /// Ready threads of a priority.
    pub fn count(&self, priority: u32) -> usize {
        self.0[priority as usize].members.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_take_turns_and_the_highest_goes_first() {
        let mut ready = Ready::default();
        for thread in [1, 2, 3] {
            ready.insert(thread, 5);
        }
        assert_eq!([ready.next(), ready.next(), ready.next(), ready.next()], [1, 2, 3, 1]);
        ready.insert(4, 6);
        assert_eq!([ready.next(), ready.next()], [4, 4]);
        ready.remove(4, 6);
        assert_eq!(ready.next(), 2);
    }

    #[test]
    fn who_comes_is_last_in_turn_and_who_goes_leaves_the_turn_to_the_next() {
        let mut ready = Ready::default();
        ready.insert(1, 5);
        ready.insert(2, 5);
        assert_eq!(ready.next(), 1);
        ready.insert(3, 5);
        ready.remove(1, 5);
        assert_eq!([ready.next(), ready.next()], [2, 3]);
    }
}
