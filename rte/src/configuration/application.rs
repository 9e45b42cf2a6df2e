// SPDX-License-Identifier: Apache-2.0
//! `[application]`: where the application's memory lies, and the application itself if it is a plug-in.
//!
//! ```toml
//! [application]
//! memory = "/dev/shm/press-3"     # left out: /dev/shm/weir-io-NAME
//! stale_after_ms = 100            # inputs that are older are not good: the application is gone
//! outputs_stale_after_ms = 3000   # outputs that are older are not believed: longer than the slowest PLC's cycle
//! plugin = "libpress.so"          # beside this file; left out: a program of its own uses the memory
//! cycle_ms = 10                   # how often the plug-in is called
//! ```

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

use super::error::{Error, Place};
use crate::protocol::Nanos;

/// The application's part of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Application {
    /// The file of the memory.
    pub memory: PathBuf,
    /// Inputs that are older are not good.
    pub stale_after: Nanos,
    /// Outputs that are older are not believed.
    pub outputs_stale_after: Nanos,
    /// The application, if it is a plug-in.
    pub plugin: Option<Plugin>,
}

/// An application that is a shared library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plugin {
    /// The library.
    pub library: PathBuf,
    /// How often it is called.
    pub cycle: Duration,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    memory: Option<Spanned<PathBuf>>,
    stale_after_ms: Option<Spanned<u64>>,
    outputs_stale_after_ms: Option<Spanned<u64>>,
    plugin: Option<Spanned<PathBuf>>,
    cycle_ms: Option<Spanned<u64>>,
}

impl Application {
    pub(super) fn new(table: &Table, device: &str, place: &Place) -> Result<Self, Error> {
        let beside = |path: &Path| place.path.parent().unwrap_or(Path::new("")).join(path);
        let memory = match &table.memory {
            Some(path) if path.get_ref().file_name().is_none() => {
                return Err(place.at(path, "memory is a file's path, such as \"/dev/shm/press-3\""));
            }
            Some(path) => beside(path.get_ref()),
            None => Path::new("/dev/shm").join(format!("weir-io-{}", device.replace('/', "-"))),
        };
        let plugin = match (&table.plugin, &table.cycle_ms) {
            (None, None) => None,
            (None, Some(cycle)) => return Err(place.at(cycle, "there is a cycle_ms, but no plugin = \"lib….so\"")),
            (Some(library), cycle) => {
                let cycle = millis(cycle.as_ref(), 10, 10_000, place, "cycle_ms")?;
                Some(Plugin { library: beside(library.get_ref()), cycle: Duration::from_nanos(cycle) })
            }
        };
        let stale_after = millis(table.stale_after_ms.as_ref(), 100, 60_000, place, "stale_after_ms")?;
        if let (Some(plugin), Some(value)) = (&plugin, table.stale_after_ms.as_ref().or(table.cycle_ms.as_ref()))
            && plugin.cycle.as_nanos() >= u128::from(stale_after)
        {
            let what = format!(
                "the plug-in's inputs would be stale before its next cycle: stale_after_ms is {}, and \
                                 must be more than cycle_ms",
                stale_after / 1_000_000
            );
            return Err(place.at(value, &what));
        }
        let of = table.outputs_stale_after_ms.as_ref();
        let outputs_stale_after = millis(of, 3_000, 600_000, place, "outputs_stale_after_ms")?;
        Ok(Self { memory, stale_after, outputs_stale_after, plugin })
    }
}

/// A number of milliseconds from 1 to `most`.
fn millis(value: Option<&Spanned<u64>>, usual: u64, most: u64, place: &Place, name: &str) -> Result<Nanos, Error> {
    let Some(value) = value else { return Ok(usual * 1_000_000) };
    match *value.get_ref() {
        ms if (1..=most).contains(&ms) => Ok(ms * 1_000_000),
        ms => Err(place.at(value, &format!("{name} = {ms}: it is a number of milliseconds from 1 to {most}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Configuration;
    use super::*;

    fn parse(table: &str) -> Result<Application, String> {
        let text = format!("device = {{ name = \"press\", interface = \"eth0\" }}\n[application]\n{table}");
        let parsed = Configuration::parse(&text, Path::new("etc/press.toml"));
        parsed.map(|configuration| configuration.application).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_left_out_has_a_usual_value() {
        let application = parse("").unwrap();
        assert_eq!(application.memory, Path::new("/dev/shm/weir-io-press"));
        assert_eq!((application.stale_after, application.plugin), (100_000_000, None));
        let plugin = parse("plugin = \"libpress.so\"").unwrap().plugin.unwrap();
        assert_eq!((plugin.library.to_str(), plugin.cycle), (Some("etc/libpress.so"), Duration::from_millis(10)));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (table, says) in [
            ("memory = \"/\"", "etc/press.toml:3: memory is a file's path"),
            ("cycle_ms = 5", "etc/press.toml:3: there is a cycle_ms, but no plugin"),
            ("stale_after_ms = 0", "etc/press.toml:3: stale_after_ms = 0: it is a number of milliseconds from 1 to"),
            ("plugin = \"a\"\ncycle_ms = 100", "etc/press.toml:4: the plug-in's inputs would be stale"),
            ("cycle = 5", "etc/press.toml:3: unknown field `cycle`"),
        ] {
            let error = parse(table).unwrap_err();
            assert!(error.starts_with(says), "{error}");
        }
    }
}
