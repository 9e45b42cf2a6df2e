// SPDX-License-Identifier: Apache-2.0
//! Machines of the site: real processes with real files.

use std::io::{self, BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity};
use weir_edge::machine::spawn::end_with_us;

use super::namespace::Namespace;
use super::relay;
use crate::commands::table;

/// How long a machine may take to come up.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where nodes are in namespaces of their own.
const PORT: u16 = 7400;

/// A machine's process.
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
    log: Log,
}

impl Node {
    /// Starts a machine in a namespace and with the address there, or on loopback behind the relay; the folder has the
    /// key. `lines` are those of its file besides addresses and key.
    pub fn start(
        folder: &Path,
        index: usize,
        role: &'static str,
        lines: &str,
        place: Option<(&Namespace, Ipv4Addr)>,
    ) -> Result<Self, String> {
        let (where_it_is, front) = addresses(place.map(|(_, address)| address))?;
        let file = folder.join(format!("node-{index}.toml"));
        let text = format!("{where_it_is}metrics = \"127.0.0.1:0\"\nkey_file = \"site.key\"\n{lines}");
        write(&file, &text)?;
        let namespace = place.map(|(namespace, _)| namespace.clone());
        let (child, log) = spawn(role, &file, namespace.as_ref())?;
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

    /// Asks it for its metrics where it is: they need no cable.
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

/// The lines of a machine's file that say where it is, and the relay's socket for it if it is on loopback.
fn addresses(address: Option<Ipv4Addr>) -> Result<(String, Option<UdpSocket>), String> {
    if let Some(address) = address {
        return Ok((format!("address = \"{address}:{PORT}\"\n"), None));
    }
    let front = relay::socket().map_err(|error| format!("a port on 127.0.0.1: {error}"))?;
    let for_clients = front.local_addr().map_err(|error| error.to_string())?;
    Ok((format!("address = \"127.0.0.1:0\"\nfor_clients = \"{for_clients}\"\n"), Some(front)))
}

type Log = Arc<Mutex<Vec<(Instant, String)>>>;

fn write(file: &Path, text: &str) -> Result<(), String> {
    std::fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}

/// Starts the process, and a thread that reads what it logs.
fn spawn(role: &str, file: &Path, namespace: Option<&Namespace>) -> Result<(Child, Log), String> {
    let own = own_program()?;
    let mut command = Command::new(&own);
    command.arg(role).arg(file).stdin(Stdio::null()).stderr(Stdio::piped());
    end_with_us(&mut command);
    let child = match namespace {
        Some(namespace) => namespace.within(|| command.spawn()),
        None => command.spawn(),
    };
    let mut child = child.map_err(|error| format!("{}: {error}", own.display()))?;
    let log = Log::default();
    if let Some(stderr) = child.stderr.take() {
        let log = Arc::clone(&log);
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                lock(&log).push((Instant::now(), line));
            }
        });
    }
    Ok((child, log))
}

/// This command itself, which machines and the programs of trials are, too.
pub fn own_program() -> Result<PathBuf, String> {
    std::env::current_exe().map_err(|error| format!("our own program: {error}"))
}

/// The CPU of a machine's worker: machines share the CPUs there are.
pub fn cpu(index: usize) -> usize {
    let available = cpus();
    available[index % available.len()]
}

/// The CPUs that this process may use.
pub fn cpus() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(None) else { return vec![0] };
    (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
