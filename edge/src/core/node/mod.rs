// SPDX-License-Identifier: Apache-2.0
//! A machine of the site: takes tasks from clients, runs them or has them run, and sees to it that what was accepted is
//! finished even if the machine that runs it falls silent (thesis 8.3, 8.5).
//!
//! A **node** has workers of its own and hands on what it cannot finish in time. A **scheduler** has none, knows its
//! workers' queues and chooses among them. A **worker** runs what schedulers hand it. Whoever handed a task on keeps a
//! copy; who runs a task that came from a client gives a copy to another node. The copy is taken up when the one who
//! runs it is given up, and not before.

mod clients;
mod config;
mod copies;
mod output;
mod peers;
mod tasks;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub use config::Config;
pub use output::{Counters, Event, Output};

use super::auth::SiteKey;
use super::link::Link;
use super::membership::{self, Change, Member, Membership, Role};
use super::message::{Dropped, Header, Message, OTHERS_MAX, PAYLOAD_BYTES_MAX, Pen, read};
use super::queue::{Job, Order, Queue, Strategy, choose};
use super::replay::Window;
use super::task::{Exit, Refusal, Task, TaskId};
use super::time::{Instant, nanoseconds};

/// How long a task is remembered after its result had to leave: for late duplicates.
const REMEMBER: Duration = Duration::from_secs(2);
/// A result that is wanted later is remembered for so long.
const BUDGET_MAX: Duration = Duration::from_secs(3600);
/// A client that was not heard for this long is forgotten.
const CLIENT_SILENT_MAX: Duration = Duration::from_secs(30);
/// A peer whose load was not heard for so many periods is not asked.
const LOAD_PERIODS_MAX: u32 = 5;
/// Other nodes' sessions of which it is known what was heard; beyond it the one that was silent for longest is forgotten.
const SENDERS_MAX: usize = 16_384;
/// How often a peer is asked, and a result sent, before it is given up.
const ASKED_MAX: u8 = 2;
const RESULT_SENT_MAX: u8 = 8;
/// How often a copy is sent to one guardian before the next one gets it, and how many get it.
const COPY_SENT_MAX: u8 = 3;
const GUARDIANS_MAX: u8 = 3;

struct Peer {
    member: Member,
    density: f64,
    heard: Option<Instant>,
    link: Link,
    /// Of a scheduler: the queue of this worker as far as it knows.
    mirror: Queue,
}

/// Of another node's session, whether it is a member or not: one that comes back goes on counting.
struct Sender {
    heard: Instant,
    window: Window,
}

struct Client {
    address: SocketAddr,
    token: u64,
    window: Window,
    heard: Instant,
}

/// Who keeps a copy of what we run.
struct Guardian {
    node: SocketAddr,
    /// How often the copy was sent to it, and how many others had failed to take it.
    sent: u8,
    failed: u8,
    /// Of the copy that was sent last.
    attempt: u8,
    /// Whether it has the copy.
    has_it: bool,
}

impl Guardian {
    /// Who asked us to run it.
    fn asker(node: SocketAddr) -> Self {
        Self { node, sent: 0, failed: 0, attempt: 0, has_it: true }
    }
}

enum State {
    /// In a queue of ours.
    Here { worker: usize, guardian: Option<Guardian> },
    /// A peer is asked, for the how-manieth time.
    Asking { peer: SocketAddr, at: Instant, count: u8, tried: Vec<SocketAddr> },
    /// A peer runs it; this is the copy. It is not taken up if the others took us for dead meanwhile: the peer has given
    /// it to another one then.
    Away { holder: SocketAddr, disowned: bool },
    /// It ended here; the client has the result if it is acknowledged.
    Ended { result: Message, sent: u8, acknowledged: bool },
    /// Nobody runs it.
    Refused(Refusal),
}

struct Record {
    task: Task,
    /// Whether a client asked us; otherwise a node did.
    from_client: bool,
    /// Whether it was accepted once.
    accepted: bool,
    /// When nothing of it is remembered any more.
    forget_at: Instant,
    state: State,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Membership(membership::Timer),
    Load,
    Sweep,
    Ask(TaskId, u8),
    Copy(TaskId, u8, u8),
    Result(TaskId),
    Forget(TaskId),
}

/// One machine.
pub struct Node {
    config: Config,
    pen: Pen,
    rng: ChaCha8Rng,
    membership: Membership,
    peers: BTreeMap<SocketAddr, Box<Peer>>,
    senders: HashMap<u64, Sender>,
    clients: HashMap<u64, Client>,
    /// Of which clients' tokens are made.
    tokens: SiteKey,
    tasks: HashMap<TaskId, Record>,
    /// How many of them each client has.
    tasks_of: HashMap<u64, usize>,
    queues: Vec<Queue>,
    timers: BinaryHeap<Reverse<(Instant, u64, Timer)>>,
    timers_made: u64,
    out: VecDeque<Output>,
    counters: Counters,
}

impl Node {
    /// Starts a machine. `seed` is random, and differs with each start.
    pub fn new(config: Config, key: SiteKey, now: Instant, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let session = rng.next_u64();
        let own = Member {
            address: config.address,
            for_clients: config.for_clients.unwrap_or(config.address),
            session,
            comeback: 0,
            started_ms: config.started_ms,
            role: config.role,
        };
        let mut secret = [0; 32];
        rng.fill_bytes(&mut secret);
        let queues = match config.reference {
            true => vec![Queue::new(config.workers, config.costs)],
            false => (0..config.workers).map(|_| Queue::new(1, config.costs)).collect(),
        };
        let mut node = Self {
            pen: Pen::new(key, session),
            membership: Membership::new(own, config.timing, rng.next_u64()),
            rng,
            peers: BTreeMap::new(),
            senders: HashMap::new(),
            clients: HashMap::new(),
            tokens: SiteKey::new(&secret),
            tasks: HashMap::new(),
            tasks_of: HashMap::new(),
            queues,
            timers: BinaryHeap::new(),
            timers_made: 0,
            out: VecDeque::new(),
            counters: Counters::default(),
            config,
        };
        let first = node.rng.next_u64() % (nanoseconds(node.config.load_period).max(1));
        node.after(now, Duration::from_nanos(first), Timer::Load);
        node.after(now, Duration::ZERO, Timer::Sweep);
        node
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.config.address
    }

    /// What it counted.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The other machines that it knows to be there.
    pub fn members(&self) -> impl Iterator<Item = &Member> {
        self.peers.values().map(|peer| &peer.member)
    }

    /// Whether it knows a machine to be there.
    pub fn knows(&self, address: SocketAddr) -> bool {
        self.peers.contains_key(&address)
    }

    /// Whether it knows another to be there as what it is since its last start.
    pub fn knows_anew(&self, other: &Self) -> bool {
        self.peers.get(&other.config.address).is_some_and(|peer| peer.member.session == other.pen.session())
    }

    /// How much there is to do, over all workers.
    pub fn density(&self, now: Instant) -> f64 {
        self.queues.iter().map(|q| q.density(now)).sum::<f64>() / self.queues.len().max(1) as f64
    }

    /// The same in thousandths, as messages have it.
    fn load(&self, now: Instant) -> u32 {
        (1000.0 * self.density(now)) as u32
    }

    /// How many tasks, clients and timers it remembers: none grows without limit.
    pub fn remembered(&self) -> (usize, usize, usize) {
        (self.tasks.len(), self.clients.len(), self.timers.len())
    }

    /// How many tasks are in its queues.
    pub fn queued(&self) -> usize {
        self.queues.iter().map(Queue::len).sum()
    }

    /// The next thing to be done, until there is none.
    pub fn poll(&mut self) -> Option<Output> {
        self.out.pop_front()
    }

    /// When [`Node::handle_timeout`] is to be called.
    pub fn timeout(&self) -> Instant {
        let timer = self.timers.peek().map_or(Instant::NEVER, |Reverse((at, _, _))| *at);
        let overrun =
            self.queues.iter().filter_map(Queue::overrun_at).map(|(at, _)| at + self.config.overrun_tolerance);
        overrun.min().map_or(timer, |overrun| timer.min(overrun))
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Instant) {
        for worker in 0..self.queues.len() {
            while let Some((at, id)) = self.queues[worker].overrun_at()
                && at + self.config.overrun_tolerance <= now
            {
                self.out.push_back(Output::Kill(id));
                self.ended(now, id, Exit::Overrun, now.since(at) + self.wcet(id), Vec::new());
            }
        }
        while let Some(Reverse((at, _, _))) = self.timers.peek()
            && *at <= now
            && let Some(Reverse((_, _, timer))) = self.timers.pop()
        {
            match timer {
                Timer::Membership(timer) => {
                    self.membership.timer(timer);
                    self.after_membership(now);
                }
                Timer::Load => self.share_load(now),
                Timer::Sweep => self.sweep(now),
                Timer::Ask(id, count) => self.ask_again(now, id, count),
                Timer::Copy(id, failed, sent) => self.give_copy_again(now, id, failed, sent),
                Timer::Result(id) => self.send_result(now, id),
                Timer::Forget(id) => self.forget(now, id),
            }
        }
    }

    /// A datagram came.
    pub fn handle_datagram(&mut self, now: Instant, from: SocketAddr, datagram: &[u8]) {
        let outcome = read(self.pen.key(), from, datagram).and_then(|(header, message)| {
            self.counters.received += 1;
            self.handle(now, from, header, message)
        });
        if let Err(dropped) = outcome {
            *self.counters.dropped.entry(dropped).or_default() += 1;
        }
    }

    /// A program ended. Programs that were killed, or that nobody waits for, may be reported, too.
    pub fn handle_exit(&mut self, now: Instant, id: TaskId, exit: Exit, execution: Duration, mut output: Vec<u8>) {
        output.truncate(PAYLOAD_BYTES_MAX);
        if matches!(self.tasks.get(&id), Some(Record { state: State::Here { .. }, .. })) {
            self.ended(now, id, exit, execution, output);
        }
    }

    /// Says goodbye, so that nobody has to wait for its silence.
    pub fn leave(&mut self, now: Instant) {
        self.membership.leave();
        self.after_membership(now);
    }

    fn handle(&mut self, now: Instant, from: SocketAddr, header: Header, message: Message) -> Result<(), Dropped> {
        match message {
            Message::Hello => self.hello(now, from, header),
            Message::Membership(bytes) => {
                if header.token != self.pen.session() {
                    self.send(now, from, header.sender, &Message::Session);
                    return Err(Dropped::Stranger);
                }
                self.check_sender(now, header)?;
                let understood = self.membership.handle(&bytes);
                self.after_membership(now);
                if understood { Ok(()) } else { Err(Dropped::Malformed) }
            }
            Message::Session => self.session_of(now, from, header),
            Message::Submit(task) => {
                self.check_client(now, from, header)?;
                if self.config.role == Role::Worker {
                    return Err(Dropped::Unexpected);
                }
                self.submitted(now, task);
                Ok(())
            }
            Message::Cancel { number, attempt } => {
                self.check_client(now, from, header)?;
                self.give_up(now, TaskId { client: header.sender, number }, attempt, true);
                Ok(())
            }
            Message::ResultAck { number } => {
                // Without a token: the client may have never talked to this machine, and to hear it twice means nothing.
                let id = TaskId { client: header.sender, number };
                if let Some(Record { state: State::Ended { acknowledged, .. }, .. }) = self.tasks.get_mut(&id) {
                    *acknowledged = true;
                }
                Ok(())
            }
            Message::Load { density } => {
                self.check_peer(now, from, header)?.density = f64::from(density) / 1000.0;
                Ok(())
            }
            Message::Forward(task) => {
                self.check_peer(now, from, header)?;
                self.forwarded(now, from, task);
                Ok(())
            }
            Message::ForwardAnswer { id, attempt, refused } => {
                self.check_peer(now, from, header)?;
                self.answered(now, from, id, attempt, refused);
                Ok(())
            }
            Message::Guard(task) => {
                self.check_peer(now, from, header)?;
                self.guard(now, from, task)
            }
            Message::Withdraw { id, attempt } => {
                self.check_peer(now, from, header)?;
                self.withdrawn(now, from, id, attempt);
                Ok(())
            }
            Message::Finished { id, .. } => {
                let peer = self.check_peer(now, from, header)?;
                peer.mirror.remove(now, id);
                self.finished_elsewhere(from, id);
                Ok(())
            }
            Message::Welcome { .. } | Message::Accept { .. } | Message::Reject { .. } | Message::Result { .. } => {
                Err(Dropped::Unexpected)
            }
        }
    }

    fn tell(&mut self, now: Instant, peer: SocketAddr, message: &Message) {
        if let Some(session) = self.peers.get(&peer).map(|p| p.member.session) {
            self.send(now, peer, session, message);
        }
    }

    fn send(&mut self, now: Instant, to: SocketAddr, token: u64, message: &Message) {
        let datagram = self.pen.write(now, token, message);
        self.counters.sent += 1;
        self.counters.sent_bytes += datagram.len() as u64;
        self.out.push_back(Output::Send(to, datagram));
    }

    fn at(&mut self, at: Instant, timer: Timer) {
        self.timers_made += 1;
        self.timers.push(Reverse((at, self.timers_made, timer)));
    }

    fn after(&mut self, now: Instant, after: Duration, timer: Timer) {
        self.at(now + after, timer);
    }
}
