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
use super::interleaved::AtomicU32;
#[cfg(loom)]
use loom::sync::atomic::Ordering;
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

/// One side dies anywhere and starts again, while the other goes on: every interleaving of up to four interruptions. A buffer is two cells, so that
/// one can be written by half; loom's cells find two sides that use a buffer at once.
#[cfg(all(test, loom))]
mod model {
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread::{JoinHandle, spawn};

    use super::super::interleaved::check;
    use super::*;

    struct Shared {
        rotation: Rotation,
        buffers: [[UnsafeCell<u32>; 2]; 3],
    }

    // SAFETY: that this is right is what is tested.
    unsafe impl Sync for Shared {}
    // SAFETY: as above.
    unsafe impl Send for Shared {}

    fn shared() -> Arc<Shared> {
        let buffers = std::array::from_fn(|_| std::array::from_fn(|_| UnsafeCell::new(0)));
        Arc::new(Shared { rotation: Rotation::new(), buffers })
    }

    /// Publishes a value in four steps, of which only the first `steps` are done.
    fn produce(shared: &Shared, value: u32, steps: usize) {
        let back = shared.rotation.back();
        for half in shared.buffers[back].iter().take(steps.saturating_sub(1)) {
            // SAFETY: as above.
            half.with_mut(|half| unsafe { *half = value });
        }
        if steps > 3 {
            shared.rotation.publish();
        }
    }

    /// Takes what is there, and reads it, in three steps, of which only the first `steps` are done.
    fn consume(shared: &Shared, steps: usize) -> Option<u32> {
        if steps == 0 {
            return None;
        }
        let (front, _) = shared.rotation.take();
        let mut halves = shared.buffers[front].iter().take(steps - 1);
        // SAFETY: as above.
        let mut read = || Some(halves.next()?.with(|half| unsafe { *half }));
        let (one, other) = (read()?, read()?);
        assert_eq!(one, other, "torn");
        Some(one)
    }

    fn then(shared: &Arc<Shared>, act: impl Fn(&Shared) + Send + 'static) -> JoinHandle<()> {
        let shared = shared.clone();
        spawn(move || act(&shared))
    }

    #[test]
    fn a_producer_that_dies_anywhere_tears_nothing_and_goes_on() {
        for steps in 0..=4 {
            check(Some(4), move || {
                let shared = shared();
                let producer = then(&shared, move |shared| {
                    produce(shared, 1, 4);
                    produce(shared, 2, steps);
                    // Killed; what follows is another process that knows the memory alone.
                    produce(shared, 3, 4);
                });
                let mut before = 0;
                for _ in 0..2 {
                    let value = consume(&shared, 3).expect("it is read");
                    assert!(value >= before && (value != 2 || steps == 4));
                    before = value;
                }
                producer.join().unwrap();
                assert_eq!(consume(&shared, 3), Some(3), "nothing is lost for good");
                assert!(shared.rotation.is_sound());
            });
        }
    }

    #[test]
    fn a_consumer_that_dies_anywhere_tears_nothing_and_goes_on() {
        for steps in 0..=3 {
            check(Some(4), move || {
                let shared = shared();
                let producer = then(&shared, |shared| (1..=3).for_each(|value| produce(shared, value, 4)));
                let before = consume(&shared, 3).expect("it is read");
                consume(&shared, steps);
                // Killed; what follows is another process that knows the memory alone.
                let after = consume(&shared, 3).expect("it is read");
                assert!(after >= before);
                producer.join().unwrap();
                assert_eq!(consume(&shared, 3), Some(3), "nothing is lost for good");
                assert!(shared.rotation.is_sound());
            });
        }
    }
}
