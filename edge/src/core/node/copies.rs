// SPDX-License-Identifier: Apache-2.0
//! The copy of a task that another node keeps, so that it is run should we fall silent. It is sent until it is
//! acknowledged; who does not take it is followed by the next.

use super::*;

impl Node {
    /// Those who may keep a copy: the next in the order of addresses first.
    fn guardians(&self) -> impl Iterator<Item = SocketAddr> {
        let wanted = self.config.role == Role::Node;
        let nodes = self.neighbours().filter(move |p| wanted && p.member.role == Role::Node && p.heard.is_some());
        nodes.map(|p| p.member.address)
    }

    /// Gives the copy to the first guardian, or to the one after the last, who failed to take it.
    pub(super) fn give_copy_to_next(&mut self, now: Instant, id: TaskId, last: Option<Guardian>) {
        let failed = last.as_ref().map_or(0, |last| last.failed + 1);
        let next = match &last {
            None => self.guardians().next(),
            Some(last) => self.guardians().skip_while(|node| *node != last.node).nth(1),
        };
        let next = next.filter(|_| failed < GUARDIANS_MAX);
        if let Some(Record { state: State::Here { guardian, .. }, .. }) = self.tasks.get_mut(&id) {
            *guardian = next.map(|node| Guardian { node, sent: 0, failed, attempt: 0, has_it: false });
        }
        if let Some(last) = last {
            // It may have the copy all the same: its acknowledgements may have been lost.
            self.tell(now, last.node, &Message::Withdraw { id, attempt: last.attempt });
        }
        self.give_copy_again(now, id, failed, 0);
    }

    /// Sends the copy, unless the guardian has it, or the timer is of one before or of an earlier time.
    pub(super) fn give_copy_again(&mut self, now: Instant, id: TaskId, failed: u8, sent: u8) {
        let Some(Record { task, state: State::Here { guardian, .. }, .. }) = self.tasks.get_mut(&id) else { return };
        let due = |to: &&mut Guardian| !to.has_it && (to.failed, to.sent) == (failed, sent);
        let Some(to) = guardian.as_mut().filter(due) else { return };
        if sent == COPY_SENT_MAX {
            let last = guardian.take();
            return self.give_copy_to_next(now, id, last);
        }
        to.sent += 1;
        to.attempt = task.attempt;
        let (node, task) = (to.node, task.clone());
        if let Some(task) = self.in_clock_of(now, node, task) {
            self.tell(now, node, &Message::Guard(task));
        }
        self.after(now, self.config.answer, Timer::Copy(id, failed, sent + 1));
    }

    /// The guardian has taken the copy, or has no place for it.
    pub(super) fn copy_answered(&mut self, now: Instant, from: SocketAddr, id: TaskId, refused: Option<Refusal>) {
        let Some(record) = self.tasks.get_mut(&id) else { return };
        match &mut record.state {
            State::Here { guardian, .. } => {
                let Some(to) = guardian.as_mut().filter(|to| to.node == from && to.sent > 0) else {
                    return;
                };
                to.has_it = refused.is_none();
                if refused.is_some() {
                    let last = guardian.take();
                    self.give_copy_to_next(now, id, last);
                }
            }
            // The copy was sent again and came after the news that it is not needed.
            State::Ended { .. } if refused.is_none() => {
                self.tell(now, from, &Message::Finished { id, execution: Duration::ZERO });
            }
            _ => {}
        }
    }

    /// A peer runs this and wants us to keep a copy.
    pub(super) fn guard(&mut self, now: Instant, from: SocketAddr, task: Task) -> Result<(), Dropped> {
        let (id, attempt) = (task.id, task.attempt);
        let full = self.is_full_for(id.client);
        let refused = match self.tasks.get_mut(&id) {
            Some(Record { state: State::Away { holder, disowned }, .. }) => {
                (*holder, *disowned) = (from, false);
                None
            }
            // We refused to run it; but if it was accepted since, it is a copy that was withdrawn.
            Some(record) if matches!(record.state, State::Refused(_)) => {
                let withdrawn = record.accepted && attempt <= record.task.attempt;
                if !withdrawn {
                    record.accepted = true;
                    record.task = task;
                    record.state = State::Away { holder: from, disowned: false };
                }
                withdrawn.then_some(Refusal::NoTime)
            }
            // We run it, or ran it, or have it run.
            Some(_) => None,
            None if full => Some(Refusal::Full),
            None => {
                self.remember(now, task, false, true, State::Away { holder: from, disowned: false });
                None
            }
        };
        self.tell(now, from, &Message::ForwardAnswer { id, attempt, refused });
        if refused == Some(Refusal::Full) { Err(Dropped::Limit) } else { Ok(()) }
    }
}
