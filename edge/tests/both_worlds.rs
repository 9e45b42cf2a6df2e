// SPDX-License-Identifier: Apache-2.0
//! A scenario in virtual time and by real processes: what must hold in both.

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

mod common;
use common::{WEIR_EDGE, eventually, state, text};

const SCENARIO: &str = "name = \"short\"\nnodes = 3\nclients = 4\nseconds = 5\nwarm_up_s = 1\nseeds = 1\n\
    [task]\nwcet_ms = 30\nslack_ms = 400\nrate_per_s = 3\n\
    [link]\ndelay_ms = 10\njitter_ms = 2\nloss_percent = 1\n\
    [admission]\nstart_cost_ms = 5\n";
const KILLED: &str = "[[fault]]\nat_s = 2\nnode = 1\nwhat = \"crash\"\n\
    [[fault]]\nat_s = 3\nnode = 1\nwhat = \"restart\"\n";

fn confirm(scenario: &str, options: &[&str]) -> (Output, Option<Value>) {
    let folder = tempfile::tempdir().unwrap();
    let (file, figures) = (folder.path().join("short.toml"), folder.path().join("figures.json"));
    std::fs::write(&file, scenario).unwrap();
    let mut command = Command::new(WEIR_EDGE);
    command.arg("confirm").arg(&file).arg("--json").arg(&figures).args(options);
    let output = command.output().unwrap();
    let figures = std::fs::read_to_string(&figures).ok().map(|text| serde_json::from_str(&text).unwrap());
    (output, figures)
}

fn count(row: &Value, world: &str, what: &str) -> u64 {
    row[world]["counts"][what].as_u64().unwrap_or_else(|| panic!("no {world} {what}: {row}"))
}

/// All tasks had one last word, in both worlds the same tasks; what was decided is told.
fn holds(row: &Value) {
    for world in ["simulator", "processes"] {
        let rejected = row[world]["counts"]["rejected"].as_object().unwrap();
        let rejected: u64 = rejected.values().map(|count| count.as_u64().unwrap()).sum();
        let ends = ["in_time", "late", "failed", "overrun", "lost", "given_back"];
        let accepted: u64 = ends.iter().map(|end| count(row, world, end)).sum();
        assert_eq!(accepted, count(row, world, "accepted"), "{world}: {row}");
        assert_eq!(accepted + rejected, count(row, world, "submitted"), "{world}: {row}");
        assert_eq!(count(row, world, "failed"), 0, "{world}: {row}");
    }
    assert_eq!(count(row, "processes", "submitted"), count(row, "simulator", "submitted"), "{row}");
    assert!(count(row, "simulator", "submitted") >= 30, "{row}");
    assert_eq!(count(row, "simulator", "late"), 0, "{row}");
    // On a machine that is busy with something else, some are late, and the others are refused.
    assert!(count(row, "processes", "in_time") * 2 > count(row, "simulator", "in_time"), "{row}");
    assert!(row["decided_alike"].as_u64().unwrap() * 2 > count(row, "simulator", "submitted"), "{row}");
}

#[test]
fn processes_do_the_tasks_of_the_simulator() {
    for mode in ["distributed", "central"] {
        let (output, figures) = confirm(&format!("mode = \"{mode}\"\n{SCENARIO}{KILLED}"), &["--seed", "7"]);
        assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
        let figures = figures.unwrap();
        let [row] = figures.as_array().unwrap().as_slice() else { panic!("{figures}") };
        holds(row);
        // That the machine was gone, and came back, was noticed in both worlds.
        for (world, what) in [("simulator", "back_ms"), ("processes", "back_ms"), ("processes", "noticed_ms")] {
            let noticed = row[world]["counts"][what].as_array().unwrap();
            assert_eq!(noticed.len(), 1, "{mode}: {world} {what}: {row}");
        }
        let told = text(&output.stdout);
        let lines: Vec<&str> = told.lines().collect();
        assert_eq!(lines.len(), 4, "{told}");
        assert!(
            lines[1].starts_with("short ") && lines[1].contains(" simulator ") && lines[3].contains("decided alike"),
            "{told}"
        );
    }
}

#[test]
fn what_processes_cannot_do_is_refused() {
    let fault = |what: &str| format!("{SCENARIO}[[fault]]\nat_s = 2\nnode = 1\nwhat = \"{what}\"\n");
    let nodes = |nodes: usize| SCENARIO.replace("nodes = 3", &format!("nodes = {nodes}"));
    let cpus = std::thread::available_parallelism().unwrap().get();
    let burn = format!("nodes = {}: --burn takes a CPU for each and there are {cpus}", cpus + 1);
    let cases: [(String, &[&str], &str); 10] = [
        (format!("mode = \"reference\"\n{SCENARIO}"), &[], "mode = \"reference\": "),
        (nodes(33), &[], "nodes = 33: processes of one machine: at most 32"),
        (nodes(cpus + 1), &["--burn"], &burn),
        (SCENARIO.replace("clients = 4", "clients = 257"), &[], "clients = 257: with processes at most 256"),
        (SCENARIO.replace("[link]", "overrun_percent = 1\n[link]"), &[], "task.overrun_percent: "),
        (
            format!("{SCENARIO}[clock]\ndrift_ppm = 1\n"),
            &[],
            "clock.drift_ppm: processes of one machine have one clock",
        ),
        (format!("{SCENARIO}[wire]\ndelay_ms = 2\n"), &[], "wire.delay_ms = 2: "),
        (format!("{SCENARIO}[wire]\ndelay_ms = 0.1\nloss_percent = 1\n"), &[], "wire: nothing is lost"),
        (fault("silence"), &[], "fault: what = \"silence\": processes are killed and started only"),
        (fault("partition"), &[], "fault: what = \"partition\": "),
    ];
    for (scenario, options, told) in cases {
        let (output, figures) = confirm(&scenario, options);
        let error = text(&output.stderr);
        assert_eq!((output.status.code(), error.lines().count(), figures), (Some(2), 1, None), "{error}");
        assert!(error.starts_with("weir-edge: ") && error.contains(&format!("short.toml: {told}")), "{error}");
    }
}

#[test]
fn a_program_that_holds_its_worker_takes_longer_by_as_much_as_it_stands_still() {
    let began = Instant::now();
    let mut child = Command::new(WEIR_EDGE).args(["compute", "--hold", "200ms"]).stdout(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(50));
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::STOP).unwrap();
    eventually("that it stands still", || state(child.id()) == Some('T'));
    let stopped = Instant::now();
    std::thread::sleep(Duration::from_millis(300));
    let stood = stopped.elapsed();
    kill_process(pid, Signal::CONT).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(began.elapsed() >= stood + Duration::from_millis(190), "{:?} with {stood:?}", began.elapsed());
}
