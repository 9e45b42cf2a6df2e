// SPDX-License-Identifier: Apache-2.0
//! `weir-io run` with PROFINET, and tools at the other end of a cable: ours, and pnio-dcp as a commissioning tool.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::{Host, pair};
use rustix::process::{Pid, Signal, kill_process};

const STATION: &str = "02:00:00:00:00:14";

fn configuration(folder: &Path) -> PathBuf {
    let text = format!(
        "[device]\nname = \"press\"\ninterface = \"rte0\"\n\
         [application]\nmemory = \"memory\"\n[fitting]\nstate = \"{}\"\n\
         [inputs]\nwarm = \"bool\"\ntemperature = \"i16\"\n[outputs]\nspeed = \"u16\"\n\
         [profinet]\nstation = \"press-3\"\nvendor_id = 0x0493\ndevice_id = 2\ncycle_min_us = 1000\n\
         [[profinet.module]]\nslot = 1\nident = 0x32\nname = \"Press\"\n\
         [[profinet.module.submodule]]\nident = 0x132\ninputs = [\"warm\", \"temperature\"]\noutputs = [\"speed\"]\n\
         records = [{{ index = 123, name = \"gain\", bytes = 4 }}]\n",
        folder.display()
    );
    let file = folder.join("device.toml");
    std::fs::write(&file, text).unwrap();
    file
}

/// A process that ends with the test.
struct Ended(Child);

impl Ended {
    fn end(&mut self, signal: Signal) {
        if let Ok(None) = self.0.try_wait() {
            let _ = kill_process(Pid::from_child(&self.0), signal);
            let _ = self.0.wait();
        }
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        self.end(Signal::TERM);
    }
}

fn start(host: &Host, mut command: Command) -> Ended {
    command.stderr(Stdio::null());
    Ended(host.run(move || command.spawn().unwrap()))
}

fn output(host: &Host, mut command: Command) -> Output {
    host.run(move || command.output().unwrap())
}

/// What `weir-io` prints at a host, or complains of.
fn weir_io(host: &Host, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir-io"));
    command.args(arguments);
    let output = output(host, command);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

fn start_device(host: &Host, file: &Path) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir-io"));
    command.arg("run").arg(file);
    start(host, command)
}

fn stations(tools: &Host) -> String {
    weir_io(tools, &["dcp", "--interface", "rte0", "identify"]).unwrap()
}

/// Waits until the device is there under that name.
fn wait_for(tools: &Host, name: &str) {
    let begin = Instant::now();
    while !stations(tools).lines().any(|line| line.starts_with(STATION) && line.ends_with(name)) {
        assert!(begin.elapsed() < Duration::from_secs(60), "{name} is not there");
    }
}

/// Begins to capture what the tools' host sees, if there is tshark here.
fn capture(tools: &Host, file: &Path) -> Option<Ended> {
    if Command::new("tshark").arg("--version").output().is_err() {
        eprintln!("skipped: a capture that tshark looks at: there is no tshark");
        return None;
    }
    let mut command = Command::new("tshark");
    command.args(["-q", "-i", "rte0", "-w"]).arg(file).stdout(Stdio::null());
    let capture = start(tools, command);
    let begin = Instant::now();
    while std::fs::metadata(file).map_or(0, |metadata| metadata.len()) == 0 {
        assert!(begin.elapsed() < Duration::from_secs(60), "tshark does not begin");
        std::thread::sleep(Duration::from_millis(100));
    }
    Some(capture)
}

/// Frames of a capture that a filter of tshark's lets pass.
fn count(file: &Path, filter: &str) -> usize {
    let output = Command::new("tshark").arg("-r").arg(file).args(["-Y", filter]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).lines().count()
}

#[test]
fn a_device_is_found_named_addressed_and_driven() {
    let Some((device, tools)) = pair() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = configuration(folder.path());
    let mut running = start_device(&device, &file);
    wait_for(&tools, "press-3");
    let pcap = folder.path().join("tools.pcap");
    let capture = capture(&tools, &pcap);
    let dcp = |arguments: &[&str]| weir_io(&tools, &[&["dcp", "--interface", "rte0"], arguments].concat());
    assert_eq!(dcp(&["set-name", STATION, "press-4"]), Ok("done\n".into()));
    assert_eq!(dcp(&["set-ip", STATION, "192.168.3.50/24"]), Ok("done\n".into()));
    assert_eq!(dcp(&["blink", STATION]), Ok("done\n".into()));
    let refused = dcp(&["set-ip", STATION, "192.168.3.255/24"]).unwrap_err();
    assert_eq!(refused, "weir-io: not done: the device does not accept this value\n");
    assert!(stations(&tools).contains("192.168.3.50"), "{}", stations(&tools));
    // What was set for good is there after a restart.
    running.end(Signal::TERM);
    drop(running);
    let _running = start_device(&device, &file);
    wait_for(&tools, "press-4");
    assert!(stations(&tools).contains("192.168.3.50"), "{}", stations(&tools));
    // A controller, by the name that the device has now.
    let file = file.to_str().unwrap();
    let controller = [
        &["profinet-controller", file, "--interface", "rte0", "--station", "press-4", "--cycle-us", "8000"][..],
        &["--seconds", "2", "--write", "1/1/123=01020304", "--read", "1/1/123", "--read", "0/1/0xaff0"],
        &["--parameter", "1/1/123=00000000", "--watchdog", "100"],
    ]
    .concat();
    let said = weir_io(&tools, &controller).unwrap();
    for line in ["Data", "record 0x007b is written", "record 0x007b: 01020304", "record 0xaff0: 0020", "Released"] {
        assert!(said.lines().any(|said| said.starts_with(line)), "{line} is not in:\n{said}");
    }
    if let Some(mut capture) = capture {
        std::thread::sleep(Duration::from_secs(6));
        capture.end(Signal::INT);
        assert!(count(&pcap, "pn_dcp") > 10 && count(&pcap, "lldp") > 1 && count(&pcap, "pn_io") > 100);
        assert_eq!(count(&pcap, "_ws.malformed or _ws.expert.severity == error"), 0);
    }
}

#[test]
fn a_commissioning_tool_finds_what_it_expects() {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../build/venv/bin/python");
    if !python.exists() {
        eprintln!("skipped: there is no build/venv with pnio-dcp: run tools/setup");
        return;
    }
    let Some((device, tools)) = pair() else { return };
    let folder = tempfile::tempdir().unwrap();
    let _running = start_device(&device, &configuration(folder.path()));
    wait_for(&tools, "press-3");
    let mut command = Command::new(python);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/dcp_tool.py");
    command.arg("-B").arg(script).args(["192.168.3.1", STATION]);
    let output = output(&tools, command);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let expected = [
        &format!("found {STATION} press-3 192.168.3.20 Weir I/O"),
        "named True golden-dev",
        "identified golden-dev",
        "addressed True",
        "address 192.168.3.60",
        "broadcast address False",
        "blinked True",
        "reset True '' 0.0.0.0",
    ];
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().collect::<Vec<_>>(), expected);
}
