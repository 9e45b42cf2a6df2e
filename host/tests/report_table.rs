// SPDX-License-Identifier: Apache-2.0
//! The table in the terminal.

mod report_synthetic;

use report_synthetic as synthetic;
use weir::report::table;
use weir::results::Results;

const RED: &str = "\x1b[1;31m";

/// The lines of `text` that begin with `start`.
fn lines<'a>(text: &'a str, start: &str) -> Vec<&'a str> {
    text.lines().filter(|line| line.starts_with(start)).collect()
}

/// With every break of a paragraph undone.
fn unwrapped(text: &str) -> String {
    text.replace("\n  ", " ")
}

#[test]
fn one_line_per_run_with_all_tasks() {
    let text = table(&synthetic::sweep(), 120, false);
    let runs = lines(&text, "stock         10,000");
    let misses = runs[0].split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(misses, "stock 10,000 │ 11/200 1,437 1,667 667 │ 0/100 1,317 1,591 -409 │ 16,666");
    assert!(runs.iter().any(|line| line.contains("74/100  nic_full 17 socket 9")), "{runs:?}");
    assert!(runs.iter().any(|line| line.contains("23.0     45.3   31.7   0.0")), "{runs:?}");
}

#[test]
fn fits_the_width() {
    for width in [100, 110, 120] {
        let text = table(&synthetic::sweep(), width, false);
        let longest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(longest <= width, "{longest} columns of {width}");
    }
}

#[test]
fn starved_tasks_and_misses_stand_out() {
    let text = table(&synthetic::sweep(), 120, true);
    assert!(text.contains(&format!("{RED}starved\x1b[0m")));
    assert!(text.contains(&format!("{RED}     11/200\x1b[0m")));
    assert!(!table(&synthetic::sweep(), 120, false).contains('\x1b'));
}

#[test]
fn verdict_names_the_load_from_which_a_task_misses() {
    let text = unwrapped(&table(&synthetic::sweep(), 120, false));
    for wanted in [
        "stock: axis keeps every deadline up to flood 5,000 pps; at 10,000 it misses 11 of 200 deadlines \
         (up to 667 µs late); from 15,000 it starves (no job completes).",
        "driver: axis and command keep every deadline from flood 0 to 20,000 pps; the closest call leaves 271 µs.",
        "command loses packets from flood 5,000 pps; at 20,000 it gets 82 of 100 packets",
        "At flood 20,000 pps interrupts take 43 % of the CPU, network tasks 54 %",
        "All 32,616 packets of 18 runs are accounted for; no buffer leaked.",
    ] {
        assert!(text.contains(wanted), "{wanted}\nis not in\n{text}");
    }
}

#[test]
fn verdict_of_a_single_run_names_no_load() {
    let text = unwrapped(&table(&synthetic::single(), 120, false));
    assert!(text.contains("stock: axis and command keep every deadline; the closest call leaves 391 µs."), "{text}");
    assert!(text.contains("Interrupts take 13 % of the CPU"), "{text}");
}

#[test]
fn further_swept_keys_make_further_verdicts() {
    let text = table(&synthetic::two_keys(), 120, false);
    assert_eq!(lines(&text, "stock, device.net_priority 4: ").len(), 1, "{text}");
    assert_eq!(lines(&text, "codesign, device.net_priority 7: ").len(), 1, "{text}");
}

#[test]
fn lost_packets_and_buffers_are_faults() {
    let mut results = synthetic::single();
    results.runs[0].flows[0].delivered -= 1;
    results.runs[0].buffers.leaked = 2;
    let text = unwrapped(&table(&results, 120, false));
    assert!(text.contains("FAULT in the device's software: stock: flow command: 100 offered, 99 found (and 1 more)."));
}

#[test]
fn names_cannot_steer_the_terminal() {
    let mut results = synthetic::single();
    results.scenario = "a\x1b[2Jb".into();
    results.runs[0].tasks[0].name = "axis\x07".into();
    results.runs[0].variant = "stock\n".into();
    let text = table(&results, 100, false);
    assert!(!text.contains('\x1b') && !text.contains('\x07'));
    assert!(text.starts_with("a?[2Jb: 1 run on soc"));
}

#[test]
fn odd_input_does_not_panic() {
    assert!(table(&synthetic::empty(), 80, true).contains("There are no runs."));
    let mut results: Results = synthetic::sweep();
    results.cpu_hz = 0;
    results.runs[3].tasks.clear();
    results.runs[4].flows.clear();
    results.runs[5].loads.clear();
    results.runs[6].tasks[0].lateness_us.max = Some(f64::NAN);
    results.runs[7].flows[0].offered = u64::MAX;
    for width in [0, 1, 40, 500] {
        table(&results, width, true);
    }
}

#[test]
fn peers_have_columns_and_a_sentence() {
    let text = unwrapped(&table(&synthetic::sweep(), 120, false));
    for wanted in [
        "Peers, round trip in µs",
        "panel: at flood 0 pps 50 sent, 50 answered, none failed",
        "plant: at flood 0 pps 67 sent, 3 answered, none failed; from 15,000 67 sent, none answered, none failed.",
    ] {
        assert!(text.contains(wanted), "{wanted}\nis not in\n{text}");
    }
    let mut alone = synthetic::single();
    alone.runs[0].peers.clear();
    assert!(!table(&alone, 120, false).contains("Peers"));
}

#[test]
fn a_task_to_which_nothing_comes_does_not_look_innocent() {
    let mut results = synthetic::sweep();
    let run = &mut results.runs[5];
    run.tasks[1].jobs = 0;
    run.tasks[1].missed = 0;
    run.tasks[1].response_us = None;
    run.tasks[1].lateness_us.max = None;
    run.flows[0] = weir::results::FlowResult { offered: 0, delivered: 0, in_flight: 0, ..run.flows[0].clone() };
    run.flows[0].dropped = weir::results::Dropped::default();
    let text = unwrapped(&table(&results, 120, false));
    assert!(text.contains("at 20,000 it gets no job"), "{text}");
    assert!(text.contains("No packet for command arrives at flood 20,000 pps."), "{text}");
}

#[test]
fn verdict_names_the_first_load_with_misses_and_the_worst() {
    let mut results = synthetic::sweep();
    for (index, missed) in [(1, 2), (2, 9), (3, 114), (4, 150)] {
        let axis = &mut results.runs[index].tasks[0];
        axis.missed = missed;
        axis.response_us = results_response();
        axis.lateness_us.max = Some(missed as f64);
    }
    let text = unwrapped(&table(&results, 120, false));
    let wanted = "stock: axis keeps its deadlines only without flood; from flood 1,000 to 15,000 pps it misses deadlines \
                  (2 of 200 at 1,000; at worst 150 of 200 at 15,000; up to 150 µs late); at 20,000 it starves";
    assert!(text.contains(wanted), "{text}");
}

fn results_response() -> Option<weir::results::Quantiles> {
    synthetic::single().runs[0].tasks[0].response_us.clone()
}

#[test]
fn nothing_is_said_of_packets_when_none_came() {
    let mut results = synthetic::single();
    for flow in &mut results.runs[0].flows {
        flow.offered = 0;
        flow.delivered = 0;
        flow.in_flight = 0;
        flow.dropped = weir::results::Dropped::default();
    }
    let text = table(&results, 120, false);
    assert!(!text.contains("Packets") && !text.contains("All 0"), "{text}");
    assert!(text.contains("No buffer leaked."), "{text}");
}

#[test]
fn a_dropped_message_is_missed_without_being_late() {
    let mut results = synthetic::single();
    let task = &mut results.runs[0].tasks[0];
    (task.missed, task.lateness_us.max) = (3, Some(-120.0));
    let text = unwrapped(&table(&results, 120, false));
    assert!(text.contains("axis misses 3 of 200 deadlines.") && !text.contains("late)"), "{text}");
}

#[test]
fn a_task_without_a_deadline_keeps_none_and_may_still_starve() {
    let mut results = synthetic::sweep();
    for run in &mut results.runs {
        let task = &mut run.tasks[1];
        (task.jobs, task.missed, task.lateness_us.max) = (10, 0, None);
    }
    results.runs[4].tasks[1].jobs = 0;
    results.runs[4].tasks[1].response_us = None;
    let text = unwrapped(&table(&results, 120, false));
    assert!(text.contains("command has no deadline, and gets no job at flood 15,000 pps."), "{text}");
    assert!(!text.contains("command keep"), "{text}");
}
