// SPDX-License-Identifier: Apache-2.0
//! Follows a packet through the device: which handler, which moments and which job it led to.

use crate::timeline::{LaneKind, Packet, Span, Stage, Timeline};

/// Where the arrows of the packets touch down. A packet's arrows carry its index plus one.
#[derive(Default)]
pub struct Arrows {
    /// Per span.
    pub spans: Vec<Vec<u64>>,
    /// Per job.
    pub jobs: Vec<Vec<u64>>,
    /// Moments on a lane: packet, lane, time, stage.
    pub moments: Vec<(usize, usize, u64, Stage)>,
    /// Whether a packet's arrow leads anywhere.
    pub used: Vec<bool>,
}

impl Arrows {
    /// Follows every packet of `timeline`.
    pub fn of(timeline: &Timeline) -> Self {
        let mut arrows = Arrows {
            spans: vec![Vec::new(); timeline.spans.len()],
            jobs: vec![Vec::new(); timeline.jobs.len()],
            moments: Vec::new(),
            used: vec![false; timeline.packets.len()],
        };
        let handlers: Vec<usize> =
            (0..timeline.spans.len()).filter(|&i| kind(timeline, &timeline.spans[i]) == Some(LaneKind::Isr)).collect();
        for (index, packet) in timeline.packets.iter().enumerate() {
            let id = index as u64 + 1;
            let handler = handler(timeline, &handlers, packet);
            if let Some(span) = handler {
                arrows.spans[span].push(id);
            }
            for &(cycle, stage) in &packet.steps {
                let by_software = !matches!(stage, Stage::Ram | Stage::Freed);
                if let Some(span) = span_at(timeline, cycle).filter(|_| by_software) {
                    arrows.moments.push((index, timeline.spans[span].lane, cycle, stage));
                    arrows.used[index] = true;
                }
            }
            let job = job_of(timeline, packet);
            if let Some(job) = job {
                arrows.jobs[job].push(id);
            }
            arrows.used[index] |= handler.is_some() || job.is_some();
        }
        arrows
    }
}

/// What kind of lane a span is on.
pub fn kind(timeline: &Timeline, span: &Span) -> Option<LaneKind> {
    timeline.lanes.get(span.lane).map(|lane| lane.kind)
}

/// The handler that put the packet into its flow's queue; on the stock path, the first to run between its arrival in
/// RAM and the driver taking it.
fn handler(timeline: &Timeline, handlers: &[usize], packet: &Packet) -> Option<usize> {
    let time = |wanted: Stage| packet.steps.iter().find(|(_, stage)| *stage == wanted).map(|(cycle, _)| *cycle);
    if let Some(queued) = time(Stage::Queue) {
        return span_at(timeline, queued).filter(|&span| kind(timeline, &timeline.spans[span]) == Some(LaneKind::Isr));
    }
    let (ram, driver) = (time(Stage::Ram)?, time(Stage::Driver)?);
    let next = handlers.partition_point(|&span| timeline.spans[span].start < ram);
    handlers.get(next).copied().filter(|&span| timeline.spans[span].start <= driver)
}

/// Who had the CPU at `cycle`.
fn span_at(timeline: &Timeline, cycle: u64) -> Option<usize> {
    let after = timeline.spans.partition_point(|span| span.start <= cycle);
    let index = after.checked_sub(1)?;
    let span = &timeline.spans[index];
    (cycle <= span.end && span.lane < timeline.lanes.len()).then_some(index)
}

/// The job that a packet released: the one with its release, else the one that ran when the task took the packet.
fn job_of(timeline: &Timeline, packet: &Packet) -> Option<usize> {
    let (taken, _) = packet.steps.iter().find(|(_, stage)| *stage == Stage::Task)?;
    let matches = |index: &usize| {
        let job = &timeline.jobs[*index];
        job.start.is_some() && timeline.lanes.get(job.lane).is_some_and(|lane| lane.name == packet.flow)
    };
    let first = timeline.jobs.partition_point(|job| job.release < packet.arrival);
    let after = timeline.jobs.partition_point(|job| job.release <= packet.arrival);
    let known = timeline.jobs.partition_point(|job| job.release <= *taken);
    let running = |index: &usize| timeline.jobs[*index].start <= Some(*taken);
    (first..after).find(matches).or_else(|| (0..known).rev().filter(running).find(matches))
}
