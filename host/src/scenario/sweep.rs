// SPDX-License-Identifier: Apache-2.0
//! Sweeps: a list where one number is expected makes one case for each value.

use std::collections::BTreeMap;

use super::keys::{KEYS, Section};
use super::report::{Place, Problem, Sink};
use super::tree::{Node, Table, Value};

/// More cases than this are a mistake, or a job for several files.
const CASES_MAX: usize = 1000;

/// One swept key.
#[derive(Debug)]
struct Axis {
    /// Its name among the loads of a case.
    load: String,
    /// Which table: `device`, or a list of tables with an index.
    list: &'static str,
    index: usize,
    key: &'static str,
    /// Orders the axes: first in the file varies slowest.
    rank: Place,
    values: Vec<Node>,
}

/// A case before it is read: its loads, and the file with one value for each swept key.
pub(super) type RawCase = (BTreeMap<String, f64>, Table);

/// All combinations of the swept keys' values, first key slowest. After too long a sweep is refused, only the first.
pub(super) fn cases(mut root: Table, sink: &Sink) -> impl Iterator<Item = RawCase> {
    let mut axes = Vec::new();
    if let Some(device) = root.table_mut("device") {
        axes.extend(axes_of(device, Section::Device, "device", 0, Some("device"), sink));
    }
    for (list, section) in [("task", Section::Task), ("traffic", Section::Traffic)] {
        for (index, table) in root.tables_mut(list).enumerate() {
            let name = table.text("name").map(str::to_owned);
            axes.extend(axes_of(table, section, list, index, name.as_deref(), sink));
        }
    }
    axes.sort_by(|a, b| a.rank.cmp(&b.rank));
    let count = axes.iter().try_fold(1usize, |count, axis| count.checked_mul(axis.values.len()));
    let count = match count {
        Some(count) if count <= CASES_MAX => count,
        _ => {
            let problem = Problem::error("the lists sweep over too many cases");
            let label = format!("with the other lists more than {CASES_MAX} combinations");
            sink.push(problem.at(&axes[0].rank, label).help("shorten the lists, or make several files"));
            1
        }
    };
    (0..count).map(move |number| case(&root, &axes, number))
}

/// Takes the swept keys of a table out; in their place stands the first value. Without a name nothing can be swept: the
/// missing name is reported by the table's reader.
fn axes_of(
    table: &mut Table,
    section: Section,
    list: &'static str,
    index: usize,
    name: Option<&str>,
    sink: &Sink,
) -> Vec<Axis> {
    let mut axes = Vec::new();
    for key in KEYS.iter().filter(|key| key.section == section && key.sweeps) {
        let Some(entry) = table.entries.iter_mut().find(|entry| entry.key == key.name) else {
            continue;
        };
        let place = entry.node.place.clone();
        let Value::Array(values) = &mut entry.node.value else {
            continue;
        };
        let values = checked(std::mem::take(values), &place, key.name, sink);
        entry.node = match values.first() {
            Some(first) => first.clone(),
            None => Node { place, value: Value::Refused },
        };
        let Some(name) = name.filter(|_| !values.is_empty()) else {
            continue;
        };
        let load = match (section, key.name) {
            (Section::Traffic, "rate_pps") => name.to_owned(),
            _ => format!("{name}.{}", key.name),
        };
        axes.push(Axis { load, list, index, key: key.name, rank: entry.rank.clone(), values });
    }
    axes
}

/// The values that are numbers, each once.
fn checked(values: Vec<Node>, place: &Place, key: &str, sink: &Sink) -> Vec<Node> {
    if values.is_empty() {
        let problem = Problem::error(format!("`{key}` sweeps over an empty list")).at(place, "no value");
        sink.push(problem.help(format!("write one value (`{key} = 1`) or several (`{key} = [1, 2]`)")));
    }
    let mut kept: Vec<Node> = Vec::new();
    for node in values.into_iter().take(CASES_MAX + 1) {
        let Some(number) = node.value.as_number() else {
            let problem = Problem::error(format!("`{key}` sweeps over something that is no number"));
            sink.push(problem.at(&node.place, format!("this is {}", node.value.kind())));
            continue;
        };
        if kept.iter().any(|other| other.value.as_number() == Some(number)) {
            let problem = Problem::error(format!("`{key}` sweeps over {number} twice")).at(&node.place, "again");
            sink.push(problem.help("a run made twice comes out the same; remove one"));
        } else {
            kept.push(node);
        }
    }
    kept
}

/// The case of this number, counted with the last axis fastest.
fn case(root: &Table, axes: &[Axis], mut number: usize) -> RawCase {
    let mut root = root.clone();
    let mut loads = BTreeMap::new();
    for axis in axes.iter().rev() {
        let node = &axis.values[number % axis.values.len()];
        number /= axis.values.len();
        loads.extend(node.value.as_number().map(|value| (axis.load.clone(), value)));
        let table = match axis.list {
            "device" => root.table_mut("device"),
            list => root.tables_mut(list).nth(axis.index),
        };
        if let Some(entry) = table.and_then(|table| table.entries.iter_mut().find(|entry| entry.key == axis.key)) {
            entry.node = node.clone();
        }
    }
    (loads, root)
}
