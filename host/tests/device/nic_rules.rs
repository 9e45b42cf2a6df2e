// SPDX-License-Identifier: Apache-2.0
//! The rules of the multiqueue NIC's parameters, tried on the device: what they accept works, and what the papers' max
//! would accept in their place does not.

use weir::results::Run;
use weir::scenario::moderation::{self, Demand, Figures, Rule, Violation};
use weir::scenario::{NicQueue, QueueOverrides, Scenario, TaskKind};

use super::{scenario_of, try_run};

/// A long job above all, messages with a deadline, and a stream whose deadline is far off.
const TRAFFIC: &str = "
    name = 'x'
    duration_ms = 300
    variants = ['codesign']
    [[task]]
    name = 'planner'
    priority = 9
    period_us = 20_000
    work_us = 4000
    [[task]]
    name = 'command'
    priority = 5
    listen = 'udp/5005'
    deadline_us = 10_000
    work_us = 50
    [[task]]
    name = 'log'
    priority = 3
    listen = 'udp/5006'
    deadline_us = 60_000
    [[traffic]]
    name = 'commands'
    pattern = 'uniform'
    to = 'udp/5005'
    rate_pps = 1000
    [[traffic]]
    name = 'records'
    pattern = 'uniform'
    to = 'udp/5006'
    rate_pps = 1500
    payload_bytes = 100
";
const COMMAND: usize = 0;
const LOG: usize = 1;

fn with(mut scenario: Scenario, queues: &[NicQueue]) -> Scenario {
    let flows = scenario.tasks.iter_mut().filter_map(|task| match &mut task.kind {
        TaskKind::Receiving { flow, .. } => Some(flow),
        _ => None,
    });
    for (flow, queue) in flows.zip(queues) {
        flow.queue = QueueOverrides {
            packet_timer_us: Some(queue.packet_timer_us),
            absolute_timer_us: Some(queue.absolute_timer_us),
            frames: Some(queue.frames),
            bytes: Some(queue.bytes),
        };
    }
    scenario
}

fn judged(scenario: &Scenario) -> (Figures, Vec<Violation>) {
    let demand = Demand::of(scenario);
    let figures = moderation::figures(&demand, &moderation::settings(scenario));
    let violations = moderation::violations(&demand, &figures);
    (figures, violations)
}

fn ran(scenario: &Scenario) -> Run {
    try_run(scenario).unwrap_or_else(|error| panic!("{error}")).run
}

fn lost(run: &Run) -> u64 {
    run.flows.iter().map(|flow| flow.dropped.total()).sum()
}

fn missed(run: &Run) -> u64 {
    run.tasks.iter().map(|task| task.missed).sum()
}

#[test]
fn what_is_suggested_is_in_time_and_loses_nothing() {
    let scenario = scenario_of(TRAFFIC);
    let at_once = ran(&scenario);
    let proposal = moderation::propose([&scenario]).expect("flows");
    assert!(proposal.violations.is_empty(), "{:?}", proposal.violations);
    let moderated = with(scenario, &proposal.queues);
    assert!(judged(&moderated).1.is_empty());
    let run = ran(&moderated);
    assert_eq!((missed(&run), lost(&run)), (0, 0), "{:?}", run.flows);
    assert!(run.interrupts.nic * 3 < at_once.interrupts.nic * 2, "{} {}", run.interrupts.nic, at_once.interrupts.nic);
}

/// The greater of deadline and room is in the papers' rule what the smaller one is in ours.
#[test]
fn what_only_the_papers_maximum_accepts_is_late_or_lost() {
    let scenario = scenario_of(TRAFFIC);
    let proposal = moderation::propose([&scenario]).expect("flows");
    let spoilt = |flow: usize, queue: NicQueue| {
        let mut queues = proposal.queues.clone();
        queues[flow] = queue;
        let spoilt = with(scenario.clone(), &queues);
        let (figures, violations) = judged(&spoilt);
        assert!(violations.iter().any(|broken| broken.flow == flow && broken.rule == Rule::Absolute));
        let of = &figures.flows[flow];
        let most_us = of.deadline_us.unwrap().max(of.fill_us.unwrap()) - figures.wcpd_us;
        assert!(f64::from(queue.absolute_timer_us) <= most_us, "the papers accept it: {most_us}");
        ran(&spoilt)
    };
    let timers = |us| NicQueue { packet_timer_us: us, absolute_timer_us: us, frames: 0, bytes: 4096 };
    // Room for 32 ms in the NIC, for 16 in the socket, but a deadline after 10 ms.
    let late = spoilt(COMMAND, timers(12_500));
    assert!(late.tasks[1].missed > late.tasks[1].jobs / 10 && lost(&late) == 0, "{:?}", late.tasks[1]);
    // Time for 60 ms, but room for 14 ms in the NIC and 11 in the socket.
    let full = spoilt(LOG, timers(50_000));
    assert!(full.flows[1].dropped.total() > 10, "{:?}", full.flows[1]);
}
