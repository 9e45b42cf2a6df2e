// SPDX-License-Identifier: Apache-2.0
//! Programs under a real node: run, preempted, contained.

use std::time::{Duration, Instant};

use weir_edge::client::{Exit, Outcome, Task};

mod common;
use common::{Machine, Site, WEIR_EDGE, eventually, is_alive, state, text};

const MS: fn(u64) -> Duration = Duration::from_millis;

/// A node with one worker and a program of the shell.
fn node(site: &Site, name: &str, script: &str) -> Machine {
    site.node(&format!("workers = 1\n[programs]\n{name} = [\"sh\", \"-c\", '''{script}''']\n"))
}

fn result(outcome: Outcome) -> (Exit, String, Duration) {
    match outcome {
        Outcome::Result { exit, output, execution, .. } => (exit, text(&output), execution),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_program_has_the_payload_as_its_input_and_its_output_comes_back() {
    let site = Site::new();
    let node = node(&site, "greet", "read name; echo hello $name, $WEIR_WCET_US us");
    let arguments = ["--program", "greet", "--wcet", "2s", "--budget", "9s", "--payload", "world"];
    let submitted = site.submit(&node, &arguments);
    let printed = text(&submitted.stdout);
    assert!(printed.contains(&format!("accepted by {}", node.address)), "{printed}");
    assert!(printed.ends_with("\nhello world, 2000000 us\n"), "{printed}");
    assert_eq!(submitted.status.code(), Some(0));
    assert_eq!(node.metric("weir_edge_done_total"), 1.0);
    assert_eq!(node.metric("weir_edge_execution_seconds_count"), 1.0);
}

#[test]
fn each_end_has_its_exit_status() {
    let site = Site::new();
    let node = node(&site, "complain", "echo >&2; echo no such image >&2; echo more >&2; exit 3");
    let with = |program, wcet| site.submit(&node, &["--program", program, "--wcet", wcet, "--budget", "5s"]);
    let failed = with("complain", "1s");
    assert!(text(&failed.stdout).ends_with("\nexit status: 3: no such image\n"), "{}", text(&failed.stdout));
    assert_eq!(failed.status.code(), Some(5));
    let unknown = with("resize", "1s");
    assert!(text(&unknown.stdout).contains("no program of this name"), "{}", text(&unknown.stdout));
    assert_eq!(unknown.status.code(), Some(3));
    let hopeless = with("complain", "6s");
    assert!(text(&hopeless.stdout).contains("no node can finish it in time"), "{}", text(&hopeless.stdout));
    assert_eq!(hopeless.status.code(), Some(3));
}

#[test]
fn an_output_that_fits_no_datagram_is_a_failure() {
    let site = Site::new();
    let node = node(&site, "fill", "read n; head -c $n /dev/zero");
    let client = site.client(&[&node]);
    let fill = |bytes: &str| result(client.submit(&Task::new("fill", MS(2_000), MS(9_000)).payload(bytes)).wait());
    let (exit, output, _) = fill("1200");
    assert_eq!((exit, output.len()), (Exit::Done, 1200));
    let (exit, output, _) = fill("1201");
    assert_eq!((exit, output.as_str()), (Exit::Failed, "the program wrote more than 1200 bytes"));
    // Without an end: it is stopped, not waited for.
    let (exit, output, _) = fill("100G");
    assert_eq!((exit, output.as_str()), (Exit::Failed, "the program wrote more than 1200 bytes"));
}

#[test]
fn complaints_without_end_do_not_keep_a_program_from_its_work() {
    let site = Site::new();
    let node = node(&site, "chatter", "head -c 1000000 /dev/zero >&2; echo done");
    let (exit, output, _) = result(site.client(&[&node]).submit(&Task::new("chatter", MS(3_000), MS(9_000))).wait());
    assert_eq!((exit, output.as_str()), (Exit::Done, "done\n"));
}

#[test]
fn the_more_urgent_job_comes_first_and_the_other_still_comes() {
    let site = Site::new();
    let file = site.path("pids");
    // Two processes: both have to stand still.
    let script = format!("exec 3<&0; {WEIR_EDGE} compute <&3 & echo $$ $! >> {}; wait $!", file.display());
    let node = node(&site, "compute", &script);
    let client = site.client(&[&node]);
    let pids = || {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        text.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<u32>>()
    };
    let began = Instant::now();
    let mut long = client.submit(&Task::new("compute", MS(20_000), MS(120_000)).payload("600ms"));
    assert!(matches!(long.next(), Some(Outcome::Accepted { .. })));
    eventually("the long one's processes", || pids().len() == 2);
    std::thread::sleep(MS(100));
    let urgent = client.submit(&Task::new("compute", MS(10_000), MS(60_000)).payload("200ms"));
    eventually("the urgent one's processes", || pids().len() == 4);
    // A signal to another CPU takes its time.
    eventually("the long one stands still", || pids()[..2].iter().all(|pid| state(*pid) == Some('T')));
    let (exit, _, _) = result(urgent.wait());
    assert_eq!(exit, Exit::Done);
    assert!(long.next_until(Instant::now()).is_none(), "the long one came first");
    let (exit, output, execution) = result(long.wait());
    let took = began.elapsed();
    assert_eq!(exit, Exit::Done);
    assert!(output.trim().parse::<u64>().is_ok(), "{output}");
    // It stood still for at least what the other computed, and that is not counted as its own.
    assert!(execution >= MS(600) && execution + MS(200) <= took, "executed {execution:?} of {took:?}");
}

#[test]
fn an_overrun_is_contained_with_all_its_processes() {
    let site = Site::new();
    let pids = site.path("pids");
    let script = format!("echo $$ >> {0}; sh -c \"echo \\$\\$ >> {0}; while :; do :; done\"", pids.display());
    let node = node(&site, "spin", &script);
    let client = site.client(&[&node]);
    let (exit, _, execution) = result(client.submit(&Task::new("spin", MS(150), MS(5_000))).wait());
    assert_eq!(exit, Exit::Overrun);
    assert!(execution >= MS(150), "{execution:?}");
    let pids: Vec<u32> = std::fs::read_to_string(pids).unwrap().lines().map(|pid| pid.parse().unwrap()).collect();
    assert_eq!(pids.len(), 2);
    eventually("the end of both processes", || !pids.iter().any(|pid| is_alive(*pid)));
    assert_eq!(node.metric("weir_edge_overrun_total"), 1.0);
    // The worker is free again.
    let (exit, _, _) = result(client.submit(&Task::new("spin", MS(50), MS(5_000))).wait());
    assert_eq!(exit, Exit::Overrun);
}

#[test]
fn what_a_program_leaves_behind_ends_with_it() {
    let site = Site::new();
    let pid = site.path("pid");
    let node = node(&site, "leave", &format!("sleep 1000 & echo $! > {}; echo done", pid.display()));
    let (exit, output, _) = result(site.client(&[&node]).submit(&Task::new("leave", MS(2_000), MS(9_000))).wait());
    assert_eq!((exit, output.as_str()), (Exit::Done, "done\n"));
    let pid: u32 = std::fs::read_to_string(pid).unwrap().trim().parse().unwrap();
    eventually("the end of what was left", || !is_alive(pid));
}

#[test]
fn who_leaves_the_group_ends_with_its_task_and_with_no_other() {
    let site = Site::new();
    let pids = site.path("pids");
    // Twice away from its parent: a child of a session of its own, and one that says nothing of its task.
    let leave = |what: &str| format!("setsid {what} sh -c 'echo \\$\\$ >> {}; sleep 1000 & wait' &", pids.display());
    let wait = format!("until [ $(wc -l < {}) = 2 ]; do sleep 0.01; done", pids.display());
    let script = format!("touch {}; {} {} {wait}; read n; sleep $n", pids.display(), leave(""), leave("env -i"));
    let script = script.replace('\'', "\"");
    let node = site.node(&format!(
        "workers = 2\n[programs]\nleave = [\"sh\", \"-c\", '''{script}''']\nnap = [\"sleep\", \"0.3\"]\n"
    ));
    let client = site.client(&[&node]);
    let of_file = || {
        let text = std::fs::read_to_string(&pids).unwrap_or_default();
        text.lines().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>()
    };
    // Another task ends in the meantime, and theirs is killed at its worst case.
    let overrun = client.submit(&Task::new("leave", MS(1_500), MS(19_000)).payload("1000"));
    eventually("both", || of_file().len() == 2);
    let (exit, ..) = result(client.submit(&Task::new("nap", MS(1_000), MS(9_000))).wait());
    assert_eq!(exit, Exit::Done);
    assert!(of_file().iter().all(|pid| is_alive(*pid)), "it ended with another task");
    let (exit, ..) = result(overrun.wait());
    assert_eq!(exit, Exit::Overrun);
    eventually("the end of both", || !of_file().iter().any(|pid| is_alive(*pid)));
    // It ends by itself: what it left does, too, and nobody is left unwaited for.
    std::fs::remove_file(&pids).unwrap();
    let (exit, ..) = result(client.submit(&Task::new("leave", MS(1_500), MS(19_000)).payload("0")).wait());
    assert_eq!((exit, of_file().len()), (Exit::Done, 2));
    eventually("the end of both", || !of_file().iter().any(|pid| is_alive(*pid)));
    let node = node.child.id();
    let children = || std::fs::read_to_string(format!("/proc/{node}/task/{node}/children")).unwrap();
    eventually("no children", || children().trim().is_empty());
}

#[test]
fn a_cancelled_job_is_ended() {
    let site = Site::new();
    let pid = site.path("pid");
    let node = node(&site, "wait", &format!("echo $$ > {}; exec sleep 1000", pid.display()));
    let client = site.client(&[&node]);
    let mut ticket = client.submit(&Task::new("wait", MS(9_000), MS(10_000)));
    assert!(matches!(ticket.next(), Some(Outcome::Accepted { .. })));
    let mut number = None;
    eventually("its process", || {
        number = std::fs::read_to_string(&pid).ok().and_then(|text| text.trim().parse().ok());
        number.is_some()
    });
    ticket.cancel();
    assert_eq!(ticket.next(), None);
    eventually("the end of its process", || !is_alive(number.unwrap()));
    assert_eq!(node.metric("weir_edge_jobs"), 0.0);
}

#[test]
fn a_program_that_is_gone_is_a_failure_with_its_reason() {
    let site = Site::new();
    let program = site.path("program");
    std::fs::copy("/bin/true", &program).unwrap();
    let node = site.node("[programs]\nit = [\"./program\"]\n");
    std::fs::remove_file(&program).unwrap();
    let (exit, output, _) = result(site.client(&[&node]).submit(&Task::new("it", MS(1_000), MS(9_000))).wait());
    assert_eq!(exit, Exit::Failed);
    assert!(output.contains("program: No such file or directory"), "{output}");
}

#[test]
fn a_program_whose_interpreter_is_gone_is_a_failure_that_names_it() {
    use std::os::unix::fs::PermissionsExt;
    let site = Site::new();
    let (program, shell) = (site.path("program"), site.path("shell"));
    std::fs::copy("/bin/sh", &shell).unwrap();
    std::fs::write(&program, format!("#!{} -e\necho done\n", shell.display())).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let node = site.node("[programs]\nit = [\"./program\"]\n");
    std::fs::remove_file(&shell).unwrap();
    let (exit, output, _) = result(site.client(&[&node]).submit(&Task::new("it", MS(1_000), MS(9_000))).wait());
    assert_eq!(exit, Exit::Failed);
    assert_eq!(output, format!("{}: its interpreter {shell:?} does not exist", program.display()));
}
