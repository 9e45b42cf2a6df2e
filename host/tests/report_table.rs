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
         (at most 667 µs late); from 15,000 it starves (no job completes).",
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
