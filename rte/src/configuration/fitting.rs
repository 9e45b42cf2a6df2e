// SPDX-License-Identifier: Apache-2.0
//! `[fitting]`: how the cycles come to their time.
//!
//! ```toml
//! [fitting]
//! policy = "auto"          # or "deadline", "fifo", "other"; auto: the best that is allowed
//! runtime_us = 300         # of a cyclic lane under "deadline"; left out: measured
//! cpu = "auto"             # or a number, or "any"; auto: an exclusive one if the kernel gives one
//! lock_memory = true       # left out: if it is allowed
//! address_changes = true   # whether PLCs may change the interface's address
//! tick_us = 500            # only to compare: looks at sockets and times so often, as stacks with a tick do
//! state = "/var/lib/weir-io/press-3"   # a folder for what must survive a restart
//! ```

use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

use super::error::{Error, Place};
use crate::protocol::Nanos;

/// A scheduling policy as it is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// The best that is allowed.
    #[default]
    Auto,
    /// `SCHED_DEADLINE`.
    Deadline,
    /// `SCHED_FIFO`.
    Fifo,
    /// `SCHED_OTHER`.
    Other,
}

/// A CPU as it is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cpu {
    /// An exclusive one if the kernel gives one.
    #[default]
    Auto,
    /// This one, exclusively.
    Number(usize),
    /// Whichever the kernel chooses.
    Any,
}

/// How the cycles come to their time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fitting {
    /// The policy of cyclic lanes.
    pub policy: Policy,
    /// Their runtime in each cycle under `SCHED_DEADLINE`, if it is not to be measured.
    pub runtime: Option<Nanos>,
    /// Where they run.
    pub cpu: Cpu,
    /// Whether memory is locked; if nothing is said, it is when that is allowed.
    pub lock_memory: Option<bool>,
    /// Whether somebody on the network may change the interface's address.
    pub address_changes: bool,
    /// How often cyclic lanes look at sockets and times, if it is not the event that drives them.
    pub tick: Option<Nanos>,
    /// The folder for what must survive a restart.
    pub state: PathBuf,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    #[serde(default)]
    policy: Policy,
    runtime_us: Option<Spanned<u64>>,
    cpu: Option<Spanned<toml::Value>>,
    lock_memory: Option<bool>,
    address_changes: Option<bool>,
    tick_us: Option<Spanned<u64>>,
    state: Option<PathBuf>,
}

impl Fitting {
    pub(super) fn new(table: &Table, device: &str, place: &Place) -> Result<Self, Error> {
        let runtime = match &table.runtime_us {
            Some(us) if !(10..=1_000_000).contains(us.get_ref()) => {
                return Err(place.at(us, "runtime_us is from 10 to 1000000, and at most the shortest cycle"));
            }
            Some(_) if !matches!(table.policy, Policy::Auto | Policy::Deadline) => {
                let us = table.runtime_us.as_ref().expect("it is there");
                return Err(place.at(us, "runtime_us is for policy = \"deadline\" or \"auto\""));
            }
            us => us.as_ref().map(|us| us.get_ref() * 1_000),
        };
        let cpu = match &table.cpu {
            None => Cpu::Auto,
            Some(value) => match value.get_ref() {
                toml::Value::String(text) if text == "auto" => Cpu::Auto,
                toml::Value::String(text) if text == "any" => Cpu::Any,
                toml::Value::Integer(number @ 0..1024) => Cpu::Number(*number as usize),
                _ => return Err(place.at(value, "cpu is a number, \"auto\" or \"any\"")),
            },
        };
        let tick = match &table.tick_us {
            Some(us) if !(50..=100_000).contains(us.get_ref()) => {
                return Err(place.at(us, "tick_us is from 50 to 100000; left out, the event drives the send"));
            }
            us => us.as_ref().map(|us| us.get_ref() * 1_000),
        };
        let usual = || Path::new("/var/lib/weir-io").join(device.replace('/', "-"));
        let beside = |path: &PathBuf| place.path.parent().unwrap_or(Path::new("")).join(path);
        Ok(Self {
            policy: table.policy,
            runtime,
            cpu,
            lock_memory: table.lock_memory,
            tick,
            address_changes: table.address_changes.unwrap_or(true),
            state: table.state.as_ref().map_or_else(usual, beside),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Configuration;
    use super::*;

    fn parse(table: &str) -> Result<Fitting, String> {
        let text = format!("device = {{ name = \"press\", interface = \"eth0\" }}\n[fitting]\n{table}");
        let parsed = Configuration::parse(&text, Path::new("etc/press.toml"));
        parsed.map(|configuration| configuration.fitting).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_left_out_is_decided_by_what_is_allowed() {
        let fitting = parse("").unwrap();
        assert_eq!((fitting.policy, fitting.cpu, fitting.lock_memory), (Policy::Auto, Cpu::Auto, None));
        assert!(fitting.address_changes);
        assert_eq!(fitting.state, Path::new("/var/lib/weir-io/press"));
    }

    #[test]
    fn what_is_said_is_kept() {
        let fitting = parse("policy = \"deadline\"\nruntime_us = 300\ncpu = 1\nstate = \"state\"").unwrap();
        assert_eq!((fitting.runtime, fitting.cpu), (Some(300_000), Cpu::Number(1)));
        assert_eq!(fitting.state, Path::new("etc/state"));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (table, says) in [
            ("runtime_us = 5", "etc/press.toml:3: runtime_us is from 10 to 1000000"),
            ("policy = \"fifo\"\nruntime_us = 300", "etc/press.toml:4: runtime_us is for policy = \"deadline\""),
            ("cpu = \"two\"", "etc/press.toml:3: cpu is a number, \"auto\" or \"any\""),
            ("policy = \"best\"", "etc/press.toml:3: unknown variant `best`"),
        ] {
            let error = parse(table).unwrap_err();
            assert!(error.starts_with(says), "{error}");
        }
    }
}
