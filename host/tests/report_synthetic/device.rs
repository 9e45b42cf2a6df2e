// SPDX-License-Identifier: Apache-2.0
//! A little device: fixed priorities, a handler, driver and stack tasks, a ring and a socket with limits.

use std::collections::VecDeque;

use weir::timeline::{Fate, Job, Lane, LaneKind, Packet, Span, Stage, Timeline};

const CPU_HZ: u64 = 100_000_000;
const ISR: usize = 0;
const DRIVER: usize = 1;
const STACK: usize = 2;
const AXIS: usize = 3;
const COMMAND: usize = 4;
const IDLE: usize = 5;
const RING: usize = 32;
const SOCKET: usize = 6;

/// What a lane has to do next: cycles left, and the packet or job it is about.
type Work = (u64, usize);

struct Device {
    timeline: Timeline,
    queues: Vec<VecDeque<Work>>,
    now: u64,
}

/// `ms` milliseconds of a device under `pps` packets per second, from a clock that does not begin at 0.
pub fn timeline(ms: u64, pps: u64) -> Timeline {
    let start = 2_000_000;
    let lane = |name: &str, kind, priority| Lane { name: name.into(), kind, priority };
    let lanes = vec![
        lane("ISR", LaneKind::Isr, 0),
        lane("eth", LaneKind::Net, 7),
        lane("tcpip", LaneKind::Net, 7),
        lane("axis", LaneKind::Task, 6),
        lane("command", LaneKind::Task, 5),
        lane("idle", LaneKind::Idle, 0),
    ];
    let end = start + ms * CPU_HZ / 1_000;
    let timeline = Timeline { cpu_hz: CPU_HZ, start, end, lanes, ..Timeline::default() };
    let mut device = Device { timeline, queues: vec![VecDeque::new(); 6], now: start };
    device.run(end, pps);
    device.timeline.jobs.sort_by_key(|job| job.release);
    device.timeline
}

impl Device {
    fn run(&mut self, end: u64, pps: u64) {
        let mut random: u64 = 42;
        let (mut tick, mut flood, mut command) = (self.now, self.now + 500, self.now + 30_000);
        while self.now < end {
            let next = tick.min(flood).min(command).min(end);
            self.execute(next);
            if self.now >= end {
                break;
            }
            if next == tick {
                self.release(AXIS, tick, 100_000, 30_000);
                tick += 100_000;
            } else if next == command {
                self.arrive("command", 74);
                command += 200_000;
            } else {
                self.arrive("background", 60);
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                flood += 200 + (random >> 33) % (2 * CPU_HZ / pps.max(1)).max(1);
            }
        }
    }

    fn release(&mut self, lane: usize, at: u64, deadline: u64, work: u64) {
        let index = self.timeline.jobs.len();
        self.timeline.jobs.push(Job { lane, release: at, deadline: Some(at + deadline), start: None, end: None });
        self.queues[lane].push_back((work, index));
    }

    fn arrive(&mut self, flow: &str, bytes: usize) {
        let held: usize = [ISR, DRIVER].iter().map(|lane| self.queues[*lane].len()).sum();
        let index = self.timeline.packets.len();
        let full = held >= RING;
        self.timeline.packets.push(Packet {
            flow: flow.into(),
            bytes,
            arrival: self.now,
            steps: if full { Vec::new() } else { vec![(self.now + 40, Stage::Ram)] },
            fate: full.then_some(Fate::NicFull),
        });
        if !full {
            self.queues[ISR].push_back((480, index));
        }
    }

    /// Runs the most urgent work until `until`.
    fn execute(&mut self, until: u64) {
        while self.now < until {
            let lane = (0..IDLE).find(|lane| !self.queues[*lane].is_empty()).unwrap_or(IDLE);
            let begun = self.now;
            let Some((left, index)) = self.queues[lane].front().copied() else {
                self.now = until;
                self.span(IDLE, begun);
                continue;
            };
            if lane >= AXIS {
                self.timeline.jobs[index].start.get_or_insert(begun);
            }
            let slice = left.min(until - self.now);
            self.now += slice;
            self.span(lane, begun);
            self.queues[lane][0].0 -= slice;
            if slice == left {
                self.queues[lane].pop_front();
                self.done(lane, index);
            }
        }
    }

    fn done(&mut self, lane: usize, index: usize) {
        let now = self.now;
        match lane {
            ISR => self.queues[DRIVER].push_back((1_900, index)),
            DRIVER => {
                self.step(index, now.saturating_sub(1_500), Stage::Driver);
                self.queues[STACK].push_back((4_200, index));
            }
            STACK => self.deliver(index),
            _ => {
                let job = &mut self.timeline.jobs[index];
                job.end = Some(now);
                let (release, begun) = (job.release, job.start.unwrap_or(now));
                if lane == COMMAND
                    && let Some(packet) = self.timeline.packets.iter().position(|p| p.arrival == release)
                {
                    self.step(packet, begun + 100, Stage::Task);
                    self.step(packet, now - 100, Stage::Freed);
                    self.timeline.packets[packet].fate = Some(Fate::Delivered);
                }
            }
        }
    }

    fn deliver(&mut self, index: usize) {
        let now = self.now;
        self.step(index, now - 4_000, Stage::Stack);
        if self.timeline.packets[index].flow != "command" {
            self.step(index, now - 50, Stage::Freed);
            self.timeline.packets[index].fate = Some(Fate::Stack);
        } else if self.queues[COMMAND].len() >= SOCKET {
            self.step(index, now - 50, Stage::Freed);
            self.timeline.packets[index].fate = Some(Fate::Socket);
        } else {
            self.step(index, now - 50, Stage::Socket);
            let arrival = self.timeline.packets[index].arrival;
            self.release(COMMAND, arrival, 200_000, 5_000);
        }
    }

    fn step(&mut self, packet: usize, at: u64, stage: Stage) {
        let steps = &mut self.timeline.packets[packet].steps;
        let last = steps.last().map_or(0, |(cycle, _)| *cycle);
        steps.push((at.max(last), stage));
    }

    fn span(&mut self, lane: usize, start: u64) {
        match self.timeline.spans.last_mut() {
            Some(last) if last.lane == lane && last.end == start => last.end = self.now,
            _ => self.timeline.spans.push(Span { lane, start, end: self.now }),
        }
    }
}
