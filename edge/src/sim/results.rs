// SPDX-License-Identifier: Apache-2.0
//! What came of a run.

use std::time::Duration;

use serde::Serialize;

use crate::core::client::Outcome;
use crate::tally::Tally;

/// Counts and times of one run, or of several added up.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Results {
    /// Runs that are in it.
    pub runs: u64,
    /// What became of the tasks.
    #[serde(flatten)]
    pub tasks: Tally,
    /// Tasks that another machine took over.
    pub taken_over: u64,
    /// Times that a device gave up a node that did not answer.
    pub retried: u64,
    /// From a submission's arrival at a machine to the decision, in microseconds.
    #[serde(skip)]
    pub placing_us: Vec<f32>,
    /// From a submission to the answer's arrival, in milliseconds.
    #[serde(skip)]
    pub answer_ms: Vec<f32>,
    /// From a submission to the result's arrival, in milliseconds.
    #[serde(skip)]
    pub response_ms: Vec<f32>,
    /// From a crash or silence until all others know, in milliseconds.
    pub noticed_ms: Vec<f64>,
    /// From a restart until all others know, in milliseconds.
    pub back_ms: Vec<f64>,
    /// Datagrams that machines sent to each other, for each and per second.
    pub wire_messages: f64,
    /// Their bytes, without UDP's and IP's headers.
    pub wire_bytes: f64,
    /// The longest that any machine's list of tasks was.
    pub tasks_remembered_max: usize,
    /// What must be true and was not.
    pub wrong: Vec<String>,
}

impl Results {
    /// Counts what a device is told of a task, so long after it submitted it. `accepted` is that task's, as for
    /// [`Tally::note`]. Returns whether this was the last word.
    pub fn told(&mut self, outcome: &Outcome, accepted: &mut bool, took: Duration) -> bool {
        let took_ms = took.as_secs_f32() * 1e3;
        if !*accepted && !matches!(outcome, Outcome::Lost) {
            self.answer_ms.push(took_ms);
        }
        if matches!(outcome, Outcome::Result { .. }) {
            self.response_ms.push(took_ms);
        }
        self.tasks.note(accepted, outcome)
    }

    /// Adds another run.
    pub fn add(&mut self, other: Self) {
        let (a, b) = (self.runs as f64, other.runs as f64);
        let mean = |x: f64, y: f64| (x * a + y * b) / (a + b).max(1.0);
        self.wire_messages = mean(self.wire_messages, other.wire_messages);
        self.wire_bytes = mean(self.wire_bytes, other.wire_bytes);
        self.runs += other.runs;
        self.tasks.add(&other.tasks);
        self.taken_over += other.taken_over;
        self.retried += other.retried;
        self.placing_us.extend(other.placing_us);
        self.answer_ms.extend(other.answer_ms);
        self.response_ms.extend(other.response_ms);
        self.noticed_ms.extend(other.noticed_ms);
        self.back_ms.extend(other.back_ms);
        self.tasks_remembered_max = self.tasks_remembered_max.max(other.tasks_remembered_max);
        self.wrong.extend(other.wrong);
    }
}

/// The value that this share of the others does not exceed.
pub fn quantile(values: &[f32], share: f64) -> f32 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f32::total_cmp);
    let place = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(place.max(1) - 1).copied().unwrap_or(f32::NAN)
}
