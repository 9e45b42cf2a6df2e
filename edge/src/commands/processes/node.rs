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

use super::relay;
use crate::commands::table;
use network_namespace::Namespace;

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
    for_clients: Option<SocketAddr>,
    role: &'static str,
    file: PathBuf,
    /// What it logged since it was started last, and when.
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
        let (address, front) =
            addresses(place.map(|(_, address)| address)).map_err(|error| format!("a port on 127.0.0.1: {error}"))?;
        let for_clients = front.as_ref().and_then(|front| front.local_addr().ok());
        let file = folder.join(format!("node-{index}.toml"));
        write(&file, address, for_clients, lines)?;
        let namespace = place.map(|(namespace, _)| namespace.clone());
        let (child, log) = spawn(role, &file, namespace.as_ref())?;
        let metrics = SocketAddr::from(([0, 0, 0, 0], 0));
        let mut node = Self { child, address, front, metrics, namespace, for_clients, role, file, log };
        node.address = node.wait_for(" event=listening address=")?;
        node.metrics = node.wait_for(" event=metrics address=")?;
        Ok(node)
    }

    /// Ends it at once, with all it has.
    pub fn kill(&mut self) {
        // It is gone already if this fails.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Starts it again after [`Node::kill`], where it was, knowing nothing.
    pub fn restart(&mut self, lines: &str) -> Result<(), String> {
        write(&self.file, self.address, self.for_clients, lines)?;
        (self.child, self.log) = spawn(self.role, &self.file, self.namespace.as_ref())?;
        self.metrics = self.wait_for(" event=metrics address=")?;
        Ok(())
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
        self.kill();
    }
}

/// Where a machine is to be, and the relay's socket for it if that is on loopback.
fn addresses(address: Option<Ipv4Addr>) -> io::Result<(SocketAddr, Option<UdpSocket>)> {
    Ok(match address {
        Some(address) => ((address, PORT).into(), None),
        None => ((Ipv4Addr::LOCALHOST, 0).into(), Some(relay::socket()?)),
    })
}

type Log = Arc<Mutex<Vec<(Instant, String)>>>;

fn write(file: &Path, address: SocketAddr, for_clients: Option<SocketAddr>, lines: &str) -> Result<(), String> {
    let for_clients = for_clients.map_or(String::new(), |address| format!("for_clients = \"{address}\"\n"));
    let text =
        format!("address = \"{address}\"\n{for_clients}metrics = \"127.0.0.1:0\"\nkey_file = \"site.key\"\n{lines}");
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
