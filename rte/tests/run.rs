// SPDX-License-Identifier: Apache-2.0
//! `weir-io run` on a real network: a process for each protocol, what becomes of the others and of the outputs when one
//! is killed, the one owner of the address.

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use common::{Host, pair};
use rustix::process::{Pid, Signal, kill_process};
use weir_io::application::connection::Connection;
use weir_io::application::memory::Memory;
use weir_io::fitting::interface::Interface;
use weir_io::fitting::system::now;
use weir_io::protocol::cclink::wire::cyclic::{EndCode, MasterUnit, RequestFields, Response};
use weir_io::protocol::cclink::wire::slmp;
use weir_io::protocol::{Address, Mac};

const CONFIGURATION: &str = r#"
[device]
name = "press"
interface = "rte0"

[application]
memory = "press.memory"
outputs_stale_after_ms = 60000

[fitting]
state = "state"
cpu = "any"

[inputs]
door_closed = "bool"

[outputs]
lamp = { type = "bool", safe = true }
speed = { type = "u16", safe = "hold" }
valve = "bool"
fan = "bool"

[[cclink]]
vendor = 0x1234
model = 1
ry = ["lamp"]
rww = ["speed"]
rx = ["door_closed"]
set_address = true

[[cclink]]
name = "packer"
address = "192.168.3.21/24"
vendor = 0x1234
model = 1
ry = ["valve"]

[modbus]
coils = ["fan"]
"#;

const DEVICE: Ipv4Addr = Ipv4Addr::new(192, 168, 3, 20);
const PACKER: Ipv4Addr = Ipv4Addr::new(192, 168, 3, 21);
const PLC: Ipv4Addr = Ipv4Addr::new(192, 168, 3, 1);
const SECOND: Duration = Duration::from_secs(1);

/// A device that runs, and what it says.
struct Device {
    child: Child,
    lines: Receiver<String>,
    folder: PathBuf,
}

impl Device {
    fn start(host: &Host, folder: &Path, configuration: &str) -> Self {
        let file = folder.join("press.toml");
        fs::write(&file, configuration).unwrap();
        let mut child = host.run(move || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_weir-io"));
            command.arg("run").arg(file).stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        });
        let (said, lines) = channel();
        let errors = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn(move || errors.lines().map_while(Result::ok).try_for_each(|line| said.send(line)));
        Self { child, lines, folder: folder.to_owned() }
    }

    /// Waits until it says something with these words in it.
    fn says(&self, words: &str) -> String {
        let until = Instant::now() + 10 * SECOND;
        let mut heard = Vec::new();
        while let Ok(line) = self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            if line.contains(words) {
                return line;
            }
            heard.push(line);
        }
        panic!("it does not say \"{words}\", but {heard:#?}");
    }

    fn application(&self) -> Connection {
        let path = self.folder.join("press.memory");
        let until = Instant::now() + 10 * SECOND;
        while Memory::open(&path).is_err() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
        Connection::open(&path).unwrap()
    }

    /// The process of a protocol.
    fn process(&self, protocol: &str) -> Pid {
        let parent = self.child.id();
        let is_it = |pid: i32| {
            let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let is_child =
                status.rsplit(')').next().and_then(|rest| rest.split(' ').nth(2)?.parse().ok()) == Some(parent);
            is_child && line.split(|byte| *byte == 0).any(|word| word == protocol.as_bytes())
        };
        let until = Instant::now() + 5 * SECOND;
        while Instant::now() < until {
            if let Some(pid) = processes().find(|pid| is_it(*pid)) {
                return Pid::from_raw(pid).unwrap();
            }
            // It may be about to become itself.
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("{protocol} does not run: {:#?}", self.lines.try_iter().collect::<Vec<_>>())
    }

    fn stop(mut self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        self.says("stopped; all outputs are safe");
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The numbers of all processes.
fn processes() -> impl Iterator<Item = i32> {
    fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// A simple master of one slave.
struct Master {
    socket: UdpSocket,
    slave: Ipv4Addr,
    sequence: u16,
    parameter: u16,
}

impl Master {
    fn new(slave: Ipv4Addr) -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        socket.set_broadcast(true).unwrap();
        socket.set_read_timeout(Some(SECOND)).unwrap();
        Self { socket, slave, sequence: 0, parameter: 7 }
    }

    /// One request; how long the response took, if it was a good one.
    fn exchange(&mut self, lamp: bool, speed: u16) -> Option<Duration> {
        let fields = RequestFields {
            version: 2,
            unit: MasterUnit::RUN,
            clock_ms: 0,
            master: PLC,
            group: if self.slave == DEVICE { 1 } else { 2 },
            sequence: self.sequence,
            timeout_ms: 500,
            timeout_count: 3,
            parameter: self.parameter,
            state: u16::from(self.sequence != 0),
        };
        let (mut rww, mut ry) = ([0; 64], [0; 8]);
        rww[..2].copy_from_slice(&speed.to_le_bytes());
        ry[0] = u8::from(lamp);
        let mut buffer = [0; 2048];
        let bytes = fields.write(&[self.slave], &rww, &ry, &mut buffer);
        let sent = Instant::now();
        self.socket.send_to(&buffer[..bytes], "192.168.3.255:61450").unwrap();
        loop {
            let (bytes, from) = self.socket.recv_from(&mut buffer).ok()?;
            let response = Response::read(&buffer[..bytes]).unwrap().fields();
            if response.sequence == self.sequence {
                assert_eq!(from, SocketAddrV4::new(self.slave, 61_450).into());
                self.sequence = self.sequence.checked_add(1).unwrap_or(1);
                return (response.end_code == EndCode::GOOD).then(|| sent.elapsed());
            }
        }
    }

    /// Begins again until it is answered.
    fn connect(&mut self) {
        let until = Instant::now() + 10 * SECOND;
        loop {
            self.sequence = 0;
            self.parameter += 1;
            if (0..3).all(|_| self.exchange(true, 0).is_some()) {
                return;
            }
            assert!(Instant::now() < until, "no answer from {}", self.slave);
        }
    }
}

fn refreshed(application: &mut Connection, output: &str) -> (bool, f64) {
    application.refresh(now());
    let output = application.output(output).unwrap();
    (application.is_valid(output), application.get(output))
}

/// Waits until an output is so.
fn becomes(application: &mut Connection, output: &str, wanted: (bool, f64)) -> Duration {
    let begin = Instant::now();
    while refreshed(application, output) != wanted {
        assert!(begin.elapsed() < 5 * SECOND, "{output} is {:?}", refreshed(application, output));
        std::thread::sleep(Duration::from_millis(1));
    }
    begin.elapsed()
}

/// Writes the coil `fan`, over a new connection.
fn write_coil() -> std::io::Result<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&SocketAddrV4::new(DEVICE, 502).into(), SECOND)?;
    stream.set_read_timeout(Some(SECOND))?;
    stream.write_all(&[0, 1, 0, 0, 0, 6, 1, 5, 0, 0, 0xff, 0])?;
    stream.read_exact(&mut [0; 12])?;
    Ok(stream)
}

#[test]
fn one_that_is_killed_disturbs_no_other_and_its_outputs_are_safe() {
    let Some((host, plc)) = pair() else { return };
    let folder = tempfile::tempdir().unwrap();
    let device = Device::start(&host, folder.path(), CONFIGURATION);
    device.says("press at rte0");
    let mut application = device.application();
    let modbus = device.process("modbus");
    let (longest, missed) = plc.run(move || {
        let (mut one, mut other) = (Master::new(DEVICE), Master::new(PACKER));
        one.connect();
        other.connect();
        let _stream = (0..100).find_map(|_| write_coil().ok()).unwrap();
        let (mut longest, mut missed) = (Duration::ZERO, 0);
        for cycle in 0..600 {
            if cycle == 200 {
                kill_process(modbus, Signal::KILL).unwrap();
            }
            for answer in [one.exchange(false, 1234), other.exchange(true, 0)] {
                answer.map_or_else(|| missed += 1, |took| longest = longest.max(took));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        (longest, missed)
    });
    println!("1200 responses of two slaves, {missed} missed, the longest after {longest:?}");
    assert_eq!(missed, 0, "the longest after {longest:?}");
    device.says("modbus: killed by signal 9; its outputs are safe; again in 100ms");
    assert_eq!(refreshed(&mut application, "fan"), (false, 0.0));
    assert_eq!(refreshed(&mut application, "lamp").1, 0.0);
    assert_eq!(refreshed(&mut application, "valve").1, 1.0);

    kill_process(device.process("cclink"), Signal::KILL).unwrap();
    let lamp = becomes(&mut application, "lamp", (false, 1.0));
    println!("outputs safe {lamp:?} after the process was killed");
    assert_eq!(refreshed(&mut application, "speed"), (false, 1234.0), "it is held");
    plc.run(|| {
        Master::new(DEVICE).connect();
        drop((0..100).find_map(|_| write_coil().ok()).expect("modbus runs again"));
    });
    becomes(&mut application, "lamp", (true, 1.0));
    device.stop();
    assert_eq!(refreshed(&mut application, "lamp"), (false, 1.0));
    assert_eq!(refreshed(&mut application, "speed"), (false, 0.0));
}

#[test]
fn children_end_with_outputs_safe_when_the_supervisor_is_killed() {
    let Some((host, plc)) = pair() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut device = Device::start(&host, folder.path(), CONFIGURATION);
    device.says("press at rte0");
    let mut application = device.application();
    plc.run(|| {
        let mut master = Master::new(DEVICE);
        master.connect();
        master.exchange(false, 77).unwrap();
    });
    assert_eq!(refreshed(&mut application, "lamp"), (true, 0.0));
    let process = device.process("cclink");
    device.child.kill().unwrap();
    becomes(&mut application, "lamp", (false, 1.0));
    let begin = Instant::now();
    while rustix::process::test_kill_process(process).is_ok() {
        assert!(begin.elapsed() < 5 * SECOND, "it runs on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn address_of(host: &Host) -> Address {
    host.run(|| Interface::open("rte0").unwrap().address())
}

#[test]
fn an_address_that_a_master_sets_is_the_interfaces_and_stays_after_a_restart() {
    let Some((host, plc)) = pair() else { return };
    let folder = tempfile::tempdir().unwrap();
    let wanted =
        Address { ip: Ipv4Addr::new(192, 168, 3, 99), mask: [255, 255, 255, 0].into(), gateway: [0; 4].into() };
    plc.ip("route add 255.255.255.255/32 dev rte0");
    let device = Device::start(&host, folder.path(), CONFIGURATION);
    device.says("press at rte0");
    let answer = plc.run(move || {
        Master::new(DEVICE).connect();
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 61_451)).unwrap();
        socket.set_broadcast(true).unwrap();
        socket.set_read_timeout(Some(SECOND)).unwrap();
        let asker = slmp::Asker { mac: Mac([2, 0, 0, 0, 0, 1]), ip: PLC };
        let command = slmp::Command::AddressSet(Mac([2, 0, 0, 0, 0, 0x14]), wanted);
        let mut buffer = [0; 2048];
        let bytes = slmp::Request { serial: 5, asker, command }.write(&mut buffer);
        socket.send_to(&buffer[..bytes], (Ipv4Addr::BROADCAST, 61_451)).unwrap();
        loop {
            let (bytes, from) = socket.recv_from(&mut buffer).expect("an answer");
            // The second slave has the same Ethernet address, and refuses.
            if let Ok(response) = slmp::Response::read(&buffer[..bytes])
                && from.ip() != PACKER
            {
                return (from.ip(), response.answer);
            }
        }
    });
    assert_eq!(answer, (wanted.ip.into(), slmp::Answer::Set(Mac([2, 0, 0, 0, 0, 1]))));
    device.says("cclink: rte0 has the address 192.168.3.99 now, as somebody on the network wanted");
    assert_eq!((address_of(&host).ip, address_of(&host).mask), (wanted.ip, wanted.mask));
    plc.run(|| Master::new(PACKER).connect());
    device.stop();

    host.ip("address flush dev rte0");
    let device = Device::start(&host, folder.path(), CONFIGURATION);
    device.says("rte0 has the address 192.168.3.99 now");
    plc.run(move || Master::new(wanted.ip).connect());
    // An operator who changes it by hand is believed, too.
    host.ip("address del 192.168.3.99/24 dev rte0");
    host.ip("address add 192.168.3.50/24 dev rte0");
    device.says("rte0 has the address 192.168.3.50 now");
    plc.run(|| Master::new(Ipv4Addr::new(192, 168, 3, 50)).connect());
    device.stop();
}

#[test]
fn what_cannot_run_is_told_in_one_line() {
    let Some((host, _plc)) = pair() else { return };
    let folder = tempfile::tempdir().unwrap();
    for (from, to, says) in [
        ("\"rte0\"", "\"eth7\"", "weir-io: there is no interface \"eth7\"; there are: rte0"),
        ("[fitting]", "[fitting]\nruntime_us = 5000", "runtime_us = 5000 does not fit into its cycle of 1000 us"),
        ("memory = \"press.memory\"", "memory = \"none/press\"", "[application] memory = … names another"),
    ] {
        let mut device = Device::start(&host, folder.path(), &CONFIGURATION.replace(from, to));
        device.says(says);
        assert!(!device.child.wait().unwrap().success());
    }
}

#[test]
fn lanes_that_have_nothing_to_do_rest() {
    let Some((host, plc)) = pair() else { return };
    let folder = tempfile::tempdir().unwrap();
    let device = Device::start(&host, folder.path(), CONFIGURATION);
    device.says("press at rte0");
    plc.run(|| Master::new(DEVICE).connect());
    device.says("is lost");
    std::thread::sleep(SECOND);
    kill_process(Pid::from_child(&device.child), Signal::USR1).unwrap();
    let line = device.says("cclink cyclic: exchanged 2");
    let rounds = line.split_once("driver rounds ").and_then(|(_, rest)| rest.split(',').next()?.parse::<u64>().ok());
    // Three requests, the watchdog, what the user asked for; a second has room for a hundred thousand.
    assert!(rounds.is_some_and(|rounds| rounds < 100), "{line}");
    device.stop();
}
