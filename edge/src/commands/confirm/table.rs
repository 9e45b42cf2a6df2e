// SPDX-License-Identifier: Apache-2.0
//! Both worlds beside each other.

use serde_json::json;
use weir_edge::sim::results::{Results, quantile};

use super::Both;

/// What the names' column has room for at least: what is below them.
pub const NAME_MIN: usize = "  100.0 % decided alike".len();

/// The heading's line, with room for the scenarios' names.
pub fn heading(width: usize) -> String {
    format!(
        "{:<width$}  {:<10}  tasks  accepted  in time  success  late  overrun  lost  given back  answer ms p50    p99  \
         response ms p50    p99  noticed ms",
        "scenario", ""
    )
}

/// What columns hold, from the left.
fn values(results: &Results) -> [f64; 13] {
    let tasks = &results.tasks;
    let share = |count: u64, of: u64| 100.0 * count as f64 / of.max(1) as f64;
    let at = |values: &[f32], share| f64::from(quantile(values, share));
    [
        tasks.submitted as f64,
        share(tasks.accepted, tasks.submitted),
        share(tasks.in_time, tasks.accepted),
        share(tasks.in_time, tasks.submitted),
        tasks.late as f64,
        tasks.overrun as f64,
        tasks.lost as f64,
        tasks.given_back as f64,
        at(&results.answer_ms, 0.5),
        at(&results.answer_ms, 0.99),
        at(&results.response_ms, 0.5),
        at(&results.response_ms, 0.99),
        results.noticed_ms.iter().copied().reduce(f64::max).unwrap_or(f64::NAN),
    ]
}

/// Of each column, how wide it is, how many digits it has behind the point, and its unit.
const COLUMNS: [(usize, usize, &str); 13] = [
    (5, 0, ""),
    (8, 1, " %"),
    (7, 1, " %"),
    (7, 1, " %"),
    (4, 0, ""),
    (7, 0, ""),
    (4, 0, ""),
    (10, 0, ""),
    (13, 1, ""),
    (5, 1, ""),
    (15, 1, ""),
    (5, 1, ""),
    (10, 0, ""),
];

/// A row: the simulator, processes, and by how much these have more.
pub fn lines(both: &Both, width: usize) -> [String; 3] {
    let (simulator, processes) = (values(&both.simulator), values(&both.processes));
    let mut differences = processes;
    differences.iter_mut().zip(simulator).for_each(|(value, other)| *value -= other);
    let alike = 100.0 * both.alike as f64 / both.processes.tasks.submitted.max(1) as f64;
    [
        line(&format!("{:<width$}  simulator ", both.scenario), &simulator, false),
        line(&format!("{:<width$}  processes ", ""), &processes, false),
        line(&format!("{:<width$}  difference", format!("  {alike:.1} % decided alike")), &differences, true),
    ]
}

fn line(head: &str, values: &[f64], signed: bool) -> String {
    let cells = values.iter().zip(COLUMNS).map(|(value, (width, digits, unit))| {
        // What rounds to nothing has no sign.
        let rounded = (value * 10_f64.powi(digits as i32)).round();
        let text = match value {
            value if value.is_nan() => "-".to_owned(),
            _ if rounded == 0.0 => format!("{:.digits$}{unit}", 0.0),
            value if signed => format!("{value:+.digits$}{unit}"),
            value => format!("{value:.digits$}{unit}"),
        };
        format!("  {text:>width$}")
    });
    cells.fold(head.to_owned(), |line, cell| line + &cell)
}

/// Quantiles, for the file of figures.
pub fn times(values: &[f32]) -> serde_json::Value {
    let at = |share| f64::from(quantile(values, share));
    json!({ "p50": at(0.5), "p90": at(0.9), "p99": at(0.99), "max": at(1.0) })
}
