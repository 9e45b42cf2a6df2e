// SPDX-License-Identifier: Apache-2.0
//! What became of tasks, counted once for all who count: the simulator, the demo, and comparisons of both worlds.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::core::client::Outcome;
use crate::core::task::{Exit, Refusal};

/// Counts of tasks. Each task that has had its last word is in one of `in_time`, `late`, `failed`, `overrun`, `lost`,
/// `given_back` (it was accepted) and `rejected` (it was not).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Tasks that devices submitted.
    pub submitted: u64,
    /// Tasks that a machine took on: it said so, or what came of it later says so, if that datagram was lost.
    pub accepted: u64,
    /// Accepted, and the result came before the deadline.
    pub in_time: u64,
    /// Accepted, and the result came after the deadline.
    pub late: u64,
    /// Accepted, but the program could not be started or reported failure.
    pub failed: u64,
    /// Accepted, but the program was stopped as it exceeded its declared worst case.
    pub overrun: u64,
    /// Accepted, and nothing more was heard.
    pub lost: u64,
    /// Accepted, and rejected after all, for the fallback: mostly as the machine that ran it was lost.
    pub given_back: u64,
    /// Not accepted, by reason.
    pub rejected: BTreeMap<Refusal, u64>,
}

impl Tally {
    /// Counts what a device is told of a task. `accepted` is that task's, and false at first: whether it is counted as
    /// accepted. Returns whether this was the last word.
    pub fn note(&mut self, accepted: &mut bool, outcome: &Outcome) -> bool {
        let refused = match outcome {
            Outcome::Rejected(reason) if *reason != Refusal::Lost && !*accepted => Some(*reason),
            _ => None,
        };
        if refused.is_none() && !std::mem::replace(accepted, true) {
            self.accepted += 1;
        }
        let count = match (refused, outcome) {
            (Some(reason), _) => self.rejected.entry(reason).or_default(),
            (None, Outcome::Accepted { .. }) => return false,
            (None, Outcome::Rejected(_)) => &mut self.given_back,
            (None, Outcome::Result { exit: Exit::Done, lateness: ..=0, .. }) => &mut self.in_time,
            (None, Outcome::Result { exit: Exit::Done, .. }) => &mut self.late,
            (None, Outcome::Result { exit: Exit::Failed, .. }) => &mut self.failed,
            (None, Outcome::Result { exit: Exit::Overrun, .. }) => &mut self.overrun,
            (None, Outcome::Lost) => &mut self.lost,
        };
        *count += 1;
        true
    }

    /// Tasks that were never accepted.
    pub fn rejected_all(&self) -> u64 {
        self.rejected.values().sum()
    }

    /// Tasks that have had their last word.
    pub fn over(&self) -> u64 {
        let kept = self.in_time + self.late + self.failed + self.overrun;
        kept + self.lost + self.given_back + self.rejected_all()
    }

    /// Tasks that were accepted and in time, of all.
    pub fn success(&self) -> f64 {
        self.in_time as f64 / self.submitted.max(1) as f64
    }

    /// Of the accepted tasks, those that were in time.
    pub fn kept(&self) -> f64 {
        self.in_time as f64 / self.accepted.max(1) as f64
    }

    /// Adds others.
    pub fn add(&mut self, other: &Self) {
        self.submitted += other.submitted;
        self.accepted += other.accepted;
        self.in_time += other.in_time;
        self.late += other.late;
        self.failed += other.failed;
        self.overrun += other.overrun;
        self.lost += other.lost;
        self.given_back += other.given_back;
        for (reason, count) in &other.rejected {
            *self.rejected.entry(*reason).or_default() += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn result(exit: Exit, lateness: i64) -> Outcome {
        Outcome::Result { exit, output: Vec::new(), execution: Duration::ZERO, lateness }
    }

    fn tally(outcomes: &[Outcome]) -> Tally {
        let (mut tally, mut accepted) = (Tally { submitted: 1, ..Tally::default() }, false);
        let last_words = outcomes.iter().filter(|outcome| tally.note(&mut accepted, outcome)).count();
        assert_eq!((last_words, tally.over()), (1, 1), "{outcomes:?}");
        assert_eq!(tally.submitted, tally.accepted + tally.rejected_all(), "{outcomes:?}");
        tally
    }

    #[test]
    fn a_task_is_accepted_once_and_ends_once() {
        let accepted = || Outcome::Accepted { holder: "10.0.0.1:1".parse().unwrap() };
        type Count = fn(&Tally) -> u64;
        let cases: [(Outcome, Count); 7] = [
            (result(Exit::Done, 0), |t| t.in_time),
            (result(Exit::Done, 1), |t| t.late),
            (result(Exit::Failed, -1), |t| t.failed),
            (result(Exit::Overrun, -1), |t| t.overrun),
            (Outcome::Lost, |t| t.lost),
            (Outcome::Rejected(Refusal::Lost), |t| t.given_back),
            (Outcome::Rejected(Refusal::NoTime), |t| t.given_back),
        ];
        for (last, count) in cases {
            // Taken over by another machine, it is accepted again.
            let tally = tally(&[accepted(), accepted(), last]);
            assert_eq!((tally.accepted, count(&tally)), (1, 1));
        }
    }

    #[test]
    fn a_last_word_says_that_a_task_was_accepted_if_the_acceptance_was_lost() {
        assert_eq!(tally(&[result(Exit::Done, -1)]).accepted, 1);
        assert_eq!(tally(&[Outcome::Rejected(Refusal::Lost)]).accepted, 1);
        assert_eq!(tally(&[Outcome::Rejected(Refusal::NoTime)]).rejected[&Refusal::NoTime], 1);
    }
}
