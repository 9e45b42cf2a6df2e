// SPDX-License-Identifier: Apache-2.0
//! Several real machines: one is lost, one leaves, and those who do not belong to the site.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use weir_edge::client::{Client, Exit, Outcome, Ran, Refusal, Task, read_key};

mod common;
use common::{LONG, Machine, Site, WEIR_EDGE, eventually, get, is_alive, text};

const MS: fn(u64) -> Duration = Duration::from_millis;

/// Two nodes that know each other. Their program notes its process; the first one that is started never ends by itself.
fn two(site: &Site) -> [Machine; 2] {
    let path = |name| site.path(name).display().to_string();
    let script =
        format!("echo $$ >> {}; mkdir {} && exec sleep 1000; exec {WEIR_EDGE} compute", path("pids"), path("first"));
    let lines = |seeds: &str| {
        format!("seeds = [{seeds}]\nworkers = 1\n[programs]\ncompute = [\"sh\", \"-c\", '''{script}''']\n")
    };
    let first = site.node(&lines(""));
    let second = site.node(&lines(&format!("\"{}\"", first.address)));
    let nodes = [first, second];
    // That one heard the other's load is told by a datagram after the one that says it is there.
    eventually("both know the other", || nodes.iter().all(|node| node.metric("weir_edge_members") == 1.0));
    std::thread::sleep(MS(300));
    nodes
}

/// Has a task accepted, and tells by which of the nodes.
fn begin(client: &Client, nodes: &[Machine; 2]) -> (weir_edge::client::Ticket, usize) {
    let mut ticket = client.submit(&Task::new("compute", MS(20_000), MS(100_000)).payload("50ms"));
    let Some(Outcome::Accepted { holder }) = ticket.next() else { panic!("not accepted") };
    let holder = nodes.iter().position(|node| node.address == holder).unwrap();
    nodes[holder].wait_for("event=accepted");
    (ticket, holder)
}

#[test]
fn a_task_of_a_node_that_is_killed_is_done_by_another() {
    let site = Site::new();
    let mut nodes = two(&site);
    let client = site.client(&[&nodes[0], &nodes[1]]);
    let (mut ticket, holder) = begin(&client, &nodes);
    let pids = || std::fs::read_to_string(site.path("pids")).unwrap_or_default();
    eventually("its process", || site.path("first").exists());
    let killed = Instant::now();
    nodes[holder].child.kill().unwrap();
    nodes[holder].wait();
    let other = &nodes[1 - holder];
    assert_eq!(ticket.next(), Some(Outcome::Accepted { holder: other.address }));
    let Some(Outcome::Result { exit, lateness, .. }) = ticket.next() else { panic!("no result") };
    assert_eq!(exit, Exit::Done);
    assert!(lateness < 0, "{lateness} ns late, {:?} after the loss", killed.elapsed());
    assert_eq!(other.metric("weir_edge_taken_over_total"), 1.0);
    let pids: Vec<u32> = pids().lines().map(|pid| pid.parse().unwrap()).collect();
    assert_eq!(pids.len(), 2);
    eventually("the end of both programs", || !pids.iter().any(|pid| is_alive(*pid)));
}

#[test]
fn a_node_that_is_told_to_end_leaves_its_tasks_to_another() {
    let site = Site::new();
    let mut nodes = two(&site);
    let client = site.client(&[&nodes[0], &nodes[1]]);
    let (ticket, holder) = begin(&client, &nodes);
    eventually("its process", || site.path("first").exists());
    nodes[holder].signal(Signal::TERM);
    assert_eq!(nodes[holder].wait().code(), Some(0));
    let last = ticket.wait();
    assert!(matches!(last, Outcome::Result { exit: Exit::Done, lateness: ..0, .. }), "{last:?}");
    nodes[1 - holder].wait_for("event=down");
}

#[test]
fn a_scheduler_has_its_workers_run_tasks() {
    let site = Site::new();
    let scheduler = site.machine("scheduler", "");
    let program = format!("[programs]\ncompute = [{WEIR_EDGE:?}, \"compute\"]\n");
    let lines = format!("seeds = [\"{}\"]\nworkers = 1\n{program}", scheduler.address);
    let workers = [site.machine("worker", &lines), site.machine("worker", &lines)];
    eventually("two workers", || scheduler.metric("weir_edge_members") == 2.0);
    std::thread::sleep(MS(300));
    let client = site.client(&[&scheduler]);
    // Each takes more than half of what there is time for: one worker cannot take both.
    let task = Task::new("compute", MS(20_000), MS(35_000)).payload("50ms");
    let tickets = [client.submit(&task), client.submit(&task)];
    for ticket in tickets {
        assert!(matches!(ticket.wait(), Outcome::Result { exit: Exit::Done, .. }));
    }
    for worker in &workers {
        assert_eq!(worker.metric("weir_edge_done_total"), 1.0);
    }
    assert_eq!(scheduler.metric("weir_edge_submitted_total"), 2.0);
}

#[test]
fn who_has_another_key_gets_nothing_and_changes_counters_only() {
    let site = Site::new();
    let node = site.node("[programs]\nit = [\"true\"]\n");
    site.make_key("other.key");
    let key = read_key(&site.path("other.key")).unwrap();
    let refused = Client::connect(&[node.address], key).unwrap_err();
    assert_eq!(refused.to_string(), format!("no node with our key answers at {}", node.address));
    assert!(node.metric("weir_edge_dropped_total{reason=\"forged\"}") > 0.0);

    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut foreign = vec![0; 100];
    foreign[..3].copy_from_slice(b"WE\x09");
    for datagram in [&[][..], &[0; 51], &[b'W'; 9_000], &foreign] {
        stranger.send_to(datagram, node.address).unwrap();
    }
    eventually("all are counted", || {
        let dropped = |reason: &str| node.metric(&format!("weir_edge_dropped_total{{reason=\"{reason}\"}}"));
        dropped("length") == 3.0 && dropped("version") == 1.0
    });
    for name in ["received", "submitted", "accepted", "refused", "sent"] {
        assert_eq!(node.metric(&format!("weir_edge_{name}_total")), 0.0, "{name}");
    }
    assert_eq!(node.metric("weir_edge_clients"), 0.0);
    stranger.set_read_timeout(Some(MS(50))).unwrap();
    assert!(stranger.recv_from(&mut [0; 10]).is_err(), "it was answered");
}

#[test]
fn the_fallback_is_called_when_nobody_can_and_only_then() {
    let site = Site::new();
    let node = site.node(&format!("[programs]\ncompute = [{WEIR_EDGE:?}, \"compute\"]\nfail = [\"false\"]\n"));
    let client = site.client(&[&node]);
    let task = |program: &str, wcet| Task::new(program, MS(wcet), MS(5_000)).payload("1ms");
    let done = client.run_or_fallback(&task("compute", 1_000), || panic!("it was in time"));
    assert!(matches!(done, Ran::Nearby { lateness: ..0, .. }), "{done:?}");
    let hopeless = client.run_or_fallback(&task("compute", 6_000), || 7);
    assert_eq!(hopeless, Ran::Here { result: 7, why: Outcome::Rejected(Refusal::NoTime) });
    let failed = client.run_or_fallback(&task("fail", 1_000), || 7);
    assert!(matches!(failed, Ran::Here { result: 7, why: Outcome::Result { exit: Exit::Failed, .. } }), "{failed:?}");
}

#[test]
fn a_listener_is_told_of_each_outcome_and_may_submit_again() {
    let site = Site::new();
    let node = site.node("[programs]\nit = [\"true\"]\n");
    let client = std::sync::Arc::new(site.client(&[&node]));
    let (sender, told) = std::sync::mpsc::channel();
    let task = Task::new("it", MS(1_000), MS(5_000));
    let (again, other) = (std::sync::Arc::clone(&client), task.clone());
    client.submit_with(&task, move |outcome| {
        if matches!(outcome, Outcome::Result { .. }) {
            let sender = sender.clone();
            again.submit_with(&other, move |outcome| sender.send(outcome).unwrap());
        }
    });
    assert!(matches!(told.recv_timeout(LONG), Ok(Outcome::Accepted { .. })));
    assert!(matches!(told.recv_timeout(LONG), Ok(Outcome::Result { exit: Exit::Done, .. })));
}

#[test]
fn status_shows_each_machine_and_says_which_does_not_answer() {
    let site = Site::new();
    let node = site.node("[programs]\nit = [\"true\"]\n");
    let mut gone = site.node("[programs]\nit = [\"true\"]\n");
    let status = |gone: &Machine| {
        let mut command = std::process::Command::new(WEIR_EDGE);
        let addresses = [node.metrics.to_string(), gone.metrics.to_string()];
        command.args(["status", "--once"]).args(addresses).output().unwrap()
    };
    let both = status(&gone);
    assert_eq!(both.status.code(), Some(0));
    assert!(text(&both.stdout).contains(&format!("{} ", node.address)), "{}", text(&both.stdout));
    gone.child.kill().unwrap();
    gone.wait();
    let one = status(&gone);
    assert_eq!(one.status.code(), Some(1));
    assert!(text(&one.stdout).contains("Connection refused"), "{}", text(&one.stdout));
    assert!(get(node.metrics, "/else").starts_with("HTTP/1.1 404 "));
}

#[test]
fn a_node_without_the_program_asks_those_that_have_it() {
    let site = Site::new();
    let first = site.node("workers = 1\n[programs]\nother = [\"cat\"]\n");
    let seeds = format!("seeds = [\"{}\"]\n", first.address);
    let second = site.node(&format!("{seeds}workers = 1\n[programs]\necho = [\"cat\"]\n"));
    eventually("both know the other", || first.metric("weir_edge_members") == 1.0);
    std::thread::sleep(MS(300));
    let client = site.client(&[&first]);
    let submit = |program| {
        let mut ticket = client.submit(&Task::new(program, MS(20_000), MS(100_000)).payload("hello"));
        (ticket.next(), ticket)
    };
    let (accepted, mut ticket) = submit("echo");
    // The client may know both nodes and turn to the second at once; the answer is the same.
    assert_eq!(accepted, Some(Outcome::Accepted { holder: second.address }));
    assert!(matches!(ticket.next(), Some(Outcome::Result { exit: Exit::Done, output, .. }) if output == b"hello"));
    assert_eq!(submit("nobodys").0, Some(Outcome::Rejected(Refusal::NoProgram)));
    // Who drops the client does not wait for ever.
    let unfinished = client.submit(&Task::new("echo", MS(20_000), MS(100_000)));
    drop(client);
    assert!(unfinished.count() <= 2);
}

#[test]
fn a_client_reaches_nodes_of_both_versions_of_ip() {
    let site = Site::new();
    let program = "[programs]\nit = [\"true\"]\n";
    let node = site.node(program);
    let file = site.path("six.toml");
    let lines = "address = \"[::1]:0\"\nmetrics = \"127.0.0.1:0\"\nkey_file = \"site.key\"\nreal_time_priority = 0\n";
    std::fs::write(&file, format!("{lines}{program}")).unwrap();
    let six = Machine::start("node", &file);
    for nodes in [[&node, &six], [&six, &node]] {
        let client = site.client(&nodes);
        eventually("both nodes", || client.nodes().len() == 2);
    }
}
