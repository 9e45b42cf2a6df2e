// SPDX-License-Identifier: Apache-2.0
//! What a machine counted, in Prometheus' text format.

use std::fmt::{Display, Write};
use std::time::Duration;

use crate::core::membership::Role;
use crate::core::node::Node;
use crate::core::time::Instant;

/// Upper bounds of the execution times' histogram, in microseconds.
const BUCKETS_US: [u32; 13] = [
    1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000,
];

/// How long jobs executed.
#[derive(Clone, Debug, Default)]
pub struct Executions {
    counts: [u64; BUCKETS_US.len()],
    count: u64,
    sum: Duration,
}

impl Executions {
    /// A job ended.
    pub fn add(&mut self, execution: Duration) {
        if let Some(bucket) = BUCKETS_US.iter().position(|bound| execution.as_micros() <= u128::from(*bound)) {
            self.counts[bucket] += 1;
        }
        self.count += 1;
        self.sum += execution;
    }

    fn write(&self, out: &mut String) {
        let name = "weir_edge_execution_seconds";
        head(out, name, "histogram", "How long jobs had their worker.");
        let mut below = 0;
        for (bound, count) in BUCKETS_US.iter().zip(self.counts) {
            below += count;
            line(out, &format!("{name}_bucket{{le=\"{}\"}}", f64::from(*bound) / 1e6), below);
        }
        line(out, &format!("{name}_bucket{{le=\"+Inf\"}}"), self.count);
        line(out, &format!("{name}_sum"), self.sum.as_secs_f64());
        line(out, &format!("{name}_count"), self.count);
    }
}

/// The text.
pub fn text(node: &Node, role: Role, executions: &Executions, now: Instant) -> String {
    let mut out = String::with_capacity(8_192);
    let counters = node.counters();
    let (tasks, clients, _) = node.remembered();
    let role = match role {
        Role::Node => "node",
        Role::Scheduler => "scheduler",
        Role::Worker => "worker",
    };
    head(&mut out, "weir_edge_info", "gauge", "What this machine is.");
    let version = env!("CARGO_PKG_VERSION");
    let address = node.address();
    line(&mut out, &format!("weir_edge_info{{address=\"{address}\",role=\"{role}\",version=\"{version}\"}}"), 1);
    let mut gauge = |name: &str, help: &str, value: &dyn Display| {
        let name = format!("weir_edge_{name}");
        head(&mut out, &name, "gauge", help);
        line(&mut out, &name, value);
    };
    // The sum of nothing is -0.
    gauge("density", "Work that is left over time that is left, a worker.", &(node.density(now) + 0.0));
    gauge("members", "Other machines of the site that are there.", &node.members().count());
    gauge("clients", "Clients that submitted something, and were heard in the last 30 s.", &clients);
    gauge("tasks", "Tasks that are remembered, in any state.", &tasks);
    gauge("jobs", "Tasks in the workers' queues.", &node.queued());
    let mut counter = |name: &str, help: &str, value: u64| {
        let name = format!("weir_edge_{name}_total");
        head(&mut out, &name, "counter", help);
        line(&mut out, &name, value);
    };
    counter("received", "Datagrams that were understood.", counters.received);
    counter("sent", "Datagrams sent.", counters.sent);
    counter("sent_bytes", "Bytes sent, without UDP's and IP's.", counters.sent_bytes);
    counter("submitted", "Tasks that clients submitted here.", counters.submitted);
    counter("accepted", "Tasks accepted to be run here.", counters.accepted);
    counter("refused", "Tasks submitted here that nobody took.", counters.refused);
    counter("asked", "Times that another machine was asked to run a task.", counters.asked);
    counter("taken_over", "Tasks that were placed again because their machine was given up.", counters.taken_over);
    counter("done", "Jobs whose program ended well.", counters.done);
    counter("overrun", "Jobs stopped because they exceeded their worst case.", counters.overrun);
    counter("failed", "Jobs whose program failed.", counters.failed);
    head(&mut out, "weir_edge_dropped_total", "counter", "Datagrams that changed nothing.");
    for (reason, count) in &counters.dropped {
        let reason = format!("{reason:?}").to_lowercase();
        line(&mut out, &format!("weir_edge_dropped_total{{reason=\"{reason}\"}}"), *count);
    }
    executions.write(&mut out);
    out
}

fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    // Writing to a string does not fail.
    let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
}

fn line(out: &mut String, name: &str, value: impl Display) {
    let _ = writeln!(out, "{name} {value}");
}
