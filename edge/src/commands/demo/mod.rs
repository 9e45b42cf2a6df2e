// SPDX-License-Identifier: Apache-2.0
//! `weir-edge demo`: a site on this machine. Nodes, programs, clocks, sockets are real; the link is our relay.

use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use clap::Args;
use rand::RngExt;
use weir_edge::client::{Client, Task, read_key};
use weir_edge::machine::spawn::set_fifo;

use super::{key, table};
use site::Node;
use tally::Tally;

pub mod privileges;
mod relay;
mod site;
mod tally;

const NODES: usize = 3;
const CLIENTS: usize = 10;
/// The link, each way.
const DELAY: Duration = Duration::from_millis(30);
/// Clients and link stand for other machines: no program of this one delays them, if that is permitted.
const PRIORITY: u8 = 60;
/// From one task of a client to its next.
const PAUSE_MS: std::ops::Range<u64> = 300..700;
/// Which of a client's tasks are long ones.
const LONG_EVERY: u64 = 4;
const MS: fn(u64) -> Duration = Duration::from_millis;
/// The longest budget, and what a client waits beyond it.
const DRAIN_MAX: Duration = Duration::from_secs(4);

/// What `demo` is given.
#[derive(Debug, Args)]
pub struct DemoArguments {
    /// For how long clients submit tasks
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u64).range(2..=3600))]
    seconds: u64,
}

/// Plays it and tells how it went.
pub fn run(arguments: &DemoArguments) -> ExitCode {
    match play(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn play(arguments: &DemoArguments) -> Result<(), String> {
    let real_time = set_fifo(None, PRIORITY);
    let folder = Folder::new()?;
    key::write(&folder.0.join("site.key"))?;
    let mut nodes: Vec<Node> = Vec::new();
    for index in 0..NODES {
        let seed = nodes.first().map(|node| node.address);
        nodes.push(Node::start(&folder.0, index, seed)?);
    }
    println!(
        "{NODES} nodes, {CLIENTS} clients, {} ms between them each way. A task takes 10 ms of processor time and is \
         wanted within 240 ms; each fourth takes 50 ms and is wanted within 2.5 s. One node is killed half-way.",
        DELAY.as_millis()
    );
    let fronts = begin_relay(&mut nodes)?;
    let key = read_key(&folder.0.join("site.key")).map_err(|error| error.to_string())?;
    let clients = (0..CLIENTS).map(|index| Client::connect(&[fronts[index % NODES]], key.clone()));
    let clients: Vec<Client> = clients.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    let began = Instant::now();
    let until = began + Duration::from_secs(arguments.seconds);
    let tally = Arc::new(Mutex::new(Tally::default()));
    let show = Show { began, nodes: nodes.iter().map(|n| n.metrics).collect(), live: std::io::stdout().is_terminal() };
    let killed = std::thread::scope(|scope| {
        for client in &clients {
            scope.spawn(|| submit_until(client, until, &tally));
        }
        watch(&mut nodes, &tally, &show, until)
    });
    for line in lock(&tally).lines() {
        println!("{line}");
    }
    for line in aftermath(&nodes, &killed).into_iter().chain(privileges::lines(&real_time)) {
        println!("{line}");
    }
    Ok(())
}

/// Starts the link; where clients reach the nodes through it.
fn begin_relay(nodes: &mut [Node]) -> Result<Vec<SocketAddr>, String> {
    let mut relayed = Vec::new();
    let mut fronts = Vec::new();
    for node in nodes {
        let Some(front) = node.front.take() else { continue };
        fronts.push(front.local_addr().map_err(|error| format!("the relay: {error}"))?);
        relayed.push(relay::Node { front, address: node.address });
    }
    std::thread::spawn(move || {
        if let Err(error) = relay::run(&relayed, DELAY) {
            eprintln!("the relay: {error}");
        }
    });
    Ok(fronts)
}

/// A client.
fn submit_until(client: &Client, until: Instant, tally: &Arc<Mutex<Tally>>) {
    static TASKS: AtomicU64 = AtomicU64::new(0);
    for count in 1_u64.. {
        std::thread::sleep(MS(rand::rng().random_range(PAUSE_MS)));
        if Instant::now() >= until {
            return;
        }
        let is_long = count.is_multiple_of(LONG_EVERY);
        // On two CPUs two nodes share one: a worst case has room for the other node's longest program.
        let task = match is_long {
            true => Task::new("compute", MS(240), MS(2_500)).payload("50ms"),
            false => Task::new("compute", MS(80), MS(240)).payload("10ms"),
        };
        let number = TASKS.fetch_add(1, Ordering::Relaxed);
        lock(tally).submitted += 1;
        let (tally, mut accepted) = (Arc::clone(tally), false);
        client.submit_with(&task, move |outcome| lock(&tally).note(number, is_long, &mut accepted, &outcome));
    }
}

/// The node that was killed, and when.
struct Killed {
    node: usize,
    at: Instant,
}

/// Shows what happens, kills a node half-way, returns when all tasks have had their last word.
fn watch(nodes: &mut [Node], tally: &Mutex<Tally>, show: &Show, until: Instant) -> Option<Killed> {
    let half = show.began + (until - show.began) / 2;
    let mut killed = None;
    let mut next_shown = show.began;
    loop {
        let now = Instant::now();
        if killed.is_none() && now >= half {
            // One that has something to lose, if there is one soon.
            let holder = lock(tally).holders.values().next().copied();
            let node = nodes.iter().position(|node| Some(node.address) == holder);
            if let Some(node) = node.or_else(|| (now >= half + MS(1_000)).then_some(0)) {
                // It cannot fail: the process is our own, and not waited for.
                let _ = nodes[node].child.kill();
                killed = Some(Killed { node, at: Instant::now() });
            }
        }
        let over = {
            let tally = lock(tally);
            now >= until + DRAIN_MAX || (now >= until && tally.over() == tally.submitted)
        };
        let soon_over = !show.live && now + MS(1_000) >= until;
        if (now >= next_shown && !soon_over) || over {
            show.table(&lock(tally).line(), killed.as_ref(), over);
            next_shown = now + if show.live { MS(500) } else { MS(5_000) };
        }
        if over {
            return killed;
        }
        std::thread::sleep(MS(2));
    }
}

struct Show {
    began: Instant,
    nodes: Vec<SocketAddr>,
    live: bool,
}

impl Show {
    /// The nodes' table and the tasks; on a terminal in the place of the one before.
    fn table(&self, tasks: &str, killed: Option<&Killed>, last: bool) {
        let mut lines = vec![format!("after {:.1} s", self.began.elapsed().as_secs_f64()), table::heading()];
        for (index, address) in self.nodes.iter().enumerate() {
            lines.push(match killed {
                Some(killed) if killed.node == index => {
                    format!("node {index} was killed at {:.1} s", (killed.at - self.began).as_secs_f64())
                }
                _ => table::row(*address, &table::fetch(*address)),
            });
        }
        lines.push(tasks.to_owned());
        let mut stdout = std::io::stdout().lock();
        // Each line is cleared before it is written again; then the cursor goes back up.
        let clear = if self.live { "\x1b[2K" } else { "" };
        let width = if self.live { table::width() } else { usize::MAX };
        for line in &lines {
            let _ = writeln!(stdout, "{clear}{}", table::cut(line, width));
        }
        let up = if self.live && !last { format!("\x1b[{}A", lines.len()) } else { "\n".to_owned() };
        let _ = write!(stdout, "{up}");
        let _ = stdout.flush();
    }
}

/// What the nodes say of the one that was killed.
fn aftermath(nodes: &[Node], killed: &Option<Killed>) -> Vec<String> {
    let Some(killed) = killed else { return vec!["no node was killed".to_owned()] };
    let dead = &nodes[killed.node];
    let others: Vec<&Node> = nodes.iter().filter(|node| node.address != dead.address).collect();
    let noticed = others.iter().map(|node| {
        let down = node.logged(&format!(" event=down address={}", dead.address));
        down.map_or("never".to_owned(), |at| {
            format!("after {} ms", at.saturating_duration_since(killed.at).as_millis())
        })
    });
    let noticed: Vec<String> = noticed.collect();
    let taken_over = others.iter().filter_map(|node| {
        let metrics = table::fetch(node.metrics).ok()?;
        metrics.get("weir_edge_taken_over_total")?.parse::<u64>().ok()
    });
    vec![
        format!("death of node {}: noticed by the others {}", killed.node, noticed.join(" and ")),
        format!("taken over: {} of its tasks were placed again", taken_over.sum::<u64>()),
    ]
}

/// A folder of this run's own.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, String> {
        let path = std::env::temp_dir().join(format!("weir-edge-demo-{}", std::process::id()));
        std::fs::create_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
