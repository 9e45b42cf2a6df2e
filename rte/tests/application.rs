// SPDX-License-Identifier: Apache-2.0
//! Applications in C that are processes of their own, over `rte/c`.

mod programs;

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use programs::{every_type, fill, only, wide};
use proptest::prelude::*;
use weir_io::application::connection::Connection;
use weir_io::application::description::Description;
use weir_io::application::endpoint::{Endpoint, Safe};
use weir_io::application::memory::Memory;

const SANITIZED: &[&str] = &["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
const FAST: &[&str] = &["-O2"];
const SECOND: u64 = 1_000_000_000;

struct Bench {
    folder: tempfile::TempDir,
    exercise: PathBuf,
}

impl Bench {
    fn new(flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let exercise = programs::compile(folder.path(), "exercise", &["c/weir_io.c", "c/tests/exercise.c"], flags);
        Self { folder, exercise }
    }

    fn memory(&self) -> PathBuf {
        self.folder.path().join("memory")
    }

    fn start(&self, what: &str, arguments: &[&str]) -> Child {
        let mut command = Command::new(&self.exercise);
        command.arg(what).arg(self.memory()).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.spawn().unwrap()
    }

    fn run(&self, what: &str, arguments: &[&str]) -> (i32, String) {
        let output = self.start(what, arguments).wait_with_output().unwrap();
        (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// Nanoseconds of `CLOCK_MONOTONIC`, as in the stamps.
fn now() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * SECOND + now.tv_nsec as u64
}

fn lines(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok)
}

#[test]
fn c_sees_every_type_by_name_and_sets_them() {
    let bench = Bench::new(SANITIZED);
    let mut device = Description { inputs: every_type(), ..Description::default() };
    for (name, point) in every_type().points() {
        device.outputs.add(&format!("{name}_out"), point.kind);
        device.owners.insert(format!("{name}_out"), 1);
    }
    device.endpoints = vec!["profinet".into(), "modbus".into()];
    device.safe = Safe { values: vec![0x81; device.outputs.bytes()], replaced: vec![true; device.outputs.bytes()] };
    device.outputs_stale_after = 60 * SECOND;
    let memory = Memory::create(&bench.memory(), &device).unwrap();
    let mut endpoint = Endpoint::new(&memory, 1, device.safe.clone(), SECOND, now());
    let of = |name: &str, value: &str| format!("output a_{name}_out {value}\n");
    let told = |state: u32, rest: String| {
        let inputs = "input a_bool 0\ninput a_f32 7\ninput a_i16 4\ninput a_i32 6\n";
        let more = "input a_i8 2\ninput a_u16 3\ninput a_u32 5\ninput a_u8 1\n";
        (0, format!("protocol profinet 0\nprotocol modbus {state}\n{inputs}{more}{rest}"))
    };
    let safe = of("bool", "0 0 1") + &of("f32", "7 0 -4.757294501e-38") + &of("i16", "4 0 -32383");
    let safe = safe + &of("i32", "6 0 -2122219135") + &of("i8", "2 0 -127") + &of("u16", "3 0 33153");
    let safe = safe + &of("u32", "5 0 2172748161") + &of("u8", "1 0 129");
    assert_eq!(bench.run("points", &[]), told(0, safe));
    endpoint.outputs(now(), true, |image| image.fill(0));
    assert!(bench.run("points", &[]).1.contains("protocol modbus 3\n"));

    let pairs = "a_bool 1 a_bool 2 a_u8 255 a_u8 256 a_i8 -128 a_u16 65535 a_u16 -1 a_i16 -32768 a_u32 4294967295 \
                 a_i32 -2147483648 a_i32 2147483648 a_f32 0.1 a_u8 1.5 a_u8 nan none 1 a_u8_out 1";
    let pairs: Vec<_> = pairs.split(' ').collect();
    let mut child = bench.start("set", &pairs);
    let said: Vec<_> = lines(&mut child).take(pairs.len() / 2 + 1).collect();
    let refused = said.iter().filter(|line| line.ends_with("refused")).count();
    assert_eq!((refused, said.last().unwrap().as_str()), (8, "published"));
    let (image, good) = endpoint.inputs(now());
    assert!(good);
    for (name, bytes) in [
        ("a_bool", &[1][..]),
        ("a_u8", &255_u8.to_ne_bytes()),
        ("a_i8", &(-128_i8).to_ne_bytes()),
        ("a_u16", &65535_u16.to_ne_bytes()),
        ("a_i16", &(-32768_i16).to_ne_bytes()),
        ("a_u32", &u32::MAX.to_ne_bytes()),
        ("a_i32", &i32::MIN.to_ne_bytes()),
        ("a_f32", &0.1_f32.to_ne_bytes()),
    ] {
        let offset = device.inputs.get(name).unwrap().offset;
        assert_eq!(&image[offset..offset + bytes.len()], bytes, "{name}");
    }
    assert_eq!(memory.application(), Some(child.id()));
    let taken = (3, format!("another application has the memory: {}\n", child.id()));
    assert_eq!(bench.run("points", &[]), taken);
    assert!(Connection::open(&bench.memory()).unwrap_err().to_string().ends_with(&child.id().to_string()));
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert_eq!(memory.application(), None);
}

#[test]
fn c_is_told_that_a_protocol_hangs() {
    let bench = Bench::new(SANITIZED);
    let mut device = wide();
    device.outputs_stale_after = 50_000_000;
    let memory = Memory::create(&bench.memory(), &device).unwrap();
    let mut endpoint = Endpoint::new(&memory, 0, device.safe.clone(), SECOND, now());
    endpoint.outputs(now() + 60 * SECOND, true, |image| fill(image, 7));
    assert!(bench.run("points", &[]).1.contains("output out_0 5 1 7\n"));
    endpoint.outputs(now() - 50_000_001, true, |image| fill(image, 7));
    assert!(bench.run("points", &[]).1.contains("output out_0 5 0 0\n"));
}

/// C writes and Rust reads, then the other way round: two processes, millions of images.
#[test]
fn no_image_is_torn_between_c_and_rust() {
    for (flags, count) in [(SANITIZED, 500_000), (FAST, 3_000_000_u32)] {
        let bench = Bench::new(flags);
        let device = wide();
        let memory = Memory::create(&bench.memory(), &device).unwrap();
        let mut endpoint = Endpoint::new(&memory, 0, device.safe.clone(), SECOND, now());
        let mut child = bench.start("write", &["1", &count.to_string()]);
        let mut before = 0;
        while before < count {
            let value = only(endpoint.inputs(now()).0);
            assert!(value >= before, "{value} after {before}");
            before = value;
        }
        assert!(child.wait().unwrap().success());
        let mut child = bench.start("read", &[&count.to_string()]);
        for value in 1..=count {
            endpoint.outputs(now(), true, |image| fill(image, value));
        }
        // It is stale for the reader after a second, should that have slept.
        while child.try_wait().unwrap().is_none() {
            endpoint.outputs(now(), true, |image| fill(image, count));
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut said = String::new();
        child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(child.wait().unwrap().success(), "{said}");
    }
}

#[test]
fn an_application_that_is_killed_at_any_moment_tears_nothing_and_comes_back() {
    let bench = Bench::new(FAST);
    let device = wide();
    let memory = Memory::create(&bench.memory(), &device).unwrap();
    let mut endpoint = Endpoint::new(&memory, 0, device.safe.clone(), 200_000_000, now());
    for round in 0_u32..100 {
        let from = round * 10_000_000 + 1;
        let mut child = bench.start("write", &[&from.to_string(), "0"]);
        let wait = Instant::now();
        while only(endpoint.inputs(now()).0) < from {
            assert!(wait.elapsed() < Duration::from_secs(20), "round {round}: nothing of what it publishes comes");
        }
        let until = Instant::now() + Duration::from_micros(u64::from(round * 7919 % 5_000));
        let mut before = from;
        while Instant::now() < until {
            let value = only(endpoint.inputs(now()).0);
            assert!(value >= before, "{value} after {before}");
            before = value;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(only(endpoint.inputs(now()).0) >= before);
        assert!(memory.inputs(0).is_sound());
    }
    assert!(endpoint.inputs(now()).1);
    assert!(!endpoint.inputs(now() + 200_000_001).1, "its inputs are stale");
}

/// Runs an application over a file that is damaged, under sanitizers.
fn read_damaged(bench: &Bench, good: &[u8], damage: &[(usize, u8)]) -> i32 {
    let mut bytes = good.to_vec();
    for (at, value) in damage {
        bytes[at % good.len()] = *value;
    }
    std::fs::write(bench.memory(), bytes).unwrap();
    bench.run("points", &[]).0
}

#[test]
fn c_takes_no_harm_from_a_damaged_file() {
    let bench = Bench::new(SANITIZED);
    Memory::create(&bench.memory(), &wide()).unwrap();
    let good = std::fs::read(bench.memory()).unwrap();
    assert_eq!(read_damaged(&bench, &good, &[]), 0);
    assert_eq!(read_damaged(&bench, &good, &[(0, 1)]), 3);
    // The header, the rotation's words, the records, or anywhere.
    let records = good.len() - 129 * 64;
    let at = prop_oneof![0..44_usize, Just(64), Just(64 + 64 + 3 * 320), records..good.len(), 0..good.len()];
    let config = ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(damage in prop::collection::vec((at, any::<u8>()), 1..4))| {
        let code = read_damaged(&bench, &good, &damage);
        prop_assert!(code == 0 || code == 3, "exit {code}");
        let read = Connection::open(Path::new(&bench.memory()));
        if let Ok(mut read) = read {
            read.refresh(now());
            read.publish(now(), true);
        }
    });
}
