// SPDX-License-Identifier: Apache-2.0
//! The device: what it consists of, at its beginning and at its end.

use std::collections::VecDeque;

use super::costs::{Class, Costs, Mark, Regime, Role, Stretch};
use super::frames::{Frame, Sorter};
use super::interrupts::Handler;
use super::paths::{COPIES, Library, Multiqueue, PLACES, Stock};
use super::ready::Ready;
use super::threads::{FIRST_TASK, Thread};
use crate::observe::{Observed, Observer};
use crate::scenario::{Scenario, TaskKind, Variant};
use crate::traffic::{Wire, WireFrame};

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

/// A device and what is attached to it.
pub struct Device<'a> {
    pub now: u64,
    pub observer: Observer,
    pub wire: Wire,
    pub(super) scenario: &'a Scenario,
    pub(super) variant: Variant,
    pub(super) costs: Costs,
    pub(super) sorter: Sorter,
    pub(super) mac: [u8; 6],
    pub(super) epoch: u64,
    pub(super) tick_cycles: u64,
    pub(super) path: Path,
    pub(super) threads: Vec<Thread>,
    pub(super) ready: Ready,
    pub(super) running: usize,
    pub(super) handler: Option<Handler>,
    // Interrupt lines, and since when one of them is high.
    pub(super) next_tick: u64,
    pub(super) tick: bool,
    pub(super) handled_tick: u64,
    pub(super) timed: Vec<(usize, u64, u64)>,
    pub(super) asked: Option<u64>,
    pub(super) entry_cycles: u64,
    // Frames: on the wire, in the NIC, in buffers.
    pub(super) on_wire: VecDeque<(WireFrame, Frame)>,
    pub(super) in_nic: VecDeque<(u64, Frame)>,
    pub(super) stored: u64,
    pub(super) buffers: Vec<Option<Frame>>,
    pub(super) tcpip: VecDeque<usize>,
    pub(super) sockets: Vec<VecDeque<usize>>,
    pub(super) fragments: VecDeque<usize>,
    pub(super) copies: usize,
    pub(super) neighbours: Vec<std::net::Ipv4Addr>,
    // `struct weir_freertos_state`
    pub(super) net_idle: bool,
    pub(super) boosting: bool,
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

    pub(super) fn emit(&mut self, event: Observed) {
        self.observer.event(self.now, event);
    }

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
