// SPDX-License-Identifier: Apache-2.0
//! `[modbus]`: which data point has which address.
//!
//! ```toml
//! [modbus]
//! port = 502                      # all of these may be left out
//! unit = 1                        # left out: any
//! connections = 8
//! idle_timeout_ms = 60000
//! watchdog_ms = 1000              # left out: outputs become safe when the connection is closed
//! low_word_first = false          # of values with 32 bits
//! discrete_inputs = ["door_closed"]
//! input_registers = ["temperature", { point = "pressure", address = 10 }]
//! coils = ["lamp"]
//! holding_registers = ["speed"]   # the next address: 0
//! ```

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::Points;
use super::error::{Error, Place};
use crate::application::image::Point;
use crate::protocol::Nanos;
use crate::protocol::modbus::Settings;
use crate::protocol::modbus::map::{Map, Unplaceable};

/// The Modbus/TCP server's part of a configuration.
#[derive(Clone, Debug)]
pub struct Modbus {
    /// The server.
    pub settings: Settings,
    /// Its data points.
    pub map: Map,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    port: Option<Spanned<u16>>,
    unit: Option<Spanned<u8>>,
    connections: Option<Spanned<usize>>,
    idle_timeout_ms: Option<Spanned<u64>>,
    watchdog_ms: Option<Spanned<u64>>,
    #[serde(default)]
    low_word_first: bool,
    #[serde(default)]
    discrete_inputs: Vec<Spanned<Entry>>,
    #[serde(default)]
    input_registers: Vec<Spanned<Entry>>,
    #[serde(default)]
    coils: Vec<Spanned<Entry>>,
    #[serde(default)]
    holding_registers: Vec<Spanned<Entry>>,
}

/// A data point at an address, or at the next.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a data point's name, or { point = \"pressure\", address = 10 }")]
enum Entry {
    Next(String),
    At { point: String, address: u16 },
}

impl Modbus {
    /// What outputs that belong to it are said to belong to.
    pub const NAME: &str = "modbus";

    pub(super) fn new(table: &Table, points: &Points, stale_after: Nanos, place: &Place) -> Result<Self, Error> {
        let mut map = Map::default();
        map.input_registers.low_word_first = table.low_word_first;
        map.holding_registers.low_word_first = table.low_word_first;
        let input = |name: &_| points.input(name, place);
        let output = |name: &_| points.output(name, Self::NAME, place);
        fill(&table.discrete_inputs, place, input, |point, at| map.discrete_inputs.place(point, at))?;
        fill(&table.input_registers, place, input, |point, at| map.input_registers.place(point, at))?;
        fill(&table.coils, place, output, |point, at| map.coils.place(point, at))?;
        fill(&table.holding_registers, place, output, |point, at| map.holding_registers.place(point, at))?;
        let number = |value: &Option<Spanned<u64>>, most: u64, name: &str| match value {
            Some(value) if !(1..=most).contains(value.get_ref()) => {
                Err(place.at(value, &format!("{name} = {}: it is from 1 to {most}", value.get_ref())))
            }
            value => Ok(value.as_ref().map(|value| *value.get_ref() * 1_000_000)),
        };
        let port = match &table.port {
            Some(port) if *port.get_ref() == 0 => return Err(place.at(port, "port = 0: Modbus/TCP's is 502")),
            port => port.as_ref().map_or(502, |port| *port.get_ref()),
        };
        let connections = match &table.connections {
            Some(count) if !(1..=64).contains(count.get_ref()) => {
                return Err(place.at(count, &format!("connections = {}: it is from 1 to 64", count.get_ref())));
            }
            count => count.as_ref().map_or(8, |count| *count.get_ref()),
        };
        let settings = Settings {
            port,
            connections,
            unit: table.unit.as_ref().map(|unit| *unit.get_ref()),
            idle_timeout: number(&table.idle_timeout_ms, 86_400_000, "idle_timeout_ms")?.unwrap_or(60_000_000_000),
            watchdog: number(&table.watchdog_ms, 600_000, "watchdog_ms")?,
            refresh: (stale_after / 4).max(1),
        };
        Ok(Self { settings, map })
    }
}

fn fill(
    entries: &[Spanned<Entry>],
    place: &Place,
    find: impl Fn(&Spanned<String>) -> Result<Point, Error>,
    mut put: impl FnMut(Point, Option<usize>) -> Result<usize, Unplaceable>,
) -> Result<(), Error> {
    let mut names: BTreeMap<usize, &str> = BTreeMap::new();
    for entry in entries {
        let (text, address) = match entry.get_ref() {
            Entry::Next(name) => (name, None),
            Entry::At { point, address } => (point, Some(usize::from(*address))),
        };
        let name = Spanned::new(entry.span(), text.clone());
        let point = find(&name)?;
        let at = put(point, address).map_err(|why| {
            let what = match why {
                Unplaceable::Taken(at) => {
                    let other = names.range(..=at).next_back().or(names.first_key_value());
                    let other = other.map_or("", |(_, name)| *name);
                    format!("\"{text}\" overlaps \"{other}\" at address {at}: give it another address")
                }
                Unplaceable::Beyond => format!("\"{text}\" would end behind address 65535, the last"),
                Unplaceable::NotABit => format!("\"{text}\" is no bool: it belongs into a table of registers"),
            };
            place.at(&name, &what)
        })?;
        names.insert(at, text.as_str());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::Configuration;

    const POINTS: &str = "device = { name = \"press\", interface = \"eth0\" }\n\
        inputs = { open = \"bool\", pressure = \"f32\", count = \"u16\" }\noutputs = { lamp = \"bool\", speed = \"i32\" }\n";

    fn parse(table: &str) -> Result<Configuration, String> {
        let parsed = Configuration::parse(&format!("{POINTS}[modbus]\n{table}"), Path::new("press.toml"));
        parsed.map_err(|error| error.to_string())
    }

    #[test]
    fn points_get_the_addresses_that_are_given_or_the_next() {
        let table = "input_registers = [{ point = \"pressure\", address = 4 }, \"count\"]\ncoils = [\"lamp\"]\n\
                     discrete_inputs = [\"open\"]\nholding_registers = [\"speed\"]\nwatchdog_ms = 250";
        let configuration = parse(table).unwrap();
        let modbus = configuration.modbus.as_ref().unwrap();
        assert!(modbus.map.input_registers.has(4, 3) && !modbus.map.input_registers.has(3, 1));
        assert!(modbus.map.coils.has(0, 1) && modbus.map.holding_registers.has(0, 2));
        assert_eq!((modbus.settings.port, modbus.settings.watchdog), (502, Some(250_000_000)));
        let description = configuration.description(&["profinet".into(), "modbus".into()]);
        assert_eq!(description.owners, [("lamp".to_owned(), 1), ("speed".to_owned(), 1)].into());
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (table, says) in [
            ("coils = [\"speed\"]", "5: \"speed\" is no bool: it belongs into a table of registers"),
            (
                "input_registers = [\"pressure\", { point = \"count\", address = 1 }]",
                "5: \"count\" overlaps \"pressure\" at address 1: give it another address",
            ),
            (
                "input_registers = [{ point = \"pressure\", address = 65535 }]",
                "5: \"pressure\" would end behind address 65535, the last",
            ),
            ("coils = [\"open\"]", "5: \"open\" is an input: PLCs write outputs"),
            ("coils = [\"lamp\"]\nholding_registers = [\"lamp\"]", "6: output \"lamp\" belongs to modbus: one PLC"),
            ("coils = [3]", "5: a data point's name, or { point"),
            ("port = 0", "5: port = 0: Modbus/TCP's is 502"),
            ("watchdog_ms = 0", "5: watchdog_ms = 0: it is from 1 to 600000"),
            ("connections = 65", "5: connections = 65: it is from 1 to 64"),
            ("unit = 256", "5: invalid value: integer `256`, expected u8"),
        ] {
            let error = parse(table).unwrap_err();
            assert!(error.starts_with(&format!("press.toml:{says}")), "{error}");
        }
    }
}
