// SPDX-License-Identifier: Apache-2.0
//! Turns what happened along a sweep into a sentence: neighbouring loads with the same outcome are told together.

use super::format;
use super::sweep::named_value;
use crate::results::{Dropped, FlowResult, TaskResult};

/// Where the runs of a series stand.
pub struct Points<'a> {
    /// The swept key, if there is one.
    pub key: Option<&'a str>,
    /// The value of every run, ascending.
    pub x: Vec<f64>,
}

impl Points<'_> {
    /// `flood 5,000 pps`.
    pub fn at(&self, x: f64) -> String {
        self.key.map_or(String::new(), |key| named_value(key, x))
    }

    /// ` at every load (flood 0 to 20,000 pps)`; nothing without a sweep.
    pub fn everywhere(&self) -> String {
        match (self.key, self.x.as_slice()) {
            (Some(key), [first, .., last]) => {
                format!(" from {} {} to {}", format::clean(key), format::load(*first), bare(key, *last))
            }
            (Some(key), [only]) => format!(" at {}", named_value(key, *only)),
            _ => String::new(),
        }
    }

    /// The loads above 0 at which none of the flow's packets were offered, though some were at others.
    pub fn silent(&self, flows: &[Option<&FlowResult>]) -> Option<String> {
        self.loads(flows.iter().map(|flow| flow.is_some_and(|f| f.offered == 0)))
    }

    /// The loads above 0 at which the task had no job.
    pub fn idle(&self, tasks: &[Option<&TaskResult>]) -> Option<String> {
        self.loads(tasks.iter().map(|task| outcome(*task) == Outcome::Idle))
    }

    /// The loads above 0 of which this holds.
    fn loads(&self, holds: impl Iterator<Item = bool>) -> Option<String> {
        let key = self.key?;
        let chosen = holds.zip(&self.x).filter(|(holds, x)| *holds && **x != 0.0);
        let loads: Vec<String> = chosen.map(|(_, x)| format::load(*x)).collect();
        (!loads.is_empty()).then(|| {
            let unit = super::sweep::unit(key);
            let gap = if unit.is_empty() { "" } else { " " };
            format!("{} {}{gap}{unit}", format::clean(key), format::list(&loads))
        })
    }

    /// Where the first run of several stands, when nothing above it is like it: `without flood`, `at the lowest flood,
    /// 1,000 pps`.
    fn lowest(&self) -> String {
        let (Some(key), Some(&x)) = (self.key, self.x.first()) else {
            return String::new();
        };
        let name = format::clean(key);
        match key.contains('.') {
            true => format!("at {}", named_value(key, x)),
            false if x == 0.0 => format!("without {name}"),
            false => format!("at the lowest {name}, {}", bare(key, x)),
        }
    }

    /// Where runs `first..=last` stand: `up to`, `at`, `from` or `from … to`. Only the first mention names the key.
    fn range(&self, first: usize, last: usize, named: bool) -> String {
        let Some(key) = self.key else {
            return String::new();
        };
        let name = |x: f64| {
            if named { named_value(key, x) } else { format::load(x) }
        };
        let (a, b, end) = (self.x[first], self.x[last], self.x.len() - 1);
        match () {
            () if first == 0 && last == end => self.everywhere().trim_start().to_string(),
            () if first == last => format!("at {}", name(a)),
            () if first == 0 => format!("up to {}", name(b)),
            () if last == end => format!("from {}", name(a)),
            () if named => format!("from {} {} to {}", format::clean(key), format::load(a), bare(key, b)),
            () => format!("from {} to {}", format::load(a), format::load(b)),
        }
    }
}

/// `1 run`, `2 runs`.
pub fn number(value: u64, noun: &str) -> String {
    format!("{} {noun}{}", format::count(value), if value == 1 { "" } else { "s" })
}

fn bare(key: &str, x: f64) -> String {
    let unit = super::sweep::unit(key);
    format!("{}{}{unit}", format::load(x), if unit.is_empty() { "" } else { " " })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    None,
    Idle,
    Keeps,
    Misses,
    MissesAll,
    Starves,
}

fn outcome(task: Option<&TaskResult>) -> Outcome {
    match task {
        None => Outcome::None,
        Some(task) if task.jobs == 0 => Outcome::Idle,
        Some(task) if task.missed == 0 => Outcome::Keeps,
        Some(task) if task.response_us.is_none() => Outcome::Starves,
        Some(task) if task.missed >= task.jobs => Outcome::MissesAll,
        Some(_) => Outcome::Misses,
    }
}

/// Whether a task had nothing to do at a load that is not just the absence of one.
pub fn has_idle_run(points: &Points, tasks: &[Option<&TaskResult>]) -> bool {
    tasks.iter().zip(&points.x).any(|(task, x)| outcome(*task) == Outcome::Idle && (points.key.is_none() || *x != 0.0))
}

/// `keeps every deadline up to flood 5,000 pps; at 10,000 it misses 12 of 200; from 15,000 it starves`.
pub fn deadlines(points: &Points, tasks: &[Option<&TaskResult>]) -> String {
    let outcomes: Vec<Outcome> = tasks.iter().map(|task| outcome(*task)).collect();
    let keeps_only_first = outcomes.len() > 1
        && outcomes.iter().position(|o| *o == Outcome::Keeps) == Some(0)
        && !outcomes[1..].contains(&Outcome::Keeps);
    let mut clauses: Vec<String> = Vec::new();
    for (outcome, first, last) in segments(&outcomes) {
        // Without the traffic that it waits for a task has no job: nothing to tell.
        let absent = outcome == Outcome::Idle && points.key.is_some() && last == 0 && points.x[0] == 0.0;
        if outcome == Outcome::None || absent {
            continue;
        }
        if keeps_only_first && first == 0 {
            clauses.push(format!("keeps its deadlines only {}", points.lowest()));
            continue;
        }
        let leading = clauses.is_empty();
        let place = points.range(first, last, leading || (keeps_only_first && clauses.len() == 1));
        let what = deed(outcome, points, tasks, (first, last), leading);
        clauses.push(match (leading, place.is_empty()) {
            (_, true) => what,
            (true, false) => format!("{what} {place}"),
            (false, false) => format!("{place} it {what}"),
        });
    }
    clauses.join("; ")
}

fn deed(
    outcome: Outcome,
    points: &Points,
    tasks: &[Option<&TaskResult>],
    (first, last): (usize, usize),
    leading: bool,
) -> String {
    match outcome {
        Outcome::None => String::new(),
        Outcome::Idle => "gets no job".into(),
        Outcome::Keeps if leading => "keeps every deadline".into(),
        Outcome::Keeps => "keeps them".into(),
        Outcome::Starves => "starves (no job completes)".into(),
        Outcome::MissesAll => "misses every deadline".into(),
        Outcome::Misses => {
            let seen: Vec<(f64, &TaskResult)> =
                (first..=last).filter_map(|i| Some((*points.x.get(i)?, tasks[i]?))).collect();
            misses(points, &seen)
        }
    }
}

/// How many jobs miss: at the first of the loads, and where it is worst.
fn misses(points: &Points, seen: &[(f64, &TaskResult)]) -> String {
    let share = |task: &TaskResult| task.missed as f64 / task.jobs.max(1) as f64;
    let worst = seen.iter().max_by(|a, b| share(a.1).total_cmp(&share(b.1)));
    let (Some((x, task)), Some((worst_x, worst))) = (seen.first(), worst) else {
        return String::new();
    };
    let late = seen.iter().filter_map(|(_, task)| task.lateness_us.max).max_by(f64::total_cmp);
    // Messages that were dropped are missed without being late.
    let late = late.filter(|us| *us > 0.0);
    let late = late.map_or(String::new(), |us| format!("up to {} µs late", format::us(us)));
    let of = |task: &TaskResult| format!("{} of {}", format::count(task.missed), format::count(task.jobs));
    let tail = |start: &str| if late.is_empty() { String::new() } else { format!("{start}{late}") };
    if seen.len() == 1 {
        let end = if late.is_empty() { "" } else { ")" };
        return format!(
            "misses {} of {}{}{end}",
            format::count(task.missed),
            number(task.jobs, "deadline"),
            tail(" (")
        );
    }
    let at = |x: f64| if points.key.is_some() { format!(" at {}", format::load(x)) } else { String::new() };
    let first = if x == worst_x { String::new() } else { format!("{}{}; ", of(task), at(*x)) };
    format!("misses deadlines ({first}at worst {}{}{})", of(worst), at(*worst_x), tail("; "))
}

/// `loses packets from flood 10,000 pps; at 20,000 it gets 3 of 100 (90 no room in NIC or ring)`.
pub fn losses(points: &Points, flows: &[Option<&FlowResult>]) -> String {
    let lost = |flow: &Option<&FlowResult>| flow.map_or(0, |flow| flow.dropped.total());
    let first = flows.iter().position(|flow| lost(flow) > 0).unwrap_or(0);
    // The worst run: the largest share lost, the later one of equals.
    let share = |flow: &FlowResult| flow.dropped.total() as f64 / flow.offered.max(1) as f64;
    let worst = flows.iter().enumerate().filter_map(|(i, flow)| Some((i, (*flow)?)));
    let Some((index, flow)) = worst.max_by(|a, b| share(a.1).total_cmp(&share(b.1))) else {
        return String::new();
    };
    let gets = format!("gets {} of {}", format::count(flow.delivered), number(flow.offered, "packet"));
    let why = reasons(&flow.dropped);
    match points.key {
        None => format!("{gets} ({why})"),
        Some(_) if index == first => format!("{gets} at {} ({why}){}", points.at(points.x[index]), before(first)),
        Some(_) => {
            let (from, at) = (points.at(points.x[first]), format::load(points.x[index]));
            format!("loses packets from {from}; at {at} it {gets} ({why})")
        }
    }
}

fn before(first: usize) -> &'static str {
    if first == 0 { "" } else { ", and loses none below" }
}

/// The reasons for drops, most frequent first.
fn reasons(dropped: &Dropped) -> String {
    let mut reasons = super::table::dropped(dropped);
    reasons.retain(|(count, _)| *count > 0);
    reasons.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let words = |key: &str| match key {
        "nic_filter" => "filtered by the NIC",
        "nic_full" => "no room in NIC or ring",
        "flow_limit" => "over the flow's contract",
        "recycled" => "recycled for more urgent ones",
        "overall_limit" => "over the overall limit",
        "stack" => "dropped by driver or IP stack",
        _ => "socket queue full",
    };
    let texts: Vec<String> =
        reasons.iter().map(|(count, key)| format!("{} {}", format::count(*count), words(key))).collect();
    texts.join(", ")
}

/// Runs of equal neighbours: value, first index, last index.
fn segments(outcomes: &[Outcome]) -> Vec<(Outcome, usize, usize)> {
    let mut segments: Vec<(Outcome, usize, usize)> = Vec::new();
    for (index, outcome) in outcomes.iter().enumerate() {
        match segments.last_mut() {
            Some((last, _, end)) if last == outcome => *end = index,
            _ => segments.push((*outcome, index, index)),
        }
    }
    segments
}
