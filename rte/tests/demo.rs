// SPDX-License-Identifier: Apache-2.0
//! `weir-io demo`: all protocols at once over real sockets, in network namespaces.

use std::process::{Command, Output};

fn demo(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_weir-io")).arg("demo").args(arguments).output().unwrap()
}

#[test]
fn all_protocols_exchange_data_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (page, capture) = (folder.path().join("page.html"), folder.path().join("cable.pcap"));
    let files = ["--html", page.to_str().unwrap(), "--capture", capture.to_str().unwrap()];
    let output = demo(&[&["--during", "4s", "--cycle", "4ms"], &files[..]].concat());
    let (text, error) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    if error.contains("namespaces: no") {
        eprintln!("skipped: {error}");
        return;
    }
    assert!(output.status.success(), "{error}");
    let last = text.lines().rfind(|line| line.contains("Scanning, 2 slaves"));
    let last = last.unwrap_or_else(|| panic!("the master never had its slaves:\n{text}"));
    assert!(last.contains("Data, speed"), "{text}");
    let flows =
        text.lines().filter(|line| line.starts_with("  PROFINET ") || line.starts_with("  CC-Link slave")).count();
    assert_eq!(flows, 4, "{text}");
    assert!(text.contains("stopped; all outputs are safe"), "{text}");
    assert!(std::fs::read_to_string(page).unwrap().contains("CC-Link slave 192.168.3.21"));
    assert!(std::fs::metadata(capture).unwrap().len() > 100_000);
}

#[test]
fn a_cycle_that_a_protocol_does_not_have_gets_one_line() {
    let output = demo(&["--cycle", "3ms", "--during", "1s"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && error.lines().count() == 1, "{error}");
    assert!(error.contains("PROFINET's cycles are") || error.contains("namespaces: no"), "{error}");
}
