// SPDX-License-Identifier: Apache-2.0
//! A timeline as a Perfetto trace: who had the CPU, every job, every packet, and arrows from a packet's arrival
//! over handler, driver and stack to the job that it released. Opens in ui.perfetto.dev.

use super::perfetto_arrows::{Arrows, kind};
use super::perfetto_write::{Row, Rows, Writer, arg_flag, arg_text, arg_us, arg_whole};
use crate::timeline::{Job, LaneKind, Packet, Stage, Timeline};

const CPU: u64 = 1;
const JOBS: u64 = 2;
const PACKETS: u64 = 3;
const HELD: u64 = 4;
const LANES: u64 = 100;
/// Further tracks are numbered from here, one after the other.
const OTHERS: u64 = 1_000_000;

/// The bytes of `timeline` as a Perfetto trace; times are nanoseconds of the device's clock.
pub fn perfetto(timeline: &Timeline) -> Vec<u8> {
    let mut writer = Writer::new(timeline.cpu_hz, OTHERS);
    writer.group(CPU, "CPU");
    writer.group(JOBS, "Jobs");
    writer.group(PACKETS, "Packets");
    let arrows = Arrows::of(timeline);
    lanes(&mut writer, timeline, &arrows);
    jobs(&mut writer, timeline, &arrows);
    packets(&mut writer, timeline, &arrows);
    held(&mut writer, timeline);
    writer.finish()
}

/// What the stretch of a packet's life is called that begins with a stage.
fn stretch(stage: Stage) -> &'static str {
    match stage {
        Stage::Ram => "waits in ring",
        Stage::Driver => "driver",
        Stage::Stack => "IP stack",
        Stage::Socket => "waits in socket",
        Stage::Task => "task",
        Stage::Queue => "waits in flow queue",
        Stage::Freed => "free",
    }
}

fn lanes(writer: &mut Writer, timeline: &Timeline, arrows: &Arrows) {
    for (index, lane) in timeline.lanes.iter().enumerate() {
        let name = match lane.kind {
            LaneKind::Net if lane.priority == 0 => format!("{} (priority of its packets)", lane.name),
            LaneKind::Net | LaneKind::Task => format!("{} (priority {})", lane.name, lane.priority),
            LaneKind::Isr | LaneKind::Idle => lane.name.clone(),
        };
        writer.track(LANES + index as u64, CPU, &name, index);
    }
    for (span, ids) in timeline.spans.iter().zip(&arrows.spans) {
        // Idle time is what is left: slices for it would only hide the rest.
        if kind(timeline, span).is_some_and(|kind| kind != LaneKind::Idle) {
            let row = Row(LANES + span.lane as u64);
            writer.slice(row, span.start, span.end, &timeline.lanes[span.lane].name, Vec::new(), ids.clone());
        }
    }
    for &(packet, lane, cycle, stage) in &arrows.moments {
        let flow = &timeline.packets[packet].flow;
        let name = format!("{}: {flow} #{}", stage.label(), packet + 1);
        writer.instant(Row(LANES + lane as u64), cycle, &name, Vec::new(), vec![packet as u64 + 1]);
    }
}

fn jobs(writer: &mut Writer, timeline: &Timeline, arrows: &Arrows) {
    for (lane, described) in timeline.lanes.iter().enumerate() {
        let mut rows = Rows::new(JOBS, &described.name, 2 * lane);
        let mut marks: Option<Row> = None;
        let mut number = 0;
        for (job, ids) in timeline.jobs.iter().zip(&arrows.jobs).filter(|(job, _)| job.lane == lane) {
            number += 1;
            let end = job.end.unwrap_or(timeline.end).max(job.release);
            let row = rows.place(writer, job.release, end);
            let name =
                format!("{} #{number}{}", described.name, if job.end.is_none() { " (not completed)" } else { "" });
            writer.slice(row, job.release, end, &name, job_args(writer, timeline, job), Vec::new());
            if let Some(start) = job.start.filter(|start| *start < end) {
                writer.slice(row, start.max(job.release), end, "started", Vec::new(), ids.clone());
            }
            if let Some(deadline) = job.deadline {
                let title = format!("{} deadlines", described.name);
                let row = *marks.get_or_insert_with(|| writer.row(JOBS, &title, 2 * lane + 1));
                let name = if missed(timeline, job) { "deadline MISSED" } else { "deadline" };
                writer.instant(row, deadline, name, Vec::new(), Vec::new());
            }
        }
    }
}

fn missed(timeline: &Timeline, job: &Job) -> bool {
    job.deadline.is_some_and(|deadline| job.end.unwrap_or(timeline.end) > deadline)
}

fn job_args(writer: &Writer, timeline: &Timeline, job: &Job) -> Vec<super::perfetto_proto::DebugAnnotation> {
    let mut args = Vec::new();
    if let Some(end) = job.end {
        args.push(arg_us("response_us", writer.us(end) - writer.us(job.release)));
    }
    if let Some(deadline) = job.deadline {
        args.push(arg_us("deadline_us", writer.us(deadline) - writer.us(job.release)));
        if let Some(end) = job.end {
            args.push(arg_us("lateness_us", writer.us(end) - writer.us(deadline)));
        }
        args.push(arg_flag("missed", missed(timeline, job)));
    }
    args
}

fn packets(writer: &mut Writer, timeline: &Timeline, arrows: &Arrows) {
    let mut flows: Vec<(&str, Rows)> = Vec::new();
    for (index, packet) in timeline.packets.iter().enumerate() {
        let known = flows.iter().position(|(name, _)| *name == packet.flow).unwrap_or_else(|| {
            flows.push((&packet.flow, Rows::new(PACKETS, &packet.flow, flows.len() + 1)));
            flows.len() - 1
        });
        let ids = if arrows.used[index] { vec![index as u64 + 1] } else { Vec::new() };
        draw_packet(writer, timeline, packet, index, &mut flows[known].1, ids);
    }
}

fn draw_packet(
    writer: &mut Writer,
    timeline: &Timeline,
    packet: &Packet,
    index: usize,
    rows: &mut Rows,
    ids: Vec<u64>,
) {
    let fate = packet.fate.map_or("in flight", |fate| fate.label());
    let name = format!("{} #{} {fate}", packet.flow, index + 1);
    let mut args = vec![arg_whole("bytes", packet.bytes as i64), arg_text("fate", fate)];
    let last = packet.steps.last().map_or(packet.arrival, |(cycle, _)| *cycle);
    let end = if packet.fate.is_none() { timeline.end.max(last) } else { last }.max(packet.arrival);
    for (cycle, stage) in &packet.steps {
        args.push(arg_us(&format!("{} after us", stage.label()), writer.us(*cycle) - writer.us(packet.arrival)));
    }
    let row = rows.place(writer, packet.arrival, end);
    writer.slice(row, packet.arrival, end, &name, args, ids);
    let mut begun = (packet.arrival, "NIC");
    let steps = packet.steps.iter().map(|(cycle, stage)| (*cycle, stretch(*stage)));
    for next in steps.chain([(end, "")]) {
        if next.0 > begun.0 && next.0 <= end {
            writer.slice(row, begun.0, next.0, begun.1, Vec::new(), Vec::new());
        }
        begun = next;
    }
}

/// How many buffers hold a packet.
fn held(writer: &mut Writer, timeline: &Timeline) {
    let mut changes: Vec<(u64, i64)> = Vec::new();
    for (cycle, stage) in timeline.packets.iter().flat_map(|packet| &packet.steps) {
        match stage {
            Stage::Ram => changes.push((*cycle, 1)),
            Stage::Freed => changes.push((*cycle, -1)),
            _ => {}
        }
    }
    changes.sort_unstable();
    writer.counter_track(HELD, PACKETS, "packets in RAM", "packets");
    let mut now = 0;
    for (cycle, change) in changes {
        now += change;
        writer.count(HELD, cycle, now);
    }
}
