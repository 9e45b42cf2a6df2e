// SPDX-License-Identifier: Apache-2.0
//! The Perfetto trace, decoded again.

mod report_synthetic;

use std::collections::{HashMap, HashSet};

use prost::Message;
use report_synthetic as synthetic;
use weir::report::perfetto;
use weir::report::perfetto_proto::{EventType, PacketData, Trace, TrackDescriptor, TrackEvent};
use weir::timeline::{Fate, Job, Lane, LaneKind, Packet, Span, Stage, Timeline};

struct Decoded {
    tracks: Vec<TrackDescriptor>,
    events: Vec<(u64, TrackEvent)>,
}

fn decode(timeline: &Timeline) -> Decoded {
    let trace = Trace::decode(perfetto(timeline).as_slice()).expect("a Perfetto trace");
    let (mut tracks, mut events) = (Vec::new(), Vec::new());
    for packet in trace.packet {
        assert_eq!(packet.trusted_packet_sequence_id, Some(1));
        match packet.data {
            Some(PacketData::TrackDescriptor(track)) => tracks.push(track),
            Some(PacketData::TrackEvent(event)) => events.push((packet.timestamp.expect("a time"), event)),
            None => panic!("an empty record"),
        }
    }
    Decoded { tracks, events }
}

impl Decoded {
    fn named(&self, name: &str) -> Vec<&(u64, TrackEvent)> {
        self.events.iter().filter(|(_, event)| event.name.as_deref().is_some_and(|n| n.starts_with(name))).collect()
    }
}

/// Two packets for `command`: one delivered and answered late, one refused by the NIC. 100 MHz: a cycle is 10 ns.
fn small() -> Timeline {
    let lane = |name: &str, kind, priority| Lane { name: name.into(), kind, priority };
    let span = |lane, start, end| Span { lane, start, end };
    Timeline {
        cpu_hz: 100_000_000,
        start: 1_000,
        end: 9_000,
        lanes: vec![
            lane("ISR", LaneKind::Isr, 0),
            lane("tcpip", LaneKind::Net, 7),
            lane("command", LaneKind::Task, 5),
            lane("idle", LaneKind::Idle, 0),
        ],
        spans: vec![
            span(3, 1_000, 1_540),
            span(0, 1_540, 2_000),
            span(1, 2_000, 4_000),
            span(2, 4_000, 5_000),
            span(3, 5_000, 9_000),
        ],
        jobs: vec![Job { lane: 2, release: 1_500, deadline: Some(4_500), start: Some(4_000), end: Some(5_000) }],
        packets: vec![
            Packet {
                flow: "command".into(),
                bytes: 74,
                arrival: 1_500,
                steps: vec![
                    (1_530, Stage::Ram),
                    (2_100, Stage::Driver),
                    (2_500, Stage::Stack),
                    (3_900, Stage::Socket),
                    (4_100, Stage::Task),
                    (4_900, Stage::Freed),
                ],
                fate: Some(Fate::Delivered),
            },
            Packet { flow: "command".into(), bytes: 60, arrival: 3_000, steps: vec![], fate: Some(Fate::NicFull) },
        ],
    }
}

#[test]
fn has_a_track_for_every_lane_and_flow() {
    let decoded = decode(&small());
    let name = |uuid: Option<u64>| {
        let parent = decoded.tracks.iter().find(|track| track.uuid == uuid);
        parent.and_then(|track| track.name.clone()).unwrap_or_default()
    };
    let tracks: HashSet<String> = decoded
        .tracks
        .iter()
        .map(|track| format!("{}/{}", name(track.parent_uuid), track.name.clone().unwrap_or_default()))
        .collect();
    for wanted in [
        "CPU/ISR",
        "CPU/tcpip (priority 7)",
        "CPU/command (priority 5)",
        "CPU/idle",
        "Jobs/command",
        "Jobs/command deadlines",
        "Packets/command",
        "Packets/packets in RAM",
    ] {
        assert!(tracks.contains(wanted), "{wanted} is not in {tracks:?}");
    }
}

#[test]
fn a_packet_of_the_library_comes_from_the_handler_that_queued_it() {
    let mut timeline = small();
    timeline.lanes[1].priority = 0;
    // It was in RAM only after the handler had begun.
    timeline.packets[0].steps[0] = (1_600, Stage::Ram);
    timeline.packets[0].steps[1] = (1_700, Stage::Queue);
    let decoded = decode(&timeline);
    let name = timeline.lanes[1].name.clone() + " (priority of its packets)";
    assert!(decoded.tracks.iter().any(|track| track.name.as_ref() == Some(&name)));
    assert_eq!(decoded.named("waits in flow queue").len(), 1);
    assert_eq!(decoded.named("flow queue: command #1").len(), 1);
    assert_eq!(decoded.named("ISR")[0].1.flow_ids, [1]);
}

#[test]
fn times_are_nanoseconds_of_the_device() {
    let decoded = decode(&small());
    let job = decoded.named("command #1")[0];
    assert_eq!(job.0, 15_000, "released at cycle 1,500 of 10 ns");
    assert_eq!(decoded.named("deadline MISSED")[0].0, 45_000);
    let values: Vec<i64> = decoded.events.iter().filter_map(|(_, event)| event.counter_value).collect();
    assert_eq!(values, [1, 0], "one packet went into RAM and left it");
}

#[test]
fn arrows_lead_from_arrival_to_the_job() {
    let decoded = decode(&small());
    let ids =
        |event: &TrackEvent| event.flow_ids.iter().chain(&event.terminating_flow_ids).copied().collect::<Vec<_>>();
    let touched: Vec<String> = decoded
        .events
        .iter()
        .filter(|(_, event)| ids(event).contains(&1))
        .map(|(_, event)| event.name.clone().unwrap_or_default())
        .collect();
    assert_eq!(
        touched,
        [
            "command #1 delivered",
            "ISR",
            "driver: command #1",
            "IP stack: command #1",
            "socket: command #1",
            "started",
            "task: command #1"
        ]
    );
    let ends: Vec<u64> = decoded.events.iter().flat_map(|(_, event)| event.terminating_flow_ids.clone()).collect();
    assert_eq!(ends, [1], "an arrow ends once; a packet that the NIC refused has none");
}

#[test]
fn slices_nest_on_every_track() {
    for pps in [1_000, 12_000, 60_000] {
        let decoded = decode(&synthetic::device::timeline(20, pps));
        let mut open: HashMap<u64, i64> = HashMap::new();
        let mut last = 0;
        for (time, event) in &decoded.events {
            assert!(*time >= last, "in order of time");
            last = *time;
            let depth = open.entry(event.track_uuid.expect("a track")).or_default();
            match event.r#type() {
                EventType::SliceBegin => *depth += 1,
                EventType::SliceEnd => *depth -= 1,
                _ => {}
            }
            assert!((0..=2).contains(depth), "depth {depth} at {time}");
        }
        assert!(open.values().all(|depth| *depth == 0), "every slice ends");
        let known: HashSet<Option<u64>> = decoded.tracks.iter().map(|track| track.uuid).collect();
        assert_eq!(known.len(), decoded.tracks.len(), "track numbers are unique");
        assert!(open.keys().all(|track| known.contains(&Some(*track))));
    }
}

#[test]
fn odd_input_does_not_panic() {
    perfetto(&Timeline::default());
    let mut broken = small();
    broken.cpu_hz = 0;
    broken.spans.push(Span { lane: 99, start: 9_000, end: 8_000 });
    broken.jobs.push(Job { lane: 99, release: u64::MAX, deadline: Some(0), start: None, end: Some(0) });
    broken.packets[0].steps.reverse();
    broken.packets[0].arrival = u64::MAX;
    perfetto(&broken);
}
