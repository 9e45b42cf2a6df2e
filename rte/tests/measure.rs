// SPDX-License-Identifier: Apache-2.0
//! What `weir-io measure` reads out of captures.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use weir_io::measuring::capture::frames;
use weir_io::measuring::flows::Flows;
use weir_io::measuring::statistics::cycles;

fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures").join(name)
}

fn measure(arguments: &[&Path]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_weir-io")).arg("measure").args(arguments).output().unwrap()
}

#[test]
fn both_protocols_of_a_device_are_found() {
    let mut flows = Flows::default();
    frames(File::open(capture("dual-pn-1ms-and-cciefb.pcap")).unwrap(), |at, frame| flows.add(at, frame)).unwrap();
    let found: Vec<_> = flows
        .seen
        .iter()
        .map(|(flow, seen)| {
            let of = cycles(seen, None).unwrap();
            (flow.to_string(), of.count, of.cycle_ms)
        })
        .collect();
    let expected = [
        ("PROFINET 0a:e4:b5:1f:22:23 FrameID C000", 242, 1.0),
        ("PROFINET 66:2c:d4:4e:8e:36 FrameID C001", 238, 1.0),
        ("CC-Link master 192.168.3.100 group 1", 208, 1.0),
        ("CC-Link slave 192.168.3.1", 209, 1.0),
    ];
    assert_eq!(found, expected.map(|(flow, count, cycle)| (flow.to_owned(), count, cycle)));
    assert_eq!(flows.responses.len(), 1);
}

#[test]
fn what_cannot_be_read_gets_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text");
    fs::write(&text, "no capture at all, but long enough to be looked at").unwrap();
    for (file, what) in [
        (text, "is no capture: pcap and pcapng can be read"),
        (folder.path().join("none"), "No such file"),
        (capture("pn-dcp-identify-set.pcap"), "has no cyclic frames of PROFINET (RT) or CC-Link IE Field Basic"),
    ] {
        let output = measure(&[&file]);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && error.lines().count() == 1 && error.contains(what), "{error}");
    }
}

#[test]
fn a_capture_that_was_cut_off_is_read_as_far_as_it_goes() {
    let folder = tempfile::tempdir().unwrap();
    let (cut, page) = (folder.path().join("cut.pcap"), folder.path().join("page.html"));
    let whole = fs::read(capture("pn-rt1-1ms-cyclic.pcap")).unwrap();
    fs::write(&cut, &whole[..whole.len() - 7]).unwrap();
    let output = measure(&[&cut, Path::new("--html"), &page]);
    assert!(output.status.success());
    assert!(String::from_utf8(output.stdout).unwrap().contains("FrameID C000"));
    assert!(fs::read_to_string(page).unwrap().contains("FrameID C000"));
}
