// SPDX-License-Identifier: Apache-2.0
//! What every task achieved.

use std::ops::Range;

use crate::scenario::{Task, TaskKind};
use crate::timeline::Job;

/// The jobs of one task.
#[derive(Debug)]
pub struct TaskJobs {
    /// Its lane.
    pub lane: usize,
    kind: Kind,
    deadline_cycles: Option<u64>,
    /// Release, start and end of each job that began.
    pub jobs: Vec<Job>,
    completed: usize,
    /// What its lane had executed when the job under way began.
    cycles_at_start: u64,
    /// Arrival of the message that it took last.
    message: Option<u64>,
    /// Cycles of handlers and of network tasks while it had something to do.
    pub preempted: (u64, u64),
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Periodic { first: u64, period: u64 },
    Background,
    Receiving,
}

/// Figures of a task over the measured time.
#[derive(Debug, Default)]
pub struct Figures {
    /// Jobs whose deadline (or, without one, completion) lay in the window.
    pub jobs: u64,
    /// Late or never.
    pub missed: u64,
    /// Of completed jobs.
    pub response_cycles: Vec<u64>,
    /// Largest, negative is early.
    pub lateness_max_cycles: Option<i64>,
    /// Sum of positive ones.
    pub lateness_sum_cycles: u64,
}

impl TaskJobs {
    /// For `task`, whose first release is at `first`.
    pub fn new(task: &Task, lane: usize, first: u64, cycles_per_us: u64) -> TaskJobs {
        let (kind, deadline_us) = match &task.kind {
            TaskKind::Periodic { period_us, deadline_us } => {
                (Kind::Periodic { first, period: u64::from(*period_us) * cycles_per_us }, Some(*deadline_us))
            }
            TaskKind::Background => (Kind::Background, None),
            TaskKind::Receiving { deadline_us, .. } => (Kind::Receiving, *deadline_us),
        };
        TaskJobs {
            lane,
            kind,
            deadline_cycles: deadline_us.map(|us| u64::from(us) * cycles_per_us),
            jobs: Vec::new(),
            completed: 0,
            cycles_at_start: 0,
            message: None,
            preempted: (0, 0),
        }
    }

    fn release_of(&self, job: usize) -> Option<u64> {
        match self.kind {
            Kind::Periodic { first, period } => Some(first + job as u64 * period),
            Kind::Background => None,
            Kind::Receiving => self.message,
        }
    }

    /// It took a message that arrived at `arrival`.
    pub fn took(&mut self, arrival: u64) {
        self.message = Some(arrival);
    }

    /// A job begins; the task has executed `cycles` so far.
    pub fn start(&mut self, now: u64, cycles: u64) {
        self.cycles_at_start = cycles;
        let Some(release) = self.release_of(self.jobs.len()) else { return };
        let deadline = self.deadline_cycles.map(|d| release + d);
        self.jobs.push(Job { lane: self.lane, release, deadline, start: Some(now), end: None });
    }

    /// A job ends.
    pub fn end(&mut self, now: u64) -> Option<&Job> {
        let job = self.jobs.get_mut(self.completed)?;
        job.end = Some(now);
        self.completed += 1;
        Some(job)
    }

    /// What the task had executed when the job under way began.
    pub fn cycles_at_start(&self) -> u64 {
        self.cycles_at_start
    }

    /// Relative deadline.
    pub fn deadline_cycles(&self) -> Option<u64> {
        self.deadline_cycles
    }

    /// The job under way.
    pub fn under_way(&self) -> Option<&Job> {
        self.jobs.get(self.completed)
    }

    /// Whether it has something to do at `now`.
    pub fn is_pending(&self, now: u64) -> bool {
        match self.kind {
            Kind::Periodic { .. } => self.release_of(self.completed).is_some_and(|release| release <= now),
            Kind::Background => true,
            Kind::Receiving => self.under_way().is_some(),
        }
    }

    /// Released by messages.
    pub fn is_receiving(&self) -> bool {
        matches!(self.kind, Kind::Receiving)
    }

    /// Release to completion of every job released in `window` and completed.
    pub fn latencies(&self, window: &Range<u64>) -> Vec<u64> {
        let in_window = self.jobs.iter().filter(|job| window.contains(&job.release));
        in_window.filter_map(|job| Some(job.end? - job.release)).collect()
    }

    /// Adds the jobs that were released but never began.
    pub fn finish(&mut self, end: u64) {
        if let Kind::Periodic { .. } = self.kind {
            while let Some(release) = self.release_of(self.jobs.len())
                && release < end
            {
                let deadline = self.deadline_cycles.map(|d| release + d);
                self.jobs.push(Job { lane: self.lane, release, deadline, start: None, end: None });
            }
        }
    }

    /// Figures over `window`; after `finish`.
    pub fn figures(&self, window: &Range<u64>) -> Figures {
        let mut figures = Figures::default();
        for job in &self.jobs {
            let counts_at = match (job.deadline, job.end) {
                (Some(deadline), _) => deadline,
                (None, Some(end)) => end,
                (None, None) => continue,
            };
            if job.release < window.start || counts_at > window.end {
                continue;
            }
            figures.jobs += 1;
            if let Some(end) = job.end {
                figures.response_cycles.push(end - job.release);
            }
            if let Some(deadline) = job.deadline {
                // A job that never completed has at least the lateness of the run's end.
                let lateness = job.end.unwrap_or(window.end) as i64 - deadline as i64;
                figures.missed += u64::from(lateness > 0 || job.end.is_none());
                figures.lateness_sum_cycles += lateness.max(0) as u64;
                figures.lateness_max_cycles = figures.lateness_max_cycles.max(Some(lateness));
            }
        }
        figures
    }
}
