// SPDX-License-Identifier: Apache-2.0
//! Which of three buffers is whose.
//!
//! One producer writes into the *back* buffer, one consumer reads the *front* one, the *middle* one is what was
//! published last. All three roles are in one word, so that it names every buffer exactly once at every moment: a side
//! that dies, wherever it is, and starts again finds its buffer there.
//!
//! Neither side ever waits for the other. The producer's exchange can fail only because the consumer took what was
//! published before, which it can do once; the consumer's can fail only because something newer was published, and
//! after [`TRIES`] of these it goes on with what it has.

#[cfg(loom)]
use loom::sync::atomic::{AtomicU32, Ordering};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU32, Ordering};

/// How often a consumer tries to take what was published.
pub const TRIES: usize = 4;

const FRESH: u32 = 1 << 6;
const MIDDLE: u32 = 2;
const FRONT: u32 = 4;
const ROLE: u32 = 3;

/// The word. `repr(transparent)`, since it lies in shared memory, where C sees it as an `_Atomic uint32_t`: bits 0 and 1
/// are the index of the back buffer, 2 and 3 of the middle one, 4 and 5 of the front one, bit 6 is set while the middle
/// one was not taken.
#[repr(transparent)]
#[derive(Debug)]
pub struct Rotation(AtomicU32);

impl Default for Rotation {
    fn default() -> Self {
        Self::new()
    }
}

impl Rotation {
    /// What the word is at the start: buffers 0, 1 and 2 are back, middle and front, and nothing was published.
    pub const START: u32 = 1 << MIDDLE | 2 << FRONT;

    /// At the start.
    pub fn new() -> Self {
        Self(AtomicU32::new(Self::START))
    }

    /// The producer's buffer. For the producer.
    pub fn back(&self) -> usize {
        (self.0.load(Ordering::Relaxed) & ROLE) as usize
    }

    /// The consumer's buffer. For the consumer.
    pub fn front(&self) -> usize {
        (self.0.load(Ordering::Relaxed) >> FRONT & ROLE) as usize
    }

    /// The buffer that was published last, whether it was taken or not. For the producer: the consumer may take it at
    /// any time, and only reads it.
    pub fn published(&self) -> usize {
        let word = self.0.load(Ordering::Relaxed);
        (if word & FRESH == 0 { word >> FRONT & ROLE } else { word >> MIDDLE & ROLE }) as usize
    }

    /// Gives the back buffer to the consumer; answers which one is the back buffer now. For the producer.
    pub fn publish(&self) -> usize {
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            let (back, middle) = (word & ROLE, word >> MIDDLE & ROLE);
            let next = middle | back << MIDDLE | word & (ROLE << FRONT) | FRESH;
            match self.0.compare_exchange(word, next, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return middle as usize,
                Err(now) => word = now,
            }
        }
    }

    /// Takes what was published last, if it was not taken before; answers which buffer is the front one, and whether it
    /// is a new one. For the consumer.
    pub fn take(&self) -> (usize, bool) {
        let mut word = self.0.load(Ordering::Relaxed);
        for _ in 0..TRIES {
            if word & FRESH == 0 {
                break;
            }
            let (middle, front) = (word >> MIDDLE & ROLE, word >> FRONT & ROLE);
            let next = word & ROLE | front << MIDDLE | middle << FRONT;
            match self.0.compare_exchange(word, next, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return (middle as usize, true),
                Err(now) => word = now,
            }
        }
        ((word >> FRONT & ROLE) as usize, false)
    }

    /// Whether the word names each buffer once: it may come from another process.
    pub fn is_sound(&self) -> bool {
        let word = self.0.load(Ordering::Relaxed);
        let roles = [word & ROLE, word >> MIDDLE & ROLE, word >> FRONT & ROLE];
        word < FRESH << 1 && roles.iter().fold(0, |seen, role| seen | 1 << role) == 0b111
    }
}
