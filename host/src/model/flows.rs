// SPDX-License-Identifier: Apache-2.0
//! The library's flow queues and limits, decision by decision: device/weir/src/flows.c and server.c.

use std::collections::VecDeque;
use std::net::Ipv4Addr;

use super::frames::{Frame, Kind};
use crate::scenario::{Listen, Scenario, ServerKind, TaskKind};

/// `WEIR_SPORADIC_MAX` packets at most are remembered by the scenario's own check.
#[derive(Debug, Clone)]
pub struct Server {
    kind: ServerKind,
    capacity: u32,
    period: u64,
    start: u64,
    left: u32,
    passed: VecDeque<u64>,
}

impl Server {
    fn new(kind: ServerKind, capacity: u32, period: u64) -> Server {
        Server { kind, capacity, period, start: 0, left: capacity, passed: VecDeque::new() }
    }

    /// Whether a packet may pass.
    pub fn admit(&mut self, now: u64) -> bool {
        match self.kind {
            ServerKind::Deferrable => {
                let into = now - self.start;
                if into >= self.period {
                    self.start += into - into % self.period;
                    self.left = self.capacity;
                }
                let passes = self.left > 0;
                self.left -= u32::from(passes);
                passes
            }
            ServerKind::Sporadic => {
                while self.passed.front().is_some_and(|passed| now - passed >= self.period) {
                    self.passed.pop_front();
                }
                let passes = self.passed.len() < self.capacity as usize;
                if passes {
                    self.passed.push_back(now);
                }
                passes
            }
        }
    }

    /// When the next one can, after a refusal.
    pub fn next(&self) -> u64 {
        match self.kind {
            ServerKind::Deferrable => self.start + self.period,
            ServerKind::Sporadic => self.passed.front().map_or(0, |passed| passed + self.period),
        }
    }
}

/// A flow.
#[derive(Debug, Clone)]
pub struct Flow {
    /// What belongs to it.
    pub what: What,
    /// Only of this sender.
    pub from: Option<Ipv4Addr>,
    /// Its priority.
    pub priority: u32,
    /// Its limit.
    pub server: Option<Server>,
    /// What waits: buffers of the pool, or of a queue of the NIC.
    pub waiting: VecDeque<usize>,
    /// Packets that the IP stack or a socket has.
    pub held: usize,
}

/// What belongs to a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A socket's port.
    Port(Listen),
    /// Nothing else's.
    Background,
    /// ARP.
    Address,
    /// ICMP.
    Control,
}

/// `FIRMWARE_SYSTEM_CAPACITY` and `FIRMWARE_SYSTEM_PERIOD_US`.
const SYSTEM_CAPACITY: u32 = 4;
const SYSTEM_PERIOD_US: u64 = 10_000;
const BACKGROUND_PRIORITY: u32 = 1;
/// `WEIR_FLOWS` of the firmware: flow of the packets that are no socket's, and the two behind it.
pub const BACKGROUND: usize = 12;
/// ARP.
pub const ADDRESS: usize = 13;
/// ICMP.
pub const CONTROL: usize = 14;
/// All.
pub const FLOWS: usize = 15;

/// The table of flows and who is served next.
#[derive(Debug)]
pub struct Flows {
    /// By number; those of sockets in the order of the tasks.
    pub table: Vec<Flow>,
    /// Of each priority those that wait, in turn.
    turns: Vec<VecDeque<usize>>,
}

impl Flows {
    /// For a scenario; `asks`: its tasks ask for what their flows are to be like.
    pub fn new(scenario: &Scenario, asks: bool) -> Flows {
        let flow =
            |what, priority| Flow { what, from: None, priority, server: None, waiting: VecDeque::new(), held: 0 };
        let cycles_per_us = u64::from(scenario.device.cpu_mhz);
        let mut table = Vec::new();
        for task in &scenario.tasks {
            let TaskKind::Receiving { listen, flow: contract, .. } = &task.kind else { continue };
            let mut one = flow(What::Port(*listen), task.priority);
            if asks {
                one.priority = contract.priority.unwrap_or(task.priority);
                one.from = contract.from;
                one.server = contract.server.map(|server| {
                    Server::new(server.kind, server.capacity, u64::from(server.period_us) * cycles_per_us)
                });
            }
            table.push(one);
        }
        let system = table.iter().map(|flow| flow.priority).max().unwrap_or(BACKGROUND_PRIORITY).max(1);
        // Places of sockets that the scenario does not have: no frame matches them.
        let nobody = flow(What::Background, 0);
        table.resize(BACKGROUND, nobody);
        table.push(flow(What::Background, BACKGROUND_PRIORITY));
        for what in [What::Address, What::Control] {
            let mut one = flow(what, system);
            if asks {
                one.server =
                    Some(Server::new(ServerKind::Deferrable, SYSTEM_CAPACITY, SYSTEM_PERIOD_US * cycles_per_us));
            }
            table.push(one);
        }
        Flows { table, turns: vec![VecDeque::new(); 16] }
    }

    /// The flow of a frame in the library.
    pub fn of(&self, frame: &Frame) -> usize {
        match frame.kind {
            Kind::Address => ADDRESS,
            Kind::Control => CONTROL,
            Kind::Fragment | Kind::Other => BACKGROUND,
            Kind::Port(listen) => self.socket(listen, frame).unwrap_or(BACKGROUND),
        }
    }

    /// The socket's flow that a frame to a port is of.
    pub fn socket(&self, listen: Listen, frame: &Frame) -> Option<usize> {
        let at = self.table.iter().position(|flow| flow.what == What::Port(listen))?;
        let from = self.table[at].from;
        from.is_none_or(|from| frame.from.is_some_and(|(sender, _)| sender == from)).then_some(at)
    }

    /// The highest priority of a packet that waits.
    pub fn priority(&self) -> Option<u32> {
        self.turns.iter().rposition(|turn| !turn.is_empty()).map(|priority| priority as u32)
    }

    /// Appends to a flow.
    pub fn put(&mut self, flow: usize, item: usize) {
        if self.table[flow].waiting.is_empty() {
            self.turns[self.table[flow].priority as usize].push_back(flow);
        }
        self.table[flow].waiting.push_back(item);
    }

    /// Takes the oldest of a flow.
    pub fn take(&mut self, flow: usize) -> Option<usize> {
        let item = self.table[flow].waiting.pop_front();
        if self.table[flow].waiting.is_empty() {
            self.turns[self.table[flow].priority as usize].retain(|other| *other != flow);
        }
        item
    }

    /// Who is served next; it is last in turn then.
    pub fn highest(&mut self) -> Option<usize> {
        let priority = self.priority()?;
        let turn = &mut self.turns[priority as usize];
        let flow = turn.pop_front()?;
        turn.push_back(flow);
        Some(flow)
    }

    /// Packets that wait.
    pub fn waiting(&self) -> usize {
        self.table.iter().map(|flow| flow.waiting.len()).sum()
    }

    /// Which flow gives up a packet for one of `flow`.
    pub fn victim(&self, flow: usize) -> Option<usize> {
        let own = self.table[flow].priority as usize;
        let longest =
            |turn: &VecDeque<usize>| turn.iter().copied().max_by_key(|other| self.table[*other].waiting.len());
        match self.turns[..own].iter().find(|turn| !turn.is_empty()) {
            Some(below) => longest(below),
            None => longest(&self.turns[own])
                .filter(|other| self.table[*other].waiting.len() > self.table[flow].waiting.len() + 1),
        }
    }
}
