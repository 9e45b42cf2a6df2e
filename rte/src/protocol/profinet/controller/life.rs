// SPDX-License-Identifier: Apache-2.0
//! Our controller against our device, in virtual time.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::device::Device;
use super::super::device::handle::{Alarm, Handle as DeviceHandle};
use super::super::discovery::{self, Discovery};
use super::super::station;
use super::tests::submodule;
use super::*;
use crate::application::endpoint::{Door, Endpoint, Safe, State};
use crate::application::image::{Image, Type};
use crate::application::layout::{Layout, Order};
use crate::application::memory::{Memory, Plan as MemoryPlan};
use crate::protocol::profinet::model::{Data, Model, Module, Record, Submodule};
use crate::protocol::profinet::name::StationName;
use crate::protocol::profinet::wire::rta::AlarmType;
use crate::protocol::{Address, Nanos};
use crate::simulated::{Network, Station, Trouble};

const MILLISECOND: Nanos = 1_000_000;
const SECOND: Nanos = 1_000_000_000;
const HOUR: Nanos = 3600 * SECOND;
/// Bytes of data each way.
const BYTES: usize = 4;
/// Where the record is.
const PLACE: (u16, u16) = (1, 1);
const RECORD: u16 = 123;

fn address(last: u8) -> Address {
    let ip = if last == 0 { [0; 4] } else { [192, 168, 0, last] };
    let mask = if last == 0 { [0; 4] } else { [255, 255, 255, 0] };
    Address { ip: ip.into(), mask: mask.into(), gateway: [0; 4].into() }
}

fn bytes(image: &mut Image) -> Data {
    let names: Vec<String> = (0..BYTES).map(|n| format!("b{n}")).collect();
    let mut layout = Layout::new(Order::Big);
    for name in &names {
        image.add(name, Type::U8);
        layout.push(image.get(name).unwrap());
    }
    Data { layout, names }
}

fn model() -> Model {
    let name = || "test".to_owned();
    let access_point = vec![submodule(1, 1, 0, 0), submodule(0x8000, 0x8000, 0, 0), submodule(0x8001, 0x8001, 0, 0)];
    let press = Submodule {
        subslot: PLACE.1,
        ident: 0x132,
        name: name(),
        inputs: bytes(&mut Image::default()),
        outputs: bytes(&mut Image::default()),
        records: vec![Record { index: RECORD, name: name(), bytes: 4 }],
    };
    Model {
        station: "press-3".into(),
        vendor_id: 0x0493,
        device_id: 2,
        vendor: name(),
        product: name(),
        order: name(),
        serial: name(),
        hardware: 1,
        software: [0, 0, 1],
        interval_min: 32,
        connections: 1,
        modules: vec![
            Module { slot: 0, ident: 1, name: name(), submodules: access_point },
            Module { slot: PLACE.0, ident: 0x32, name: name(), submodules: vec![press] },
        ],
    }
}

/// A device with its application, a controller with its user, and the cable between them.
struct Bench {
    network: Network,
    device: Station,
    controller: Station,
    door: Door,
    device_handle: DeviceHandle,
    user: Handle,
}

impl Bench {
    fn new(cycle_us: u64) -> Self {
        let mut network = Network::new(10_000);
        let plan = MemoryPlan { inputs: BYTES, outputs: BYTES, endpoints: 1 };
        let memory = Memory::anonymous(plan).unwrap();
        let safe = Safe { values: vec![9; BYTES], replaced: vec![true; BYTES] };
        let endpoint = Endpoint::new(&memory, 0, safe.clone(), 100 * HOUR, network.now());
        let (discovery, side) = station::sides(station::Station::default());
        let settings = discovery::Settings::new(&model(), 1);
        let discovery = Discovery::new(settings, discovery, Box::new(BTreeMap::new()));
        let lanes = Device::new(model(), endpoint, safe, side);
        let device_handle = lanes.handle.clone();
        let device = network.attach(
            Mac([2, 0, 0, 0, 0, 1]),
            address(0),
            vec![Box::new(lanes.cyclic), Box::new(lanes.acyclic), Box::new(discovery)],
        );
        let (controller, user) = Controller::new(Settings {
            device: model(),
            station: StationName::new(b"press-3").unwrap(),
            own_name: StationName::new(b"plc").unwrap(),
            address: Some(address(50)),
            cycle: Cycle::from_us(cycle_us).unwrap(),
            watchdog_factor: 5,
            parameters: vec![Parameter { slot: PLACE.0, subslot: PLACE.1, index: RECORD, bytes: vec![1, 2, 3, 4] }],
            again_after: SECOND,
            seed: 7,
        });
        let controller = network.attach(Mac([2, 0, 0, 0, 0, 2]), address(30), vec![Box::new(controller)]);
        let mut door = Door::new(&memory, 0);
        door.publish(network.now(), true, &[5; BYTES]);
        Self { network, device, controller, door, device_handle, user }
    }

    fn phase(&mut self) -> Phase {
        self.user.view().phase
    }

    /// Waits until the phase is that, at most so long.
    fn until(&mut self, phase: Phase, most: Nanos) -> Nanos {
        let begin = self.network.now();
        while self.phase() != phase {
            assert!(self.network.now() - begin < most, "{phase:?}: {:?}, {:?}", self.phase(), self.told());
            self.network.run(MILLISECOND);
        }
        self.network.now() - begin
    }

    fn told(&mut self) -> Vec<String> {
        self.network.told().into_iter().map(|(.., line)| line).collect()
    }

    fn events(&self) -> Vec<Event> {
        std::iter::from_fn(|| self.user.event()).filter(|event| !matches!(event, Event::Phase(_))).collect()
    }

    /// The sum of the device's and the controller's counters that say that something was dropped.
    fn dropped(&self) -> Vec<(&'static str, u64)> {
        let lanes = [(self.device, 0), (self.device, 1), (self.device, 2), (self.controller, 0)];
        let all = lanes.into_iter().flat_map(|(station, lane)| self.network.lane(station, lane).counters());
        all.filter(|(name, count)| *count > 0 && name.contains("drop")).collect()
    }
}

#[test]
fn a_whole_life() {
    let mut bench = Bench::new(1000);
    let start = bench.until(Phase::Data, SECOND);
    assert!(start < 20 * MILLISECOND, "{start} ns");
    assert_eq!(bench.network.address(bench.device), address(50));
    assert_eq!(bench.device_handle.record(PLACE, RECORD), Some(vec![1, 2, 3, 4]));
    // Data, both ways.
    bench.user.set_outputs(&[1, 2, 3, 4], true);
    bench.door.publish(bench.network.now(), true, &[6, 7, 8, 9]);
    bench.network.run(10 * MILLISECOND);
    let (state, _, outputs) = bench.door.outputs();
    assert_eq!((state, outputs), (State::VALID | State::RUN, &[1, 2, 3, 4][..]));
    let view = bench.user.view();
    assert_eq!((view.inputs, view.good), (vec![6, 7, 8, 9], true));
    // Records.
    bench.events();
    let write = |bytes| Command::Write(Parameter { slot: 1, subslot: 1, index: RECORD, bytes });
    let read = |slot, subslot, index| Command::Read { slot, subslot, index, bytes: 4096 };
    for command in [write(vec![4, 3, 2, 1]), read(1, 1, RECORD), read(0, 1, 0xaff0), read(1, 1, 0x4321), write(vec![1])]
    {
        assert!(bench.user.command(command));
    }
    bench.network.run(100 * MILLISECOND);
    let events = bench.events();
    assert_eq!(events[0], Event::Written(RECORD, Status::OK));
    assert_eq!(events[1], Event::Read(RECORD, Ok(vec![4, 3, 2, 1])));
    assert!(matches!(&events[2], Event::Read(0xaff0, Ok(record)) if record.len() == 60), "{:?}", events[2]);
    assert!(
        matches!(events[3], Event::Read(0x4321, Err(_)))
            && matches!(events[4], Event::Written(RECORD, status) if status != Status::OK)
    );
    assert_eq!(events.len(), 5);
    // Alarms, one after the other.
    for n in 0..3 {
        bench.device_handle.raise(Alarm::Process { place: PLACE, structure: 1, data: vec![n] }).unwrap();
    }
    bench.network.run(500 * MILLISECOND);
    let alarms: Vec<_> = bench
        .events()
        .into_iter()
        .filter_map(|event| match event {
            Event::Alarm(alarm) if alarm.kind == AlarmType::PROCESS => Some(alarm.data),
            _ => None,
        })
        .collect();
    assert_eq!(alarms, [[0], [1], [2]]);
    // The end, and a new begin.
    assert!(bench.user.command(Command::Release));
    bench.until(Phase::Released, SECOND);
    bench.network.run(SECOND);
    let (state, _, outputs) = bench.door.outputs();
    assert_eq!((state, outputs), (0, &[9; BYTES][..]));
    assert!(bench.dropped().is_empty(), "{:?}", bench.dropped());
}

#[test]
fn a_thousand_connections_one_after_the_other() {
    let mut bench = Bench::new(1000);
    bench.network.forget();
    for n in 1..=1000 {
        bench.until(Phase::Data, 2 * SECOND);
        assert_eq!((bench.user.view().connections, bench.user.view().lost), (n, 0));
        bench.network.run(5 * MILLISECOND);
        assert!(bench.user.command(Command::Release));
        bench.until(Phase::Released, SECOND);
        assert!(bench.user.command(Command::Connect));
        bench.events();
    }
}

#[test]
fn frames_come_at_the_cycle() {
    let mut bench = Bench::new(1000);
    bench.until(Phase::Data, SECOND);
    bench.network.run(10 * SECOND);
    let statistics = bench.user.view().statistics;
    assert!((9_990..=10_010).contains(&statistics.frames), "{statistics:?}");
    assert_eq!((statistics.missed, statistics.deviation_max), (0, 0));
}

#[test]
fn a_pulled_plug_is_noticed_on_both_sides_and_forgotten_when_it_is_back() {
    for pulled in [0, 1] {
        let mut bench = Bench::new(1000);
        bench.until(Phase::Data, SECOND);
        bench.user.set_outputs(&[1; BYTES], true);
        bench.network.run(10 * MILLISECOND);
        let station = [bench.device, bench.controller][pulled];
        bench.network.connect(station, false);
        // The watchdog is five cycles; a frame may be on its way, and the device's own tick is a cycle.
        bench.network.run(7 * MILLISECOND);
        assert_eq!(bench.phase(), Phase::Pausing);
        let (state, _, outputs) = bench.door.outputs();
        assert_eq!((state, outputs), (0, &[9; BYTES][..]));
        bench.network.run(5 * SECOND);
        bench.network.connect(station, true);
        bench.until(Phase::Data, 3 * SECOND);
        assert_eq!((bench.user.view().connections, bench.user.view().lost), (2, 1));
    }
}

#[test]
fn a_controller_that_wants_another_device_is_refused_with_the_reason() {
    let mut bench = Bench::new(1000);
    let (other, mut user) = Controller::new(Settings {
        device: Model { vendor_id: 5, ..model() },
        station: StationName::new(b"press-3").unwrap(),
        own_name: StationName::new(b"plc-2").unwrap(),
        address: None,
        cycle: Cycle::from_us(1000).unwrap(),
        watchdog_factor: 5,
        parameters: Vec::new(),
        again_after: SECOND,
        seed: 8,
    });
    bench.until(Phase::Data, SECOND);
    bench.network.attach(Mac([2, 0, 0, 0, 0, 3]), address(31), vec![Box::new(other)]);
    bench.network.run(10 * SECOND);
    assert_ne!(user.view().phase, Phase::Data);
    assert_eq!((bench.phase(), bench.user.view().lost), (Phase::Data, 0));
    assert_eq!(bench.user.view().statistics.deviation_max, 0);
}

#[test]
fn a_name_that_nobody_has_is_looked_for_until_somebody_has_it() {
    let mut bench = Bench::new(8000);
    bench.network.connect(bench.device, false);
    bench.network.run(60 * SECOND);
    assert_eq!(bench.phase(), Phase::Looking);
    bench.network.connect(bench.device, true);
    bench.until(Phase::Data, 2 * SECOND);
}

/// Runs for so long; a connection must hold, and nothing may be missed or drift.
fn runs_without_drift(cycle_us: u64, span: Nanos) {
    let mut bench = Bench::new(cycle_us);
    bench.until(Phase::Data, SECOND);
    bench.network.forget();
    bench.told();
    let begin = bench.network.now();
    for n in 0..24_u8 {
        bench.user.set_outputs(&[n; BYTES], true);
        bench.door.publish(bench.network.now(), true, &[n; BYTES]);
        bench.network.run(span / 24);
        assert_eq!(bench.user.view().inputs, [n; BYTES]);
        assert_eq!(bench.door.outputs().2, [n; BYTES]);
    }
    let view = bench.user.view();
    let frames = (bench.network.now() - begin) / (cycle_us * 1000);
    assert!(view.statistics.frames.abs_diff(frames) < 10, "{} instead of {frames}", view.statistics.frames);
    assert_eq!((view.connections, view.lost, view.statistics.missed, view.statistics.deviation_max), (1, 0, 0, 0));
    assert!(bench.dropped().is_empty(), "{:?}", bench.dropped());
    assert_eq!(bench.told(), Vec::<String>::new());
}

#[test]
fn ten_minutes_pass_without_drift() {
    runs_without_drift(1000, 600 * SECOND);
}

#[test]
fn a_day_passes_without_drift() {
    runs_without_drift(8000, 24 * HOUR);
}

#[test]
#[ignore = "takes minutes: eight times as many frames as the day above"]
fn a_day_at_a_millisecond_passes_without_drift() {
    runs_without_drift(1000, 24 * HOUR);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn whatever_goes_wrong_it_ends_well(
        lost in 0_u32..300, doubled in 0_u32..300, longer in 0_u64..3_000_000, seed in any::<u64>(),
        plugs in proptest::collection::vec((0_usize..3, 1_u64..3000), 0..6)
    ) {
        let mut bench = Bench::new(1000);
        bench.network.forget();
        bench.network.trouble(Trouble { lost, doubled, longer }, seed);
        for (plug, milliseconds) in plugs {
            let station = [Some(bench.device), Some(bench.controller), None][plug];
            if let Some(station) = station {
                bench.network.connect(station, false);
            }
            let _ = bench.device_handle.raise(Alarm::Process { place: PLACE, structure: 1, data: vec![1] });
            let _ = bench.user.command(Command::Read { slot: 1, subslot: 1, index: RECORD, bytes: 64 });
            bench.network.run(milliseconds * MILLISECOND);
            if let Some(station) = station {
                bench.network.connect(station, true);
            }
        }
        // Outputs are what the controller sends, or safe.
        bench.user.set_outputs(&[3; BYTES], true);
        bench.network.run(SECOND);
        let (state, _, outputs) = bench.door.outputs();
        let as_sent = [vec![3; BYTES], vec![0; BYTES]];
        let are_right = if state == 0 { outputs == [9; BYTES] } else { as_sent.contains(&outputs.to_vec()) };
        prop_assert!(are_right);
        // When the trouble is over, all is well within a device's time to give up its old connection.
        bench.network.trouble(Trouble::default(), seed);
        bench.until(Phase::Data, 60 * SECOND);
        bench.network.run(SECOND);
        prop_assert_eq!(bench.phase(), Phase::Data);
        prop_assert_eq!(bench.door.outputs().2, [3; BYTES]);
    }
}
