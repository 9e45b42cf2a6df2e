// SPDX-License-Identifier: Apache-2.0
//! The rules for the parameters of the multiqueue NIC (thesis 6.2.2): whether a scenario keeps them, and what would.
//!
//! ```text
//! scenario -> Demand (traffic, deadlines, jobs; nothing of the NIC) + settings -> Figures -> violations
//! ```
//!
//! The symbols are explained in docs/reference/nic-parameters.md.

mod arrivals;
mod costs;
mod demand;
mod figures;
mod proposal;
mod rules;
mod warn;

pub use demand::Demand;
pub use figures::{Figures, FlowFigures, Wait, figures};
pub use proposal::{Open, Proposal, propose};
pub use rules::{Rule, Violation, us, violations};
pub(super) use warn::find;

use super::model::{NicQueue, Scenario, TaskKind};

/// Figures are in microseconds and come from divisions: less than this is no difference.
const NOTHING_US: f64 = 1e-6;

/// Whether a queue announces each frame at once.
pub fn announces_at_once(queue: &NicQueue) -> bool {
    queue.packet_timer_us == 0 && queue.absolute_timer_us == 0 && queue.frames <= 1
}

/// Whether the rules say anything about a scenario: a variant has the NIC, or somebody thought of one.
pub fn concerns(scenario: &Scenario) -> bool {
    scenario.variants.iter().any(|variant| variant.uses_queues())
        || settings(scenario).iter().any(|queue| !announces_at_once(queue))
}

/// The queues of the receiving tasks, in the order of the file.
pub fn settings(scenario: &Scenario) -> Vec<NicQueue> {
    let contracts = scenario.tasks.iter().filter_map(|task| match &task.kind {
        TaskKind::Receiving { flow, .. } => Some(flow),
        _ => None,
    });
    contracts.map(|flow| scenario.nic.queue.with(&flow.queue)).collect()
}
