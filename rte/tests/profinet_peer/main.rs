// SPDX-License-Identifier: Apache-2.0
//! profinet-py, a controller from a package, in a process and a network namespace of its own, against the device.
//!
//! `WEIR_PROFINET_LIVES=1000 cargo test --release -p weir-io --test profinet_peer -- --nocapture` for a thousand
//! connections in a row at each cycle; `WEIR_PROFINET_CAPTURE=/tmp` keeps what was on the wire there, by dumpcap.

#[path = "../common/mod.rs"]
mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use weir_io::application::endpoint::{Door, Endpoint};
use weir_io::application::memory::{Memory, Plan};
use weir_io::configuration::Configuration;
use weir_io::fitting::interface::Interface;
use weir_io::fitting::running;
use weir_io::fitting::system::now;
use weir_io::protocol::Lane;
use weir_io::protocol::profinet::device::Device;
use weir_io::protocol::profinet::device::handle::{Alarm, Handle};
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

/// The application: inputs are what the outputs were, and a write of record 124 is a reason for an alarm.
fn echo(mut door: Door, handle: &Handle, stop: &AtomicBool) {
    let mut asked = None;
    while !stop.load(Ordering::Relaxed) {
        let image = door.outputs().2.to_vec();
        door.publish(now(), true, &image);
        let record = handle.record((1, 1), 124);
        if record != asked {
            asked = record;
            handle.raise(Alarm::Process { place: (1, 1), structure: 1, data: vec![1] }).unwrap();
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The device, until `stop`; answers its counters and how many controllers were told of.
fn device(stop: &Arc<AtomicBool>) -> Vec<(String, Vec<(&'static str, u64)>)> {
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
    let Device { acyclic, cyclic, handle } = Device::new(model, endpoint, points.safe.clone(), side);
    let lanes: Vec<Box<dyn Lane>> = vec![Box::new(cyclic), Box::new(acyclic), Box::new(discovery)];
    let running = running::start(&interface, interface.address(), lanes).unwrap();
    let application = {
        let (handle, stop) = (handle.clone(), stop.clone());
        std::thread::spawn(move || echo(door, &handle, &stop))
    };
    while !stop.load(Ordering::Relaxed) {
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
    let stop = Arc::new(AtomicBool::new(false));
    let running = {
        let stop = stop.clone();
        std::thread::spawn(move || device_host.run(move || device(&stop)))
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
    stop.store(true, Ordering::Relaxed);
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
