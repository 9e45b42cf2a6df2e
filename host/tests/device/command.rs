// SPDX-License-Identifier: Apache-2.0
//! The command as scripts use it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::folder;

fn weir(folder: &Path, arguments: &[&str]) -> Output {
    let scenario = "name = 'x'
        duration_ms = 10
        [[task]]
        name = 'axis'
        priority = 5
        period_us = 1000
        work_us = 600
        [[traffic]]
        name = 'flood'
        pattern = 'uniform'
        to = 'udp/9'
        rate_pps = [0, 8000]";
    fs::write(folder.join("x.toml"), scenario).unwrap();
    Command::new(env!("CARGO_BIN_EXE_weir"))
        .args(["run", "x.toml"])
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

#[test]
fn a_claim_becomes_an_exit_status() {
    let folder = folder();
    let quiet = ["--set", "traffic.flood.rate_pps=0", "--require", "no-misses=stock"];
    assert_eq!(weir(folder.path(), &quiet).status.code(), Some(0));
    let flooded = weir(folder.path(), &["--require", "no-misses"]);
    assert_eq!(flooded.status.code(), Some(3));
    let said = String::from_utf8_lossy(&flooded.stderr).to_string();
    assert!(said.contains("stock flood=8000: task `axis` missed"), "{said}");
    assert_eq!(weir(folder.path(), &["--require", "no-misses=codesine"]).status.code(), Some(2));
}

#[test]
fn json_is_the_results_file_and_nothing_else() {
    let folder = folder();
    let output = weir(folder.path(), &["--json", "--out", "o"]);
    assert_eq!(output.stdout, fs::read(folder.path().join("o/results.json")).unwrap());
    let results: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(results["runs"].as_array().unwrap().len(), 2);
    assert_eq!(results["runs"][1]["loads"]["flood"], 8000.0);
}

#[test]
fn a_trace_is_written_for_each_run() {
    let folder = folder();
    assert!(weir(folder.path(), &["--trace", "--out", "o"]).status.success());
    for name in ["stock-0.perfetto-trace", "stock-8000.perfetto-trace"] {
        assert!(fs::metadata(folder.path().join("o").join(name)).unwrap().len() > 1000, "{name}");
    }
}
