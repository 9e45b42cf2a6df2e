// SPDX-License-Identifier: Apache-2.0
//! Who finds whom again, after what lasts longer than a scenario of the simulator.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use weir_edge::core::auth::SiteKey;
use weir_edge::core::node::{Config, Node, Output};
use weir_edge::core::time::Instant;

/// What a datagram takes from one node to another.
const DELAY: Duration = Duration::from_micros(100);

fn address(node: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, node as u8 + 1], 7400))
}

/// Nodes that name each other as seeds, and the network between them.
struct Site {
    now: Instant,
    nodes: Vec<Option<Node>>,
    under_way: VecDeque<(Instant, usize, SocketAddr, Vec<u8>)>,
    /// Nodes before this one and the others do not hear each other.
    cut: Option<usize>,
    starts: u64,
}

impl Site {
    fn new(nodes: usize) -> Self {
        let (now, nodes_off) = (Instant(0), (0..nodes).map(|_| None).collect());
        let mut site = Self { now, nodes: nodes_off, under_way: VecDeque::new(), cut: None, starts: 0 };
        (0..nodes).for_each(|node| site.start(node, 1_000_000 + node as u64));
        site
    }

    fn start(&mut self, node: usize, started_ms: u64) {
        self.starts += 1;
        let seeds = (0..self.nodes.len()).filter(|other| *other != node).map(address).collect();
        let config = Config { seeds, started_ms, ..Config::new(address(node)) };
        self.nodes[node] = Some(Node::new(config, SiteKey::new(&[7; 32]), self.now, self.starts));
    }

    fn run(&mut self, duration: Duration) {
        let end = self.now + duration;
        loop {
            let due = self.nodes.iter().flatten().map(Node::timeout).chain(self.under_way.front().map(|d| d.0)).min();
            let Some(due) = due.filter(|due| *due <= end) else { break };
            self.now = due.max(self.now);
            while self.under_way.front().is_some_and(|datagram| datagram.0 <= self.now) {
                let Some((_, to, from, datagram)) = self.under_way.pop_front() else { break };
                self.nodes[to].iter_mut().for_each(|node| node.handle_datagram(self.now, from, &datagram));
            }
            for index in 0..self.nodes.len() {
                let Some(node) = &mut self.nodes[index] else { continue };
                if node.timeout() <= self.now {
                    node.handle_timeout(self.now);
                }
                while let Some(output) = node.poll() {
                    let Output::Send(to, datagram) = output else { continue };
                    let to = (0..).find(|node| address(*node) == to).unwrap();
                    if self.cut.is_none_or(|cut| (index < cut) == (to < cut)) {
                        self.under_way.push_back((self.now + DELAY, to, address(index), datagram));
                    }
                }
            }
        }
        self.now = end;
    }

    /// How many others each knows.
    fn known(&self) -> Vec<usize> {
        self.nodes.iter().flatten().map(|node| node.members().count()).collect()
    }
}

#[test]
fn halves_that_forgot_each_other_become_one_site_again() {
    let mut site = Site::new(4);
    site.run(Duration::from_secs(3));
    assert_eq!(site.known(), [3; 4]);
    site.cut = Some(2);
    site.run(Duration::from_secs(300));
    assert_eq!(site.known(), [1; 4]);
    site.cut = None;
    site.run(Duration::from_secs(3));
    assert_eq!(site.known(), [3; 4]);
}

#[test]
fn a_node_that_is_started_anew_at_once_is_there_again() {
    let mut site = Site::new(3);
    site.run(Duration::from_secs(3));
    for start in 1..=20 {
        site.start(2, 2_000_000 + start);
        site.run(Duration::from_millis(500));
        assert_eq!(site.known(), [2; 3], "after start {start}");
    }
}

#[test]
fn a_node_whose_calendar_went_back_is_there_again_at_once() {
    let mut site = Site::new(3);
    site.run(Duration::from_secs(3));
    assert_eq!(site.known(), [2; 3]);
    for start in 1..=20 {
        site.start(2, 1_000_000 - start);
        site.run(Duration::from_secs(1));
        assert_eq!(site.known(), [2; 3], "after start {start}");
    }
}
