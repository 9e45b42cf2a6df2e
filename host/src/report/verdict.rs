// SPDX-License-Identifier: Apache-2.0
//! The answer in plain words: which tasks miss, from which load on, who took the CPU, where the packets went.

use serde::Serialize;

use super::format;
use super::peers;
use super::phrase::{self, Points};
use super::sweep::{Series, Sweep, named_value};
use crate::results::{FlowResult, Results, Run, TaskResult};

/// What the runs of one variant say.
#[derive(Debug, Clone, Serialize)]
pub struct Verdict {
    /// The variant, and the values of swept keys other than the first.
    pub title: String,
    /// The variant alone.
    pub variant: String,
    /// Values of the swept keys other than the first.
    pub fixed: Vec<(String, f64)>,
    /// Whether no job of any task missed its deadline.
    pub keeps: bool,
    /// Whether a peer's requests failed or stayed unanswered in some run.
    pub unanswered: bool,
    /// One sentence per subject: deadlines, peers, packets, CPU.
    pub sentences: Vec<String>,
}

/// Whether packets and buffers add up.
#[derive(Debug, Clone, Serialize)]
pub struct Conservation {
    /// Nothing is unaccounted for.
    pub holds: bool,
    /// In plain words.
    pub sentence: String,
}

/// One verdict per variant (and per combination of the swept keys other than the first).
pub fn verdicts(results: &Results) -> Vec<Verdict> {
    let sweep = Sweep::of(results);
    sweep.series(results).iter().map(|series| verdict(&sweep, series)).collect()
}

/// Adds up every flow and every pool.
pub fn conservation(results: &Results) -> Conservation {
    let mut faults = Vec::new();
    let mut packets: u64 = 0;
    for run in &results.runs {
        for flow in &run.flows {
            packets = packets.saturating_add(flow.offered);
            let found = flow.delivered.saturating_add(flow.dropped.total()).saturating_add(flow.in_flight);
            if found != flow.offered {
                let (offered, found) = (format::count(flow.offered), format::count(found));
                faults.push(format!("{}: flow {}: {offered} offered, {found} found", run_name(run), flow.name));
            }
        }
        if run.buffers.leaked > 0 {
            let (leaked, pool) = (format::count(run.buffers.leaked), format::count(run.buffers.pool));
            faults.push(format!("{}: {leaked} of {pool} buffers leaked", run_name(run)));
        }
    }
    let runs = phrase::number(results.runs.len() as u64, "run");
    let sentence = match faults.as_slice() {
        [] if results.runs.is_empty() => "There are no runs.".into(),
        [] if packets == 0 => "No buffer leaked.".into(),
        [] => format!("All {} packets of {runs} are accounted for; no buffer leaked.", format::count(packets)),
        [first, rest @ ..] => {
            let more = if rest.is_empty() { String::new() } else { format!(" (and {} more)", rest.len()) };
            format!("FAULT in the device's software: {first}{more}.")
        }
    };
    Conservation { holds: faults.is_empty(), sentence }
}

fn run_name(run: &Run) -> String {
    let loads = run.loads.iter().map(|(key, value)| named_value(key, *value));
    std::iter::once(run.variant.clone()).chain(loads).collect::<Vec<_>>().join(", ")
}

fn verdict(sweep: &Sweep, series: &Series) -> Verdict {
    let fixed = series.fixed.iter().map(|(key, value)| named_value(key, *value));
    let title = std::iter::once(format::clean(series.variant)).chain(fixed).collect::<Vec<_>>().join(", ");
    let points = Points { key: sweep.axis.as_deref(), x: series.runs.iter().map(|run| sweep.x(run)).collect() };
    let mut sentences = deadlines(&points, series);
    let (peers, unanswered) = peers::sentences(&points, series);
    sentences.extend(peers);
    sentences.extend(packets(&points, series));
    sentences.extend(series.runs.last().map(|run| cpu(&points, run)));
    Verdict {
        title,
        variant: series.variant.into(),
        fixed: series.fixed.clone(),
        keeps: series.runs.iter().all(|run| run.tasks.iter().all(|task| task.missed == 0)),
        unanswered,
        sentences,
    }
}

/// Names in the order of the first run that has them.
pub(super) fn names<'a, T: 'a>(items: impl Iterator<Item = &'a T>, name: impl Fn(&'a T) -> &'a str) -> Vec<&'a str> {
    let mut all = Vec::new();
    for item in items {
        if !all.contains(&name(item)) {
            all.push(name(item));
        }
    }
    all
}

fn deadlines(points: &Points, series: &Series) -> Vec<String> {
    // A receiving task may never have had a job; it is told from a background task by its flow.
    let expects = |run: &Run, name: &str| run.flows.iter().any(|flow| flow.name == name);
    let all = series.runs.iter().flat_map(|run| run.tasks.iter().filter(|t| t.jobs > 0 || expects(run, &t.name)));
    let tasks = names(all, |t| &t.name);
    let of = |name: &str| -> Vec<Option<&TaskResult>> {
        series.runs.iter().map(|run| run.tasks.iter().find(|task| task.name == name)).collect()
    };
    // Without a deadline a task has no lateness, but it may still starve.
    let (timed, untimed): (Vec<_>, Vec<_>) = tasks.into_iter().partition(|name| {
        of(name).iter().flatten().any(|task| task.lateness_us.max.is_some())
            || of(name).iter().flatten().all(|task| task.jobs == 0)
    });
    let (keep, miss): (Vec<_>, Vec<_>) = timed.into_iter().partition(|name| {
        let tasks = of(name);
        tasks.iter().flatten().all(|task| task.missed == 0) && !phrase::has_idle_run(points, &tasks)
    });
    let mut sentences: Vec<String> =
        miss.iter().map(|name| format!("{} {}.", format::clean(name), phrase::deadlines(points, &of(name)))).collect();
    sentences.extend(untimed.iter().filter_map(|name| {
        let loads = points.idle(&of(name))?;
        Some(format!("{} has no deadline, and gets no job at {loads}.", format::clean(name)))
    }));
    if !keep.is_empty() {
        let verb = if keep.len() == 1 { "keeps" } else { "keep" };
        let worst = keep.iter().flat_map(|name| of(name)).flatten().filter_map(|task| task.lateness_us.max);
        let spare = worst
            .max_by(f64::total_cmp)
            .map_or(String::new(), |lateness| format!("; the closest call leaves {} µs", format::us(-lateness)));
        let who = format::list(&keep.iter().map(|name| format::clean(name)).collect::<Vec<_>>());
        sentences.push(format!("{who} {verb} every deadline{}{spare}.", points.everywhere()));
    }
    sentences
}

fn packets(points: &Points, series: &Series) -> Vec<String> {
    let wanted = |flow: &&FlowResult| flow.name != "background" && flow.offered > 0;
    let flows = names(series.runs.iter().flat_map(|run| &run.flows).filter(wanted), |f| &f.name);
    let of = |name: &str| -> Vec<Option<&FlowResult>> {
        series.runs.iter().map(|run| run.flows.iter().find(|flow| flow.name == name)).collect()
    };
    let silent: Vec<(&str, String)> =
        flows.iter().filter_map(|name| Some((*name, points.silent(&of(name))?))).collect();
    let (lossy, flows): (Vec<_>, Vec<_>) =
        flows.into_iter().partition(|name| of(name).iter().flatten().any(|flow| flow.dropped.total() > 0));
    let whole: Vec<&str> = flows.into_iter().filter(|name| silent.iter().all(|(other, _)| other != name)).collect();
    let mut sentences: Vec<String> =
        lossy.iter().map(|name| format!("{} {}.", format::clean(name), phrase::losses(points, &of(name)))).collect();
    if !whole.is_empty() {
        let who = format::list(&whole.iter().map(|name| format::clean(name)).collect::<Vec<_>>());
        let verb = if whole.len() == 1 { "loses" } else { "lose" };
        sentences.push(format!("{who} {verb} no packet{}.", points.everywhere()));
    }
    sentences.extend(
        silent.iter().map(|(name, loads)| format!("No packet for {} arrives at {loads}.", format::clean(name))),
    );
    sentences
}

fn cpu(points: &Points, run: &Run) -> String {
    let share = |value: f64| format!("{} %", format::percent(value));
    let idle = if run.cpu.idle >= 0.01 { format!("; {} is idle", share(run.cpu.idle)) } else { String::new() };
    let text = format!(
        "interrupts take {} of the CPU, network tasks {}, the tasks {}{idle}.",
        share(run.cpu.isr),
        share(run.cpu.net),
        share(run.cpu.tasks),
    );
    match points.x.last() {
        Some(&x) if points.key.is_some() => format!("At {} {text}", points.at(x)),
        _ => format!("I{}", &text[1..]),
    }
}
