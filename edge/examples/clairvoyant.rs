// SPDX-License-Identifier: Apache-2.0
//! What an oracle could do at most in `scenarios/thesis-8/clients.toml`: it knows all tasks in advance, stops and moves
//! them between the four workers at no cost, does parts of tasks, and needs exactly 60 ms for the way there and back. Its
//! share of the work is a maximum flow from tasks through the times in which they can run to the workers.

use std::collections::VecDeque;
use std::time::Duration;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use weir_edge::sim::draws::{exponential, normal};

const WORKERS: i64 = 4;
const WCET: i64 = 100_000;
const ROUND_TRIP: f64 = 60_000.0;
const LENGTH: Duration = Duration::from_secs(30);

/// Microseconds from when on and until when a task can run.
fn tasks(clients: u32, rng: &mut ChaCha8Rng) -> (usize, Vec<(i64, i64)>) {
    let (mut now, mut count, mut tasks) = (0.0, 0, Vec::new());
    loop {
        now += exponential(rng) / f64::from(clients) * 1e6;
        if now > LENGTH.as_secs_f64() * 1e6 {
            return (count, tasks);
        }
        count += 1;
        let slack = (100_000.0 + 100_000.0 / 3.0 * normal(rng)).abs() - ROUND_TRIP;
        if slack >= 0.0 {
            tasks.push((now as i64, now as i64 + WCET + slack as i64));
        }
    }
}

/// Dinic's algorithm on (to, what still fits) with each edge's reverse beside it.
#[derive(Default)]
struct Flow {
    edges: Vec<(usize, i64)>,
    from: Vec<Vec<usize>>,
}

impl Flow {
    fn add(&mut self, from: usize, to: usize, capacity: i64) {
        self.from.resize(self.from.len().max(from.max(to) + 1), Vec::new());
        self.from[from].push(self.edges.len());
        self.edges.push((to, capacity));
        self.from[to].push(self.edges.len());
        self.edges.push((from, 0));
    }

    fn levels(&self, source: usize) -> Vec<usize> {
        let mut levels = vec![usize::MAX; self.from.len()];
        levels[source] = 0;
        let mut next = VecDeque::from([source]);
        while let Some(at) = next.pop_front() {
            for &edge in &self.from[at] {
                let (to, fits) = self.edges[edge];
                if fits > 0 && levels[to] == usize::MAX {
                    levels[to] = levels[at] + 1;
                    next.push_back(to);
                }
            }
        }
        levels
    }

    fn push(&mut self, at: usize, sink: usize, most: i64, levels: &[usize], tried: &mut [usize]) -> i64 {
        if at == sink {
            return most;
        }
        while tried[at] < self.from[at].len() {
            let edge = self.from[at][tried[at]];
            let (to, fits) = self.edges[edge];
            if fits > 0 && levels[to] == levels[at] + 1 {
                let pushed = self.push(to, sink, most.min(fits), levels, tried);
                if pushed > 0 {
                    self.edges[edge].1 -= pushed;
                    self.edges[edge ^ 1].1 += pushed;
                    return pushed;
                }
            }
            tried[at] += 1;
        }
        0
    }

    fn most(&mut self, source: usize, sink: usize) -> i64 {
        let mut sum = 0;
        loop {
            let levels = self.levels(source);
            if levels[sink] == usize::MAX {
                return sum;
            }
            let mut tried = vec![0; self.from.len()];
            loop {
                let pushed = self.push(source, sink, i64::MAX, &levels, &mut tried);
                if pushed == 0 {
                    break;
                }
                sum += pushed;
            }
        }
    }
}

fn main() {
    for clients in [10, 20, 30, 40, 50] {
        let mut shares = Vec::new();
        for seed in 1..=5 {
            let (count, tasks) = tasks(clients, &mut ChaCha8Rng::seed_from_u64(seed));
            let mut times: Vec<i64> = tasks.iter().flat_map(|(from, until)| [*from, *until]).collect();
            times.sort_unstable();
            times.dedup();
            let mut flow = Flow::default();
            let (source, sink, first) = (0, 1, 2 + tasks.len());
            for (i, span) in times.windows(2).enumerate() {
                flow.add(first + i, sink, WORKERS * (span[1] - span[0]));
            }
            for (i, (from, until)) in tasks.iter().enumerate() {
                flow.add(source, 2 + i, WCET);
                let spans = times.partition_point(|t| t < from)..times.partition_point(|t| t < until);
                spans.for_each(|t| flow.add(2 + i, first + t, times[t + 1] - times[t]));
            }
            shares.push(flow.most(source, sink) as f64 / WCET as f64 / count as f64);
        }
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        println!("{clients} clients: at most {:.1} % of the tasks", 100.0 * mean);
    }
}
