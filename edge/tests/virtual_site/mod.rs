// SPDX-License-Identifier: Apache-2.0
//! A site in virtual time, of which each datagram can be looked at, kept and lost.

#![allow(dead_code, reason = "each test uses its part")]

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use weir_edge::core::auth::SiteKey;
use weir_edge::core::client::{self, Client, Outcome};
use weir_edge::core::node::{Config, Event, Node, Output};
use weir_edge::core::task::{Exit, TaskId};
use weir_edge::core::time::Instant;

/// What a datagram takes from one machine to another.
const DELAY: Duration = Duration::from_micros(100);
/// A site's clients have the addresses above this.
const CLIENTS: usize = 100;

/// Under way from one address to another.
#[derive(Clone)]
pub struct Datagram {
    pub from: SocketAddr,
    pub to: SocketAddr,
    pub bytes: Vec<u8>,
}

/// The address of a node.
pub fn address(node: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, node as u8 + 1], 7400))
}

/// Nodes that name each other as seeds, clients that know all of them, and the network between them.
pub struct Site {
    pub now: Instant,
    pub nodes: Vec<Option<Node>>,
    pub clients: Vec<Option<Client>>,
    /// Nodes before this one and the others do not hear each other.
    pub cut: Option<usize>,
    /// Which datagrams are lost.
    pub loses: Box<dyn FnMut(&Datagram) -> bool>,
    /// Each program executes for so long, and declares twice that.
    pub execution: Duration,
    /// All that was sent, if it is to be kept.
    pub recorded: Option<Vec<Datagram>>,
    /// Programs that were started.
    pub runs: Vec<(usize, TaskId)>,
    /// What became of tasks, and of members.
    pub outcomes: Vec<(TaskId, Outcome)>,
    pub changes: Vec<(usize, Event)>,
    under_way: VecDeque<(Instant, Datagram)>,
    ends: VecDeque<(Instant, usize, TaskId)>,
    starts: u64,
}

impl Site {
    pub fn new(nodes: usize) -> Self {
        let mut site = Self {
            now: Instant(0),
            nodes: (0..nodes).map(|_| None).collect(),
            clients: Vec::new(),
            cut: None,
            loses: Box::new(|_| false),
            execution: Duration::from_millis(5),
            recorded: None,
            runs: Vec::new(),
            outcomes: Vec::new(),
            changes: Vec::new(),
            under_way: VecDeque::new(),
            ends: VecDeque::new(),
            starts: 0,
        };
        (0..nodes).for_each(|node| site.start(node, 1_000_000 + node as u64));
        site
    }

    /// Starts a node, perhaps anew.
    pub fn start(&mut self, node: usize, started_ms: u64) {
        self.starts += 1;
        let seeds = (0..self.nodes.len()).filter(|other| *other != node).map(address).collect();
        let programs = vec!["job".to_owned()];
        let config = Config { seeds, started_ms, programs, ..Config::new(address(node)) };
        self.nodes[node] = Some(Node::new(config, SiteKey::new(&[7; 32]), self.now, self.starts));
        self.ends.retain(|(_, at, _)| *at != node);
    }

    /// Starts a client that knows these nodes.
    pub fn client(&mut self, nodes: &[usize]) -> usize {
        self.starts += 1;
        let config =
            client::Config { nodes: nodes.iter().copied().map(address).collect(), ..client::Config::default() };
        self.clients.push(Some(Client::new(config, SiteKey::new(&[7; 32]), self.now, self.starts)));
        self.clients.len() - 1
    }

    pub fn submit(&mut self, client: usize, budget: Duration) -> TaskId {
        let client = self.clients[client].as_mut().expect("it is there");
        client.submit(self.now, "job", Vec::new(), 2 * self.execution, budget)
    }

    /// Lets a machine die.
    pub fn crash(&mut self, node: usize) {
        self.nodes[node] = None;
        self.ends.retain(|(_, at, _)| *at != node);
    }

    pub fn run(&mut self, duration: Duration) {
        let end = self.now + duration;
        loop {
            self.carry_out();
            let timeouts = self.nodes.iter().flatten().map(Node::timeout);
            let timeouts = timeouts.chain(self.clients.iter().flatten().map(Client::timeout));
            let happens = self.under_way.front().map(|d| d.0).into_iter().chain(self.ends.front().map(|e| e.0));
            let due = timeouts.chain(happens).min();
            let Some(due) = due.filter(|due| *due <= end) else { break };
            self.now = due.max(self.now);
            while self.under_way.front().is_some_and(|datagram| datagram.0 <= self.now) {
                let Some((_, datagram)) = self.under_way.pop_front() else { break };
                self.deliver(&datagram);
            }
            while self.ends.front().is_some_and(|end| end.0 <= self.now) {
                let Some((_, node, id)) = self.ends.pop_front() else { break };
                let node = self.nodes[node].iter_mut();
                node.for_each(|n| n.handle_exit(self.now, id, Exit::Done, self.execution, Vec::new()));
            }
            let now = self.now;
            self.nodes.iter_mut().flatten().filter(|n| n.timeout() <= now).for_each(|n| n.handle_timeout(now));
            self.clients.iter_mut().flatten().filter(|c| c.timeout() <= now).for_each(|c| c.handle_timeout(now));
        }
        self.now = end;
    }

    /// Whoever has the address gets it.
    pub fn deliver(&mut self, datagram: &Datagram) {
        let SocketAddr::V4(to) = datagram.to else { return };
        let place = usize::from(to.ip().octets()[3]) - 1;
        let (now, from, bytes) = (self.now, datagram.from, &datagram.bytes);
        if let Some(Some(node)) = self.nodes.get_mut(place) {
            node.handle_datagram(now, from, bytes);
        } else if let Some(Some(client)) = place.checked_sub(CLIENTS).and_then(|place| self.clients.get_mut(place)) {
            client.handle_datagram(now, from, bytes);
        }
    }

    fn carry_out(&mut self) {
        for index in 0..self.nodes.len() {
            while let Some(output) = self.nodes[index].as_mut().and_then(Node::poll) {
                match output {
                    Output::Send(to, bytes) => self.send(Datagram { from: address(index), to, bytes }),
                    Output::Start(_, task) => {
                        self.runs.push((index, task.id));
                        self.ends.push_back((self.now + self.execution, index, task.id));
                    }
                    Output::Event(event @ (Event::Up(_) | Event::Down(_))) => self.changes.push((index, event)),
                    _ => {}
                }
            }
        }
        for index in 0..self.clients.len() {
            while let Some(output) = self.clients[index].as_mut().and_then(Client::poll) {
                match output {
                    client::Output::Send(to, bytes) => {
                        self.send(Datagram { from: address(CLIENTS + index), to, bytes })
                    }
                    client::Output::Outcome(id, outcome) => self.outcomes.push((id, outcome)),
                    client::Output::GivenUp(..) => {}
                }
            }
        }
    }

    fn send(&mut self, datagram: Datagram) {
        self.recorded.iter_mut().for_each(|recorded| recorded.push(datagram.clone()));
        let below = |side: SocketAddr| self.cut.is_none_or(|cut| (0..cut).any(|node| address(node) == side));
        if below(datagram.from) == below(datagram.to) && !(self.loses)(&datagram) {
            self.under_way.push_back((self.now + DELAY, datagram));
        }
    }

    /// How many others each knows.
    pub fn known(&self) -> Vec<usize> {
        self.nodes.iter().flatten().map(|node| node.members().count()).collect()
    }
}
