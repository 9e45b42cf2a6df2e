// SPDX-License-Identifier: Apache-2.0
//! What became of the demo's tasks.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Instant;

use weir_edge::client::{Exit, Outcome};

/// What became of them, and how early they were.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub tasks: weir_edge::tally::Tally,
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
        if let Outcome::Result { exit: Exit::Done, lateness, .. } = outcome {
            let earliness = -lateness;
            self.earliness_min_ns = Some(self.earliness_min_ns.map_or(earliness, |min| min.min(earliness)));
            self.earliness_sum_ns += earliness;
        }
        let over = self.tasks.note(accepted, outcome);
        match outcome {
            Outcome::Accepted { holder } => {
                self.last_accepted.insert(*holder, Instant::now());
                if is_long {
                    self.holders.insert(task, *holder);
                }
            }
            _ if over => drop(self.holders.remove(&task)),
            _ => {}
        }
    }

    /// The line under the live table.
    pub fn line(&self) -> String {
        let tasks = &self.tasks;
        format!(
            "tasks: {} submitted, {} accepted, {} rejected; {} in time, {} late, {} lost, {} given back",
            tasks.submitted,
            tasks.accepted,
            tasks.rejected_all(),
            tasks.in_time,
            tasks.late,
            tasks.lost,
            tasks.given_back
        )
    }

    /// What is told at the end.
    pub fn lines(&self) -> Vec<String> {
        let tasks = &self.tasks;
        let share = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
        let reasons: Vec<String> = tasks.rejected.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
        let reasons = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) };
        let ended = tasks.in_time + tasks.late;
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
                tasks.submitted,
                tasks.accepted,
                share(tasks.accepted, tasks.submitted),
                tasks.rejected_all()
            ),
            format!(
                "accepted {}: in time {} ({:.1} %), late {}, lost {}, given back {}, overrun {}, failed {}",
                tasks.accepted,
                tasks.in_time,
                share(tasks.in_time, tasks.accepted),
                tasks.late,
                tasks.lost,
                tasks.given_back,
                tasks.overrun,
                tasks.failed
            ),
            earliness,
        ]
    }
}
