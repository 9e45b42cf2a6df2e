// SPDX-License-Identifier: Apache-2.0
//! Our master and our slaves in a network in virtual time.

use std::net::{Ipv4Addr, SocketAddrV4};

use weir_io::application::endpoint::{Door, State};
use weir_io::application::triple_buffer::Consumer;
use weir_io::protocol::cclink::master::{
    Commission, Commissioner, Desk, Findings, Outcome, Phase, Report, Scan, Settings, SlaveSettings, master,
};
use weir_io::protocol::cclink::slave::{ApplicationStop, Control, Settings as Slave, Wishes, answer_delay_ms};
use weir_io::protocol::cclink::wire::cyclic::{EndCode, MasterUnit, Request, Response};
use weir_io::protocol::cclink::{CYCLIC_PORT, Identity, bits_bytes, words_bytes};
use weir_io::protocol::{Address, Mac, Nanos};
use weir_io::simulated::{Network, Packet, Station};

use super::device::{Device, image};

pub const US: Nanos = 1000;
pub const MS: Nanos = 1000 * US;
const IDENTITY: Identity = Identity { vendor: 0x1234, model: 0x10001, equipment_version: 1 };

pub fn ip(last: u8) -> Ipv4Addr {
    Ipv4Addr::new(192, 168, 3, last)
}

pub fn mac(last: u8) -> Mac {
    Mac([2, 0, 0, 0, 0, last])
}

pub fn address(last: u8) -> Address {
    Address { ip: ip(last), mask: Ipv4Addr::new(255, 255, 255, 0), gateway: Ipv4Addr::UNSPECIFIED }
}

/// A slave's application.
pub struct Machine {
    pub station: Station,
    pub door: Door,
    pub control: Control,
    pub stations: usize,
}

impl Machine {
    /// Inputs that are all `value`.
    pub fn show(&mut self, now: Nanos, value: u8) {
        self.door.publish(now, true, &filled(self.stations, value));
    }
}

/// The image all of whose bytes are that on the wire.
pub fn filled(stations: usize, value: u8) -> Vec<u8> {
    image(&vec![value; bits_bytes(stations)], &vec![value; words_bytes(stations)])
}

pub struct Plant {
    pub network: Network,
    pub machines: Vec<Machine>,
    pub desk: Desk,
    pub master: Station,
}

/// A master 100 and slaves 1, 2, … with so many stations.
pub fn plant(groups: &[&[usize]], scan: Scan, change: impl Fn(&mut Slave)) -> Plant {
    let mut network = Network::new(20 * US);
    let mut machines = Vec::new();
    let mut settings = Vec::new();
    for group in groups {
        let mut slaves = Vec::new();
        for stations in *group {
            let last = machines.len() as u8 + 1;
            machines.push(attach(&mut network, last, last, *stations, &change));
            slaves.push(SlaveSettings { ip: ip(last), stations: *stations });
        }
        settings.push(slaves);
    }
    let (master, desk) = attach_master(&mut network, 100, settings, scan);
    Plant { network, machines, desk, master }
}

pub fn attach(
    network: &mut Network,
    mac_last: u8,
    ip_last: u8,
    stations: usize,
    change: impl Fn(&mut Slave),
) -> Machine {
    let Device { lanes, control, mut door, .. } = Device::new(stations, IDENTITY, change);
    door.publish(network.now(), true, &filled(stations, 0));
    let station = network.attach(mac(mac_last), address(ip_last), lanes);
    Machine { station, door, control, stations }
}

pub fn attach_master(network: &mut Network, last: u8, groups: Vec<Vec<SlaveSettings>>, scan: Scan) -> (Station, Desk) {
    let settings =
        Settings { groups, version: 2, scan, timeout_count: 3, parameter: 7 + u16::from(last), clock_zero_ms: None };
    let (lane, desk) = master(settings).unwrap();
    (network.attach(mac(last), address(last), vec![Box::new(lane)]), desk)
}

impl Plant {
    pub fn report(&mut self) -> Report {
        self.desk.report.newest(|report, _| report.clone())
    }

    pub fn connected(&mut self) -> usize {
        self.report().slaves.iter().filter(|slave| slave.connected).count()
    }

    /// Until listening is over, and a few scans.
    pub fn start(&mut self) {
        self.network.run(2600 * MS);
    }

    pub fn counter(&self, station: Station, name: &str) -> u64 {
        let counters = self.network.lane(station, 0).counters();
        counters.into_iter().find(|(counter, _)| *counter == name).unwrap_or_else(|| panic!("no counter {name}")).1
    }

    pub fn responses(&mut self, from: Station) -> Vec<(Nanos, u16)> {
        let seen = self.network.seen().into_iter();
        let of = seen.filter_map(|(at, station, packet)| match packet {
            Packet::Datagram(_, _, payload) if station == from => {
                Some((at, Response::read(&payload).ok()?.fields().end_code.0))
            }
            _ => None,
        });
        of.collect()
    }
}

#[test]
fn data_go_both_ways_and_the_scan_is_as_fast_as_the_network() {
    let mut plant = plant(&[&[1, 2], &[16]], Scan::Fast(500), |_| {});
    for (value, machine) in (1..).zip(&mut plant.machines) {
        machine.show(1_000_000_000, value);
    }
    plant.desk.orders.publish(|orders| {
        orders.ry.fill(0x5A);
        orders.rww.fill(0xA5);
    });
    plant.start();
    assert_eq!(plant.connected(), 3);
    let report = plant.report();
    assert_eq!(report.rx[..8 * 3], [[1_u8; 8], [2; 8], [2; 8]].concat());
    assert_eq!(report.rwr[64 * 3..], [3; 64 * 16]);
    for machine in &mut plant.machines {
        let expected = image(&vec![0x5A; bits_bytes(machine.stations)], &vec![0xA5; words_bytes(machine.stations)]);
        assert_eq!(machine.door.outputs().2, expected);
        assert_eq!(machine.door.outputs().0, State::VALID | State::RUN);
    }
    // There and back in 20 us each.
    assert!(report.cycles.iter().all(|cycle| cycle.mean() == 40 * US && cycle.max == 40 * US));
    assert!(report.slaves.iter().all(|slave| slave.response.mean() == 40 * US && slave.identity == Some(IDENTITY)));
    assert_eq!(report.slaves[1].station, 2);
}

#[test]
fn a_constant_scan_keeps_its_grid() {
    let mut plant = plant(&[&[1], &[1]], Scan::Constant(5), |_| {});
    plant.start();
    let report = plant.report();
    assert_eq!(plant.connected(), 2);
    assert!(report.cycles.iter().all(|cycle| (cycle.min, cycle.max) == (5 * MS, 5 * MS)));
}

#[test]
fn sixty_four_groups_of_a_station_each_are_scanned() {
    let groups: Vec<&[usize]> = vec![&[1]; 64];
    let mut plant = plant(&groups, Scan::Constant(50), |_| {});
    plant.start();
    assert_eq!(plant.connected(), 64);
    assert!(plant.report().cycles.iter().all(|cycle| (cycle.min, cycle.max) == (50 * MS, 50 * MS)));
}

#[test]
fn a_group_does_not_wait_for_another() {
    let mut plant = plant(&[&[1], &[1]], Scan::Fast(100), |_| {});
    plant.start();
    let lame = plant.machines[0].station;
    plant.network.connect(lame, false);
    plant.network.run(1000 * MS);
    let report = plant.report();
    assert_eq!(plant.connected(), 1);
    assert!(report.cycles[0].max == 100 * MS && report.cycles[1].max == 40 * US);
}

#[test]
fn a_silent_slave_is_dropped_after_three_requests_and_comes_back() {
    let mut plant = plant(&[&[1, 1]], Scan::Fast(100), |_| {});
    plant.machines[0].show(1_000_000_000, 9);
    plant.start();
    let lame = plant.machines[0].station;
    plant.network.connect(lame, false);
    plant.network.run(290 * MS);
    assert_eq!(plant.connected(), 2);
    plant.network.run(20 * MS);
    let report = plant.report();
    assert_eq!((plant.connected(), report.slaves[0].missed, report.slaves[0].lost), (1, 3, 1));
    assert_eq!(report.rx[..8], [0; 8]);
    // Then nobody waits for it.
    let before = report.cycles[0];
    plant.network.run(100 * MS);
    let after = plant.report().cycles[0];
    assert!(after.count - before.count > 2000);
    plant.network.connect(lame, true);
    plant.network.run(MS);
    assert_eq!(plant.connected(), 2);
    assert_eq!(plant.report().rx[..8], [9; 8]);
}

#[test]
fn a_lost_master_is_noticed_within_the_watchdog_and_outputs_are_safe() {
    let mut plant = plant(&[&[1]], Scan::Constant(10), |_| {});
    plant.desk.orders.publish(|orders| orders.ry.fill(0xFF));
    plant.start();
    let machine = &mut plant.machines[0];
    assert_eq!(machine.door.outputs().2[0], 1);
    plant.network.connect(plant.master, false);
    let last = machine.door.outputs().1;
    plant.network.run(100 * MS);
    let (state, at, outputs) = machine.door.outputs();
    assert_eq!((state, outputs[0]), (0, 0));
    // 10 ms three times after the last request.
    assert!((last..=last + 10 * MS).contains(&(at - 30 * MS)), "{last} {at}");
    assert_eq!(plant.counter(plant.machines[0].station, "masters lost"), 1);
}

#[test]
fn a_second_master_is_told_so_and_the_first_keeps_its_slave() {
    let mut plant = plant(&[&[1]], Scan::Constant(10), |_| {});
    plant.start();
    // It does not listen first, as the one in cciefb-v2-master-duplication.
    let request = plant.network.seen().into_iter().rev().find_map(|(_, station, packet)| match packet {
        Packet::Datagram(_, to, payload) if station == plant.master => Some((to, payload)),
        _ => None,
    });
    let (to, mut payload) = request.unwrap();
    payload[47] = 101;
    let rude = plant.network.attach(mac(101), address(101), Vec::new());
    plant.network.inject(rude, Packet::Datagram(SocketAddrV4::new(ip(101), 41131), to, payload));
    plant.network.run(100 * MS);
    let station = plant.machines[0].station;
    let codes = plant.responses(station);
    assert_eq!(codes.iter().filter(|(_, code)| *code == EndCode::MASTER_DUPLICATION.0).count(), 1);
    assert_eq!(plant.counter(station, "answered: master duplication"), 1);
    assert_eq!(plant.connected(), 1);
    // One of ours listens, and stays silent.
    let groups = vec![vec![SlaveSettings { ip: ip(1), stations: 1 }]];
    let (_, mut polite) = attach_master(&mut plant.network, 102, groups, Scan::Fast(500));
    plant.network.run(3000 * MS);
    assert_eq!(polite.report.newest(|report, _| report.phase), Phase::OtherMaster(ip(100)));
    assert_eq!(plant.report().phase, Phase::Scanning);
    assert_eq!(plant.counter(station, "answered: master duplication"), 1);
}

#[test]
fn a_master_whose_slave_has_another_stays_silent() {
    // Both begin at once in networks that are joined later.
    let mut plant = plant(&[&[1]], Scan::Constant(10), |_| {});
    let groups = vec![vec![SlaveSettings { ip: ip(1), stations: 1 }]];
    let (late, mut desk) = attach_master(&mut plant.network, 101, groups, Scan::Constant(10));
    plant.network.connect(late, false);
    plant.start();
    plant.network.connect(late, true);
    plant.network.run(50 * MS);
    // The first one ignores the other's requests while it runs.
    assert_eq!(plant.report().phase, Phase::Scanning);
    assert_eq!(desk.report.newest(|report, _| report.phase), Phase::SlaveHasOther(ip(1)));
    plant.network.seen();
    plant.network.run(1000 * MS);
    assert!(plant.network.seen().iter().all(|(_, station, _)| *station != late));
}

#[test]
fn a_wrong_number_of_stations_is_answered_with_the_own_size() {
    let mut plant = plant(&[&[2]], Scan::Constant(10), |_| {});
    let groups = vec![vec![SlaveSettings { ip: ip(1), stations: 1 }]];
    plant.network.connect(plant.master, false);
    let (_, mut desk) = attach_master(&mut plant.network, 101, groups, Scan::Constant(10));
    plant.start();
    let report = desk.report.newest(|report, _| report.clone());
    assert!(!report.slaves[0].connected && report.slaves[0].end_code == EndCode::WRONG_STATIONS.0);
    let station = plant.machines[0].station;
    let (_, _, packet) = plant.network.seen().into_iter().rev().find(|(_, from, _)| *from == station).unwrap();
    let Packet::Datagram(_, _, payload) = packet else { panic!("it is one") };
    assert_eq!(payload.len(), 203);
}

#[test]
fn a_second_slave_with_the_address_stays_silent_and_says_so() {
    let mut plant = plant(&[&[1]], Scan::Constant(10), |_| {});
    plant.start();
    plant.network.told();
    let twin = attach(&mut plant.network, 55, 1, 1, |_| {});
    plant.network.run(1000 * MS);
    assert!(plant.responses(twin.station).is_empty());
    assert!(plant.counter(twin.station, "silent: slave duplication") >= 99);
    let told = plant.network.told();
    assert!(told.iter().any(|(_, station, line)| *station == twin.station && line.contains("another has the address")));
    assert_eq!(plant.connected(), 1);
}

#[test]
fn the_application_disconnects_for_two_and_a_half_seconds_and_comes_back() {
    let mut plant = plant(&[&[1]], Scan::Constant(10), |_| {});
    plant.start();
    plant.network.seen();
    plant.machines[0].control.wish(Wishes { disconnected: true, ..Wishes::default() });
    plant.network.run(200 * MS);
    let station = plant.machines[0].station;
    let responses = plant.responses(station);
    // The master takes the bit away at the first one, and the slave is silent then.
    assert_eq!(responses.iter().map(|(_, code)| *code).collect::<Vec<_>>(), [EndCode::DISCONNECT.0]);
    assert_eq!(plant.connected(), 0);
    assert_eq!(plant.machines[0].door.outputs().0, 0);
    plant.machines[0].control.wish(Wishes::default());
    plant.network.run(100 * MS);
    assert_eq!(plant.connected(), 1);
}

#[test]
fn a_master_that_does_not_hear_is_told_for_two_and_a_half_seconds() {
    let mut plant = plant(&[&[1]], Scan::Constant(10), |_| {});
    plant.start();
    // A request with the bit on again and again, by a master that does not look at answers.
    let request = plant.network.seen().into_iter().rev().find_map(|(_, station, packet)| match packet {
        Packet::Datagram(_, to, payload) if station == plant.master => Some((to, payload)),
        _ => None,
    });
    let (to, payload) = request.unwrap();
    let deaf = plant.network.attach(mac(101), address(101), Vec::new());
    plant.network.connect(plant.master, false);
    plant.machines[0].control.wish(Wishes { disconnected: true, ..Wishes::default() });
    let began = plant.network.now();
    for _ in 0..400 {
        plant.network.inject(deaf, Packet::Datagram(SocketAddrV4::new(ip(100), CYCLIC_PORT), to, payload.clone()));
        plant.network.run(10 * MS);
    }
    let responses = plant.responses(plant.machines[0].station);
    assert!(responses.iter().all(|(_, code)| *code == EndCode::DISCONNECT.0));
    assert!((249..=251).contains(&responses.len()), "{}", responses.len());
    assert!(responses.last().unwrap().0 - began <= 2510 * MS);
}

#[test]
fn an_application_that_is_gone_is_reported_or_disconnects() {
    let mut plant = plant(&[&[1]], Scan::Constant(10), |settings| settings.application_error = 0x0300);
    plant.start();
    let machine = &mut plant.machines[0];
    machine.show(plant.network.now(), 4);
    plant.network.run(50 * MS);
    plant.machines[0].door.publish(1, false, &filled(1, 4));
    plant.network.run(50 * MS);
    let report = plant.report();
    assert_eq!((report.slaves[0].runs, report.slaves[0].error, report.slaves[0].connected), (false, 0x0300, true));
    assert_eq!(report.rx, [4; 8]);

    let mut plant = self::plant(&[&[1]], Scan::Constant(10), |settings| {
        settings.application_stop = ApplicationStop::Disconnect;
    });
    plant.start();
    assert_eq!(plant.connected(), 1);
    plant.machines[0].door.publish(1, false, &filled(1, 4));
    plant.network.run(50 * MS);
    let report = plant.report();
    assert_eq!((report.slaves[0].connected, report.slaves[0].end_code), (false, EndCode::SLAVE_ERROR.0));
    plant.machines[0].show(plant.network.now(), 4);
    plant.network.run(50 * MS);
    assert_eq!((plant.connected(), plant.report().rx), (1, vec![4; 8]));
}

#[test]
fn outputs_are_as_configured_while_the_master_is_stopped() {
    use weir_io::protocol::cclink::slave::MasterStop::{Hold, Pass, Safe};
    for (stop, state, value) in [(Safe, 0, 0), (Hold, State::VALID, 1), (Pass, State::VALID, 0)] {
        let mut plant = plant(&[&[1]], Scan::Constant(10), |settings| settings.master_stop = stop);
        let order = |plant: &mut Plant, unit: MasterUnit, value: u8| {
            plant.desk.orders.publish(|orders| {
                orders.unit = unit;
                orders.ry.fill(value);
                orders.stopped.fill(false);
            });
            plant.network.run(50 * MS);
        };
        plant.start();
        order(&mut plant, MasterUnit::RUN, 0xFF);
        assert_eq!(plant.machines[0].door.outputs().0, State::VALID | State::RUN);
        for unit in [MasterUnit::STOP, MasterUnit::STOPPED_BY_USER] {
            order(&mut plant, unit, 0);
            let (is, _, outputs) = plant.machines[0].door.outputs();
            assert_eq!((is, outputs[0]), (state, value), "{stop:?}");
            assert_eq!(plant.connected(), 1);
        }
        order(&mut plant, MasterUnit::RUN, 0xFF);
        assert_eq!(plant.machines[0].door.outputs().0, State::VALID | State::RUN);
        assert_eq!(plant.machines[0].door.outputs().2[0], 1);
    }
}

#[test]
fn a_slave_that_the_master_stops_is_silent_and_comes_back() {
    let mut plant = plant(&[&[1, 1]], Scan::Constant(10), |_| {});
    plant.start();
    plant.desk.orders.publish(|orders| orders.stopped[0] = true);
    plant.network.run(100 * MS);
    assert_eq!(plant.connected(), 1);
    let station = plant.machines[0].station;
    assert_eq!(plant.machines[0].door.outputs().0, 0);
    // Lost by its watchdog, 30 ms.
    assert_eq!(plant.counter(station, "masters lost"), 1);
    plant.desk.orders.publish(|orders| orders.stopped[0] = false);
    plant.network.run(100 * MS);
    assert_eq!(plant.connected(), 2);
}

#[test]
fn a_master_with_another_parameter_is_followed() {
    let mut plant = plant(&[&[1]], Scan::Constant(10), |_| {});
    plant.start();
    let station = plant.machines[0].station;
    assert_eq!(plant.counter(station, "masters adopted"), 1);
    // The master is replaced by one with the same address and another parameter: it begins at sequence 0.
    plant.network.connect(plant.master, false);
    let settings = Settings {
        groups: vec![vec![SlaveSettings { ip: ip(9), stations: 3 }, SlaveSettings { ip: ip(1), stations: 1 }]],
        version: 1,
        scan: Scan::Constant(10),
        timeout_count: 300,
        parameter: 9,
        clock_zero_ms: Some(0),
    };
    let (lane, mut desk) = master(settings).unwrap();
    plant.network.attach(mac(103), address(100), vec![Box::new(lane)]);
    plant.network.run(3000 * MS);
    assert_eq!(plant.counter(station, "masters adopted"), 2);
    let report = desk.report.newest(|report, _| report.clone());
    assert_eq!((report.slaves[1].connected, report.slaves[1].station), (true, 4));
    let seen = plant.network.seen();
    let last = seen.iter().rev().find_map(|(_, _, packet)| match packet {
        Packet::Datagram(_, _, payload) => Request::read(payload).ok().map(|request| request.fields()),
        _ => None,
    });
    assert_eq!((last.unwrap().version, last.unwrap().state), (1, 0b1000));
}

fn commission(network: &mut Network, commission: Commission) -> Findings {
    let (lane, mut findings): (_, Consumer<Findings>) = Commissioner::new(commission, 1);
    network.attach(mac(100), address(100), vec![Box::new(lane)]);
    network.run(2100 * MS);
    findings.newest(|findings, _| findings.clone())
}

#[test]
fn a_search_finds_all_each_after_its_delay() {
    let mut plant = plant(&[&[1, 1, 1]], Scan::Constant(10), |_| {});
    plant.network.seen();
    let began = plant.network.now();
    let findings = commission(&mut plant.network, Commission::Search);
    assert_eq!(findings.outcome, Outcome::Done);
    let mut found: Vec<_> = findings.slaves.iter().map(|slave| (slave.mac, slave.address, slave.vendor)).collect();
    found.sort_by_key(|slave| slave.0);
    assert_eq!(found, (1..=3).map(|last| (mac(last), address(last), 0x1234)).collect::<Vec<_>>());
    for (at, station, packet) in plant.network.seen() {
        let Some(n) = plant.machines.iter().position(|machine| machine.station == station) else { continue };
        let Packet::Datagram(_, to, _) = packet else { continue };
        assert_eq!(*to.ip(), Ipv4Addr::BROADCAST);
        assert_eq!(at - began, 20 * US + answer_delay_ms(mac(n as u8 + 1)) * MS);
    }
}

#[test]
fn a_slave_takes_an_address_if_it_may_and_its_owner_agrees() {
    let mut plant = plant(&[&[1]], Scan::Constant(10), |_| {});
    let station = plant.machines[0].station;
    let findings = commission(&mut plant.network, Commission::Set(mac(1), address(77)));
    assert_eq!((findings.outcome, plant.network.address(station)), (Outcome::Done, address(77)));
    // The answer came from the new address.
    let answer = plant.network.seen().into_iter().find_map(|(_, from, packet)| match packet {
        Packet::Datagram(source, to, _) if from == station && to.port() == 61451 => Some(source),
        _ => None,
    });
    assert_eq!(*answer.unwrap().ip(), ip(77));
    // The owner does not agree.
    plant.network.permit_address_changes(station, false);
    let findings = commission(&mut plant.network, Commission::Set(mac(1), address(78)));
    assert_eq!((findings.outcome, plant.network.address(station)), (Outcome::Refused(0xC05C), address(77)));
    // Nobody has that Ethernet address.
    let findings = commission(&mut plant.network, Commission::Set(mac(9), address(78)));
    assert_eq!(findings.outcome, Outcome::Silent);

    let mut plant = self::plant(&[&[1]], Scan::Constant(10), |settings| settings.may_set_address = false);
    let findings = commission(&mut plant.network, Commission::Set(mac(1), address(77)));
    assert_eq!(findings.outcome, Outcome::Refused(0xC05C));
    assert_eq!(plant.network.address(plant.machines[0].station), address(1));
}

#[test]
fn a_master_of_impossible_slaves_gets_a_line() {
    let slave = |last, stations| SlaveSettings { ip: ip(last), stations };
    let cases = [
        (vec![], 10, "at least one group"),
        (vec![vec![slave(1, 17)]], 10, "group 1 has 17 stations: 16 are the most"),
        (vec![vec![slave(1, 1), slave(1, 1)]], 10, "192.168.3.1 is there twice"),
        (vec![vec![slave(1, 0)]], 10, "has no station"),
        (
            vec![vec![slave(1, 16)], vec![slave(2, 16)], vec![slave(3, 16)], vec![slave(4, 16)], vec![slave(5, 1)]],
            10,
            "65 stations",
        ),
        (vec![vec![slave(1, 1)]], 0, "0 ms"),
    ];
    for (groups, ms, expected) in cases {
        let settings = Settings {
            groups,
            version: 2,
            scan: Scan::Constant(ms),
            timeout_count: 3,
            parameter: 1,
            clock_zero_ms: None,
        };
        let error = master(settings).err().unwrap();
        assert!(error.contains(expected), "{error}");
    }
}
