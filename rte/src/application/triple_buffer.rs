// SPDX-License-Identifier: Apache-2.0
//! A triple buffer within one process: between two threads, the newest value wins, and nobody waits.

#[cfg(loom)]
use loom::cell::UnsafeCell;
#[cfg(loom)]
use loom::sync::Arc;
#[cfg(not(loom))]
use std::sync::Arc;

use super::rotation::Rotation;

/// `std`'s cell with the interface of loom's, which finds two that use it at once.
#[cfg(not(loom))]
#[derive(Debug)]
struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    fn with<R>(&self, use_it: impl FnOnce(*const T) -> R) -> R {
        use_it(self.0.get())
    }

    fn with_mut<R>(&self, use_it: impl FnOnce(*mut T) -> R) -> R {
        use_it(self.0.get())
    }
}

#[derive(Debug)]
struct Shared<T> {
    rotation: Rotation,
    buffers: [UnsafeCell<T>; 3],
}

// SAFETY: a buffer is used by the side alone whose it is: Rotation names each buffer once, and there is one
// producer and one consumer, since neither can be cloned.
unsafe impl<T: Send> Sync for Shared<T> {}

/// The side that writes.
#[derive(Debug)]
pub struct Producer<T>(Arc<Shared<T>>);

/// The side that reads.
#[derive(Debug)]
pub struct Consumer<T>(Arc<Shared<T>>);

/// Both sides of a buffer in which `value` stands.
pub fn triple_buffer<T: Clone>(value: T) -> (Producer<T>, Consumer<T>) {
    let buffers = [value.clone(), value.clone(), value].map(UnsafeCell::new);
    let shared = Arc::new(Shared { rotation: Rotation::new(), buffers });
    (Producer(shared.clone()), Consumer(shared))
}

impl<T> Producer<T> {
    /// Writes a value and publishes it. `write` finds in the buffer what was written into it some time before.
    pub fn publish(&mut self, write: impl FnOnce(&mut T)) {
        // SAFETY: the back buffer is the producer's.
        self.0.buffers[self.0.rotation.back()].with_mut(|buffer| write(unsafe { &mut *buffer }));
        self.0.rotation.publish();
    }
}

impl<T> Consumer<T> {
    /// The newest value, and whether it was seen for the first time.
    pub fn newest<R>(&mut self, read: impl FnOnce(&T, bool) -> R) -> R {
        let (front, fresh) = self.0.rotation.take();
        // SAFETY: the front buffer is the consumer's.
        self.0.buffers[front].with(|buffer| read(unsafe { &*buffer }, fresh))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_newest_value_wins() {
        let (mut producer, mut consumer) = triple_buffer(0);
        assert_eq!(consumer.newest(|value, fresh| (*value, fresh)), (0, false));
        producer.publish(|value| *value = 1);
        producer.publish(|value| *value = 2);
        assert_eq!(consumer.newest(|value, fresh| (*value, fresh)), (2, true));
        assert_eq!(consumer.newest(|value, fresh| (*value, fresh)), (2, false));
    }

    #[test]
    fn no_value_is_torn_and_none_comes_twice_or_back() {
        let (mut producer, mut consumer) = triple_buffer([0_u64; 32]);
        let last = 200_000;
        let writer = std::thread::spawn(move || (1..=last).for_each(|n| producer.publish(|value| value.fill(n))));
        let mut before = 0;
        while before < last {
            consumer.newest(|value, fresh| {
                assert!(value.iter().all(|word| *word == value[0]), "torn: {value:?}");
                assert!(if fresh { value[0] > before } else { value[0] == before });
                before = value[0];
            });
        }
        writer.join().unwrap();
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::super::interleaved::check;
    use super::*;

    /// Every interleaving of two publications and two looks, and those of three and three with up to four interruptions:
    /// no buffer is used by both sides at once (loom's cell would say so), nothing is torn, nothing older follows.
    #[test]
    fn every_interleaving_is_sound() {
        for (count, interruptions) in [(2, None), (3, Some(4))] {
            check(interruptions, move || publish_and_look(count));
        }
    }

    fn publish_and_look(count: u32) {
        let (mut producer, mut consumer) = triple_buffer((0, 0));
        let write = move || (1..=count).for_each(|n| producer.publish(|value| *value = (n, n)));
        let writer = loom::thread::spawn(write);
        let mut before = 0;
        for _ in 0..count {
            consumer.newest(|(one, other), _| {
                assert_eq!(one, other);
                assert!(*one >= before);
                before = *one;
            });
        }
        writer.join().unwrap();
        assert_eq!(consumer.newest(|value, _| *value), (count, count));
    }
}
