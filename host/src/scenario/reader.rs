// SPDX-License-Identifier: Apache-2.0
//! Reads the keys of one table, with types, ranges and defaults from the table of keys.

use super::keys::{self, Key, Preset, Section, Takes};
use super::report::{Place, Problem, Sink};
use super::suggest;
use super::tree::{Node, Table, Value};

/// Reads one table. Every getter reports what is wrong and then returns `None`, as it does for a key that is neither
/// given nor has a default.
pub(super) struct Reader<'a> {
    section: Section,
    table: &'a Table,
    sink: &'a Sink,
}

impl<'a> Reader<'a> {
    /// For this table.
    pub fn new(section: Section, table: &'a Table, sink: &'a Sink) -> Self {
        Self { section, table, sink }
    }

    /// Reports to the same place.
    pub fn sink(&self) -> &'a Sink {
        self.sink
    }

    /// Where the value of a key stands; without the key, the table's header.
    pub fn place(&self, name: &str) -> &'a Place {
        self.table.place_of(name)
    }

    /// The value of a key.
    pub fn node(&self, name: &str) -> Option<&'a Node> {
        debug_assert!(keys::lookup(self.section, name).is_some(), "{name} is missing in the table of keys");
        self.table.get(name)
    }

    /// Whether a key is given.
    pub fn given(&self, name: &str) -> bool {
        self.node(name).is_some()
    }

    /// Refuses the table if the key is missing.
    pub fn require(&self, name: &str) {
        if !self.given(name) {
            let message = format!("`{name}` is missing");
            let place = match self.section {
                Section::Scenario => "in this file".to_owned(),
                section => format!("in this {}", section.title()),
            };
            let takes = self.key(name).takes.words();
            let problem = Problem::error(message).at(&self.table.place, place);
            self.sink.push(problem.help(format!("add `{name} = ...`: {takes}")));
        }
    }

    /// A whole number.
    pub fn whole(&self, name: &str) -> Option<u64> {
        let key = self.key(name);
        let Takes::Whole(least, most) = key.takes else { unreachable!("`{name}` takes no whole number") };
        let Some(node) = self.node(name) else {
            return preset(key).map(|text| text.parse().expect("a default fits its type"));
        };
        let Value::Integer(whole) = node.value else {
            return self.wrong_type(key, node, "a whole number");
        };
        if (i128::from(least)..=i128::from(most)).contains(&whole) {
            return u64::try_from(whole).ok();
        }
        self.out_of_range(key, node)
    }

    /// A whole number whose range fits 32 bits.
    pub fn u32(&self, name: &str) -> Option<u32> {
        self.whole(name).and_then(|whole| u32::try_from(whole).ok())
    }

    /// A number.
    pub fn number(&self, name: &str) -> Option<f64> {
        let key = self.key(name);
        let Takes::Number(least, most) = key.takes else { unreachable!("`{name}` takes no number") };
        let Some(node) = self.node(name) else {
            return preset(key).map(|text| text.parse().expect("a default fits its type"));
        };
        let Some(number) = node.value.as_number() else {
            return self.wrong_type(key, node, "a number");
        };
        // Not a number lies in no range.
        if (least..=most).contains(&number) { Some(number) } else { self.out_of_range(key, node) }
    }

    /// A string.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        let key = self.key(name);
        match self.node(name) {
            None => preset(key),
            Some(Node { value: Value::String(text), .. }) => Some(text),
            Some(node) => self.wrong_type(key, node, "a string"),
        }
    }

    /// One of several strings.
    pub fn choice(&self, name: &str) -> Option<&'static str> {
        let key = self.key(name);
        let Takes::OneOf(choices) = key.takes else { unreachable!("`{name}` has no choices") };
        let text = self.text(name)?;
        let known = choices.iter().find(|choice| **choice == text);
        if known.is_none() {
            let help = suggest::hint(text, choices.iter().copied(), "choices");
            self.refuse(name, format!("`{text}` is no {name}"), "not known", help);
        }
        known.copied()
    }

    /// `true` or `false`.
    pub fn flag(&self, name: &str) -> Option<bool> {
        let key = self.key(name);
        match self.node(name) {
            None => preset(key).map(|text| text == "true"),
            Some(Node { value: Value::Boolean(flag), .. }) => Some(*flag),
            Some(node) => self.wrong_type(key, node, "`true` or `false`"),
        }
    }

    /// A list.
    pub fn list(&self, name: &str) -> Option<&'a [Node]> {
        match self.node(name)? {
            Node { value: Value::Array(items), .. } => Some(items),
            node => self.wrong_type(self.key(name), node, "a list"),
        }
    }

    /// A table; `None` if it is not given.
    pub fn table_under(&self, name: &str) -> Option<&'a Table> {
        match self.node(name)? {
            Node { value: Value::Table(table), .. } => Some(table),
            node => {
                let problem = Problem::error(format!("`{name}` must be one table"));
                let problem = problem.at(&node.place, format!("this is {}", node.value.kind()));
                self.sink.push(problem.help(format!("write one table, with brackets: `[{name}]`")));
                None
            }
        }
    }

    /// The tables listed under a key, at most so many.
    pub fn tables_under(&self, name: &str, count_max: usize) -> Vec<&'a Table> {
        let Some(node) = self.node(name) else {
            return Vec::new();
        };
        let Value::Array(items) = &node.value else {
            let problem = Problem::error(format!("`{name}` must be a list of tables"))
                .at(&node.place, format!("this is {}", node.value.kind()));
            self.sink.push(problem.help(format!("write `[[{name}]]` above each")));
            return Vec::new();
        };
        for item in items.iter().filter(|item| !matches!(item.value, Value::Table(_))) {
            let problem = Problem::error(format!("`{name}` must be a list of tables"));
            self.sink.push(problem.at(&item.place, format!("this is {}", item.value.kind())));
        }
        if let Some(item) = items.get(count_max) {
            let problem = Problem::error(format!("there are more than {count_max} [[{name}]]"));
            self.sink.push(problem.at(&item.place, format!("number {}", count_max + 1)));
        }
        self.table.tables(name).take(count_max).collect()
    }

    /// Points at the value of a key and says why it cannot be.
    pub fn refuse(&self, name: &str, message: impl Into<String>, label: impl Into<String>, help: impl Into<String>) {
        self.sink.push(Problem::error(message).at(self.place(name), label).help(help));
    }

    /// Refuses keys that are not known here and, if `fitting` says which do, known keys that do not fit `what`.
    pub fn finish(&self, fitting: Option<(&[&str], &str)>) {
        for entry in &self.table.entries {
            let name = entry.key.as_str();
            if keys::lookup(self.section, name).is_none() {
                let message = format!("unknown key `{name}`");
                let label = format!("not a key of {}", self.section.title());
                self.sink.push(Problem::error(message).at(&entry.key_place, label).help(self.advice(name)));
            } else if let Some((fitting, what)) = fitting
                && !fitting.contains(&name)
            {
                let message = format!("`{name}` does not fit {what}");
                let problem = Problem::error(message).at(&entry.key_place, "has no meaning here");
                self.sink.push(problem.help(format!("remove it; keys that fit: {}", fitting.join(", "))));
            }
        }
    }

    /// What an unknown key was probably meant to be.
    fn advice(&self, name: &str) -> String {
        let elsewhere: Vec<&str> =
            keys::KEYS.iter().filter(|key| key.name == name).map(|key| key.section.title()).collect();
        if elsewhere.is_empty() {
            suggest::hint(name, keys::names(self.section), "keys")
        } else {
            format!("`{name}` is a key of {}", elsewhere.join(", "))
        }
    }

    fn key(&self, name: &str) -> &'static Key {
        keys::lookup(self.section, name).expect("keys that are read are in the table of keys")
    }

    fn out_of_range<T>(&self, key: &Key, node: &Node) -> Option<T> {
        let problem = Problem::error(format!("`{}` is out of range", key.name));
        self.sink.push(problem.at(&node.place, format!("must be {}", key.takes.range())));
        None
    }

    fn wrong_type<T>(&self, key: &Key, node: &Node, wanted: &str) -> Option<T> {
        let found = node.value.kind();
        let is_number = matches!(key.takes, Takes::Whole(..) | Takes::Number(..));
        match node.value {
            Value::Refused => {}
            Value::Array(_) if is_number => {
                let swept: Vec<&str> = keys::KEYS.iter().filter(|key| key.sweeps).map(|key| key.name).collect();
                let problem = Problem::error(format!("`{}` cannot sweep", key.name));
                let problem = problem.at(&node.place, format!("must be {wanted}, this is {found}"));
                self.sink.push(problem.help(format!("keys that sweep: {}", swept.join(", "))));
            }
            _ => {
                let problem = Problem::error(format!("`{}` must be {wanted}", key.name));
                let problem = problem.at(&node.place, format!("this is {found}"));
                self.sink.push(problem.help(format!("`{}` takes: {}", key.name, key.takes.words())));
            }
        }
        None
    }
}

/// The default of a key, if it is a value.
fn preset(key: &Key) -> Option<&'static str> {
    match key.default {
        Preset::Value(text) => Some(text),
        _ => None,
    }
}
