// SPDX-License-Identifier: Apache-2.0
//! Which keys a scenario sweeps, and which runs form one curve.

use std::collections::BTreeSet;

use serde::Serialize;

use super::format;
use crate::results::{Results, Run};

/// The swept keys of a set of runs.
#[derive(Debug, Clone, Serialize)]
pub struct Sweep {
    /// Every key that any run carries, in order.
    pub keys: Vec<String>,
    /// The first key with more than one value, traffic before settings: the x axis.
    pub axis: Option<String>,
    /// The other keys with more than one value.
    pub others: Vec<String>,
    /// What [`unit`] says of every key of `keys`.
    pub units: Vec<&'static str>,
}

/// Runs that differ in the axis only.
#[derive(Debug, Clone)]
pub struct Series<'a> {
    /// Their variant.
    pub variant: &'a str,
    /// Their values of the other swept keys.
    pub fixed: Vec<(String, f64)>,
    /// In order of the axis.
    pub runs: Vec<&'a Run>,
}

impl Sweep {
    /// Finds the swept keys.
    pub fn of(results: &Results) -> Self {
        let keys: BTreeSet<&String> = results.runs.iter().flat_map(|run| run.loads.keys()).collect();
        let keys: Vec<String> = keys.into_iter().cloned().collect();
        let varying = || keys.iter().filter(|key| has_two_values(results, key)).cloned();
        let axis = varying().find(|key| !key.contains('.')).or_else(|| varying().next());
        let others = varying().filter(|key| Some(key) != axis.as_ref()).collect();
        let units = keys.iter().map(|key| unit(key)).collect();
        Self { keys, axis, others, units }
    }

    /// The runs by variant and by the values of the other keys, in order of appearance.
    pub fn series<'a>(&self, results: &'a Results) -> Vec<Series<'a>> {
        let mut all: Vec<Series<'a>> = Vec::new();
        for run in &results.runs {
            let fixed: Vec<(String, f64)> =
                self.others.iter().filter_map(|key| Some((key.clone(), *run.loads.get(key)?))).collect();
            match all.iter_mut().find(|s| s.variant == run.variant && s.fixed == fixed) {
                Some(series) => series.runs.push(run),
                None => all.push(Series { variant: &run.variant, fixed, runs: vec![run] }),
            }
        }
        for series in &mut all {
            series.runs.sort_by(|a, b| self.x(a).total_cmp(&self.x(b)));
        }
        all
    }

    /// Where a run stands on the axis.
    pub fn x(&self, run: &Run) -> f64 {
        self.axis.as_ref().and_then(|key| run.loads.get(key)).copied().unwrap_or(0.0)
    }
}

/// The unit of a key's values. A bare traffic name is swept in packets per second.
pub fn unit(key: &str) -> &'static str {
    const BY_SUFFIX: [(&str, &str); 6] =
        [("_pps", "pps"), ("_us", "us"), ("_ms", "ms"), ("_mhz", "MHz"), ("_mbps", "Mbit/s"), ("_bytes", "bytes")];
    match BY_SUFFIX.iter().find(|(suffix, _)| key.ends_with(suffix)) {
        Some((_, unit)) => unit,
        None if key.contains('.') => "",
        None => "pps",
    }
}

/// `flood 5,000 pps`.
pub fn named_value(key: &str, value: f64) -> String {
    let unit = unit(key);
    let gap = if unit.is_empty() { "" } else { " " };
    format!("{} {}{gap}{unit}", format::clean(key), format::load(value))
}

fn has_two_values(results: &Results, key: &str) -> bool {
    let mut values = results.runs.iter().filter_map(|run| run.loads.get(key));
    let first = values.next();
    values.any(|value| Some(value) != first)
}
