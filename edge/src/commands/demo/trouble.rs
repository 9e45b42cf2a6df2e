// SPDX-License-Identifier: Apache-2.0
//! What befalls the demo's nodes: the cable of one is pulled and put back, and one is killed.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::network::Machine;
use super::tally::Tally;
use crate::commands::processes::node::Node;

/// How long a node is looked for that has something to lose.
const SEARCH: Duration = Duration::from_secs(1);

/// A node that was without link.
struct Pulled {
    node: usize,
    at: Instant,
    back: Option<Instant>,
    /// When a task was first accepted by it again.
    used: Option<Instant>,
    taken_over: u64,
}

/// A node that was killed.
struct Killed {
    node: usize,
    at: Instant,
    taken_over_before: u64,
}

/// What is to come, and what came.
pub struct Troubles<'a> {
    began: Instant,
    lasts: Duration,
    /// Those whose cables can be pulled.
    machines: &'a [Machine],
    pulled: Option<Pulled>,
    killed: Option<Killed>,
}

impl<'a> Troubles<'a> {
    /// Half-way a node is killed. If there are cables, one is pulled after a quarter, and put back half-way; the node is
    /// killed after three.
    pub fn new(began: Instant, lasts: Duration, machines: &'a [Machine]) -> Self {
        Self { began, lasts, machines, pulled: None, killed: None }
    }

    /// Does what is due.
    pub fn step(&mut self, nodes: &mut [Node], tally: &Tally) -> Result<(), String> {
        let passed = self.began.elapsed();
        let cables = !self.machines.is_empty();
        if cables
            && self.pulled.is_none()
            && let Some(node) = victim(nodes, tally, passed, self.lasts / 4)
        {
            self.machines[node].set_link(false)?;
            self.pulled = Some(Pulled { node, at: Instant::now(), back: None, used: None, taken_over: 0 });
        }
        if passed >= self.lasts / 2 {
            self.put_back(nodes, tally)?;
        }
        let due = if cables { self.lasts * 3 / 4 } else { self.lasts / 2 };
        if self.killed.is_none()
            && let Some(node) = victim(nodes, tally, passed, due)
        {
            // It cannot fail: the process is our own, and not waited for.
            let _ = nodes[node].child.kill();
            self.killed = Some(Killed { node, at: Instant::now(), taken_over_before: taken_over(nodes, node) });
        }
        Ok(())
    }

    /// Puts a pulled cable back, and from then on looks whether its node is used.
    fn put_back(&mut self, nodes: &[Node], tally: &Tally) -> Result<(), String> {
        let Some(pulled) = &mut self.pulled else { return Ok(()) };
        match pulled.back {
            None => {
                pulled.taken_over = taken_over(nodes, pulled.node);
                self.machines[pulled.node].set_link(true)?;
                pulled.back = Some(Instant::now());
            }
            Some(back) if pulled.used.is_none() => {
                let accepted = tally.last_accepted.get(&nodes[pulled.node].address);
                pulled.used = accepted.copied().filter(|accepted| *accepted > back);
            }
            Some(_) => {}
        }
        Ok(())
    }

    /// What stands in a node's row instead of its metrics.
    pub fn row(&self, node: usize) -> Option<String> {
        let killed = self.killed.as_ref().filter(|killed| killed.node == node)?;
        Some(format!("node {node} was killed at {:.1} s", (killed.at - self.began).as_secs_f64()))
    }

    /// What stands under the table.
    pub fn line(&self) -> Option<String> {
        let pulled = self.pulled.as_ref()?;
        let after = |at: Instant| (at - self.began).as_secs_f64();
        let back = pulled.back.map_or(String::new(), |back| format!(", put back at {:.1} s", after(back)));
        Some(format!("the cable of node {} was pulled at {:.1} s{back}", pulled.node, after(pulled.at)))
    }

    /// What the other nodes say of those that were befallen.
    pub fn aftermath(&self, nodes: &[Node]) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(pulled) = &self.pulled {
            lines.push(format!(
                "cable of node {} pulled: noticed by the others {}; {} of its tasks were placed again",
                pulled.node,
                noticed(nodes, pulled.node, "down", pulled.at),
                pulled.taken_over
            ));
            if let Some(back) = pulled.back {
                let used = pulled.used.map_or("never".to_owned(), |used| after(used, back));
                lines.push(format!(
                    "cable of node {} put back: noticed by the others {}; first task accepted by it {used}",
                    pulled.node,
                    noticed(nodes, pulled.node, "up", back)
                ));
            }
        }
        let Some(killed) = &self.killed else { return vec!["no node was killed".to_owned()] };
        let placed_again = taken_over(nodes, killed.node) - killed.taken_over_before;
        lines.push(format!(
            "death of node {}: noticed by the others {}",
            killed.node,
            noticed(nodes, killed.node, "down", killed.at)
        ));
        lines.push(format!("taken over: {placed_again} of its tasks were placed again"));
        lines
    }
}

/// One that has something to lose, if there is one soon after `due`.
fn victim(nodes: &[Node], tally: &Tally, passed: Duration, due: Duration) -> Option<usize> {
    if passed < due {
        return None;
    }
    let holder = tally.holders.values().next();
    let node = nodes.iter().position(|node| Some(&node.address) == holder);
    node.or_else(|| (passed >= due + SEARCH).then_some(0))
}

/// When the others logged it of a node.
fn noticed(nodes: &[Node], node: usize, event: &str, since: Instant) -> String {
    let address: SocketAddr = nodes[node].address;
    let others = nodes.iter().filter(|other| other.address != address);
    let times = others.map(|other| {
        let logged = other.logged(&format!(" event={event} address={address}"), since);
        logged.map_or("never".to_owned(), |at| after(at, since))
    });
    times.collect::<Vec<_>>().join(" and ")
}

fn after(at: Instant, since: Instant) -> String {
    format!("after {} ms", at.saturating_duration_since(since).as_millis())
}

/// How many tasks the others have taken over so far.
fn taken_over(nodes: &[Node], except: usize) -> u64 {
    let others = nodes.iter().enumerate().filter(|(index, _)| *index != except);
    let counts = others.filter_map(|(_, node)| {
        let metrics = node.fetch().ok()?;
        metrics.get("weir_edge_taken_over_total")?.parse::<u64>().ok()
    });
    counts.sum()
}
