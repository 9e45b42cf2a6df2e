// SPDX-License-Identifier: Apache-2.0
//! What a machine is told before it starts.

use std::net::SocketAddr;
use std::time::Duration;

use crate::core::membership::{Role, Timing};
use crate::core::queue::{Costs, Strategy};

/// What a machine is told before it starts.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the others reach it.
    pub address: SocketAddr,
    /// Where clients reach it, if that is elsewhere.
    pub for_clients: Option<SocketAddr>,
    /// What it is to the others.
    pub role: Role,
    /// How many jobs it can run at once. A scheduler has 0.
    pub workers: usize,
    /// How one of its workers is chosen, or a scheduler's.
    pub strategy: Strategy,
    /// The papers' reference instead: one queue before all own workers, and no acceptance test but that the worst case
    /// fits before the deadline. For comparison.
    pub reference: bool,
    /// What it can run. A scheduler leaves this to its workers.
    pub programs: Vec<String>,
    /// What handling a job costs.
    pub costs: Costs,
    /// By how much a job may exceed its worst case before it is stopped.
    pub overrun_tolerance: Duration,
    /// How many others are asked for one task.
    pub asked_max: usize,
    /// How long one may take to answer.
    pub answer: Duration,
    /// With how many others it exchanges loads and tasks.
    pub neighbours: usize,
    /// How often.
    pub load_period: Duration,
    /// Clients that are known at once.
    pub clients_max: usize,
    /// Tasks that are known at once, in any state. A client has at most as many of the places as are free.
    pub tasks_max: usize,
    /// Nodes through which it joins the others.
    pub seeds: Vec<SocketAddr>,
    /// How soon silence is noticed.
    pub timing: Timing,
    /// When it is started, by the calendar in milliseconds.
    pub started_ms: u64,
}

impl Config {
    /// A node with one worker, alone.
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            for_clients: None,
            role: Role::Node,
            workers: 1,
            strategy: Strategy::WorstFit,
            reference: false,
            programs: Vec::new(),
            costs: Costs::default(),
            overrun_tolerance: Duration::from_millis(1),
            asked_max: 3,
            answer: Duration::from_millis(10),
            neighbours: 16,
            load_period: Duration::from_millis(100),
            clients_max: 4096,
            tasks_max: 4096,
            seeds: Vec::new(),
            timing: Timing::default(),
            started_ms: 0,
        }
    }
}
