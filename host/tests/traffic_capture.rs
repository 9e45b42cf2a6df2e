// SPDX-License-Identifier: Apache-2.0
//! Capture files: every way in which one can be unusable, and what is read from a good one.
#![allow(missing_docs)]

mod traffic_common;

use std::path::PathBuf;

use proptest::prelude::*;
use traffic_common::*;
use weir::traffic::{Capture, CaptureProblem};

fn frame(tag: u8) -> Vec<u8> {
    let mut frame = vec![tag; 64];
    frame[12..14].copy_from_slice(&[0x88, 0xB5]);
    frame
}

fn three() -> Vec<(u64, Vec<u8>)> {
    vec![(5_000_000, frame(1)), (5_000_010, frame(2)), (5_001_000, frame(3))]
}

fn parse(bytes: &[u8]) -> Result<Capture, CaptureProblem> {
    Capture::parse(bytes)
}

fn message(bytes: &[u8]) -> String {
    parse(bytes).expect_err("refused").to_string()
}

fn block(kind: u32, body: &[u8], big: bool) -> Vec<u8> {
    let word = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let mut body = body.to_vec();
    body.resize(body.len().div_ceil(4) * 4, 0);
    let length = word(body.len() as u32 + 12);
    [&word(kind)[..], &length, &body, &length].concat()
}

/// A pcapng file with one interface of this resolution; times in its units.
fn pcapng(frames: &[(u64, Vec<u8>)], resolution: Option<u8>, link_type: u16, big: bool) -> Vec<u8> {
    let word = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let half = |value: u16| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let section = [&word(0x1A2B_3C4D)[..], &half(1), &half(0), &[0xFF; 8]].concat();
    let mut interface = [&half(link_type)[..], &half(0), &word(0)].concat();
    if let Some(resolution) = resolution {
        interface.extend([&half(9)[..], &half(1), &[resolution, 0, 0, 0], &word(0)].concat());
    }
    let mut file = [block(0x0A0D_0D0A, &section, big), block(1, &interface, big)].concat();
    for (time, frame) in frames {
        let (high, low) = ((time >> 32) as u32, *time as u32);
        let length = word(frame.len() as u32);
        let body = [&word(0)[..], &word(high), &word(low), &length, &length, frame].concat();
        file.extend(block(6, &body, big));
    }
    file
}

fn expected() -> Vec<(u64, Vec<u8>)> {
    vec![(0, frame(1)), (10_000, frame(2)), (1_000_000, frame(3))]
}

#[test]
fn pcap_is_read_in_both_byte_orders_and_resolutions() {
    let little = pcap(&three());
    assert_eq!(parse(&little).expect("good").frames, expected());
    let mut nano = little.clone();
    nano[..4].copy_from_slice(&0xA1B2_3C4Du32.to_le_bytes());
    let times: Vec<u64> = parse(&nano).expect("good").frames.iter().map(|(ns, _)| *ns).collect();
    assert_eq!(times, [0, 10, 1000]);
    let mut big = little;
    let words: Vec<usize> = (0..3).flat_map(|r| (0..4).map(move |w| 24 + r * 80 + w * 4)).collect();
    for at in words.into_iter().chain([0, 8, 12, 16, 20]) {
        big[at..at + 4].reverse();
    }
    big[4..6].reverse();
    big[6..8].reverse();
    assert_eq!(parse(&big).expect("good").frames, expected());
}

#[test]
fn pcapng_is_read_in_both_byte_orders_and_all_resolutions() {
    let scaled = |per_us: u64| three().into_iter().map(|(us, frame)| (us * per_us, frame)).collect::<Vec<_>>();
    for big in [false, true] {
        for (units, resolution) in [(1, None), (1, Some(6)), (1000, Some(9)), (1_000_000, Some(12))] {
            let file = pcapng(&scaled(units), resolution, 1, big);
            assert_eq!(parse(&file).expect("good").frames, expected(), "{resolution:?} {big}");
        }
    }
    let binary = pcapng(&[(1 << 10, frame(1)), (2 << 10, frame(2))], Some(0x80 | 10), 1, false);
    assert_eq!(parse(&binary).expect("good").frames[1].0, 1_000_000_000);
}

#[test]
fn files_that_are_not_there_or_not_captures_are_refused() {
    let missing = Capture::open("no/such.pcap").expect_err("refused").to_string();
    assert!(missing.starts_with("no/such.pcap: cannot be read"), "{missing}");
    let directory = tempfile::tempdir().expect("a directory");
    assert!(Capture::open(directory.path()).is_err());
    assert!(message(&[]).contains("empty"));
    assert!(message(b"name = \"scenario\"").contains("not a pcap or pcapng capture"));
    assert!(message(&[0x1F, 0x8B, 8, 0]).contains("gunzip"));
    assert!(message(&pcap(&[])).contains("no frames"));
    assert!(message(&pcapng(&[], None, 1, false)).contains("no frames"));
}

#[test]
fn a_file_that_ends_in_the_middle_is_refused_with_its_last_whole_record() {
    let file = pcap(&three());
    for missing in 1..80 {
        let text = message(&file[..file.len() - missing]);
        assert!(text.contains("after record 2"), "{missing}: {text}");
    }
    assert!(message(&file[..10]).contains("after record 0"));
    let file = pcapng(&three(), None, 1, false);
    let text = message(&file[..file.len() - 5]);
    assert!(text.contains("after record 2"), "{text}");
    let mut damaged = pcap(&three());
    damaged[24 + 8..24 + 12].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(message(&damaged).contains("after record 0"));
}

#[test]
fn frames_cut_by_a_snap_length_are_refused_with_their_number() {
    let records = [(0, 64, frame(1)), (1, 1400, frame(2)), (2, 900, frame(3))];
    let text = message(&pcap_with(1, records.into_iter()));
    assert!(text.contains("2 of 3 frames") && text.contains("record 2") && text.contains("tcpdump -s 0"), "{text}");
}

#[test]
fn other_link_types_are_refused_by_name() {
    for (number, name) in [(113, "Linux cooked"), (101, "raw IP"), (105, "802.11"), (127, "802.11"), (276, "cooked")] {
        let text = message(&pcap_with(number, [(0, 64, frame(1))].into_iter()));
        assert!(text.contains(name) && text.contains(&number.to_string()), "{text}");
        let text = message(&pcapng(&three(), None, number as u16, true));
        assert!(text.contains(name), "{text}");
    }
}

#[test]
fn offloaded_frames_are_refused_and_tagged_ones_are_not() {
    let mut long = frame(1);
    long.resize(1515, 0);
    let text = message(&pcap(&[(0, frame(1)), (1, long.clone()), (2, long.clone())]));
    assert!(text.contains("2 frames") && text.contains("record 2"), "{text}");
    assert!(text.contains("segmentation offload") && text.contains("gro off gso off tso off"), "{text}");
    long.truncate(1514);
    assert!(parse(&pcap(&[(0, long.clone())])).is_ok());
    long.resize(1518, 0);
    long[12..14].copy_from_slice(&[0x81, 0x00]);
    assert!(parse(&pcap(&[(0, long)])).is_ok());
}

#[test]
fn packet_blocks_without_times_are_refused() {
    let mut file = pcapng(&three(), None, 1, false);
    file.extend(block(3, &[&64u32.to_le_bytes()[..], &frame(1)].concat(), false));
    let text = message(&file);
    assert!(text.contains("record 4") && text.contains("simple packet block"), "{text}");
}

#[test]
fn times_that_go_backwards_are_sorted_stably_with_a_note() {
    let capture = parse(&pcap(&[(20, frame(1)), (10, frame(2)), (20, frame(3)), (10, frame(4))])).expect("good");
    let order: Vec<(u64, u8)> = capture.frames.iter().map(|(ns, frame)| (*ns, frame[0])).collect();
    assert_eq!(order, [(0, 2), (0, 4), (10_000, 1), (10_000, 3)]);
    assert!(capture.notes.iter().any(|note| note.starts_with("2 time stamps go backwards")));
}

#[test]
fn odd_frames_are_kept_with_a_note() {
    let mut lying = vec![0; 64];
    lying[12..14].copy_from_slice(&[8, 0]);
    lying[14] = 0x45;
    lying[16..18].copy_from_slice(&9000u16.to_be_bytes());
    let capture = parse(&pcap(&[(0, lying.clone()), (1, vec![1, 2, 3]), (2, vec![])])).expect("good");
    assert_eq!(capture.frames[0].1, lying);
    assert!(capture.notes.iter().any(|note| note.starts_with("1 frames have length fields")));
    assert!(capture.notes.iter().any(|note| note.starts_with("2 frames are shorter")));
}

#[test]
fn the_reference_captures_are_read() {
    let files = [
        ("modbus_clean_1min.pcap", 743),
        ("modbus_queryflood_1min.pcap", 21_320),
        ("modbus_synflood_1min.pcap", 11_693),
        ("s7_1min.pcap", 568),
    ];
    for (name, frames) in files {
        let Some(path) = reference_capture(name) else { continue };
        let capture = Capture::open(&path).expect("good");
        assert_eq!(capture.frames.len(), frames, "{name}");
        let last_s = capture.frames.last().expect("frames").0 / 1_000_000_000;
        assert!((54..=60).contains(&last_s), "{name} lasts {last_s} s");
    }
}

fn good_file() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![Just(pcap(&three())), Just(pcapng(&three(), Some(9), 1, false)), Just(pcapng(&three(), None, 1, true)),]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let _ = parse(&bytes);
        for magic in [[0xA1, 0xB2, 0xC3, 0xD4], [0x4D, 0x3C, 0xB2, 0xA1], [0x0A, 0x0D, 0x0D, 0x0A]] {
            let _ = parse(&[&magic[..], &bytes].concat());
        }
    }

    #[test]
    fn damaged_files_are_read_or_refused(
        file in good_file(),
        damage in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..8),
        cut in proptest::option::of(any::<proptest::sample::Index>()),
    ) {
        let mut file = file;
        for (at, value) in damage {
            let at = at.index(file.len());
            file[at] = value;
        }
        if let Some(cut) = cut {
            file.truncate(cut.index(file.len()));
        }
        if let Ok(capture) = parse(&file) {
            prop_assert!(capture.frames.is_sorted_by_key(|(ns, _)| *ns));
        }
    }
}

#[test]
fn a_file_is_named_in_its_error() {
    let directory = tempfile::tempdir().expect("a directory");
    let path: PathBuf = directory.path().join("plant.pcapng");
    std::fs::write(&path, b"what").expect("written");
    let text = Capture::open(&path).expect_err("refused").to_string();
    assert!(text.contains("plant.pcapng: not a pcap"), "{text}");
}
