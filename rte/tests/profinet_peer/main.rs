// SPDX-License-Identifier: Apache-2.0
//! profinet-py, a controller from a package, in a process and a network namespace of its own, against the device.
//!
//! `WEIR_PROFINET_LIVES=1000 cargo test --release -p weir-io --test profinet_peer -- --nocapture` for a thousand
//! connections in a row at each cycle; `WEIR_PROFINET_CAPTURE=/tmp` keeps what was on the wire there, by dumpcap.

#[path = "../common/mod.rs"]
mod common;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::{Duration, Instant};

use weir_io::application::endpoint::{Door, Endpoint, State};
use weir_io::application::memory::{Memory, Plan};
use weir_io::configuration::Configuration;
use weir_io::fitting::interface::Interface;
use weir_io::fitting::requests::{self, RequestSocket};
use weir_io::fitting::running;
use weir_io::fitting::system::now;
use weir_io::protocol::Lane;
use weir_io::protocol::profinet::device::Device;
use weir_io::protocol::profinet::device::handle::Handle;
use weir_io::protocol::profinet::discovery::{Discovery, Settings};
use weir_io::protocol::profinet::station::{Station, sides};

/// A byte and two words, each way; the inputs are what the outputs were.
const CONFIGURATION: &str = r#"[device]
name = "echo"
interface = "rte0"
[inputs]
a = "u8"
b = "u32"
c = "u32"
[outputs]
d = { type = "u8", safe = 9 }
e = "u32"
f = "u32"
[profinet]
station = "echo"
vendor_id = 0x0493
device_id = 0x0002
order = "4711"
[[profinet.module]]
slot = 1
ident = 0x32
name = "byte"
[[profinet.module.submodule]]
ident = 0x132
inputs = ["a"]
outputs = ["d"]
records = [{ index = 123, name = "gain", bytes = 4 }, { index = 124, name = "alarm", bytes = 4 }]
[[profinet.module]]
slot = 2
ident = 0x40
name = "words"
[[profinet.module.submodule]]
ident = 0x140
inputs = ["b", "c"]
outputs = ["e", "f"]
"#;

/// The Python that has profinet-py.
fn python() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../build/venv/bin/python");
    let python = std::env::var_os("WEIR_PROFINET_PYTHON").map_or(folder, PathBuf::from);
    let has = Command::new(&python).args(["-c", "import profinet"]).stderr(Stdio::null()).status();
    if has.is_ok_and(|status| status.success()) {
        return Some(python);
    }
    eprintln!("skipped: {} has no profinet-py: run tools/setup", python.display());
    None
}

/// What the test and the device's threads tell each other.
#[derive(Default)]
struct Seen {
    stop: AtomicBool,
    are_outputs_valid: AtomicBool,
    /// The first output.
    byte: AtomicU8,
}

/// The application: inputs are what the outputs were, and a write of record 124 is a reason for an alarm.
fn echo(mut door: Door, handle: &Handle, requests: &Path, seen: &Seen) {
    let mut asked = None;
    while !seen.stop.load(Ordering::Relaxed) {
        let (state, _, image) = door.outputs();
        let image = image.to_vec();
        seen.are_outputs_valid.store(state & State::VALID != 0, Ordering::Relaxed);
        seen.byte.store(image[0], Ordering::Relaxed);
        door.publish(now(), true, &image);
        let record = handle.record((1, 1), 124);
        if record != asked {
            asked = record;
            requests::send(requests, "process 1 1 1 01").unwrap();
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The device, until it is stopped; answers its counters.
fn device(seen: &Arc<Seen>) -> Vec<(String, Vec<(&'static str, u64)>)> {
    let configuration = Configuration::parse(CONFIGURATION, Path::new("echo.toml")).unwrap();
    let points = &configuration.points;
    let plan = Plan { inputs: points.inputs.bytes(), outputs: points.outputs.bytes(), endpoints: 1 };
    let memory = Memory::anonymous(plan).unwrap();
    let endpoint = Endpoint::new(&memory, 0, points.safe.clone(), 1_000_000_000, now());
    let door = Door::new(&memory, 0);
    let model = configuration.profinet.clone().unwrap();
    let interface = Interface::open("rte0").unwrap();
    let (discovery, side) = sides(Station::default());
    let store = std::collections::BTreeMap::new();
    let discovery = Discovery::new(Settings::new(&model, interface.index), discovery, Box::new(store));
    let Device { mut acyclic, cyclic, handle } = Device::new(model, endpoint, points.safe.clone(), side);
    let folder = tempfile::tempdir().unwrap();
    let path = requests::path(&folder.path().join("memory"));
    acyclic.listen_to(Box::new(RequestSocket::new(path.clone())));
    let lanes: Vec<Box<dyn Lane>> = vec![Box::new(cyclic), Box::new(acyclic), Box::new(discovery)];
    let running = running::start(&interface, interface.address(), lanes).unwrap();
    let application = {
        let (handle, seen) = (handle.clone(), seen.clone());
        std::thread::spawn(move || echo(door, &handle, &path, &seen))
    };
    while !seen.stop.load(Ordering::Relaxed) {
        let _ = running.event(Duration::from_millis(50));
    }
    application.join().unwrap();
    let counters = running.counters();
    running.stop();
    counters
}

fn lives(ratio: u32) {
    let Some(python) = python() else { return };
    let Some((device_host, plc)) = common::pair() else { return };
    let lives = std::env::var("WEIR_PROFINET_LIVES").map_or(2, |text| text.parse().expect("a number of connections"));
    let capture = std::env::var_os("WEIR_PROFINET_CAPTURE").map(PathBuf::from);
    let seen = Arc::new(Seen::default());
    let running = {
        let seen = seen.clone();
        std::thread::spawn(move || device_host.run(move || device(&seen)))
    };
    let output = plc.run(move || {
        let mut dumpcap = capture.map(|folder| {
            let file = folder.join(format!("profinet-{ratio}.pcap"));
            let mut command = Command::new("dumpcap");
            command.args(["-q", "-P", "-i", "rte0", "-w"]).arg(file).stderr(Stdio::null()).spawn().expect("dumpcap")
        });
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/profinet_peer/controller.py");
        let mut command = Command::new(python);
        let output = command.arg(script).args(["rte0", "echo", &ratio.to_string(), &lives.to_string()]).output();
        if let Some(dumpcap) = &mut dumpcap {
            let _ = dumpcap.kill();
            let _ = dumpcap.wait();
        }
        output.unwrap()
    });
    seen.stop.store(true, Ordering::Relaxed);
    let counters = running.join().unwrap();
    let (said, complained) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("cycle {ratio} ms: {said}{counters:?}");
    let complained: Vec<_> = complained.lines().collect();
    let last = &complained[complained.len().saturating_sub(20)..];
    assert!(output.status.success(), "{said}{}\n{counters:?}", last.join("\n"));
    let count = |name: &str| {
        let all = counters.iter().flat_map(|(_, counters)| counters);
        all.filter(|(other, _)| *other == name).map(|(_, count)| count).sum::<u64>()
    };
    assert_eq!((count("connections"), count("connections released")), (lives, lives));
    assert_eq!(count("alarms answered"), lives);
}

#[test]
fn profinet_py_at_8_ms() {
    lives(8);
}

#[test]
fn profinet_py_at_1_ms() {
    lives(1);
}

#[test]
fn a_killed_controller_is_noticed_and_outputs_are_safe() {
    let Some(python) = python() else { return };
    let Some((device_host, plc)) = common::pair() else { return };
    let seen = Arc::new(Seen::default());
    let running = {
        let seen = seen.clone();
        std::thread::spawn(move || device_host.run(move || device(&seen)))
    };
    let mut controller = plc.run(move || {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/profinet_peer/controller.py");
        let mut command = Command::new(python);
        command.arg(script).args(["rte0", "echo", "8", "0"]).stdout(Stdio::piped()).spawn().unwrap()
    });
    let mut line = String::new();
    BufReader::new(controller.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "connected\n");
    let state = || (seen.are_outputs_valid.load(Ordering::Relaxed), seen.byte.load(Ordering::Relaxed));
    assert_eq!(state(), (true, 1));
    controller.kill().unwrap();
    controller.wait().unwrap();
    let killed = Instant::now();
    // Data is held for 62 cycles of 8 ms.
    while state().0 && killed.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(1));
    }
    println!("outputs were safe {:?} after the kill", killed.elapsed());
    assert_eq!(state(), (false, 9));
    seen.stop.store(true, Ordering::Relaxed);
    running.join().unwrap();
}
