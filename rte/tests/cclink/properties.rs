// SPDX-License-Identifier: Apache-2.0
//! Whatever happens in the network and to its stations, in any order: outputs are what a master sent, whole, or safe;
//! and when it is over, all works again.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weir_io::application::endpoint::State;
use weir_io::protocol::cclink::master::{Scan, SlaveSettings};
use weir_io::protocol::cclink::slave::Wishes;
use weir_io::protocol::cclink::wire::cyclic::MasterUnit;
use weir_io::protocol::{Address, Lane, Mac, Nanos, Outbox, Port, Received, Source, Urgency};
use weir_io::simulated::Network;

use super::device::Device;
use super::network::{MS, Machine, address, attach_master, filled, ip, mac};

/// A lane whose port loses, doubles and delays what it gets, so that it comes in another order.
struct Bad {
    lane: Box<dyn Lane>,
    rng: ChaCha8Rng,
    percent: u32,
    /// By when it comes and in which order.
    late: BTreeMap<(Nanos, u64), (usize, Source, Vec<u8>)>,
    count: u64,
}

impl Bad {
    fn boxed(lane: Box<dyn Lane>, seed: u64, percent: u32) -> Box<dyn Lane> {
        let rng = ChaCha8Rng::seed_from_u64(seed);
        Box::new(Self { lane, rng, percent, late: BTreeMap::new(), count: 0 })
    }
}

/// When a port is bad: in the first minute.
const BAD_UNTIL: Nanos = 60_000 * MS;

impl Lane for Bad {
    fn name(&self) -> &str {
        self.lane.name()
    }

    fn ports(&self) -> &[Port] {
        self.lane.ports()
    }

    fn urgency(&self) -> Urgency {
        self.lane.urgency()
    }

    fn receive(&mut self, now: Nanos, received: Received<'_>, out: &mut dyn Outbox) {
        let bad = now < BAD_UNTIL && self.rng.random_range(0..100) < self.percent;
        if !bad {
            return self.lane.receive(now, received, out);
        }
        for _ in 0..self.rng.random_range(0..3) {
            let at = now + self.rng.random_range(0..60 * MS);
            self.count += 1;
            self.late.insert((at, self.count), (received.port, received.from, received.bytes.to_vec()));
        }
    }

    fn due(&self) -> Option<Nanos> {
        self.late.keys().next().map(|(at, _)| *at).into_iter().chain(self.lane.due()).min()
    }

    fn run(&mut self, now: Nanos, out: &mut dyn Outbox) {
        while let Some(entry) = self.late.first_entry().filter(|entry| entry.key().0 <= now) {
            let (port, from, bytes) = entry.remove();
            self.lane.receive(now, Received { port, from, bytes: &bytes }, out);
        }
        self.lane.run(now, out);
    }

    fn address_changed(&mut self, now: Nanos, mac: Mac, address: Address, out: &mut dyn Outbox) {
        self.lane.address_changed(now, mac, address, out);
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.lane.counters()
    }
}

#[derive(Clone, Debug)]
enum Event {
    PlugMaster(usize, bool),
    PlugSlave(usize, bool),
    Disconnect(usize, bool),
    Good(usize, bool),
    MasterRuns(usize, bool),
    Stop(usize, bool),
}

fn event() -> impl Strategy<Value = (Event, u64)> {
    let event = (0..6, 0..2_usize, any::<bool>()).prop_map(|(kind, n, on)| match kind {
        0 => Event::PlugMaster(n, on),
        1 => Event::PlugSlave(n, on),
        2 => Event::Disconnect(n, on),
        3 => Event::Good(n, on),
        4 => Event::MasterRuns(n, on),
        _ => Event::Stop(n, on),
    });
    (event, 1..1500_u64)
}

fn attach_bad(network: &mut Network, last: u8, stations: usize, seed: u64, percent: u32) -> Machine {
    let identity = weir_io::protocol::cclink::Identity { vendor: 1, model: 2, equipment_version: 3 };
    let Device { lanes, control, mut door, .. } = Device::new(stations, identity, |_| {});
    door.publish(network.now(), true, &filled(stations, 0));
    let lanes = lanes.into_iter().map(|lane| Bad::boxed(lane, seed, percent)).collect();
    Machine { station: network.attach(mac(last), address(last), lanes), door, control, stations }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn outputs_are_whole_or_safe_and_all_comes_back(
        events in proptest::collection::vec(event(), 1..30), seed in any::<u64>(), percent in 0..60_u32,
    ) {
        let mut network = Network::new(MS / 50);
        network.forget();
        let mut machines: Vec<_> =
            [1, 3].into_iter().zip(1..).map(|(stations, last)| attach_bad(&mut network, last, stations, seed, percent)).collect();
        let slaves = vec![vec![
            SlaveSettings { ip: ip(1), stations: 1 }, SlaveSettings { ip: ip(2), stations: 3 },
        ]];
        let mut masters: Vec<_> =
            [100, 101].into_iter().map(|last| attach_master(&mut network, last, slaves.clone(), Scan::Constant(20))).collect();
        // The second one comes in unheard.
        network.connect(masters[1].0, false);
        let mut value = 0_u8;
        network.run(2600 * MS);
        for (event, ms) in events {
            match event {
                Event::PlugMaster(n, on) => network.connect(masters[n].0, on),
                Event::PlugSlave(n, on) => network.connect(machines[n].station, on),
                Event::Disconnect(n, on) => machines[n].control.wish(Wishes { disconnected: on, ..Wishes::default() }),
                Event::Good(n, on) => {
                    let inputs = filled(machines[n].stations, value);
                    machines[n].door.publish(network.now(), on, &inputs);
                }
                Event::MasterRuns(n, on) => masters[n].1.orders.publish(|orders| {
                    value = value.wrapping_add(1);
                    orders.unit = if on { MasterUnit::RUN } else { MasterUnit::STOP };
                    orders.ry.fill(value);
                    orders.rww.fill(value);
                }),
                Event::Stop(n, on) => masters[0].1.orders.publish(|orders| orders.stopped[n] = on),
            }
            network.run(ms * MS);
            for machine in &mut machines {
                let stations = machine.stations;
                let (state, at, outputs) = machine.door.outputs();
                let byte = (0..8).map(|bit| outputs[bit] << bit).sum();
                prop_assert_eq!(outputs, &filled(stations, byte)[..], "torn or mixed");
                if state & State::VALID == 0 {
                    prop_assert_eq!(byte, 0);
                } else {
                    // 20 ms, three times, and what may be late.
                    prop_assert!(network.now() - at <= 60 * MS, "{} late", network.now() - at);
                }
            }
        }
        // All is well again, and one master begins anew.
        masters.iter().for_each(|(station, _)| network.connect(*station, false));
        for machine in &mut machines {
            network.connect(machine.station, true);
            machine.control.wish(Wishes::default());
            machine.door.publish(network.now(), true, &filled(machine.stations, 0x55));
        }
        network.run(BAD_UNTIL.saturating_sub(network.now()) + 200 * MS);
        for machine in &mut machines {
            prop_assert_eq!(machine.door.outputs().0, 0, "no master any more");
            machine.door.publish(network.now(), true, &filled(machine.stations, 0x55));
        }
        let (_, mut desk) = attach_master(&mut network, 102, slaves, Scan::Constant(20));
        desk.orders.publish(|orders| {
            orders.ry.fill(0xAA);
            orders.rww.fill(0xAA);
        });
        network.run(2700 * MS);
        let report = desk.report.newest(|report, _| report.clone());
        prop_assert!(report.slaves.iter().all(|slave| slave.connected), "{report:?}");
        prop_assert!(report.rx.iter().chain(&report.rwr).all(|byte| *byte == 0x55));
        for machine in &mut machines {
            let stations = machine.stations;
            prop_assert_eq!(machine.door.outputs().2, &filled(stations, 0xAA)[..]);
        }
    }
}
