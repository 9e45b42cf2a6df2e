// SPDX-License-Identifier: Apache-2.0
//! The top of a scenario file, and the order in which its parts are read.

use std::path::Path;

use super::keys::Section;
use super::model::{Scenario, Variant};
use super::reader::Reader;
use super::report::{Problem, Sink};
use super::suggest;
use super::tree::{Table, Value};
use super::{device, link, moderation, nic, task, traffic, warnings};

/// Reads a scenario in which every sweep is resolved. `None` if something is wrong with it.
pub(super) fn read(root: &Table, folder: &Path, sink: &Sink) -> Option<Scenario> {
    let reader = Reader::new(Section::Scenario, root, sink);
    let name = title(&reader);
    let seed = reader.whole("seed");
    let duration_ms = reader.u32("duration_ms");
    let warmup_ms = reader.u32("warmup_ms");
    let variants = variants(&reader);
    let (device, network) = device::read(&reader);
    let tasks = task::read_all(&reader, network, folder);
    let end_ms = f64::from(duration_ms.unwrap_or(u32::MAX)) + f64::from(warmup_ms.unwrap_or(0));
    let context = traffic::Context { network, tasks: &tasks, folder, end_ms };
    let traffic = traffic::read_all(&reader, &context);
    link::check(&traffic, device.link_mbps, sink);
    let limit = device::read_limit(&reader);
    let mitigation = device::read_mitigation(&reader, &tasks);
    device::check_watched(&reader, &tasks, &variants);
    let nic = nic::read(&reader, &tasks);
    reader.finish(None);
    if sink.has_errors() {
        return None;
    }
    warnings::find(&device, &variants, &tasks.read, sink);
    let tables: Vec<&Table> = tasks.read.iter().map(|(_, table)| *table).collect();
    let scenario = Scenario {
        name: name?,
        seed: seed?,
        duration_ms: duration_ms?,
        warmup_ms: warmup_ms?,
        variants,
        device,
        limit,
        mitigation,
        nic,
        tasks: tasks.read.into_iter().map(|(task, _)| task).collect(),
        traffic: traffic.into_iter().map(|(traffic, _)| traffic).collect(),
    };
    moderation::find(&scenario, root, &tables, sink);
    Some(scenario)
}

/// The `name`: one line, not empty.
fn title(reader: &Reader<'_>) -> Option<String> {
    reader.require("name");
    let name = reader.text("name")?;
    let length = name.chars().count();
    if name.trim().is_empty() || length > 100 || name.chars().any(char::is_control) {
        reader.refuse("name", "`name` is no title", "must be one line of 1 to 100 characters", "shorten or fill it");
        return None;
    }
    Some(name.to_owned())
}

/// The receive paths to run under.
fn variants(reader: &Reader<'_>) -> Vec<Variant> {
    if !reader.given("variants") {
        return vec![Variant::Stock];
    }
    let items = reader.list("variants").unwrap_or_default();
    if items.is_empty() && matches!(reader.node("variants").map(|node| &node.value), Some(Value::Array(_))) {
        reader.refuse("variants", "`variants` is empty", "nothing to run under", "write `variants = [\"stock\"]`");
    }
    let mut variants = Vec::new();
    for item in items {
        let Value::String(name) = &item.value else {
            let problem = Problem::error("a variant must be a string");
            reader.sink().push(problem.at(&item.place, format!("this is {}", item.value.kind())));
            continue;
        };
        match Variant::ALL.iter().find(|known| known.name() == name) {
            Some(variant) if variants.contains(variant) => {
                let problem = Problem::error(format!("the variant `{name}` is listed twice"));
                reader.sink().push(problem.at(&item.place, "again").help("remove one"));
            }
            Some(variant) => variants.push(*variant),
            None => reader.sink().push(refuse_variant(name).at(&item.place, "cannot run")),
        }
    }
    variants
}

fn refuse_variant(name: &str) -> Problem {
    let all = Variant::ALL.iter().map(|variant| variant.name());
    Problem::error(format!("unknown variant `{name}`")).help(suggest::hint(name, all, "variants"))
}
