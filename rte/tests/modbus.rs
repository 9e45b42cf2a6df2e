// SPDX-License-Identifier: Apache-2.0
//! `weir-io run` with Modbus/TCP, and pymodbus as the PLC at the other end of a cable.

mod common;

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{Host, pair};
use rustix::process::{Pid, Signal, kill_process};
use weir_io::application::connection::Connection;
use weir_io::application::endpoint::State;

/// 2,000 coils and 125 holding registers, of which number 123 is a gap.
fn configuration(folder: &Path) -> PathBuf {
    let coils: Vec<_> = (0..2_000).map(|n| format!("coil_{n}")).collect();
    let registers: Vec<_> = (0..125).filter(|n| *n != 123).map(|n| format!("register_{n}")).collect();
    let mut text = format!(
        "[device]\nname = \"press\"\ninterface = \"rte0\"\n\
         [application]\nmemory = \"memory\"\noutputs_stale_after_ms = 1000\n\
         [fitting]\nstate = \"{}\"\n\
         [modbus]\nwatchdog_ms = 700\n\
         discrete_inputs = [\"door\", \"cover\"]\ninput_registers = [\"small\", \"real\", \"word\"]\n\
         coils = {coils:?}\n\
         holding_registers = [{:?}, {{ point = \"register_124\", address = 124 }}]\n\
         [inputs]\ndoor = \"bool\"\ncover = \"bool\"\nsmall = \"i8\"\nreal = \"f32\"\nword = \"u16\"\n[outputs]\n",
        folder.display(),
        registers[..123].iter().map(String::as_str).collect::<Vec<_>>().join("\", \""),
    );
    text = text.replace("\\\"", "\"");
    coils.iter().for_each(|name| writeln!(text, "{name} = \"bool\"").unwrap());
    registers.iter().for_each(|name| writeln!(text, "{name} = {{ type = \"u16\", safe = 9 }}").unwrap());
    let file = folder.join("device.toml");
    std::fs::write(&file, text).unwrap();
    file
}

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
            let _ = self.0.wait();
        }
    }
}

fn python() -> Option<PathBuf> {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../build/venv/bin/python");
    if !python.exists() {
        eprintln!("skipped: there is no build/venv with pymodbus: run tools/setup");
        return None;
    }
    Some(python)
}

fn start_device(host: &Host, file: &Path) -> Ended {
    let file = file.to_owned();
    Ended(host.run(move || Command::new(env!("CARGO_BIN_EXE_weir-io")).arg("run").arg(file).spawn().unwrap()))
}

fn client(host: &Host, python: &Path, what: &'static str) -> Ended {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/modbus_client.py");
    let mut command = Command::new(python);
    command.arg("-B").arg(script).arg(what).arg("192.168.3.20").stdout(Stdio::piped()).stdin(Stdio::piped());
    // Those that hold are cut off, and say so at length.
    if what == "hold" {
        command.stderr(Stdio::null());
    }
    Ended(host.run(move || command.spawn().unwrap()))
}

fn first_line(child: &mut Ended) -> String {
    let mut line = String::new();
    BufReader::new(child.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    line
}

fn now() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// An application that publishes good inputs every 10 ms.
struct Application(Connection);

impl Application {
    fn open(memory: &Path) -> Self {
        let until = Instant::now() + Duration::from_secs(10);
        let mut this = loop {
            match Connection::open(memory) {
                Ok(connection) => break Self(connection),
                Err(error) => assert!(Instant::now() < until, "{error}"),
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        for (name, value) in [("door", 1.0), ("small", -2.0), ("real", 1.5), ("word", 4660.0)] {
            let input = this.0.input(name).unwrap();
            assert!(this.0.set(input, value));
        }
        this
    }

    fn cycle(&mut self) {
        self.0.publish(now(), true);
        self.0.refresh(now());
        std::thread::sleep(Duration::from_millis(10));
    }

    /// Runs until something holds. Answers how long that took.
    fn until(&mut self, what: &str, holds: impl Fn(&Connection) -> bool) -> Duration {
        let began = Instant::now();
        while !holds(&self.0) {
            assert!(began.elapsed() < Duration::from_secs(20), "{what} does not come");
            self.cycle();
        }
        began.elapsed()
    }
}

fn is_written(connection: &Connection) -> bool {
    let output = connection.output("register_0").unwrap();
    connection.get(output) == 4321.0 && connection.state(0) == State::VALID | State::RUN
}

fn is_safe(connection: &Connection) -> bool {
    let output = connection.output("register_0").unwrap();
    connection.get(output) == 9.0 && connection.state(0) == 0
}

fn children(of: u32) -> Vec<i32> {
    let list = std::fs::read_to_string(format!("/proc/{of}/task/{of}/children")).unwrap_or_default();
    list.split_whitespace().map(|process| process.parse().unwrap()).collect()
}

fn signal(process: i32, signal: Signal) {
    kill_process(Pid::from_raw(process).unwrap(), signal).unwrap();
}

#[test]
fn pymodbus_reads_and_writes_and_outputs_are_safe_when_it_is_gone() {
    let (Some(python), Some((device, plc))) = (python(), pair()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let running = start_device(&device, &configuration(folder.path()));
    let mut application = Application::open(&folder.path().join("memory"));
    application.until("the server", |_| children(running.0.id()).len() == 1);
    for _ in 0..30 {
        application.cycle();
    }

    let mut functions = client(&plc, &python, "functions");
    while functions.0.try_wait().unwrap().is_none() {
        application.cycle();
    }
    assert_eq!(first_line(&mut functions), "right\n");
    application.until("the end of its connections", |connection| connection.state(0) == 0);

    // It is closed, silent, killed, hangs; and comes back each time.
    let mut holding = client(&plc, &python, "hold");
    application.until("what it writes", is_written);
    holding.0.kill().unwrap();
    application.until("the closed connection's end", is_safe);

    let holding = client(&plc, &python, "hold");
    application.until("what it writes", is_written);
    signal(holding.0.id().cast_signed(), Signal::STOP);
    let silent = application.until("the silent client's end", is_safe);
    assert!(silent >= Duration::from_millis(500), "its watchdog is 700 ms, and it was {silent:?}");
    signal(holding.0.id().cast_signed(), Signal::KILL);

    let _holding = client(&plc, &python, "hold");
    application.until("what it writes", is_written);
    let server = children(running.0.id())[0];
    signal(server, Signal::KILL);
    application.until("the killed server's end", is_safe);
    application.until("another server", |_| children(running.0.id()).iter().any(|process| *process != server));
    for _ in 0..30 {
        application.cycle();
    }

    let holding = client(&plc, &python, "hold");
    application.until("what it writes", is_written);
    let server = children(running.0.id())[0];
    signal(server, Signal::STOP);
    application.until("the hanging server's end", is_safe);
    signal(server, Signal::CONT);
    drop(holding);
    drop(running);
    application.until("the end of all", is_safe);
}
