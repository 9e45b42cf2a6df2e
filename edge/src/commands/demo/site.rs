// SPDX-License-Identifier: Apache-2.0
//! The demo's nodes: real processes with real files.

use std::io::{self, BufRead, BufReader};
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity};

use weir_edge::machine::spawn::end_with_us;

use super::namespace::Namespace;
use super::network::Machine;
use super::{relay, table};

/// How long a node may take to come up.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where nodes are on machines of their own.
const PORT: u16 = 7400;

/// A node's process.
pub struct Node {
    pub child: Child,
    /// Where the others reach it.
    pub address: SocketAddr,
    /// Where the relay stands for it towards clients.
    pub front: Option<UdpSocket>,
    /// Where it tells them; see [`Node::fetch`].
    pub metrics: SocketAddr,
    namespace: Option<Namespace>,
    /// What it logged, and when.
    log: Arc<Mutex<Vec<(Instant, String)>>>,
}

impl Node {
    /// Starts a node on a machine of the network, or on loopback behind the relay; it joins through `seed`.
    pub fn start(
        folder: &Path,
        index: usize,
        seed: Option<SocketAddr>,
        machine: Option<&Machine>,
    ) -> Result<Self, String> {
        let (where_it_is, front) = addresses(machine)?;
        let file = folder.join(format!("node-{index}.toml"));
        let seeds = seed.map_or(String::new(), |seed| format!("\"{seed}\""));
        let own = std::env::current_exe().map_err(|error| format!("our own program: {error}"))?;
        let text = format!(
            "{where_it_is}metrics = \"127.0.0.1:0\"\n\
             key_file = \"site.key\"\nseeds = [{seeds}]\nworkers = 1\ncpus = [{}]\n\n\
             [programs]\ncompute = [{:?}, \"compute\"]\n",
            cpu(index),
            own.display().to_string()
        );
        std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
        let mut command = Command::new(&own);
        command.arg("node").arg(&file).stdin(Stdio::null()).stderr(Stdio::piped());
        end_with_us(&mut command);
        let namespace = machine.map(|machine| machine.namespace.clone());
        let child = match &namespace {
            Some(namespace) => namespace.within(|| command.spawn()),
            None => command.spawn(),
        };
        let mut child = child.map_err(|error| format!("{}: {error}", own.display()))?;
        let log = Arc::new(Mutex::new(Vec::new()));
        if let Some(stderr) = child.stderr.take() {
            let log = Arc::clone(&log);
            std::thread::spawn(move || {
                for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                    lock(&log).push((Instant::now(), line));
                }
            });
        }
        let nowhere = SocketAddr::from(([0, 0, 0, 0], 0));
        let mut node = Self { child, address: nowhere, front, metrics: nowhere, namespace, log };
        node.address = node.wait_for(" event=listening address=")?;
        node.metrics = node.wait_for(" event=metrics address=")?;
        Ok(node)
    }

    /// When it first logged this since then.
    pub fn logged(&self, what: &str, since: Instant) -> Option<Instant> {
        let log = lock(&self.log);
        log.iter().find(|(at, line)| *at >= since && line.contains(what)).map(|(at, _)| *at)
    }

    /// Asks it for its metrics on its own machine: they need no cable.
    pub fn fetch(&self) -> io::Result<table::Metrics> {
        match &self.namespace {
            Some(namespace) => namespace.within(|| table::fetch(self.metrics)),
            None => table::fetch(self.metrics),
        }
    }

    fn wait_for(&self, what: &str) -> Result<SocketAddr, String> {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            let lines = lock(&self.log).clone();
            if let Some((_, address)) = lines.iter().find_map(|(_, line)| line.split_once(what)) {
                return address.parse().map_err(|_| format!("a node's log: {address:?} is no address"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let said: Vec<String> = lock(&self.log).iter().map(|(_, line)| line.clone()).collect();
        Err(format!("a node did not start: {}", said.join("; ")))
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // It is gone already if this fails.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The lines of a node's file that say where it is, and the relay's socket for it if it has no machine of its own.
fn addresses(machine: Option<&Machine>) -> Result<(String, Option<UdpSocket>), String> {
    if let Some(machine) = machine {
        return Ok((format!("address = \"{}:{PORT}\"\n", machine.address), None));
    }
    let front = relay::socket().map_err(|error| format!("a port on 127.0.0.1: {error}"))?;
    let for_clients = front.local_addr().map_err(|error| error.to_string())?;
    Ok((format!("address = \"127.0.0.1:0\"\nfor_clients = \"{for_clients}\"\n"), Some(front)))
}

/// The nodes share the CPUs there are.
fn cpu(index: usize) -> usize {
    let Ok(set) = sched_getaffinity(None) else { return 0 };
    let available: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect();
    available[index % available.len()]
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
