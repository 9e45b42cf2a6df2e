// SPDX-License-Identifier: Apache-2.0
//! Which scenarios processes on one machine can run.

use weir_edge::sim::scenario::{Mode, Scenario, Way, What};

use crate::commands::processes::{node, relay};

/// Machines' processes on this one.
const NODES_MAX: usize = 32;
/// What loopback is taken for, among machines.
const WIRE_MS_MAX: f64 = 1.0;

/// The first thing in a scenario that they cannot do, and what they can.
pub fn check(scenario: &Scenario, burn: bool) -> Result<(), String> {
    let Scenario { nodes, clients, task, wire, .. } = scenario;
    let cpus = node::cpus().len();
    let Way { delay_ms, loss_percent, duplicate_percent, .. } = wire;
    let cannot = [
        (
            scenario.mode == Mode::Reference,
            "mode = \"reference\": the papers' reference is in the simulator only; \"central\" or \"distributed\"".into(),
        ),
        (*nodes > NODES_MAX, format!("nodes = {nodes}: processes of one machine: at most {NODES_MAX}")),
        (
            *clients > relay::CLIENTS_MAX,
            format!("clients = {clients}: with processes at most {}", relay::CLIENTS_MAX),
        ),
        (
            task.overrun_percent > 0.0,
            "task.overrun_percent: which program overruns is drawn when it starts, which no two worlds have in common; \
             must be 0"
                .into(),
        ),
        (
            scenario.clock.drift_ppm > 0.0,
            "clock.drift_ppm: processes of one machine have one clock; must be 0".into(),
        ),
        (
            *delay_ms > WIRE_MS_MAX,
            format!("wire.delay_ms = {delay_ms}: machines' processes are on one loopback; must be at most {WIRE_MS_MAX}"),
        ),
        (
            *loss_percent > 0.0 || *duplicate_percent > 0.0,
            "wire: nothing is lost or comes twice on a loopback; loss_percent and duplicate_percent must be 0".into(),
        ),
        (
            burn && *nodes > cpus,
            format!("nodes = {nodes}: --burn takes a CPU for each and there are {cpus}; without it programs only hold \
                     their worker"),
        ),
    ];
    if let Some((_, what)) = cannot.into_iter().find(|(cannot, _)| *cannot) {
        return Err(what);
    }
    match scenario.fault.iter().find(|fault| !matches!(fault.what, What::Crash | What::Restart)) {
        Some(fault) => {
            let what = format!("{:?}", fault.what).to_lowercase();
            Err(format!("fault: what = \"{what}\": processes are killed and started only: \"crash\" or \"restart\""))
        }
        None => Ok(()),
    }
}
