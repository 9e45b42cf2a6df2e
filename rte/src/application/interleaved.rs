// SPDX-License-Identifier: Apache-2.0
//! The atomic word of the model checker. loom 0.7 compares an access with the last one to the same word alone; an
//! exchange that follows one's own load is compared with that load, and orders against the other side's earlier loads
//! are not tried: of our triple buffer it tried a single one. Here every access first exchanges a second word, which
//! hands on no knowledge (`Relaxed`), but makes every access of the one side conflict with every access of the other.

use loom::sync::atomic::{AtomicU32 as Word, Ordering};

/// Tries every interleaving; with a bound only those in which a side is interrupted at most so often.
#[cfg(test)]
pub fn check(interruptions: Option<usize>, run: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = interruptions;
    model.check(run);
}

/// An atomic word, all of whose orders of access are tried.
#[derive(Debug)]
pub struct AtomicU32 {
    word: Word,
    turn: Word,
}

impl AtomicU32 {
    /// A word.
    pub fn new(value: u32) -> Self {
        Self { word: Word::new(value), turn: Word::new(0) }
    }

    /// As the standard library's.
    pub fn load(&self, order: Ordering) -> u32 {
        self.turn.fetch_add(1, Ordering::Relaxed);
        self.word.load(order)
    }

    /// As the standard library's.
    ///
    /// # Errors
    /// The word, if it is not what was expected.
    pub fn compare_exchange(&self, from: u32, to: u32, success: Ordering, failure: Ordering) -> Result<u32, u32> {
        self.turn.fetch_add(1, Ordering::Relaxed);
        self.word.compare_exchange(from, to, success, failure)
    }
}
