// SPDX-License-Identifier: Apache-2.0
//! Reads costs off the events of a run on `soc`: CPU cycles of each task between two of its marks.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use super::costs::{Class, Mark, Regime, Role, Samples, Stretch};
use super::frames::{Frame, Sorter};
use crate::observe::{Drop, Measured, Observed, Thread};
use crate::scenario::{Protocol, Scenario, Task, TaskKind, Variant, Work};
use crate::soc::{Witness, device_mac};

/// A task of the firmware, or the handlers.
#[derive(Debug)]
struct Lane {
    /// `None`: its cycles are nobody's, e.g. of idle.
    role: Option<Role>,
    /// Index in the scenario.
    task: Option<usize>,
    /// `None`: nothing is known of it yet.
    last: Option<Mark>,
    /// Cycles since then.
    spent: u64,
    regime: Regime,
    class: Class,
    bytes: f64,
}

/// Watches a run.
pub struct Meter<'a> {
    scenario: &'a Scenario,
    variant: Variant,
    sorter: Sorter,
    lanes: Vec<Lane>,
    handles: Vec<u32>,
    current: usize,
    interrupted: usize,
    since: u64,
    window: Range<u64>,
    epoch: u64,
    tick_cycles: u64,
    buffers_base: u32,
    buffer_bytes: u32,
    on_wire: VecDeque<Frame>,
    in_nic: VecDeque<(Frame, u64)>,
    in_buffers: BTreeMap<usize, Frame>,
    /// Cause and tasks released of the handler that runs.
    handler: (Class, f64),
    next_tick: u64,
    /// What was measured.
    pub samples: BTreeMap<Stretch, Samples>,
}

/// Lane 0: the handlers.
const ISR: usize = 0;

impl<'a> Meter<'a> {
    /// For a run of this scenario.
    pub fn new(scenario: &'a Scenario, variant: Variant) -> Meter<'a> {
        Meter {
            scenario,
            variant,
            sorter: Sorter::new(scenario, device_mac(scenario)),
            lanes: Vec::new(),
            handles: Vec::new(),
            current: ISR,
            interrupted: ISR,
            since: 0,
            window: 0..0,
            epoch: 0,
            tick_cycles: u64::from(scenario.device.tick_us) * u64::from(scenario.device.cpu_mhz),
            buffers_base: 0,
            buffer_bytes: 1,
            on_wire: VecDeque::new(),
            in_nic: VecDeque::new(),
            in_buffers: BTreeMap::new(),
            handler: (Class::Any, 0.0),
            next_tick: 0,
            samples: BTreeMap::new(),
        }
    }

    fn role_of(&self, slot: usize, last: usize) -> (Option<Role>, Option<usize>) {
        let tasks = &self.scenario.tasks;
        let first = if self.variant.uses_library() { Role::Network } else { Role::Driver };
        match slot {
            0 => (Some(first), None),
            1 => ((!self.variant.uses_library()).then_some(Role::Tcpip), None),
            _ if slot == last => (None, None),
            _ if slot - 2 < tasks.len() => (role_of_task(&tasks[slot - 2]), Some(slot - 2)),
            _ => (Some(Role::Booster), None),
        }
    }

    fn sample(&mut self, now: u64, stretch: Stretch, x: f64, y: f64) {
        if self.window.contains(&now) {
            self.samples.entry(stretch).or_default().add(x, y);
        }
    }

    fn account(&mut self, now: u64) {
        let lane = &mut self.lanes[self.current];
        lane.spent += now - self.since;
        self.since = now;
    }

    /// A mark of the lane that has the CPU, or had it when a handler came in between.
    fn mark(&mut self, now: u64, lane: usize, mark: Mark) {
        self.account(now);
        let state = &mut self.lanes[lane];
        let spent = std::mem::take(&mut state.spent) as f64;
        let last = state.last.replace(mark);
        let (regime, class, bytes) = (state.regime, state.class, state.bytes);
        if let (Some(role), Some(from)) = (state.role, last) {
            self.sample(now, Stretch { role, from, to: mark, class, regime }, bytes, spent);
        }
    }

    /// The frame in a buffer is what the lane's next stretches are about.
    fn about(&mut self, lane: usize, buffer: usize) {
        let (class, bytes) =
            self.in_buffers.get(&buffer).map_or((Class::Any, 0.0), |frame| (frame.class, frame.bytes as f64));
        self.lanes[lane].class = class;
        self.lanes[lane].bytes = bytes;
    }

    fn about_nothing(&mut self, lane: usize) {
        self.lanes[lane].class = Class::Any;
        self.lanes[lane].bytes = 0.0;
    }

    fn running(&self) -> usize {
        if self.current == ISR { self.interrupted } else { self.current }
    }

    /// Tasks that the tick at `tick` releases.
    fn released(&self, tick: u64) -> f64 {
        let since = tick.saturating_sub(self.epoch);
        let tasks = self.scenario.tasks.iter().filter(|task| match task.kind {
            TaskKind::Periodic { period_us, .. } => {
                let period = u64::from(period_us) * u64::from(self.scenario.device.cpu_mhz);
                period % self.tick_cycles == 0 && since.is_multiple_of(period)
            }
            _ => false,
        });
        tasks.count() as f64
    }

    fn enter_isr(&mut self, now: u64, nic: bool) {
        self.account(now);
        self.interrupted = self.running();
        let trap = self.lanes[self.interrupted].last == Some(Mark::Out);
        let from_isr = self.current == ISR;
        self.current = ISR;
        let tick = now >= self.next_tick;
        let due = Stretch { role: Role::Nic, from: Mark::Out, to: Mark::In, class: Class::Any, regime: Regime::First };
        if tick {
            let at = self.next_tick;
            while self.next_tick <= now {
                self.next_tick += self.tick_cycles;
            }
            self.handler = (if nic { Class::NicAndTick } else { Class::Tick }, self.released(at));
            if !nic && !trap && !from_isr {
                self.sample(now, due, 0.0, (now - at) as f64);
            }
        } else {
            self.handler = (if nic { Class::NicLine } else { Class::Timer }, 0.0);
        }
        self.lanes[ISR].last = Some(Mark::In);
        self.lanes[ISR].spent = 0;
        self.lanes[ISR].class = self.handler.0;
        self.lanes[ISR].bytes = self.handler.1;
        self.lanes[ISR].regime = Regime::First;
    }

    fn enter_task(&mut self, now: u64, handle: u32) {
        let lane = self.handles.iter().position(|known| *known == handle).map_or(self.lanes.len() - 1, |at| at + 1);
        self.account(now);
        if self.current == ISR {
            self.lanes[ISR].regime = if lane == self.interrupted { Regime::First } else { Regime::Next };
            self.lanes[ISR].class = self.handler.0;
            self.lanes[ISR].bytes = self.handler.1;
            self.mark(now, ISR, Mark::Out);
        } else if self.lanes[self.current].last == Some(Mark::Out) {
            // What it takes to change tasks is the time of who leaves.
            self.about_nothing(self.current);
            self.lanes[self.current].regime = Regime::First;
            let current = self.current;
            self.mark(now, current, Mark::In);
            self.lanes[current].last = Some(Mark::Out);
            self.lanes[current].spent = 0;
        }
        self.current = lane;
        if self.lanes[lane].last == Some(Mark::Out) {
            self.lanes[lane].last = Some(Mark::In);
            self.lanes[lane].spent = 0;
            self.lanes[lane].regime = Regime::First;
        }
    }

    fn discarded(&mut self, now: u64, buffer: usize, mark: Mark) {
        let lane = self.current;
        if lane == ISR {
            self.mark(now, ISR, mark);
            self.lanes[ISR].regime = Regime::Next;
        }
        self.in_buffers.remove(&buffer);
    }

    fn job_start(&mut self, now: u64, task: usize) {
        let lane = self.running();
        if self.lanes[lane].task != Some(task) {
            return;
        }
        self.mark(now, lane, Mark::JobStart);
    }

    fn job_end(&mut self, now: u64, task: usize) {
        let lane = self.running();
        if self.lanes[lane].task != Some(task) {
            return;
        }
        let (class, x, work) = job(self.scenario, &self.scenario.tasks[task]);
        self.account(now);
        // Of synthetic work the scenario says what it takes; what was measured is what comes on top.
        self.lanes[lane].spent = self.lanes[lane].spent.saturating_sub(work);
        self.lanes[lane].class = class;
        self.lanes[lane].bytes = x;
        self.mark(now, lane, Mark::JobEnd);
        self.about_nothing(lane);
        self.lanes[lane].regime = Regime::Next;
    }
}

/// The role of a scenario's task; `None`: the model does not cover it.
pub fn role_of_task(task: &Task) -> Option<Role> {
    match &task.kind {
        TaskKind::Periodic { .. } => Some(Role::Periodic),
        TaskKind::Background => Some(Role::Background),
        TaskKind::Receiving { listen, .. } => (listen.protocol == Protocol::Udp).then_some(Role::Receiver),
    }
}

/// What a job is about, what its cost grows with, and the cycles that the scenario itself gives for it.
pub fn job(scenario: &Scenario, task: &Task) -> (Class, f64, u64) {
    let reply = match &task.kind {
        TaskKind::Receiving { reply_bytes, .. } => *reply_bytes,
        _ => 0,
    };
    match task.work {
        Work::Synthetic { us } => {
            let cycles = (us * f64::from(scenario.device.cpu_mhz)).round() as u64;
            (if reply > 0 { Class::Reply } else { Class::Any }, f64::from(reply), cycles)
        }
        Work::Binomial { n, k } => {
            let steps: u64 = (1..=u64::from(n)).map(|row| row.min(u64::from(k))).sum();
            (Class::Binomial, steps as f64, 0)
        }
        Work::Source { .. } => (Class::Any, 0.0, 0),
    }
}

impl Witness for Meter<'_> {
    fn begin(&mut self, threads: &[Thread], measured: &Measured) {
        self.handles = threads.iter().map(|thread| thread.handle).collect();
        let lane = |(role, task)| Lane {
            role,
            task,
            last: None,
            spent: 0,
            regime: Regime::First,
            class: Class::Any,
            bytes: 0.0,
        };
        self.lanes.push(lane((Some(Role::Isr), None)));
        for slot in 0..threads.len() {
            let role = self.role_of(slot, threads.len() - 1);
            self.lanes.push(lane(role));
        }
        self.current = self.lanes.len() - 1;
        self.interrupted = self.current;
        self.window = measured.window.clone();
        self.epoch = measured.epoch;
        self.next_tick = measured.epoch - self.tick_cycles;
        self.buffers_base = measured.buffers_base;
        self.buffer_bytes = measured.buffer_bytes;
    }

    fn offer(&mut self, bytes: &[u8]) {
        self.on_wire.push_back(self.sorter.sort(bytes));
    }

    fn event(&mut self, now: u64, event: Observed) {
        let lane = self.running();
        match event {
            Observed::EnterIsr { nic } => self.enter_isr(now, nic),
            Observed::EnterTask(handle) => self.enter_task(now, handle),
            Observed::EnterTrap => self.mark(now, lane, Mark::Out),
            Observed::RxAccept => self.in_nic.extend(self.on_wire.pop_front().map(|frame| (frame, now))),
            Observed::RxOverrun | Observed::RxBad => drop(self.on_wire.pop_front()),
            Observed::RxNoDescriptor | Observed::RxError => drop(self.in_nic.pop_front()),
            Observed::RxDone(address) => {
                if let Some((frame, since)) = self.in_nic.pop_front() {
                    let store = Stretch {
                        role: Role::Nic,
                        from: Mark::In,
                        to: Mark::Done,
                        class: Class::Any,
                        regime: Regime::First,
                    };
                    if self.in_nic.is_empty() {
                        self.sample(now, store, frame.bytes as f64, (now - since) as f64);
                    }
                    self.in_buffers.insert(((address - self.buffers_base) / self.buffer_bytes) as usize, frame);
                }
            }
            Observed::Watch(_) => self.mark(now, lane, Mark::Socket),
            Observed::Driver(buffer) => {
                self.mark(now, lane, Mark::Driver);
                self.about(lane, buffer);
            }
            Observed::Stack(buffer) => {
                self.about_nothing(lane);
                self.mark(now, lane, Mark::Stack);
                self.about(lane, buffer);
            }
            Observed::StackDone(_) => {
                self.mark(now, lane, Mark::Done);
                self.about_nothing(lane);
                self.lanes[lane].regime = Regime::Next;
            }
            Observed::Copied(from, _) => drop(self.in_buffers.remove(&from)),
            Observed::Freed(buffer) => {
                if self.lanes[lane].role == Some(Role::Receiver) {
                    self.about(lane, buffer);
                    self.mark(now, lane, Mark::Freed);
                    self.about_nothing(lane);
                }
                self.in_buffers.remove(&buffer);
            }
            Observed::Queued(_) => {
                self.mark(now, ISR, Mark::Queued);
                self.lanes[ISR].regime = Regime::Next;
            }
            Observed::Dropped(buffer, Drop::Limited | Drop::Refused) => self.discarded(now, buffer, Mark::Limited),
            Observed::Dropped(buffer, Drop::Recycled) => self.discarded(now, buffer, Mark::Recycled),
            Observed::Dropped(buffer, Drop::ShortCircuit) => self.discarded(now, buffer, Mark::Short),
            Observed::JobStart(task) => self.job_start(now, task),
            Observed::JobEnd(task) => self.job_end(now, task),
            _ => {}
        }
    }
}
