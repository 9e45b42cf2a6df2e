// SPDX-License-Identifier: Apache-2.0
//! What can be run, but is probably not what was meant.

use weir::scenario::Overrides;

use crate::common::{TASKS, check_with};

fn warnings(text: &str) -> Vec<String> {
    let checked = check_with(text, &Overrides::default()).unwrap_or_else(|errors| panic!("{errors}"));
    checked.warnings.problems().iter().map(|problem| format!("{}: {}", problem.message(), problem.label())).collect()
}

#[test]
fn an_ordinary_scenario_has_none() {
    assert_eq!(warnings(TASKS), [""; 0]);
}

#[test]
fn periodic_tasks_that_need_more_than_the_cpu() {
    let text = format!("{TASKS}[[task]]\nname = 'b'\npriority = 2\nperiod_us = 1000\nwork_us = 800\n");
    let expected = "the periodic tasks ask for more than the whole CPU: 110 % together, 80 % of it `b`";
    assert_eq!(warnings(&text), [expected]);
    assert_eq!(warnings(&text.replace("work_us = 800", "work_us = 700")), [""; 0]);
}

#[test]
fn tasks_and_network_below_a_background_task() {
    let text = TASKS
        .replace("priority = 1\n", "priority = 5\n")
        .replace("[[task]]\nname = \"axis\"", "[device]\nnet_priority = 4\n[[task]]\nname = \"axis\"");
    assert_eq!(
        warnings(&text),
        [
            "the network tasks never run: `net_priority` is 4, and this task never blocks",
            "the task `plc` never runs: the background task `worker` has priority 5",
        ]
    );
}

#[test]
fn the_librarys_network_task_is_no_lower_than_its_packets() {
    let text = "name = 'x'\nvariants = ['driver']\n[device]\nnet_priority = 1\n\
                [[task]]\nname = 'a'\npriority = 2\nbackground = true";
    assert_eq!(warnings(text), [""; 0]);
}

#[test]
fn traffic_that_never_starts() {
    let text = "name = 'x'\n[[traffic]]\npattern = 'arp'\nrate_pps = 1\nstart_ms = 220";
    assert_eq!(warnings(text), ["this traffic never starts: the run ends after 220 ms, warm-up included"]);
}
