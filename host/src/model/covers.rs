// SPDX-License-Identifier: Apache-2.0
//! What the model refuses, in one line that says what it covers.

use crate::scenario::{Cpu, Pattern, Protocol, Scenario, Target, TaskKind, Variant, Work};

/// The receive paths that it has.
pub const VARIANTS: [Variant; 4] = [Variant::Stock, Variant::Driver, Variant::Nic, Variant::Codesign];

/// Why a scenario cannot run under a variant; `None`: it can.
pub fn refusal(scenario: &Scenario, variant: Variant) -> Option<String> {
    if !VARIANTS.contains(&variant) {
        return Some(format!(
            "the platform `model` has no variant `{}`; it covers stock, driver, nic and codesign",
            variant.name()
        ));
    }
    let device = &scenario.device;
    if device.cpu != Cpu::Imac {
        return Some("the platform `model` has no costs of the CPU `full`; it covers `imac`".to_string());
    }
    if device.eager_invalidation || !device.trace {
        return Some(
            "the platform `model` covers a firmware with `trace = true` and `eager_invalidation = false`".to_string(),
        );
    }
    for task in &scenario.tasks {
        let name = &task.name;
        if let Work::Source { .. } = task.work {
            return Some(format!(
                "task `{name}`: the platform `model` cannot tell what a C file costs; it covers `work_us` and `binomial`"
            ));
        }
        if let TaskKind::Receiving { listen, .. } = &task.kind
            && listen.protocol == Protocol::Tcp
        {
            return Some(format!(
                "task `{name}`: the platform `model` has no TCP; it covers `listen = \"udp/PORT\"`, periodic and background tasks"
            ));
        }
    }
    let tcp = |target: &Target| matches!(target, Target::Port(listen) if listen.protocol == Protocol::Tcp);
    scenario.traffic.iter().find(|traffic| tcp(&traffic.to) || matches!(traffic.pattern, Pattern::Pcap { .. })).map(
        |traffic| {
            format!(
                "traffic `{}`: the platform `model` has no TCP and replays no captures; it covers UDP, ARP and ICMP",
                traffic.name
            )
        },
    )
}
