// SPDX-License-Identifier: Apache-2.0
//! TOML values that know where they stand, in the order of the file.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::report::Place;

/// A table.
#[derive(Debug, Clone)]
pub(super) struct Table {
    /// Its header.
    pub place: Place,
    /// Its keys.
    pub entries: Vec<Entry>,
}

/// A key with its value.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub key_place: Place,
    /// Where the key first stood: an override keeps the rank of what it replaces.
    pub rank: Place,
    /// The value.
    pub node: Node,
}

/// A value.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// Where the value stands.
    pub place: Place,
    /// What it is.
    pub value: Value,
}

/// What a value is.
#[derive(Debug, Clone)]
pub(super) enum Value {
    /// A string.
    String(String),
    /// A whole number.
    Integer(i128),
    /// Any other number.
    Float(f64),
    /// A truth value.
    Boolean(bool),
    /// A date or a time; a scenario has none.
    Datetime,
    /// A list.
    Array(Vec<Node>),
    /// A table.
    Table(Table),
    /// Was wrong, and said to be wrong; nothing more is said about it.
    Refused,
}

impl Value {
    /// What it is, in words.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::String(_) => "a string",
            Self::Integer(_) => "a whole number",
            Self::Float(_) => "a number",
            Self::Boolean(_) => "true or false",
            Self::Datetime => "a date or time",
            Self::Array(_) => "a list",
            Self::Table(_) => "a table",
            Self::Refused => "refused",
        }
    }

    /// A number of either sort.
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Self::Integer(whole) => Some(*whole as f64),
            Self::Float(number) => Some(*number),
            _ => None,
        }
    }
}

impl Table {
    /// Takes over a parsed table; `text` and `offset` say where its spans count from.
    pub fn from_toml(table: &DeTable<'_>, place: Place, offset: usize) -> Self {
        let text = place.text;
        let mut entries: Vec<Entry> = table
            .iter()
            .map(|(key, value)| {
                let key_place = Place::new(text, key.span().start + offset..key.span().end + offset);
                Entry {
                    key: key.get_ref().to_string(),
                    rank: key_place.clone(),
                    key_place,
                    node: Node::from_toml(value, text, offset),
                }
            })
            .collect();
        entries.sort_by(|a, b| a.rank.cmp(&b.rank));
        Self { place, entries }
    }

    /// The entry of a key.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.node)
    }

    /// The value of a key, if it is a string.
    pub fn text(&self, key: &str) -> Option<&str> {
        match &self.get(key)?.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Where the value of a key stands; without the key, the header.
    pub fn place_of(&self, key: &str) -> &Place {
        self.get(key).map_or(&self.place, |node| &node.place)
    }

    /// Sets a key; a new one stands last.
    pub fn set(&mut self, key: &str, key_place: Place, node: Node) {
        match self.entries.iter_mut().find(|entry| entry.key == key) {
            Some(entry) => {
                entry.key_place = key_place;
                entry.node = node;
            }
            None => {
                self.entries.push(Entry { key: key.to_owned(), rank: key_place.clone(), key_place, node });
            }
        }
    }

    /// The table under a key.
    pub fn table_mut(&mut self, key: &str) -> Option<&mut Table> {
        let entry = self.entries.iter_mut().find(|entry| entry.key == key)?;
        match &mut entry.node.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The tables listed under a key (`[[key]]`); what is not a table is left out.
    pub fn tables(&self, key: &str) -> impl Iterator<Item = &Table> {
        let nodes = match self.get(key).map(|node| &node.value) {
            Some(Value::Array(nodes)) => nodes.as_slice(),
            _ => &[],
        };
        nodes.iter().filter_map(|node| match &node.value {
            Value::Table(table) => Some(table),
            _ => None,
        })
    }

    /// The same, to be changed.
    pub fn tables_mut(&mut self, key: &str) -> impl Iterator<Item = &mut Table> {
        let entry = self.entries.iter_mut().find(|entry| entry.key == key);
        let nodes = match entry.map(|entry| &mut entry.node.value) {
            Some(Value::Array(nodes)) => nodes.as_mut_slice(),
            _ => &mut [],
        };
        nodes.iter_mut().filter_map(|node| match &mut node.value {
            Value::Table(table) => Some(table),
            _ => None,
        })
    }
}

impl Node {
    /// Takes over a parsed value. The parser limits how deep values nest, so this recursion ends.
    pub fn from_toml(value: &Spanned<DeValue<'_>>, text: usize, offset: usize) -> Self {
        let place = Place::new(text, value.span().start + offset..value.span().end + offset);
        let value = match value.get_ref() {
            DeValue::String(string) => Value::String(string.to_string()),
            // The parser lets whole numbers of any length through; no range here reaches this far.
            DeValue::Integer(whole) => {
                Value::Integer(i128::from_str_radix(whole.as_str(), whole.radix()).unwrap_or(i128::MAX))
            }
            DeValue::Float(float) => Value::Float(float.as_str().parse().unwrap_or(f64::NAN)),
            DeValue::Boolean(boolean) => Value::Boolean(*boolean),
            DeValue::Datetime(_) => Value::Datetime,
            DeValue::Array(items) => {
                Value::Array(items.iter().map(|item| Self::from_toml(item, text, offset)).collect())
            }
            DeValue::Table(table) => Value::Table(Table::from_toml(table, place.clone(), offset)),
        };
        Self { place, value }
    }
}
