// SPDX-License-Identifier: Apache-2.0
//! What the command line changes in a scenario.

use toml::de::DeValue;

use super::report::{Place, Problem, Sink, Text};
use super::suggest;
use super::tree::{Entry, Node, Table, Value};

/// Options that change a scenario. `Default` changes nothing.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Overrides {
    /// Seed of every random choice, instead of the file's
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Receive path to run under, instead of the file's list; may be given several times
    #[arg(long = "variant", value_name = "NAME")]
    pub variants: Vec<String>,
    /// What the scenario runs on: soc, the whole device cycle for cycle (the default), or model, events with measured costs
    #[arg(long, value_name = "NAME")]
    pub platform: Option<String>,
    /// Changes a key: `duration_ms=50`, `device.KEY=VALUE`, `task.NAME.KEY=VALUE`, `traffic.NAME.KEY=VALUE`; a list sweeps
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

const FORMS: &str = "write KEY=VALUE, with KEY one of: a key of the top of the file, device.KEY, nic.KEY, limit.KEY, \
                     mitigation.KEY, task.NAME.KEY, task.NAME.flow.KEY, traffic.NAME.KEY";

/// Applies the options. Each becomes a text of its own, which problems can point into.
pub(super) fn apply(overrides: &Overrides, root: &mut Table, texts: &mut Vec<Text>, sink: &Sink) {
    if let Some(seed) = overrides.seed {
        let place = quote(texts, "--seed ", &seed.to_string());
        root.set("seed", place.clone(), Node { place, value: Value::Integer(seed.into()) });
    }
    if !overrides.variants.is_empty() {
        let names = overrides.variants.iter().map(|name| {
            let place = quote(texts, "--variant ", name);
            Node { place, value: Value::String(name.clone()) }
        });
        let names: Vec<Node> = names.collect();
        let place = names[0].place.clone();
        root.set("variants", place.clone(), Node { place, value: Value::Array(names) });
    }
    if let Some(platform) = &overrides.platform {
        check_platform(platform, texts, sink);
    }
    for option in &overrides.set {
        set(option, root, texts, sink);
    }
}

/// Adds an option to the texts; the place of its value.
fn quote(texts: &mut Vec<Text>, option: &str, value: &str) -> Place {
    let content = format!("{option}{value}");
    let place = Place::new(texts.len(), option.len()..content.len());
    texts.push(Text { name: "command line".to_owned(), content, is_file: false });
    place
}

/// What a scenario can run on.
const PLATFORMS: [&str; 2] = ["soc", "model"];

fn check_platform(platform: &str, texts: &mut Vec<Text>, sink: &Sink) {
    if PLATFORMS.contains(&platform) {
        return;
    }
    let place = quote(texts, "--platform ", platform);
    let problem = Problem::error(format!("unknown platform `{platform}`")).at(&place, "not known");
    sink.push(problem.help(suggest::hint(platform, PLATFORMS, "platforms")));
}

/// One `--set`.
fn set(option: &str, root: &mut Table, texts: &mut Vec<Text>, sink: &Sink) {
    let whole = quote(texts, "--set ", option);
    let Some((path, value)) = option.split_once('=') else {
        let problem = Problem::error("`--set` without a value").at(&whole, "there is no `=`");
        return sink.push(problem.help(FORMS));
    };
    let (path, path_place) = trimmed(path, whole.text, whole.start);
    let (value, value_place) = trimmed(value, whole.text, whole.end - value.len());
    let Some(node) = parse(value, &value_place, sink) else {
        return;
    };
    let parts: Vec<&str> = path.split('.').collect();
    let Some((table, key)) = find(root, &parts, &path_place, sink) else {
        return;
    };
    let key_place = Place { start: path_place.end - key.len(), ..path_place };
    table.set(key, key_place, node);
}

/// A part of an option without the space around it.
fn trimmed(part: &str, text: usize, offset: usize) -> (&str, Place) {
    let start = offset + part.len() - part.trim_start().len();
    let part = part.trim();
    (part, Place::new(text, start..start + part.len()))
}

/// The value of a `--set`: TOML, or a plain word, since shells eat quotes.
fn parse(value: &str, place: &Place, sink: &Sink) -> Option<Node> {
    match DeValue::parse(value) {
        Ok(parsed) => Some(Node::from_toml(&parsed, place.text, place.start)),
        Err(_) if !value.is_empty() && value.chars().all(|c| c.is_ascii_alphanumeric() || "_-./:+".contains(c)) => {
            Some(Node { place: place.clone(), value: Value::String(value.to_owned()) })
        }
        Err(error) => {
            let problem = Problem::error("the value of this `--set` is not valid TOML").at(place, error.message());
            sink.push(problem.help("write a number, true, false, a name, \"a string\" or a list: [0, 1000]"));
            None
        }
    }
}

/// The table that a dotted path leads into, with the last part of the path.
fn find<'t, 'p>(
    root: &'t mut Table,
    parts: &[&'p str],
    place: &Place,
    sink: &Sink,
) -> Option<(&'t mut Table, &'p str)> {
    match *parts {
        [key] if !matches!(key, "device" | "task" | "traffic" | "nic" | "limit" | "mitigation") => Some((root, key)),
        [section @ ("device" | "nic" | "limit" | "mitigation"), key] => {
            child(root, section, place).map(|table| (table, key))
        }
        [list @ ("task" | "traffic"), name, key] if (list, key) != ("task", "flow") => {
            named(root, list, name, place, sink).map(|table| (table, key))
        }
        ["task", name, "flow", key] => {
            let task = named(root, "task", name, place, sink)?;
            child(task, "flow", place).map(|table| (table, key))
        }
        [first, ..] => {
            let problem = Problem::error(format!("`--set` cannot set `{}`", parts.join(".")));
            let sections = ["device", "task", "traffic", "nic", "limit", "mitigation"];
            let label = match suggest::closest(first, sections) {
                Some(section) if section != first => format!("did you mean `{section}`?"),
                _ => "no key is called this".to_owned(),
            };
            sink.push(problem.at(place, label).help(FORMS));
            None
        }
        [] => None,
    }
}

/// The table under a key, made if there is none. `None` if there is something else, which its reader will refuse.
fn child<'t>(parent: &'t mut Table, key: &str, place: &Place) -> Option<&'t mut Table> {
    if parent.entry(key).is_none() {
        let table = Table { place: place.clone(), entries: Vec::new() };
        let node = Node { place: place.clone(), value: Value::Table(table) };
        parent.entries.push(Entry { key: key.to_owned(), key_place: place.clone(), rank: place.clone(), node });
    }
    parent.table_mut(key)
}

/// The task or traffic of a name.
fn named<'t>(root: &'t mut Table, list: &str, name: &str, place: &Place, sink: &Sink) -> Option<&'t mut Table> {
    let names: Vec<String> = root.tables(list).filter_map(|table| table.text("name")).map(str::to_owned).collect();
    if !names.iter().any(|known| known == name) {
        let start = place.start + list.len() + 1;
        let place = Place { start, end: start + name.len(), ..place.clone() };
        let help = suggest::hint(name, names.iter().map(String::as_str), &format!("{list} names"));
        sink.push(Problem::error(format!("there is no {list} `{name}`")).at(&place, "not in the scenario").help(help));
        return None;
    }
    root.tables_mut(list).find(|table| table.text("name") == Some(name))
}
