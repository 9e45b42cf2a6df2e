// SPDX-License-Identifier: Apache-2.0
//! The table of the PROFINET device.
//!
//! ```toml
//! [profinet]
//! station = "press-3"          # left out: it has no name until a controller or a tool gives it one
//! vendor_id = 0x0493
//! device_id = 0x0002
//! vendor = "Example"
//! product = "Press"
//! order = "12345"
//! serial = "007"
//! cycle_min_us = 1000          # the shortest cycle that a controller may ask for: 250, 500, 1000, 2000 …
//! connections = 1              # how many controllers at once
//!
//! [[profinet.module]]
//! slot = 1
//! ident = 0x32
//! name = "Press"
//!
//! [[profinet.module.submodule]]
//! subslot = 1                  # left out: 1
//! ident = 0x132
//! inputs = ["temperature", "door_closed"]
//! outputs = ["speed"]
//! records = [{ index = 123, name = "gain", bytes = 4 }]
//! ```

use std::collections::BTreeSet;

use serde::Deserialize;
use toml::Spanned;

use super::points::Points;
use super::{Error, Place};
use crate::application::layout::{Layout, Order};
use crate::protocol::profinet::model::{ACCESS_POINT, Data, INTERFACE, Model, Module, PORT, Record, Submodule};
use crate::protocol::profinet::name::StationName;

/// What it is called where an output's owner is named.
pub const NAME: &str = "profinet";
/// Bytes of data and statuses in a frame.
const FRAME_BYTES_MAX: usize = 1440;
/// Controllers at once.
const CONNECTIONS_MAX: usize = 4;
const RECORDS_MAX: usize = 64;
const RECORD_BYTES_MAX: usize = 4096;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    station: Option<Spanned<String>>,
    vendor_id: Spanned<u16>,
    device_id: Spanned<u16>,
    #[serde(default = "vendor")]
    vendor: Spanned<String>,
    #[serde(default = "product")]
    product: Spanned<String>,
    order: Option<Spanned<String>>,
    serial: Option<Spanned<String>>,
    #[serde(default)]
    hardware: u16,
    cycle_min_us: Option<Spanned<u64>>,
    connections: Option<Spanned<usize>>,
    #[serde(default)]
    module: Vec<ModuleTable>,
}

fn vendor() -> Spanned<String> {
    Spanned::new(0..0, "Weir".to_owned())
}

fn product() -> Spanned<String> {
    Spanned::new(0..0, "Weir I/O".to_owned())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModuleTable {
    slot: Spanned<u16>,
    ident: Spanned<u32>,
    name: Spanned<String>,
    #[serde(default)]
    submodule: Vec<SubmoduleTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SubmoduleTable {
    subslot: Option<Spanned<u16>>,
    ident: Spanned<u32>,
    name: Option<String>,
    #[serde(default)]
    inputs: Vec<Spanned<String>>,
    #[serde(default)]
    outputs: Vec<Spanned<String>>,
    #[serde(default)]
    records: Vec<RecordTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordTable {
    index: Spanned<u16>,
    name: String,
    bytes: Spanned<usize>,
}

impl Table {
    /// The device that the table describes.
    pub(super) fn model(&self, points: &Points, place: &Place) -> Result<Model, Error> {
        if let Some(station) = &self.station {
            StationName::new(station.get_ref().as_bytes()).map_err(|what| place.at(station, what))?;
        }
        for (id, what) in [
            (&self.vendor_id, "vendor_id is PI's number of the vendor: not 0"),
            (&self.device_id, "device_id is not 0"),
        ] {
            if *id.get_ref() == 0 {
                return Err(place.at(id, what));
            }
        }
        let short = |text: &Option<Spanned<String>>, most: usize, default: &str| match text {
            None => Ok(default.to_owned()),
            Some(text) if is_visible(text.get_ref(), most) => Ok(text.get_ref().clone()),
            Some(text) => {
                Err(place.at(text, &format!("this text has 1 to {most} visible ASCII characters: no umlauts")))
            }
        };
        for text in [&self.vendor, &self.product] {
            if !is_visible(text.get_ref(), 60) {
                return Err(place.at(text, "this text has 1 to 60 visible ASCII characters: no umlauts"));
            }
        }
        Ok(Model {
            station: self.station.as_ref().map_or_else(String::new, |name| name.get_ref().clone()),
            vendor_id: *self.vendor_id.get_ref(),
            device_id: *self.device_id.get_ref(),
            vendor: self.vendor.get_ref().clone(),
            product: self.product.get_ref().clone(),
            order: short(&self.order, 20, "1")?,
            serial: short(&self.serial, 16, "1")?,
            hardware: self.hardware,
            software: software(),
            interval_min: self.interval_min(place)?,
            connections: self.connections(place)?,
            modules: self.modules(points, place)?,
        })
    }

    fn interval_min(&self, place: &Place) -> Result<u16, Error> {
        let Some(cycle) = &self.cycle_min_us else { return Ok(32) };
        // In 31.25 us, of which a millisecond has 32.
        let clocks = cycle.get_ref().saturating_mul(4) / 125;
        if cycle.get_ref().saturating_mul(4) % 125 == 0 && clocks.is_power_of_two() && (8..=16_384).contains(&clocks) {
            return Ok(clocks as u16);
        }
        Err(place.at(cycle, "cycle_min_us is one of 250, 500, 1000, 2000, 4000 … 512000"))
    }

    fn connections(&self, place: &Place) -> Result<usize, Error> {
        let Some(connections) = &self.connections else { return Ok(1) };
        if (1..=CONNECTIONS_MAX).contains(connections.get_ref()) {
            return Ok(*connections.get_ref());
        }
        Err(place.at(connections, &format!("1 to {CONNECTIONS_MAX} controllers can be connected at once")))
    }

    fn modules(&self, points: &Points, place: &Place) -> Result<Vec<Module>, Error> {
        let mut modules = vec![access_point()];
        let mut slots = BTreeSet::from([0]);
        // A frame of inputs also has the status of the access point's three submodules; one of outputs theirs back.
        let (mut inputs, mut outputs) = (3, 3);
        for table in &self.module {
            let slot = *table.slot.get_ref();
            if slot == 0 || slot > 0x7fff {
                return Err(place.at(&table.slot, "slot 0 is the device itself: modules are in 1 to 32767"));
            }
            if !slots.insert(slot) {
                return Err(place.at(&table.slot, &format!("there is a module in slot {slot} already")));
            }
            let module = module(table, points, place)?;
            for submodule in &module.submodules {
                let (to, from) = (submodule.inputs.bytes(), submodule.outputs.bytes());
                let sides = (usize::from(to > 0 || from == 0), usize::from(from > 0));
                inputs += to + sides.0 + sides.1;
                outputs += from + sides.0 + sides.1;
            }
            for (bytes, what) in [(inputs, "inputs"), (outputs, "outputs")] {
                if bytes > FRAME_BYTES_MAX {
                    let what = format!(
                        "with this module {what} and their statuses have {bytes} bytes: a frame takes {FRAME_BYTES_MAX}"
                    );
                    return Err(place.at(&table.slot, &what));
                }
            }
            modules.push(module);
        }
        Ok(modules)
    }
}

fn is_visible(text: &str, most: usize) -> bool {
    (1..=most).contains(&text.len()) && text.bytes().all(|byte| (0x20..0x7f).contains(&byte))
}

/// The version of this program.
fn software() -> [u8; 3] {
    let part = |text: &str| text.parse().unwrap_or(0);
    [
        part(env!("CARGO_PKG_VERSION_MAJOR")),
        part(env!("CARGO_PKG_VERSION_MINOR")),
        part(env!("CARGO_PKG_VERSION_PATCH")),
    ]
}

fn access_point() -> Module {
    let submodule = |subslot: u16, name: &str| Submodule {
        subslot,
        ident: u32::from(subslot),
        name: name.to_owned(),
        inputs: Data { layout: Layout::new(Order::Big), names: Vec::new() },
        outputs: Data { layout: Layout::new(Order::Big), names: Vec::new() },
        records: Vec::new(),
    };
    let submodules =
        vec![submodule(ACCESS_POINT, "Device"), submodule(INTERFACE, "Interface"), submodule(PORT, "Port 1")];
    Module { slot: 0, ident: 1, name: "Device".to_owned(), submodules }
}

fn module(table: &ModuleTable, points: &Points, place: &Place) -> Result<Module, Error> {
    if *table.ident.get_ref() == 0 {
        return Err(place.at(&table.ident, "ident 0 says that nothing is plugged: take another"));
    }
    if table.submodule.is_empty() {
        return Err(place.at(&table.slot, "a module has at least one [[profinet.module.submodule]] below it"));
    }
    let mut submodules: Vec<Submodule> = Vec::new();
    for submodule in &table.submodule {
        let subslot = submodule.subslot.as_ref().map_or(1, |subslot| *subslot.get_ref());
        let at = submodule.subslot.as_ref().map_or(submodule.ident.span(), Spanned::span);
        let at = Spanned::new(at, ());
        if subslot == 0 || subslot > 0x7fff {
            return Err(place.at(&at, "subslots are 1 to 32767"));
        }
        if submodules.iter().any(|other| other.subslot == subslot) {
            return Err(place.at(&at, &format!("there is a submodule in subslot {subslot} already")));
        }
        if *submodule.ident.get_ref() == 0 {
            return Err(place.at(&submodule.ident, "ident 0 says that nothing is plugged: take another"));
        }
        submodules.push(Submodule {
            subslot,
            ident: *submodule.ident.get_ref(),
            name: submodule.name.clone().unwrap_or_else(|| table.name.get_ref().clone()),
            inputs: data(&submodule.inputs, |name| points.input(name, place))?,
            outputs: data(&submodule.outputs, |name| points.output(name, NAME, place))?,
            records: records(&submodule.records, place)?,
        });
    }
    Ok(Module {
        slot: *table.slot.get_ref(),
        ident: *table.ident.get_ref(),
        name: table.name.get_ref().clone(),
        submodules,
    })
}

fn data(
    names: &[Spanned<String>],
    point: impl Fn(&Spanned<String>) -> Result<crate::application::image::Point, Error>,
) -> Result<Data, Error> {
    let mut layout = Layout::new(Order::Big);
    for name in names {
        layout.push(point(name)?);
    }
    Ok(Data { layout, names: names.iter().map(|name| name.get_ref().clone()).collect() })
}

fn records(tables: &[RecordTable], place: &Place) -> Result<Vec<Record>, Error> {
    let mut records: Vec<Record> = Vec::new();
    for table in tables {
        let index = *table.index.get_ref();
        if index > 0x7fff {
            return Err(place.at(&table.index, "a record's index is 0 to 0x7fff: those above are PROFINET's own"));
        }
        if records.iter().any(|record| record.index == index) {
            return Err(place.at(&table.index, &format!("there is a record {index} already")));
        }
        if records.len() == RECORDS_MAX {
            return Err(place.at(&table.index, &format!("a submodule has at most {RECORDS_MAX} records")));
        }
        if !(1..=RECORD_BYTES_MAX).contains(table.bytes.get_ref()) {
            return Err(place.at(&table.bytes, &format!("a record has 1 to {RECORD_BYTES_MAX} bytes")));
        }
        records.push(Record { index, name: table.name.clone(), bytes: *table.bytes.get_ref() });
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::Configuration;

    const GOOD: &str = r#"[device]
name = "press"
interface = "eth0"
[inputs]
warm = "bool"
temperature = "i16"
[outputs]
speed = "u16"
[profinet]
station = "press-3"
vendor_id = 0x0493
device_id = 2
cycle_min_us = 1000
connections = 1
[[profinet.module]]
slot = 1
ident = 0x32
name = "Press"
[[profinet.module.submodule]]
subslot = 1
ident = 0x132
inputs = ["warm", "temperature"]
outputs = ["speed"]
records = [{ index = 123, name = "gain", bytes = 4 }]
"#;

    fn parse(text: &str) -> Result<Configuration, String> {
        Configuration::parse(text, Path::new("press.toml")).map_err(|error| error.to_string())
    }

    #[test]
    fn the_table_describes_the_device() {
        let model = parse(GOOD).unwrap().profinet.unwrap();
        assert_eq!(model.interval_min, 32);
        assert_eq!(model.modules[0].submodules.iter().map(|sub| sub.subslot).collect::<Vec<_>>(), [1, 0x8000, 0x8001]);
        let submodule = model.submodule(1, 1).unwrap();
        assert_eq!((submodule.inputs.bytes(), submodule.outputs.bytes()), (3, 2));
        assert_eq!(submodule.records[0].bytes, 4);
    }

    #[test]
    fn what_is_wrong_is_one_line_with_the_way_out() {
        let second =
            "\n[[profinet.module]]\nslot = 1\nident = 1\nname = \"b\"\n[[profinet.module.submodule]]\nident = 1\n";
        let cases = [
            ("\"press-3\"", "\"Press_3\"", "press.toml:10: a station's name has lower-case letters"),
            ("0x0493", "0", "press.toml:11: vendor_id is PI's number"),
            ("cycle_min_us = 1000", "cycle_min_us = 900", "press.toml:13: cycle_min_us is one of 250"),
            ("connections = 1", "connections = 9", "press.toml:14: 1 to 4 controllers"),
            ("slot = 1", "slot = 0", "press.toml:16: slot 0 is the device itself"),
            ("ident = 0x32", "ident = 0", "press.toml:17: ident 0 says that nothing is plugged"),
            ("subslot = 1", "subslot = 0x8000", "press.toml:20: subslots are 1 to 32767"),
            ("\"warm\", ", "\"cold\", ", "press.toml:22: \"cold\" is not in [inputs]"),
            ("[\"speed\"]", "[\"warm\"]", "press.toml:23: \"warm\" is an input"),
            ("index = 123", "index = 0x8000", "press.toml:24: a record's index is 0 to 0x7fff"),
            ("bytes = 4", "bytes = 0", "press.toml:24: a record has 1 to 4096 bytes"),
            (
                "bytes = 4 }]\n",
                &format!("bytes = 4 }}]\n{second}"),
                "press.toml:27: there is a module in slot 1 already",
            ),
        ];
        for (from, to, error) in cases {
            let text = GOOD.replacen(from, to, 1);
            assert_ne!(text, GOOD);
            let is = parse(&text).unwrap_err();
            assert!(is.starts_with(error) && !is.contains('\n'), "{is}");
        }
    }

    #[test]
    fn what_does_not_fit_into_a_frame_is_refused() {
        let mut names = String::new();
        let mut list = Vec::new();
        for n in 0..360 {
            names += &format!("p{n} = \"u32\"\n");
            list.push(format!("\"p{n}\""));
        }
        let text = GOOD.replace("[outputs]", &format!("{names}[outputs]"));
        let text = text.replace("[\"warm\", \"temperature\"]", &format!("[{}]", list.join(", ")));
        let is = parse(&text).unwrap_err();
        assert!(is.ends_with("inputs and their statuses have 1445 bytes: a frame takes 1440"), "{is}");
    }
}
