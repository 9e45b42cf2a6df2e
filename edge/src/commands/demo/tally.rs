// SPDX-License-Identifier: Apache-2.0
//! What became of the demo's tasks.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::time::Instant;

use weir_edge::client::{Exit, Outcome, Refusal};

/// Counts of tasks.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub submitted: u64,
    pub accepted: u64,
    pub in_time: u64,
    pub late: u64,
    pub lost: u64,
    /// Accepted, then rejected in time for the fallback: their machine was lost.
    pub given_back: u64,
    pub overrun: u64,
    pub failed: u64,
    pub rejected: BTreeMap<Refusal, u64>,
    /// The shortest and the sum of how early results were.
    earliness_min_ns: Option<i64>,
    earliness_sum_ns: i64,
    /// Who runs what is accepted and has a long budget.
    pub holders: HashMap<u64, SocketAddr>,
    /// When a node last accepted a task.
    pub last_accepted: HashMap<SocketAddr, Instant>,
}

impl Tally {
    /// A task's outcome. `accepted` is this task's, whether it was accepted before.
    pub fn note(&mut self, task: u64, is_long: bool, accepted: &mut bool, outcome: &Outcome) {
        // A result says that it was accepted even if the datagram that said so was lost.
        // One that was lost was accepted, too.
        let lost = matches!(outcome, Outcome::Rejected(Refusal::Lost) | Outcome::Lost);
        let now_accepted = lost || matches!(outcome, Outcome::Accepted { .. } | Outcome::Result { .. });
        if now_accepted && !std::mem::replace(accepted, true) {
            self.accepted += 1;
        }
        match outcome {
            Outcome::Accepted { holder } => {
                self.last_accepted.insert(*holder, Instant::now());
                if is_long {
                    self.holders.insert(task, *holder);
                }
                return;
            }
            Outcome::Rejected(_) if *accepted => self.given_back += 1,
            Outcome::Rejected(reason) => *self.rejected.entry(*reason).or_default() += 1,
            Outcome::Result { exit: Exit::Done, lateness, .. } => {
                let earliness = -lateness;
                self.earliness_min_ns = Some(self.earliness_min_ns.map_or(earliness, |min| min.min(earliness)));
                self.earliness_sum_ns += earliness;
                if earliness >= 0 { self.in_time += 1 } else { self.late += 1 }
            }
            Outcome::Result { exit: Exit::Overrun, .. } => self.overrun += 1,
            Outcome::Result { exit: Exit::Failed, .. } => self.failed += 1,
            Outcome::Lost => self.lost += 1,
        }
        self.holders.remove(&task);
    }

    /// How many have had their last word.
    pub fn over(&self) -> u64 {
        self.in_time + self.late + self.lost + self.given_back + self.overrun + self.failed + self.rejected_all()
    }

    /// How many were never accepted.
    pub fn rejected_all(&self) -> u64 {
        self.rejected.values().sum()
    }

    /// The line under the live table.
    pub fn line(&self) -> String {
        format!(
            "tasks: {} submitted, {} accepted, {} rejected; {} in time, {} late, {} lost, {} given back",
            self.submitted,
            self.accepted,
            self.rejected_all(),
            self.in_time,
            self.late,
            self.lost,
            self.given_back
        )
    }

    /// What is told at the end.
    pub fn lines(&self) -> Vec<String> {
        let share = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
        let reasons: Vec<String> = self.rejected.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
        let reasons = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) };
        let ended = self.in_time + self.late;
        let ms = |ns: i64| ns as f64 / 1e6;
        let earliness = match self.earliness_min_ns {
            Some(min) => format!(
                "earliness: {:.1} ms on average, {:.1} ms at least",
                ms(self.earliness_sum_ns) / ended.max(1) as f64,
                ms(min)
            ),
            None => "earliness: no result came".to_owned(),
        };
        vec![
            format!(
                "submitted {}: accepted {} ({:.1} %), rejected {}{reasons}",
                self.submitted,
                self.accepted,
                share(self.accepted, self.submitted),
                self.rejected_all()
            ),
            format!(
                "accepted {}: in time {} ({:.1} %), late {}, lost {}, given back {}, overrun {}, failed {}",
                self.accepted,
                self.in_time,
                share(self.in_time, self.accepted),
                self.late,
                self.lost,
                self.given_back,
                self.overrun,
                self.failed
            ),
            earliness,
        ]
    }
}
