// SPDX-License-Identifier: Apache-2.0
//! The C client's example program against real nodes, which run real programs.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

mod common;
use common::{Machine, Site, WEIR_EDGE, eventually, text};

/// Starts the example, compiled with sanitizers; the key is a file of the site.
fn submit(site: &Site, key: &str, nodes: &[SocketAddr], arguments: &[&str]) -> Child {
    let out = concat!(env!("CARGO_TARGET_TMPDIR"), "/edge-c-site");
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/c");
    let sanitizers = "CFLAGS=-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all";
    // Tests run side by side: whoever is first compiles.
    static COMPILING: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let compiling = COMPILING.lock();
    let make = ["-s", "-C", sources, &format!("OUT={out}"), sanitizers, "all"];
    let made = Command::new("make").args(make).output().unwrap();
    assert!(made.status.success(), "{}", text(&made.stderr));
    drop(compiling);
    let nodes = nodes.iter().map(SocketAddr::to_string).collect::<Vec<_>>().join(",");
    let mut command = Command::new(PathBuf::from(out).join("submit"));
    command.arg(site.path(key)).arg(nodes).args(arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// What it prints, and its exit status.
fn printed(child: Child) -> (String, Option<i32>) {
    let output = child.wait_with_output().unwrap();
    assert_eq!(text(&output.stderr), "");
    (text(&output.stdout), output.status.code())
}

/// A node with one worker and a program of the shell.
fn node(site: &Site, seeds: &str, script: &str) -> Machine {
    site.node(&format!("seeds = [{seeds}]\nworkers = 1\n[programs]\nscript = [\"sh\", \"-c\", '''{script}''']\n"))
}

#[test]
fn a_real_program_has_the_input_and_its_output_comes_back() {
    let site = Site::new();
    let node = node(&site, "", "read name; echo hello $name");
    let child = submit(&site, "site.key", &[node.address], &["script", "2000", "9000", "world\n"]);
    let expected = format!("accepted by {}\ndone, in time: hello world\n\n", node.address);
    assert_eq!(printed(child), (expected, Some(0)));
    assert_eq!(node.metric("weir_edge_done_total"), 1.0);
}

#[test]
fn each_refusal_and_each_end_is_told() {
    let site = Site::new();
    let node = node(&site, "", "exec sleep 5");
    let with = |arguments: &[&str]| printed(submit(&site, "site.key", &[node.address], arguments)).0;
    assert_eq!(with(&["other", "1000", "9000"]), "no program\n");
    assert_eq!(with(&["script", "2000", "2000"]), "no time\n");
    assert_eq!(with(&["script", "100", "9000"]), format!("accepted by {}\noverrun, in time: \n", node.address));
}

#[test]
fn who_has_another_key_is_not_answered() {
    let site = Site::new();
    site.make_key("other.key");
    let node = node(&site, "", "true");
    let child = submit(&site, "other.key", &[node.address], &["script", "1000", "9000"]);
    assert_eq!(printed(child), ("no node answers\n".into(), Some(1)));
    assert!(node.metric("weir_edge_dropped_total{reason=\"forged\"}") >= 2.0);
}

#[test]
fn a_task_of_a_node_that_is_killed_comes_back_from_another() {
    let site = Site::new();
    // It holds its worker without the processor: this machine may be busy, and an overrun is not what is tried here.
    let script = format!("exec {WEIR_EDGE} compute --hold");
    let first = node(&site, "", &script);
    let second = node(&site, &format!("\"{}\"", first.address), &script);
    let mut nodes = [first, second];
    eventually("both know the other", || nodes.iter().all(|node| node.metric("weir_edge_members") == 1.0));
    std::thread::sleep(std::time::Duration::from_millis(300));
    let child = submit(&site, "site.key", &[nodes[0].address], &["script", "2000", "15000", "500ms"]);
    let mut holder = None;
    eventually("one has it", || {
        holder = nodes.iter().position(|node| node.logged("event=accepted").is_some());
        holder.is_some()
    });
    let holder = holder.unwrap();
    nodes[holder].child.kill().unwrap();
    nodes[holder].wait();
    let (text, status) = printed(child);
    let expected = format!("accepted by {}\naccepted by {}\n", nodes[holder].address, nodes[1 - holder].address);
    assert!(text.starts_with(&expected) && text.contains("done, in time: "), "{text}");
    assert_eq!(status, Some(0));
}
