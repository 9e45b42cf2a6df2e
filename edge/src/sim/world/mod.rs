// SPDX-License-Identifier: Apache-2.0
//! One run: machines, devices, and what passes between them, in the order of virtual time.

mod devices;
mod troubles;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::check::Books;
use super::draws;
use super::network::{MachineClock, delays};
use super::programs::Programs;
use super::results::Results;
use super::scenario::{Fault, Mode, Scenario, What};
use crate::core::auth::SiteKey;
use crate::core::client::{self, Client, Outcome};
use crate::core::membership::Role;
use crate::core::node::{self, Event, Node};
use crate::core::queue::Costs;
use crate::core::task::{Exit, TaskId};
use devices::Device;

const PORT: u16 = 7400;
const PROGRAM: &str = "job";
/// After the last deadline: until what is remembered beyond it is over.
const DRAIN_MAX: Duration = Duration::from_secs(30);
/// How often it is looked whether all know of a fault.
const WATCH: Duration = Duration::from_millis(5);

enum Happening {
    Arrive { from: SocketAddr, datagram: Vec<u8> },
    Wake,
    Submit,
    End { id: TaskId, run: u32 },
    Fault(usize),
    Watch,
}

/// Ordered by time, then by when it was foreseen.
struct Foreseen {
    at: Duration,
    count: u64,
    machine: usize,
    what: Happening,
}

impl PartialEq for Foreseen {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.count) == (other.at, other.count)
    }
}
impl Eq for Foreseen {}
impl PartialOrd for Foreseen {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Foreseen {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.count).cmp(&(other.at, other.count))
    }
}

enum Kind {
    Node(Box<Node>, Programs),
    Device(Box<Device>),
}

struct Machine {
    kind: Kind,
    clock: MachineClock,
    wake: Option<Duration>,
    up: bool,
    heard: bool,
    cut_off: bool,
}

struct Watched {
    node: usize,
    since: Duration,
    down: bool,
}

/// One run.
pub struct World<'a> {
    scenario: &'a Scenario,
    rng: ChaCha8Rng,
    key: SiteKey,
    now: Duration,
    foreseen: BinaryHeap<Reverse<Foreseen>>,
    count: u64,
    /// When it ends at the latest.
    end: Duration,
    machines: Vec<Machine>,
    /// How many of the machines are nodes; they come first.
    nodes: usize,
    faults: Vec<Fault>,
    watched: Vec<Watched>,
    arrived: BTreeMap<TaskId, Duration>,
    books: Books,
    results: Results,
    wire: (u64, u64),
}

/// Runs a scenario with one seed.
pub fn run(scenario: &Scenario, seed: u64) -> Results {
    run_drawn(scenario, seed).0
}

/// As [`run`]; with the devices and tasks that it drew.
pub fn run_drawn(scenario: &Scenario, seed: u64) -> (Results, Vec<draws::Device>) {
    let mut world = World::new(scenario, seed);
    world.go();
    world.close()
}

fn address(machine: usize) -> SocketAddr {
    let machine = u32::try_from(machine).expect("there are fewer machines than addresses");
    SocketAddr::from((Ipv4Addr::from_bits(Ipv4Addr::new(10, 0, 0, 1).to_bits() + machine), PORT))
}

fn machine_at(address: SocketAddr) -> Option<usize> {
    match address {
        SocketAddr::V4(a) => (a.ip().to_bits() as usize).checked_sub(Ipv4Addr::new(10, 0, 0, 1).to_bits() as usize),
        SocketAddr::V6(_) => None,
    }
}

fn ms(value: f64) -> Duration {
    Duration::from_secs_f64(value / 1000.0)
}

impl<'a> World<'a> {
    fn new(scenario: &'a Scenario, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut key = [0; 32];
        rng.fill_bytes(&mut key);
        let mut faults = scenario.fault.clone();
        faults.iter_mut().for_each(|fault| fault.at_s += scenario.warm_up_s);
        let nodes = match scenario.mode {
            Mode::Distributed => scenario.nodes,
            Mode::Central => scenario.nodes + 1,
            Mode::Reference => 1,
        };
        let mut world = Self {
            scenario,
            rng,
            key: SiteKey::new(&key),
            now: Duration::ZERO,
            foreseen: BinaryHeap::new(),
            count: 0,
            end: scenario.until() + DRAIN_MAX,
            machines: Vec::new(),
            nodes,
            faults,
            watched: Vec::new(),
            arrived: BTreeMap::new(),
            books: Books::default(),
            results: Results { runs: 1, ..Results::default() },
            wire: (0, 0),
        };
        for index in 0..nodes {
            let clock = MachineClock::random(scenario.clock.drift_ppm, &mut world.rng);
            let kind = world.node(index, clock);
            world.add(kind, clock);
        }
        for _ in 0..scenario.clients {
            let clock = MachineClock::random(scenario.clock.drift_ppm, &mut world.rng);
            let kind = world.device(clock);
            world.add(kind, clock);
        }
        for index in 0..world.faults.len() {
            world.foresee(ms(1000.0 * world.faults[index].at_s), 0, Happening::Fault(index));
        }
        world
    }

    fn add(&mut self, kind: Kind, clock: MachineClock) {
        let machine = Machine { kind, clock, wake: None, up: true, heard: true, cut_off: false };
        self.machines.push(machine);
        let index = self.machines.len() - 1;
        if let Kind::Device(device) = &self.machines[index].kind {
            self.foresee(device.next, index, Happening::Submit);
        }
        self.after(index);
    }

    fn node(&mut self, index: usize, clock: MachineClock) -> Kind {
        let scenario = self.scenario;
        let (role, workers) = match (scenario.mode, index) {
            (Mode::Distributed, _) => (Role::Node, 1),
            (Mode::Central, 0) => (Role::Scheduler, 0),
            (Mode::Central, _) => (Role::Worker, 1),
            (Mode::Reference, _) => (Role::Node, scenario.nodes),
        };
        let config = node::Config {
            role,
            workers,
            reference: scenario.mode == Mode::Reference,
            strategy: scenario.admission.strategy,
            asked_max: scenario.admission.asked_max,
            costs: Costs { start: ms(scenario.admission.start_cost_ms), ..Costs::default() },
            programs: vec![PROGRAM.to_owned()],
            seeds: (0..3.min(self.nodes)).map(address).collect(),
            neighbours: if role == Role::Scheduler { 2 * self.nodes } else { 16 },
            clients_max: 100_000,
            started_ms: self.now.as_millis() as u64,
            ..node::Config::new(address(index))
        };
        let now = clock.at(self.now);
        Kind::Node(Box::new(Node::new(config, self.key.clone(), now, self.rng.next_u64())), Programs::default())
    }

    fn foresee(&mut self, at: Duration, machine: usize, what: Happening) {
        self.count += 1;
        self.foreseen.push(Reverse(Foreseen { at, count: self.count, machine, what }));
    }

    fn go(&mut self) {
        while let Some(Reverse(next)) = self.foreseen.pop()
            && next.at <= self.end
        {
            self.now = next.at;
            if self.now > self.scenario.until() && self.over() {
                break;
            }
            self.happen(next.machine, next.what);
        }
    }

    /// Whether nobody waits for anything, and nobody remembers anything.
    fn over(&self) -> bool {
        self.count.is_multiple_of(256)
            && self.machines.iter().all(|m| match &m.kind {
                Kind::Node(node, _) => !m.up || node.remembered().0 == 0,
                Kind::Device(device) => device.client.under_way() == 0,
            })
    }

    fn happen(&mut self, index: usize, what: Happening) {
        let now = self.machines[index].clock.at(self.now);
        let machine = &mut self.machines[index];
        match what {
            Happening::Fault(fault) => return self.fault(fault),
            Happening::Watch => return self.watch(),
            Happening::Wake if machine.wake != Some(self.now) || !machine.up => return,
            Happening::Wake => {
                machine.wake = None;
                match &mut machine.kind {
                    Kind::Node(node, _) => node.handle_timeout(now),
                    Kind::Device(device) => device.client.handle_timeout(now),
                }
            }
            Happening::Arrive { from, datagram } => {
                if !machine.up || !machine.heard {
                    return;
                }
                match &mut machine.kind {
                    Kind::Node(node, _) => node.handle_datagram(now, from, &datagram),
                    Kind::Device(device) => device.client.handle_datagram(now, from, &datagram),
                }
            }
            Happening::Submit => self.submit(index),
            Happening::End { id, run } => {
                if let Kind::Node(node, programs) = &mut machine.kind
                    && machine.up
                    && let Some(execution) = programs.end(id, run)
                {
                    node.handle_exit(now, id, Exit::Done, execution, b"done".to_vec());
                }
            }
        }
        self.after(index);
    }

    /// Carries out what a machine wants done, and foresees when it is to be woken.
    fn after(&mut self, index: usize) {
        while let Some(output) = match &mut self.machines[index].kind {
            Kind::Node(node, _) => node.poll().map(Ok),
            Kind::Device(device) => device.client.poll().map(Err),
        } {
            match output {
                Ok(output) => self.node_output(index, output),
                Err(client::Output::Send(to, datagram)) => self.send(index, to, &datagram),
                Err(client::Output::Outcome(id, outcome)) => self.outcome(index, id, outcome),
                Err(client::Output::GivenUp(..)) => self.results.retried += 1,
            }
        }
        let machine = &mut self.machines[index];
        let timeout = match &machine.kind {
            Kind::Node(node, _) => node.timeout(),
            Kind::Device(device) => device.client.timeout(),
        };
        if let Some(at) = machine.clock.when(timeout) {
            let at = at.max(self.now);
            if machine.wake.is_none_or(|wake| at < wake) {
                machine.wake = Some(at);
                self.foresee(at, index, Happening::Wake);
            }
        }
    }

    fn node_output(&mut self, index: usize, output: node::Output) {
        let now = self.now;
        let Kind::Node(_, programs) = &mut self.machines[index].kind else { return };
        let ends = match output {
            node::Output::Send(to, datagram) => return self.send(index, to, &datagram),
            node::Output::Event(event) => return self.event(index, event),
            node::Output::Start(_, task) => {
                let settings = &self.scenario.task;
                let overruns = self.rng.random_bool(settings.overrun_percent / 100.0);
                let execution =
                    if overruns { 2.0 * settings.wcet_ms } else { settings.execution_ms.unwrap_or(settings.wcet_ms) };
                let (at, run) = programs.start(now, task.id, ms(execution));
                Some((task.id, at, run))
            }
            node::Output::Stop(id) => {
                programs.stop(now, id);
                None
            }
            node::Output::Continue(id) => programs.go_on(now, id).map(|(at, run)| (id, at, run)),
            node::Output::Kill(id) => {
                programs.kill(id);
                None
            }
        };
        if let Some((id, at, run)) = ends {
            self.foresee(at, index, Happening::End { id, run });
        }
    }

    fn event(&mut self, index: usize, event: Event) {
        self.books.note(address(index), event);
        match event {
            Event::Submitted(id) => {
                self.arrived.entry(id).or_insert(self.now);
            }
            Event::Accepted(id, _) | Event::Refused(id, _) => {
                if let Some(arrived) = self.arrived.remove(&id) {
                    self.results.placing_us.push((self.now - arrived).as_secs_f32() * 1e6);
                }
            }
            _ => {}
        }
        if let Kind::Node(node, _) = &self.machines[index].kind {
            self.results.tasks_remembered_max = self.results.tasks_remembered_max.max(node.remembered().0);
        }
    }

    fn send(&mut self, from: usize, to: SocketAddr, datagram: &[u8]) {
        let Some(to) = machine_at(to).filter(|to| *to < self.machines.len()) else { return };
        let among_nodes = from < self.nodes && to < self.nodes;
        if among_nodes && self.now >= self.scenario.from() && self.now <= self.scenario.until() {
            self.wire.0 += 1;
            self.wire.1 += datagram.len() as u64;
        }
        if !self.machines[from].heard || self.machines[from].cut_off != self.machines[to].cut_off {
            return;
        }
        let way = if among_nodes { &self.scenario.wire } else { &self.scenario.link };
        for delay in delays(way, &mut self.rng) {
            let datagram = datagram.to_vec();
            self.foresee(self.now + delay, to, Happening::Arrive { from: address(from), datagram });
        }
    }

    fn close(mut self) -> (Results, Vec<draws::Device>) {
        let seconds = self.scenario.seconds * self.nodes as f64;
        self.results.wire_messages = self.wire.0 as f64 / seconds;
        self.results.wire_bytes = self.wire.1 as f64 / seconds;
        for (index, machine) in self.machines.iter().enumerate() {
            match &machine.kind {
                Kind::Node(node, _) if machine.up => {
                    let (tasks, _, _) = node.remembered();
                    if tasks > 0 {
                        self.books.wrong(format!("{}: remembers {tasks} tasks at the end", address(index)));
                    }
                    self.results.taken_over += node.counters().taken_over;
                }
                Kind::Node(..) => {}
                Kind::Device(device) => {
                    for id in device.submitted.keys() {
                        self.books.wrong(format!("{id}: no outcome at the end"));
                    }
                }
            }
        }
        self.results.wrong = self.books.close();
        let devices = self.machines.into_iter().filter_map(|machine| match machine.kind {
            Kind::Device(device) => Some(device.drawn),
            Kind::Node(..) => None,
        });
        (self.results, devices.collect())
    }
}
