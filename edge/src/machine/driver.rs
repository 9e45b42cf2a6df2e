// SPDX-License-Identifier: Apache-2.0
//! The event loop.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, SystemTime};

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event as Ready, EventData, EventFlags};
use signal_hook::consts::{SIGINT, SIGTERM};

use super::clock::Clock;
use super::config::Config;
use super::http::Endpoint;
use super::job::Ended;
use super::log::{Level, Log};
use super::metrics::{self, Executions};
use super::programs::{Part, Programs, job_of};
use super::spawn::{Place, set_fifo};
use crate::core::membership::Role;
use crate::core::message::DATAGRAM_BYTES_MAX;
use crate::core::node::{Event, Node, Output};
use crate::core::task::TaskId;

/// Jobs' descriptors have other tokens: their parts are not 0.
const DATAGRAMS: u64 = 0;
const SIGNALS: u64 = 1 << 8;
const METRICS: u64 = 2 << 8;
/// So many datagrams are taken before other things have their turn.
const DATAGRAMS_AT_ONCE: usize = 64;

/// A machine of the site, running.
pub struct Machine {
    node: Node,
    role: Role,
    clock: Clock,
    log: Log,
    epoll: OwnedFd,
    socket: UdpSocket,
    /// Stays open: that it is readable says all.
    _signals: UnixStream,
    metrics: Option<Endpoint>,
    executions: Executions,
    programs: Programs,
    /// Jobs that could not be started.
    failed: Vec<(TaskId, Ended)>,
}

impl Machine {
    /// Opens the sockets. The error names the address that cannot be had.
    pub fn start(config: Config) -> Result<Self, String> {
        let log = Log(config.log);
        for warning in &config.warnings {
            log.write(Level::Warn, "configuration", &[("text", warning)]);
        }
        let wanted = config.node.address;
        let socket = UdpSocket::bind(wanted).map_err(|error| format!("address {wanted}: {error}"))?;
        let mut node = config.node;
        node.address = socket.local_addr().map_err(|error| format!("address {wanted}: {error}"))?;
        let today = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        node.started_ms = u64::try_from(today.as_millis()).unwrap_or(u64::MAX);
        let priority = config.priority.filter(|priority| real_time(&log, *priority));
        let places = config.cpus.iter().map(|cpu| Place { cpu: *cpu, priority }).collect();
        let clock = Clock::default();
        let (epoll, signals) = open(&socket).map_err(|error| format!("epoll and signals: {error}"))?;
        log.write(Level::Info, "listening", &[("address", &node.address)]);
        let open =
            |address| Endpoint::open(epoll.as_fd(), address, METRICS, 1 << 8).and_then(|m| Ok((m.address()?, m)));
        let metrics =
            match config.metrics.map(|wanted| open(wanted).map_err(|error| format!("metrics {wanted}: {error}"))) {
                Some(opened) => {
                    let (address, endpoint) = opened?;
                    log.write(Level::Info, "metrics", &[("address", &address)]);
                    Some(endpoint)
                }
                None => None,
            };
        Ok(Self {
            role: node.role,
            node: Node::new(node, config.key, clock.now(), rand::random()),
            clock,
            log,
            epoll,
            socket,
            _signals: signals,
            metrics,
            executions: Executions::default(),
            programs: Programs::new(config.programs, places),
            failed: Vec::new(),
        })
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.node.address()
    }

    /// Does its work until it is told to end by `SIGTERM` or `SIGINT`.
    pub fn run(&mut self) -> io::Result<()> {
        let mut ready: Vec<Ready> = Vec::with_capacity(64);
        loop {
            self.carry_out();
            ready.clear();
            let timeout = self.clock.until(self.node.timeout()).map(timespec);
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut ready), timeout.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in &ready {
                match event.data.u64() {
                    DATAGRAMS => self.datagrams(),
                    SIGNALS => {
                        self.leave();
                        return Ok(());
                    }
                    token => match job_of(token) {
                        Some((number, part)) => self.job(number, part)?,
                        None => self.metrics(token),
                    },
                }
            }
            self.node.handle_timeout(self.clock.now());
        }
    }

    fn datagrams(&mut self) {
        // One more byte than the longest: what is longer is counted as such.
        let mut buffer = [0; DATAGRAM_BYTES_MAX + 1];
        for _ in 0..DATAGRAMS_AT_ONCE {
            match self.socket.recv_from(&mut buffer) {
                Ok((length, from)) => {
                    self.node.handle_datagram(self.clock.now(), from, &buffer[..length]);
                    self.carry_out();
                }
                // The network's complaints about what was sent earlier: its receiver is not there.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(_) => return,
            }
        }
    }

    fn metrics(&mut self, token: u64) {
        if let Some(endpoint) = &mut self.metrics {
            let text = || metrics::text(&self.node, self.role, &self.executions, self.clock.now());
            endpoint.ready(self.epoll.as_fd(), token, text);
        }
    }

    fn job(&mut self, number: u32, part: Part) -> io::Result<()> {
        let now = self.clock.now();
        if let Some((id, ended)) = self.programs.readable(self.epoll.as_fd(), now, number, part)? {
            self.report(id, ended);
            self.carry_out();
        }
        Ok(())
    }

    fn report(&mut self, id: TaskId, ended: Ended) {
        self.executions.add(ended.execution);
        self.node.handle_exit(self.clock.now(), id, ended.exit, ended.execution, ended.output);
    }

    /// Does what the node wants done. Nobody waits for a datagram while a process is made: what concerns programs comes
    /// after all that is to be sent, and in its own order.
    fn carry_out(&mut self) {
        loop {
            let mut later = Vec::new();
            while let Some(output) = self.node.poll() {
                match output {
                    // A datagram that does not go is one that is lost: the core asks again.
                    Output::Send(to, datagram) => drop(self.socket.send_to(&datagram, to)),
                    Output::Event(event) => self.event(event),
                    Output::Stop(_) | Output::Kill(_) if later.is_empty() => self.program(output),
                    Output::Start(..) | Output::Stop(_) | Output::Continue(_) | Output::Kill(_) => later.push(output),
                }
            }
            later.into_iter().for_each(|output| self.program(output));
            let Some((id, ended)) = self.failed.pop() else { return };
            self.report(id, ended);
        }
    }

    fn program(&mut self, output: Output) {
        let now = self.clock.now();
        match output {
            Output::Start(worker, task) => {
                if let Err(ended) = self.programs.start(self.epoll.as_fd(), now, worker, &task) {
                    self.failed.push((task.id, ended));
                }
            }
            Output::Stop(id) => self.programs.stop(now, id),
            Output::Continue(id) => self.programs.go_on(now, id),
            Output::Kill(id) => self.programs.kill(id),
            Output::Send(..) | Output::Event(_) => {}
        }
    }

    fn event(&self, event: Event) {
        let write = |level, event, fields: &[(&str, &dyn std::fmt::Display)]| self.log.write(level, event, fields);
        match event {
            Event::Submitted(id) => write(Level::Debug, "submitted", &[("task", &id)]),
            Event::Accepted(id, attempt) => write(Level::Debug, "accepted", &[("task", &id), ("attempt", &attempt)]),
            Event::Refused(id, reason) => write(Level::Debug, "refused", &[("task", &id), ("reason", &reason)]),
            Event::GivenUp(id, holder) => write(Level::Debug, "given_up", &[("task", &id), ("holder", &holder)]),
            Event::Dropped(id) => write(Level::Debug, "dropped", &[("task", &id)]),
            Event::Up(address) => write(Level::Info, "up", &[("address", &address)]),
            Event::Down(address) => write(Level::Info, "down", &[("address", &address)]),
            Event::Ended(id, exit) => write(Level::Debug, "ended", &[("task", &id), ("exit", &exit)]),
        }
    }

    fn leave(&mut self) {
        let now = self.clock.now();
        self.node.leave(now);
        self.carry_out();
        self.programs.kill_all(now);
        self.log.write(Level::Info, "left", &[]);
    }
}

/// Takes a real-time priority above the programs'; whether that is permitted.
fn real_time(log: &Log, programs: u8) -> bool {
    match set_fifo(None, programs + 1) {
        Ok(()) => true,
        Err(error) => {
            let text = format!("programs run at ordinary priority: SCHED_FIFO: {error} (it takes CAP_SYS_NICE)");
            log.write(Level::Warn, "no_real_time", &[("text", &text)]);
            false
        }
    }
}

fn open(socket: &UdpSocket) -> io::Result<(OwnedFd, UnixStream)> {
    socket.set_nonblocking(true)?;
    let (signals, signalled) = UnixStream::pair()?;
    signal_hook::low_level::pipe::register(SIGTERM, signalled.try_clone()?)?;
    signal_hook::low_level::pipe::register(SIGINT, signalled)?;
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    epoll::add(&epoll, socket, EventData::new_u64(DATAGRAMS), EventFlags::IN)?;
    epoll::add(&epoll, &signals, EventData::new_u64(SIGNALS), EventFlags::IN)?;
    Ok((epoll, signals))
}

/// As system calls want it.
pub(crate) fn timespec(duration: Duration) -> Timespec {
    Timespec { tv_sec: duration.as_secs().try_into().unwrap_or(i64::MAX), tv_nsec: duration.subsec_nanos().into() }
}
