// SPDX-License-Identifier: Apache-2.0
//! Runs one lane: its sockets, its timer, its turn.
//!
//! The event drives the send, not a tick: the timer stands at the absolute time that the lane names, so that lost time
//! is made up. Before every packet the lane's time is looked at, and every port has a bounded number of packets in its
//! turn: a flood neither stops the timer nor one port another.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::{Receiver, SyncSender};

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use super::Error;
use super::connections::Sent;
use super::interface::Interface;
use super::outbox::{Counts, Out, token};
pub use super::outbox::{Event, Waker};
use super::policy::{Turn, Wanted};
use super::sockets::{Socket, Taken};
use super::system::{now, thread_time};
use crate::protocol::{Address, Lane, Nanos, Outbox, Received, Source, Urgency};

/// How many packets a port has in its turn.
pub const BATCH: usize = 16;
/// No datagram and no frame is longer.
const BUFFER_BYTES: usize = 65_536;
/// What epoll tells the timer and the waker by; ports have lower ones.
const TOKEN_TIMER: u64 = u64::MAX;
const TOKEN_WAKE: u64 = u64::MAX - 1;

/// What a driver is told.
#[derive(Debug)]
pub enum Command {
    /// The address is another.
    Address(Address),
    /// Asks for what was counted.
    Counters(SyncSender<Vec<(&'static str, u64)>>),
    /// Ends.
    Stop,
}

/// What surrounds a driver.
pub struct Surroundings {
    /// Wakes this one.
    pub own: Waker,
    /// Wake the protocol's others.
    pub others: Vec<Waker>,
    /// What it is told.
    pub commands: Receiver<Command>,
    /// Where it tells.
    pub events: SyncSender<Event>,
    /// The protocol's address when it begins.
    pub address: Address,
    /// The turn that it gets, if its lane is a cyclic one.
    pub wanted: Wanted,
}

/// How much packets may take of a cyclic lane's time, and what they have taken of it.
#[derive(Debug)]
struct Allowance {
    cycle: Nanos,
    from: Nanos,
    taken: Nanos,
}

/// One lane with its sockets and its timer.
pub struct Driver {
    lane: Box<dyn Lane>,
    out: Out,
    timer: OwnedFd,
    /// What the timer stands at, if it has not expired.
    armed: Option<Option<Nanos>>,
    buffer: Box<[u8]>,
    commands: Receiver<Command>,
    /// Who wants to know what was counted.
    asked: Vec<SyncSender<Vec<(&'static str, u64)>>>,
    own: Waker,
    interface: Interface,
    wanted: Wanted,
    /// The timer and the waker alone: what is waited for when packets have had their share.
    quiet: OwnedFd,
}

impl Driver {
    /// Opens a lane's ports on an interface of the calling thread's network namespace.
    ///
    /// # Errors
    /// What is missing, and the way out.
    pub fn open(lane: Box<dyn Lane>, interface: &Interface, around: Surroundings) -> Result<Self, Error> {
        let urgency = lane.urgency();
        let ports = lane.ports().iter();
        let sockets = ports.map(|port| Socket::open(port, interface, urgency)).collect::<Result<Vec<_>, _>>()?;
        let failed = |error: Errno| Error::new(format!("{}: epoll or timer: {error}", lane.name()));
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(failed)?;
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)
            .map_err(failed)?;
        let quiet = epoll::create(CreateFlags::CLOEXEC).map_err(failed)?;
        let watch =
            |by: &OwnedFd, what, data| epoll::add(by, what, EventData::new_u64(data), EventFlags::IN).map_err(failed);
        for by in [&epoll, &quiet] {
            watch(by, timer.as_fd(), TOKEN_TIMER)?;
            watch(by, around.own.0.as_fd(), TOKEN_WAKE)?;
        }
        for (port, socket) in sockets.iter().enumerate() {
            watch(&epoll, socket.as_fd(), token(port, 0))?;
        }
        let out = Out {
            name: lane.name().to_owned(),
            sockets,
            epoll,
            address: around.address,
            others: around.others,
            events: around.events,
            counts: Counts::default(),
            lost: Vec::with_capacity(16),
        };
        let buffer = vec![0; BUFFER_BYTES].into_boxed_slice();
        let interface = Interface::open(&interface.name)?;
        let Surroundings { own, commands, wanted, .. } = around;
        Ok(Self { lane, out, timer, armed: None, buffer, commands, asked: Vec::new(), own, interface, wanted, quiet })
    }

    /// The lane's name.
    pub fn name(&self) -> &str {
        &self.out.name
    }

    /// How urgent the lane is.
    pub fn urgency(&self) -> Urgency {
        self.lane.urgency()
    }

    /// Runs until it is told to stop. Answers the lane, to look at.
    ///
    /// # Errors
    /// If its turn cannot be had, the interface is gone, or the kernel refuses the timer or epoll.
    pub fn run(mut self) -> Result<Box<dyn Lane>, Error> {
        let mut cyclic = match self.lane.urgency() {
            Urgency::Acyclic => None,
            Urgency::Cyclic(cycle) => {
                let turn = Turn::begin(self.wanted, cycle, &mut |line| self.out.tell(line))?;
                Some((turn, Allowance { cycle, from: now(), taken: 0 }))
            }
        };
        let mut ready = Vec::with_capacity(64);
        self.lane.address_changed(now(), self.interface.mac, self.out.address, &mut self.out);
        self.lane.run(now(), &mut self.out);
        loop {
            self.run_if_due();
            self.arm().map_err(|error| self.failed("timer", error))?;
            let before = cyclic.is_some().then(thread_time);
            self.wait(&mut ready, cyclic.as_mut()).map_err(|error| self.failed("epoll", error))?;
            self.out.counts.rounds += 1;
            self.run_if_due();
            let began = now();
            let is_stopped = self.serve(&ready)?;
            if let (Some((turn, allowance)), Some(before)) = (&mut cyclic, before) {
                allowance.taken += now() - began;
                turn.round(thread_time() - before, &mut |line| self.out.tell(line));
            }
            if !self.asked.is_empty() {
                let mut counters = self.counters();
                counters.extend(cyclic.iter().flat_map(|(turn, _)| turn.execution().figures()));
                for asked in self.asked.drain(..) {
                    let _ = asked.try_send(counters.clone());
                }
            }
            if is_stopped {
                self.lane.stop(now(), &mut self.out);
                return Ok(self.lane);
            }
        }
    }

    /// Waits for events: for all of them, or, when packets have had their share of the cycle, for the timer and the
    /// waker until the cycle is over.
    fn wait(&mut self, ready: &mut Vec<epoll::Event>, cyclic: Option<&mut (Turn, Allowance)>) -> Result<(), Errno> {
        ready.clear();
        let mut rest = None;
        if let Some((turn, allowance)) = cyclic {
            let now = now();
            if now >= allowance.from + allowance.cycle {
                (allowance.from, allowance.taken) = (now, 0);
            } else if allowance.taken > turn.share_of_packets() {
                self.out.counts.rests += 1;
                rest = Some(allowance.from + allowance.cycle - now);
            }
        }
        let timeout = rest.map(|rest| rustix::event::Timespec { tv_sec: 0, tv_nsec: rest.min(999_999_999) as i64 });
        let epoll = if rest.is_some() || self.tick().is_some() { &self.quiet } else { &self.out.epoll };
        match epoll::wait(epoll, rustix::buffer::spare_capacity(ready), timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Does what events ask for. Answers whether to stop.
    fn serve(&mut self, ready: &[epoll::Event]) -> Result<bool, Error> {
        for event in ready {
            match event.data.u64() {
                // The lane was looked at; setting the timer anew, also to never, makes it unreadable.
                TOKEN_TIMER => {
                    self.armed = None;
                    if self.tick().is_some() {
                        (0..self.out.sockets.len()).try_for_each(|port| self.port(port, 0, EventFlags::IN))?;
                    }
                }
                TOKEN_WAKE => {
                    if self.woken() {
                        return Ok(true);
                    }
                }
                token => self.port((token >> 32) as usize, token as u32, event.flags)?,
            }
            self.tell_lost();
        }
        Ok(false)
    }

    /// How often sockets and times are looked at, if it is not the event that drives a cyclic lane.
    fn tick(&self) -> Option<Nanos> {
        self.wanted.tick.filter(|_| self.lane.urgency() != Urgency::Acyclic)
    }

    fn failed(&self, what: &str, error: Errno) -> Error {
        Error::new(format!("{}: {what}: {error}", self.out.name))
    }

    fn run_if_due(&mut self) {
        let now = now();
        if let Some(due) = self.lane.due().filter(|due| *due <= now) {
            // A lane that wants to run again at once at its start names a time long ago; that is not lateness.
            if self.armed == Some(Some(due)) {
                self.out.counts.late_ns_max = self.out.counts.late_ns_max.max(now - due);
            }
            self.lane.run(now, &mut self.out);
            self.tell_lost();
        }
    }

    /// Sets the timer to the lane's time, unless it stands there.
    fn arm(&mut self) -> Result<(), Errno> {
        let due = match self.tick() {
            Some(tick) => Some((now() / tick + 1) * tick),
            None => self.lane.due(),
        };
        if self.armed == Some(due) {
            return Ok(());
        }
        // Zero would disarm it.
        let at = due.map_or(0, |due| due.max(1));
        let timer = Itimerspec {
            it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
            it_value: Timespec { tv_sec: (at / 1_000_000_000) as i64, tv_nsec: (at % 1_000_000_000) as i64 },
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &timer)?;
        self.armed = Some(due);
        Ok(())
    }

    /// Does what it is told. Answers whether to stop.
    fn woken(&mut self) -> bool {
        self.own.clear();
        while let Ok(command) = self.commands.try_recv() {
            match command {
                Command::Stop => return true,
                Command::Address(address) => {
                    self.out.address = address;
                    self.lane.address_changed(now(), self.interface.mac, address, &mut self.out);
                }
                Command::Counters(answer) => self.asked.push(answer),
            }
        }
        self.lane.run(now(), &mut self.out);
        false
    }

    fn port(&mut self, port: usize, connection: u32, flags: EventFlags) -> Result<(), Error> {
        if connection != 0 {
            self.connection(port, connection, flags);
            return Ok(());
        }
        for _ in 0..BATCH {
            let taken = match &mut self.out.sockets[port] {
                Socket::Tcp(connections) => {
                    match connections.accept(&self.out.epoll, |connection| token(port, connection)) {
                        Some(true) => {}
                        Some(false) => self.out.counts.connections_refused += 1,
                        None => break,
                    }
                    continue;
                }
                socket => socket.receive(&self.out.address, &mut self.buffer),
            };
            match taken {
                Ok(Taken::One { from, bytes }) => self.receive(port, from, bytes),
                Ok(Taken::Foreign) => self.out.counts.foreign_datagrams += 1,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => self.trouble(&error)?,
            }
        }
        Ok(())
    }

    fn receive(&mut self, port: usize, from: Source, bytes: usize) {
        self.run_if_due();
        let received = Received { port, from, bytes: &self.buffer[..bytes] };
        self.lane.receive(now(), received, &mut self.out);
    }

    fn connection(&mut self, port: usize, connection: u32, flags: EventFlags) {
        if flags.contains(EventFlags::OUT) {
            let Socket::Tcp(connections) = &mut self.out.sockets[port] else { return };
            if connections.flush(connection, &self.out.epoll, token(port, connection)) == Sent::Closed {
                self.out.lost.push((port, connection));
                return;
            }
        }
        for _ in 0..BATCH {
            let Socket::Tcp(connections) = &mut self.out.sockets[port] else { return };
            let Ok(bytes) = connections.receive(connection, &mut self.buffer[..BUFFER_BYTES / 16]) else { return };
            self.receive(port, Source::Connection(connection), bytes);
            if bytes == 0 {
                return;
            }
        }
    }

    /// Tells the lane which connections were lost while it sent.
    fn tell_lost(&mut self) {
        while let Some((port, connection)) = self.out.lost.pop() {
            let received = Received { port, from: Source::Connection(connection), bytes: &[] };
            self.lane.receive(now(), received, &mut self.out);
        }
    }

    /// A socket that cannot receive: the interface may be down, which passes, or gone, which does not.
    fn trouble(&mut self, error: &io::Error) -> Result<(), Error> {
        self.out.counts.receive_errors += 1;
        if self.interface.is_there() {
            return Ok(());
        }
        Err(Error::new(format!("interface {} is gone ({error})", self.interface.name)))
    }

    fn counters(&mut self) -> Vec<(&'static str, u64)> {
        let mut all = self.lane.counters();
        all.extend(self.out.counters());
        all
    }
}
