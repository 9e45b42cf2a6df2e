// SPDX-License-Identifier: Apache-2.0
//! The other machines: who is there, how much they have to do, and what happens when one is not there any more.

use super::*;

impl Node {
    /// Whether another node sent this to us as we are since our start, and for the first time.
    pub(super) fn check_sender(&mut self, now: Instant, header: Header) -> Result<(), Dropped> {
        if header.token != self.pen.session() {
            return Err(Dropped::Stranger);
        }
        if !self.senders.contains_key(&header.sender) && self.senders.len() >= SENDERS_MAX {
            let silent = self.senders.iter().min_by_key(|(session, sender)| (sender.heard, **session));
            let silent = silent.map(|(session, _)| *session);
            silent.map(|session| self.senders.remove(&session));
        }
        let sender =
            self.senders.entry(header.sender).or_insert_with(|| Sender { heard: now, window: Window::default() });
        if !sender.window.accept(header.sequence) {
            return Err(Dropped::Replayed);
        }
        sender.heard = now;
        Ok(())
    }

    pub(super) fn check_peer(&mut self, now: Instant, from: SocketAddr, header: Header) -> Result<&mut Peer, Dropped> {
        if self.peers.get(&from).is_none_or(|peer| peer.member.session != header.sender) {
            return Err(Dropped::Stranger);
        }
        self.check_sender(now, header)?;
        let peer = self.peers.get_mut(&from).ok_or(Dropped::Stranger)?;
        peer.heard = Some(now);
        peer.link.came(now, header.sent_at);
        Ok(peer)
    }

    /// A node whose session we do not know, or not any more, told us. Membership is for who knows the session of the
    /// other: a recording has that of an earlier start, or of another node.
    pub(super) fn session_of(&mut self, now: Instant, from: SocketAddr, header: Header) -> Result<(), Dropped> {
        let known = self.peers.get(&from).is_some_and(|peer| peer.member.session == header.sender);
        if known || !(self.config.seeds.contains(&from) || self.membership.remembers(from)) {
            return Err(Dropped::Unexpected);
        }
        self.check_sender(now, header)?;
        self.membership.join(from, header.sender);
        self.after_membership(now);
        Ok(())
    }

    pub(super) fn after_membership(&mut self, now: Instant) {
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
                Change::WeWereDead => self.we_were_dead(),
            }
        }
    }

    pub(super) fn came_up(&mut self, now: Instant, member: Member) {
        if let Some(peer) = self.peers.get_mut(&member.address)
            && peer.member.session == member.session
        {
            peer.member = member;
            return;
        }
        let peer =
            Peer { member, density: 0.0, heard: None, link: Link::default(), mirror: Queue::new(1, self.config.costs) };
        self.peers.insert(member.address, Box::new(peer));
        self.out.push_back(Output::Event(Event::Up(member.address)));
        if self.is_neighbour(member.address) {
            let density = self.load(now);
            self.tell(now, member.address, &Message::Load { density });
        }
    }

    pub(super) fn went_down(&mut self, now: Instant, member: Member) {
        let address = member.address;
        if self.peers.get(&address).is_none_or(|p| p.member.session != member.session) {
            return;
        }
        self.peers.remove(&address);
        self.out.push_back(Output::Event(Event::Down(address)));
        let mut concerned: Vec<TaskId> = Vec::new();
        let mut unguarded: Vec<TaskId> = Vec::new();
        for (id, record) in &mut self.tasks {
            match &record.state {
                State::Away { holder, disowned: false } if *holder == address => concerned.push(*id),
                State::Asking { peer, .. } if *peer == address => concerned.push(*id),
                State::Here { guardian: Some(guardian), .. } if guardian.node == address => unguarded.push(*id),
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
            self.given_up(now, id, address);
            self.give_copy_to_next(now, id, None);
        }
    }

    /// The others have given up what we run. Whether they have it run elsewhere we cannot know: its copy may have been
    /// lost, or refused by one who took us for dead already. So we go on; the client takes the first result.
    pub(super) fn we_were_dead(&mut self) {
        for record in self.tasks.values_mut() {
            if let State::Away { disowned, .. } = &mut record.state {
                *disowned = true;
            }
        }
    }

    pub(super) fn given_up(&mut self, now: Instant, id: TaskId, holder: SocketAddr) {
        if let Some(peer) = self.peers.get_mut(&holder) {
            peer.mirror.remove(now, id);
        }
        self.out.push_back(Output::Event(Event::GivenUp(id, holder)));
    }

    /// Those with whom loads and tasks are exchanged: the next in the order of addresses, on both sides.
    pub(super) fn neighbours(&self) -> impl Iterator<Item = &Peer> {
        let own = self.config.address;
        let half = self.config.neighbours / 2;
        let up = self.peers.range(own..).chain(self.peers.range(..own)).take(half);
        let down = self.peers.range(..own).rev().chain(self.peers.range(own..).rev());
        let down = down.take(half.min(self.peers.len().saturating_sub(half)));
        up.chain(down).map(|(_, peer)| &**peer)
    }

    pub(super) fn is_neighbour(&self, address: SocketAddr) -> bool {
        self.neighbours().any(|p| p.member.address == address)
    }

    /// A task with its time in a peer's clock. It errs by the delay between the two, to the early side.
    pub(super) fn in_clock_of(&self, now: Instant, peer: SocketAddr, mut task: Task) -> Option<Task> {
        let offset_and_delay = self.peers.get(&peer)?.link.one_way(now, 0.0)?;
        task.leave_by = task.leave_by.shifted(offset_and_delay.saturating_neg());
        Some(task)
    }

    pub(super) fn share_load(&mut self, now: Instant) {
        let density = self.load(now);
        let to: Vec<SocketAddr> = self.neighbours().map(|p| p.member.address).collect();
        for address in to {
            self.tell(now, address, &Message::Load { density });
        }
        self.after(now, self.config.load_period, Timer::Load);
    }

    /// Once a second: joins again who is alone, or has forgotten a seed, for a site may have been in halves for long;
    /// forgets who is silent.
    pub(super) fn sweep(&mut self, now: Instant) {
        let alone = self.peers.is_empty();
        for seed in self.config.seeds.clone() {
            if seed != self.config.address && (alone || !self.membership.remembers(seed)) {
                self.membership.join(seed, 0);
            }
        }
        self.after_membership(now);
        self.clients.retain(|_, client| now.since(client.heard) <= CLIENT_SILENT_MAX);
        let period = if self.peers.is_empty() { Duration::from_millis(200) } else { Duration::from_secs(1) };
        self.after(now, period, Timer::Sweep);
    }
}
