// SPDX-License-Identifier: Apache-2.0
//! Scenarios that can be run, but probably do not show what was meant.

use super::model::{Device, Task, TaskKind, Variant, Work};
use super::report::{Problem, Sink};
use super::tree::Table;

/// Warns of an overloaded CPU and of tasks that never run.
pub(super) fn find(device: &Device, variants: &[Variant], tasks: &[(Task, &Table)], sink: &Sink) {
    utilisation(tasks, sink);
    starvation(device, variants, tasks, sink);
}

/// The part of the CPU that a periodic task asks for, where the scenario says it.
fn share(task: &Task) -> f64 {
    match (&task.kind, &task.work) {
        (TaskKind::Periodic { period_us, .. }, Work::Synthetic { us }) => us / f64::from(*period_us),
        _ => 0.0,
    }
}

fn utilisation(tasks: &[(Task, &Table)], sink: &Sink) {
    let sum: f64 = tasks.iter().map(|(task, _)| share(task)).sum();
    let greatest = tasks.iter().max_by(|(a, _), (b, _)| share(a).total_cmp(&share(b)));
    // Exactly the whole CPU, apart from rounding, is no overload.
    if sum > 1.0 + 1e-9
        && let Some((task, table)) = greatest
    {
        let problem = Problem::warning("the periodic tasks ask for more than the whole CPU");
        let label = format!("{:.0} % together, {:.0} % of it `{}`", sum * 100.0, share(task) * 100.0, task.name);
        let problem = problem.at(table.place_of("work_us"), label);
        sink.push(problem.help("some will miss deadlines without any traffic"));
    }
}

/// A background task never blocks: what has a lower priority never runs.
fn starvation(device: &Device, variants: &[Variant], tasks: &[(Task, &Table)], sink: &Sink) {
    let background = tasks.iter().filter(|(task, _)| matches!(task.kind, TaskKind::Background));
    let Some((hog, hog_table)) = background.max_by_key(|(task, _)| task.priority) else {
        return;
    };
    for (task, table) in tasks.iter().filter(|(task, _)| task.priority < hog.priority) {
        let problem = Problem::warning(format!("the task `{}` never runs", task.name));
        let label = format!("the background task `{}` has priority {}", hog.name, hog.priority);
        sink.push(problem.at(table.place_of("priority"), label));
    }
    // The library's network task has the priority of its packets.
    if device.net_priority < hog.priority && variants.iter().any(|variant| !variant.uses_library()) {
        let problem = Problem::warning("the network tasks never run");
        let label = format!("`net_priority` is {}, and this task never blocks", device.net_priority);
        sink.push(problem.at(hog_table.place_of("priority"), label));
    }
}
