// SPDX-License-Identifier: Apache-2.0
//! The device's tasks, as FreeRTOS sees them.

use super::costs::{Mark, Regime, Role};
use super::measure::role_of_task;
use crate::observe::Thread as Named;
use crate::scenario::{Scenario, TaskKind, Variant};
use crate::timeline::{Lane, LaneKind};

/// `configMAX_PRIORITIES - 1`.
const BOOSTER_PRIORITY: u32 = 15;
/// The driver's or the network task.
pub const NET: usize = 0;
/// lwIP's thread.
pub const TCPIP: usize = 1;
/// The scenario's first.
pub const FIRST_TASK: usize = 2;

/// A task.
#[derive(Debug, Clone)]
pub struct Thread {
    /// `None`: idle.
    pub role: Option<Role>,
    /// Index in the scenario.
    pub task: Option<usize>,
    /// Where it has its place in the ready lists.
    pub priority: u32,
    /// It does not wait.
    pub ready: bool,
    /// The mark that it made last.
    pub last: Mark,
    /// The one that it makes next, when `remaining` cycles are spent; `None`: to be decided when it has the CPU.
    pub next: Option<Mark>,
    /// See `next`.
    pub remaining: u64,
    /// What it did before.
    pub regime: Regime,
    /// It is in the kernel, which no interrupt enters.
    pub in_kernel: bool,
    /// It leaves the CPU to a more urgent task, and does not wait.
    pub yields: bool,
    /// The frame that it works on: its buffer.
    pub frame: Option<usize>,
    /// That frame is in its socket.
    pub posted: bool,
    /// A notification that it has not taken.
    pub notified: bool,
    /// Periodic: its next release by the tick.
    pub release: u64,
    /// Periodic: releases by the timer that it has not taken.
    pub releases: u32,
    /// Of the answer to the message that it works on: which frame.
    pub message: Option<super::frames::Frame>,
}

fn thread(role: Option<Role>, task: Option<usize>, priority: u32) -> Thread {
    Thread {
        role,
        task,
        priority,
        ready: false,
        last: Mark::In,
        next: None,
        remaining: 0,
        regime: Regime::First,
        in_kernel: false,
        yields: false,
        frame: None,
        posted: false,
        notified: false,
        release: 0,
        releases: 0,
        message: None,
    }
}

/// All threads of a variant, in the observer's order, with the names that reports show.
pub fn threads(scenario: &Scenario, variant: Variant) -> (Vec<Thread>, Vec<Named>) {
    let net = scenario.net_priority(variant);
    let library = variant.uses_library();
    let receiving = scenario.tasks.iter().filter(|task| matches!(task.kind, TaskKind::Receiving { .. }));
    let urgent = receiving.map(|task| task.priority).max().unwrap_or(1);
    let first = if library { (Role::Network, "weir_net", 1) } else { (Role::Driver, "driver", net) };
    let mut all = vec![
        (thread(Some(first.0), None, first.2), first.1.to_string(), LaneKind::Net),
        (
            thread(Some(Role::Tcpip), None, if library { urgent } else { net }),
            "tcpip_thread".to_string(),
            LaneKind::Net,
        ),
    ];
    for (index, task) in scenario.tasks.iter().enumerate() {
        all.push((thread(role_of_task(task), Some(index), task.priority), task.name.clone(), LaneKind::Task));
    }
    if library {
        all.push((thread(Some(Role::Booster), None, BOOSTER_PRIORITY), "weir_boost".to_string(), LaneKind::Net));
    }
    all.push((thread(None, None, 0), "idle".to_string(), LaneKind::Idle));
    let named = |(index, (thread, name, kind)): (usize, &(Thread, String, LaneKind))| {
        let priority = if thread.role == Some(Role::Network) { 0 } else { thread.priority };
        Named { handle: handle(index), lane: Lane { name: name.clone(), kind: *kind, priority } }
    };
    let names = all.iter().enumerate().map(named).collect();
    (all.into_iter().map(|(thread, ..)| thread).collect(), names)
}

/// What the observer knows a thread by.
pub fn handle(thread: usize) -> u32 {
    thread as u32 + 1
}
