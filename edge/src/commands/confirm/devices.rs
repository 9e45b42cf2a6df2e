// SPDX-License-Identifier: Apache-2.0
//! Devices: real clients that submit the tasks that were drawn for them.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use weir_edge::client::{Client, Config, SiteKey, Task};
use weir_edge::sim::draws;
use weir_edge::sim::results::Results;
use weir_edge::sim::scenario::Scenario;

use super::site::{PROGRAM, ms};

/// What a device needs to know.
pub struct Device<'a> {
    pub scenario: &'a Scenario,
    pub drawn: &'a draws::Device,
    /// The machine that it knows from the start.
    pub node: SocketAddr,
    pub key: SiteKey,
    /// From when on devices submit.
    pub from: Instant,
}

impl Device<'_> {
    /// Submits its tasks, each when it falls due and the one before is over, and waits for the last word on each.
    /// Returns how many were accepted in both worlds or in neither, too.
    pub fn run(&self) -> Result<(Results, u64), String> {
        let admission = &self.scenario.admission;
        let config = Config {
            nodes: vec![self.node],
            uncertainty: admission.uncertainty,
            share: admission.share,
            margin: ms(admission.margin_ms),
            hello_period: ms(admission.hello_period_ms),
            ..Config::default()
        };
        let client = Client::connect_with(config, self.key.clone()).map_err(|error| error.to_string())?;
        let (mut results, mut alike) = (Results::default(), 0);
        for drawn in &self.drawn.tasks {
            std::thread::sleep((self.from + drawn.due).saturating_duration_since(Instant::now()));
            let accepted = submit(&client, self.scenario, drawn.budget, &mut results);
            alike += u64::from(accepted == drawn.accepted);
        }
        Ok((results, alike))
    }
}

/// One task; whether it was accepted.
fn submit(client: &Client, scenario: &Scenario, budget: Duration, results: &mut Results) -> bool {
    let task = Task::new(PROGRAM, ms(scenario.task.wcet_ms), budget).payload(vec![0; scenario.task.payload_bytes]);
    let began = Instant::now();
    let mut accepted = false;
    results.tasks.submitted += 1;
    for outcome in client.submit(&task) {
        results.told(&outcome, &mut accepted, began.elapsed());
    }
    accepted
}
