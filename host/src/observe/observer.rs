// SPDX-License-Identifier: Apache-2.0
//! One run's events in, one run's result out.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::ops::Range;

use super::cpu::{Ended, Lanes, Thread};
use super::eager::Eager;
use super::event::Observed;
use super::inversion::Inversion;
use super::jobs::TaskJobs;
use super::packets::Packets;
use super::quantiles::{cycle_quantiles, microseconds, quantiles_us};
use crate::results::{
    Buffers, Dropped, FlowResult, Lateness, LibraryResult, PathResult, PeerResult, Preempted, Run, TaskResult,
};
use crate::scenario::{Listen, Protocol, Scenario, Task, TaskKind, Variant};
use crate::timeline::{Fate, LaneKind, Packet, Stage, Timeline};
use crate::traffic::PeerStats;

/// Lane of the driver task, with the library of its network task; `tcpip_thread` is the next, then the scenario's tasks, last idle.
const DRIVER: usize = 1;
const TCPIP: usize = 2;
const FIRST_TASK: usize = 3;
/// Frame numbers of a queue of the multiqueue NIC: `SOC_QUEUE_BYTES / 16`.
const QUEUE_UNITS: usize = 1024;
/// Priority of packets that are no task's.
const BACKGROUND_PRIORITY: u32 = 1;

/// What the observer must be told of the device.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Start of the traffic and first release of the periodic tasks.
    pub epoch: u64,
    /// The measured time.
    pub window: Range<u64>,
    /// Receive buffers; with the multiqueue NIC places for frames in its packet RAM.
    pub buffers: usize,
    /// Address of the first one.
    pub buffers_base: u32,
    /// Bytes of each.
    pub buffer_bytes: u32,
    /// Keep everything for a timeline.
    pub record: bool,
}

/// Receive buffers as the firmware's own books have them.
#[derive(Debug, Clone, Copy)]
pub struct FirmwareBuffers {
    /// On the free list.
    pub free: u32,
    /// Handed to the NIC and not taken back.
    pub with_nic: u32,
    /// Of the multiqueue NIC's frames those with the IP stack and its sockets; otherwise 0.
    pub held: u32,
}

/// What is only known when a run is over.
#[derive(Debug, Clone)]
pub struct Ending {
    /// Longest time with interrupts off.
    pub off_cycles_max: u64,
    /// Of each task.
    pub loops: Vec<u64>,
    /// The pool.
    pub buffers: Buffers,
    /// What live peers say.
    pub peers: Vec<PeerStats>,
}

/// A job that does not end.
#[derive(Debug, Clone, Copy)]
pub struct StuckJob {
    /// Index in the scenario.
    pub task: usize,
    /// Cycles that the job itself has executed.
    pub cycles: u64,
}

/// Turns events into figures.
pub struct Observer {
    cpu_hz: u64,
    measured: Measured,
    device: Ipv4Addr,
    tcp_ports: Vec<u16>,
    lanes: Lanes,
    packets: Packets,
    jobs: Vec<TaskJobs>,
    stages: Stages,
    eager: Eager,
    inversion: Inversion,
    /// Of each task's flow.
    flow_priorities: Vec<u32>,
    /// What a frame that the NIC has no room for is lost to.
    nic_full: Fate,
    variant: Variant,
}

/// CPU cycles of each packet in each stage, from the accounts of the lanes.
#[derive(Debug, Default)]
struct Stages {
    last: BTreeMap<usize, u64>,
    driver: Vec<u64>,
    tcpip: Vec<u64>,
    receive: Vec<u64>,
}

fn peer_result(peer: &PeerStats, cpu_hz: u64) -> PeerResult {
    PeerResult {
        name: peer.name.clone(),
        sent: peer.sent,
        answered: peer.answered,
        failed: peer.failed,
        round_trip_us: quantiles_us(&peer.round_trip_cycles, cpu_hz),
    }
}

fn flow_match(task: &Task) -> Option<String> {
    let TaskKind::Receiving { listen, flow, .. } = &task.kind else { return None };
    let port = describe(*listen);
    Some(match flow.from {
        Some(sender) => format!("{port} from {sender}"),
        None => port,
    })
}

fn describe(listen: Listen) -> String {
    match listen.protocol {
        Protocol::Udp => format!("udp/{}", listen.port),
        Protocol::Tcp => format!("tcp/{}", listen.port),
    }
}

fn flow_priority(task: &Task) -> u32 {
    match &task.kind {
        TaskKind::Receiving { flow, .. } => flow.priority.unwrap_or(task.priority),
        TaskKind::Periodic { .. } | TaskKind::Background => BACKGROUND_PRIORITY,
    }
}

impl Observer {
    /// `threads`: driver or network task, `tcpip_thread`, the scenario's tasks, the library's booster if there is one,
    /// idle, in this order.
    pub fn new(scenario: &Scenario, variant: Variant, threads: &[Thread], measured: Measured, now: u64) -> Observer {
        let cycles_per_us = u64::from(scenario.device.cpu_mhz);
        let jobs = scenario
            .tasks
            .iter()
            .enumerate()
            .map(|(i, task)| TaskJobs::new(task, FIRST_TASK + i, measured.epoch, cycles_per_us))
            .collect();
        let tcp_ports = scenario
            .tasks
            .iter()
            .filter_map(|task| match &task.kind {
                TaskKind::Receiving { listen: Listen { protocol: Protocol::Tcp, port }, .. } => Some(*port),
                _ => None,
            })
            .collect();
        Observer {
            cpu_hz: cycles_per_us * 1_000_000,
            device: scenario.device.address,
            tcp_ports,
            lanes: Lanes::new(threads, measured.window.clone(), now, measured.record),
            packets: Packets::new(measured.buffers, measured.record),
            jobs,
            stages: Stages::default(),
            eager: Eager::default(),
            inversion: Inversion::default(),
            flow_priorities: scenario.tasks.iter().map(flow_priority).collect(),
            nic_full: Fate::NicFull,
            variant,
            measured,
        }
    }

    /// A frame goes on the wire; its last bit is there at `arrival`.
    pub fn offer(&mut self, bytes: &[u8], arrival: u64, task: Option<usize>) {
        self.packets.offer(bytes, arrival, task, self.device, &self.tcp_ports);
    }

    /// An event.
    pub fn event(&mut self, now: u64, event: Observed) {
        match event {
            Observed::EnterIsr { nic } => {
                let ended = self.lanes.enter_isr(now, nic);
                self.preempted(now, ended);
            }
            Observed::EnterTask(handle) => {
                let ended = self.lanes.enter_task(now, handle);
                if self.lanes.lanes[ended.lane].kind == LaneKind::Isr {
                    // Only those that lie in the measured time from entry to return.
                    let whole = ended.cycles == ended.measured_cycles;
                    self.eager.interrupt_over(whole.then_some(ended.cycles));
                }
                self.preempted(now, ended);
            }
            Observed::RxAccept => self.packets.accepted(),
            Observed::RxOverrun => self.packets.refused(self.nic_full),
            Observed::RxBad => self.packets.refused(Fate::NicFilter),
            Observed::RxNoDescriptor => self.packets.dropped_in_nic(self.nic_full),
            Observed::RxError => self.packets.dropped_in_nic(Fate::NicFilter),
            Observed::RxDone(address) => {
                let buffer = (address - self.measured.buffers_base) / self.measured.buffer_bytes;
                self.packets.in_ram(now, buffer as usize);
            }
            Observed::Watch(_) => self.packets.matched_socket(now),
            Observed::Driver(buffer) => {
                self.packets.taken_up(now, buffer, Stage::Driver);
                self.stage(now, DRIVER, |stages| &mut stages.driver);
            }
            Observed::Stack(buffer) => self.stack(now, buffer),
            Observed::Queued(buffer) => {
                self.inversion.queued(self.lanes.cycles_until(DRIVER, now), self.priority(buffer));
                self.packets.taken_up(now, buffer, Stage::Queue);
                self.eager.queued();
            }
            Observed::Dropped(buffer, why) => {
                self.leaves_queue(now, buffer);
                self.packets.discarded(now, buffer, why);
                if self.lanes.current_kind() == LaneKind::Isr {
                    self.eager.dropped(why);
                }
            }
            Observed::Polling(on) => self.nic_full = if on { Fate::OverallLimit } else { Fate::NicFull },
            Observed::StackDone(_) => {
                self.inversion.done(self.lanes.cycles_until(DRIVER, now));
                self.packets.stack_done();
            }
            Observed::Freed(buffer) => self.freed(now, buffer),
            Observed::Copied(from, to) => self.packets.copied(from, to),
            Observed::Closed(first) => self.packets.closed(now, first..first + QUEUE_UNITS),
            Observed::JobStart(task) => self.job_start(now, task),
            Observed::JobEnd(task) => self.job_end(now, task),
            Observed::EnterTrap | Observed::Given(_) | Observed::Ready | Observed::Failed => {}
        }
    }

    /// Cycles of `lane` since the last call for it are one packet's.
    fn stage(&mut self, now: u64, lane: usize, of: fn(&mut Stages) -> &mut Vec<u64>) {
        let cycles = self.lanes.cycles_until(lane, now);
        let last = self.stages.last.insert(lane, cycles);
        if let Some(last) = last
            && self.measured.window.contains(&now)
        {
            of(&mut self.stages).push(cycles - last);
        }
    }

    fn preempted(&mut self, now: u64, ended: Ended) {
        let kind = self.lanes.lanes[ended.lane].kind;
        if ended.measured_cycles == 0 || !matches!(kind, LaneKind::Isr | LaneKind::Net) {
            return;
        }
        for task in self.jobs.iter_mut().filter(|task| task.is_pending(now)) {
            match kind {
                LaneKind::Isr => task.preempted.0 += ended.measured_cycles,
                _ => task.preempted.1 += ended.measured_cycles,
            }
        }
    }

    /// Priority of the flow of the packet in a buffer. The library has fragments in the background.
    fn priority(&self, buffer: usize) -> u32 {
        let frame = self.packets.in_buffer(buffer).map(|id| &self.packets.frames[id]);
        let task = frame.filter(|frame| !frame.is_fragment).and_then(|frame| frame.task);
        task.map_or(BACKGROUND_PRIORITY, |task| self.flow_priorities[task])
    }

    /// If the packet in a buffer waits in a flow queue, it will not be worked on.
    fn leaves_queue(&mut self, now: u64, buffer: usize) {
        if self.packets.in_queue(buffer).is_some() {
            self.inversion.discarded(self.lanes.cycles_until(DRIVER, now), self.priority(buffer));
        }
    }

    fn stack(&mut self, now: u64, buffer: usize) {
        let waited = self.packets.in_queue(buffer).is_some();
        self.inversion.begun(self.lanes.cycles_until(DRIVER, now), self.priority(buffer), waited);
        self.packets.taken_up(now, buffer, Stage::Stack);
        match self.variant {
            Variant::Driver | Variant::Codesign => self.stage(now, DRIVER, |stages| &mut stages.driver),
            Variant::Stock | Variant::Nic => self.stage(now, TCPIP, |stages| &mut stages.tcpip),
            Variant::Classes => self.stage(now, self.lanes.current(), |stages| &mut stages.tcpip),
            _ => {} // part of what the driver does
        }
    }

    fn freed(&mut self, now: u64, buffer: usize) {
        self.leaves_queue(now, buffer);
        let lane = self.lanes.task(); // no handler frees a buffer
        let taken = self.packets.freed(now, buffer, self.lanes.lanes[lane].kind);
        if let (Some(frame), Some(task)) = (taken, lane.checked_sub(FIRST_TASK))
            && let Some(jobs) = self.jobs.get_mut(task)
        {
            jobs.took(self.packets.frames[frame].arrival);
        }
    }

    fn job_start(&mut self, now: u64, task: usize) {
        let Some(jobs) = self.jobs.get_mut(task) else { return };
        let lane = jobs.lane;
        let cycles = self.lanes.cycles_until(lane, now);
        jobs.start(now, cycles);
        if let Some(last) = self.stages.last.get(&lane)
            && self.measured.window.contains(&now)
        {
            self.stages.receive.push(cycles - last);
        }
    }

    fn job_end(&mut self, now: u64, task: usize) {
        let Some(jobs) = self.jobs.get_mut(task) else { return };
        jobs.end(now);
        let lane = jobs.lane;
        if jobs.is_receiving() {
            self.stages.last.insert(lane, self.lanes.cycles_until(lane, now));
        }
    }

    /// The job that has the CPU, if it has itself executed for more than `deadlines` of its deadlines (without one:
    /// `cycles_max`).
    pub fn stuck_job(&self, now: u64, deadlines: u64, cycles_max: u64) -> Option<StuckJob> {
        let lane = self.lanes.current();
        let task = lane.checked_sub(FIRST_TASK)?;
        let jobs = self.jobs.get(task)?;
        let cycles = self.lanes.cycles_until(lane, now) - jobs.cycles_at_start();
        let patience = jobs.deadline_cycles().map_or(cycles_max, |deadline| deadline.saturating_mul(deadlines));
        (jobs.under_way().is_some() && cycles > patience).then_some(StuckJob { task, cycles })
    }

    /// Name of the lane that has the CPU.
    pub fn running(&self) -> &str {
        &self.lanes.lanes[self.lanes.current()].name
    }

    /// Buffers of the pool that are in none of the places where one may be, given how many the firmware counts on its
    /// free list and with the NIC (multiqueue NIC: frames that the firmware counts as held and that are nowhere).
    /// Negative while one is on its way between two places.
    pub fn buffers_missing(&self, scenario: &Scenario, firmware: FirmwareBuffers) -> i64 {
        if self.variant.uses_queues() {
            return i64::from(firmware.held) - self.packets.taken_up_count() as i64;
        }
        let ring_empty = i64::from(firmware.with_nic) - self.packets.waiting_in_ring() as i64;
        let held = self.packets.buffers_in_use() as i64 - self.packets.leaked() as i64;
        i64::from(scenario.device.rx_buffers) - i64::from(firmware.free) - ring_empty - held
    }

    /// Frames that ended before `cycle` without a word from the NIC.
    pub fn unaccounted_frames(&self, cycle: u64) -> usize {
        self.packets.unaccounted(cycle)
    }

    /// Ends the run at `now` and makes the result.
    pub fn finish(mut self, now: u64, scenario: &Scenario, ending: &Ending) -> (Run, Option<Timeline>) {
        let ended = self.lanes.finish(now);
        self.preempted(now, ended);
        for jobs in &mut self.jobs {
            jobs.finish(now);
        }
        let run = Run {
            variant: self.variant.name().to_string(),
            loads: BTreeMap::new(),
            tasks: scenario.tasks.iter().enumerate().map(|(i, task)| self.task(i, task, ending.loops[i])).collect(),
            flows: self.flows(scenario),
            peers: ending.peers.iter().map(|peer| peer_result(peer, self.cpu_hz)).collect(),
            interrupts: self.lanes.interrupts(ending.off_cycles_max),
            cpu: self.lanes.shares(),
            buffers: ending.buffers.clone(),
            paths: self.paths(),
            // Without events nothing is known of it.
            library: (self.variant == Variant::Driver && scenario.device.trace)
                .then(|| LibraryResult { priority_inversion_cycles_max: self.inversion.longest_cycles() }),
        };
        let timeline = self.measured.record.then(|| self.timeline(scenario, now));
        (run, timeline)
    }

    fn task(&self, index: usize, task: &Task, loops: u64) -> TaskResult {
        let jobs = &self.jobs[index];
        let mut figures = jobs.figures(&self.measured.window);
        if let TaskKind::Receiving { deadline_us: Some(_), listen: Listen { protocol: Protocol::Udp, .. }, .. } =
            &task.kind
        {
            // Every message is a job; one that was dropped on its way was never answered.
            let lost = self.flow_frames(Some(index)).filter(|frame| frame.is_dropped()).count() as u64;
            figures.jobs += lost;
            figures.missed += lost;
        }
        let seconds = (self.measured.window.end - self.measured.window.start) as f64 / self.cpu_hz as f64;
        let accumulated = microseconds(figures.lateness_sum_cycles as f64 / seconds, self.cpu_hz);
        TaskResult {
            name: task.name.clone(),
            jobs: figures.jobs,
            missed: figures.missed,
            response_us: quantiles_us(&figures.response_cycles, self.cpu_hz),
            lateness_us: Lateness {
                max: figures.lateness_max_cycles.map(|cycles| microseconds(cycles as f64, self.cpu_hz)),
                accumulated_per_s: accumulated,
            },
            cycles: self.lanes.measured[jobs.lane],
            loops,
            preempted_cycles: Preempted { isr: jobs.preempted.0, net: jobs.preempted.1 },
        }
    }

    /// Frames of a flow whose last bit arrived in the window.
    fn flow_frames(&self, task: Option<usize>) -> impl Iterator<Item = &super::packets::Frame> {
        let window = &self.measured.window;
        self.packets.frames.iter().filter(move |frame| frame.task == task && window.contains(&frame.arrival))
    }

    fn flows(&self, scenario: &Scenario) -> Vec<FlowResult> {
        let mut flows: Vec<FlowResult> = scenario
            .tasks
            .iter()
            .enumerate()
            .filter_map(|(i, task)| Some(self.flow(&task.name, flow_match(task)?, Some(i))))
            .collect();
        flows.push(self.flow("background", "everything else".to_string(), None));
        flows
    }

    fn flow(&self, name: &str, r#match: String, task: Option<usize>) -> FlowResult {
        let (mut offered, mut delivered, mut in_flight) = (0, 0, 0);
        let mut dropped = Dropped::default();
        for frame in self.flow_frames(task) {
            offered += 1;
            match frame.fate {
                Some(Fate::Delivered) => delivered += 1,
                Some(Fate::NicFilter) => dropped.nic_filter += 1,
                Some(Fate::NicFull) => dropped.nic_full += 1,
                Some(Fate::FlowLimit) => dropped.flow_limit += 1,
                Some(Fate::Recycled) => dropped.recycled += 1,
                Some(Fate::OverallLimit) => dropped.overall_limit += 1,
                Some(Fate::Stack) => dropped.stack += 1,
                Some(Fate::Socket) => dropped.socket += 1,
                None => in_flight += 1,
            }
        }
        let latencies = task.map_or_else(Vec::new, |task| self.jobs[task].latencies(&self.measured.window));
        let latency_us = quantiles_us(&latencies, self.cpu_hz);
        FlowResult { name: name.to_string(), r#match, offered, delivered, dropped, in_flight, latency_us }
    }

    fn paths(&self) -> Vec<PathResult> {
        let own = [("driver", &self.stages.driver), ("socket", &self.stages.receive)];
        let stages = match self.variant {
            Variant::Driver => {
                let mut stages = self.eager.paths(); // with names of their own
                stages.extend([("network", &self.stages.driver), own[1]]);
                stages
            }
            Variant::Codesign => vec![("isr", &self.lanes.nic_handlers), ("network", &self.stages.driver), own[1]],
            Variant::Stock | Variant::Nic => {
                vec![("isr", &self.lanes.nic_handlers), own[0], ("tcpip_thread", &self.stages.tcpip), own[1]]
            }
            Variant::Classes => {
                vec![("isr", &self.lanes.nic_handlers), own[0], ("class_thread", &self.stages.tcpip), own[1]]
            }
            _ => vec![("isr", &self.lanes.nic_handlers), own[0], own[1]],
        };
        stages
            .into_iter()
            .filter_map(|(name, cycles)| {
                let count = cycles.len() as u64;
                let name = match name.contains('/') {
                    true => name.to_string(),
                    false => format!("{}/{name}", self.variant.name()),
                };
                Some(PathResult { name, count, cycles: cycle_quantiles(cycles)? })
            })
            .collect()
    }

    fn timeline(self, scenario: &Scenario, now: u64) -> Timeline {
        let mut jobs: Vec<_> = self.jobs.into_iter().flat_map(|task| task.jobs).collect();
        jobs.sort_by_key(|job| (job.release, job.lane));
        let name = |task: Option<usize>| task.map_or("background", |task| &scenario.tasks[task].name).to_string();
        let packets = self
            .packets
            .frames
            .into_iter()
            .map(|frame| Packet {
                flow: name(frame.task),
                bytes: frame.bytes,
                arrival: frame.arrival,
                steps: frame.steps,
                fate: frame.fate,
            })
            .collect();
        Timeline {
            cpu_hz: self.cpu_hz,
            start: self.measured.window.start,
            end: now,
            lanes: self.lanes.lanes,
            spans: self.lanes.spans.unwrap_or_default(),
            jobs,
            packets,
        }
    }
}
