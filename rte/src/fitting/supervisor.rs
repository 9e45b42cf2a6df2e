// SPDX-License-Identifier: Apache-2.0
//! `weir-io run`: starts a process for each protocol, so that one that crashes or is killed disturbs no other; starts it
//! again; puts its outputs to their safe values at once; owns the interface's address.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};

use super::Error;
use super::address::Owner;
use super::interface::Interface;
use super::message::{self, Message};
use super::protocols::protocols;
use super::system::now;
use crate::application::endpoint::Endpoint;
use crate::application::memory::Memory;
use crate::configuration::Configuration;

/// How long until a process that died is started again; doubled each time, up to the second.
const DELAYS: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(5)];
/// A process that ran so long begins with the shortest delay again.
const GOOD_RUN: Duration = Duration::from_secs(30);
/// How long processes may take to end. PROFINET's and CC-Link's last words take less.
const PATIENCE: Duration = Duration::from_secs(4);
/// How often the interface's address is looked at: others may change it.
const LOOK: Duration = Duration::from_secs(1);

/// A process that runs.
#[derive(Debug)]
struct Process {
    child: std::process::Child,
    ended: OwnedFd,
    socket: OwnedFd,
    since: Instant,
}

/// What must run.
#[derive(Debug)]
struct Job {
    name: String,
    arguments: Vec<String>,
    /// Which of the memory's endpoints is its own.
    endpoint: Option<usize>,
    process: Option<Process>,
    delay: Duration,
    /// When it is started, if it does not run.
    next: Instant,
}

/// The supervisor of a device.
#[derive(Debug)]
pub struct Supervisor<'a> {
    configuration: &'a Configuration,
    program: PathBuf,
    memory: Memory,
    owner: Owner,
    jobs: Vec<Job>,
    looked: Instant,
}

/// What the user is told, one line each.
fn tell(line: &str) {
    eprintln!("weir-io: {line}");
}

impl<'a> Supervisor<'a> {
    /// Makes the shared memory, sets the address. `file` is the configuration's, for the processes.
    ///
    /// # Errors
    /// What is missing, and the way out.
    pub fn new(configuration: &'a Configuration, file: &Path) -> Result<Self, Error> {
        let names: Vec<_> = protocols(configuration).into_iter().map(|protocol| protocol.name).collect();
        if names.is_empty() {
            let text = "no protocol is configured: add [profinet], [[cclink]] or [modbus]";
            return Err(Error::new(format!("{}: {text}", file.display())));
        }
        let program = std::env::current_exe().map_err(|error| Error::new(format!("this program's path: {error}")))?;
        let path = &configuration.application.memory;
        let memory = Memory::create(path, &configuration.description(&names)).map_err(|error| {
            Error::new(format!("{}: {error}; [application] memory = … names another", path.display()))
        })?;
        let device = &configuration.device;
        let interface = Interface::open(&device.interface)?;
        let state = configuration.fitting.state.join("address.toml");
        let (owner, told) = Owner::start(interface, device.address, state, configuration.fitting.address_changes)?;
        told.iter().for_each(|line| tell(line));
        let job = |(endpoint, name): (usize, String)| Job {
            arguments: vec!["protocol".to_owned(), file.display().to_string(), name.clone()],
            name,
            endpoint: Some(endpoint),
            process: None,
            delay: DELAYS[0],
            next: Instant::now(),
        };
        let jobs = names.into_iter().enumerate().map(job).collect();
        Ok(Self { configuration, program, memory, owner, jobs, looked: Instant::now() })
    }

    /// Runs until `SIGTERM` or `SIGINT`. `SIGUSR1` has all processes print what they counted.
    ///
    /// # Errors
    /// If the kernel refuses what all of it rests on.
    pub fn run(mut self) -> Result<(), Error> {
        let failed = |error: io::Error| Error::new(format!("signals: {error}"));
        let stop = signals(&[SIGTERM, SIGINT, SIGHUP]).map_err(failed)?;
        let print = signals(&[SIGUSR1]).map_err(failed)?;
        let address = self.owner.address().ip;
        tell(&format!("{} at {}, {address}", self.configuration.device.name, self.configuration.device.interface));
        loop {
            self.start_what_is_due();
            if self.wait(&stop, &print, self.until_next())? {
                break;
            }
            self.reap();
            self.hear();
            self.look_at_address();
        }
        self.stop();
        Ok(())
    }

    fn start_what_is_due(&mut self) {
        for job in &mut self.jobs {
            if job.process.is_none() && job.next <= Instant::now() {
                match start(&self.program, &job.arguments) {
                    Ok(process) => job.process = Some(process),
                    Err(error) => {
                        job.next = Instant::now() + job.delay;
                        tell(&format!("{}: cannot be started: {error}; again in {:?}", job.name, job.delay));
                        job.delay = DELAYS[1].min(2 * job.delay);
                    }
                }
            }
        }
    }

    fn until_next(&self) -> Duration {
        let starts = self.jobs.iter().filter(|job| job.process.is_none()).map(|job| job.next);
        let next = starts.chain([self.looked + LOOK]).min().expect("there is one");
        next.saturating_duration_since(Instant::now())
    }

    /// Waits until something happens. Answers whether to stop.
    fn wait(&self, stop: &UnixStream, print: &UnixStream, patience: Duration) -> Result<bool, Error> {
        let mut watched = vec![PollFd::new(stop, PollFlags::IN), PollFd::new(print, PollFlags::IN)];
        for process in self.jobs.iter().filter_map(|job| job.process.as_ref()) {
            watched.push(PollFd::new(&process.ended, PollFlags::IN));
            watched.push(PollFd::new(&process.socket, PollFlags::IN));
        }
        let patience = Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: i64::from(patience.subsec_nanos()) };
        match poll(&mut watched, Some(&patience)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Error::new(format!("poll: {error}"))),
        }
        if !watched[1].revents().is_empty() {
            let _ = io::Read::read(&mut &*print, &mut [0; 64]);
            self.to_all(Message::Counters);
        }
        Ok(!watched[0].revents().is_empty())
    }

    fn to_all(&self, message: Message) {
        for process in self.jobs.iter().filter_map(|job| job.process.as_ref()) {
            // One that does not read is dying or hangs; the supervisor does neither.
            let _ = message.send(&process.socket);
        }
    }

    /// Looks which processes have died. Their outputs come first, then all else.
    fn reap(&mut self) {
        for job in &mut self.jobs {
            let Some(process) = &mut job.process else { continue };
            let Ok(Some(status)) = process.child.try_wait() else { continue };
            if let Some(endpoint) = job.endpoint {
                lose(self.configuration, &self.memory, endpoint);
            }
            if process.since.elapsed() >= GOOD_RUN {
                job.delay = DELAYS[0];
            }
            tell(&format!("{}: {}; its outputs are safe; again in {:?}", job.name, what_happened(status), job.delay));
            job.process = None;
            job.next = Instant::now() + job.delay;
            job.delay = DELAYS[1].min(2 * job.delay);
        }
    }

    /// Hears what processes want.
    fn hear(&mut self) {
        for n in 0..self.jobs.len() {
            let Some(process) = &self.jobs[n].process else { continue };
            let Ok(Some(Message::Request(request))) = Message::receive(&process.socket, false) else { continue };
            match self.owner.request(request) {
                Ok(line) => {
                    tell(&format!("{}: {line}", self.jobs[n].name));
                    self.to_all(Message::Address(self.owner.address()));
                }
                Err(error) => tell(&format!("{}: {error}", self.jobs[n].name)),
            }
        }
    }

    fn look_at_address(&mut self) {
        if self.looked.elapsed() < LOOK {
            return;
        }
        self.looked = Instant::now();
        if let Some(address) = self.owner.refresh() {
            tell(&format!("{} has the address {} now", self.configuration.device.interface, address.ip));
            self.to_all(Message::Address(address));
        }
    }

    /// Ends all processes: by a signal, and those that do not heed it by force. Their outputs are safe in the end.
    fn stop(&mut self) {
        for process in self.jobs.iter().filter_map(|job| job.process.as_ref()) {
            let _ = pidfd_send_signal(&process.ended, Signal::TERM);
        }
        let until = Instant::now() + PATIENCE;
        for job in &mut self.jobs {
            if let Some(process) = &mut job.process {
                let rest = until.saturating_duration_since(Instant::now());
                let rest = Timespec { tv_sec: rest.as_secs() as i64, tv_nsec: i64::from(rest.subsec_nanos()) };
                let _ = poll(&mut [PollFd::new(&process.ended, PollFlags::IN)], Some(&rest));
                if !matches!(process.child.try_wait(), Ok(Some(_))) {
                    tell(&format!("{}: does not end in {PATIENCE:?} and is killed", job.name));
                    let _ = process.child.kill();
                    let _ = process.child.wait();
                }
            }
            if let Some(endpoint) = job.endpoint {
                lose(self.configuration, &self.memory, endpoint);
            }
        }
        tell("stopped; all outputs are safe");
    }
}

/// Puts the outputs of a process that is dead to their safe values.
fn lose(configuration: &Configuration, memory: &Memory, endpoint: usize) {
    let stale_after = configuration.application.stale_after;
    Endpoint::new(memory, endpoint, configuration.points.safe.clone(), stale_after, now());
}

fn start(program: &Path, arguments: &[String]) -> io::Result<Process> {
    let (socket, theirs) = message::pair()?;
    let child = Command::new(program).args(arguments).stdin(Stdio::from(theirs)).spawn()?;
    let ended = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
    Ok(Process { child, ended, socket, since: Instant::now() })
}

fn signals(numbers: &[i32]) -> io::Result<UnixStream> {
    let (heard, signalled) = UnixStream::pair()?;
    heard.set_nonblocking(true)?;
    for number in numbers {
        signal_hook::low_level::pipe::register(*number, signalled.try_clone()?)?;
    }
    Ok(heard)
}

fn what_happened(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (_, Some(signal)) => format!("killed by signal {signal}"),
        (Some(0), _) => "ended".to_owned(),
        (code, _) => format!("failed with status {}", code.unwrap_or(-1)),
    }
}
