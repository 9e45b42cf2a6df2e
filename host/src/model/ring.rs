// SPDX-License-Identifier: Apache-2.0
//! The plain NIC: a ring of descriptors, and one interrupt line.

use std::collections::VecDeque;

/// `PLAIN_RX_RING` of the firmware.
pub const DESCRIPTORS: usize = 16;

/// A ring: buffers with the NIC, and behind them those with frames that software has not taken.
#[derive(Debug, Default)]
pub struct Ring {
    empty: VecDeque<usize>,
    full: VecDeque<usize>,
    /// The line; an acknowledgement clears it.
    pub line: bool,
}

impl Ring {
    /// A frame is at the front of the NIC's FIFO: the buffer that it goes to; `None`: it is dropped.
    pub fn store(&mut self) -> Option<usize> {
        let buffer = self.empty.pop_front()?;
        self.full.push_back(buffer);
        self.line = true;
        Some(buffer)
    }

    /// Software takes the oldest frame.
    pub fn take(&mut self) -> Option<usize> {
        self.full.pop_front()
    }

    /// Whether there is one to take.
    pub fn has_frames(&self) -> bool {
        !self.full.is_empty()
    }

    /// Frames to take.
    pub fn frames(&self) -> usize {
        self.full.len()
    }

    /// Software hands over a buffer.
    pub fn give(&mut self, buffer: usize) {
        self.empty.push_back(buffer);
    }

    /// Descriptors that are software's and not to be taken.
    pub fn room(&self) -> usize {
        DESCRIPTORS - self.given()
    }

    /// Buffers that are the NIC's or to be taken.
    pub fn given(&self) -> usize {
        self.empty.len() + self.full.len()
    }
}
