// SPDX-License-Identifier: Apache-2.0
//! The multiqueue NIC, alone and with the library: what a flood costs those that it is not for.

use weir::results::{FlowResult, Run};

use super::{flow, outcome, run};

/// A task above all receiving ones, a critical flow, a socket below it that a flood may be for, a hog.
const TASKS: &str = "
    [[task]]
    name = 'axis'
    priority = 9
    period_us = 1000
    work_us = 200
    [[task]]
    name = 'command'
    priority = 5
    listen = 'udp/5005'
    [[task]]
    name = 'log'
    priority = 3
    listen = 'udp/5006'
    [[task]]
    name = 'hog'
    priority = 2
    background = true
";
const COMMANDS: &str = "
    [[traffic]]
    pattern = 'uniform'
    to = 'udp/5005'
    from = '10.0.0.2'
    rate_pps = 500
";

fn scenario(variant: &str, traffic: &str) -> String {
    format!("name = 'x'\nduration_ms = 30\nvariants = ['{variant}']\n{TASKS}{traffic}")
}

fn flood(to: &str) -> String {
    format!("[[traffic]]\nname = 'flood'\npattern = 'line-rate'\nto = '{to}'\nfrom = '10.0.0.66'\n")
}

fn worst_us(run: &Run) -> f64 {
    run.tasks[0].response_us.as_ref().unwrap().max
}

/// Not one instruction of the device retires in another cycle.
#[test]
fn a_flood_that_nobody_listens_to_is_as_silence() {
    let silence = outcome(&scenario("codesign", ""));
    for to in ["udp/9", "tcp/9", "multicast/5005"] {
        let loud = outcome(&scenario("codesign", &flood(to)));
        assert_eq!(loud.hash, silence.hash, "{to}");
        let background = loud.run.flows.last().unwrap();
        assert!(background.offered > 3000 && background.dropped.nic_filter == background.offered, "{background:?}");
    }
}

/// A flood for a socket of a task below costs the task above it one window with interrupts off, and cold caches.
#[test]
fn a_flood_for_a_lower_task_costs_no_more_than_one_window() {
    let silence = run(&scenario("codesign", ""));
    for to in ["udp/5006", "fragments/5006"] {
        let loud = run(&scenario("codesign", &flood(to)));
        assert!(worst_us(&loud) - worst_us(&silence) <= 16.0, "{to}: {} and {}", worst_us(&loud), worst_us(&silence));
        assert_eq!(loud.tasks[0].missed, 0);
    }
}

/// Whatever the flood, what a critical task is sent arrives.
#[test]
fn no_flood_takes_anything_from_the_critical_flow() {
    let alone = run(&scenario("codesign", COMMANDS));
    for kind in [
        "pattern = 'line-rate'\nto = 'udp/5006'",
        "pattern = 'icmp'\nrate_pps = 60_000",
        "pattern = 'arp'\nrate_pps = 60_000",
        "pattern = 'poisson'\nto = 'broadcast/5006'\nrate_pps = 60_000",
        "pattern = 'poisson'\nto = 'fragments/5005'\nrate_pps = 60_000",
    ] {
        let flood = format!("{COMMANDS}[[traffic]]\nname = 'flood'\nfrom = '10.0.0.66'\n{kind}\n");
        let run = run(&scenario("codesign", &flood));
        let command = flow(&run, "command");
        assert_eq!(command.delivered + command.in_flight, command.offered, "{kind}: {command:?}");
        assert!(command.in_flight <= 1, "{kind}: {command:?}");
        let (alone, now) = (flow(&alone, "command"), command);
        let worst = |flow: &FlowResult| flow.latency_us.as_ref().unwrap().max;
        // A packet or two of ARP and ICMP, which are as urgent; meanwhile a job of `axis`.
        assert!(worst(now) < worst(alone) + 250.0 + 200.0, "{kind}: {} and {}", worst(now), worst(alone));
    }
}
