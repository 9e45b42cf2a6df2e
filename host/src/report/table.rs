// SPDX-License-Identifier: Apache-2.0
//! The table that `weir run` prints.

use super::format::{self, count, percent, us};
use super::grid::{self, Cell, Group, Tone};
use super::peers;
use super::sweep::{Sweep, unit};
use super::verdict::{conservation, verdicts};
use crate::results::{Dropped, FlowResult, Results, Run, TaskResult};

/// One line per run: deadlines of every task, fate of every flow's packets, CPU and interrupts; then the verdict.
///
/// Columns that do not fit into `width` go into further blocks below. `color` sets misses in red.
pub fn table(results: &Results, width: usize, color: bool) -> String {
    let mut text = heading(results, color);
    if results.runs.is_empty() {
        return text + "\nThere are no runs.\n";
    }
    let lead = lead(results);
    let sections = [
        ("Deadlines, times in µs", tasks(results), lateness_note(results)),
        ("Peers, round trip in µs", peers::groups(results), Some(peers::NOTE)),
        ("Packets", flows(results), None),
        ("CPU", vec![shares(results), interrupts(results), buffers(results)], None),
    ];
    for (title, groups, note) in sections {
        if groups.is_empty() {
            continue;
        }
        text += &format!("\n{}\n{}", grid::paint(title, "1;4", color), grid::draw(&lead, &groups, width, color));
        if let Some(note) = note {
            text += &format!("{}\n", grid::paint(&wrap(note, width), "2", color));
        }
    }
    text + "\n" + &closing(results, width, color)
}

/// Every reason for a drop with its key in `results.json`, in the order of the file.
pub fn dropped(dropped: &Dropped) -> Vec<(u64, &'static str)> {
    vec![
        (dropped.nic_filter, "nic_filter"),
        (dropped.nic_full, "nic_full"),
        (dropped.flow_limit, "flow_limit"),
        (dropped.recycled, "recycled"),
        (dropped.overall_limit, "overall_limit"),
        (dropped.stack, "stack"),
        (dropped.socket, "socket"),
    ]
}

fn heading(results: &Results, color: bool) -> String {
    let name = grid::paint(&format::clean(&results.scenario), "1", color);
    let mhz = format::load(results.cpu_hz as f64 / 1e6);
    let runs = super::phrase::number(results.runs.len() as u64, "run");
    format!("{name}: {runs} on {}, {mhz} MHz, seed {}\n", format::clean(&results.platform), results.seed)
}

/// How to read response and lateness together, where it matters.
fn lateness_note(results: &Results) -> Option<&'static str> {
    let missed = results.runs.iter().flat_map(|run| &run.tasks).any(|task| task.missed > 0);
    missed.then_some(
        "Response counts completed jobs only; lateness counts jobs that never completed, too, with what they had when \
         the run ended.",
    )
}

/// The columns that name a run.
fn lead(results: &Results) -> Group {
    let keys = Sweep::of(results).keys;
    let label = |key: &String| match unit(key) {
        "" => key.clone(),
        unit => format!("{key}, {unit}"),
    };
    let heads: Vec<String> = std::iter::once("<variant".to_string()).chain(keys.iter().map(label)).collect();
    let mut group = Group::new("", &heads.iter().map(String::as_str).collect::<Vec<_>>());
    for run in &results.runs {
        let load = |key: &String| Cell::plain(run.loads.get(key).map_or("-".into(), |value| format::load(*value)));
        group.push(std::iter::once(Cell::plain(run.variant.clone())).chain(keys.iter().map(load)).collect());
    }
    group
}

fn tasks(results: &Results) -> Vec<Group> {
    let names = names(results.runs.iter().flat_map(|run| run.tasks.iter().map(|task| task.name.as_str())));
    let find = |run: &'_ Run, name: &str| run.tasks.iter().find(|task| task.name == name).cloned();
    let group = |name: &&str| {
        let found: Vec<Option<TaskResult>> = results.runs.iter().map(|run| find(run, name)).collect();
        // A receiving task to which nothing came has no jobs either, but it has a flow.
        let receives = results.runs.iter().any(|run| run.flows.iter().any(|flow| flow.name == *name));
        let background = !receives && found.iter().flatten().all(|task| task.jobs == 0);
        let heads: &[&str] = if background { &["loops"] } else { &["missed/jobs", "p99", "max", "lateness"] };
        let mut group = Group::new(name, heads);
        for task in &found {
            group.push(match task {
                Some(task) if background => vec![Cell::plain(count(task.loops))],
                Some(task) => deadline_cells(task),
                None => vec![Cell::new("-", Tone::Dim); heads.len()],
            });
        }
        group
    };
    names.iter().map(group).collect()
}

fn deadline_cells(task: &TaskResult) -> Vec<Cell> {
    let missed = format!("{}/{}", count(task.missed), count(task.jobs));
    let tone = if task.missed > 0 { Tone::Bad } else { Tone::Plain };
    let (p99, max) = match &task.response_us {
        Some(response) => (Cell::plain(us(response.p99)), Cell::plain(us(response.max))),
        None if task.jobs > 0 => {
            let starved = Cell::new("starved", Tone::Bad);
            return vec![Cell::new(missed, tone), starved.clone(), starved.clone(), starved];
        }
        None => (Cell::new("-", Tone::Dim), Cell::new("-", Tone::Dim)),
    };
    let lateness = match task.lateness_us.max {
        Some(late) => Cell::new(us(late), if late > 0.0 { Tone::Bad } else { Tone::Plain }),
        None => Cell::new("-", Tone::Dim),
    };
    vec![Cell::new(missed, tone), p99, max, lateness]
}

/// Nothing when no packet was offered in any run.
fn flows(results: &Results) -> Vec<Group> {
    if results.runs.iter().flat_map(|run| &run.flows).all(|flow| flow.offered == 0) {
        return Vec::new();
    }
    let names = names(results.runs.iter().flat_map(|run| run.flows.iter().map(|flow| flow.name.as_str())));
    let group = |name: &&str| {
        let mut group = Group::new(name, &["delivered/offered", "<dropped"]);
        for run in &results.runs {
            group.push(match run.flows.iter().find(|flow| flow.name == *name) {
                Some(flow) => flow_cells(flow),
                None => vec![Cell::new("-", Tone::Dim); 2],
            });
        }
        group
    };
    names.iter().map(group).collect()
}

fn flow_cells(flow: &FlowResult) -> Vec<Cell> {
    let mut parts: Vec<String> = dropped(&flow.dropped)
        .into_iter()
        .filter(|(packets, _)| *packets > 0)
        .map(|(packets, reason)| format!("{reason} {}", count(packets)))
        .collect();
    let lost = !parts.is_empty();
    if flow.in_flight > 0 {
        parts.push(format!("(in flight {})", count(flow.in_flight)));
    }
    let tone = if lost && flow.name != "background" { Tone::Warn } else { Tone::Plain };
    let text = if parts.is_empty() { "-".into() } else { parts.join(" ") };
    let delivered = format!("{}/{}", count(flow.delivered), count(flow.offered));
    vec![Cell::new(delivered, tone), Cell::new(text, if parts.is_empty() { Tone::Dim } else { tone })]
}

fn shares(results: &Results) -> Group {
    let mut group = Group::new("share of the CPU, %", &["ISR", "network", "tasks", "idle"]);
    for run in &results.runs {
        let cpu = &run.cpu;
        group.push([cpu.isr, cpu.net, cpu.tasks, cpu.idle].map(|share| Cell::plain(share_of_cpu(share))).to_vec());
    }
    group
}

/// With one decimal throughout, so that the points stand below each other.
fn share_of_cpu(share: f64) -> String {
    match percent(share) {
        text if text.contains('.') || !share.is_finite() => text,
        _ => format!("{:.1}", share * 100.0),
    }
}

fn interrupts(results: &Results) -> Group {
    let mut group = Group::new("interrupts, times in µs", &["count", "of NIC", "longest", "longest off"]);
    let time = |cycles: u64| Cell::plain(us(cycles as f64 * 1e6 / results.cpu_hz.max(1) as f64));
    for run in &results.runs {
        let seen = &run.interrupts;
        let numbers = [seen.count, seen.nic].map(|number| Cell::plain(count(number)));
        group.push(numbers.into_iter().chain([time(seen.cycles_max), time(seen.off_cycles_max)]).collect());
    }
    group
}

fn buffers(results: &Results) -> Group {
    let mut group = Group::new("buffers", &["free/pool", "leaked"]);
    for run in &results.runs {
        let seen = &run.buffers;
        let tone = if seen.leaked > 0 { Tone::Bad } else { Tone::Plain };
        let free = format!("{}/{}", count(seen.free_at_end), count(seen.pool));
        group.push(vec![Cell::plain(free), Cell::new(count(seen.leaked), tone)]);
    }
    group
}

/// The verdicts, one variant per paragraph.
fn closing(results: &Results, width: usize, color: bool) -> String {
    let mut text = grid::paint("Verdict", "1;4", color) + "\n";
    for verdict in verdicts(results) {
        let code = if verdict.keeps && !verdict.unanswered { "1;32" } else { "1;31" };
        let whole = format!("{}: {}", verdict.title, verdict.sentences.join(" "));
        let lines = wrap(&whole, width);
        let rest = lines.strip_prefix(verdict.title.as_str()).unwrap_or(&lines);
        text += &format!("{}{rest}\n", grid::paint(&verdict.title, code, color));
    }
    let sum = conservation(results);
    text + &grid::paint(&wrap(&sum.sentence, width), if sum.holds { "" } else { "1;31" }, color) + "\n"
}

/// Breaks at spaces; all lines but the first are indented. A title with spaces may break inside; so be it.
fn wrap(text: &str, width: usize) -> String {
    const GLUE: char = '\u{a0}';
    let text = text.replace(" %", "\u{a0}%").replace(" µs", "\u{a0}µs");
    let (mut lines, mut used) = (String::new(), 0);
    for word in text.split(' ') {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > width.max(40) {
            lines += "\n  ";
            used = 2;
        } else if used > 0 {
            lines.push(' ');
            used += 1;
        }
        lines += word;
        used += length;
    }
    lines.replace(GLUE, " ")
}

fn names<'a>(all: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names = Vec::new();
    for name in all {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
