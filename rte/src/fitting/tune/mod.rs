// SPDX-License-Identifier: Apache-2.0
//! What a machine offers for a cycle: tried, not assumed. Trials are done in threads and network namespaces of their
//! own, and change nothing.

mod interface;
mod network;
mod scheduling;

use std::fmt::Write;

use super::Error;
use crate::configuration::Configuration;

/// Whether something is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is.
    There,
    /// It is not, and that costs something.
    Missing,
    /// It could not be tried.
    Unknown,
}

/// What sets it up. Answers what was done.
type Apply = Box<dyn Fn() -> Result<String, Error> + Send>;

/// One thing.
pub struct Finding {
    /// What it is.
    pub what: &'static str,
    /// Whether it is there.
    pub state: State,
    /// What was found, in a few words.
    pub found: String,
    /// What its absence costs.
    pub costs: &'static str,
    /// The command that would set it up, or where to get it.
    pub command: String,
    /// What sets it up, if this program can.
    pub apply: Option<Apply>,
}

impl Finding {
    fn there(what: &'static str, found: impl Into<String>) -> Self {
        Self { what, state: State::There, found: found.into(), costs: "", command: String::new(), apply: None }
    }

    fn missing(what: &'static str, found: impl Into<String>, costs: &'static str, command: impl Into<String>) -> Self {
        let (found, command) = (found.into(), command.into());
        Self { what, state: State::Missing, found, costs, command, apply: None }
    }

    fn unknown(what: &'static str, found: impl Into<String>, command: impl Into<String>) -> Self {
        let (found, command) = (found.into(), command.into());
        Self { what, state: State::Unknown, found, costs: "", command, apply: None }
    }
}

/// Everything that can be found out; about an interface only if a configuration names one.
pub fn findings(configuration: Option<&Configuration>) -> Vec<Finding> {
    let mut all = scheduling::findings();
    all.extend(network::findings());
    if let Some(configuration) = configuration {
        all.extend(interface::findings(&configuration.device.interface));
    }
    all
}

/// The findings as a table, with what is missing explained below it.
pub fn table(findings: &[Finding]) -> String {
    let width = findings.iter().map(|finding| finding.what.len()).max().unwrap_or(0);
    let mut text = String::new();
    for Finding { what, state, found, costs, command, .. } in findings {
        let state = match state {
            State::There => "yes",
            State::Missing => "no",
            State::Unknown => "?",
        };
        let _ = writeln!(text, "{what:width$}  {state:3}  {found}");
        for (label, line) in [("costs", *costs), ("way", command)] {
            if !line.is_empty() {
                let _ = writeln!(text, "{:width$}       {label}: {line}", "");
            }
        }
    }
    text
}

/// Sets up what can be; answers a line for each.
pub fn apply(findings: &[Finding]) -> Vec<String> {
    let missing = findings.iter().filter(|finding| finding.state == State::Missing);
    let lines = missing.filter_map(|finding| {
        let apply = finding.apply.as_ref()?;
        Some(
            apply()
                .map_or_else(|error| format!("{}: {error}", finding.what), |done| format!("{}: {done}", finding.what)),
        )
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_findings_and_each_that_is_missing_says_what_it_costs_and_the_way() {
        let findings = findings(None);
        assert!(findings.len() >= 10);
        for finding in &findings {
            assert!(!finding.found.is_empty(), "{}", finding.what);
            let is_explained = !finding.costs.is_empty() && !finding.command.is_empty();
            assert!(finding.state != State::Missing || is_explained, "{}", finding.what);
        }
        assert!(table(&findings).lines().count() >= findings.len());
    }

    #[test]
    fn only_what_is_missing_is_set_up() {
        let done = || -> Option<Apply> { Some(Box::new(|| Ok("done".to_owned()))) };
        let findings = [
            Finding { apply: done(), ..Finding::there("one", "here") },
            Finding { apply: done(), ..Finding::missing("two", "away", "time", "make it") },
            Finding::missing("three", "away", "time", "buy it"),
        ];
        assert_eq!(apply(&findings), ["two: done"]);
        assert_eq!(table(&findings).lines().nth(1), Some("two    no   away"));
    }
}
