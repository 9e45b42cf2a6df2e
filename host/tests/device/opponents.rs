// SPDX-License-Identifier: Apache-2.0
//! What the library is held against: each rule does what it says, and as well as it can.

use weir::results::Run;

use super::{COMMANDS, flow, run};

/// A task to be protected, a receiving one below it, and what has no deadline.
const TASKS: &str = "
    [[task]]
    name = 'axis'
    priority = 6
    period_us = 1000
    work_us = 500
    [[task]]
    name = 'command'
    priority = 5
    listen = 'udp/5005'
    [[task]]
    name = 'hog'
    priority = 2
    background = true
";

fn flood(rate_pps: u32) -> String {
    format!(
        "[[traffic]]\nname = 'flood'\npattern = 'uniform'\nto = 'udp/9'\nfrom = '10.0.0.66'\nrate_pps = {rate_pps}\n\
         payload_bytes = 0\n"
    )
}

fn under(variant: &str, settings: &str, traffic: &str) -> Run {
    run(&format!("name = 'x'\nduration_ms = 50\nvariants = ['{variant}']\n{settings}\n{TASKS}{traffic}"))
}

/// Packets that the IP stack worked on: what it delivered and what it found no socket for.
fn worked_on(run: &Run) -> u64 {
    run.flows.iter().map(|flow| flow.delivered + flow.dropped.stack).sum()
}

#[test]
fn mitigations_protect_the_task_and_cannot_tell_the_packets_apart() {
    for variant in ["burst", "queue", "hysteresis", "budget", "capped"] {
        let run = under(variant, "[device]\nnet_priority = 5", &format!("{COMMANDS}{}", flood(100_000)));
        assert_eq!(run.tasks[0].missed, 0, "{variant}: {:?}", run.tasks[0]);
        let command = flow(&run, "command");
        assert!(command.delivered < command.offered / 2, "{variant}: {command:?}");
        assert!(worked_on(&run) > 50, "{variant}: and something still gets through");
    }
}

#[test]
fn a_burst_takes_no_more_than_its_capacity_in_a_slice() {
    let settings = "[mitigation]\ncapacity = 10\nslice_us = 5000";
    let run = under("burst", settings, &flood(20_000));
    // 50 ms touch 11 slices.
    assert!((90..=110).contains(&worked_on(&run)), "{}", worked_on(&run));
    let unlimited = under("burst", "[mitigation]\ncapacity = 100_000", &flood(20_000));
    assert!(worked_on(&unlimited) > 200);
}

#[test]
fn a_full_queue_turns_interrupts_off_until_it_is_empty() {
    let interrupts = |queue: u32| {
        let run = under("queue", &format!("[mitigation]\nqueue = {queue}"), &flood(50_000));
        (run.interrupts.nic, worked_on(&run))
    };
    let (with_one, worked_with_one) = interrupts(1);
    let (with_all, worked_with_all) = interrupts(16);
    assert!(with_one < with_all, "a queue of one is full at once: {with_one}, {with_all}");
    assert!(worked_with_one > 150 && worked_with_all > 150);
}

#[test]
fn hysteresis_stops_before_the_task_is_late_only_if_it_looks_in_the_interrupt() {
    let missed = |form: &str| {
        let settings = format!("[device]\nnet_priority = 7\n[mitigation]\nform = '{form}'\nresume_percent = 40");
        under("hysteresis", &settings, &flood(20_000)).tasks[0].missed
    };
    let (original, mended) = (missed("original"), missed("mended"));
    assert!(mended < original, "{mended} < {original}");
}

#[test]
fn a_budget_that_does_not_oscillate_gives_the_network_more_and_keeps_deadlines() {
    let under = |form: &str| {
        let settings = format!("[mitigation]\nform = '{form}'\n[device]\nrx_buffers = 32");
        let run = under("budget", &settings, &flood(60_000));
        assert_eq!(run.tasks[0].missed, 0, "{form}");
        worked_on(&run)
    };
    let (original, mended) = (under("original"), under("mended"));
    assert!(mended * 10 > original * 11, "{mended} {original}");
}

#[test]
fn a_cap_polls_for_its_capacity_and_returns_to_interrupts() {
    let settings = "[limit]\ncapacity = 2\nperiod_us = 1000";
    let run = under("capped", settings, &flood(50_000));
    assert!(
        (80..=104).contains(&worked_on(&run)),
        "two per millisecond, less what the task holds up: {}",
        worked_on(&run)
    );
    assert!(run.interrupts.nic <= 2, "and hardly an interrupt: {}", run.interrupts.nic);
    let calm = under("capped", settings, COMMANDS);
    assert_eq!(flow(&calm, "command").delivered, flow(&calm, "command").offered);
    assert!(calm.interrupts.nic >= 45, "one per packet: {}", calm.interrupts.nic);
}

#[test]
fn polling_as_in_linux_has_few_interrupts_under_load() {
    let napi = under("napi", "", &flood(50_000));
    let stock = under("stock", "", &flood(50_000));
    assert!(napi.interrupts.nic < 5, "{}", napi.interrupts.nic);
    assert!(worked_on(&napi) > worked_on(&stock), "and it does more: {} {}", worked_on(&napi), worked_on(&stock));
}

#[test]
fn classes_go_by_what_the_sender_says() {
    let with = |marks: &str, flood_marks: &str| {
        let traffic = format!("{COMMANDS}{marks}\n{}{flood_marks}", flood(10_000));
        let run = under("classes", "[device]\nnet_priority = 4", &traffic);
        let command = flow(&run, "command");
        (command.delivered, command.offered)
    };
    let (marked, offered) = with("dscp = 46", "");
    assert!(marked + 1 >= offered, "{marked} of {offered}");
    let (against_marked, _) = with("dscp = 46", "dscp = 46");
    assert!(against_marked < offered * 9 / 10, "whoever marks a flood gets it worked on: {against_marked}");
}
