// SPDX-License-Identifier: Apache-2.0
//! What a flood does to the stock path, in the shape that the papers found (thesis 4.4).

use weir::results::Run;

use super::{cases_in, folder, try_run};

fn runs(net_priority: u32) -> Vec<Run> {
    let text = format!(
        "name = 'flood'
        duration_ms = 30
        [device]
        net_priority = {net_priority}
        [[task]]
        name = 'axis'
        priority = 6
        period_us = 1000
        work_us = 300
        [[task]]
        name = 'command'
        priority = 5
        listen = 'udp/5005'
        [[traffic]]
        pattern = 'uniform'
        to = 'udp/5005'
        rate_pps = 500
        [[traffic]]
        name = 'flood'
        pattern = 'poisson'
        to = 'udp/9'
        rate_pps = [0, 4000, 25000]"
    );
    cases_in(folder().path(), &text)
        .iter()
        .map(|case| try_run(&case.scenario).unwrap_or_else(|error| panic!("{error}")).run)
        .collect()
}

#[test]
fn a_task_below_the_network_misses_and_then_starves() {
    let runs = runs(7);
    let missed: Vec<u64> = runs.iter().map(|run| run.tasks[0].missed).collect();
    assert_eq!(missed[0], 0);
    assert!(missed[1] < missed[2] && missed[2] == runs[2].tasks[0].jobs, "{missed:?}");
    assert!(runs[2].tasks[0].response_us.is_none(), "no job completes");
    assert!(runs[2].cpu.net > 0.9);
}

#[test]
fn a_task_above_the_network_keeps_its_deadlines_and_delays_the_network() {
    let runs = runs(4);
    assert!(runs.iter().all(|run| run.tasks[0].missed == 0));
    let lateness = |run: &Run| run.tasks[0].lateness_us.max.unwrap();
    assert!(lateness(&runs[2]) > lateness(&runs[0]), "interrupts still delay it");
    let flow = |run: &Run| run.flows[0].delivered as f64 / run.flows[0].offered as f64;
    assert!(flow(&runs[0]) > 0.9 && flow(&runs[2]) < 0.5, "{} {}", flow(&runs[0]), flow(&runs[2]));
}
