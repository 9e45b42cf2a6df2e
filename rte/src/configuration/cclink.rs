// SPDX-License-Identifier: Apache-2.0
//! `[[cclink]]`: a slave of CC-Link IE Field Basic. There may be several, each for a master of its own.
//!
//! ```toml
//! [[cclink]]
//! vendor = 0x1234                  # the maker's number at the CLPA
//! model = 0x00010001               # the maker's number of the device
//! equipment_version = 1            # its version
//! rx = ["door_closed"]             # inputs that are bits, in their order …
//! rwr = ["temperature"]            # … inputs that are words …
//! ry = ["lamp"]                    # … outputs that are bits …
//! rww = [{ point = "speed", at = 4 }] # … and words; at = 4 is RWw4
//! stations = 2                     # left out: as many as the points need
//! version = 2                      # of the protocol: 1 or 2
//! set_address = true               # a master may set the interface's address; left out: it may not
//! on_master_stop = "safe"          # outputs while the master is stopped: safe, hold, or pass (what it sends)
//! on_application_stop = "report"   # report: the last inputs and an error code; disconnect: no data at all
//! application_error = 0x0001       # that error code
//! cycle_ms = 1                     # the shortest cycle that is expected of the master
//! ```
//!
//! A second slave has a name and an address of its own, for the protocol has one port number for all: `name = "packer"`,
//! `address = "192.168.3.21/24"`.

use serde::Deserialize;
use toml::Spanned;

use super::error::{Error, Place};
use super::points::Points;
use super::{Device, parse_address};
use crate::application::image::{Point, Type};
use crate::application::layout::{Layout, Order};
pub use crate::protocol::cclink::cspp::Placed;
use crate::protocol::cclink::cspp::{self, Areas};
use crate::protocol::cclink::slave::{ApplicationStop, MasterStop, Settings};
use crate::protocol::cclink::{Identity, STATION_BITS, STATION_WORDS, STATIONS_PER_GROUP_MAX};
use crate::protocol::{Address, Nanos};

/// A slave as it is configured.
#[derive(Clone, Debug)]
pub struct Cclink {
    /// What it is called: "cclink" unless it has a name. Its outputs' owner.
    pub name: String,
    /// Its own address, if it is not the interface's.
    pub address: Option<Address>,
    /// What the slave is told.
    pub settings: Settings,
    /// Inputs that are bits, and where.
    pub rx: Vec<Placed>,
    /// Inputs that are words, and where.
    pub rwr: Vec<Placed>,
    /// Outputs that are bits, and where.
    pub ry: Vec<Placed>,
    /// Outputs that are words, and where.
    pub rww: Vec<Placed>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    name: Option<Spanned<String>>,
    vendor: Spanned<u16>,
    model: u32,
    #[serde(default = "one")]
    equipment_version: u16,
    version: Option<Spanned<u16>>,
    stations: Option<Spanned<usize>>,
    #[serde(default)]
    rx: Vec<Spanned<Entry>>,
    #[serde(default)]
    rwr: Vec<Spanned<Entry>>,
    #[serde(default)]
    ry: Vec<Spanned<Entry>>,
    #[serde(default)]
    rww: Vec<Spanned<Entry>>,
    #[serde(default)]
    set_address: bool,
    #[serde(default)]
    on_master_stop: MasterStop,
    #[serde(default)]
    on_application_stop: ApplicationStop,
    application_error: Option<Spanned<u16>>,
    cycle_ms: Option<Spanned<u64>>,
    address: Option<Spanned<String>>,
}

fn one() -> u16 {
    1
}

/// A data point of a list: its name, or where it is to be, too.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a data point's name, or { point = \"speed\", at = 4 }")]
enum Entry {
    Name(String),
    At { point: String, at: usize },
}

/// One of the four areas.
struct Area<'a> {
    name: &'static str,
    words: bool,
    place: &'a Place<'a>,
    layout: Layout,
    placed: Vec<Placed>,
    /// Which data point each bit or word has.
    taken: Vec<Option<String>>,
}

impl<'a> Area<'a> {
    fn new(
        name: &'static str,
        entries: &[Spanned<Entry>],
        place: &'a Place<'a>,
        find: impl Fn(&Spanned<String>) -> Result<Point, Error>,
    ) -> Result<Self, Error> {
        let words = name.starts_with("RW");
        let mut this =
            Self { name, words, place, layout: Layout::new(Order::Little), placed: Vec::new(), taken: Vec::new() };
        for entry in entries {
            let (name, at) = match entry.get_ref() {
                Entry::Name(point) => (point, this.taken.len()),
                Entry::At { point, at } => (point, *at),
            };
            let name = Spanned::new(entry.span(), name.clone());
            let point = find(&name)?;
            this.add(&name, at, point)?;
        }
        Ok(this)
    }

    /// Bits or words of a station.
    fn station(&self) -> usize {
        if self.words { STATION_WORDS } else { STATION_BITS }
    }

    fn add(&mut self, named: &Spanned<String>, at: usize, point: Point) -> Result<(), Error> {
        let (name, area) = (named.get_ref(), self.name);
        let count = match (self.words, point.kind) {
            (false, Type::Bool) => 1,
            (true, Type::U16 | Type::I16) => 1,
            (true, Type::U32 | Type::I32 | Type::F32) => 2,
            (false, _) => {
                let words = if area == "RX" { "rwr" } else { "rww" };
                let what = format!("{area} has bits, and \"{name}\" is no bool: name it in {words}");
                return Err(self.place.at(named, &what));
            }
            (true, Type::Bool) => {
                let bits = if area == "RWr" { "rx" } else { "ry" };
                let what = format!("{area} has words, and \"{name}\" is a bool: name it in {bits}");
                return Err(self.place.at(named, &what));
            }
            (true, Type::U8 | Type::I8) => {
                let what = format!("{area} has words of 16 bits, and \"{name}\" has 8: make it u16 or i16");
                return Err(self.place.at(named, &what));
            }
        };
        let most = self.station() * STATIONS_PER_GROUP_MAX;
        if at.saturating_add(count) > most {
            let what = format!("\"{name}\" lies behind {area}{:X}, the last one of 16 stations", most - 1);
            return Err(self.place.at(named, &what));
        }
        self.taken.resize(self.taken.len().max(at + count), None);
        if let Some(other) = self.taken[at..at + count].iter().flatten().next() {
            let what = format!("\"{name}\" at {area}{at:X} overlaps \"{other}\": leave at out, or choose another");
            return Err(self.place.at(named, &what));
        }
        self.taken[at..at + count].fill(Some(name.clone()));
        self.layout.push_at(point, if self.words { 16 * at } else { at });
        self.placed.push(Placed { name: name.clone(), kind: point.kind, at });
        Ok(())
    }

    fn stations(&self) -> usize {
        self.taken.len().div_ceil(self.station())
    }
}

impl Table {
    fn check(&self, place: &Place) -> Result<(), Error> {
        if let Some(version) = self.version.as_ref().filter(|version| !(1..=2).contains(version.get_ref())) {
            return Err(place.at(version, "the protocol's version is 1 or 2"));
        }
        if let Some(error) = &self.application_error {
            match error.get_ref() {
                0 => return Err(place.at(error, "an error code of 0 says that there is none: use another")),
                0xC000..=0xCFFF => {
                    return Err(place.at(error, "0xC000 to 0xCFFF are the protocol's own error codes: use another"));
                }
                _ => {}
            }
        }
        if let Some(cycle) = self.cycle_ms.as_ref().filter(|cycle| !(1..=2000).contains(cycle.get_ref())) {
            return Err(place.at(cycle, "a master's cycle is 1 to 2000 ms"));
        }
        Ok(())
    }

    fn name(&self, place: &Place) -> Result<String, Error> {
        let Some(name) = &self.name else { return Ok("cclink".to_owned()) };
        let text = name.get_ref();
        let is_good = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if text.is_empty() || text.len() > 32 || !text.chars().all(is_good) {
            return Err(place.at(name, "a slave's name has letters, digits, - and _, at most 32"));
        }
        Ok(text.clone())
    }

    fn stations(&self, areas: &[Area<'_>; 4], place: &Place) -> Result<usize, Error> {
        let needed = areas.iter().map(Area::stations).max().unwrap_or(0);
        if needed == 0 {
            return Err(place.at(&self.vendor, "this slave has no points: name some in rx, rwr, ry or rww"));
        }
        let Some(stations) = &self.stations else { return Ok(needed) };
        let count = *stations.get_ref();
        if !(1..=STATIONS_PER_GROUP_MAX).contains(&count) {
            return Err(place.at(stations, "a slave has 1 to 16 stations"));
        }
        if let Some(area) = areas.iter().find(|area| area.stations() > count) {
            let (name, has, unit) = (area.name, area.taken.len(), if area.words { "words" } else { "bits" });
            let (most, needs) = (area.station() * count, area.stations());
            let what = format!("{name} has {has} {unit}, {most} are in {count}: stations = {needs}, or leave it out");
            return Err(place.at(stations, &what));
        }
        Ok(count)
    }
}

impl Cclink {
    fn new(table: &Table, points: &Points, place: &Place) -> Result<Self, Error> {
        table.check(place)?;
        let name = table.name(place)?;
        let input = |point: &Spanned<String>| points.input(point, place);
        let output = |point: &Spanned<String>| points.output(point, &name, place);
        let areas = [
            Area::new("RX", &table.rx, place, input)?,
            Area::new("RWr", &table.rwr, place, input)?,
            Area::new("RY", &table.ry, place, output)?,
            Area::new("RWw", &table.rww, place, output)?,
        ];
        let stations = table.stations(&areas, place)?;
        let address = table.address.as_ref().map(|text| parse_address(text, None, place)).transpose()?;
        if let Some(text) = table.address.as_ref().filter(|_| table.set_address) {
            return Err(place.at(text, "an address of its own is not set by masters: leave set_address out"));
        }
        let [rx, rwr, ry, rww] = areas;
        let settings = Settings {
            name: name.clone(),
            identity: Identity {
                vendor: *table.vendor.get_ref(),
                model: table.model,
                equipment_version: table.equipment_version,
            },
            version: table.version.as_ref().map_or(2, |version| *version.get_ref()),
            stations,
            rx: rx.layout,
            rwr: rwr.layout,
            ry: ry.layout,
            rww: rww.layout,
            application_stop: table.on_application_stop,
            application_error: table.application_error.as_ref().map_or(1, |error| *error.get_ref()),
            master_stop: table.on_master_stop,
            may_set_address: table.set_address,
            cycle: table.cycle_ms.as_ref().map_or(1, |cycle| *cycle.get_ref()) * 1_000_000 as Nanos,
        };
        Ok(Self { name, address, settings, rx: rx.placed, rwr: rwr.placed, ry: ry.placed, rww: rww.placed })
    }

    /// The slave's CSP+ description. `device` is what the device is called; `date` is year, month and day.
    pub fn describe(&self, device: &str, date: (u16, u8, u8)) -> String {
        let areas = Areas { rx: &self.rx, ry: &self.ry, rwr: &self.rwr, rww: &self.rww };
        cspp::describe(device, &self.settings, areas, date)
    }

    pub(super) fn all(
        tables: &[Spanned<Table>],
        device: &Device,
        points: &Points,
        place: &Place,
    ) -> Result<Vec<Self>, Error> {
        let mut all: Vec<Self> = Vec::new();
        for table in tables {
            let one = Self::new(table.get_ref(), points, place)?;
            if all.iter().any(|other| other.name == one.name) {
                let what = format!("there is a slave called \"{}\" already: name = \"…\" gives it another", one.name);
                return Err(place.at(table, &what));
            }
            let taken = |address: Option<Address>| {
                all.iter().any(|other| other.address.map(|other| other.ip) == address.map(|own| own.ip))
            };
            let is_devices = one.address.is_some() && one.address.map(|own| own.ip) == device.address.map(|own| own.ip);
            if is_devices || taken(one.address) {
                let what = "slaves of one port number need an address each: address = \"192.168.3.21/24\"";
                return Err(place.at(table, what));
            }
            all.push(one);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::Configuration;
    use super::*;

    const BEGINNING: &str = r#"
[device]
name = "press"
interface = "eth0"
address = "192.168.3.20/24"
[inputs]
a = "bool"
b = "bool"
t = "i16"
f = "f32"
small = "u8"
[outputs]
lamp = "bool"
speed = "u16"
"#;

    fn parse(table: &str) -> Result<Vec<Cclink>, String> {
        let text = format!("{BEGINNING}{table}");
        let configuration = Configuration::parse(&text, Path::new("press.toml"));
        configuration.map(|configuration| configuration.cclink).map_err(|error| error.to_string())
    }

    #[test]
    fn points_lie_in_their_order_or_where_they_are_told_to() {
        let all = parse(
            "[[cclink]]\nvendor = 0x1234\nmodel = 1\nrx = [\"a\", { point = \"b\", at = 70 }]\n\
             rwr = [\"t\", \"f\"]\nry = [\"lamp\"]\nrww = [{ point = \"speed\", at = 4 }]",
        );
        let one = &all.unwrap()[0];
        let at = |placed: &[Placed]| placed.iter().map(|placed| placed.at).collect::<Vec<_>>();
        assert_eq!([at(&one.rx), at(&one.rwr), at(&one.ry), at(&one.rww)], [vec![0, 70], vec![0, 1], vec![0], vec![4]]);
        assert_eq!((one.settings.stations, one.settings.version), (2, 2));
        assert_eq!(one.settings.rww.bytes(), 10);
        assert!(!one.settings.may_set_address);
    }

    #[test]
    fn every_wrong_configuration_gets_its_line() {
        let start = "[[cclink]]\nvendor = 1\nmodel = 1\n";
        let cases = [
            ("", "this slave has no points: name some in rx, rwr, ry or rww", 16),
            ("rx = [\"t\"]", "RX has bits, and \"t\" is no bool: name it in rwr", 18),
            ("rww = [\"lamp\"]", "RWw has words, and \"lamp\" is a bool: name it in ry", 18),
            ("rwr = [\"small\"]", "RWr has words of 16 bits, and \"small\" has 8: make it u16 or i16", 18),
            ("rx = [\"lamp\"]", "\"lamp\" is an output: PLCs read inputs", 18),
            ("ry = [\"nothing\"]", "\"nothing\" is not in [outputs]: PLCs write outputs", 18),
            (
                "rwr = [\"f\", { point = \"t\", at = 1 }]",
                "\"t\" at RWr1 overlaps \"f\": leave at out, or choose another",
                18,
            ),
            ("rwr = [{ point = \"f\", at = 511 }]", "\"f\" lies behind RWr1FF, the last one of 16 stations", 18),
            (
                "rx = [{ point = \"a\", at = 64 }]\nstations = 1",
                "RX has 65 bits, 64 are in 1: stations = 2, or leave it out",
                19,
            ),
            ("rx = [\"a\"]\nstations = 17", "a slave has 1 to 16 stations", 19),
            ("rx = [\"a\"]\nversion = 3", "the protocol's version is 1 or 2", 19),
            (
                "rx = [\"a\"]\napplication_error = 0xC123",
                "0xC000 to 0xCFFF are the protocol's own error codes: use another",
                19,
            ),
            ("rx = [\"a\"]\ncycle_ms = 0", "a master's cycle is 1 to 2000 ms", 19),
            ("rx = [\"a\"]\nname = \"a b\"", "a slave's name has letters, digits, - and _, at most 32", 19),
            (
                "rx = [\"a\"]\nset_address = true\naddress = \"192.168.3.21/24\"",
                "an address of its own is not set by masters: leave set_address out",
                20,
            ),
        ];
        for (text, what, line) in cases {
            assert_eq!(parse(&format!("{start}{text}")).unwrap_err(), format!("press.toml:{line}: {what}"));
        }
    }

    #[test]
    fn a_second_slave_has_its_own_name_and_address() {
        let one = "[[cclink]]\nvendor = 1\nmodel = 1\nrx = [\"a\"]\n";
        let same = parse(&format!("{one}{one}")).unwrap_err();
        assert!(same.contains("there is a slave called \"cclink\" already"), "{same}");
        let named = parse(&format!("{one}{one}name = \"packer\"")).unwrap_err();
        assert!(named.contains("need an address each"), "{named}");
        let own = parse(&format!("{one}{one}name = \"packer\"\naddress = \"192.168.3.20/24\"")).unwrap_err();
        assert!(own.contains("need an address each"), "{own}");
        assert_eq!(parse(&format!("{one}{one}name = \"packer\"\naddress = \"192.168.3.21/24\"")).unwrap().len(), 2);
    }

    #[test]
    fn the_description_says_where_each_point_lies() {
        let all = parse(
            "[[cclink]]\nvendor = 0x1234\nmodel = 1\nrx = [{ point = \"b\", at = 26 }]\nrwr = [\"t\", \"f\"]\nry = [\"lamp\"]",
        );
        let one = &all.unwrap()[0];
        let text = one.describe("press <3>", (2026, 1, 31));
        for expected in [
            "<ELEMENT LABEL=\"b\" DATATYPE=\"BOOL\" ASSIGN=\"RX1A\"/>",
            "<ELEMENT LABEL=\"f\" DATATYPE=\"REAL\" ASSIGN=\"RWr1\"/>",
            "<ELEMENT LABEL=\"lamp\" DATATYPE=\"BOOL\" ASSIGN=\"RY0\"/>",
            "<ELEMENT LABEL=\"VendorCode\" DATATYPE=\"WORD\" DATA=\"0x1234\"/>",
            "<ELEMENT LABEL=\"OccupiedStations\" DATATYPE=\"WORD\" DATA=\"1\"/>",
            "DATA=\"press &lt;3&gt;\"",
            "DATA=\"2026-01-31\"",
            "Not checked by CLPA's CSP+ tool",
        ] {
            assert!(text.contains(expected), "{expected} is not in\n{text}");
        }
        assert!(!text.contains("COMM_IF_RWW"));
    }
}
