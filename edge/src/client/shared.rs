// SPDX-License-Identifier: Apache-2.0
//! What a client's thread and those who submit share.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime};

use super::{Config, Outcome, SiteKey, Task, TaskId, is_last};
use crate::core::client::{self, Output};
use crate::core::message::DATAGRAM_BYTES_MAX;
use crate::core::time::Instant;
use crate::machine::clock::Clock;
use crate::machine::driver::timespec;

pub(super) type Listener = Box<dyn FnMut(Outcome) + Send>;

struct Inner {
    core: client::Client,
    listeners: HashMap<TaskId, Arc<Mutex<Listener>>>,
    /// When the timer wakes the thread.
    wakes: Instant,
    stop: bool,
}

/// One for the nodes of each version of IP, as far as the machine has it.
#[derive(Debug)]
struct Sockets {
    v4: io::Result<UdpSocket>,
    v6: io::Result<UdpSocket>,
}

impl Sockets {
    /// The error names the node that cannot be reached for want of its version.
    fn open(nodes: &[SocketAddr]) -> io::Result<Self> {
        let open = |any: IpAddr| {
            let socket = UdpSocket::bind((any, 0))?;
            socket.set_nonblocking(true)?;
            Ok(socket)
        };
        let sockets = Self { v4: open(Ipv4Addr::UNSPECIFIED.into()), v6: open(Ipv6Addr::UNSPECIFIED.into()) };
        for node in nodes {
            if let Err(error) = sockets.towards(*node) {
                return Err(io::Error::new(error.kind(), format!("no socket for node {node}: {error}")));
            }
        }
        Ok(sockets)
    }

    fn towards(&self, node: SocketAddr) -> Result<&UdpSocket, &io::Error> {
        if node.is_ipv4() { self.v4.as_ref() } else { self.v6.as_ref() }
    }

    fn iter(&self) -> impl Iterator<Item = &UdpSocket> {
        self.v4.iter().chain(self.v6.iter())
    }
}

pub(super) struct Shared {
    inner: Mutex<Inner>,
    sockets: Sockets,
    clock: Clock,
    timer: OwnedFd,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("sockets", &self.sockets).finish_non_exhaustive()
    }
}

impl Shared {
    pub(super) fn open(config: Config, key: SiteKey) -> io::Result<Self> {
        let sockets = Sockets::open(&config.nodes)?;
        let clock = Clock::default();
        let core = client::Client::new(config, key, clock.now(), rand::random());
        let inner = Inner { core, listeners: HashMap::new(), wakes: Instant::NEVER, stop: false };
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        Ok(Self { inner: Mutex::new(inner), sockets, clock, timer })
    }

    pub(super) fn submit(&self, task: &Task, listener: Listener) -> TaskId {
        let mut inner = self.lock();
        let now = self.clock.now();
        let id = inner.core.submit(now, &task.program, task.payload.clone(), task.wcet, task.budget);
        inner.listeners.insert(id, Arc::new(Mutex::new(listener)));
        self.carry_out(inner);
        id
    }

    pub(super) fn cancel(&self, id: TaskId) {
        let mut inner = self.lock();
        inner.listeners.remove(&id);
        let now = self.clock.now();
        inner.core.cancel(now, id);
        self.carry_out(inner);
    }

    pub(super) fn nodes(&self) -> Vec<(SocketAddr, Duration)> {
        self.lock().core.closest(self.clock.now())
    }

    pub(super) fn stop(&self) {
        let mut inner = self.lock();
        inner.stop = true;
        // Nothing more comes: who still waits for a task is told so.
        inner.listeners.clear();
        self.wake_at(&mut inner, self.clock.now());
    }

    /// The thread. Says once when the first node answered.
    pub(super) fn run(&self, answered: mpsc::Sender<()>) {
        let mut answered = Some(answered);
        let mut buffer = [0; DATAGRAM_BYTES_MAX + 1];
        loop {
            let mut inner = self.lock();
            if inner.stop {
                return;
            }
            let now = self.clock.now();
            inner.core.handle_timeout(now);
            if answered.is_some() && !inner.core.closest(now).is_empty() {
                // Nobody waits any more if it took too long.
                let _ = answered.take().map(|answered| answered.send(()));
            }
            inner.wakes = Instant::NEVER;
            self.carry_out(inner);
            let sockets = self.sockets.iter().map(|socket| PollFd::new(socket, PollFlags::IN));
            let mut ready: Vec<PollFd> = sockets.chain([PollFd::new(&self.timer, PollFlags::IN)]).collect();
            // It fails only if interrupted.
            let _ = poll(&mut ready, None);
            let _ = rustix::io::read(&self.timer, &mut [0; 8]);
            for socket in self.sockets.iter() {
                while let Ok((length, from)) = socket.recv_from(&mut buffer) {
                    let mut inner = self.lock();
                    inner.core.handle_datagram(self.clock.now(), from, &buffer[..length]);
                    self.carry_out(inner);
                }
            }
        }
    }

    /// Sends what is to be sent, then tells the listeners with the lock released: they may submit again.
    fn carry_out(&self, mut inner: MutexGuard<Inner>) {
        let mut told = Vec::new();
        while let Some(output) = inner.core.poll() {
            match output {
                // A datagram that does not go is one that is lost: it is sent again. A node that others name may have
                // a version of IP that this machine does not have.
                Output::Send(to, datagram) => {
                    drop(self.sockets.towards(to).map(|socket| socket.send_to(&datagram, to)))
                }
                Output::Outcome(id, outcome) if is_last(&outcome) => told.push((inner.listeners.remove(&id), outcome)),
                Output::Outcome(id, outcome) => told.push((inner.listeners.get(&id).cloned(), outcome)),
                Output::GivenUp(..) => {}
            }
        }
        let timeout = inner.core.timeout();
        if timeout < inner.wakes {
            self.wake_at(&mut inner, timeout);
        }
        drop(inner);
        for (listener, outcome) in told {
            if let Some(listener) = listener {
                listener.lock().unwrap_or_else(PoisonError::into_inner)(outcome);
            }
        }
    }

    /// Sets the timer, which does not wake the thread before it has something to do.
    fn wake_at(&self, inner: &mut Inner, at: Instant) {
        inner.wakes = at;
        // A timer of zero would never go off.
        let left = self.clock.until(at).unwrap_or(Duration::MAX).max(Duration::from_nanos(1));
        let once = Itimerspec { it_interval: timespec(Duration::ZERO), it_value: timespec(left) };
        // It fails only for times that are none.
        let _ = timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A listener that panics does so without the lock.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
