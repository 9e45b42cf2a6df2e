// SPDX-License-Identifier: Apache-2.0
//! `[[traffic]]`.

use std::net::Ipv4Addr;
use std::path::Path;

use super::keys::Section;
use super::model::{Pattern, Protocol, Target, Traffic};
use super::network::{self, Network};
use super::reader::Reader;
use super::report::Problem;
use super::task::Tasks;
use super::tree::Table;
use super::{pattern, target};

/// More senders than this are a mistake.
const TRAFFIC_MAX: usize = 32;

/// What traffic is checked against.
pub(super) struct Context<'a> {
    /// The device's network, if its address is right.
    pub network: Option<Network>,
    /// The tasks.
    pub tasks: &'a Tasks<'a>,
    /// Where files are.
    pub folder: &'a Path,
    /// When the run ends.
    pub end_ms: f64,
}

/// Reads all traffic, each with the table that it was read from.
pub(super) fn read_all<'a>(top: &Reader<'a>, context: &Context<'_>) -> Vec<(Traffic, &'a Table)> {
    let mut traffic: Vec<(Traffic, &Table)> = Vec::new();
    for table in top.tables_under("traffic", TRAFFIC_MAX) {
        let reader = Reader::new(Section::Traffic, table, top.sink());
        let name = name(&reader, &traffic);
        if let Some(one) = read(&reader, name, context) {
            traffic.push((one, table));
        }
    }
    let mut line_rates = traffic.iter().filter(|(one, _)| matches!(one.pattern, Pattern::LineRate));
    if let Some((_, table)) = line_rates.nth(1) {
        let problem = Problem::error("two traffics have the pattern `line-rate`");
        let problem = problem.at(table.place_of("pattern"), "one of them fills the link");
        top.sink().push(problem.help("keep one"));
    }
    traffic
}

fn name(reader: &Reader<'_>, traffic: &[(Traffic, &Table)]) -> String {
    let Some(name) = reader.text("name") else {
        return String::new();
    };
    let is_word = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    if !is_word || !(1..=31).contains(&name.len()) {
        let help = "take letters, digits, `_` and `-`";
        reader.refuse("name", "`name` cannot be a traffic's name", "must be 1 to 31 of A-Z a-z 0-9 _ -", help);
    } else if traffic.iter().any(|(one, _)| one.name == name) {
        reader.refuse("name", format!("two traffics are called `{name}`"), "again", "give each its own name");
    }
    name.to_owned()
}

fn read(reader: &Reader<'_>, name: String, context: &Context<'_>) -> Option<Traffic> {
    reader.require("pattern");
    let Some(pattern_name) = reader.choice("pattern") else {
        reader.finish(None);
        return None;
    };
    let to = target::read(reader, pattern_name, context.tasks);
    let mut fitting = vec!["name", "pattern", "to", "start_ms", "stop_ms"];
    // A capture as it is keeps its own senders.
    if to != Some(Target::AsIs) {
        fitting.push("from");
    }
    fitting.extend(pattern::keys(pattern_name));
    reader.finish(Some((&fitting, &what(pattern_name, to))));
    let from = if fitting.contains(&"from") { network::sender(reader, context.network) } else { Ok(None) };
    let payload_bytes = payload_bytes(reader, pattern_name, to);
    let dscp = reader.whole("dscp").and_then(|dscp| u8::try_from(dscp).ok());
    let (start_ms, stop_ms) = span(reader, context.end_ms);
    let pattern = pattern::read(reader, pattern_name, context.folder);
    let peer = || context.network.map_or(Ipv4Addr::UNSPECIFIED, |network| network.peer());
    Some(Traffic {
        name,
        from: from.ok()?.unwrap_or_else(peer),
        to: to?,
        payload_bytes: payload_bytes?,
        dscp: dscp?,
        pattern: pattern?,
        start_ms: start_ms?,
        stop_ms,
    })
}

fn what(pattern: &str, to: Option<Target>) -> String {
    let to = if to == Some(Target::AsIs) { " that goes `as-is`" } else { "" };
    format!("the pattern `{pattern}`{to}")
}

/// The payload; 0 for what has none.
fn payload_bytes(reader: &Reader<'_>, pattern: &str, to: Option<Target>) -> Option<u32> {
    if !pattern::keys(pattern).contains(&"payload_bytes") {
        return Some(0);
    }
    match to {
        Some(Target::Port(listen)) if listen.protocol == Protocol::Tcp => {
            if reader.given("payload_bytes") {
                let message = "`payload_bytes` does not fit a TCP port";
                let label = "frames to a TCP port are SYN segments, which carry nothing";
                reader.refuse("payload_bytes", message, label, "remove it; `modbus` holds a TCP conversation");
            }
            Some(0)
        }
        _ => reader.u32("payload_bytes"),
    }
}

/// `start_ms` and `stop_ms`.
fn span(reader: &Reader<'_>, end_ms: f64) -> (Option<f64>, Option<f64>) {
    let start_ms = reader.number("start_ms");
    let stop_ms = reader.number("stop_ms");
    if let (Some(start_ms), Some(stop_ms)) = (start_ms, stop_ms)
        && stop_ms <= start_ms
    {
        let label = format!("must be after `start_ms`, {start_ms} ms");
        reader.refuse("stop_ms", "this traffic stops before it starts", label, "leave it out to go on to the end");
    }
    if start_ms.is_some_and(|start_ms| start_ms >= end_ms) {
        let problem = Problem::warning("this traffic never starts");
        let problem = problem.at(reader.place("start_ms"), format!("the run ends after {end_ms} ms, warm-up included"));
        reader.sink().push(problem);
    }
    (start_ms, stop_ms)
}
