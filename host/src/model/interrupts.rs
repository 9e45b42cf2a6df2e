// SPDX-License-Identifier: Apache-2.0
//! The interrupt lines, and the handler that runs when one is high.

use super::costs::{Class, Mark, Regime, Role, Stretch};
use super::device::{Device, Path};
use super::flows::CONTROL;
use super::paths::Verdict;
use super::threads::{NET, handle};
use crate::observe::{Drop, Observed};
use crate::scenario::Variant;

/// A handler that runs.
#[derive(Debug)]
pub(super) struct Handler {
    began: u64,
    pub(super) remaining: u64,
    last: Mark,
    next: Mark,
    regime: Regime,
    class: Class,
    x: f64,
    /// Of the eager half: frames that it may still take, has taken, and the one under way with its flow and verdict.
    budget: u32,
    served: u32,
    pub(super) frame: Option<(usize, usize, Verdict)>,
    eager: bool,
}

impl Device<'_> {
    pub(super) fn poll_at(&self) -> Option<u64> {
        match &self.path {
            Path::Stock(_) => None,
            Path::Library(path) => path.poll_at,
            Path::Multiqueue(path) => path.poll_at,
        }
    }

    fn nic_line(&self) -> bool {
        match &self.path {
            Path::Stock(path) => path.ring.line,
            Path::Library(path) => path.ring.line && path.interrupt_enabled,
            Path::Multiqueue(path) => path.queues.line(),
        }
    }

    fn timer_line(&self) -> bool {
        self.timed.iter().any(|(_, at, _)| *at <= self.now) || self.poll_line()
    }

    fn poll_line(&self) -> bool {
        self.poll_at().is_some_and(|at| at <= self.now)
    }

    pub(super) fn note_lines(&mut self) {
        let any = self.tick || self.nic_line() || self.timer_line();
        self.asked = any.then(|| self.asked.unwrap_or(self.now));
    }

    /// When the next interrupt is taken, as it looks now.
    pub(super) fn interrupt_at(&self) -> Option<u64> {
        if self.handler.is_some() || self.threads[self.running].in_kernel {
            return None;
        }
        Some((self.asked? + self.entry_cycles).max(self.now))
    }

    pub(super) fn enter_handler(&mut self) -> Result<(), String> {
        let nic = self.nic_line();
        let (timer, poll) = (self.timer_line(), self.poll_line());
        self.emit(Observed::EnterIsr { nic });
        let (class, x) = match (self.tick, nic) {
            (true, true) => (Class::NicAndTick, self.tick_releases()),
            (true, false) => (Class::Tick, self.tick_releases()),
            (false, true) => (Class::NicLine, 0.0),
            (false, false) => (Class::Timer, 0.0),
        };
        let mut slice = false;
        if self.tick {
            self.tick = false;
            self.handled_tick = self.next_tick - self.tick_cycles;
            slice = self.ready.count(self.threads[self.running].priority) > 1;
        }
        if timer {
            self.release_timed();
        }
        self.asked = None;
        let mut handler = Handler {
            began: self.now,
            remaining: 0,
            last: Mark::In,
            next: Mark::Out,
            regime: Regime::First,
            class,
            x,
            budget: 0,
            served: 0,
            frame: None,
            eager: false,
        };
        let wake = self.receive(&mut handler, nic, poll);
        if let Some(priority) = wake {
            self.wake_network(priority);
        }
        if slice {
            self.threads[self.running].yields = true;
        }
        self.handler = Some(handler);
        self.handler_aim()
    }

    /// What the handler does for the receive path at its entry; the priority of what waits for the network task.
    fn receive(&mut self, handler: &mut Handler, nic: bool, poll: bool) -> Option<u32> {
        let now = self.now;
        match &mut self.path {
            Path::Stock(path) => {
                if nic {
                    path.ring.line = false;
                    self.notify_driver();
                }
                None
            }
            Path::Library(path) => {
                if nic || poll {
                    path.ring.line = false;
                    path.poll_at = path.poll_at.filter(|_| !poll);
                    handler.budget = path.begin(now, poll);
                    handler.eager = true;
                }
                None
            }
            Path::Multiqueue(path) => {
                let mut wake = None;
                if poll {
                    wake = path.timer(now);
                }
                if nic {
                    wake = path.interrupt();
                    if self.variant == Variant::Nic {
                        self.notify_driver();
                        return None;
                    }
                }
                wake
            }
        }
    }

    pub(super) fn notify_driver(&mut self) {
        self.threads[NET].notified = true;
        self.wake(NET);
    }

    /// Decides what the handler does next.
    fn handler_aim(&mut self) -> Result<(), String> {
        let switches = self.must_switch();
        let Some(mut handler) = self.handler.take() else { return Ok(()) };
        handler.next = Mark::Out;
        if handler.eager
            && handler.served < handler.budget
            && let Path::Library(path) = &mut self.path
            && let Some(buffer) = path.ring.take()
        {
            let flow = self.buffers[buffer].as_ref().map_or(CONTROL, |frame| path.flows.of(frame));
            let verdict = path.judge(self.now, flow);
            handler.next = match verdict {
                Verdict::Keep { victim: Some(_) } => Mark::Recycled,
                Verdict::Keep { victim: None } => Mark::Queued,
                Verdict::Discard(Drop::ShortCircuit) => Mark::Short,
                Verdict::Discard(_) => Mark::Limited,
            };
            handler.frame = Some((buffer, flow, verdict));
        }
        let regime = match handler.next {
            Mark::Out if switches => Regime::Next,
            Mark::Out => Regime::First,
            _ => handler.regime,
        };
        let stretch = Stretch { role: Role::Isr, from: handler.last, to: handler.next, class: handler.class, regime };
        handler.remaining = self.costs.cycles(stretch, handler.x)?;
        self.handler = Some(handler);
        Ok(())
    }

    pub(super) fn handler_mark(&mut self) -> Result<(), String> {
        let Some(mut handler) = self.handler.take() else { return Ok(()) };
        let now = self.now;
        let began = handler.began;
        if handler.next == Mark::Out {
            if handler.eager
                && let Path::Library(path) = &mut self.path
            {
                let polling = path.end(began, now, handler.served);
                let priority = path.flows.priority();
                if let Some(on) = polling {
                    self.emit(Observed::Polling(on));
                }
                if let Some(priority) = priority {
                    self.wake_network(priority);
                }
            }
            self.off_cycles_max = self.off_cycles_max.max(now - began);
            self.leave_handler();
            return Ok(());
        }
        handler.last = handler.next;
        handler.regime = Regime::Next;
        if let (Path::Library(path), Some((buffer, flow, verdict))) = (&mut self.path, handler.frame) {
            match (handler.next, verdict) {
                (Mark::Recycled, Verdict::Keep { victim: Some(victim) }) => {
                    let recycled = path.recycle(victim);
                    handler.frame = Some((buffer, flow, Verdict::Keep { victim: None }));
                    handler.next = Mark::Queued;
                    let stretch = Stretch {
                        role: Role::Isr,
                        from: Mark::Recycled,
                        to: Mark::Queued,
                        class: handler.class,
                        regime: Regime::Next,
                    };
                    handler.remaining = self.costs.cycles(stretch, 0.0)?;
                    self.handler = Some(handler);
                    if let Some(buffer) = recycled {
                        self.buffers[buffer] = None;
                        self.emit(Observed::Dropped(buffer, Drop::Recycled));
                    }
                    return Ok(());
                }
                (_, Verdict::Keep { .. }) => {
                    path.keep(buffer, flow);
                    self.emit(Observed::Queued(buffer));
                }
                (_, Verdict::Discard(why)) => {
                    path.ring.give(buffer);
                    self.buffers[buffer] = None;
                    self.emit(Observed::Dropped(buffer, why));
                }
            }
        }
        handler.served += 1;
        handler.frame = None;
        self.handler = Some(handler);
        self.handler_aim()
    }

    fn must_switch(&self) -> bool {
        let running = &self.threads[self.running];
        running.yields || self.ready.highest() > running.priority
    }

    fn leave_handler(&mut self) {
        if self.must_switch() {
            self.threads[self.running].yields = false;
            self.switch();
        } else {
            self.emit(Observed::EnterTask(handle(self.running)));
        }
    }
}
