// SPDX-License-Identifier: Apache-2.0
//! `weir-edge demo`: a site on this machine. Nodes, programs, clocks, sockets are real; the link is our relay.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use clap::Args;
use rand::RngExt;
use weir_edge::client::{Client, SiteKey, Task, read_key};
use weir_edge::machine::spawn::set_fifo;
use weir_edge::sim::scenario::Way;

use super::processes::Folder;
use super::processes::node::{self, Node};
use super::processes::relay::Relay;
use super::{key, table};
use network::Network;
use say::{put, say};
use tally::Tally;
use trouble::Troubles;

mod network;
pub mod privileges;
mod switch;
mod tally;
mod trouble;

const NODES: usize = 3;
const CLIENTS: usize = 10;
/// The link, each way.
const DELAY_MS: f64 = 30.0;
/// Clients and link stand for other machines: no program of this one delays them, if that is permitted.
const PRIORITY: u8 = 60;
/// From one task of a client to its next.
const PAUSE_MS: std::ops::Range<u64> = 300..700;
/// Which of a client's tasks are long ones.
const LONG_EVERY: u64 = 4;
const MS: fn(u64) -> Duration = Duration::from_millis;
/// Shorter, the troubles would come before what is made of the one before is known.
const SECONDS_MIN_NAMESPACES: u64 = 6;
/// The longest budget, and what a client waits beyond it.
const DRAIN_MAX: Duration = Duration::from_secs(4);

/// What `demo` is given.
#[derive(Debug, Args)]
pub struct DemoArguments {
    /// For how long clients submit tasks
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u64).range(2..=3600))]
    seconds: u64,
    /// Gives each node and each client a network namespace of its own, joined by emulated cables, and pulls one of these,
    /// too
    #[arg(long)]
    namespaces: bool,
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
    let lasts = Duration::from_secs(arguments.seconds);
    if arguments.namespaces && arguments.seconds < SECONDS_MIN_NAMESPACES {
        return Err(format!(
            "--seconds {}: with --namespaces it takes at least {SECONDS_MIN_NAMESPACES}: a cable is pulled and put back, \
             and a node is killed",
            arguments.seconds
        ));
    }
    let real_time = set_fifo(None, PRIORITY);
    let network = arguments.namespaces.then(|| Network::build(NODES, CLIENTS)).transpose()?;
    let machines = network.as_ref().map_or(&[][..], |network| &network.nodes);
    introduce(network.as_ref());
    let folder = Folder::new()?;
    key::write(&folder.path().join("site.key"))?;
    let mut nodes: Vec<Node> = Vec::new();
    for index in 0..NODES {
        let seeds = nodes.first().map_or(String::new(), |node| format!("\"{}\"", node.address));
        let lines = format!(
            "seeds = [{seeds}]\nworkers = 1\ncpus = [{}]\n\n[programs]\ncompute = [{:?}, \"compute\"]\n",
            node::cpu(index),
            node::own_program()?
        );
        let place = machines.get(index).map(|machine| (&machine.namespace, machine.address));
        nodes.push(Node::start(folder.path(), index, "node", &lines, place)?);
    }
    let key = read_key(&folder.path().join("site.key")).map_err(|error| error.to_string())?;
    let on_loopback = network.is_none().then(|| Relay::start(&mut nodes, Way::steady(DELAY_MS), rand::random()));
    let link = on_loopback.transpose()?;
    let addresses = link.as_ref().map_or_else(|| nodes.iter().map(|n| n.address).collect(), |link| link.fronts.clone());
    let clients = connect(&addresses, network.as_ref(), &key)?;
    // All have read what is in it: if we are killed, it does not stay.
    drop(folder);
    let began = Instant::now();
    let until = began + lasts;
    let tally = Arc::new(Mutex::new(Tally::default()));
    let mut troubles = Troubles::new(began, lasts, machines);
    std::thread::scope(|scope| {
        for client in &clients {
            scope.spawn(|| submit_until(client, until, &tally));
        }
        watch(&mut nodes, &tally, &mut troubles, began, until)
    })?;
    for line in lock(&tally).lines().into_iter().chain(troubles.aftermath(&nodes)) {
        say!("{line}");
    }
    // The other way it says what the network consists of, above.
    let privileges = privileges::lines(&real_time, network.is_some());
    privileges.iter().for_each(|line| say!("{line}"));
    Ok(())
}

fn introduce(network: Option<&Network>) {
    let troubles = match network {
        Some(network) => {
            say!("{}", network.description);
            "The cable of one node is pulled for a quarter of the time; later one is killed"
        }
        None => "One node is killed half-way",
    };
    say!(
        "{NODES} nodes, {CLIENTS} clients, {} ms between them each way. A task takes 10 ms of processor time and is \
         wanted within 240 ms; each fourth takes 50 ms and is wanted within 2.5 s. {troubles}.",
        DELAY_MS
    );
}

/// The clients, each with one of the nodes.
fn connect(nodes: &[SocketAddr], network: Option<&Network>, key: &SiteKey) -> Result<Vec<Client>, String> {
    let clients = (0..CLIENTS).map(|index| {
        let connect = || Client::connect(&[nodes[index % NODES]], key.clone());
        match network {
            Some(network) => network.clients[index].namespace.within(connect),
            None => connect(),
        }
    });
    clients.collect::<Result<_, _>>().map_err(|error| error.to_string())
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
        lock(tally).tasks.submitted += 1;
        let (tally, mut accepted) = (Arc::clone(tally), false);
        client.submit_with(&task, move |outcome| lock(&tally).note(number, is_long, &mut accepted, &outcome));
    }
}

/// Shows what happens, has troubles happen, returns when all tasks have had their last word.
fn watch(
    nodes: &mut [Node],
    tally: &Mutex<Tally>,
    troubles: &mut Troubles,
    began: Instant,
    until: Instant,
) -> Result<(), String> {
    let show = Show { began, live: std::io::stdout().is_terminal() };
    let mut next_shown = began;
    loop {
        let now = Instant::now();
        let seen = lock(tally).clone();
        troubles.step(nodes, &seen)?;
        let over = now >= until + DRAIN_MAX || (now >= until && seen.tasks.over() == seen.tasks.submitted);
        let soon_over = !show.live && now + MS(1_000) >= until;
        if (now >= next_shown && !soon_over) || over {
            show.table(nodes, &seen.line(), troubles, over);
            next_shown = now + if show.live { MS(500) } else { MS(5_000) };
        }
        if over {
            return Ok(());
        }
        std::thread::sleep(MS(2));
    }
}

struct Show {
    began: Instant,
    live: bool,
}

impl Show {
    /// The nodes' table and the tasks; on a terminal in the place of the one before.
    fn table(&self, nodes: &[Node], tasks: &str, troubles: &Troubles, last: bool) {
        let mut lines = vec![format!("after {:.1} s", self.began.elapsed().as_secs_f64()), table::heading()];
        for (index, node) in nodes.iter().enumerate() {
            lines.push(troubles.row(index).unwrap_or_else(|| table::row(node.metrics, &node.fetch())));
        }
        lines.extend(troubles.line());
        lines.push(tasks.to_owned());
        // Each line is cleared before it is written again; then the cursor goes back up.
        let clear = if self.live { "\x1b[2K" } else { "" };
        let width = if self.live { table::width() } else { usize::MAX };
        let text: String = lines.iter().map(|line| format!("{clear}{}\n", table::cut(line, width))).collect();
        let up = if self.live && !last { format!("\x1b[{}A", lines.len()) } else { "\n".to_owned() };
        put(format_args!("{text}{up}"));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
