// SPDX-License-Identifier: Apache-2.0
//! The device: from one mark of its software to the next.

use std::collections::VecDeque;

use smoltcp::wire::{ArpOperation, ArpRepr, EthernetAddress};

use super::costs::{Class, Costs, Mark, Regime, Role, Stretch};
use super::flows::CONTROL;
use super::frames::{Frame, Sorter};
use super::measure::job;
use super::paths::{COPIES, Library, Multiqueue, Next, PLACES, Stock, Verdict};
use super::queues::Queues;
use super::ready::Ready;
use super::threads::{FIRST_TASK, NET, TCPIP, Thread, handle};
use crate::observe::{Drop, Observed, Observer};
use crate::scenario::{Scenario, TaskKind, Variant};
use crate::traffic::{self, FlowId, Wire, WireFrame};

/// Depth of a UDP socket's mailbox, of `tcpip_thread`'s, and datagrams that lwIP puts together at a time.
const SOCKET_MESSAGES: usize = 16;
const TCPIP_MESSAGES: usize = 64;
const REASSEMBLED: usize = 2;
/// As on `soc`.
const LOOKAHEAD_US: u64 = 10;
/// So many things at one cycle are a circle.
const EVENTS_AT_ONCE_MAX: u32 = 1_000_000;
/// Bytes on the wire beside a frame's own: preamble and check sequence.
const WIRE_BYTES: u64 = 12;

/// The receive path.
#[derive(Debug)]
pub enum Path {
    /// `stock`
    Stock(Stock),
    /// `driver`
    Library(Box<Library>),
    /// `nic` and `codesign`
    Multiqueue(Box<Multiqueue>),
}

/// A handler that runs.
#[derive(Debug)]
struct Handler {
    began: u64,
    remaining: u64,
    last: Mark,
    next: Mark,
    regime: Regime,
    class: Class,
    x: f64,
    /// Of the eager half: frames that it may still take, has taken, and the one under way with its flow and verdict.
    budget: u32,
    served: u32,
    frame: Option<(usize, usize, Verdict)>,
    eager: bool,
}

/// A device and what is attached to it.
pub struct Device<'a> {
    pub now: u64,
    pub observer: Observer,
    pub wire: Wire,
    scenario: &'a Scenario,
    variant: Variant,
    costs: Costs,
    sorter: Sorter,
    mac: [u8; 6],
    epoch: u64,
    tick_cycles: u64,
    path: Path,
    threads: Vec<Thread>,
    ready: Ready,
    running: usize,
    handler: Option<Handler>,
    // Interrupt lines, and since when one of them is high.
    next_tick: u64,
    tick: bool,
    handled_tick: u64,
    timed: Vec<(usize, u64, u64)>,
    asked: Option<u64>,
    entry_cycles: u64,
    // Frames: on the wire, in the NIC, in buffers.
    on_wire: VecDeque<(WireFrame, Frame)>,
    in_nic: VecDeque<(u64, Frame)>,
    stored: u64,
    buffers: Vec<Option<Frame>>,
    tcpip: VecDeque<usize>,
    sockets: Vec<VecDeque<usize>>,
    fragments: VecDeque<usize>,
    copies: usize,
    neighbours: Vec<std::net::Ipv4Addr>,
    // `struct weir_freertos_state`
    net_idle: bool,
    boosting: bool,
    /// Cycles of the longest time without interrupts, since it was last set to 0.
    pub off_cycles_max: u64,
}

impl<'a> Device<'a> {
    pub fn new(
        scenario: &'a Scenario,
        variant: Variant,
        costs: Costs,
        threads: Vec<Thread>,
        observer: Observer,
        wire: Wire,
        epoch: u64,
    ) -> Device<'a> {
        let cycles_per_us = u64::from(scenario.device.cpu_mhz);
        let tick_cycles = u64::from(scenario.device.tick_us) * cycles_per_us;
        let path = match variant {
            Variant::Driver => Path::Library(Box::new(Library::new(scenario, 0))),
            Variant::Nic | Variant::Codesign => {
                Path::Multiqueue(Box::new(Multiqueue::new(scenario, variant == Variant::Codesign)))
            }
            _ => Path::Stock(Stock::new(scenario.device.rx_buffers as usize)),
        };
        let entry =
            Stretch { role: Role::Nic, from: Mark::Out, to: Mark::In, class: Class::Any, regime: Regime::First };
        let mac = crate::soc::device_mac(scenario);
        let mut device = Device {
            now: 0,
            observer,
            wire,
            scenario,
            variant,
            entry_cycles: costs.cycles(entry, 0.0).unwrap_or(0),
            costs,
            sorter: Sorter::new(scenario, mac),
            mac,
            epoch,
            tick_cycles,
            path,
            running: threads.len() - 1,
            threads,
            ready: Ready::default(),
            handler: None,
            next_tick: tick_cycles,
            tick: false,
            handled_tick: 0,
            timed: Vec::new(),
            asked: None,
            on_wire: VecDeque::new(),
            in_nic: VecDeque::new(),
            stored: 0,
            buffers: vec![None; (PLACES + COPIES).max(scenario.device.rx_buffers as usize)],
            tcpip: VecDeque::new(),
            sockets: vec![VecDeque::new(); scenario.tasks.len()],
            fragments: VecDeque::new(),
            copies: 0,
            neighbours: Vec::new(),
            net_idle: true,
            boosting: false,
            off_cycles_max: 0,
        };
        device.start();
        device
    }

    /// Everything waits, but for the tasks that never do.
    fn start(&mut self) {
        let idle = self.running;
        self.threads[idle].ready = true;
        self.ready.insert(idle, 0);
        for (index, task) in self.scenario.tasks.iter().enumerate() {
            let thread = FIRST_TASK + index;
            match task.kind {
                TaskKind::Periodic { period_us, .. } => {
                    let period = u64::from(period_us) * u64::from(self.scenario.device.cpu_mhz);
                    self.threads[thread].release = self.epoch;
                    if !period.is_multiple_of(self.tick_cycles) {
                        self.timed.push((thread, self.epoch, period));
                    }
                }
                TaskKind::Background => {
                    self.threads[thread].ready = true;
                    self.ready.insert(thread, task.priority);
                }
                TaskKind::Receiving { .. } => {}
            }
        }
        self.switch();
    }

    fn emit(&mut self, event: Observed) {
        self.observer.event(self.now, event);
    }

    // ---------------------------------------------------------------- time

    /// Runs up to cycle `end`.
    pub fn run_until(&mut self, end: u64) -> Result<(), String> {
        loop {
            let mut at_once = 0;
            while self.happens()? {
                at_once += 1;
                if at_once > EVENTS_AT_ONCE_MAX {
                    return Err(format!("the model goes in circles at cycle {}", self.now));
                }
            }
            if self.now >= end {
                return Ok(());
            }
            self.feed();
            self.advance(self.next_event().min(end));
        }
    }

    fn feed(&mut self) {
        let horizon = self.now + LOOKAHEAD_US * u64::from(self.scenario.device.cpu_mhz);
        let Some(until) = horizon.checked_sub(self.epoch) else { return };
        while let Some(mut frame) = self.wire.next_frame(until) {
            frame.end_cycle += self.epoch;
            let task = match frame.flow {
                FlowId::Task(task) => Some(task),
                FlowId::Background => None,
            };
            self.observer.offer(&frame.bytes, frame.end_cycle, task);
            let sorted = self.sorter.sort(&frame.bytes);
            self.on_wire.push_back((frame, sorted));
        }
    }

    fn next_event(&self) -> u64 {
        let horizon = self.now + LOOKAHEAD_US * u64::from(self.scenario.device.cpu_mhz);
        let mut next = self.wire.next_due().map_or(u64::MAX, |due| (due + self.epoch).max(horizon)).min(self.next_tick);
        if self.wire.next_due().is_none() && self.on_wire.is_empty() {
            next = next.min(self.next_tick);
        }
        let times = [
            self.on_wire.front().map(|(frame, _)| frame.end_cycle),
            self.in_nic.front().map(|(at, _)| *at),
            self.timed.iter().map(|(_, at, _)| *at).filter(|at| *at > self.now).min(),
            self.poll_at().filter(|at| *at > self.now),
            self.interrupt_at(),
            match &self.path {
                Path::Multiqueue(path) => path.queues.next_due().filter(|at| *at > self.now),
                _ => None,
            },
            match &self.handler {
                Some(handler) => Some(self.now + handler.remaining),
                None => self.threads[self.running].next.map(|_| self.now + self.threads[self.running].remaining),
            },
        ];
        times.into_iter().flatten().fold(next, u64::min).max(self.now)
    }

    fn advance(&mut self, to: u64) {
        let spent = to - self.now;
        match &mut self.handler {
            Some(handler) => handler.remaining = handler.remaining.saturating_sub(spent),
            None => {
                let thread = &mut self.threads[self.running];
                thread.remaining = thread.remaining.saturating_sub(spent);
            }
        }
        self.now = to;
    }

    /// What is due now; whether there was anything.
    fn happens(&mut self) -> Result<bool, String> {
        let mut any = self.arrives();
        if self.now >= self.next_tick {
            self.next_tick += self.tick_cycles;
            self.tick = true;
            any = true;
        }
        if let Path::Multiqueue(path) = &mut self.path {
            path.queues.advance(self.now);
        }
        self.note_lines();
        if self.interrupt_at().is_some_and(|at| at <= self.now) {
            self.enter_handler()?;
            return Ok(true);
        }
        if let Some(handler) = &self.handler {
            if handler.remaining == 0 {
                self.handler_mark()?;
                return Ok(true);
            }
            return Ok(any);
        }
        let thread = &self.threads[self.running];
        match thread.next {
            Some(mark) if thread.remaining == 0 => {
                self.mark(mark)?;
                Ok(true)
            }
            None if thread.role.is_some_and(|role| role != Role::Background) => {
                self.aim()?;
                Ok(true)
            }
            _ => Ok(any),
        }
    }

    // ---------------------------------------------------------------- NIC

    fn nic_cycles(&self, bytes: usize) -> u64 {
        let store =
            Stretch { role: Role::Nic, from: Mark::In, to: Mark::Done, class: Class::Any, regime: Regime::First };
        self.costs.cycles(store, bytes as f64).unwrap_or(0)
    }

    fn arrives(&mut self) -> bool {
        let mut any = false;
        while self.on_wire.front().is_some_and(|(frame, _)| frame.end_cycle <= self.now) {
            let Some((_, frame)) = self.on_wire.pop_front() else { break };
            self.emit(Observed::RxAccept);
            self.stored = self.stored.max(self.now + self.nic_cycles(frame.bytes));
            self.in_nic.push_back((self.stored, frame));
            any = true;
        }
        while self.in_nic.front().is_some_and(|(at, _)| *at <= self.now) {
            let Some((_, frame)) = self.in_nic.pop_front() else { break };
            self.store(frame);
            any = true;
        }
        any
    }

    fn store(&mut self, frame: Frame) {
        let now = self.now;
        let place = match &mut self.path {
            Path::Stock(path) => path.ring.store(),
            Path::Library(path) => path.ring.store(),
            Path::Multiqueue(path) => match Queues::filter(&path.flows, &frame) {
                None => return self.emit(Observed::RxError),
                Some(queue) => path.queues.store(now, queue, frame.bytes),
            },
        };
        match place {
            Some(place) => {
                self.buffers[place] = Some(frame);
                self.emit(Observed::RxDone(place as u32));
            }
            None => self.emit(Observed::RxNoDescriptor),
        }
    }

    // ---------------------------------------------------------------- interrupts

    fn poll_at(&self) -> Option<u64> {
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

    fn note_lines(&mut self) {
        let any = self.tick || self.nic_line() || self.timer_line();
        self.asked = any.then(|| self.asked.unwrap_or(self.now));
    }

    /// When the next interrupt is taken, as it looks now.
    fn interrupt_at(&self) -> Option<u64> {
        if self.handler.is_some() || self.threads[self.running].in_kernel {
            return None;
        }
        Some((self.asked? + self.entry_cycles).max(self.now))
    }

    fn enter_handler(&mut self) -> Result<(), String> {
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

    fn notify_driver(&mut self) {
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

    fn handler_mark(&mut self) -> Result<(), String> {
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

    // ---------------------------------------------------------------- scheduler

    /// `vTaskSwitchContext`.
    fn switch(&mut self) {
        self.running = self.ready.next();
        self.hold_back();
        self.emit(Observed::EnterTask(handle(self.running)));
    }

    /// The NIC's threshold follows the running task.
    fn hold_back(&mut self) {
        if self.variant == Variant::Codesign
            && let Path::Multiqueue(path) = &mut self.path
        {
            path.queues.threshold = self.threads[self.running].priority + 1;
        }
    }

    fn wake(&mut self, thread: usize) {
        let woken = &mut self.threads[thread];
        if !woken.ready {
            woken.ready = true;
            woken.last = Mark::In;
            woken.next = None;
            woken.regime = Regime::First;
            self.ready.insert(thread, woken.priority);
        }
    }

    fn block(&mut self, thread: usize) {
        self.threads[thread].ready = false;
        self.ready.remove(thread, self.threads[thread].priority);
    }

    fn set_priority(&mut self, thread: usize, priority: u32) {
        let old = self.threads[thread].priority;
        self.threads[thread].priority = priority;
        if self.threads[thread].ready && old != priority {
            self.ready.remove(thread, old);
            self.ready.insert(thread, priority);
        }
        if thread == self.running {
            self.hold_back();
        }
    }

    /// `weir_freertos_wake`
    fn wake_network(&mut self, priority: u32) {
        if self.net_idle {
            self.net_idle = false;
            self.threads[NET].notified = true;
            self.wake(NET);
        }
        if priority > self.threads[NET].priority && !self.boosting {
            self.boosting = true;
            let booster = self.threads.len() - 2;
            self.wake(booster);
        }
    }

    fn period(&self, task: usize) -> u64 {
        match self.scenario.tasks[task].kind {
            TaskKind::Periodic { period_us, .. } => u64::from(period_us) * u64::from(self.scenario.device.cpu_mhz),
            _ => u64::MAX,
        }
    }

    fn by_tick(&self, task: usize) -> bool {
        self.period(task).is_multiple_of(self.tick_cycles)
    }

    /// The tick under way releases tasks: how many.
    fn tick_releases(&mut self) -> f64 {
        let tick = self.next_tick - self.tick_cycles;
        let mut released = 0.0;
        for task in 0..self.scenario.tasks.len() {
            let thread = FIRST_TASK + task;
            if self.threads[thread].role != Some(Role::Periodic) || !self.by_tick(task) || tick < self.epoch {
                continue;
            }
            if (tick - self.epoch).is_multiple_of(self.period(task)) {
                released += 1.0;
                if self.threads[thread].release <= tick {
                    self.wake(thread);
                }
            }
        }
        released
    }

    fn release_timed(&mut self) {
        for index in 0..self.timed.len() {
            let (thread, at, period) = self.timed[index];
            if at <= self.now {
                self.timed[index].1 += period;
                self.threads[thread].releases += 1;
                self.wake(thread);
            }
        }
    }

    // ---------------------------------------------------------------- tasks

    fn class_of(&self, buffer: Option<usize>) -> (Class, f64) {
        let frame = buffer.and_then(|buffer| self.buffers[buffer].as_ref());
        frame.map_or((Class::Any, 0.0), |frame| (frame.class, frame.bytes as f64))
    }

    fn go(&mut self, to: Mark, class: Class, x: f64, beside: u64) -> Result<(), String> {
        let thread = &self.threads[self.running];
        let Some(role) = thread.role else { return Ok(()) };
        let stretch = Stretch { role, from: thread.last, to, class, regime: thread.regime };
        let remaining = self.costs.cycles(stretch, x)? + beside;
        let thread = &mut self.threads[self.running];
        thread.next = Some(to);
        thread.remaining = remaining;
        Ok(())
    }

    /// Decides what the running task does next.
    fn aim(&mut self) -> Result<(), String> {
        match self.threads[self.running].role {
            Some(Role::Driver) => {
                let (class, x) = self.class_of(self.threads[self.running].frame);
                let to = if self.driver_has_frames() { Mark::Driver } else { Mark::Out };
                self.go(to, class, x, 0)
            }
            Some(Role::Tcpip) => self.aim_stack(),
            Some(Role::Network) => self.aim_stack(),
            Some(Role::Booster) => self.go(Mark::Out, Class::Any, 0.0, 0),
            Some(Role::Receiver) => self.aim_receiver(),
            Some(Role::Periodic) => self.aim_periodic(),
            _ => Ok(()),
        }
    }

    /// The running task makes a mark.
    fn mark(&mut self, mark: Mark) -> Result<(), String> {
        let index = self.running;
        if mark == Mark::In {
            // Out of the kernel: the others' turn, or its own again.
            self.threads[index].in_kernel = false;
            self.threads[index].last = Mark::In;
            self.threads[index].next = None;
            self.threads[index].regime = Regime::First;
            self.switch();
            return Ok(());
        }
        self.threads[index].next = None;
        match self.threads[index].role {
            Some(Role::Driver) => self.driver_mark(mark)?,
            Some(Role::Tcpip | Role::Network) => self.stack_mark(mark)?,
            Some(Role::Booster) => self.booster_mark(),
            Some(Role::Receiver) => self.receiver_mark(mark),
            Some(Role::Periodic) => self.periodic_mark(mark),
            _ => {}
        }
        let thread = &mut self.threads[index];
        if mark != Mark::Out && thread.next.is_none() {
            thread.last = mark;
        }
        self.leave_if_needed(index, mark)
    }

    /// After a mark: into the kernel, to wait or because somebody more urgent has become ready.
    fn leave_if_needed(&mut self, index: usize, mark: Mark) -> Result<(), String> {
        let urgent = self.ready.highest() > self.threads[index].priority;
        let waits = !self.threads[index].ready;
        if !waits && !urgent && !self.threads[index].yields {
            return Ok(());
        }
        if mark != Mark::Out
            && !waits
            && self.threads[index].role.is_some_and(|role| self.costs.knows(role, mark, Mark::Out))
        {
            self.threads[index].yields = true;
            return self.go(Mark::Out, Class::Any, 0.0, 0);
        }
        self.threads[index].yields = false;
        self.threads[index].in_kernel = true;
        self.threads[index].last = Mark::Out;
        self.threads[index].regime = Regime::First;
        self.go(Mark::In, Class::Any, 0.0, 0)
    }

    // ---------------------------------------------------------------- drivers

    fn driver_has_frames(&self) -> bool {
        match &self.path {
            Path::Stock(path) => path.ring.has_frames(),
            Path::Multiqueue(path) => path.flows.priority().is_some(),
            Path::Library(_) => false,
        }
    }

    fn driver_take(&mut self) -> Option<usize> {
        match &mut self.path {
            Path::Stock(path) => path.ring.take(),
            Path::Multiqueue(path) => match path.next(self.now) {
                Next::Frame(place) => Some(place),
                Next::None | Next::Parked => None,
            },
            Path::Library(_) => None,
        }
    }

    /// The frame that the driver has had in hand is lwIP's.
    fn driver_posts(&mut self) {
        if let Some(buffer) = self.threads[NET].frame.take() {
            if self.tcpip.len() < TCPIP_MESSAGES {
                self.tcpip.push_back(buffer);
                self.wake(TCPIP);
            } else {
                self.free(buffer);
            }
        }
        if let Path::Stock(path) = &mut self.path {
            path.refill();
        }
    }

    fn driver_mark(&mut self, mark: Mark) -> Result<(), String> {
        self.driver_posts();
        if mark == Mark::Driver || self.driver_has_frames() {
            if let Some(buffer) = self.driver_take() {
                self.threads[NET].frame = Some(buffer);
                self.emit(Observed::Driver(buffer));
            }
            self.threads[NET].last = Mark::Driver;
            if mark == Mark::Out {
                let (class, x) = self.class_of(self.threads[NET].frame);
                let to = if self.driver_has_frames() { Mark::Driver } else { Mark::Out };
                self.threads[NET].yields = false;
                return self.go(to, class, x, 0);
            }
        } else if self.threads[NET].yields {
            // Only the CPU goes to another one.
        } else if std::mem::take(&mut self.threads[NET].notified) && self.threads[NET].last != Mark::In {
            self.threads[NET].last = Mark::In;
        } else {
            self.block(NET);
        }
        Ok(())
    }

    // ---------------------------------------------------------------- IP stack

    /// `next` of the port: the network task goes to the priority of what waits most urgently. Whether it has to leave
    /// the CPU for that.
    fn network_follows(&mut self) -> bool {
        let waiting = match &self.path {
            Path::Library(path) => path.flows.priority(),
            Path::Multiqueue(path) => path.flows.priority(),
            Path::Stock(_) => None,
        };
        let Some(priority) = waiting else { return false };
        let own = self.threads[NET].priority;
        if priority != own {
            self.set_priority(NET, priority);
        }
        priority < own
    }

    /// A packet for the network task; discarded ones on the way are told.
    fn network_takes(&mut self) -> Option<usize> {
        loop {
            let now = self.now;
            match &mut self.path {
                Path::Library(path) => match path.next()? {
                    (buffer, true) => return Some(buffer),
                    (buffer, false) => {
                        self.buffers[buffer] = None;
                        self.emit(Observed::Dropped(buffer, Drop::Limited));
                    }
                },
                Path::Multiqueue(path) => match path.next(now) {
                    Next::Frame(place) => return Some(place),
                    Next::Parked => {}
                    Next::None => {
                        // What was held back from it, before it waits.
                        path.queues.threshold = 0;
                        let more = path.interrupt().is_some();
                        self.hold_back();
                        if !more {
                            return None;
                        }
                    }
                },
                Path::Stock(_) => return None,
            }
        }
    }

    fn aim_stack(&mut self) -> Result<(), String> {
        let index = self.running;
        let network = self.threads[index].role == Some(Role::Network);
        match self.threads[index].last {
            Mark::Stack => {
                let (class, x) = self.class_of(self.threads[index].frame);
                self.go(if class == Class::Udp { Mark::Socket } else { Mark::Done }, class, x, 0)
            }
            Mark::Socket => {
                let (class, x) = self.class_of(self.threads[index].frame);
                let receiver = self.receiver_of(self.threads[index].frame);
                let urgent = receiver.is_some_and(|receiver| {
                    !self.threads[receiver].ready && self.threads[receiver].priority > self.threads[index].priority
                });
                self.go(if urgent { Mark::Out } else { Mark::Done }, class, x, 0)
            }
            _ if self.threads[index].posted => self.go(Mark::Done, Class::Udp, 0.0, 0),
            _ if network => self.aim_network(),
            _ => {
                let to = if self.tcpip.is_empty() { Mark::Out } else { Mark::Stack };
                self.go(to, Class::Any, 0.0, 0)
            }
        }
    }

    fn aim_network(&mut self) -> Result<(), String> {
        if self.network_follows() {
            self.threads[NET].yields = true;
            return self.go(Mark::Out, Class::Any, 0.0, 0);
        }
        self.threads[NET].frame = self.network_takes();
        let to = if self.threads[NET].frame.is_some() { Mark::Stack } else { Mark::Out };
        self.go(to, Class::Any, 0.0, 0)
    }

    fn receiver_of(&self, buffer: Option<usize>) -> Option<usize> {
        self.buffers[buffer?].as_ref()?.task.map(|task| FIRST_TASK + task)
    }

    fn stack_mark(&mut self, mark: Mark) -> Result<(), String> {
        let index = self.running;
        match mark {
            Mark::Stack => {
                if self.threads[index].role == Some(Role::Tcpip) {
                    self.threads[index].frame = self.tcpip.pop_front();
                }
                if let Some(buffer) = self.threads[index].frame {
                    self.emit(Observed::Stack(buffer));
                }
                self.threads[index].posted = false;
            }
            Mark::Socket => self.emit(Observed::Watch(0)),
            Mark::Done => {
                if !self.threads[index].posted {
                    self.stack_ends(index);
                }
                if let Some(buffer) = self.threads[index].frame.take() {
                    self.emit(Observed::StackDone(buffer));
                }
                self.threads[index].posted = false;
                self.threads[index].regime = Regime::Next;
            }
            Mark::Out => self.stack_out(index),
            _ => {}
        }
        Ok(())
    }

    fn stack_out(&mut self, index: usize) {
        if self.threads[index].last == Mark::Socket && !self.threads[index].posted {
            // The message is in the socket, and its task is more urgent.
            self.stack_ends(index);
            self.threads[index].posted = true;
            self.threads[index].yields = true;
        } else if self.threads[index].yields {
            // Only the CPU goes to another one.
        } else if self.threads[index].role == Some(Role::Network) {
            let waits = match &self.path {
                Path::Library(path) => path.flows.priority().is_none(),
                Path::Multiqueue(path) => path.flows.priority().is_none(),
                Path::Stock(_) => true,
            };
            if waits {
                self.net_idle = true;
                self.block(index);
            } else {
                self.threads[index].last = Mark::In;
            }
        } else if self.tcpip.is_empty() {
            self.block(index);
        } else {
            self.threads[index].last = Mark::In;
        }
    }

    /// What the stack does with the frame in hand.
    fn stack_ends(&mut self, index: usize) {
        let Some(buffer) = self.threads[index].frame else { return };
        let Some(frame) = self.buffers[buffer].clone() else { return };
        match frame.class {
            Class::Udp => {
                let task = frame.task.unwrap_or(0);
                if self.sockets[task].len() < SOCKET_MESSAGES {
                    self.sockets[task].push_back(buffer);
                    self.wake(FIRST_TASK + task);
                    return;
                }
            }
            Class::Fragment => return self.keep_fragment(buffer),
            Class::Arp => self.meet(&frame),
            Class::Closed => {
                self.look_up(&frame);
            }
            _ => {}
        }
        self.free(buffer);
    }

    /// It waits for the others of its datagram, on the multiqueue NIC as a copy; the oldest one is given up for it.
    fn keep_fragment(&mut self, buffer: usize) {
        let mut kept = buffer;
        if let Path::Multiqueue(path) = &mut self.path {
            self.copies += 1;
            kept = PLACES + self.copies % COPIES;
            self.buffers[kept] = self.buffers[buffer].take();
            path.free(buffer);
            self.emit(Observed::Copied(buffer, kept));
        }
        self.fragments.push_back(kept);
        if self.fragments.len() > REASSEMBLED
            && let Some(oldest) = self.fragments.pop_front()
        {
            self.free(oldest);
        }
    }

    /// A buffer is free.
    fn free(&mut self, buffer: usize) {
        self.buffers[buffer] = None;
        self.emit(Observed::Freed(buffer));
        match &mut self.path {
            Path::Stock(path) => {
                if path.free(buffer) {
                    self.notify_driver();
                }
            }
            Path::Library(path) => path.free(buffer),
            Path::Multiqueue(path) if buffer < PLACES => path.free(buffer),
            Path::Multiqueue(_) => {} // a copy
        }
    }

    // ---------------------------------------------------------------- what the device sends

    fn send(&mut self, bytes: &[u8]) {
        let wire_bytes = bytes.len().max(traffic::MIN_FRAME_BYTES) as u64 + WIRE_BYTES;
        let byte_cycles = 8 * u64::from(self.scenario.device.cpu_mhz);
        let last_bit = self.now + (wire_bytes * byte_cycles).div_ceil(u64::from(self.scenario.device.link_mbps));
        self.wire.receive(last_bit.saturating_sub(self.epoch), bytes);
    }

    /// An ARP packet for the device: its sender is known from now on, and answered if it asks.
    fn meet(&mut self, frame: &Frame) {
        let Some((address, mac)) = frame.from else { return };
        if !self.neighbours.contains(&address) {
            self.neighbours.push(address);
        }
        if frame.asks {
            self.send_arp(ArpOperation::Reply, mac, address, mac);
        }
    }

    /// Something is to be sent to who sent this frame: whether its address is known; it is asked for otherwise.
    fn look_up(&mut self, frame: &Frame) -> bool {
        let Some((address, _)) = frame.from else { return false };
        if self.neighbours.contains(&address) {
            return true;
        }
        self.neighbours.push(address);
        self.send_arp(ArpOperation::Request, EthernetAddress::BROADCAST, address, EthernetAddress([0; 6]));
        false
    }

    fn send_arp(
        &mut self,
        operation: ArpOperation,
        to: EthernetAddress,
        address: std::net::Ipv4Addr,
        target: EthernetAddress,
    ) {
        let own = EthernetAddress(self.mac);
        let repr = ArpRepr::EthernetIpv4 {
            operation,
            source_hardware_addr: own,
            source_protocol_addr: self.scenario.device.address,
            target_hardware_addr: target,
            target_protocol_addr: address,
        };
        self.send(&traffic::arp(to, own, &repr));
    }

    fn reply(&mut self, task: usize, message: &Frame) {
        let TaskKind::Receiving { listen, reply_bytes, .. } = self.scenario.tasks[task].kind else { return };
        let Some((to, mac)) = message.from else { return };
        if reply_bytes == 0 || !self.look_up(message) {
            return;
        }
        let path = traffic::Path { from: self.scenario.device.address, to, to_mac: mac.0, dscp: 0 };
        let bytes = traffic::udp(path, 0, listen.port, message.from_port, &vec![0; reply_bytes as usize]);
        self.send(&bytes);
    }

    // ---------------------------------------------------------------- the scenario's tasks

    fn aim_receiver(&mut self) -> Result<(), String> {
        let index = self.running;
        let Some(task) = self.threads[index].task else { return Ok(()) };
        match self.threads[index].last {
            Mark::Freed => self.go(Mark::JobStart, Class::Any, 0.0, 0),
            Mark::JobStart => self.aim_job(task),
            _ if self.threads[index].message.is_some() => self.go(Mark::JobStart, Class::Any, 0.0, 0),
            _ => {
                if self.threads[index].frame.is_none() {
                    self.threads[index].frame = self.sockets[task].pop_front();
                }
                match self.threads[index].frame {
                    Some(buffer) => {
                        let (class, x) = self.class_of(Some(buffer));
                        self.go(Mark::Freed, class, x, 0)
                    }
                    None => self.go(Mark::Out, Class::Any, 0.0, 0),
                }
            }
        }
    }

    fn aim_job(&mut self, task: usize) -> Result<(), String> {
        let (class, x, work) = job(self.scenario, &self.scenario.tasks[task]);
        self.go(Mark::JobEnd, class, x, work)
    }

    fn receiver_mark(&mut self, mark: Mark) {
        let index = self.running;
        let task = self.threads[index].task.unwrap_or(0);
        match mark {
            Mark::Freed => {
                if let Some(buffer) = self.threads[index].frame.take() {
                    self.threads[index].message = self.buffers[buffer].clone();
                    self.free(buffer);
                }
            }
            Mark::JobStart => self.emit(Observed::JobStart(task)),
            Mark::JobEnd => {
                if let Some(message) = self.threads[index].message.take() {
                    self.reply(task, &message);
                }
                self.emit(Observed::JobEnd(task));
                self.threads[index].regime = Regime::Next;
            }
            Mark::Out if !self.threads[index].yields => {
                if self.sockets[task].is_empty() {
                    self.block(index);
                } else {
                    self.threads[index].last = Mark::In;
                }
            }
            _ => {}
        }
    }

    fn has_release(&self, index: usize) -> bool {
        let thread = &self.threads[index];
        match thread.task {
            Some(task) if self.by_tick(task) => thread.release <= self.handled_tick,
            _ => thread.releases > 0,
        }
    }

    fn aim_periodic(&mut self) -> Result<(), String> {
        let index = self.running;
        let Some(task) = self.threads[index].task else { return Ok(()) };
        match self.threads[index].last {
            Mark::JobStart => self.aim_job(task),
            _ if self.has_release(index) => self.go(Mark::JobStart, Class::Any, 0.0, 0),
            _ => self.go(Mark::Out, Class::Any, 0.0, 0),
        }
    }

    fn periodic_mark(&mut self, mark: Mark) {
        let index = self.running;
        let task = self.threads[index].task.unwrap_or(0);
        match mark {
            Mark::JobStart => {
                self.emit(Observed::JobStart(task));
                if self.by_tick(task) {
                    self.threads[index].release += self.period(task);
                } else {
                    self.threads[index].releases -= 1;
                }
            }
            Mark::JobEnd => {
                self.emit(Observed::JobEnd(task));
                self.threads[index].regime = Regime::Next;
            }
            Mark::Out if !self.threads[index].yields => {
                if self.has_release(index) {
                    self.threads[index].last = Mark::In;
                } else {
                    self.block(index);
                }
            }
            _ => {}
        }
    }

    fn booster_mark(&mut self) {
        let waiting = match &self.path {
            Path::Library(path) => path.flows.priority(),
            Path::Multiqueue(path) => path.flows.priority(),
            Path::Stock(_) => None,
        };
        if let Some(priority) = waiting
            && priority > self.threads[NET].priority
        {
            self.set_priority(NET, priority);
        }
        self.boosting = false;
        let booster = self.running;
        self.block(booster);
    }

    // ---------------------------------------------------------------- the end

    /// Buffers of the pool, those at rest, and those that are nowhere.
    pub fn books(&self) -> (usize, usize, i64) {
        let held = self.buffers.iter().flatten().count();
        match &self.path {
            Path::Stock(path) => {
                let in_ring = path.ring.frames();
                let pool = self.scenario.device.rx_buffers as usize;
                (pool, path.at_rest(), pool as i64 - path.at_rest() as i64 - (held - in_ring) as i64)
            }
            Path::Library(path) => {
                let in_ring = path.ring.frames();
                let pool = self.scenario.device.rx_buffers as usize;
                let under_way = usize::from(self.handler.as_ref().is_some_and(|handler| handler.frame.is_some()));
                debug_assert!(path.waiting() <= held + under_way);
                (pool, path.at_rest(), pool as i64 - path.at_rest() as i64 - (held - in_ring) as i64)
            }
            Path::Multiqueue(path) => {
                let (rest, pool) = path.at_rest();
                (pool, rest, 0)
            }
        }
    }

    /// Cycles of one turn of a background task.
    pub fn loop_cycles(&self) -> Result<u64, String> {
        let turn = Stretch {
            role: Role::Background,
            from: Mark::JobStart,
            to: Mark::JobEnd,
            class: Class::Any,
            regime: Regime::First,
        };
        Ok(self.costs.cycles(turn, 0.0)?.max(1))
    }
}
