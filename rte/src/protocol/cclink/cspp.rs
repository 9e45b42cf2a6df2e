// SPDX-License-Identifier: Apache-2.0
//! The slave's description for engineering tools, CSP+, made from the configuration.
//!
//! CLPA's specification of the format, BAP-C2008ENG-001, is for its members and was not at hand, and its CSP+ tool has not
//! seen a file of ours. Sections (FILE, DEVICE, COMM_IF, BLOCK), parts, elements and items are those that the OPC
//! Foundation's public mapping names (OPC 30130, section 4.1); the names of the parts for RX, RY, RWr and RWw follow
//! the same pattern and are a guess. What is sure is the content: identity, size, and which point lies where.

use std::fmt::Write;

use super::slave::Settings;
use super::{STATION_BITS, STATION_WORDS};
use crate::application::image::Type;

/// What a description's first lines say.
const NOTE: &str = "Made by weir-io from a configuration. Not checked by CLPA's CSP+ tool, whose schema is not public: \
                    load it there first.";

/// A data point in an area of the slave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// What it is called.
    pub name: String,
    /// What it holds.
    pub kind: Type,
    /// Its bit or first word, from 0.
    pub at: usize,
}

/// The data points of the four areas.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Areas<'a> {
    pub rx: &'a [Placed],
    pub ry: &'a [Placed],
    pub rwr: &'a [Placed],
    pub rww: &'a [Placed],
}

/// Describes the slave of a device. `date` is year, month and day.
pub fn describe(device: &str, settings: &Settings, areas: Areas<'_>, date: (u16, u8, u8)) -> String {
    let (year, month, day) = date;
    let identity = settings.identity;
    let mut writer =
        Writer { text: format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- {NOTE} -->\n"), depth: 0 };
    let [vendor, version] = [identity.vendor, identity.equipment_version].map(|word| format!("0x{word:04X}"));
    let product = format!("0x{:08X}", identity.model);
    writer.inside("CSPP", &[], |writer| {
        writer.part("FILE", "FILE_INFO", |writer| {
            writer.element("CreateDate", "STRING", &format!("{year:04}-{month:02}-{day:02}"));
            writer.element("Language", "STRING", "en");
        });
        writer.part("DEVICE", "DEVICE_INFO", |writer| {
            writer.element("VendorCode", "WORD", &vendor);
            writer.element("DeviceModel", "STRING", device);
            writer.element("ProductID", "DWORD", &product);
            writer.element("Version", "WORD", &version);
        });
        writer.inside("COMM_IF", &[("LABEL", &settings.name)], |writer| {
            writer.inside("COMM_IF_INFO", &[], |writer| {
                writer.element("Network", "STRING", "CC-Link IE Field Basic");
                writer.element("StationType", "STRING", "RemoteDeviceStation");
                writer.element("ProtocolVersion", "WORD", &settings.version.to_string());
                writer.element("OccupiedStations", "WORD", &settings.stations.to_string());
                writer.element("Bits", "WORD", &(STATION_BITS * settings.stations).to_string());
                writer.element("Words", "WORD", &(STATION_WORDS * settings.stations).to_string());
            });
            writer.area("COMM_IF_RX", "RX", areas.rx);
            writer.area("COMM_IF_RY", "RY", areas.ry);
            writer.area("COMM_IF_RWR", "RWr", areas.rwr);
            writer.area("COMM_IF_RWW", "RWw", areas.rww);
        });
        writer.part("BLOCK", "BLOCK_INFO", |writer| writer.element("Name", "STRING", device));
    });
    writer.text
}

struct Writer {
    text: String,
    depth: usize,
}

/// What stands in an attribute.
fn escaped(value: &str) -> String {
    value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

impl Writer {
    fn line(&mut self, text: &str) {
        let indent = 2 * self.depth;
        // A String takes everything.
        let _ = writeln!(self.text, "{:indent$}{text}", "");
    }

    fn tag(name: &str, attributes: &[(&str, &str)]) -> String {
        attributes.iter().fold(name.to_owned(), |tag, (name, value)| format!("{tag} {name}=\"{}\"", escaped(value)))
    }

    fn inside(&mut self, name: &str, attributes: &[(&str, &str)], write: impl FnOnce(&mut Self)) {
        self.line(&format!("<{}>", Self::tag(name, attributes)));
        self.depth += 1;
        write(self);
        self.depth -= 1;
        self.line(&format!("</{name}>"));
    }

    fn part(&mut self, section: &str, part: &str, write: impl FnOnce(&mut Self)) {
        self.inside(section, &[], |writer| writer.inside(part, &[], write));
    }

    fn element(&mut self, label: &str, kind: &str, data: &str) {
        self.line(&format!("<{}/>", Self::tag("ELEMENT", &[("LABEL", label), ("DATATYPE", kind), ("DATA", data)])));
    }

    fn area(&mut self, part: &str, device: &str, points: &[Placed]) {
        if points.is_empty() {
            return;
        }
        self.inside(part, &[], |writer| {
            for point in points {
                let (kind, assigned) = (data_type(point.kind), format!("{device}{:X}", point.at));
                let items = [("LABEL", point.name.as_str()), ("DATATYPE", kind), ("ASSIGN", assigned.as_str())];
                writer.line(&format!("<{}/>", Writer::tag("ELEMENT", &items)));
            }
        });
    }
}

/// IEC 61131's name of a type.
fn data_type(kind: Type) -> &'static str {
    match kind {
        Type::Bool => "BOOL",
        Type::U8 => "USINT",
        Type::I8 => "SINT",
        Type::U16 => "UINT",
        Type::I16 => "INT",
        Type::U32 => "UDINT",
        Type::I32 => "DINT",
        Type::F32 => "REAL",
    }
}
