// SPDX-License-Identifier: Apache-2.0
//! Names for traffic that is given none.

use std::collections::HashMap;

use super::keys::PATTERNS;
use super::tree::{Node, Table, Value};

/// Gives every traffic without a name its pattern's, so that options and sweeps can name it.
pub(super) fn name_traffic(root: &mut Table) {
    let taken: Vec<String> = root.tables("traffic").filter_map(|table| table.text("name")).map(str::to_owned).collect();
    let nameless: Vec<&str> = root.tables("traffic").filter(is_nameless).map(pattern_of).collect();
    let names = taken.iter().map(String::as_str).chain(nameless.iter().copied());
    let mut uses: HashMap<String, usize> = HashMap::new();
    names.for_each(|name| *uses.entry(name.to_owned()).or_default() += 1);
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut given = Vec::new();
    for pattern in nameless {
        if uses[pattern] == 1 {
            given.push(pattern.to_owned());
            continue;
        }
        let number = numbers.entry(pattern).or_default();
        let mut free = (*number + 1..).filter(|number| !uses.contains_key(&format!("{pattern}-{number}")));
        *number = free.next().unwrap_or(usize::MAX);
        given.push(format!("{pattern}-{number}"));
    }
    for (table, name) in root.tables_mut("traffic").filter(|table| is_nameless(&&**table)).zip(given) {
        let place = table.place.clone();
        table.set("name", place.clone(), Node { place, value: Value::String(name) });
    }
}

fn is_nameless(table: &&Table) -> bool {
    table.entry("name").is_none()
}

/// The pattern of a traffic; a wrong one is refused later, and makes no name.
fn pattern_of(table: &Table) -> &'static str {
    let pattern = table.text("pattern").and_then(|text| PATTERNS.iter().find(|known| **known == text));
    pattern.copied().unwrap_or("traffic")
}
