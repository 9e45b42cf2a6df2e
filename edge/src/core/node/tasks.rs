// SPDX-License-Identifier: Apache-2.0
//! What becomes of a task on this machine, from its submission to its result.

use super::*;

impl Node {
    pub(super) fn submitted(&mut self, now: Instant, task: Task) {
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
        if self.is_full_for(id.client) {
            let reject = Message::Reject { number: id.number, attempt: task.attempt, reason: Refusal::Full };
            self.counters.refused += 1;
            self.send_to_client(now, id, task.client, &reject);
            return;
        }
        self.remember(now, task, true, false, State::Refused(Refusal::NoTime));
        self.place(now, id, Vec::new());
    }

    pub(super) fn has_program(&self, program: &str) -> bool {
        self.config.role == Role::Scheduler || self.config.programs.iter().any(|p| p == program)
    }

    pub(super) fn remember(&mut self, now: Instant, task: Task, from_client: bool, accepted: bool, state: State) {
        let id = task.id;
        let forget_at = task.leave_by.max(now).min(now + BUDGET_MAX) + REMEMBER;
        if self.tasks.insert(id, Record { task, from_client, accepted, forget_at, state }).is_none() {
            *self.tasks_of.entry(id.client).or_default() += 1;
        }
        self.at(forget_at, Timer::Forget(id));
    }

    /// Whether a client has its share of what is remembered: no more than is left free. So there is always room for one
    /// who has nothing here yet, however many tasks, due however late, another one submits.
    pub(super) fn is_full_for(&self, client: u64) -> bool {
        let free = self.config.tasks_max.saturating_sub(self.tasks.len());
        self.tasks_of.get(&client).copied().unwrap_or(0) >= free
    }

    fn remove(&mut self, id: TaskId) {
        if self.tasks.remove(&id).is_some()
            && let Some(count) = self.tasks_of.get_mut(&id.client)
        {
            *count -= 1;
            if *count == 0 {
                self.tasks_of.remove(&id.client);
            }
        }
    }

    pub(super) fn forget(&mut self, now: Instant, id: TaskId) {
        // A later attempt may have taken its place, with a timer of its own.
        if self.tasks.get(&id).is_some_and(|record| record.forget_at <= now) {
            self.take_from_queue(now, id);
            self.remove(id);
        }
    }

    /// Finds somebody for a task that nobody runs: ourselves, then others.
    pub(super) fn place(&mut self, now: Instant, id: TaskId, tried: Vec<SocketAddr>) {
        let Some(record) = self.tasks.get(&id) else { return };
        let job = Job::from(&record.task);
        let worker = if self.has_program(&record.task.program) { self.worker_for(now, &job) } else { None };
        match worker {
            Some(worker) => {
                self.accept(now, id, worker, None);
                self.give_copy_to_next(now, id, None);
            }
            None => self.ask(now, id, tried),
        }
    }

    /// Which of our workers can finish a job in time.
    fn worker_for(&self, now: Instant, job: &Job) -> Option<usize> {
        if self.config.reference {
            return (now + job.wcet <= job.deadline).then_some(0);
        }
        let admitting = self.queues.iter().enumerate().filter(|(_, q)| q.admits(now, job));
        choose(self.config.strategy, admitting.map(|(i, q)| (i, q.density(now))))
    }

    /// Asks the next of the others, or refuses the task.
    pub(super) fn ask(&mut self, now: Instant, id: TaskId, mut tried: Vec<SocketAddr>) {
        let Some(record) = self.tasks.get(&id) else { return };
        let job = Job::from(&record.task);
        let reason = match record.accepted {
            true => Refusal::Lost,
            false if !self.has_program(&record.task.program) => Refusal::NoProgram,
            false => Refusal::NoTime,
        };
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

    pub(super) fn best_peer(&mut self, now: Instant, job: &Job, tried: &[SocketAddr]) -> Option<SocketAddr> {
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
    pub(super) fn ask_again(&mut self, now: Instant, id: TaskId, due: u8) {
        let Some(Record { task, state: State::Asking { peer, at, count, tried }, .. }) = self.tasks.get_mut(&id) else {
            return;
        };
        // The timer may be of one who was asked before, and has answered.
        if *count != due || now.since(*at) < self.config.answer * u32::from(due) {
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

    pub(super) fn answered(
        &mut self,
        now: Instant,
        from: SocketAddr,
        id: TaskId,
        attempt: u8,
        refused: Option<Refusal>,
    ) {
        let Some(record) = self.tasks.get_mut(&id) else { return };
        let State::Asking { peer, at, count, tried } = &mut record.state else {
            return self.copy_answered(now, from, id, refused);
        };
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
                record.state = State::Away { holder: from, disowned: false };
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
    pub(super) fn forwarded(&mut self, now: Instant, from: SocketAddr, task: Task) {
        let (id, attempt) = (task.id, task.attempt);
        if let Some(record) = self.tasks.get_mut(&id) {
            match &mut record.state {
                // Asked again, or by another node to which the client turned.
                State::Here { guardian, .. } => {
                    record.task.attempt = record.task.attempt.max(attempt);
                    *guardian = Some(Guardian::asker(from));
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
        let full = self.is_full_for(id.client);
        let worker = self.worker_for(now, &Job::from(&task));
        let refused = match worker {
            _ if full => Some(Refusal::Full),
            _ if !self.has_program(&task.program) => Some(Refusal::NoProgram),
            Some(_) => None,
            None => Some(Refusal::NoTime),
        };
        self.tell(now, from, &Message::ForwardAnswer { id, attempt, refused });
        if !full {
            let state = State::Refused(refused.unwrap_or(Refusal::NoTime));
            self.remember(now, task, false, false, state);
        }
        if let (None, Some(worker)) = (refused, worker) {
            self.accept(now, id, worker, Some(Guardian::asker(from)));
        }
    }

    pub(super) fn accept(&mut self, now: Instant, id: TaskId, worker: usize, guardian: Option<Guardian>) {
        let Some(record) = self.tasks.get_mut(&id) else { return };
        if record.accepted {
            self.counters.taken_over += 1;
        }
        record.accepted = true;
        record.state = State::Here { worker, guardian };
        let job = Job::from(&record.task);
        self.counters.accepted += 1;
        self.out.push_back(Output::Event(Event::Accepted(id, record.task.attempt)));
        let orders = self.queues[worker].insert(now, job);
        self.carry_out(worker, &orders);
        self.answer(now, id);
    }

    pub(super) fn refuse(&mut self, now: Instant, id: TaskId, reason: Refusal) {
        let Some(record) = self.tasks.get_mut(&id) else { return };
        record.state = State::Refused(reason);
        self.counters.refused += 1;
        self.out.push_back(Output::Event(Event::Refused(id, reason)));
        self.answer(now, id);
    }

    /// Tells the client how things stand with its task.
    pub(super) fn answer(&mut self, now: Instant, id: TaskId) {
        let Some(record) = self.tasks.get(&id) else { return };
        let (number, attempt) = (id.number, record.task.attempt);
        let message = match &record.state {
            State::Here { .. } => Message::Accept { number, attempt, holder: self.config.address },
            State::Away { holder, .. } => Message::Accept { number, attempt, holder: *holder },
            State::Refused(reason) => Message::Reject { number, attempt, reason: *reason },
            State::Ended { result, .. } => result.clone(),
            State::Asking { .. } => return,
        };
        let client = record.task.client;
        self.send_to_client(now, id, client, &message);
    }

    pub(super) fn wcet(&self, id: TaskId) -> Duration {
        self.tasks.get(&id).map_or(Duration::ZERO, |record| record.task.wcet)
    }

    pub(super) fn ended(&mut self, now: Instant, id: TaskId, exit: Exit, execution: Duration, output: Vec<u8>) {
        let Some(record) = self.tasks.get_mut(&id) else { return };
        let State::Here { worker, guardian } = &record.state else { return };
        let (worker, guardian) = (*worker, guardian.as_ref().map(|guardian| guardian.node));
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

    /// The copy is not needed any more. What a client asked us for is remembered: it may ask again, since it has neither
    /// answer nor result yet.
    pub(super) fn finished_elsewhere(&mut self, from: SocketAddr, id: TaskId) {
        let Some(record) = self.tasks.get_mut(&id) else { return };
        let State::Away { holder, disowned } = &mut record.state else { return };
        if *holder != from {
            return;
        }
        if record.from_client {
            *disowned = true;
            record.task.payload = Vec::new();
        } else {
            self.remove(id);
        }
    }

    pub(super) fn send_result(&mut self, now: Instant, id: TaskId) {
        let Some(record) = self.tasks.get_mut(&id) else { return };
        let State::Ended { result, sent, acknowledged: false } = &mut record.state else { return };
        if *sent == RESULT_SENT_MAX {
            return;
        }
        *sent += 1;
        // The first repetitions come soon, for a deadline that is near; the last ones for a link that was down.
        let pause = Duration::from_millis(25) * 2u32.pow(u32::from(*sent).min(4));
        let (client, result) = (record.task.client, result.clone());
        self.send_to_client(now, id, client, &result);
        self.after(now, pause, Timer::Result(id));
    }

    /// What was tried up to this attempt is not wanted any more.
    pub(super) fn give_up(&mut self, now: Instant, id: TaskId, attempt: u8, by_client: bool) {
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

    /// A peer does not run this any more, or does not want it run.
    pub(super) fn withdrawn(&mut self, now: Instant, from: SocketAddr, id: TaskId, attempt: u8) {
        match self.tasks.get(&id) {
            // The client gave up there what it repeated here, and was told here that it is run there.
            Some(Record { task, state: State::Away { holder, .. }, .. })
                if *holder == from && task.attempt > attempt =>
            {
                self.given_up(now, id, from);
                self.place(now, id, Vec::new());
            }
            _ => self.give_up(now, id, attempt, false),
        }
    }

    /// Tells who runs it, or has its copy, that it need not.
    pub(super) fn withdraw(&mut self, now: Instant, id: TaskId) {
        let Some(record) = self.tasks.get(&id) else { return };
        let attempt = record.task.attempt;
        let other = match &record.state {
            State::Asking { peer, .. } => Some(*peer),
            State::Away { holder, .. } => Some(*holder),
            State::Here { guardian, .. } => guardian.as_ref().map(|guardian| guardian.node),
            State::Ended { .. } | State::Refused(_) => None,
        };
        if let Some(other) = other {
            self.tell(now, other, &Message::Withdraw { id, attempt });
            if let Some(peer) = self.peers.get_mut(&other) {
                peer.mirror.remove(now, id);
            }
        }
    }

    pub(super) fn take_from_queue(&mut self, now: Instant, id: TaskId) {
        if let Some(Record { state: State::Here { worker, .. }, .. }) = self.tasks.get(&id) {
            let worker = *worker;
            self.out.push_back(Output::Kill(id));
            self.out.push_back(Output::Event(Event::Dropped(id)));
            let orders = self.queues[worker].remove(now, id);
            self.carry_out(worker, &orders);
        }
    }

    pub(super) fn carry_out(&mut self, worker: usize, orders: &[Order]) {
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
}
