// SPDX-License-Identifier: Apache-2.0
//! What an application uses to have tasks done by machines nearby.
//!
//! ```no_run
//! use std::time::Duration;
//! use weir_edge::client::{Client, Outcome, Ran, Task, read_key};
//!
//! let key = read_key("site.key".as_ref())?;
//! let client = Client::connect(&["192.168.1.10:7400".parse()?], key)?;
//!
//! // The result is wanted within 300 ms; the program takes at most 100 ms of them.
//! let task = Task::new("resize", Duration::from_millis(100), Duration::from_millis(300)).payload("image 7");
//!
//! // Outcomes one after the other: first whether it is accepted, then what came of it.
//! for outcome in client.submit(&task) {
//!     match outcome {
//!         Outcome::Accepted { holder } => println!("{holder} does it"),
//!         Outcome::Rejected(reason) => println!("nobody does it: {reason}"),
//!         Outcome::Result { output, lateness, .. } => println!("{} bytes, {lateness} ns late", output.len()),
//!         Outcome::Lost => println!("it was accepted and did not come back"),
//!     }
//! }
//!
//! // Or: done nearby if that is in time, else here.
//! match client.run_or_fallback(&task, || resize_coarsely()) {
//!     Ran::Nearby { output, .. } => println!("{} bytes", output.len()),
//!     Ran::Here { result, .. } => println!("{} bytes of our own", result.len()),
//! }
//! # fn resize_coarsely() -> Vec<u8> { Vec::new() }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A client has one thread of its own, which measures the links to the nearest nodes and takes what comes.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

mod shared;

pub use crate::core::auth::SiteKey;
pub use crate::core::client::{Config, Outcome};
pub use crate::core::task::{Exit, Refusal, TaskId};
use shared::Shared;

/// How long [`Client::connect`] waits for an answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// A piece of work to be done by a program on a machine nearby.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    program: String,
    payload: Vec<u8>,
    wcet: Duration,
    budget: Duration,
}

impl Task {
    /// Work for the program of this name. It takes at most `wcet`; the result is wanted within `budget`.
    pub fn new(program: impl Into<String>, wcet: Duration, budget: Duration) -> Self {
        Self { program: program.into(), payload: Vec::new(), wcet, budget }
    }

    /// With this as the program's standard input: at most [`crate::core::message::PAYLOAD_BYTES_MAX`] bytes.
    pub fn payload(mut self, payload: impl Into<Vec<u8>>) -> Self {
        self.payload = payload.into();
        self
    }
}

/// Where a task was done by [`Client::run_or_fallback`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ran<T> {
    /// By a machine nearby.
    Nearby {
        /// What the program wrote.
        output: Vec<u8>,
        /// Completion less deadline, in nanoseconds; not above 0.
        lateness: i64,
    },
    /// By the fallback.
    Here {
        /// What it returned.
        result: T,
        /// Why it was needed.
        why: Outcome,
    },
}

/// A connection to the machines nearby. Can be shared by threads.
#[derive(Debug)]
pub struct Client {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Client {
    /// Connects to the nodes, of IPv4, IPv6 or both; one that answers within two seconds is enough. It learns of others
    /// from it.
    pub fn connect(nodes: &[SocketAddr], key: SiteKey) -> io::Result<Self> {
        Self::connect_with(Config { nodes: nodes.to_vec(), ..Config::default() }, key)
    }

    /// As [`Client::connect`], with all settings.
    pub fn connect_with(config: Config, key: SiteKey) -> io::Result<Self> {
        let nodes: Vec<String> = config.nodes.iter().map(SocketAddr::to_string).collect();
        let shared = Arc::new(Shared::open(config, key)?);
        let (answered, answer) = mpsc::channel();
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("weir-edge".into()).spawn(move || theirs.run(answered))?;
        let client = Self { shared, thread: Some(thread) };
        match answer.recv_timeout(PATIENCE) {
            Ok(()) => Ok(client),
            Err(_) => {
                let what = format!("no node with our key answers at {}", nodes.join(", "));
                Err(io::Error::new(io::ErrorKind::TimedOut, what))
            }
        }
    }

    /// The nodes that answer, nearest first, with their shortest round trip of late.
    pub fn nodes(&self) -> Vec<(SocketAddr, Duration)> {
        self.shared.nodes()
    }

    /// Hands a task to the nearest node.
    pub fn submit(&self, task: &Task) -> Ticket {
        let (sender, outcomes) = mpsc::channel();
        // Nobody listens any more to a ticket that was dropped.
        let id = self.submit_with(task, move |outcome| drop(sender.send(outcome)));
        Ticket { id, outcomes, shared: Arc::clone(&self.shared), over: false }
    }

    /// Hands a task to the nearest node. What becomes of it is told to `listener`, in the client's own thread, or in
    /// this one if it is refused at once: it must not wait for anything.
    pub fn submit_with(&self, task: &Task, listener: impl FnMut(Outcome) + Send + 'static) -> TaskId {
        self.shared.submit(task, Box::new(listener))
    }

    /// Gives a task up: nothing more is heard of it.
    pub fn cancel(&self, id: TaskId) {
        self.shared.cancel(id);
    }

    /// Has a task done nearby, or calls the fallback: at once if it is rejected, when its program fails, and at its
    /// deadline if it is not back by then.
    pub fn run_or_fallback<T>(&self, task: &Task, local: impl FnOnce() -> T) -> Ran<T> {
        let due = std::time::Instant::now() + task.budget;
        let mut ticket = self.submit(task);
        let why = loop {
            match ticket.next_until(due) {
                Some(Outcome::Accepted { .. }) => {}
                Some(Outcome::Result { exit: Exit::Done, output, lateness, .. }) if lateness <= 0 => {
                    return Ran::Nearby { output, lateness };
                }
                Some(other) => break other,
                None => {
                    ticket.cancel();
                    break Outcome::Lost;
                }
            }
        };
        Ran::Here { result: local(), why }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.shared.stop();
        if let Some(thread) = self.thread.take() {
            // It panicked if this fails; that was reported.
            let _ = thread.join();
        }
    }
}

/// A submitted task. Iterates over what becomes of it, and waits for it; the last item is the last word.
#[derive(Debug)]
pub struct Ticket {
    id: TaskId,
    outcomes: mpsc::Receiver<Outcome>,
    shared: Arc<Shared>,
    over: bool,
}

impl Ticket {
    /// The task's name.
    pub fn id(&self) -> TaskId {
        self.id
    }

    /// Waits for the last word: a result, a rejection, or that it was lost.
    pub fn wait(self) -> Outcome {
        self.last().unwrap_or(Outcome::Lost)
    }

    /// Waits for the next word, but not beyond a point in time.
    pub fn next_until(&mut self, due: std::time::Instant) -> Option<Outcome> {
        if self.over {
            return None;
        }
        let left = due.saturating_duration_since(std::time::Instant::now());
        self.outcomes.recv_timeout(left).ok().inspect(|outcome| self.over = is_last(outcome))
    }

    /// Gives the task up: nothing more is heard of it.
    pub fn cancel(&mut self) {
        self.over = true;
        self.shared.cancel(self.id);
    }
}

impl Iterator for Ticket {
    type Item = Outcome;

    fn next(&mut self) -> Option<Outcome> {
        if self.over {
            return None;
        }
        self.outcomes.recv().ok().inspect(|outcome| self.over = is_last(outcome))
    }
}

fn is_last(outcome: &Outcome) -> bool {
    !matches!(outcome, Outcome::Accepted { .. })
}

/// Reads a key file: 64 hexadecimal digits, as `weir-edge key` makes them.
pub fn read_key(path: &Path) -> io::Result<SiteKey> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
    SiteKey::from_hex(&text).map_err(|what| {
        let what = format!("{}: {what}; `weir-edge key` makes one", path.display());
        io::Error::new(io::ErrorKind::InvalidData, what)
    })
}
