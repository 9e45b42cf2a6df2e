// SPDX-License-Identifier: Apache-2.0
//! Rules that a scenario breaks, as warnings at the place that would have to change.

use super::{Demand, Violation, concerns, figures, settings, violations};
use crate::scenario::model::Scenario;
use crate::scenario::report::{Place, Problem, Sink};
use crate::scenario::tree::{Table, Value};

/// Warns of every rule that does not hold. `tasks` are the tables that the tasks were read from.
pub(in crate::scenario) fn find(scenario: &Scenario, root: &Table, tasks: &[&Table], sink: &Sink) {
    if !concerns(scenario) {
        return;
    }
    let demand = Demand::of(scenario);
    for violation in violations(&demand, &figures(&demand, &settings(scenario))) {
        let Violation { flow, name, rule, numbers, remedy, .. } = violation;
        let message = format!("`{name}`: {} does not hold", rule.written());
        let place = place(root, tasks[demand.flows[flow].task], rule.key());
        sink.push(Problem::warning(message).at(place, numbers).help(remedy));
    }
}

/// Where a flow's key is given, of the flow or of the whole NIC; otherwise the task.
fn place<'a>(root: &'a Table, task: &'a Table, key: &str) -> &'a Place {
    let under = |table: &'a Table, name: &str| match table.get(name).map(|node| &node.value) {
        Some(Value::Table(table)) => Some(table),
        _ => None,
    };
    let given = [under(task, "flow"), under(root, "nic")].into_iter().flatten().find_map(|table| table.get(key));
    given.map_or(task.place_of("listen"), |node| &node.place)
}
