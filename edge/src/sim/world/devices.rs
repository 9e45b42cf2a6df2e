// SPDX-License-Identifier: Apache-2.0
//! What devices submit, and what becomes of it.

use super::*;
use crate::sim::draws::{self, exponential, normal};

/// A device, and what it is about.
pub(super) struct Device {
    pub(super) client: Client,
    /// When its next task falls due.
    pub(super) next: Duration,
    pub(super) waiting: bool,
    pub(super) submitted: BTreeMap<TaskId, Submitted>,
    pub(super) drawn: draws::Device,
}

pub(super) struct Submitted {
    at: Duration,
    /// Among the device's tasks.
    place: usize,
    accepted: bool,
}

impl World<'_> {
    pub(super) fn device(&mut self, clock: MachineClock) -> Kind {
        let scenario = self.scenario;
        let first = self.rng.random_range(0..self.nodes);
        let node = if scenario.mode == Mode::Distributed { first } else { 0 };
        let (uncertainty, margin) = match scenario.mode {
            Mode::Reference => (0.0, Duration::ZERO),
            _ => (scenario.admission.uncertainty, ms(scenario.admission.margin_ms)),
        };
        let config = client::Config {
            nodes: vec![address(node)],
            uncertainty,
            margin,
            share: scenario.admission.share,
            hello_period: ms(scenario.admission.hello_period_ms),
            ..client::Config::default()
        };
        let client = Client::new(config, self.key.clone(), clock.at(self.now), self.rng.next_u64());
        let next = scenario.from() + self.pause();
        let drawn = draws::Device { node, tasks: Vec::new() };
        Kind::Device(Box::new(Device { client, next, waiting: false, submitted: BTreeMap::new(), drawn }))
    }

    pub(super) fn pause(&mut self) -> Duration {
        Duration::from_secs_f64(exponential(&mut self.rng) / self.scenario.task.rate_per_s)
    }

    pub(super) fn submit(&mut self, index: usize) {
        let pause = self.pause();
        let task = &self.scenario.task;
        let mean = task.slack_ms;
        let deviation = task.slack_deviation_ms.unwrap_or(mean / 3.0);
        let slack = (mean + deviation * normal(&mut self.rng)).abs();
        let machine = &mut self.machines[index];
        let now = machine.clock.at(self.now);
        let Kind::Device(device) = &mut machine.kind else { return };
        if self.now > self.scenario.until() {
            return;
        }
        if !device.submitted.is_empty() {
            device.waiting = true;
            return;
        }
        device.waiting = false;
        let due = device.next.saturating_sub(self.scenario.from());
        device.next += pause;
        let payload = vec![0; task.payload_bytes];
        let budget = ms(task.wcet_ms + slack);
        let id = device.client.submit(now, PROGRAM, payload, ms(task.wcet_ms), budget);
        self.end = self.end.max(self.now + budget + DRAIN_MAX);
        device.submitted.insert(id, Submitted { at: self.now, place: device.drawn.tasks.len(), accepted: false });
        device.drawn.tasks.push(draws::Task { due, budget, accepted: false });
        self.results.tasks.submitted += 1;
        let next = device.next.max(self.now);
        self.foresee(next, index, Happening::Submit);
    }

    pub(super) fn outcome(&mut self, index: usize, id: TaskId, outcome: Outcome) {
        let Kind::Device(device) = &mut self.machines[index].kind else { return };
        let Some(submitted) = device.submitted.get_mut(&id) else {
            self.books.wrong(format!("{id}: an outcome after the last: {outcome:?}"));
            return;
        };
        let took = self.now - submitted.at;
        if !self.results.told(&outcome, &mut submitted.accepted, took) {
            return;
        }
        device.drawn.tasks[submitted.place].accepted = submitted.accepted;
        device.submitted.remove(&id);
        if std::mem::take(&mut device.waiting) {
            self.foresee(self.now, index, Happening::Submit);
        }
    }
}
