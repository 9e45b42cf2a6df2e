// SPDX-License-Identifier: Apache-2.0
//! Scenario files of the simulator.

use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

use crate::core::queue::Strategy;

/// A file, after its variations were put in: one row of the result.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What the tables call it.
    pub name: String,
    /// Who decides.
    #[serde(default)]
    pub mode: Mode,
    /// Machines that run tasks, one at a time each.
    pub nodes: usize,
    /// Devices that submit tasks.
    pub clients: usize,
    /// How long they do.
    pub seconds: f64,
    /// Before that the machines find each other.
    #[serde(default = "two")]
    pub warm_up_s: f64,
    /// How many runs, with seeds from 1.
    pub seeds: u64,
    /// What devices submit.
    pub task: TaskSettings,
    /// Between devices and machines.
    pub link: Way,
    /// Among machines.
    #[serde(default = "wire")]
    pub wire: Way,
    /// How tasks are accepted.
    #[serde(default)]
    pub admission: Admission,
    /// The machines' clocks.
    #[serde(default)]
    pub clock: Clock,
    /// What befalls machines.
    #[serde(default)]
    pub fault: Vec<Fault>,
}

/// Who decides about tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Every node (thesis 8.5).
    #[default]
    Distributed,
    /// One scheduler before the nodes, which are its workers (thesis 8.4).
    Central,
    /// The papers' reference: one queue by earliest deadline before all workers, everything is accepted of which the
    /// worst case fits before the deadline. Its workers are in the scheduler's machine: no wire between them.
    Reference,
}

/// What devices submit.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskSettings {
    /// Declared worst case.
    pub wcet_ms: f64,
    /// What it takes in truth; as declared if not given.
    pub execution_ms: Option<f64>,
    /// Mean of the slack, the budget less the worst case. Normally distributed, folded at 0.
    pub slack_ms: f64,
    /// Its deviation; a third of the mean if not given.
    pub slack_deviation_ms: Option<f64>,
    /// Submissions of one device, a Poisson process; one is under way at a time, and what falls due meanwhile follows it.
    pub rate_per_s: f64,
    /// How many take twice their declared worst case.
    #[serde(default)]
    pub overrun_percent: f64,
    /// Bytes of input.
    #[serde(default = "hundred")]
    pub payload_bytes: usize,
}

/// One direction of a way.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Way {
    /// Mean delay.
    pub delay_ms: f64,
    /// What it varies: by at most so much, evenly, as netem's jitter does; each datagram by itself.
    #[serde(default)]
    pub jitter_ms: f64,
    /// Datagrams that are lost.
    #[serde(default)]
    pub loss_percent: f64,
    /// Datagrams that come twice.
    #[serde(default)]
    pub duplicate_percent: f64,
}

impl Way {
    /// Always the same, and nothing is lost.
    pub fn steady(delay_ms: f64) -> Self {
        Self { delay_ms, jitter_ms: 0.0, loss_percent: 0.0, duplicate_percent: 0.0 }
    }
}

/// How tasks are accepted.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Admission {
    /// The factor U.
    pub uncertainty: f64,
    /// The share of the datagrams whose delay is reserved.
    pub share: f64,
    /// Reserved besides.
    pub margin_ms: f64,
    /// Which of the queues that admit a task takes it.
    pub strategy: Strategy,
    /// How many others are asked for one task.
    pub asked_max: usize,
    /// How often devices measure their links.
    pub hello_period_ms: f64,
    /// Reserved for the start of a program. Simulated programs start at once.
    pub start_cost_ms: f64,
}

impl Default for Admission {
    fn default() -> Self {
        let hello_period_ms = 200.0;
        Self {
            uncertainty: 1.0,
            share: 0.99,
            margin_ms: 1.0,
            strategy: Strategy::WorstFit,
            asked_max: 3,
            hello_period_ms,
            start_cost_ms: 0.0,
        }
    }
}

/// The machines' clocks: each starts anywhere.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// Each drifts by at most so much.
    #[serde(default)]
    pub drift_ppm: f64,
}

/// Something that befalls a machine.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// When, from the first submission on.
    pub at_s: f64,
    /// Which machine, from 0. A scheduler has no number.
    pub node: usize,
    /// What.
    pub what: What,
}

/// What befalls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// It stops, with all it has.
    Crash,
    /// It starts again, knowing nothing.
    Restart,
    /// Nothing passes to or from it; it runs on.
    Silence,
    /// It is heard again.
    Heard,
    /// It and those before it, devices included in turn, are cut off from the rest.
    Partition,
    /// All hear each other again.
    Heal,
}

impl Scenario {
    /// From when on devices submit, from the run's start.
    pub fn from(&self) -> Duration {
        Duration::from_secs_f64(self.warm_up_s)
    }

    /// When devices submit no more, from the run's start.
    pub fn until(&self) -> Duration {
        Duration::from_secs_f64(self.warm_up_s + self.seconds)
    }
}

/// What one row of the result is of.
#[derive(Clone, Debug)]
pub struct Row {
    /// What varies in the file, and its value here.
    pub varied: Vec<(String, String)>,
    /// All of it.
    pub scenario: Scenario,
}

/// A file's rows.
pub fn read(path: &Path) -> Result<Vec<Row>, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    parse(&text).map_err(|e| format!("{}: {e}", path.display()))
}

/// See [`read`].
pub fn parse(text: &str) -> Result<Vec<Row>, String> {
    let mut table: toml::Table = text.parse().map_err(|e: toml::de::Error| e.to_string())?;
    let mut rows: Vec<Vec<Value>> = vec![Vec::new()];
    if let Some(vary) = table.remove("vary") {
        let toml::Value::Array(varied) = vary else { return Err("vary: a list of tables: [[vary]]".into()) };
        for item in varied {
            let vary: Vary = item.try_into().map_err(|e| format!("vary: {e}"))?;
            let values = vary.values()?;
            let with = |row: &Vec<Value>, value: &Value| [&row[..], std::slice::from_ref(value)].concat();
            rows = rows.iter().flat_map(|row| values.iter().map(|value| with(row, value))).collect();
        }
    }
    let scenarios = rows.into_iter().map(|row| {
        let mut table = table.clone();
        for value in &row {
            value.set.iter().try_for_each(|(key, value)| set(&mut table, key, value.clone()))?;
        }
        let scenario = table_to_scenario(table, &row, text)?;
        check(&scenario)?;
        Ok(Row { varied: row.into_iter().map(|value| (value.name, value.label)).collect(), scenario })
    });
    scenarios.collect()
}

/// What a scenario is run with, one after the other: of one key, or labelled sets of several.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vary {
    key: Option<String>,
    name: Option<String>,
    values: Vec<toml::Value>,
}

/// One of them.
#[derive(Clone)]
struct Value {
    name: String,
    label: String,
    set: Vec<(String, toml::Value)>,
}

impl Vary {
    fn values(self) -> Result<Vec<Value>, String> {
        let name = match (&self.key, &self.name) {
            (Some(key), None) => key.rsplit('.').next().unwrap_or(key).to_owned(),
            (None, Some(name)) => name.clone(),
            _ => return Err("vary: either `key`, or `name` with labelled tables as values".into()),
        };
        let value = |value: toml::Value| match (&self.key, value) {
            (Some(key), value) => {
                let label = value.to_string().replace('"', "");
                Ok(Value { name: name.clone(), label, set: vec![(key.clone(), value)] })
            }
            (None, toml::Value::Table(mut set)) => match set.remove("label") {
                Some(toml::Value::String(label)) => {
                    Ok(Value { name: name.clone(), label, set: set.into_iter().collect() })
                }
                _ => Err(format!("vary: {name}: each value needs a label")),
            },
            (None, value) => Err(format!("vary: {name}: {value}: must be a table with a label and keys to set")),
        };
        self.values.into_iter().map(value).collect()
    }
}

/// With no variation the file itself is read, so that errors name its lines.
fn table_to_scenario(table: toml::Table, row: &[Value], text: &str) -> Result<Scenario, String> {
    if row.is_empty() {
        return toml::from_str(text).map_err(|e| e.to_string());
    }
    let values: Vec<String> = row.iter().map(|value| format!("{} = {}", value.name, value.label)).collect();
    table.try_into().map_err(|e: toml::de::Error| format!("with {}: {e}", values.join(", ")))
}

fn set(table: &mut toml::Table, key: &str, value: toml::Value) -> Result<(), String> {
    match key.split_once('.') {
        None => {
            table.insert(key.to_owned(), value);
            Ok(())
        }
        Some((first, rest)) => match table.entry(first).or_insert_with(|| toml::Table::new().into()) {
            toml::Value::Table(inner) => set(inner, rest, value),
            _ => Err(format!("vary: {key}: {first} is not a table")),
        },
    }
}

fn check(scenario: &Scenario) -> Result<(), String> {
    let limits = [
        ("nodes", scenario.nodes as f64, 1.0, 10_000.0),
        ("clients", scenario.clients as f64, 1.0, 100_000.0),
        ("seconds", scenario.seconds, 0.1, 100_000.0),
        ("warm_up_s", scenario.warm_up_s, 0.5, 1_000.0),
        ("seeds", scenario.seeds as f64, 1.0, 1_000_000.0),
        ("task.wcet_ms", scenario.task.wcet_ms, 0.001, 3_600_000.0),
        ("task.slack_ms", scenario.task.slack_ms, 0.0, 3_600_000.0),
        ("task.rate_per_s", scenario.task.rate_per_s, 0.000_001, 100_000.0),
        ("task.payload_bytes", scenario.task.payload_bytes as f64, 0.0, crate::core::message::PAYLOAD_BYTES_MAX as f64),
        ("task.overrun_percent", scenario.task.overrun_percent, 0.0, 100.0),
        ("link.delay_ms", scenario.link.delay_ms, scenario.link.jitter_ms, 10_000.0),
        ("wire.delay_ms", scenario.wire.delay_ms, scenario.wire.jitter_ms, 10_000.0),
        ("link.loss_percent", scenario.link.loss_percent, 0.0, 100.0),
        ("wire.loss_percent", scenario.wire.loss_percent, 0.0, 100.0),
        ("link.duplicate_percent", scenario.link.duplicate_percent, 0.0, 100.0),
        ("wire.duplicate_percent", scenario.wire.duplicate_percent, 0.0, 100.0),
        ("admission.uncertainty", scenario.admission.uncertainty, 0.0, 100.0),
        ("admission.share", scenario.admission.share, 0.0, 1.0),
        ("admission.start_cost_ms", scenario.admission.start_cost_ms, 0.0, 10_000.0),
        ("clock.drift_ppm", scenario.clock.drift_ppm, 0.0, 10_000.0),
    ];
    for (what, value, least, most) in limits {
        if !(least..=most).contains(&value) {
            return Err(format!("{what} = {value}: must be from {least} to {most}"));
        }
    }
    for fault in &scenario.fault {
        if fault.node >= scenario.nodes {
            return Err(format!("fault: node = {}: there are {}, from 0", fault.node, scenario.nodes));
        }
    }
    Ok(())
}

fn two() -> f64 {
    2.0
}

fn hundred() -> usize {
    100
}

fn wire() -> Way {
    Way { jitter_ms: 0.02, ..Way::steady(0.1) }
}
