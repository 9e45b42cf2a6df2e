// SPDX-License-Identifier: Apache-2.0
//! A device that hands tasks to the machines nearby, and learns at once whether they will be back in time.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::auth::SiteKey;
use super::link::Link;
use super::message::{Dropped, Header, Message, PAYLOAD_BYTES_MAX, PROGRAM_BYTES_MAX, Pen, read};
use super::replay::Window;
use super::task::{Exit, Refusal, Task, TaskId};
use super::time::Instant;

/// Nodes that are known at once.
const NODES_MAX: usize = 8;
/// How often one that is not close is asked whether it is still there, and how often one of these makes room for another
/// that a node names.
const EXCHANGE_PERIOD: Duration = Duration::from_secs(2);
/// How often a task is sent to one node before another is tried.
const SENT_MAX: u8 = 2;
/// How many nodes are tried for one task.
const ATTEMPTS_MAX: u8 = 3;
/// A node that left so many hellos unanswered is not used.
const UNANSWERED_MAX: u32 = 3;
/// How long after its deadline a result is still waited for, to tell late from lost.
const LATE_MAX: Duration = Duration::from_millis(500);

/// What a client is told before it starts.
#[derive(Clone, Debug)]
pub struct Config {
    /// Nodes that it knows from the start.
    pub nodes: Vec<SocketAddr>,
    /// The factor U: what is reserved for the way back is this times the delay that `share` of the datagrams kept.
    pub uncertainty: f64,
    /// See `uncertainty`.
    pub share: f64,
    /// What is reserved besides.
    pub margin: Duration,
    /// How many nodes are kept close: those with the shortest round trips.
    pub closest: usize,
    /// How often these are measured; the others every two seconds.
    pub hello_period: Duration,
    /// How much longer than the longest round trip an answer may take.
    pub answer: Duration,
    /// Tasks under way at once.
    pub tasks_max: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            uncertainty: 1.0,
            share: 0.99,
            margin: Duration::from_millis(1),
            closest: 3,
            hello_period: Duration::from_millis(200),
            answer: Duration::from_millis(15),
            tasks_max: 64,
        }
    }
}

/// What becomes of a task. After [`Outcome::Accepted`] comes one of the last three, after anything else nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It will be back in time. Comes again if another machine had to take it over.
    Accepted {
        /// The machine that runs it.
        holder: SocketAddr,
    },
    /// It will not be done: time for the fallback.
    Rejected(Refusal),
    /// It is back.
    Result {
        /// How the program ended.
        exit: Exit,
        /// Its output.
        output: Vec<u8>,
        /// How long it executed.
        execution: Duration,
        /// Completion less deadline, in nanoseconds: negative is in time.
        lateness: i64,
    },
    /// It was accepted and did not come back.
    Lost,
}

/// What is to be done for a client.
#[derive(Clone, Debug)]
pub enum Output {
    /// Send a datagram.
    Send(SocketAddr, Vec<u8>),
    /// Tell the application.
    Outcome(TaskId, Outcome),
    /// A node does not answer, and the attempt to have a task done by it is given up. For those who watch.
    GivenUp(TaskId, SocketAddr),
}

struct Known {
    session: u64,
    token: u64,
    link: Link,
    window: Window,
    next_hello: Instant,
    unanswered: u32,
    /// How much it has to do, by its last welcome: in quarters of a worker.
    load: u32,
    /// By which the client breaks ties.
    rank: u64,
}

struct Pending {
    task: Task,
    due: Instant,
    node: SocketAddr,
    tried: Vec<SocketAddr>,
    sent: u8,
    /// When something has to be done for it.
    next: Instant,
    accepted: bool,
}

/// One device.
pub struct Client {
    config: Config,
    pen: Pen,
    rng: ChaCha8Rng,
    next_exchange: Instant,
    nodes: BTreeMap<SocketAddr, Known>,
    tasks: BTreeMap<u32, Pending>,
    submitted: u32,
    out: VecDeque<Output>,
    dropped: BTreeMap<Dropped, u64>,
}

impl Client {
    /// Starts a client. `seed` is random, and differs with each start.
    pub fn new(config: Config, key: SiteKey, now: Instant, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut client = Self {
            pen: Pen::new(key, rng.next_u64()),
            rng,
            next_exchange: now,
            nodes: BTreeMap::new(),
            tasks: BTreeMap::new(),
            submitted: 0,
            out: VecDeque::new(),
            dropped: BTreeMap::new(),
            config,
        };
        for node in client.config.nodes.clone() {
            client.learn(now, node);
        }
        client
    }

    /// The next thing to be done, until there is none.
    pub fn poll(&mut self) -> Option<Output> {
        self.out.pop_front()
    }

    /// Datagrams that changed nothing, by reason.
    pub fn dropped(&self) -> &BTreeMap<Dropped, u64> {
        &self.dropped
    }

    /// How many tasks are under way.
    pub fn under_way(&self) -> usize {
        self.tasks.len()
    }

    /// The nodes that answer, nearest first, with their shortest round trip.
    pub fn closest(&self, now: Instant) -> Vec<(SocketAddr, Duration)> {
        let mut near: Vec<_> =
            self.nodes.iter().filter_map(|(address, known)| Some((known.order(now)?, *address))).collect();
        near.sort();
        near.into_iter().filter_map(|(_, a)| Some((a, self.nodes[&a].link.round_trip_min(now)?))).collect()
    }

    /// Hands a task to the nearest node. The result is wanted within `budget` from now; the program takes at most `wcet`.
    pub fn submit(
        &mut self,
        now: Instant,
        program: &str,
        payload: Vec<u8>,
        wcet: Duration,
        budget: Duration,
    ) -> TaskId {
        self.submitted += 1;
        let id = TaskId { client: self.pen.session(), number: self.submitted };
        let reason = match self.closest(now).first() {
            _ if self.tasks.len() >= self.config.tasks_max => Refusal::Full,
            _ if payload.len() > PAYLOAD_BYTES_MAX => Refusal::TooLarge,
            _ if program.is_empty() || program.len() > PROGRAM_BYTES_MAX => Refusal::NoProgram,
            None => Refusal::NoNode,
            Some((node, _)) => {
                let client = SocketAddr::from(([0, 0, 0, 0], 0));
                let leave_by = Instant::NEVER;
                let task = Task { id, attempt: 1, client, leave_by, wcet, program: program.to_owned(), payload };
                let (due, tried, next) = (now + budget, Vec::new(), now);
                self.tasks.insert(id.number, Pending { task, due, node: *node, tried, sent: 0, next, accepted: false });
                self.send_task(now, id.number);
                return id;
            }
        };
        self.out.push_back(Output::Outcome(id, Outcome::Rejected(reason)));
        id
    }

    /// Gives a task up: nothing more is heard of it.
    pub fn cancel(&mut self, now: Instant, id: TaskId) {
        if id.client == self.pen.session()
            && let Some(pending) = self.tasks.remove(&id.number)
        {
            self.give_up(now, pending.node, id.number, pending.task.attempt);
        }
    }

    /// When [`Client::handle_timeout`] is to be called.
    pub fn timeout(&self) -> Instant {
        let hello = self.nodes.values().map(|known| known.next_hello);
        hello.chain(self.tasks.values().map(|pending| pending.next)).min().unwrap_or(Instant::NEVER)
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Instant) {
        let due: Vec<u32> = self.tasks.iter().filter(|(_, p)| p.next <= now).map(|(number, _)| *number).collect();
        for number in due {
            self.task_timeout(now, number);
        }
        let due: Vec<SocketAddr> = self.nodes.iter().filter(|(_, k)| k.next_hello <= now).map(|(a, _)| *a).collect();
        for address in due {
            self.hello(now, address);
        }
    }

    /// A datagram came.
    pub fn handle_datagram(&mut self, now: Instant, from: SocketAddr, datagram: &[u8]) {
        let outcome = read(self.pen.key(), from, datagram).and_then(|(header, message)| {
            if header.token != self.pen.session() {
                return Err(Dropped::Stranger);
            }
            self.handle(now, from, header, message)
        });
        if let Err(dropped) = outcome {
            *self.dropped.entry(dropped).or_default() += 1;
        }
    }

    fn handle(&mut self, now: Instant, from: SocketAddr, header: Header, message: Message) -> Result<(), Dropped> {
        if let Some(known) = self.nodes.get_mut(&from) {
            let welcome = match &message {
                Message::Welcome { asked_at, .. } => Some(*asked_at),
                _ => None,
            };
            if known.session != header.sender
                && let Some(asked_at) = welcome
            {
                // Only the answer to a hello of ours brings a new session: a recording has an old time in it.
                if now.since(asked_at) > Duration::from_secs(1) || asked_at > now {
                    return Err(Dropped::Replayed);
                }
                known.session = header.sender;
                known.link = Link::default();
                known.window = Window::default();
            }
            if known.session == header.sender {
                if !known.window.accept(header.sequence) {
                    return Err(Dropped::Replayed);
                }
                known.link.came(now, header.sent_at);
            } else {
                // Started anew, and already works for us at another node's request. Tasks are numbered once, so that a
                // recording of its answers means nothing.
                known.next_hello = now;
            }
        }
        match message {
            Message::Welcome { asked_at, token, density, others } => {
                let Some(known) = self.nodes.get_mut(&from) else { return Err(Dropped::Stranger) };
                known.token = token;
                known.unanswered = 0;
                known.load = density / 250;
                known.link.answered(now, asked_at);
                for other in others {
                    self.learn(now, other);
                }
            }
            Message::Accept { number, attempt, holder } => self.accepted(now, from, number, attempt, holder),
            Message::Reject { number, attempt, reason } => {
                if let Some(pending) = self.tasks.get(&number)
                    && pending.task.attempt == attempt
                {
                    let id = pending.task.id;
                    self.tasks.remove(&number);
                    self.out.push_back(Output::Outcome(id, Outcome::Rejected(reason)));
                }
            }
            Message::Result { number, exit, execution, output } => {
                let token = self.nodes.get(&from).map_or(0, |known| known.token);
                self.send(now, from, token, &Message::ResultAck { number });
                if let Some(pending) = self.tasks.remove(&number) {
                    let lateness = now.minus(pending.due);
                    let outcome = Outcome::Result { exit, output, execution, lateness };
                    self.out.push_back(Output::Outcome(pending.task.id, outcome));
                }
            }
            _ => return Err(Dropped::Unexpected),
        }
        Ok(())
    }

    fn accepted(&mut self, now: Instant, from: SocketAddr, number: u32, attempt: u8, holder: SocketAddr) {
        let Some(pending) = self.tasks.get_mut(&number) else { return };
        if attempt < pending.task.attempt && !pending.accepted {
            // Given up meanwhile; it may not have heard of it.
            self.give_up(now, from, number, attempt);
            return;
        }
        pending.accepted = true;
        pending.next = pending.due + LATE_MAX;
        self.out.push_back(Output::Outcome(pending.task.id, Outcome::Accepted { holder }));
    }

    fn task_timeout(&mut self, now: Instant, number: u32) {
        let Some(pending) = self.tasks.get_mut(&number) else { return };
        if pending.accepted {
            let id = pending.task.id;
            self.tasks.remove(&number);
            self.out.push_back(Output::Outcome(id, Outcome::Lost));
            return;
        }
        if pending.sent < SENT_MAX {
            self.send_task(now, number);
            return;
        }
        let (node, attempt) = (pending.node, pending.task.attempt);
        self.give_up(now, node, number, attempt);
        self.out.push_back(Output::GivenUp(TaskId { client: self.pen.session(), number }, node));
        if let Some(known) = self.nodes.get_mut(&node) {
            known.unanswered += 1;
        }
        let near = self.closest(now);
        let Some(pending) = self.tasks.get_mut(&number) else { return };
        pending.tried.push(node);
        let next = near.iter().map(|(a, _)| *a).find(|a| !pending.tried.contains(a));
        match next {
            Some(next) if attempt < ATTEMPTS_MAX && now + pending.task.wcet <= pending.due => {
                pending.node = next;
                pending.task.attempt += 1;
                pending.sent = 0;
                self.send_task(now, number);
            }
            _ => {
                let id = pending.task.id;
                self.tasks.remove(&number);
                self.out.push_back(Output::Outcome(id, Outcome::Rejected(Refusal::NoNode)));
            }
        }
    }

    fn send_task(&mut self, now: Instant, number: u32) {
        let Some(pending) = self.tasks.get_mut(&number) else { return };
        let Some(known) = self.nodes.get(&pending.node) else { return };
        let due = pending.due - self.config.margin;
        let leave_by = known.link.leave_by(now, due, self.config.share, self.config.uncertainty);
        let round_trip = known.link.round_trip_max(now).unwrap_or_default();
        pending.task.leave_by = leave_by.unwrap_or(Instant(0));
        pending.sent += 1;
        pending.next = now + round_trip + self.config.answer;
        let (node, token, task) = (pending.node, known.token, pending.task.clone());
        self.send(now, node, token, &Message::Submit(task));
    }

    fn give_up(&mut self, now: Instant, node: SocketAddr, number: u32, attempt: u8) {
        if let Some(known) = self.nodes.get(&node) {
            let token = known.token;
            self.send(now, node, token, &Message::Cancel { number, attempt });
        }
    }

    fn learn(&mut self, now: Instant, address: SocketAddr) {
        if self.nodes.contains_key(&address) {
            return;
        }
        if self.nodes.len() >= NODES_MAX {
            if now < self.next_exchange {
                return;
            }
            self.next_exchange = now + EXCHANGE_PERIOD;
            let near: Vec<SocketAddr> = self.closest(now).iter().take(self.config.closest).map(|(a, _)| *a).collect();
            let busy: Vec<SocketAddr> = self.tasks.values().map(|pending| pending.node).collect();
            let idle: Vec<SocketAddr> =
                self.nodes.keys().filter(|a| !near.contains(a) && !busy.contains(a)).copied().collect();
            let Some(goes) = idle.get(self.rng.random_range(0..idle.len().max(1))) else { return };
            self.nodes.remove(goes);
        }
        let known = Known {
            session: 0,
            token: 0,
            link: Link::default(),
            window: Window::default(),
            next_hello: now,
            unanswered: 0,
            load: 0,
            rank: self.rng.next_u64(),
        };
        self.nodes.insert(address, known);
    }

    fn hello(&mut self, now: Instant, address: SocketAddr) {
        let near = self.closest(now).iter().take(self.config.closest).any(|(a, _)| *a == address);
        let settled = self.nodes.len() <= self.config.closest;
        let Some(known) = self.nodes.get_mut(&address) else { return };
        known.unanswered += 1;
        let period = if near || settled { self.config.hello_period } else { EXCHANGE_PERIOD };
        known.next_hello = now + period;
        let token = known.token;
        self.send(now, address, token, &Message::Hello);
    }

    fn send(&mut self, now: Instant, to: SocketAddr, token: u64, message: &Message) {
        let datagram = self.pen.write(now, token, message);
        self.out.push_back(Output::Send(to, datagram));
    }
}

impl Known {
    /// By which nodes are chosen: the round trip in whole milliseconds, then how much they have to do, then the client's
    /// own order, so that not all clients turn to the same of several equals. None if it does not answer.
    fn order(&self, now: Instant) -> Option<(u128, u32, u64)> {
        let answers = self.token != 0 && self.unanswered <= UNANSWERED_MAX;
        answers.then_some(())?;
        Some((self.link.round_trip_min(now)?.as_millis(), self.load, self.rank))
    }
}
