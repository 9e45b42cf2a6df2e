// SPDX-License-Identifier: Apache-2.0
//! What outsiders send: damaged captures and noise. Nothing panics, every datagram is counted once, and none gets more
//! than one answer.
//!
//! Runs for a second; `WEIR_FUZZ_SECONDS=3600 cargo test --release -p weir-io --test cclink hostile` for an hour.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::{Duration, Instant};

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weir_io::protocol::cclink::master::{Commission, Commissioner, Scan, Settings, SlaveSettings, master};
use weir_io::protocol::cclink::wire::cyclic::{REQUEST_BYTES_MAX, RESPONSE_BYTES_MAX, Request, Response};
use weir_io::protocol::cclink::wire::slmp;
use weir_io::protocol::cclink::{CYCLIC_PORT, Identity};
use weir_io::protocol::{Lane, Nanos, Received, Source};

use super::captures::{ALL, read};
use super::device::{Device, Sent};
use super::network::{MS, address, mac};

fn seconds() -> Duration {
    let text = std::env::var("WEIR_FUZZ_SECONDS").ok();
    Duration::from_secs(text.map_or(1, |text| text.parse().expect("WEIR_FUZZ_SECONDS is a number of seconds")))
}

/// Captured datagrams, some damaged, and noise.
struct Fire {
    rng: ChaCha8Rng,
    originals: Vec<Vec<u8>>,
}

impl Fire {
    fn new(seed: u64) -> Self {
        let originals = ALL.iter().flat_map(|(name, _)| read(name)).map(|datagram| datagram.payload);
        Self { rng: ChaCha8Rng::seed_from_u64(seed), originals: originals.collect() }
    }

    fn next(&mut self) -> Vec<u8> {
        let rng = &mut self.rng;
        if rng.random_bool(0.05) {
            let mut noise = vec![0; rng.random_range(0..1500)];
            rng.fill_bytes(&mut noise);
            return noise;
        }
        let mut bytes = self.originals[rng.random_range(0..self.originals.len())].clone();
        for _ in 0..rng.random_range(0..4) {
            let at = rng.random_range(0..bytes.len().max(1));
            match rng.random_range(0..5) {
                0 => bytes.truncate(at),
                1 => bytes.extend((0..rng.random_range(1..200)).map(|_| rng.random::<u8>())),
                2 if at < bytes.len() => bytes[at] ^= 1 << rng.random_range(0..8),
                // The header, where the fields are that decide.
                3 if bytes.len() > 80 => bytes[rng.random_range(0..80)] = rng.random_range(0..4),
                _ if at < bytes.len() => bytes[at] = rng.random(),
                _ => {}
            }
        }
        bytes
    }
}

#[test]
fn hostile_bytes_decode_to_what_they_encode_to_or_not_at_all() {
    let mut fire = Fire::new(1);
    let (began, mut count, mut decoded) = (Instant::now(), 0_u64, 0_u64);
    while began.elapsed() < seconds() {
        let bytes = fire.next();
        count += 1;
        if let Ok(request) = Request::read(&bytes) {
            let slaves: Vec<_> = (0..request.stations()).map(|n| request.slave(n).unwrap()).collect();
            let mut buffer = [0; REQUEST_BYTES_MAX];
            let length = request.fields().write(&slaves, request.rww(), request.ry(), &mut buffer);
            let again = Request::read(&buffer[..length]).unwrap();
            assert_eq!((again.fields(), again.rww(), again.ry()), (request.fields(), request.rww(), request.ry()));
            decoded += 1;
        }
        if let Ok(response) = Response::read(&bytes) {
            let mut buffer = [0; RESPONSE_BYTES_MAX];
            let length = response.fields().write(response.stations(), &mut buffer);
            assert_eq!(Response::read(&buffer[..length]).unwrap().fields(), response.fields());
            assert_eq!(response.rwr().len() + response.rx().len(), 72 * response.stations());
            decoded += 1;
        }
        let mut buffer = [0; slmp::BYTES_MAX];
        if let Ok(request) = slmp::Request::read(&bytes) {
            let length = request.write(&mut buffer);
            assert_eq!(slmp::Request::read(&buffer[..length]), Ok(request));
            decoded += 1;
        }
        if let Ok(response) = slmp::Response::read(&bytes) {
            let length = response.write(&mut buffer);
            assert_eq!(slmp::Response::read(&buffer[..length]), Ok(response));
            decoded += 1;
        }
    }
    println!("{count} datagrams, {decoded} decoded");
    assert!(decoded > 0);
}

/// Shoots at a lane; answers how many datagrams it got and how many it sent.
fn shoot(lane: &mut dyn Lane, fire: &mut Fire, answers_max: usize) -> (u64, u64) {
    let mut now: Nanos = MS;
    let (began, mut count, mut answers) = (Instant::now(), 0, 0);
    while began.elapsed() < seconds() {
        let bytes = fire.next();
        let from =
            SocketAddrV4::new(Ipv4Addr::new(192, 168, 3, [1, 100, 101][fire.rng.random_range(0..3)]), CYCLIC_PORT);
        let mut sent = Sent::default();
        lane.receive(now, Received { port: 0, from: Source::Udp(from), bytes: &bytes }, &mut sent);
        assert!(sent.datagrams.len() <= answers_max, "{} answers", sent.datagrams.len());
        count += 1;
        answers += sent.datagrams.len() as u64;
        let pause = if fire.rng.random_bool(0.01) { 2000 } else { 2 };
        now += fire.rng.random_range(0..pause * MS);
        while let Some(due) = lane.due().filter(|due| *due <= now) {
            lane.run(due.max(now), &mut Sent::default());
            assert!(lane.due().is_none_or(|next| next > now), "{} does not move on at {due}", lane.name());
        }
    }
    (count, answers)
}

fn sum(lane: &dyn Lane, without: &[&str]) -> u64 {
    lane.counters().iter().filter(|(name, _)| !without.contains(name)).map(|(_, count)| count).sum()
}

#[test]
fn a_slave_under_hostile_fire_counts_every_datagram_once() {
    let mut fire = Fire::new(2);
    let identity = Identity { vendor: 1, model: 2, equipment_version: 3 };
    let mut device = Device::new(1, identity, |_| {});
    for lane in &mut device.lanes {
        lane.address_changed(0, mac(1), address(1), &mut Sent::default());
    }
    let (count, answers) = shoot(device.lanes[0].as_mut(), &mut fire, 1);
    let cyclic = device.lanes[0].as_ref();
    assert_eq!(sum(cyclic, &["masters adopted", "masters lost"]), count);
    println!("{count} datagrams, {answers} answers, {:?}", cyclic.counters());
    assert!(cyclic.counters().iter().any(|(name, count)| *name == "exchanged" && *count > 0));
    shoot(device.lanes[1].as_mut(), &mut fire, 1);
}

#[test]
fn a_master_under_hostile_fire_goes_on() {
    let mut fire = Fire::new(3);
    let settings = Settings {
        groups: vec![vec![SlaveSettings { ip: Ipv4Addr::new(192, 168, 3, 1), stations: 1 }]],
        version: 2,
        scan: Scan::Fast(500),
        timeout_count: 3,
        parameter: 1,
        clock_zero_ms: None,
    };
    let (mut lane, _desk) = master(settings).unwrap();
    lane.address_changed(0, mac(100), address(100), &mut Sent::default());
    // Listening ends before the first shot: otherwise a captured request of a foreign master silences it.
    lane.run(2500 * MS, &mut Sent::default());
    shoot(&mut lane, &mut fire, 1);
    let (mut lane, _findings) = Commissioner::new(Commission::Search, 0);
    lane.address_changed(0, mac(100), address(100), &mut Sent::default());
    shoot(&mut lane, &mut fire, 0);
}
