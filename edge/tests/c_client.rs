// SPDX-License-Identifier: Apache-2.0
//! The C client's example program against nodes of the core behind real UDP sockets.

use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use weir_edge::core::auth::SiteKey;
use weir_edge::core::message::Dropped;
use weir_edge::core::node::{Config, Counters, Node, Output};
use weir_edge::core::task::{Exit, TaskId};
use weir_edge::core::time::Instant;

const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const OTHER_KEY: &str = "ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const SUBMIT: u8 = 3;
const RESULT: u8 = 7;
const RESULT_ACK: u8 = 8;
const HOUR_NS: u64 = 3_600_000_000_000;

/// What goes wrong on the way to a node and back.
#[derive(Clone, Copy, Default)]
struct Trouble {
    /// Datagrams of this type get lost.
    lost: Option<u8>,
    /// How long the answers of this node take.
    delay: Duration,
}

/// A node in a thread of its own. It has two programs: `upper` writes its input in capitals, `endless` goes on.
struct Machine {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    /// Types of the datagrams that came and went.
    types: Arc<Mutex<(Vec<u8>, Vec<u8>)>>,
    thread: JoinHandle<Counters>,
}

impl Machine {
    fn start(trouble: Trouble) -> Self {
        let socket = UdpSocket::bind(("127.0.0.1", 0)).expect("a port is free");
        let address = socket.local_addr().expect("it is bound");
        let stop = Arc::new(AtomicBool::new(false));
        let types = Arc::new(Mutex::new((Vec::new(), Vec::new())));
        let thread = std::thread::spawn({
            let (stop, types) = (stop.clone(), types.clone());
            move || Driver::new(socket, trouble).run(&stop, &types)
        });
        Self { address, stop, types, thread }
    }

    fn stop(self) -> (Counters, Vec<u8>, Vec<u8>) {
        self.stop.store(true, Ordering::Relaxed);
        let counters = self.thread.join().expect("the driver does not fail");
        let (came, went) = self.types.lock().expect("the driver does not fail").clone();
        (counters, came, went)
    }
}

struct Driver {
    socket: UdpSocket,
    trouble: Trouble,
    started: std::time::Instant,
    node: Node,
    /// (when it ends, which, what it writes) of the programs that run.
    running: Vec<(Instant, TaskId, Vec<u8>)>,
}

impl Driver {
    fn new(socket: UdpSocket, trouble: Trouble) -> Self {
        let mut config = Config::new(socket.local_addr().expect("it is bound"));
        config.programs = vec!["upper".into(), "endless".into()];
        let key = SiteKey::from_hex(KEY).expect("it is well-formed");
        let seed = u64::from(config.address.port());
        let node = Node::new(config, key, Instant(HOUR_NS), seed);
        Self { socket, trouble, started: std::time::Instant::now(), node, running: Vec::new() }
    }

    /// An hour ahead of the test's clock: nobody relies on clocks that agree.
    fn now(&self) -> Instant {
        Instant(HOUR_NS) + self.started.elapsed()
    }

    fn run(mut self, stop: &AtomicBool, types: &Mutex<(Vec<u8>, Vec<u8>)>) -> Counters {
        let mut datagram = [0; 2048];
        while !stop.load(Ordering::Relaxed) {
            let next = self.running.iter().map(|(at, ..)| *at).min().unwrap_or(Instant::NEVER).min(self.node.timeout());
            let wait = next.since(self.now()).clamp(Duration::from_micros(100), Duration::from_millis(5));
            self.socket.set_read_timeout(Some(wait)).expect("it is not zero");
            if let Ok((length, from)) = self.socket.recv_from(&mut datagram) {
                types.lock().expect("nobody fails with it").0.push(datagram[3]);
                if self.trouble.lost != Some(datagram[3]) {
                    self.node.handle_datagram(self.now(), from, &datagram[..length]);
                }
            }
            let now = self.now();
            self.node.handle_timeout(now);
            let ended: Vec<_> = self.running.extract_if(.., |(at, ..)| *at <= now).collect();
            for (_, id, output) in ended {
                self.node.handle_exit(now, id, Exit::Done, Duration::from_millis(2), output);
            }
            while let Some(output) = self.node.poll() {
                self.carry_out(output, types);
            }
        }
        self.node.counters().clone()
    }

    fn carry_out(&mut self, output: Output, types: &Mutex<(Vec<u8>, Vec<u8>)>) {
        match output {
            Output::Send(to, datagram) if self.trouble.lost != Some(datagram[3]) => {
                types.lock().expect("nobody fails with it").1.push(datagram[3]);
                std::thread::sleep(self.trouble.delay);
                self.socket.send_to(&datagram, to).expect("loopback takes it");
            }
            Output::Start(_, task) if task.program == "upper" => {
                let output = task.payload.to_ascii_uppercase();
                self.running.push((self.now() + Duration::from_millis(2), task.id, output));
            }
            Output::Kill(id) => self.running.retain(|(_, other, _)| *other != id),
            _ => {}
        }
    }
}

/// The example, compiled once, with sanitizers.
static SUBMIT_PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| {
    let out = concat!(env!("CARGO_TARGET_TMPDIR"), "/edge-c");
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/c");
    let sanitizers = "CFLAGS=-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all";
    let made = Command::new("make").args(["-s", "-C", sources, &format!("OUT={out}"), sanitizers, "all"]).output();
    let made = made.expect("make is there");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    PathBuf::from(out).join("submit")
});

/// Runs it; returns what it prints and its exit status.
fn submit(name: &str, key: &str, nodes: &[SocketAddr], arguments: &[&str]) -> (String, i32) {
    let key_file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.key"));
    std::fs::write(&key_file, format!("{key}\n")).expect("the folder is there");
    let nodes = nodes.iter().map(SocketAddr::to_string).collect::<Vec<_>>().join(",");
    let ran = Command::new(&*SUBMIT_PROGRAM).arg(&key_file).arg(nodes).args(arguments).output().expect("it starts");
    assert_eq!(String::from_utf8_lossy(&ran.stderr), "", "{name}");
    (String::from_utf8(ran.stdout).expect("it is text"), ran.status.code().expect("it was not killed"))
}

fn count(types: &[u8], kind: u8) -> usize {
    types.iter().filter(|t| **t == kind).count()
}

#[test]
fn a_task_is_accepted_comes_back_in_time_and_is_acknowledged() {
    let machine = Machine::start(Trouble::default());
    let printed = submit("result", KEY, &[machine.address], &["upper", "20", "1000", "a task"]);
    assert_eq!(printed, (format!("accepted by {}\ndone, in time: A TASK\n", machine.address), 0));
    let (counters, came, went) = machine.stop();
    assert_eq!((counters.submitted, counters.accepted, counters.done), (1, 1, 1));
    assert!(counters.dropped.is_empty(), "{:?}", counters.dropped);
    assert_eq!((count(&went, RESULT), count(&came, RESULT_ACK)), (1, 1));
}

#[test]
fn the_largest_input_and_output_pass() {
    let machine = Machine::start(Trouble::default());
    let input = "x".repeat(1200);
    let (printed, status) = submit("largest", KEY, &[machine.address], &["upper", "20", "1000", &input]);
    assert_eq!(status, 0, "{printed}");
    assert!(printed.ends_with(&format!("done, in time: {}\n", "X".repeat(1200))));
    machine.stop();
}

#[test]
fn what_cannot_be_done_is_rejected_with_the_reason() {
    let machine = Machine::start(Trouble::default());
    let nodes = [machine.address];
    assert_eq!(submit("program", KEY, &nodes, &["lower", "20", "1000"]), ("no program\n".into(), 1));
    assert_eq!(submit("time", KEY, &nodes, &["upper", "20", "20"]), ("no time\n".into(), 1));
    assert_eq!(machine.stop().0.refused, 2);
}

#[test]
fn a_program_that_exceeds_its_worst_case_is_reported() {
    let machine = Machine::start(Trouble::default());
    let printed = submit("overrun", KEY, &[machine.address], &["endless", "20", "1000"]);
    assert_eq!(printed, (format!("accepted by {}\noverrun, in time: \n", machine.address), 1));
    machine.stop();
}

#[test]
fn the_next_node_does_what_the_nearest_does_not_answer_to() {
    let silent = Machine::start(Trouble { lost: Some(SUBMIT), ..Trouble::default() });
    let farther = Machine::start(Trouble { delay: Duration::from_millis(5), ..Trouble::default() });
    let nodes = [farther.address, silent.address];
    let (printed, status) = submit("next", KEY, &nodes, &["upper", "20", "1000", "again"]);
    let expected = format!("given up: {}\naccepted by {}\ndone, in time: AGAIN\n", silent.address, farther.address);
    assert_eq!((printed, status), (expected, 0));
    assert_eq!(count(&silent.stop().1, SUBMIT), 2);
    farther.stop();
}

#[test]
fn an_accepted_task_that_does_not_come_back_is_lost() {
    let machine = Machine::start(Trouble { lost: Some(RESULT), ..Trouble::default() });
    let printed = submit("lost", KEY, &[machine.address], &["upper", "20", "300"]);
    assert_eq!(printed, (format!("accepted by {}\nlost\n", machine.address), 1));
    machine.stop();
}

#[test]
fn with_another_key_there_is_nobody() {
    let machine = Machine::start(Trouble::default());
    let printed = submit("key", OTHER_KEY, &[machine.address], &["upper", "20", "1000"]);
    assert_eq!(printed, ("no node answers\n".into(), 1));
    let (counters, came, went) = machine.stop();
    assert_eq!((counters.received, went.len()), (0, 0));
    assert!(counters.dropped[&Dropped::Forged] as usize == came.len() && came.len() >= 2, "{came:?}");
}
