// SPDX-License-Identifier: Apache-2.0
//! `results.json`: what one invocation of `weir run` found.
//!
//! Key order is the order of the fields below. Nothing here depends on the clock, the host or a path, so two runs
//! of one scenario and seed serialise to the same bytes.

use std::collections::BTreeMap;

use serde::Serialize;

/// Everything one scenario file gave.
#[derive(Debug, Clone, Serialize)]
pub struct Results {
    /// Version of weir.
    pub weir: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of every random choice.
    pub seed: u64,
    /// `soc` or `model`.
    pub platform: String,
    /// Clock of the device.
    pub cpu_hz: u64,
    /// One entry per variant and load, in the order of the file.
    pub runs: Vec<Run>,
}

/// One variant under one load.
#[derive(Debug, Clone, Serialize)]
pub struct Run {
    /// Name of the variant, e.g. `stock`.
    pub variant: String,
    /// The value of every swept key in this run: traffic name (or `device.KEY`) to value.
    pub loads: BTreeMap<String, f64>,
    /// In the order of the scenario.
    pub tasks: Vec<TaskResult>,
    /// One per receiving task, in the order of the scenario; last the flow `background`.
    pub flows: Vec<FlowResult>,
    /// One per closed-loop traffic entry, in the order of the scenario, over the whole run with its warm-up.
    pub peers: Vec<PeerResult>,
    /// All interrupts of the measured time.
    pub interrupts: Interrupts,
    /// Shares of the measured time; they add up to 1.
    pub cpu: CpuShares,
    /// Where the pool's buffers were at the end.
    pub buffers: Buffers,
    /// Cycles of each stage of the receive path.
    pub paths: Vec<PathResult>,
    /// What is particular to the receive library; absent in variants without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub library: Option<LibraryResult>,
}

/// What one task experienced.
#[derive(Debug, Clone, Serialize)]
pub struct TaskResult {
    /// Name in the scenario.
    pub name: String,
    /// Jobs whose deadline lay in the measured time.
    pub jobs: u64,
    /// Of those, the ones that completed late or not at all.
    pub missed: u64,
    /// Release to completion of the completed jobs; absent (null) when none completed.
    pub response_us: Option<Quantiles>,
    /// Completion minus deadline; negative is early.
    pub lateness_us: Lateness,
    /// Cycles that the task itself executed.
    pub cycles: u64,
    /// Loops of a background task, 0 for others.
    pub loops: u64,
    /// Cycles in which it was ready or running but others had the CPU.
    pub preempted_cycles: Preempted,
}

/// Lateness of a task.
#[derive(Debug, Clone, Serialize)]
pub struct Lateness {
    /// Largest; a job that never completed counts with the lateness it had when the run ended. Null without jobs.
    pub max: Option<f64>,
    /// Sum of the positive latenesses of the measured time, per second (thesis 4.3.1).
    pub accumulated_per_s: f64,
}

/// Who took the CPU from a task while it had a job.
#[derive(Debug, Clone, Serialize)]
pub struct Preempted {
    /// Interrupt handlers.
    pub isr: u64,
    /// Network tasks.
    pub net: u64,
}

/// The distribution of a quantity.
#[derive(Debug, Clone, Serialize)]
pub struct Quantiles {
    /// Smallest.
    pub min: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Largest.
    pub max: f64,
}

/// What became of the packets of one flow. `offered = delivered + sum(dropped) + in_flight`.
#[derive(Debug, Clone, Serialize)]
pub struct FlowResult {
    /// Name of the receiving task, or `background`.
    pub name: String,
    /// What belongs to it, e.g. `udp/5005 from 10.0.0.2`.
    pub r#match: String,
    /// Frames whose last bit reached the device in the measured time.
    pub offered: u64,
    /// Taken by the task, or used up by the protocol that they were for (ARP, ICMP echo, TCP control).
    pub delivered: u64,
    /// The others, each under one reason.
    pub dropped: Dropped,
    /// Still on their way when the run ended.
    pub in_flight: u64,
    /// Last bit on the wire to completion of the job; null when none completed.
    pub latency_us: Option<Quantiles>,
}

/// What a live peer (Modbus master, UDP client, replayed conversation) experienced.
#[derive(Debug, Clone, Serialize)]
pub struct PeerResult {
    /// Name of the traffic entry.
    pub name: String,
    /// Requests, or pieces of captured payload, that it sent.
    pub sent: u64,
    /// Of these, those that the device answered.
    pub answered: u64,
    /// Requests without an answer in time, refused connections, broken conversations.
    pub failed: u64,
    /// From sending a request to reading its answer; null when none was answered.
    pub round_trip_us: Option<Quantiles>,
}

/// Where frames were dropped.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Dropped {
    /// By the NIC's filter, or as damaged.
    pub nic_filter: u64,
    /// No descriptor, no room in the NIC.
    pub nic_full: u64,
    /// Over the flow's contract.
    pub flow_limit: u64,
    /// Recycled for a more urgent one.
    pub recycled: u64,
    /// Over the overall limit.
    pub overall_limit: u64,
    /// In driver or IP stack: queue full, no such port, bad checksum.
    pub stack: u64,
    /// The socket's queue was full.
    pub socket: u64,
}

impl Dropped {
    /// All reasons together.
    pub fn total(&self) -> u64 {
        self.nic_filter
            + self.nic_full
            + self.flow_limit
            + self.recycled
            + self.overall_limit
            + self.stack
            + self.socket
    }
}

/// Interrupt handling.
#[derive(Debug, Clone, Serialize)]
pub struct Interrupts {
    /// Interrupts taken: NIC and tick.
    pub count: u64,
    /// Of these, taken with the NIC's line high.
    pub nic: u64,
    /// Cycles in handlers, trap entry to return.
    pub cycles_total: u64,
    /// Longest handler.
    pub cycles_max: u64,
    /// Longest window with interrupts off, handlers included.
    pub off_cycles_max: u64,
}

/// Shares of the CPU.
#[derive(Debug, Clone, Serialize)]
pub struct CpuShares {
    /// Interrupt handlers.
    pub isr: f64,
    /// Network tasks (driver and protocol).
    pub net: f64,
    /// The scenario's tasks.
    pub tasks: f64,
    /// The idle task.
    pub idle: f64,
}

/// The closed pool.
#[derive(Debug, Clone, Serialize)]
pub struct Buffers {
    /// Size.
    pub pool: u64,
    /// In the ring or free when the run ended.
    pub free_at_end: u64,
    /// Neither free nor held by a packet that is still on its way: lost. Always 0, or the software has a fault.
    pub leaked: u64,
}

/// What is particular to the receive library.
#[derive(Debug, Clone, Serialize)]
pub struct LibraryResult {
    /// Longest time, in cycles of the network task, that it worked on a packet while one of a more urgent flow waited:
    /// at most one packet's work, or the library has a fault. Over the whole run with its warm-up.
    pub priority_inversion_cycles_max: u64,
}

/// Cycles of one stage.
#[derive(Debug, Clone, Serialize)]
pub struct PathResult {
    /// e.g. `stock/driver`.
    pub name: String,
    /// How often it ran.
    pub count: u64,
    /// Cycles each time.
    pub cycles: CycleQuantiles,
}

/// Distribution of a stage's cycles.
#[derive(Debug, Clone, Serialize)]
pub struct CycleQuantiles {
    /// Least.
    pub min: u64,
    /// Median.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p999: u64,
    /// 99.99th percentile.
    pub p9999: u64,
    /// Largest.
    pub max: u64,
}
