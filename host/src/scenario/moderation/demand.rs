// SPDX-License-Identifier: Apache-2.0
//! What a scenario asks of the NIC's queues, whatever they are set to: frames, rates, deadlines, jobs.

use std::collections::BTreeSet;

use super::arrivals::{Arrivals, Density};
use super::costs;
use crate::scenario::link::{self, CHECK_BYTES};
use crate::scenario::model::{
    Contract, Listen, NicQueue, Pattern, Protocol, Scenario, Target, Task, TaskKind, Traffic, Variant, Work,
};

/// A frame of the least and of the greatest length, as it lies in a queue.
const FRAME_BYTES_MIN: u32 = 60;
const FRAME_BYTES_MAX: u32 = 1514;
/// A segment with a Modbus request, behind headers of 54 bytes.
const MODBUS_REQUEST_BYTES: u32 = 54 + 12;

/// What the scenario asks.
#[derive(Debug, Clone, PartialEq)]
pub struct Demand {
    /// `t_netstack`.
    pub netstack_us: f64,
    /// One for each receiving task, in the order of the file.
    pub flows: Vec<Flow>,
    /// The queues that no task has, and that get frames.
    pub(super) system: Vec<Frames>,
    /// What those are set to.
    pub(super) system_queue: NicQueue,
    /// What the figures leave out because the scenario does not say it.
    pub notes: BTreeSet<String>,
}

/// What a receiving task asks of its queue.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    /// The task's index.
    pub task: usize,
    /// Its name.
    pub name: String,
    /// Lengths of its frames; `None`: nobody sends any.
    pub(super) frames: Option<Frames>,
    /// When they come, or why that is not known.
    pub(super) arrivals: Result<Density, String>,
    /// `t_d`: the task's deadline.
    pub(super) deadline_us: Option<f64>,
    /// The periodic tasks that come first, each with period and time of a job.
    pub(super) periodic: Vec<(f64, f64)>,
    /// The receiving tasks that come first or together with this one (indices of flows, itself too), each with the time
    /// of one job.
    pub(super) jobs: Vec<(usize, f64)>,
}

/// Lengths of frames, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frames {
    pub(super) shortest: u32,
    pub(super) longest: u32,
}

impl Flow {
    /// Whether it is not known when its frames come.
    pub fn is_unknown(&self) -> bool {
        self.arrivals.is_err()
    }
}

impl Frames {
    fn of_length(bytes: u32) -> Self {
        Self { shortest: bytes, longest: bytes }
    }

    fn any() -> Self {
        Self { shortest: FRAME_BYTES_MIN, longest: FRAME_BYTES_MAX }
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self { shortest: self.shortest.min(other.shortest), longest: self.longest.max(other.longest) }
    }
}

/// A receiving task with what its kind says.
struct Receiver<'a> {
    index: usize,
    task: &'a Task,
    listen: Listen,
    deadline_us: Option<u32>,
    answers: bool,
    contract: &'a Contract,
}

impl Demand {
    /// Of a scenario.
    pub fn of(scenario: &Scenario) -> Self {
        let receivers: Vec<Receiver<'_>> = scenario
            .tasks
            .iter()
            .enumerate()
            .filter_map(|(index, task)| match &task.kind {
                TaskKind::Receiving { listen, deadline_us, reply_bytes, flow } => {
                    let (listen, deadline_us, answers) = (*listen, *deadline_us, *reply_bytes > 0);
                    Some(Receiver { index, task, listen, deadline_us, answers, contract: flow })
                }
                _ => None,
            })
            .collect();
        let netstack_us = costs::netstack_us(scenario, receivers.iter().map(|receiver| receiver.listen));
        let mut notes = BTreeSet::new();
        let flows = receivers.iter().map(|receiver| flow(scenario, receiver, &receivers, &mut notes)).collect();
        let system =
            scenario.traffic.iter().filter(|one| rate_pps(one, scenario) != Some(0.0)).filter_map(system_frames);
        Self { netstack_us, flows, system: system.collect(), system_queue: scenario.nic.queue, notes }
    }
}

fn flow(scenario: &Scenario, receiver: &Receiver<'_>, all: &[Receiver<'_>], notes: &mut BTreeSet<String>) -> Flow {
    let name = &receiver.task.name;
    let mut frames: Option<Frames> = None;
    let mut arrivals = Ok(Arrivals::default());
    for one in scenario.traffic.iter().filter(|one| comes_to(one, receiver)) {
        if rate_pps(one, scenario) == Some(0.0) {
            continue;
        }
        let lengths = frames_of(one);
        frames = Some(frames.map_or(lengths, |frames| frames.and(lengths)));
        if let Pattern::Pcap { .. } = one.pattern {
            let why = format!("`{}` is a capture: the scenario does not say what it sends there, and when", one.name);
            notes.insert(format!("t_qf of `{name}` cannot be evaluated: {why}"));
            arrivals = Err(why);
        } else if let Ok(arrivals) = &mut arrivals {
            add(one, scenario, arrivals);
        }
    }
    let floor = floor(scenario, receiver);
    let first = |task: &Task| task.priority >= floor;
    let periodic = scenario.tasks.iter().filter(|task| first(task)).filter_map(|task| match task.kind {
        TaskKind::Periodic { period_us, .. } => Some((f64::from(period_us), known_us(task)?)),
        _ => None,
    });
    let jobs = all.iter().enumerate().filter(|(_, other)| first(other.task)).map(|(index, other)| {
        let message_us = costs::message_us(scenario, other.listen, other.answers);
        (index, message_us + known_us(other.task).unwrap_or(0.0))
    });
    for task in scenario.tasks.iter().filter(|task| first(task) && known_us(task).is_none()) {
        let why = "the scenario does not say how long its jobs take";
        notes.insert(format!("t_J of `{name}` leaves out the work of `{}`: {why}", task.name));
    }
    let arrivals = arrivals.map(|arrivals| arrivals.density());
    Flow {
        task: receiver.index,
        name: name.clone(),
        frames,
        arrivals,
        deadline_us: receiver.deadline_us.map(f64::from),
        periodic: periodic.collect(),
        jobs: jobs.collect(),
    }
}

/// Tasks of this priority and above may come between a frame and the end of its job: above the job, above the flow in
/// the network task, above the stock network tasks.
fn floor(scenario: &Scenario, receiver: &Receiver<'_>) -> u32 {
    let own = receiver.task.priority.min(receiver.contract.priority.unwrap_or(u32::MAX));
    let stock = scenario.variants.contains(&Variant::Nic).then(|| scenario.net_priority(Variant::Nic));
    own.min(stock.unwrap_or(u32::MAX))
}

/// The time of a job, where the scenario says it.
fn known_us(task: &Task) -> Option<f64> {
    match (&task.kind, &task.work) {
        (TaskKind::Background, _) => Some(0.0), // one that starves others is warned of
        (_, Work::Synthetic { us }) => Some(*us),
        _ => None,
    }
}

/// Whether the NIC puts the traffic into this task's queue.
fn comes_to(traffic: &Traffic, receiver: &Receiver<'_>) -> bool {
    let from = |sender| receiver.contract.from.is_none_or(|only| only == sender);
    match traffic.to {
        Target::Port(listen) => listen == receiver.listen && from(traffic.from),
        Target::Broadcast(port) => receiver.listen == Listen { protocol: Protocol::Udp, port } && from(traffic.from),
        Target::Device | Target::AsIs => matches!(traffic.pattern, Pattern::Pcap { .. }),
        Target::Multicast(_) | Target::Fragments(_) => false,
    }
}

/// Frames for the queues of ARP, of ICMP and of fragments.
fn system_frames(traffic: &Traffic) -> Option<Frames> {
    let is_system = matches!(traffic.pattern, Pattern::Arp { .. } | Pattern::Icmp { .. })
        || matches!(traffic.to, Target::Fragments(_));
    is_system.then(|| frames_of(traffic))
}

fn frames_of(traffic: &Traffic) -> Frames {
    match traffic.pattern {
        Pattern::Pcap { .. } => Frames::any(),
        Pattern::Modbus { .. } => Frames { shortest: FRAME_BYTES_MIN, longest: MODBUS_REQUEST_BYTES },
        _ => Frames::of_length(link::frame_bytes(traffic) - CHECK_BYTES),
    }
}

/// The greatest rate; of what comes at random, the mean; `None` of captures.
fn rate_pps(traffic: &Traffic, scenario: &Scenario) -> Option<f64> {
    match traffic.pattern {
        Pattern::Uniform { rate_pps }
        | Pattern::Poisson { rate_pps }
        | Pattern::Burst { rate_pps, .. }
        | Pattern::Pyramid { rate_pps, .. }
        | Pattern::Arp { rate_pps }
        | Pattern::Icmp { rate_pps }
        | Pattern::Request { rate_pps, .. }
        | Pattern::Modbus { rate_pps, .. } => Some(rate_pps),
        Pattern::LineRate => Some(f64::from(scenario.device.link_mbps) * 1e6 / link::wire_bits(traffic)),
        Pattern::Pcap { .. } => None,
    }
}

fn add(traffic: &Traffic, scenario: &Scenario, arrivals: &mut Arrivals) {
    let Some(rate_pps) = rate_pps(traffic, scenario) else { return };
    match traffic.pattern {
        Pattern::Poisson { .. } => arrivals.add_random(rate_pps),
        // A request, and the acknowledgement of its answer where no request follows that carries it.
        Pattern::Modbus { .. } => (0..2).for_each(|_| arrivals.add_spaced(rate_pps)),
        Pattern::Burst { burst_ms, every_ms, .. } => {
            arrivals.add_spaced(rate_pps);
            // The first frame of a burst may be closer to the last one's than frames are within.
            let last_ms = ((burst_ms.min(every_ms) * rate_pps / 1e3).ceil() - 1.0) * 1e3 / rate_pps;
            if every_ms - last_ms < 1e3 / rate_pps {
                arrivals.add_spaced(1e3 / every_ms);
            }
        }
        _ => arrivals.add_spaced(rate_pps),
    }
}
