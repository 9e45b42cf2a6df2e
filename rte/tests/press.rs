// SPDX-License-Identifier: Apache-2.0
//! `rte/examples/press`: the application in C, in Python and as a plug-in, and a PLC that presses with each.

mod common;
mod programs;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use common::{Host, pair};
use rustix::process::{Pid, Signal, kill_process};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/press");

/// Ends a process by SIGTERM, however the test ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
        let _ = self.0.wait();
    }
}

/// A Modbus client of as much as a PLC needs.
struct Plc(TcpStream);

impl Plc {
    fn connect(host: &Host) -> Self {
        let until = Instant::now() + Duration::from_secs(10);
        loop {
            match host.run(|| TcpStream::connect("192.168.3.20:502")) {
                Ok(stream) => {
                    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
                    return Self(stream);
                }
                Err(error) => assert!(Instant::now() < until, "{error}"),
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn ask(&mut self, function: u8, address: u16, value: u16) -> Vec<u8> {
        let [[a, b], [c, d]] = [address.to_be_bytes(), value.to_be_bytes()];
        self.0.write_all(&[0, 1, 0, 0, 0, 6, 1, function, a, b, c, d]).unwrap();
        let mut header = [0; 7];
        self.0.read_exact(&mut header).unwrap();
        let mut reply = vec![0; usize::from(header[5]) - 1];
        self.0.read_exact(&mut reply).unwrap();
        reply
    }

    fn press(&mut self, close: bool) {
        self.ask(6, 0, 5_000);
        assert_eq!(self.ask(5, 0, if close { 0xff00 } else { 0 })[0], 5);
    }

    /// Position, force and strokes, if the application is there.
    fn inputs(&mut self) -> Option<(i32, f32, u32)> {
        let reply = self.ask(4, 0, 6);
        if reply == [0x84, 4] {
            return None;
        }
        let four = |at: usize| reply[at..at + 4].try_into().unwrap();
        Some((i32::from_be_bytes(four(2)), f32::from_be_bytes(four(6)), u32::from_be_bytes(four(10))))
    }

    fn until(&mut self, what: &str, holds: impl Fn(Option<(i32, f32, u32)>) -> bool) {
        let began = Instant::now();
        loop {
            let inputs = self.inputs();
            if holds(inputs) {
                return;
            }
            assert!(began.elapsed() < Duration::from_secs(20), "{what} does not come, but {inputs:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Presses once: down to the force's limit, and up again.
    fn stroke(&mut self, number: u32) {
        self.press(true);
        let at_limit = |force: f32| (5_000.0..=10_000.0).contains(&force);
        self.until("the force", |it| it.is_some_and(|(_, force, strokes)| at_limit(force) && strokes == number));
        self.press(false);
        self.until("the open position", |it| it.is_some_and(|(position, force, _)| position == 0 && force == 0.0));
    }
}

fn device(host: &Host, folder: &Path, plugin: Option<&Path>) -> Running {
    let mut text = std::fs::read_to_string(Path::new(EXAMPLE).join("press.toml")).unwrap();
    text = text.replace("interface = \"eth0\"", "interface = \"rte0\"");
    text = text.replace("/dev/shm/weir-io-press", folder.join("memory").to_str().unwrap());
    if let Some(plugin) = plugin {
        text = text.replace("# plugin = \"libpress.so\" ", &format!("plugin = {plugin:?}"));
    }
    let file = folder.join("press.toml");
    std::fs::write(&file, text + &format!("\n[fitting]\nstate = {folder:?}\n")).unwrap();
    Running(host.run(move || Command::new(env!("CARGO_BIN_EXE_weir-io")).arg("run").arg(file).spawn().unwrap()))
}

#[test]
fn programs_in_c_and_in_python_press() {
    let Some((host, plc)) = pair() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (folder, memory) = (folder.path(), folder.path().join("memory"));
    let sources = ["c/weir_io.c", "examples/press/press.c", "examples/press/machine.c"];
    let program = programs::compile(folder, "press", &sources, &["-O2"]);
    let library = programs::compile(folder, "libweir_io.so", &["c/weir_io.c"], &["-O2", "-shared", "-fPIC"]);
    let _device = device(&host, folder, None);
    let mut plc = Plc::connect(&plc);
    let in_c = || {
        let mut command = Command::new(&program);
        command.arg(&memory);
        command
    };
    let in_python = || {
        let mut command = Command::new("python3");
        command.arg("-B").arg(Path::new(EXAMPLE).join("press.py")).arg(&memory);
        command.env("WEIR_IO_LIBRARY", &library);
        command.env("PYTHONPATH", concat!(env!("CARGO_MANIFEST_DIR"), "/python"));
        command
    };
    for round in 0..4 {
        plc.until("the application's end", |inputs| inputs.is_none());
        let mut application = Running(if round % 2 == 0 { in_c() } else { in_python() }.spawn().unwrap());
        plc.stroke(1);
        plc.stroke(2);
        // There is one application, and whoever comes second is told which.
        for mut second in [in_c(), in_python()] {
            let output = second.output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!output.status.success() && said.contains("another application has the memory"), "{said}");
        }
        if round < 2 {
            application.0.kill().unwrap();
        }
    }
}

#[test]
fn a_plug_in_presses_and_its_crash_leaves_the_plc_s_connection_alone() {
    let Some((host, plc)) = pair() else { return };
    let folder = tempfile::tempdir().unwrap();
    let sources = ["examples/press/press_plugin.c", "examples/press/machine.c"];
    let library = programs::compile(folder.path(), "libpress.so", &sources, &["-O2", "-shared", "-fPIC"]);
    let device = device(&host, folder.path(), Some(&library));
    let mut plc = Plc::connect(&plc);
    plc.stroke(1);
    for signal in [Signal::ABORT, Signal::KILL] {
        let children = format!("/proc/{0}/task/{0}/children", device.0.id());
        let children = std::fs::read_to_string(children).unwrap();
        let plugin = children.split_whitespace().find(|process| {
            std::fs::read_to_string(format!("/proc/{process}/cmdline")).unwrap().contains("\0plugin\0")
        });
        kill_process(Pid::from_raw(plugin.unwrap().parse().unwrap()).unwrap(), signal).unwrap();
        plc.until("the plug-in's end", |inputs| inputs.is_none());
        assert_eq!(plc.ask(3, 0, 1), [3, 2, 0x13, 0x88], "the same connection goes on, its outputs stay");
        plc.stroke(1);
    }
}
