// SPDX-License-Identifier: Apache-2.0
//! The jobs of one queue by earliest deadline first, and the test whether one more fits (thesis 8.3).
//!
//! A queue has `width` workers: one for partitioned EDF, all of them for the reference scheduler's global EDF. The first
//! `width` jobs run. Nothing here acts: [`Queue::insert`] and [`Queue::remove`] say what is to be started and stopped.

use std::time::Duration;

use super::task::{Task, TaskId};
use super::time::Instant;

/// What handling a job costs besides its execution.
#[derive(Clone, Copy, Debug, Default)]
pub struct Costs {
    /// From the decision to the program's first instruction.
    pub start: Duration,
    /// To stop a running job for a more urgent one, and to continue it.
    pub preempt: Duration,
}

/// A job's needs.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// Whose it is.
    pub id: TaskId,
    /// When its result must leave.
    pub deadline: Instant,
    /// Worst-case execution time.
    pub wcet: Duration,
}

impl From<&Task> for Job {
    fn from(task: &Task) -> Self {
        Self { id: task.id, deadline: task.leave_by, wcet: task.wcet }
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    job: Job,
    /// What it may still use until its worst case, when it last stood still.
    left: Duration,
    started: bool,
    running_since: Option<Instant>,
}

impl Entry {
    fn left(&self, now: Instant) -> Duration {
        self.left.saturating_sub(self.running_since.map_or(Duration::ZERO, |since| now.since(since)))
    }
}

/// What a change of the queue asks of the workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Begin a job.
    Start(TaskId),
    /// Let a job stand still.
    Stop(TaskId),
    /// Go on with a job that stands still.
    Continue(TaskId),
}

/// Jobs in the order of their deadlines.
#[derive(Clone, Debug)]
pub struct Queue {
    width: usize,
    costs: Costs,
    jobs: Vec<Entry>,
}

impl Queue {
    /// An empty queue before `width` workers.
    pub fn new(width: usize, costs: Costs) -> Self {
        Self { width, costs, jobs: Vec::new() }
    }

    /// How many jobs it has.
    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// The sum of the jobs' densities: of each, the work that is left over the time that is left.
    pub fn density(&self, now: Instant) -> f64 {
        self.jobs.iter().map(|e| density(e.left(now), now, e.job.deadline)).sum::<f64>() / self.width as f64
    }

    /// Whether all jobs meet their deadlines with this one among them, each taking its worst case.
    pub fn admits(&self, now: Instant, job: &Job) -> bool {
        debug_assert_eq!(self.width, 1, "the acceptance test is of one worker's queue");
        let place = self.jobs.partition_point(|e| e.job.deadline <= job.deadline);
        let mut done = now;
        for entry in &self.jobs[..place] {
            done += self.time_to_end(entry, now);
        }
        done += job.wcet + self.costs.start;
        if place == 0 && !self.jobs.is_empty() {
            done += self.costs.preempt;
        }
        if done > job.deadline {
            return false;
        }
        // Those before it are not delayed by it: what is true of them stays so.
        self.jobs[place..].iter().all(|entry| {
            done += self.time_to_end(entry, now);
            done <= entry.job.deadline
        })
    }

    fn time_to_end(&self, entry: &Entry, now: Instant) -> Duration {
        let cost = match (entry.started, entry.running_since) {
            (false, _) => self.costs.start,
            (true, None) => self.costs.preempt,
            (true, Some(_)) => Duration::ZERO,
        };
        entry.left(now) + cost
    }

    /// Adds a job; what is to be stopped and started comes in this order.
    pub fn insert(&mut self, now: Instant, job: Job) -> Vec<Order> {
        let place = self.jobs.partition_point(|e| e.job.deadline <= job.deadline);
        self.jobs.insert(place, Entry { job, left: job.wcet, started: false, running_since: None });
        self.settle(now)
    }

    /// Takes a job out that ended or was given up.
    pub fn remove(&mut self, now: Instant, id: TaskId) -> Vec<Order> {
        self.jobs.retain(|e| e.job.id != id);
        self.settle(now)
    }

    /// When the first of the running jobs reaches its worst case.
    pub fn overrun_at(&self) -> Option<(Instant, TaskId)> {
        let running = self.jobs.iter().filter_map(|e| Some((e.running_since? + e.left, e.job.id)));
        running.min_by_key(|(at, _)| *at)
    }

    fn settle(&mut self, now: Instant) -> Vec<Order> {
        let mut orders = Vec::new();
        for entry in self.jobs.iter_mut().skip(self.width) {
            if entry.running_since.is_some() {
                entry.left = entry.left(now);
                entry.running_since = None;
                orders.push(Order::Stop(entry.job.id));
            }
        }
        for entry in self.jobs.iter_mut().take(self.width).filter(|e| e.running_since.is_none()) {
            let id = entry.job.id;
            orders.push(if entry.started { Order::Continue(id) } else { Order::Start(id) });
            let cost = if entry.started { self.costs.preempt } else { self.costs.start };
            entry.left += cost;
            entry.started = true;
            entry.running_since = Some(now);
        }
        debug_assert!(self.jobs.is_sorted_by_key(|e| e.job.deadline));
        orders
    }
}

/// Work over time; a job whose time is over counts as one that needs the whole worker.
fn density(left: Duration, now: Instant, deadline: Instant) -> f64 {
    left.as_secs_f64() / deadline.since(now).max(left).max(Duration::from_micros(1)).as_secs_f64()
}

/// How a queue is chosen among those that admit a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// The first.
    FirstFit,
    /// The densest.
    BestFit,
    /// The least dense.
    WorstFit,
}

/// Chooses among the queues that admit a job, given with their densities.
pub fn choose<K>(strategy: Strategy, admitting: impl Iterator<Item = (K, f64)>) -> Option<K> {
    let mut admitting = admitting;
    let chosen = match strategy {
        Strategy::FirstFit => admitting.next(),
        Strategy::BestFit => admitting.reduce(|best, next| if next.1 > best.1 { next } else { best }),
        Strategy::WorstFit => admitting.reduce(|best, next| if next.1 < best.1 { next } else { best }),
    };
    chosen.map(|(key, _)| key)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Strategy;
    use super::*;

    const MS: u64 = 1_000_000;

    fn job(number: u32, deadline_ms: u64, wcet_ms: u64) -> Job {
        let id = TaskId { client: 0, number };
        Job { id, deadline: Instant(deadline_ms * MS), wcet: Duration::from_millis(wcet_ms) }
    }

    proptest! {
        /// Jobs arrive one after the other; each that is admitted is run by the queue's own orders, to its worst case.
        #[test]
        fn what_is_admitted_meets_its_deadline(
            arrivals in prop::collection::vec((0u64..60, 1u64..50, 0u64..150), 1..40),
            costs in (0u64..3, 0u64..3),
        ) {
            let costs = Costs { start: Duration::from_millis(costs.0), preempt: Duration::from_millis(costs.1) };
            let (mut queue, mut now, mut rejected) = (Queue::new(1, costs), Instant(0), 0);
            for (number, (pause, wcet, slack)) in (0..).zip(arrivals) {
                let until = now + Duration::from_millis(pause);
                while let Some((end, id)) = queue.overrun_at().filter(|(end, _)| *end <= until) {
                    let deadline = queue.jobs.iter().find(|e| e.job.id == id).map(|e| e.job.deadline);
                    prop_assert!(Some(end) <= deadline, "{id} ends at {end:?}");
                    queue.remove(end, id);
                }
                now = until;
                let job = job(number, now.0 / MS + wcet + slack, wcet);
                if queue.admits(now, &job) {
                    queue.insert(now, job);
                } else {
                    rejected += 1;
                    // Not out of caution: with it the deadlines cannot be met.
                    let work: Duration = queue.jobs.iter().map(|e| queue.time_to_end(e, now)).sum();
                    let all = work + job.wcet + costs.start + costs.preempt;
                    let latest = queue.jobs.iter().map(|e| e.job.deadline).chain([job.deadline]).min();
                    prop_assert!(latest.is_some_and(|latest| now + all > latest), "{rejected}");
                }
            }
            while let Some((end, id)) = queue.overrun_at() {
                prop_assert!(queue.jobs.iter().all(|e| e.job.id != id || end <= e.job.deadline));
                queue.remove(end, id);
            }
            prop_assert!(queue.is_empty());
        }
    }

    #[test]
    fn the_more_urgent_job_stops_the_other_and_it_goes_on_after() {
        let mut queue = Queue::new(1, Costs::default());
        let (long, urgent) = (job(1, 500, 100), job(2, 80, 20));
        assert_eq!(queue.insert(Instant(0), long), [Order::Start(long.id)]);
        assert_eq!(queue.insert(Instant(30 * MS), urgent), [Order::Stop(long.id), Order::Start(urgent.id)]);
        assert_eq!(queue.remove(Instant(50 * MS), urgent.id), [Order::Continue(long.id)]);
        assert_eq!(queue.overrun_at(), Some((Instant(120 * MS), long.id)));
    }

    #[test]
    fn queues_are_chosen_by_their_density() {
        let queues = || [("a", 0.5), ("b", 0.9), ("c", 0.1)].into_iter();
        assert_eq!(choose(Strategy::FirstFit, queues()), Some("a"));
        assert_eq!(choose(Strategy::BestFit, queues()), Some("b"));
        assert_eq!(choose(Strategy::WorstFit, queues()), Some("c"));
        assert_eq!(choose(Strategy::WorstFit, std::iter::empty::<(&str, f64)>()), None);
    }
}
