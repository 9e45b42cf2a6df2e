// SPDX-License-Identifier: Apache-2.0
//! What the page's scripts read: the results as in `results.json`, and timelines as flat lists of numbers.

use serde::Serialize;

use super::sweep::Sweep;
use super::verdict::{Conservation, Verdict, conservation, verdicts};
use crate::results::{Results, Run};
use crate::timeline::{Fate, LaneKind, Stage, Timeline};

/// Everything the page shows.
#[derive(Debug, Serialize)]
pub struct Page<'a> {
    results: &'a Results,
    sweep: Sweep,
    verdicts: Vec<Verdict>,
    conservation: Conservation,
    timelines: Vec<PageTimeline<'a>>,
}

/// A timeline; all times are cycles since its start.
#[derive(Debug, Serialize)]
struct PageTimeline<'a> {
    run: usize,
    cpu_hz: u64,
    /// The device's time at the start, in cycles.
    origin: u64,
    length: u64,
    lanes: Vec<PageLane<'a>>,
    /// Lane, start, length, and so on.
    spans: Vec<i64>,
    jobs: Vec<PageJob>,
    flows: Vec<&'a str>,
    packets: Vec<PagePacket>,
}

/// Lane, release, deadline, start, end.
type PageJob = (usize, i64, Option<i64>, Option<i64>, Option<i64>);

/// Flow, bytes, arrival, fate, then time and stage of each step.
type PagePacket = (usize, usize, i64, Option<&'static str>, Vec<i64>);

#[derive(Debug, Serialize)]
struct PageLane<'a> {
    name: &'a str,
    kind: &'static str,
    priority: u32,
}

impl<'a> Page<'a> {
    /// Collects what the page needs. Timelines of runs that do not exist are left out.
    pub fn new(results: &'a Results, timelines: &'a [(usize, Timeline)]) -> Self {
        let known = timelines.iter().filter(|(run, _)| *run < results.runs.len());
        Self {
            results,
            sweep: Sweep::of(results),
            verdicts: verdicts(results),
            conservation: conservation(results),
            timelines: known.map(|(run, timeline)| page_timeline(*run, &results.runs[*run], timeline)).collect(),
        }
    }
}

/// Flows stand in the order of the scenario, `background` last, whichever packet came first.
fn flow_names<'a>(run: &'a Run, timeline: &Timeline) -> Vec<&'a str> {
    let seen = |name: &str| timeline.packets.iter().any(|packet| packet.flow == name);
    run.flows.iter().map(|flow| flow.name.as_str()).filter(|name| seen(name)).collect()
}

fn page_timeline<'a>(run: usize, found: &'a Run, timeline: &'a Timeline) -> PageTimeline<'a> {
    let at = |cycle: u64| (cycle as i64).wrapping_sub(timeline.start as i64);
    let lanes =
        timeline.lanes.iter().map(|lane| PageLane { name: &lane.name, kind: kind(lane.kind), priority: lane.priority });
    let known = |lane: usize| lane < timeline.lanes.len();
    let mut flows: Vec<&str> = flow_names(found, timeline);
    let mut packets = Vec::with_capacity(timeline.packets.len());
    for packet in &timeline.packets {
        let flow = flows.iter().position(|name| *name == packet.flow).unwrap_or_else(|| {
            flows.push(&packet.flow);
            flows.len() - 1
        });
        let steps = packet.steps.iter().flat_map(|(cycle, stage)| [at(*cycle), stage_index(*stage)]).collect();
        packets.push((flow, packet.bytes, at(packet.arrival), packet.fate.map(Fate::label), steps));
    }
    let spans = timeline.spans.iter().filter(|span| known(span.lane));
    let jobs = timeline.jobs.iter().filter(|job| known(job.lane));
    PageTimeline {
        run,
        cpu_hz: timeline.cpu_hz.max(1),
        origin: timeline.start,
        length: timeline.end.saturating_sub(timeline.start),
        lanes: lanes.collect(),
        spans: spans.flat_map(|s| [s.lane as i64, at(s.start), at(s.end).wrapping_sub(at(s.start))]).collect(),
        jobs: jobs.map(|j| (j.lane, at(j.release), j.deadline.map(at), j.start.map(at), j.end.map(at))).collect(),
        flows,
        packets,
    }
}

fn kind(kind: LaneKind) -> &'static str {
    match kind {
        LaneKind::Isr => "isr",
        LaneKind::Net => "net",
        LaneKind::Task => "task",
        LaneKind::Idle => "idle",
    }
}

/// The index into the page's list of stage names.
fn stage_index(stage: Stage) -> i64 {
    match stage {
        Stage::Ram => 0,
        Stage::Driver => 1,
        Stage::Stack => 2,
        Stage::Socket => 3,
        Stage::Task => 4,
        Stage::Freed => 5,
        Stage::Queue => 6,
    }
}
