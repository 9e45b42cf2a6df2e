// SPDX-License-Identifier: Apache-2.0
//! `weir nic-trace` as its user meets it.

use std::fs;
use std::path::Path;
use std::process::Command;

const SETTINGS: &str = "clock_mhz = 1\n[[queue]]\nname = 'urgent'\nfrom = '10.0.0.2'\n\
                        [[queue]]\nname = 'bulk'\nfrom = '10.0.0.3'\nabsolute_timer_us = 100\n";

/// Exit status, standard output and error.
fn nic_trace(folder: &Path, load: &str) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_weir"))
        .args(["nic-trace", load, "--nic", "nic.toml", "--out", "interrupts.csv"])
        .current_dir(folder)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).to_string();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("nic.toml"), SETTINGS).unwrap();
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    folder
}

#[test]
fn a_list_of_frames_becomes_a_list_of_interrupts() {
    let folder = folder(&[("load.csv", b"10,10.0.0.2\n20,10.0.0.3\n30,10.0.0.3\n40,10.0.0.9\n")]);
    let (status, said, _) = nic_trace(folder.path(), "load.csv");
    assert_eq!(status, Some(0));
    assert!(said.contains("4 frames, 2 interrupts: 3 announced, 1 filtered, 0 dropped"), "{said}");
    let trace = fs::read_to_string(folder.path().join("interrupts.csv")).unwrap();
    assert_eq!(trace, "time_us,queue,cause,frames\n10.000,urgent,at-once,1\n120.000,bulk,absolute-timer,2\n");
}

/// A capture (nanoseconds, Ethernet) of UDP datagrams: time in microseconds, last byte of the sender, port.
fn capture(frames: &[(u32, u8, u16)]) -> Vec<u8> {
    let words = |values: &[u32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let mut file = words(&[0xa1b2_3c4d, 0x0004_0002, 0, 0, 65_535, 1]);
    for (us, sender, port) in frames {
        let mut frame = vec![0; 60];
        frame[12] = 0x08;
        frame[14..24].copy_from_slice(&[0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17]);
        frame[26..34].copy_from_slice(&[10, 0, 0, *sender, 10, 0, 0, 1]);
        frame[36..38].copy_from_slice(&port.to_be_bytes());
        file.extend(words(&[0, us * 1000, 60, 60]));
        file.extend(frame);
    }
    file
}

#[test]
fn a_capture_is_sorted_by_port_and_sender() {
    let folder = folder(&[("load.pcap", &capture(&[(10, 7, 502), (20, 7, 80), (30, 2, 80)]))]);
    let settings = format!("{SETTINGS}[[queue]]\nname = 'plant'\nport = 'udp/502'\n");
    fs::write(folder.path().join("nic.toml"), settings).unwrap();
    let (status, said, error) = nic_trace(folder.path(), "load.pcap");
    assert_eq!(status, Some(0), "{error}");
    assert!(said.contains("3 frames, 2 interrupts: 2 announced, 1 filtered"), "{said}");
    let trace = fs::read_to_string(folder.path().join("interrupts.csv")).unwrap();
    assert!(trace.contains("plant,at-once,1") && trace.contains("urgent,at-once,1"), "{trace}");
}

#[track_caller]
fn refused(load: &[u8], words: &str) {
    let folder = folder(&[("load.csv", load)]);
    let (status, _, error) = nic_trace(folder.path(), "load.csv");
    assert_eq!(status, Some(2), "{error}");
    assert!(error.contains(words), "`{words}` is not in: {error}");
    assert!(!folder.path().join("interrupts.csv").exists());
}

#[test]
fn a_wrong_list_is_refused_with_its_line() {
    refused(b"10,10.0.0.2\n20;10.0.0.3\n", "load.csv:2: `20;10.0.0.3` is no frame");
    refused(b"10,10.0.0.2\n9,10.0.0.3\n", "load.csv:2: time goes back, from 10 to 9");
    refused(b"18446744073709551615,10.0.0.2\n", "load.csv:1:");
    refused(b"", "there are no frames in it");
    refused(b"\xff\xfe", "load.csv:");
}

#[test]
fn a_missing_file_and_a_broken_capture_are_named() {
    let folder = folder(&[("cut.pcap", b"\x4d\x3c\xb2")]);
    let (status, _, error) = nic_trace(folder.path(), "nowhere.csv");
    assert!(status == Some(2) && error.contains("nowhere.csv"), "{error}");
    let (status, _, error) = nic_trace(folder.path(), "cut.pcap");
    assert!(status == Some(2) && error.contains("cut.pcap"), "{error}");
    fs::write(folder.path().join("nic.toml"), "[[queue]]\nname = 'a'\ntimer = 1\n").unwrap();
    let (status, _, error) = nic_trace(folder.path(), "cut.pcap");
    assert!(status == Some(2) && error.contains("nic.toml") && error.contains("unknown field"), "{error}");
}
