// SPDX-License-Identifier: Apache-2.0
//! The receive library's events, made up without a device.

use super::{Drop, Observed};
use super::{Ending, FirmwareBuffers, Measured, Observer, Thread};
use crate::results::{Buffers, Dropped, Run};
use crate::scenario::{self, Overrides, Scenario, Variant};
use crate::timeline::{Lane, LaneKind, Stage, Timeline};

const BUFFER_BYTES: u32 = 1536;
/// Handles of the threads. The network task is the first, the booster the last but one.
const NET: u32 = 1;
const HIGH: u32 = 3;
const IDLE: u32 = 6;
/// Indices of the tasks.
const TASK_HIGH: usize = 0;
const TASK_LOW: usize = 1;

struct Device {
    scenario: Scenario,
    observer: Observer,
}

impl Device {
    fn new() -> Device {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("s.toml");
        let text = "name = 'x'\nvariants = ['driver']\n[device]\nrx_buffers = 20\n\
                    [[task]]\nname = 'high'\npriority = 6\nlisten = 'udp/5005'\n\
                    [[task]]\nname = 'low'\npriority = 3\nlisten = 'udp/5006'\n";
        std::fs::write(&path, text).expect("a file");
        let mut checked = scenario::check(&path, &Overrides::default()).unwrap_or_else(|errors| panic!("{errors}"));
        let scenario = checked.cases.remove(0).scenario;
        let thread = |handle, name: &str, kind| Thread { handle, lane: Lane { name: name.into(), kind, priority: 0 } };
        let threads = [
            thread(NET, "weir_net", LaneKind::Net),
            thread(2, "tcpip_thread", LaneKind::Net),
            thread(HIGH, "high", LaneKind::Task),
            thread(4, "low", LaneKind::Task),
            thread(5, "weir_boost", LaneKind::Net),
            thread(IDLE, "idle", LaneKind::Idle),
        ];
        let measured = Measured {
            epoch: 0,
            window: 0..1_000_000,
            buffers: 64,
            buffers_base: 0,
            buffer_bytes: BUFFER_BYTES,
            record: true,
        };
        let observer = Observer::new(&scenario, Variant::Driver, &threads, measured, 0);
        Device { scenario, observer }
    }

    fn all(&mut self, events: &[(u64, Observed)]) {
        for (now, event) in events {
            self.observer.event(*now, *event);
        }
    }

    /// A frame is on the wire.
    fn offered(&mut self, now: u64, task: Option<usize>) {
        self.observer.offer(&[0; 60], now, task);
    }

    /// A frame is in RAM.
    fn arrived(&mut self, now: u64, task: Option<usize>, buffer: u32) {
        self.offered(now, task);
        self.all(&[(now, Observed::RxAccept), (now + 10, Observed::RxDone(buffer * BUFFER_BYTES))]);
    }

    /// A frame arrives and is queued by an interrupt of 100 cycles, after which the task with this handle runs.
    fn queued(&mut self, now: u64, task: Option<usize>, buffer: usize, then: u32) {
        self.arrived(now, task, buffer as u32);
        self.all(&[
            (now + 20, Observed::EnterIsr { nic: true }),
            (now + 50, Observed::Queued(buffer)),
            (now + 120, Observed::EnterTask(then)),
        ]);
    }

    fn finish(self, now: u64) -> (Run, Timeline) {
        let buffers = Buffers { pool: 20, free_at_end: 20, leaked: 0 };
        let ending = Ending { off_cycles_max: 0, loops: vec![0; 2], buffers, peers: Vec::new() };
        let (run, timeline) = self.observer.finish(now, &self.scenario, &ending);
        (run, timeline.expect("a timeline"))
    }
}

/// Drops of the flows `high`, `low` and background.
fn drops(run: &Run) -> [Dropped; 3] {
    std::array::from_fn(|flow| run.flows[flow].dropped.clone())
}

fn inversion(run: &Run) -> u64 {
    run.library.as_ref().expect("a variant with the library").priority_inversion_cycles_max
}

#[test]
fn a_packet_waits_in_its_flow_before_the_stack() {
    let mut device = Device::new();
    device.queued(1000, Some(TASK_HIGH), 4, NET);
    device.all(&[
        (1200, Observed::Stack(4)),
        (1300, Observed::Watch(0)),
        (1400, Observed::StackDone(4)),
        (1500, Observed::EnterTask(HIGH)),
        (1600, Observed::Freed(4)),
    ]);
    let (run, timeline) = device.finish(2000);
    assert_eq!((run.flows[0].offered, run.flows[0].delivered), (1, 1));
    let stages: Vec<Stage> = timeline.packets[0].steps.iter().map(|(_, stage)| *stage).collect();
    let expected = [Stage::Ram, Stage::Queue, Stage::Stack, Stage::Socket, Stage::Task, Stage::Freed];
    assert_eq!(stages, expected);
}

#[test]
fn every_drop_is_counted_once_under_its_reason() {
    let mut device = Device::new();
    for (buffer, why) in [Drop::ShortCircuit, Drop::Limited, Drop::Refused].into_iter().enumerate() {
        let now = 1000 * (buffer as u64 + 1);
        device.arrived(now, Some(TASK_LOW), buffer as u32);
        device.all(&[(now + 50, Observed::Dropped(buffer, why))]);
    }
    // One that waits gives way to another.
    device.queued(5000, None, 3, IDLE);
    device.arrived(6000, Some(TASK_HIGH), 4);
    device.all(&[(6050, Observed::Dropped(3, Drop::Recycled)), (6060, Observed::Queued(4))]);
    let (run, _) = device.finish(7000);
    let low = Dropped { recycled: 1, flow_limit: 2, ..Dropped::default() };
    let background = Dropped { recycled: 1, ..Dropped::default() };
    assert_eq!(drops(&run), [Dropped::default(), low, background]);
    assert_eq!(run.flows[0].in_flight, 1);
}

#[test]
fn what_the_nic_has_no_room_for_while_it_is_polled_is_over_the_overall_limit() {
    let mut device = Device::new();
    for (now, polling) in [(1000, false), (2000, true), (3000, false)] {
        device.all(&[(now, Observed::Polling(polling))]);
        device.offered(now + 10, None);
        device.all(&[(now + 10, Observed::RxOverrun)]);
        device.offered(now + 20, None);
        device.all(&[(now + 20, Observed::RxAccept), (now + 30, Observed::RxNoDescriptor)]);
    }
    let (run, _) = device.finish(4000);
    let background = Dropped { nic_full: 4, overall_limit: 2, ..Dropped::default() };
    assert_eq!(drops(&run)[2], background);
}

#[test]
fn a_packet_whose_socket_is_closed_while_it_waits_was_not_delivered() {
    let mut device = Device::new();
    device.queued(1000, Some(TASK_HIGH), 4, HIGH);
    device.all(&[(1500, Observed::Freed(4))]);
    let (run, _) = device.finish(2000);
    assert_eq!(drops(&run)[0], Dropped { socket: 1, ..Dropped::default() });
    assert_eq!(run.flows[0].delivered, 0);
}

#[test]
fn buffers_in_flow_queues_are_not_missing() {
    let mut device = Device::new();
    let missing = |device: &Device, free, with_nic| {
        device.observer.buffers_missing(&device.scenario, FirmwareBuffers { free, with_nic, held: 0 })
    };
    assert_eq!(missing(&device, 4, 16), 0);
    device.arrived(1000, Some(TASK_HIGH), 4);
    assert_eq!(missing(&device, 4, 16), 0, "in the ring");
    device.all(&[(1050, Observed::Queued(4))]);
    assert_eq!(missing(&device, 4, 15), 0, "in a queue");
    assert_eq!(missing(&device, 3, 15), 1, "another was lost");
    device.all(&[(1100, Observed::Dropped(4, Drop::Recycled))]);
    assert_eq!(missing(&device, 4, 16), 0, "in the ring again");
}

#[test]
fn interrupts_are_measured_by_what_they_did() {
    let mut device = Device::new();
    device.queued(1000, Some(TASK_HIGH), 4, IDLE);
    device.arrived(2000, Some(TASK_LOW), 5);
    device.arrived(2000, Some(TASK_LOW), 6);
    device.all(&[
        (2020, Observed::EnterIsr { nic: true }),
        (2050, Observed::Dropped(5, Drop::ShortCircuit)),
        (2060, Observed::Dropped(6, Drop::ShortCircuit)),
        (2080, Observed::EnterTask(IDLE)),
    ]);
    let (run, _) = device.finish(3000);
    let paths: Vec<_> = run.paths.iter().map(|path| (path.name.as_str(), path.count, path.cycles.max)).collect();
    assert_eq!(paths, [("eager/queued", 1, 100), ("eager/burst", 1, 30)]);
}

#[test]
fn only_the_network_tasks_own_cycles_invert_priorities() {
    let mut device = Device::new();
    device.queued(1000, Some(TASK_LOW), 4, NET);
    device.all(&[(1200, Observed::Stack(4))]);
    // Queued at 2050; the interrupt ends at 2120, and `high` runs from 3000 to 8000.
    device.queued(2000, Some(TASK_HIGH), 5, NET);
    device.all(&[
        (3000, Observed::EnterTask(HIGH)),
        (8000, Observed::EnterTask(NET)),
        (8100, Observed::StackDone(4)),
        (8500, Observed::Stack(5)),
        (9000, Observed::StackDone(5)),
    ]);
    let (run, _) = device.finish(10_000);
    assert_eq!(inversion(&run), (3000 - 2120) + (8100 - 8000));
}

#[test]
fn a_lower_packet_that_waits_inverts_nothing() {
    let mut device = Device::new();
    device.queued(1000, Some(TASK_HIGH), 4, NET);
    device.all(&[(1200, Observed::Stack(4))]);
    device.queued(2000, None, 5, NET);
    device.queued(2500, Some(TASK_HIGH), 6, NET);
    device.all(&[(4000, Observed::StackDone(4)), (4100, Observed::Stack(6)), (5000, Observed::StackDone(6))]);
    assert_eq!(inversion(&device.finish(6000).0), 0);
}

#[test]
fn a_fragment_is_background_whatever_its_port() {
    let mut device = Device::new();
    device.queued(1000, Some(TASK_LOW), 4, NET);
    device.all(&[(1200, Observed::Stack(4))]);
    let mut fragment = [0; 60];
    fragment[12..24].copy_from_slice(&[8, 0, 0x45, 0, 0, 46, 0, 0, 0x20, 0, 64, 17]);
    device.observer.offer(&fragment, 2000, Some(TASK_HIGH));
    device.all(&[
        (2000, Observed::RxAccept),
        (2010, Observed::RxDone(5 * BUFFER_BYTES)),
        (2050, Observed::Queued(5)),
        (4000, Observed::StackDone(4)),
    ]);
    assert_eq!(inversion(&device.finish(5000).0), 0);
}
