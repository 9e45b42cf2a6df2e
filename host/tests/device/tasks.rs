// SPDX-License-Identifier: Apache-2.0
//! Tasks do what the scenario says.

use super::{outcome, run};

#[test]
fn synthetic_work_takes_the_time_it_says() {
    let run = run("name = 'x'
        duration_ms = 20
        [[task]]
        name = 'axis'
        priority = 5
        period_us = 1000
        work_us = 300");
    let axis = &run.tasks[0];
    let response = axis.response_us.as_ref().unwrap();
    assert_eq!((axis.jobs, axis.missed), (20, 0));
    // 300 us, and what the tick and the switch to the task take.
    assert!(response.min > 303.0 && response.max < 312.0, "{response:?}");
    assert!((axis.cycles as f64 / 20.0 - 30_000.0).abs() < 1000.0, "{} cycles", axis.cycles);
}

#[test]
fn periods_that_are_no_multiple_of_the_tick_are_kept() {
    let run = run("name = 'x'
        duration_ms = 20
        [[task]]
        name = 'fast'
        priority = 8
        period_us = 125
        work_us = 10
        [[task]]
        name = 'odd'
        priority = 7
        period_us = 700
        work_us = 50");
    assert_eq!((run.tasks[0].jobs, run.tasks[0].missed), (160, 0));
    let response = run.tasks[0].response_us.as_ref().unwrap();
    assert!(response.max < 40.0, "{response:?}");
    assert_eq!(run.tasks[1].missed, 0);
    assert_eq!(run.tasks[1].jobs, 28);
}

#[test]
fn binomial_work_is_repeatable_and_grows_with_n() {
    let cycles = |n: u32| {
        run(&format!(
            "name = 'x'
            duration_ms = 10
            [[task]]
            name = 'a'
            priority = 5
            period_us = 10000
            binomial = [{n}, {n}]"
        ))
        .tasks[0]
            .cycles
    };
    assert!(cycles(40) > 2 * cycles(20));
}

#[test]
fn a_background_task_gets_what_is_left() {
    let loops = |work_us: u32| {
        run(&format!(
            "name = 'x'
            duration_ms = 20
            [[task]]
            name = 'worker'
            priority = 1
            background = true
            [[task]]
            name = 'axis'
            priority = 5
            period_us = 1000
            work_us = {work_us}"
        ))
        .tasks[0]
            .loops
    };
    let (little, much) = (loops(500), loops(100));
    let share = little as f64 / much as f64;
    assert!((share - 0.5 / 0.9).abs() < 0.02, "{share}");
}

#[test]
fn modbus_master_and_udp_client_talk_to_real_sockets() {
    let outcome = outcome(
        "name = 'x'
        duration_ms = 100
        [[task]]
        name = 'modbus'
        priority = 4
        listen = 'tcp/502'
        deadline_us = 5000
        work_us = 20
        [[task]]
        name = 'echo'
        priority = 5
        listen = 'udp/7'
        reply_bytes = 64
        [[traffic]]
        name = 'master'
        pattern = 'modbus'
        to = 'tcp/502'
        rate_pps = 200
        registers = 125
        [[traffic]]
        name = 'client'
        pattern = 'request'
        to = 'udp/7'
        rate_pps = 300",
    );
    let (master, client) = (&outcome.peers[0], &outcome.peers[1]);
    assert!(master.answered >= 18 && master.failed == 0 && master.exceptions == 0, "{master:?}");
    assert!(client.answered >= 30 && client.failed == 0, "{client:?}");
    let modbus = &outcome.run.tasks[0];
    assert!(modbus.jobs >= 15 && modbus.missed == 0, "{modbus:?}");
}
