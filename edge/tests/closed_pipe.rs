// SPDX-License-Identifier: Apache-2.0
//! Who reads no more of what a command prints hears no complaint, and need not wait for its end.

use std::process::{Command, Stdio};

mod common;
use common::{LONG, Site, WEIR_EDGE, text};

/// What a shell reports of a program that SIGPIPE ended.
const PIPE_CLOSED: i32 = 128 + 13;

fn into_closed_pipe(command: &mut Command) {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let child = command.stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(PIPE_CLOSED), String::new()), "{command:?}");
}

#[test]
fn a_command_ends_when_nobody_reads_what_it_prints() {
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/thesis-8/clients.toml");
    let site = Site::new();
    let node = site.node("workers = 1\n\n[programs]\ntrue = [\"true\"]\n");
    let (address, metrics) = (node.address.to_string(), node.metrics.to_string());
    let tasks = ["--program", "true", "--wcet", "10ms", "--budget", "1s", "--repeat", "1000000"];
    let began = std::time::Instant::now();
    into_closed_pipe(Command::new(WEIR_EDGE).arg("key"));
    into_closed_pipe(Command::new(WEIR_EDGE).args(["compute", "1ms"]));
    into_closed_pipe(Command::new(WEIR_EDGE).args(["sim", scenario]));
    into_closed_pipe(Command::new(WEIR_EDGE).args(["status", &metrics]));
    into_closed_pipe(Command::new(WEIR_EDGE).args(["demo", "--seconds", "3600"]));
    into_closed_pipe(
        Command::new(WEIR_EDGE).args(["submit", "--node", &address, "--key"]).arg(site.path("site.key")).args(tasks),
    );
    assert!(began.elapsed() < LONG);
}
