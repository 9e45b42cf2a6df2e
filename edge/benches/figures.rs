// SPDX-License-Identifier: Apache-2.0
//! Figures of real machines: `cargo bench -p weir-edge`, or with `-- decision` only what needs no other program.
//! Printed, with what is asked of them beside; nothing is asserted.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rustix::process::{WaitId, WaitIdOptions, waitid};
use weir_edge::client::{Client, Outcome, Task, read_key};
use weir_edge::core;
use weir_edge::core::queue::{Costs, Job as QueuedJob, Queue, Strategy, choose};
use weir_edge::core::task::TaskId;
use weir_edge::machine::clock::Clock;
use weir_edge::machine::job::Job;
use weir_edge::machine::spawn::{Place, Program, set_fifo};

const WEIR_EDGE: &str = env!("CARGO_BIN_EXE_weir-edge");
const MS: fn(u64) -> Duration = Duration::from_millis;

fn main() {
    for workers in [4, 1_000] {
        decision(workers);
    }
    if std::env::args().any(|argument| argument == "decision") {
        return;
    }
    // Below what runs, above everything else: as a machine has it. The bench itself stands for another machine.
    for priority in [None, Some(50)] {
        if let Some(priority) = priority
            && let Err(error) = set_fifo(None, priority + 10)
        {
            println!("SCHED_FIFO: {error}: not measured with it");
            return;
        }
        stop(priority);
        accept(priority);
    }
}

fn label(what: &str, priority: Option<u8>) -> String {
    format!("{what}, {}", if priority.is_some() { "SCHED_FIFO" } else { "ordinary priority" })
}

fn print(what: &str, mut took: Vec<Duration>, asked: &str) {
    took.sort();
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e6;
    println!(
        "{what:<52} n {:>6}  p50 {:>8.1}  p99 {:>8.1}  p99.9 {:>8.1}  max {:>8.1} us   ({asked})",
        took.len(),
        at(0.5),
        at(0.99),
        at(0.999),
        at(1.0)
    );
}

/// Which of the workers takes a task: five jobs in each queue, the task random.
fn decision(workers: usize) {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let now = core::time::Instant(1_000_000_000);
    let mut job = |number| {
        let wcet = MS(rng.random_range(5..100));
        let deadline = now + wcet + MS(rng.random_range(100..1_000));
        QueuedJob { id: TaskId { client: 1, number }, deadline, wcet }
    };
    let mut queues: Vec<Queue> = (0..workers).map(|_| Queue::new(1, Costs::default())).collect();
    for queue in &mut queues {
        for number in 0..5 {
            queue.insert(now, job(number));
        }
    }
    let took = (0..20_000).map(|number| {
        let job = job(number);
        let began = Instant::now();
        let admitting = queues.iter().enumerate().filter(|(_, queue)| queue.admits(now, &job));
        let chosen = choose(Strategy::WorstFit, admitting.map(|(index, queue)| (index, queue.density(now))));
        std::hint::black_box(chosen);
        began.elapsed()
    });
    let asked = if workers == 4 { "asked: p50 below 5, p99.9 below 50" } else { "asked: below 100" };
    print(&format!("decision, {workers} workers of 5 jobs"), took.collect(), asked);
}

/// From the order to stop a computing program until it stands still.
fn stop(priority: Option<u8>) {
    let program = Program { path: WEIR_EDGE.into(), arguments: vec!["compute".to_owned()] };
    let place = Place { cpu: std::thread::available_parallelism().map_or(0, |cpus| cpus.get() - 1), priority };
    let task = core::task::Task {
        id: TaskId { client: 1, number: 1 },
        attempt: 1,
        client: SocketAddr::from(([127, 0, 0, 1], 1)),
        leave_by: core::time::Instant::NEVER,
        wcet: MS(60_000),
        program: "compute".to_owned(),
        payload: b"60s".to_vec(),
    };
    let clock = Clock::default();
    let mut job = Job::start(clock.now(), &program, &place, &task).expect("our own program starts");
    std::thread::sleep(MS(50));
    let mut took = Vec::new();
    for _ in 0..1_000 {
        let began = Instant::now();
        job.stop(clock.now());
        let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
        while waitid(WaitId::Pid(job.pid()), options).expect("it is our child").is_none() {}
        took.push(began.elapsed());
        job.go_on(clock.now());
        std::thread::sleep(MS(2));
    }
    job.kill();
    job.end(clock.now());
    print(&label("stop a running job", priority), took, "asked: p50 below 50");
}

struct Node {
    child: Child,
    address: SocketAddr,
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn node(folder: &Path, priority: u8) -> Node {
    let key = Command::new(WEIR_EDGE).arg("key").output().expect("it makes a key");
    std::fs::write(folder.join("site.key"), key.stdout).expect("a temporary folder is writable");
    let file = folder.join("node.toml");
    let text = format!(
        "address = \"127.0.0.1:0\"\nkey_file = \"site.key\"\nworkers = 1\nreal_time_priority = {priority}\n\
         [programs]\nit = [\"true\"]\n"
    );
    std::fs::write(&file, text).expect("a temporary folder is writable");
    let mut command = Command::new(WEIR_EDGE);
    let mut child = command.arg("node").arg(&file).stderr(Stdio::piped()).spawn().expect("our own program starts");
    let lines = BufReader::new(child.stderr.take().expect("it is piped")).lines().map_while(Result::ok);
    let mut addresses = lines.filter_map(|line| line.split_once("event=listening address=")?.1.parse().ok());
    let address = addresses.next().expect("it listens");
    Node { child, address }
}

/// From `Client::submit` until the application has the acceptance, through sockets on loopback and both programs' loops.
fn accept(priority: Option<u8>) {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let node = node(folder.path(), priority.unwrap_or(0));
    let key = read_key(&folder.path().join("site.key")).expect("it was just made");
    let client = Client::connect(&[node.address], key).expect("it answers");
    let task = Task::new("it", MS(20), MS(200));
    let mut took = Vec::new();
    for _ in 0..2_000 {
        let began = Instant::now();
        let mut ticket = client.submit(&task);
        if let Some(Outcome::Accepted { .. }) = ticket.next() {
            took.push(began.elapsed());
        }
        ticket.wait();
    }
    print(&label("submit to accept", priority), took, "asked: p50 below 60, p99 below 140; Zenoh 99 and 228");
}
