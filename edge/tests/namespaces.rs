// SPDX-License-Identifier: Apache-2.0
//! The demo on machines that are network namespaces, where they can be had.

use std::collections::HashSet;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

mod common;
use common::{WEIR_EDGE, eventually, is_alive, number, text};

const NODES: usize = 3;
/// Who may do nothing.
const NOBODY: u32 = 65_534;

/// Whether others can make a network namespace and work in it, too; if not, says why nothing is tested.
fn can_be_had(as_user: Option<u32>) -> bool {
    let works = |options: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(options).args(["ip", "link", "set", "lo", "up"]);
        as_user.map(|user| command.uid(user).gid(user));
        let output = command.output();
        output.map_err(|error| error.to_string()).and_then(|output| match output.status.success() {
            true => Ok(()),
            false => Err(text(&output.stderr)),
        })
    };
    match works(&["--map-root-user", "--net"]).or_else(|_| works(&["--net"])) {
        Ok(()) => true,
        Err(reason) => {
            eprintln!("not tested, network namespaces cannot be had here: {reason}");
            false
        }
    }
}

fn demo(seconds: &str) -> Command {
    let mut command = Command::new(WEIR_EDGE);
    command.args(["demo", "--namespaces", "--seconds", seconds]);
    command
}

/// Starts it, takes the first line that it writes, and kills it. What it has not removed by then is removed with the
/// folder.
fn first_line(mut command: Command, folder: &TempDir) -> String {
    let mut child = command.env("TMPDIR", folder.path()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    line
}

#[test]
fn a_node_whose_cable_is_pulled_is_noticed_and_used_again_when_it_is_back() {
    if !can_be_had(None) {
        return;
    }
    let output = demo("12").output().unwrap();
    let told = text(&output.stdout);
    assert!(output.status.success(), "{told}{}", text(&output.stderr));
    assert!(told.starts_with("13 machines, each in a network namespace of its own, joined by "), "{told}");
    // Measured, not assumed. There is no limit above: this machine may be busy.
    assert!(number(&told, "measured round trip: ") >= 60, "{told}");
    assert!(number(&told, " ms between client and node (of 60), ") >= 4, "{told}");
    let submitted = number(&told, "\nsubmitted ");
    let (_, last) = told.split_once("\naccepted ").unwrap();
    assert!(number(last.lines().next().unwrap(), "in time ") * 2 > submitted, "{told}");
    for line in [" pulled: noticed by the others after ", " put back: noticed by the others after ", "\ndeath of node "]
    {
        assert!(told.contains(line), "{told}");
    }
    assert!(told.contains("; first task accepted by it after "), "{told}");
    assert!(!told.contains("never"), "{told}");
}

#[test]
fn a_delay_that_tc_reports_and_that_does_not_come_is_not_believed() {
    if !can_be_had(None) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let tc = folder.path().join("tc");
    fs::write(&tc, "#!/bin/sh\nexit 0\n").unwrap();
    fs::set_permissions(&tc, Permissions::from_mode(0o755)).unwrap();
    let mut command = demo("6");
    command.env("PATH", format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap()));
    let line = first_line(command, &folder);
    let expected = "our own switch (netem: no, tc reports success, but of 60 ms between client and node only 0.";
    assert!(line.contains(expected), "{line}");
    assert!(number(&line, "measured round trip: ") >= 60, "{line}");
}

#[test]
fn it_needs_no_privileges_where_user_namespaces_are_permitted() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("not tested: who runs the tests has no privileges either, so the other tests show it");
        return;
    }
    if !can_be_had(Some(NOBODY)) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
    let own = folder.path().join("weir-edge");
    fs::copy(WEIR_EDGE, &own).unwrap();
    let mut command = Command::new(&own);
    command.args(["demo", "--namespaces", "--seconds", "6"]).uid(NOBODY).gid(NOBODY);
    let line = first_line(command, &folder);
    assert!(line.starts_with("13 machines, "), "{line}");
}

#[test]
fn nothing_is_left_of_a_demo_that_is_killed_or_interrupted() {
    let with_namespaces = can_be_had(None);
    for (namespaces, signal) in [(true, Signal::KILL), (true, Signal::INT), (false, Signal::KILL)] {
        if namespaces && !with_namespaces {
            continue;
        }
        let mut command = Command::new(WEIR_EDGE);
        command.args(["demo", "--seconds", "60"]).args(namespaces.then_some("--namespaces"));
        let mut child = command.stdout(Stdio::null()).spawn().unwrap();
        let pid = child.id();
        let mut nodes = Vec::new();
        eventually("its nodes", || {
            nodes = nodes_of(pid);
            nodes.len() == NODES
        });
        let folder = std::env::temp_dir().join(format!("weir-edge-run-{pid}"));
        eventually("all have read the key", || !folder.exists());
        let own = network_of(std::process::id());
        let networks: HashSet<PathBuf> = nodes.iter().filter_map(|node| network_of(*node)).collect();
        if namespaces {
            assert_eq!(networks.len(), NODES);
            assert!(own.is_some_and(|own| !networks.contains(&own)));
        }
        kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), signal).unwrap();
        child.wait().unwrap();
        eventually("the end of its nodes", || !nodes.iter().any(|node| is_alive(*node)));
        if namespaces {
            let held = |entry: &fs::DirEntry| fs::read_link(entry.path().join("ns/net")).ok();
            let holders = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| held(&entry));
            assert_eq!(holders.filter(|holder| networks.contains(holder)).count(), 0);
        }
    }
}

/// The nodes that a demo has started.
fn nodes_of(demo: u32) -> Vec<u32> {
    let children = fs::read_to_string(format!("/proc/{demo}/task/{demo}/children")).unwrap_or_default();
    let children = children.split_whitespace().map(|child| child.parse().unwrap());
    children.filter(|child| is_node(Path::new(&format!("/proc/{child}/cmdline")))).collect()
}

fn is_node(command_line: &Path) -> bool {
    fs::read(command_line).is_ok_and(|line| line.split(|byte| *byte == 0).nth(1) == Some(b"node"))
}

fn network_of(process: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{process}/ns/net")).ok()
}
