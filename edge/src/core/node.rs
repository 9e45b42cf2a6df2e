// SPDX-License-Identifier: Apache-2.0
//! A machine of the site: takes tasks from clients, runs them or has them run, and sees to it that what was accepted is
//! finished even if the machine that runs it falls silent (thesis 8.3, 8.5).
//!
//! A **node** has workers of its own and hands on what it cannot finish in time. A **scheduler** has none, knows its
//! workers' queues and chooses among them. A **worker** runs what schedulers hand it. Whoever handed a task on keeps a
//! copy; who runs a task that came from a client gives a copy to another node. The copy is taken up when the one who
//! runs it is given up, and not before.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::auth::SiteKey;
use super::link::Link;
use super::membership::{self, Change, Member, Membership, Role, Timing};
use super::message::{Dropped, Header, Message, OTHERS_MAX, PAYLOAD_BYTES_MAX, Pen, read};
use super::queue::{Costs, Job, Order, Queue, Strategy, choose};
use super::replay::Window;
use super::task::{Exit, Refusal, Task, TaskId};
use super::time::Instant;

/// How long a task is remembered after its result had to leave: for late duplicates.
const REMEMBER: Duration = Duration::from_secs(2);
/// A client that was not heard for this long is forgotten.
const CLIENT_SILENT_MAX: Duration = Duration::from_secs(30);
/// A peer whose load was not heard for so many periods is not asked.
const LOAD_PERIODS_MAX: u32 = 5;
/// How often a peer is asked, and a result sent, before it is given up.
const ASKED_MAX: u8 = 2;
const RESULT_SENT_MAX: u8 = 8;

/// What a machine is told before it starts.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the others reach it.
    pub address: SocketAddr,
    /// Where clients reach it, if that is elsewhere.
    pub for_clients: Option<SocketAddr>,
    /// What it is to the others.
    pub role: Role,
    /// How many jobs it can run at once. A scheduler has 0.
    pub workers: usize,
    /// How one of its workers is chosen, or a scheduler's.
    pub strategy: Strategy,
    /// The papers' reference instead: one queue before all own workers, and no acceptance test but that the worst case
    /// fits before the deadline. For comparison.
    pub reference: bool,
    /// What it can run. A scheduler leaves this to its workers.
    pub programs: Vec<String>,
    /// What handling a job costs.
    pub costs: Costs,
    /// By how much a job may exceed its worst case before it is stopped.
    pub overrun_tolerance: Duration,
    /// How many others are asked for one task.
    pub asked_max: usize,
    /// How long one may take to answer.
    pub answer: Duration,
    /// With how many others it exchanges loads and tasks.
    pub neighbours: usize,
    /// How often.
    pub load_period: Duration,
    /// Clients that are known at once.
    pub clients_max: usize,
    /// Tasks that are known at once, in any state.
    pub tasks_max: usize,
    /// Nodes through which it joins the others.
    pub seeds: Vec<SocketAddr>,
    /// How soon silence is noticed.
    pub timing: Timing,
    /// When it is started, by the calendar in milliseconds.
    pub started_ms: u64,
}

impl Config {
    /// A node with one worker, alone.
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            for_clients: None,
            role: Role::Node,
            workers: 1,
            strategy: Strategy::WorstFit,
            reference: false,
            programs: Vec::new(),
            costs: Costs::default(),
            overrun_tolerance: Duration::from_millis(1),
            asked_max: 3,
            answer: Duration::from_millis(10),
            neighbours: 16,
            load_period: Duration::from_millis(100),
            clients_max: 4096,
            tasks_max: 4096,
            seeds: Vec::new(),
            timing: Timing::default(),
            started_ms: 0,
        }
    }
}

/// What is to be done for a node.
#[derive(Clone, Debug)]
pub enum Output {
    /// Send a datagram.
    Send(SocketAddr, Vec<u8>),
    /// Start a task's program on one of the workers.
    Start(usize, Task),
    /// Let its program stand still.
    Stop(TaskId),
    /// Go on with it.
    Continue(TaskId),
    /// End its program; nothing is expected of it any more.
    Kill(TaskId),
    /// For those who watch.
    Event(Event),
}

/// What happened to a task, for logs, metrics and the simulator's invariants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A client's task came here.
    Submitted(TaskId),
    /// This machine will run this attempt.
    Accepted(TaskId, u8),
    /// Nobody will.
    Refused(TaskId, Refusal),
    /// This machine does not count any more on the other one's running it.
    GivenUp(TaskId, SocketAddr),
    /// This machine does not run it any more: the client or the others gave it up.
    Dropped(TaskId),
    /// It ended.
    Ended(TaskId, Exit),
}

/// Counts since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Datagrams that changed nothing, by reason.
    pub dropped: BTreeMap<Dropped, u64>,
    /// Datagrams that were understood.
    pub received: u64,
    /// Datagrams sent, and their bytes.
    pub sent: u64,
    /// Their bytes, without those of UDP and IP.
    pub sent_bytes: u64,
    /// Tasks that clients submitted here.
    pub submitted: u64,
    /// Tasks accepted by this machine.
    pub accepted: u64,
    /// Submitted tasks that nobody took.
    pub refused: u64,
    /// Times that another was asked.
    pub asked: u64,
    /// Tasks of others, given up, that were placed again.
    pub taken_over: u64,
    /// Jobs that ended well.
    pub done: u64,
    /// Jobs stopped at their worst case.
    pub overrun: u64,
    /// Jobs whose program failed.
    pub failed: u64,
}

struct Peer {
    member: Member,
    density: f64,
    heard: Option<Instant>,
    link: Link,
    window: Window,
    /// Of a scheduler: the queue of this worker as far as it knows.
    mirror: Queue,
}

struct Client {
    address: SocketAddr,
    token: u64,
    window: Window,
    heard: Instant,
}

enum State {
    /// In a queue of ours.
    Here { worker: usize, guardian: Option<SocketAddr> },
    /// A peer is asked, for the how-manieth time.
    Asking { peer: SocketAddr, at: Instant, count: u8, tried: Vec<SocketAddr> },
    /// A peer runs it; this is the copy.
    Away { holder: SocketAddr },
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
    state: State,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Membership(membership::Timer),
    Load,
    Sweep,
    Ask(TaskId, u8),
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
    clients: HashMap<u64, Client>,
    tasks: HashMap<TaskId, Record>,
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
        let queues = match config.reference {
            true => vec![Queue::new(config.workers, config.costs)],
            false => (0..config.workers).map(|_| Queue::new(1, config.costs)).collect(),
        };
        let mut node = Self {
            pen: Pen::new(key, session),
            membership: Membership::new(own, config.timing, rng.next_u64()),
            rng,
            peers: BTreeMap::new(),
            clients: HashMap::new(),
            tasks: HashMap::new(),
            queues,
            timers: BinaryHeap::new(),
            timers_made: 0,
            out: VecDeque::new(),
            counters: Counters::default(),
            config,
        };
        let first = node.rng.next_u64() % (super::time::nanoseconds(node.config.load_period).max(1));
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

    /// How much there is to do, over all workers.
    pub fn density(&self, now: Instant) -> f64 {
        self.queues.iter().map(|q| q.density(now)).sum::<f64>() / self.queues.len().max(1) as f64
    }

    /// How many tasks, clients and timers it remembers: none grows without limit.
    pub fn remembered(&self) -> (usize, usize, usize) {
        (self.tasks.len(), self.clients.len(), self.timers.len())
    }

    /// Whether a task is in one of its queues.
    pub fn runs(&self, id: TaskId) -> bool {
        self.queues.iter().any(|q| q.has(id))
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
                let understood = self.membership.handle(&bytes);
                self.after_membership(now);
                if understood { Ok(()) } else { Err(Dropped::Malformed) }
            }
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
                self.check_client(now, from, header)?;
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
                self.give_up(now, id, attempt, false);
                Ok(())
            }
            Message::Finished { id, .. } => {
                let peer = self.check_peer(now, from, header)?;
                peer.mirror.remove(now, id);
                if matches!(self.tasks.get(&id), Some(Record { state: State::Away { holder }, .. }) if *holder == from)
                {
                    self.tasks.remove(&id);
                }
                Ok(())
            }
            Message::Welcome { .. } | Message::Accept { .. } | Message::Reject { .. } | Message::Result { .. } => {
                Err(Dropped::Unexpected)
            }
        }
    }

    // Clients

    fn hello(&mut self, now: Instant, from: SocketAddr, header: Header) -> Result<(), Dropped> {
        if self.config.role == Role::Worker {
            return Err(Dropped::Unexpected);
        }
        if !self.clients.contains_key(&header.sender) {
            if self.clients.len() >= self.config.clients_max {
                return Err(Dropped::Limit);
            }
            let token = self.rng.next_u64();
            self.clients.insert(header.sender, Client { address: from, token, window: Window::default(), heard: now });
        }
        let Some(client) = self.clients.get_mut(&header.sender) else { return Err(Dropped::Limit) };
        if !client.window.accept(header.sequence) {
            return Err(Dropped::Replayed);
        }
        client.heard = now;
        let token = client.token;
        let others = self.neighbours().filter(|p| p.member.role != Role::Worker).take(OTHERS_MAX);
        let others = others.map(|p| p.member.for_clients).collect();
        let density = (1000.0 * self.density(now)) as u32;
        let welcome = Message::Welcome { asked_at: header.sent_at, token, density, others };
        self.send(now, from, header.sender, &welcome);
        Ok(())
    }

    fn check_client(&mut self, now: Instant, from: SocketAddr, header: Header) -> Result<(), Dropped> {
        let client = self.clients.get_mut(&header.sender).filter(|c| c.token == header.token);
        let client = client.ok_or(Dropped::Stranger)?;
        if !client.window.accept(header.sequence) {
            return Err(Dropped::Replayed);
        }
        client.heard = now;
        client.address = from;
        Ok(())
    }

    fn send_to_client(&mut self, now: Instant, task: &Task, message: &Message) {
        let to = self.clients.get(&task.id.client).map_or(task.client, |c| c.address);
        self.send(now, to, task.id.client, message);
    }

    // Tasks

    fn submitted(&mut self, now: Instant, task: Task) {
        let id = task.id;
        if let Some(record) = self.tasks.get_mut(&id)
            && (task.attempt <= record.task.attempt || !matches!(record.state, State::Refused(_)))
        {
            // The answer was lost, or the client came back after it tried another.
            record.task.attempt = record.task.attempt.max(task.attempt);
            record.from_client = true;
            self.answer(now, id);
            return;
        }
        self.counters.submitted += 1;
        self.out.push_back(Output::Event(Event::Submitted(id)));
        if self.tasks.len() >= self.config.tasks_max {
            let reject = Message::Reject { number: id.number, attempt: task.attempt, reason: Refusal::Full };
            self.counters.refused += 1;
            self.send_to_client(now, &task, &reject);
            return;
        }
        let refusal = (!self.has_program(&task.program)).then_some(Refusal::NoProgram);
        self.remember(now, Record { task, from_client: true, accepted: false, state: State::Refused(Refusal::NoTime) });
        match refusal {
            Some(reason) => self.refuse(now, id, reason),
            None => self.place(now, id, Vec::new()),
        }
    }

    fn has_program(&self, program: &str) -> bool {
        self.config.role == Role::Scheduler || self.config.programs.iter().any(|p| p == program)
    }

    fn remember(&mut self, now: Instant, record: Record) {
        let id = record.task.id;
        let until = record.task.leave_by.max(now).min(now + Duration::from_secs(3600)) + REMEMBER;
        self.tasks.insert(id, record);
        self.at(until, Timer::Forget(id));
    }

    fn forget(&mut self, now: Instant, id: TaskId) {
        let Some(record) = self.tasks.get(&id) else { return };
        let until = record.task.leave_by.min(now + Duration::from_secs(3600)) + REMEMBER;
        if until > now {
            // A later attempt took its place, with a timer of its own.
            return;
        }
        self.take_from_queue(now, id);
        self.tasks.remove(&id);
    }

    /// Finds somebody for a task that nobody runs: ourselves, then others.
    fn place(&mut self, now: Instant, id: TaskId, tried: Vec<SocketAddr>) {
        let Some(record) = self.tasks.get(&id) else { return };
        let job = Job { id, deadline: record.task.leave_by, wcet: record.task.wcet };
        let worker = if self.config.reference {
            (now + job.wcet <= job.deadline).then_some(0)
        } else {
            let admitting = self.queues.iter().enumerate().filter(|(_, q)| q.admits(now, &job));
            choose(self.config.strategy, admitting.map(|(i, q)| (i, q.density(now))))
        };
        match worker {
            Some(worker) => {
                let guardian = self.guardian(&[]);
                self.accept(now, id, worker, guardian);
                self.give_copy(now, id);
            }
            None => self.ask(now, id, tried),
        }
    }

    /// Asks the next of the others, or refuses the task.
    fn ask(&mut self, now: Instant, id: TaskId, mut tried: Vec<SocketAddr>) {
        let Some(record) = self.tasks.get(&id) else { return };
        let job = Job { id, deadline: record.task.leave_by, wcet: record.task.wcet };
        let reason = if record.accepted { Refusal::Lost } else { Refusal::NoTime };
        let worth_it = now + job.wcet <= job.deadline && tried.len() < self.config.asked_max;
        let peer = if worth_it { self.best_peer(now, &job, &tried) } else { None };
        let Some(peer) = peer else {
            self.refuse(now, id, reason);
            return;
        };
        tried.push(peer);
        self.counters.asked += 1;
        if let Some(p) = self.peers.get_mut(&peer) {
            p.mirror.insert(now, job);
            p.density += job.wcet.as_secs_f64() / job.deadline.since(now).as_secs_f64();
        }
        if let Some(record) = self.tasks.get_mut(&id) {
            record.state = State::Asking { peer, at: now, count: 0, tried };
        }
        self.ask_again(now, id, 0);
    }

    fn best_peer(&mut self, now: Instant, job: &Job, tried: &[SocketAddr]) -> Option<SocketAddr> {
        let fresh = self.config.load_period * LOAD_PERIODS_MAX;
        let known =
            |p: &&Peer| p.heard.is_some_and(|heard| now.since(heard) <= fresh) && !tried.contains(&p.member.address);
        if self.config.role == Role::Scheduler {
            for peer in self.peers.values_mut() {
                // The news that a job ended may have been lost.
                while let Some((at, id)) = peer.mirror.overrun_at()
                    && at + Duration::from_millis(100) < now
                {
                    peer.mirror.remove(now, id);
                }
            }
            let peers = self.peers.values().map(|p| &**p).filter(|p| p.member.role != Role::Scheduler).filter(known);
            let admitting = peers.filter(|p| p.mirror.admits(now, job));
            return choose(self.config.strategy, admitting.map(|p| (p.member.address, p.mirror.density(now))));
        }
        let peers = self.neighbours().filter(|p| p.member.role == Role::Node).filter(known);
        choose(Strategy::WorstFit, peers.map(|p| (p.member.address, p.density)))
    }

    /// Sends the question, or sends it again; a peer that does not answer is given up.
    fn ask_again(&mut self, now: Instant, id: TaskId, due: u8) {
        let Some(Record { task, state: State::Asking { peer, count, tried, .. }, .. }) = self.tasks.get_mut(&id) else {
            return;
        };
        if *count != due {
            return;
        }
        let (peer, attempt) = (*peer, task.attempt);
        if *count == ASKED_MAX {
            let tried = std::mem::take(tried);
            self.tell(now, peer, &Message::Withdraw { id, attempt });
            self.given_up(now, id, peer);
            self.ask(now, id, tried);
            return;
        }
        *count += 1;
        let count = *count;
        let task = task.clone();
        if let Some(task) = self.in_clock_of(now, peer, task) {
            self.tell(now, peer, &Message::Forward(task));
        }
        self.after(now, self.config.answer, Timer::Ask(id, count));
    }

    fn answered(&mut self, now: Instant, from: SocketAddr, id: TaskId, attempt: u8, refused: Option<Refusal>) {
        let Some(record) = self.tasks.get_mut(&id) else { return };
        let State::Asking { peer, at, count, tried } = &mut record.state else { return };
        if *peer != from || attempt != record.task.attempt {
            return;
        }
        let (at, first) = (*at, *count == 1);
        match refused {
            None => {
                if record.accepted {
                    self.counters.taken_over += 1;
                }
                record.accepted = true;
                record.state = State::Away { holder: from };
            }
            Some(_) => {
                let tried = std::mem::take(tried);
                if let Some(peer) = self.peers.get_mut(&from) {
                    peer.mirror.remove(now, id);
                }
                self.ask(now, id, tried);
            }
        }
        if first && let Some(peer) = self.peers.get_mut(&from) {
            peer.link.answered(now, at);
        }
    }

    /// A peer has a task for us.
    fn forwarded(&mut self, now: Instant, from: SocketAddr, task: Task) {
        let (id, attempt) = (task.id, task.attempt);
        if let Some(record) = self.tasks.get_mut(&id) {
            match &mut record.state {
                // Asked again, or by another node to which the client turned.
                State::Here { guardian, .. } => {
                    record.task.attempt = record.task.attempt.max(attempt);
                    *guardian = Some(from);
                    self.tell(now, from, &Message::ForwardAnswer { id, attempt, refused: None });
                    return;
                }
                State::Ended { .. } => {
                    self.tell(now, from, &Message::ForwardAnswer { id, attempt, refused: None });
                    self.tell(now, from, &Message::Finished { id, execution: Duration::ZERO });
                    return;
                }
                State::Refused(reason) if record.task.attempt == attempt && !record.from_client => {
                    let refused = Some(*reason);
                    self.tell(now, from, &Message::ForwardAnswer { id, attempt, refused });
                    return;
                }
                State::Refused(_) => {}
                // The other has it from us, or we are asking another for it: what comes from an earlier attempt ends.
                State::Away { .. } | State::Asking { .. } => {
                    if attempt < record.task.attempt {
                        let refused = Some(Refusal::NoTime);
                        self.tell(now, from, &Message::ForwardAnswer { id, attempt, refused });
                        return;
                    }
                    self.withdraw(now, id);
                }
            }
        }
        let full = self.tasks.len() >= self.config.tasks_max;
        let job = Job { id, deadline: task.leave_by, wcet: task.wcet };
        let admitting = self.queues.iter().enumerate().filter(|(_, q)| q.admits(now, &job));
        let worker = choose(self.config.strategy, admitting.map(|(i, q)| (i, q.density(now))));
        let refused = match worker {
            _ if full => Some(Refusal::Full),
            _ if !self.has_program(&task.program) => Some(Refusal::NoProgram),
            Some(_) => None,
            None => Some(Refusal::NoTime),
        };
        self.tell(now, from, &Message::ForwardAnswer { id, attempt, refused });
        if !full {
            let state = State::Refused(refused.unwrap_or(Refusal::NoTime));
            self.remember(now, Record { task, from_client: false, accepted: false, state });
        }
        if let (None, Some(worker)) = (refused, worker) {
            self.accept(now, id, worker, Some(from));
        }
    }

    /// A peer runs this and wants us to keep a copy.
    fn guard(&mut self, now: Instant, from: SocketAddr, task: Task) -> Result<(), Dropped> {
        if let Some(record) = self.tasks.get_mut(&task.id) {
            if let State::Away { holder } = &mut record.state {
                *holder = from;
            }
            return Ok(());
        }
        if self.tasks.len() >= self.config.tasks_max {
            return Err(Dropped::Limit);
        }
        self.remember(now, Record { task, from_client: false, accepted: true, state: State::Away { holder: from } });
        Ok(())
    }

    fn accept(&mut self, now: Instant, id: TaskId, worker: usize, guardian: Option<SocketAddr>) {
        let Some(record) = self.tasks.get_mut(&id) else { return };
        if record.accepted {
            self.counters.taken_over += 1;
        }
        record.accepted = true;
        record.state = State::Here { worker, guardian };
        let job = Job { id, deadline: record.task.leave_by, wcet: record.task.wcet };
        self.counters.accepted += 1;
        self.out.push_back(Output::Event(Event::Accepted(id, record.task.attempt)));
        let orders = self.queues[worker].insert(now, job);
        self.carry_out(worker, &orders);
        self.answer(now, id);
    }

    fn refuse(&mut self, now: Instant, id: TaskId, reason: Refusal) {
        let Some(record) = self.tasks.get_mut(&id) else { return };
        record.state = State::Refused(reason);
        self.counters.refused += 1;
        self.out.push_back(Output::Event(Event::Refused(id, reason)));
        self.answer(now, id);
    }

    /// Tells the client how things stand with its task.
    fn answer(&mut self, now: Instant, id: TaskId) {
        let Some(record) = self.tasks.get(&id) else { return };
        let (number, attempt) = (id.number, record.task.attempt);
        let message = match &record.state {
            State::Here { .. } => Message::Accept { number, attempt, holder: self.config.address },
            State::Away { holder } => Message::Accept { number, attempt, holder: *holder },
            State::Refused(reason) => Message::Reject { number, attempt, reason: *reason },
            State::Ended { result, .. } => result.clone(),
            State::Asking { .. } => return,
        };
        let task = record.task.clone();
        self.send_to_client(now, &task, &message);
    }

    fn wcet(&self, id: TaskId) -> Duration {
        self.tasks.get(&id).map_or(Duration::ZERO, |record| record.task.wcet)
    }

    fn ended(&mut self, now: Instant, id: TaskId, exit: Exit, execution: Duration, output: Vec<u8>) {
        let Some(record) = self.tasks.get_mut(&id) else { return };
        let State::Here { worker, guardian } = record.state else { return };
        let result = Message::Result { number: id.number, exit, execution, output };
        record.state = State::Ended { result, sent: 0, acknowledged: false };
        record.task.payload = Vec::new();
        match exit {
            Exit::Done => self.counters.done += 1,
            Exit::Overrun => self.counters.overrun += 1,
            Exit::Failed => self.counters.failed += 1,
        }
        self.out.push_back(Output::Event(Event::Ended(id, exit)));
        self.send_result(now, id);
        let orders = self.queues[worker].remove(now, id);
        self.carry_out(worker, &orders);
        if let Some(guardian) = guardian {
            self.tell(now, guardian, &Message::Finished { id, execution });
        }
    }

    fn send_result(&mut self, now: Instant, id: TaskId) {
        let Some(record) = self.tasks.get_mut(&id) else { return };
        let State::Ended { result, sent, acknowledged: false } = &mut record.state else { return };
        if *sent == RESULT_SENT_MAX {
            return;
        }
        *sent += 1;
        // The first repetitions come soon, for a deadline that is near; the last ones for a link that was down.
        let pause = Duration::from_millis(25) * 2u32.pow(u32::from(*sent).min(4));
        let (task, result) = (record.task.clone(), result.clone());
        self.send_to_client(now, &task, &result);
        self.after(now, pause, Timer::Result(id));
    }

    /// What was tried up to this attempt is not wanted any more.
    fn give_up(&mut self, now: Instant, id: TaskId, attempt: u8, by_client: bool) {
        let Some(record) = self.tasks.get(&id) else { return };
        if record.task.attempt > attempt || matches!(record.state, State::Ended { .. } | State::Refused(_)) {
            return;
        }
        if by_client {
            self.withdraw(now, id);
        }
        self.take_from_queue(now, id);
        if let Some(record) = self.tasks.get_mut(&id) {
            record.state = State::Refused(Refusal::NoTime);
        }
    }

    /// Tells who runs it, or has its copy, that it need not.
    fn withdraw(&mut self, now: Instant, id: TaskId) {
        let Some(record) = self.tasks.get(&id) else { return };
        let attempt = record.task.attempt;
        let other = match &record.state {
            State::Asking { peer, .. } => Some(*peer),
            State::Away { holder } => Some(*holder),
            State::Here { guardian, .. } => *guardian,
            State::Ended { .. } | State::Refused(_) => None,
        };
        if let Some(other) = other {
            self.tell(now, other, &Message::Withdraw { id, attempt });
            if let Some(peer) = self.peers.get_mut(&other) {
                peer.mirror.remove(now, id);
            }
        }
    }

    fn take_from_queue(&mut self, now: Instant, id: TaskId) {
        if let Some(Record { state: State::Here { worker, .. }, .. }) = self.tasks.get(&id) {
            let worker = *worker;
            self.out.push_back(Output::Kill(id));
            self.out.push_back(Output::Event(Event::Dropped(id)));
            let orders = self.queues[worker].remove(now, id);
            self.carry_out(worker, &orders);
        }
    }

    fn carry_out(&mut self, worker: usize, orders: &[Order]) {
        for order in orders {
            let output = match order {
                Order::Start(id) => match self.tasks.get(id) {
                    Some(record) => Output::Start(worker, record.task.clone()),
                    None => continue,
                },
                Order::Stop(id) => Output::Stop(*id),
                Order::Continue(id) => Output::Continue(*id),
            };
            self.out.push_back(output);
        }
    }

    // Other machines

    fn check_peer(&mut self, now: Instant, from: SocketAddr, header: Header) -> Result<&mut Peer, Dropped> {
        let ours = self.pen.session();
        let peer = self.peers.get_mut(&from).filter(|p| p.member.session == header.sender && header.token == ours);
        let peer = peer.ok_or(Dropped::Stranger)?;
        if !peer.window.accept(header.sequence) {
            return Err(Dropped::Replayed);
        }
        peer.heard = Some(now);
        peer.link.came(now, header.sent_at);
        Ok(peer)
    }

    fn after_membership(&mut self, now: Instant) {
        while let Some((to, bytes)) = self.membership.to_send() {
            self.send(now, to.address, to.session, &Message::Membership(bytes));
        }
        while let Some((after, timer)) = self.membership.to_schedule() {
            self.after(now, after, Timer::Membership(timer));
        }
        while let Some(change) = self.membership.change() {
            match change {
                Change::Up(member) => self.came_up(now, member),
                Change::Down(member) => self.went_down(now, member),
                Change::WeWereDead => self.we_were_dead(now),
            }
        }
    }

    fn came_up(&mut self, now: Instant, member: Member) {
        if let Some(peer) = self.peers.get_mut(&member.address)
            && peer.member.session == member.session
        {
            peer.member = member;
            return;
        }
        let peer = Peer {
            member,
            density: 0.0,
            heard: None,
            link: Link::default(),
            window: Window::default(),
            mirror: Queue::new(1, self.config.costs),
        };
        self.peers.insert(member.address, Box::new(peer));
        if self.is_neighbour(member.address) {
            let density = (1000.0 * self.density(now)) as u32;
            self.tell(now, member.address, &Message::Load { density });
        }
    }

    fn went_down(&mut self, now: Instant, member: Member) {
        let address = member.address;
        if self.peers.get(&address).is_none_or(|p| p.member.session != member.session) {
            return;
        }
        self.peers.remove(&address);
        let mut concerned: Vec<TaskId> = Vec::new();
        let mut unguarded: Vec<TaskId> = Vec::new();
        for (id, record) in &mut self.tasks {
            match &record.state {
                State::Away { holder } if *holder == address => concerned.push(*id),
                State::Asking { peer, .. } if *peer == address => concerned.push(*id),
                State::Here { guardian: Some(guardian), .. } if *guardian == address => unguarded.push(*id),
                _ => {}
            }
        }
        // The order of a hash map is not one that a seed repeats.
        let by_deadline = |tasks: &HashMap<TaskId, Record>, id: &TaskId| (tasks[id].task.leave_by, *id);
        concerned.sort_by_key(|id| by_deadline(&self.tasks, id));
        unguarded.sort_by_key(|id| by_deadline(&self.tasks, id));
        for id in concerned {
            self.given_up(now, id, address);
            self.place(now, id, vec![address]);
        }
        for id in unguarded {
            let next = self.guardian(&[]);
            if let Some(Record { state: State::Here { guardian, .. }, .. }) = self.tasks.get_mut(&id) {
                *guardian = next;
                self.give_copy(now, id);
            }
        }
    }

    /// The others have given up what we run, and have it run elsewhere.
    fn we_were_dead(&mut self, now: Instant) {
        let guarded = |r: &Record| matches!(r.state, State::Here { guardian: Some(_), .. });
        let mut lost: Vec<TaskId> = self.tasks.iter().filter(|(_, r)| guarded(r)).map(|(id, _)| *id).collect();
        lost.sort();
        for id in lost {
            self.take_from_queue(now, id);
            if let Some(record) = self.tasks.get_mut(&id) {
                record.state = State::Refused(Refusal::Lost);
            }
        }
    }

    fn given_up(&mut self, now: Instant, id: TaskId, holder: SocketAddr) {
        if let Some(peer) = self.peers.get_mut(&holder) {
            peer.mirror.remove(now, id);
        }
        self.out.push_back(Output::Event(Event::GivenUp(id, holder)));
    }

    /// Those with whom loads and tasks are exchanged: the next in the order of addresses, on both sides.
    fn neighbours(&self) -> impl Iterator<Item = &Peer> {
        let own = self.config.address;
        let half = self.config.neighbours / 2;
        let up = self.peers.range(own..).chain(self.peers.range(..own)).take(half);
        let down = self.peers.range(..own).rev().chain(self.peers.range(own..).rev());
        let down = down.take(half.min(self.peers.len().saturating_sub(half)));
        up.chain(down).map(|(_, peer)| &**peer)
    }

    fn is_neighbour(&self, address: SocketAddr) -> bool {
        self.neighbours().any(|p| p.member.address == address)
    }

    /// Who is to keep a copy of what we run.
    fn guardian(&self, except: &[SocketAddr]) -> Option<SocketAddr> {
        if self.config.role != Role::Node {
            return None;
        }
        let nodes = self.neighbours().filter(|p| p.member.role == Role::Node && p.heard.is_some());
        nodes.map(|p| p.member.address).find(|address| !except.contains(address))
    }

    fn give_copy(&mut self, now: Instant, id: TaskId) {
        let Some(Record { task, state: State::Here { guardian: Some(guardian), .. }, .. }) = self.tasks.get(&id) else {
            return;
        };
        let (task, guardian) = (task.clone(), *guardian);
        if let Some(task) = self.in_clock_of(now, guardian, task) {
            self.tell(now, guardian, &Message::Guard(task));
        }
    }

    /// A task with its time in a peer's clock. It errs by the delay between the two, to the early side.
    fn in_clock_of(&self, now: Instant, peer: SocketAddr, mut task: Task) -> Option<Task> {
        let offset_and_delay = self.peers.get(&peer)?.link.one_way(now, 0.0)?;
        task.leave_by = task.leave_by.shifted(-offset_and_delay);
        Some(task)
    }

    fn share_load(&mut self, now: Instant) {
        let density = (1000.0 * self.density(now)) as u32;
        let to: Vec<SocketAddr> = self.neighbours().map(|p| p.member.address).collect();
        for address in to {
            self.tell(now, address, &Message::Load { density });
        }
        self.after(now, self.config.load_period, Timer::Load);
    }

    /// Once a second: joins again who is alone, forgets who is silent.
    fn sweep(&mut self, now: Instant) {
        if self.peers.is_empty() {
            for seed in self.config.seeds.clone() {
                if seed != self.config.address {
                    self.membership.join(seed);
                }
            }
            self.after_membership(now);
        }
        self.clients.retain(|_, client| now.since(client.heard) <= CLIENT_SILENT_MAX);
        let period = if self.peers.is_empty() { Duration::from_millis(200) } else { Duration::from_secs(1) };
        self.after(now, period, Timer::Sweep);
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
