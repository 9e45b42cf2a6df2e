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
use super::console;
use super::cpuset::{self, Hierarchy, Set};
use super::interface::Interface;
use super::message::{self, Message};
use super::plugin;
use super::policy;
use super::protocols::{Protocol, cyclic_lanes, protocols};
use super::system::now;
use crate::application::endpoint::{Door, Endpoint};
use crate::application::memory::Memory;
use crate::configuration::{Configuration, Cpu, Fitting, Policy};
use crate::protocol::Address;

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
    /// Whether it has closed its end of the socket, and only its end is waited for.
    is_silent: bool,
    since: Instant,
}

/// What must run.
#[derive(Debug)]
struct Job {
    name: String,
    arguments: Vec<String>,
    /// Which of the memory's endpoints is its own.
    endpoint: Option<usize>,
    /// Which of the owners has its address.
    owner: usize,
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
    /// Of the interface's address, and of those that protocols have for themselves.
    owners: Vec<Owner>,
    set: Option<Set>,
    jobs: Vec<Job>,
    looked: Instant,
}

/// What the user is told, one line each.
fn tell(line: &str) {
    console::tell(&format!("weir-io: {line}"));
}

impl<'a> Supervisor<'a> {
    /// Makes the shared memory, sets the address. `file` is the configuration's, for the processes.
    ///
    /// # Errors
    /// What is missing, and the way out.
    pub fn new(configuration: &'a Configuration, file: &Path) -> Result<Self, Error> {
        let protocols = protocols(configuration);
        let names: Vec<_> = protocols.iter().map(|protocol| protocol.name.clone()).collect();
        if names.is_empty() {
            let text = "no protocol is configured: add [profinet], [[cclink]] or [modbus]";
            return Err(Error::new(format!("{}: {text}", file.display())));
        }
        let program = std::env::current_exe().map_err(|error| Error::new(format!("this program's path: {error}")))?;
        // Before all else: where another device runs with the memory, nothing is to be touched.
        let path = &configuration.application.memory;
        let memory = Memory::create(path, &configuration.description(&names)).map_err(|error| {
            Error::new(format!("{}: {error}; [application] memory = … names another", path.display()))
        })?;
        let Place { set, arguments } = place(configuration)?;
        let (mut owners, told) = own(configuration, None, 0)?;
        told.iter().for_each(|line| tell(line));
        let mut jobs = Vec::new();
        for (endpoint, protocol) in protocols.into_iter().enumerate() {
            let owner = if protocol.address.is_some() { owners.len() } else { 0 };
            if protocol.address.is_some() {
                let (more, told) = own(configuration, Some(&protocol), owner)?;
                told.iter().for_each(|line| tell(line));
                owners.extend(more);
            }
            let command = ["protocol".to_owned(), file.display().to_string(), protocol.name.clone()];
            let arguments = command.into_iter().chain(arguments.clone()).collect();
            let (delay, next) = (DELAYS[0], Instant::now());
            let endpoint = Some(endpoint);
            jobs.push(Job { name: protocol.name, arguments, endpoint, owner, process: None, delay, next });
        }
        if configuration.application.plugin.is_some() {
            let arguments = vec!["plugin".to_owned(), file.display().to_string()];
            let (delay, next, name) = (DELAYS[0], Instant::now(), plugin::NAME.to_owned());
            jobs.push(Job { name, arguments, endpoint: None, owner: 0, process: None, delay, next });
        }
        Ok(Self { configuration, program, memory, owners, set, jobs, looked: Instant::now() })
    }

    /// Runs until `SIGTERM` or `SIGINT`. `SIGUSR1` has all processes print what they counted.
    ///
    /// # Errors
    /// If the kernel refuses what all of it rests on.
    pub fn run(mut self) -> Result<(), Error> {
        let failed = |error: io::Error| Error::new(format!("signals: {error}"));
        let stop = signals(&[SIGTERM, SIGINT, SIGHUP]).map_err(failed)?;
        let print = signals(&[SIGUSR1]).map_err(failed)?;
        let address = self.owners[0].address().ip;
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
                match start(&self.program, &job.arguments, self.owners[job.owner].address()) {
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
            if !process.is_silent {
                watched.push(PollFd::new(&process.socket, PollFlags::IN));
            }
        }
        let patience = Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: i64::from(patience.subsec_nanos()) };
        match poll(&mut watched, Some(&patience)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Error::new(format!("poll: {error}"))),
        }
        if !watched[1].revents().is_empty() {
            let _ = io::Read::read(&mut &*print, &mut [0; 64]);
            self.tell_all(Message::Counters, |_| true);
        }
        Ok(!watched[0].revents().is_empty())
    }

    fn tell_all(&self, message: Message, whom: impl Fn(&Job) -> bool) {
        for process in self.jobs.iter().filter(|job| whom(job)).filter_map(|job| job.process.as_ref()) {
            // One that does not read is dying or hangs; the supervisor does neither.
            let _ = message.send(&process.socket);
        }
    }

    /// Looks which processes have died. Their outputs come first, then all else.
    fn reap(&mut self) {
        for job in &mut self.jobs {
            let Some(process) = &mut job.process else { continue };
            let Ok(Some(status)) = process.child.try_wait() else { continue };
            match job.endpoint {
                Some(endpoint) => lose(self.configuration, &self.memory, endpoint),
                None => lose_inputs(&self.memory),
            }
            if process.since.elapsed() >= GOOD_RUN {
                job.delay = DELAYS[0];
            }
            let safe = if job.endpoint.is_some() { " its outputs are safe;" } else { "" };
            tell(&format!("{}: {};{safe} again in {:?}", job.name, what_happened(status), job.delay));
            job.process = None;
            job.next = Instant::now() + job.delay;
            job.delay = DELAYS[1].min(2 * job.delay);
        }
    }

    /// Hears what processes want.
    fn hear(&mut self) {
        for n in 0..self.jobs.len() {
            let Some(process) = &mut self.jobs[n].process else { continue };
            let request = match Message::receive(&process.socket, false) {
                Ok(Some(Message::Request(request))) => request,
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    process.is_silent = true;
                    continue;
                }
                _ => continue,
            };
            let owner = self.jobs[n].owner;
            match self.owners[owner].request(request) {
                Ok(line) => {
                    tell(&format!("{}: {line}", self.jobs[n].name));
                    self.address_changed(owner);
                }
                Err(error) => tell(&format!("{}: {error}", self.jobs[n].name)),
            }
        }
    }

    fn address_changed(&mut self, owner: usize) {
        for other in self.owners.iter_mut().skip(1) {
            other.restore().unwrap_or_else(|error| tell(&error.to_string()));
        }
        self.tell_all(Message::Address(self.owners[owner].address()), |job| job.owner == owner);
    }

    fn look_at_address(&mut self) {
        if self.looked.elapsed() < LOOK {
            return;
        }
        self.looked = Instant::now();
        for n in 0..self.owners.len() {
            if let Some(address) = self.owners[n].refresh() {
                tell(&format!("{} has the address {} now", self.owners[n].label(), address.ip));
                self.address_changed(n);
            }
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
                loop {
                    let rest = until.saturating_duration_since(Instant::now());
                    let rest = Timespec { tv_sec: rest.as_secs() as i64, tv_nsec: i64::from(rest.subsec_nanos()) };
                    match poll(&mut [PollFd::new(&process.ended, PollFlags::IN)], Some(&rest)) {
                        // A second signal, as of `timeout`, which sends one to the group, too.
                        Err(rustix::io::Errno::INTR) => {}
                        _ => break,
                    }
                }
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
        if let Some(set) = &self.set {
            set.remove();
        }
        tell("stopped; all outputs are safe");
    }
}

/// Takes over an address: the interface's, or the one of a protocol that has one for itself.
fn own(
    configuration: &Configuration,
    protocol: Option<&Protocol<'_>>,
    number: usize,
) -> Result<(Vec<Owner>, Vec<String>), Error> {
    let Fitting { state, address_changes, .. } = &configuration.fitting;
    let interface = Interface::open(&configuration.device.interface)?;
    let (configured, file) = match protocol {
        None => (configuration.device.address, "address.toml".to_owned()),
        Some(protocol) => (protocol.address, format!("address-{}.toml", protocol.name)),
    };
    let (owner, told) = Owner::start(interface, number, configured, state.join(file), *address_changes)?;
    Ok((vec![owner], told))
}

/// Where the processes run, and the arguments that tell them.
struct Place {
    set: Option<Set>,
    arguments: Vec<String>,
}

/// Finds a place for the cyclic lanes, and checks that they fit there.
fn place(configuration: &Configuration) -> Result<Place, Error> {
    let fitting = &configuration.fitting;
    let all = cpuset::online();
    let online = all.len();
    let hierarchy = Hierarchy::find();
    let make = |cpu| Set::make(&hierarchy, &configuration.device.name, cpu);
    let (set, pinned) = match fitting.cpu {
        Cpu::Any => (None, None),
        // One is left for all else; version 1 gives nobody a CPU alone, and takes SCHED_DEADLINE away.
        Cpu::Auto if online > 1 && matches!(hierarchy, Hierarchy::Two(_)) => match make(all[online - 1]) {
            Ok(set) => (Some(set), None),
            Err(error) => {
                tell(&format!("{error}; the cycle shares all CPUs"));
                (None, None)
            }
        },
        Cpu::Auto => (None, None),
        Cpu::Number(cpu) => match make(cpu) {
            Ok(set) if set.is_exclusive => (Some(set), None),
            Ok(set) => {
                tell(&format!("CPU {cpu} is not exclusive: cpuset is of version 1 here, see `weir-io tune`"));
                (Some(set), Some(cpu))
            }
            Err(error) => {
                tell(&format!("{error}; the cycle is pinned to it, others run there, too"));
                (None, Some(cpu))
            }
        },
    };
    if pinned.is_some() && fitting.policy == Policy::Deadline {
        let way_out = "leave out [fitting] cpu, or boot with cgroup version 2";
        return Err(Error::new(format!("SCHED_DEADLINE needs a partition of CPUs, and there is none: {way_out}")));
    }
    if let Some(runtime) = fitting.runtime {
        let cpus = if set.as_ref().is_some_and(|set| set.is_exclusive) { 1 } else { online };
        let admitted = cyclic_lanes(configuration).and_then(|lanes| policy::admit(&lanes, runtime, cpus));
        admitted.inspect_err(|_| set.iter().for_each(Set::remove))?;
    }
    let argument = |name: &str, value: String| [name.to_owned(), value];
    let arguments = set.iter().map(|set| argument("--set", set.path.display().to_string()));
    let arguments = arguments.chain(pinned.map(|cpu| argument("--cpu", cpu.to_string()))).flatten().collect();
    Ok(Place { set, arguments })
}

/// Puts the outputs of a process that is dead to their safe values.
fn lose(configuration: &Configuration, memory: &Memory, endpoint: usize) {
    let stale_after = configuration.application.stale_after;
    Endpoint::new(memory, endpoint, configuration.points.safe.clone(), stale_after, now());
}

/// Tells all protocols that the inputs of an application that is dead are not good.
fn lose_inputs(memory: &Memory) {
    let image = vec![0; memory.plan().inputs];
    for endpoint in 0..memory.plan().endpoints {
        Door::new(memory, endpoint).publish(now(), false, &image);
    }
}

fn start(program: &Path, arguments: &[String], address: Address) -> io::Result<Process> {
    let (socket, theirs) = message::pair()?;
    Message::Address(address).send(&socket)?;
    let child = Command::new(program).args(arguments).stdin(Stdio::from(theirs)).spawn()?;
    let ended = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
    Ok(Process { child, ended, socket, is_silent: false, since: Instant::now() })
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
