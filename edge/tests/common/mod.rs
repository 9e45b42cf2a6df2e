// SPDX-License-Identifier: Apache-2.0
//! A site of real processes on loopback ports that the operating system chooses.

#![allow(dead_code, reason = "each test uses its part")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tempfile::TempDir;

pub const WEIR_EDGE: &str = env!("CARGO_BIN_EXE_weir-edge");

/// How long anything may take that takes milliseconds: the machine may be busy with something else.
pub const LONG: Duration = Duration::from_secs(20);

/// A folder with a key.
pub struct Site {
    pub folder: TempDir,
}

impl Site {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let site = Self { folder };
        site.make_key("site.key");
        site
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn make_key(&self, name: &str) {
        let key = Command::new(WEIR_EDGE).arg("key").output().unwrap();
        std::fs::write(self.path(name), key.stdout).unwrap();
    }

    /// Starts a node with these lines in its file, besides those that all have.
    pub fn node(&self, lines: &str) -> Machine {
        self.machine("node", lines)
    }

    /// Ordinary priorities: a real-time job that takes a whole CPU would keep it from the tests.
    pub fn machine(&self, role: &str, lines: &str) -> Machine {
        let common = "address = \"127.0.0.1:0\"\nmetrics = \"127.0.0.1:0\"\nkey_file = \"site.key\"\n\
                      real_time_priority = 0\nlog = \"debug\"\n";
        let file = self.path(&format!("{}.toml", rand::random::<u64>()));
        std::fs::write(&file, format!("{common}{lines}")).unwrap();
        Machine::start(role, &file)
    }

    pub fn submit(&self, node: &Machine, arguments: &[&str]) -> Output {
        let mut command = Command::new(WEIR_EDGE);
        command.args(["submit", "--node", &node.address.to_string(), "--key"]).arg(self.path("site.key"));
        command.args(arguments).output().unwrap()
    }

    pub fn client(&self, nodes: &[&Machine]) -> weir_edge::client::Client {
        let key = weir_edge::client::read_key(&self.path("site.key")).unwrap();
        let nodes: Vec<SocketAddr> = nodes.iter().map(|node| node.address).collect();
        weir_edge::client::Client::connect(&nodes, key).unwrap()
    }
}

/// A process of `weir-edge node`, `scheduler` or `worker`.
pub struct Machine {
    pub child: Child,
    pub address: SocketAddr,
    pub metrics: SocketAddr,
    log: Arc<Mutex<Vec<String>>>,
}

impl Machine {
    pub fn start(role: &str, file: &Path) -> Self {
        let mut command = Command::new(WEIR_EDGE);
        command.arg(role).arg(file).stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let log = Arc::new(Mutex::new(Vec::new()));
        let lines = Arc::clone(&log);
        std::thread::spawn(move || stderr.lines().for_each(|line| lines.lock().unwrap().push(line.unwrap())));
        let nowhere = SocketAddr::from(([0, 0, 0, 0], 0));
        let mut machine = Self { child, address: nowhere, metrics: nowhere, log };
        machine.address = field(&machine.wait_for("event=listening"), "address").parse().unwrap();
        machine.metrics = field(&machine.wait_for("event=metrics"), "address").parse().unwrap();
        machine
    }

    pub fn logged(&self, what: &str) -> Option<String> {
        self.log.lock().unwrap().iter().find(|line| line.contains(what)).cloned()
    }

    /// The first line of its log that has this in it.
    pub fn wait_for(&self, what: &str) -> String {
        let mut found = None;
        eventually(&format!("{what} in the log"), || {
            found = self.logged(what);
            found.is_some()
        });
        found.unwrap()
    }

    /// One value of its metrics; 0 if it is not there.
    pub fn metric(&self, name: &str) -> f64 {
        let text = get(self.metrics, "/metrics");
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.map_or(0.0, |value| value.parse().unwrap())
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    pub fn wait(&mut self) -> ExitStatus {
        let mut status = None;
        eventually("the end of the machine", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What an HTTP GET brings, with its head.
pub fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

pub fn field(line: &str, name: &str) -> String {
    let (_, rest) = line.split_once(&format!(" {name}=")).unwrap_or_else(|| panic!("no {name} in {line}"));
    rest.split(' ').next().unwrap().to_owned()
}

/// Waits until something is true.
pub fn eventually(what: &str, mut is_true: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_true() {
        assert!(began.elapsed() < LONG, "waited in vain for: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A process's state as the kernel has it: R runs, S waits, T is stopped, Z is a zombie; none if it is gone.
pub fn state(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Whether a process is there, and no zombie.
pub fn is_alive(pid: u32) -> bool {
    state(pid).is_some_and(|state| state != 'Z')
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The number after the last occurrence of some words.
pub fn number(text: &str, before: &str) -> u64 {
    let (_, rest) = text.rsplit_once(before).unwrap_or_else(|| panic!("no {before:?} in {text}"));
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_else(|_| panic!("no number after {before:?} in {text}"))
}
