// SPDX-License-Identifier: Apache-2.0
//! What a message costs the CPU: measured on the simulated device, `imac` at 100 MHz, worst of many, rounded up.

use crate::scenario::model::{Listen, Protocol, Scenario, Variant};

/// Protocol work of the network task per UDP frame, variant `codesign`; with TCP; the same of the stock tasks of `nic`.
const CODESIGN_UDP_CYCLES: f64 = 6_200.0;
const CODESIGN_TCP_CYCLES: f64 = 11_100.0;
const STOCK_UDP_CYCLES: f64 = 9_500.0;
const STOCK_TCP_CYCLES: f64 = 13_800.0;

/// What the receiving task spends on a message beside its own work: to fetch it; to answer it, too; with TCP.
const FETCH_CYCLES: f64 = 3_900.0;
const ANSWER_CYCLES: f64 = 16_000.0;
const TCP_ANSWER_CYCLES: f64 = 24_000.0;

/// t_netstack: of the worst variant and protocol that the scenario has.
pub(super) fn netstack_us(scenario: &Scenario, listens: impl Iterator<Item = Listen>) -> f64 {
    if let Some(given_us) = scenario.nic.netstack_us {
        return given_us;
    }
    let stock = scenario.variants.contains(&Variant::Nic);
    let tcp = listens.into_iter().any(|listen| listen.protocol == Protocol::Tcp);
    let cycles = match (stock, tcp) {
        (false, false) => CODESIGN_UDP_CYCLES,
        (false, true) => CODESIGN_TCP_CYCLES,
        (true, false) => STOCK_UDP_CYCLES,
        (true, true) => STOCK_TCP_CYCLES,
    };
    cycles / f64::from(scenario.device.cpu_mhz)
}

/// A message in the receiving task, without the task's own work.
pub(super) fn message_us(scenario: &Scenario, listen: Listen, answers: bool) -> f64 {
    let cycles = match (listen.protocol, answers) {
        (Protocol::Tcp, _) => TCP_ANSWER_CYCLES,
        (Protocol::Udp, true) => ANSWER_CYCLES,
        (Protocol::Udp, false) => FETCH_CYCLES,
    };
    cycles / f64::from(scenario.device.cpu_mhz)
}
