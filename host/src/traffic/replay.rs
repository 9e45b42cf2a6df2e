// SPDX-License-Identifier: Apache-2.0
//! Plays frames at given times.

use std::collections::VecDeque;

use super::source::Source;

/// Frames and their times, ascending.
#[derive(Debug)]
pub(super) struct Replay {
    frames: VecDeque<(u64, Vec<u8>)>,
}

impl Replay {
    /// Plays these.
    pub(super) fn new(frames: Vec<(u64, Vec<u8>)>) -> Replay {
        Replay { frames: frames.into() }
    }
}

impl Source for Replay {
    fn next_due(&self) -> Option<u64> {
        self.frames.front().map(|(cycle, _)| *cycle)
    }

    fn take(&mut self) -> Option<Vec<u8>> {
        self.frames.pop_front().map(|(_, bytes)| bytes)
    }
}
