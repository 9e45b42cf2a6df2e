// SPDX-License-Identifier: Apache-2.0
//! Which sequence numbers of a sender were seen: the anti-replay window of RFC 4303, section 3.4.3.

const WORDS: usize = 16;
const BITS: u64 = 64 * WORDS as u64;

/// The last 1,024 numbers. Older ones count as seen.
#[derive(Clone, Debug, Default)]
pub struct Window {
    highest: u64,
    seen: [u64; WORDS],
}

impl Window {
    /// Notes a number; false if it was there before or is too old to tell. Numbers begin at 1.
    pub fn accept(&mut self, number: u64) -> bool {
        if number == 0 || self.highest.checked_sub(BITS).is_some_and(|oldest| number <= oldest) {
            return false;
        }
        if number > self.highest {
            if number - self.highest >= BITS {
                self.seen = [0; WORDS];
            } else {
                (self.highest + 1..=number).for_each(|n| *self.word(n) &= !(1 << (n % 64)));
            }
            self.highest = number;
        }
        let bit = 1 << (number % 64);
        let word = self.word(number);
        let fresh = *word & bit == 0;
        *word |= bit;
        fresh
    }

    /// The highest number so far.
    pub fn highest(&self) -> u64 {
        self.highest
    }

    fn word(&mut self, number: u64) -> &mut u64 {
        &mut self.seen[(number / 64) as usize % WORDS]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_last_numbers_are_as_good_as_any() {
        let mut window = Window::default();
        assert!(window.accept(5) && window.accept(u64::MAX) && window.accept(u64::MAX - BITS + 1));
        assert!(!window.accept(u64::MAX) && !window.accept(u64::MAX - BITS) && window.accept(u64::MAX - 1));
    }

    proptest! {
        #[test]
        fn no_number_is_accepted_twice_and_none_of_the_last_thousand_is_lost(
            steps in prop::collection::vec((0u64..3000, any::<bool>()), 1..300)
        ) {
            let (mut window, mut seen, mut highest) = (Window::default(), HashSet::new(), 0u64);
            for (step, back) in steps {
                let number = if back { highest.saturating_sub(step) } else { highest + step };
                let fresh = number > 0 && !seen.contains(&number);
                let accepted = window.accept(number);
                prop_assert!(fresh || !accepted);
                highest = highest.max(number);
                prop_assert!(accepted || !fresh || number + BITS <= highest);
                if accepted {
                    seen.insert(number);
                }
            }
        }
    }
}
