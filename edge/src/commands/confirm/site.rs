// SPDX-License-Identifier: Apache-2.0
//! A scenario's machines as processes, and what befalls them.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use weir_edge::core::queue::Strategy;
use weir_edge::sim::results::Results;
use weir_edge::sim::scenario::{Fault, Mode, Scenario, What};

use crate::commands::processes::node::{self, Node};

/// The only program.
pub const PROGRAM: &str = "job";
/// A program that takes its worst case takes this longer at most, with its process's start and end.
const OVERRUN_TOLERANCE: &str = "20ms";
/// The programs' priority: above those of other sites that may be tried on this machine meanwhile, below link and devices.
const PROGRAM_PRIORITY: u8 = 55;
/// Through how many others a machine joins.
const SEEDS: usize = 3;

/// A scenario's number as a duration.
pub fn ms(value: f64) -> Duration {
    Duration::from_secs_f64(value / 1000.0)
}

/// All machines of a scenario; a scheduler is the first.
pub struct Site<'a> {
    scenario: &'a Scenario,
    burn: bool,
    pub nodes: Vec<Node>,
    /// When a machine was killed, and when it was started again.
    killed: Vec<(usize, Instant)>,
    restarted: Vec<(usize, Instant)>,
}

impl<'a> Site<'a> {
    /// Starts them; the folder has the key.
    pub fn start(scenario: &'a Scenario, burn: bool, folder: &Path) -> Result<Self, String> {
        let mut site = Self { scenario, burn, nodes: Vec::new(), killed: Vec::new(), restarted: Vec::new() };
        for index in 0..scenario.nodes + usize::from(scenario.mode == Mode::Central) {
            let node = Node::start(folder, index, site.role(index), &site.lines(index)?, None)?;
            site.nodes.push(node);
        }
        Ok(site)
    }

    fn role(&self, index: usize) -> &'static str {
        match (self.scenario.mode, index) {
            (Mode::Central, 0) => "scheduler",
            (Mode::Central, _) => "worker",
            _ => "node",
        }
    }

    /// Of a machine's file, as the simulator sets its machines up.
    fn lines(&self, index: usize) -> Result<String, String> {
        let Scenario { task, admission, .. } = self.scenario;
        let seeds = self.nodes.iter().map(|node| node.address).take(SEEDS).filter(|a| Some(*a) != self.address(index));
        let seeds: Vec<String> = seeds.map(|address| format!("\"{address}\"")).collect();
        let strategy = match admission.strategy {
            Strategy::FirstFit => "first-fit",
            Strategy::BestFit => "best-fit",
            Strategy::WorstFit => "worst-fit",
        };
        let scheduler = self.role(index) == "scheduler";
        let neighbours = if scheduler { 2 * self.nodes.len().max(self.scenario.nodes + 1) } else { 16 };
        let mut lines = format!("seeds = [{}]\nstrategy = \"{strategy}\"\n", seeds.join(", "));
        lines += &format!("real_time_priority = {PROGRAM_PRIORITY}\n");
        if !scheduler {
            lines += &format!("workers = 1\ncpus = [{}]\n", node::cpu(index));
        }
        lines += &format!(
            "\n[limits]\nasked = {}\nneighbours = {neighbours}\nstart_cost = \"{}ns\"\npreempt_cost = \"0ns\"\n\
             overrun_tolerance = \"{OVERRUN_TOLERANCE}\"\n",
            admission.asked_max,
            ms(admission.start_cost_ms).as_nanos(),
        );
        if !scheduler {
            let execution = ms(task.execution_ms.unwrap_or(task.wcet_ms)).as_nanos();
            let hold = if self.burn { "" } else { ", \"--hold\"" };
            lines += &format!(
                "\n[programs]\n{PROGRAM} = [{:?}, \"compute\", \"{execution}ns\"{hold}]\n",
                node::own_program()?
            );
        }
        Ok(lines)
    }

    fn address(&self, index: usize) -> Option<SocketAddr> {
        self.nodes.get(index).map(|node| node.address)
    }

    /// Kills or starts a machine.
    pub fn fault(&mut self, fault: &Fault) -> Result<(), String> {
        let index = fault.node + usize::from(self.scenario.mode == Mode::Central);
        self.nodes[index].kill();
        match fault.what {
            What::Restart => {
                let lines = self.lines(index)?;
                self.restarted.push((index, Instant::now()));
                self.nodes[index].restart(&lines)
            }
            _ => {
                self.killed.push((index, Instant::now()));
                Ok(())
            }
        }
    }

    /// What machines tell of the run: who was taken over, and how soon all knew of a loss or a return.
    pub fn results(&self) -> Results {
        let fetched = self.nodes.iter().filter_map(|node| node.fetch().ok());
        let taken_over = fetched.filter_map(|m| m.get("weir_edge_taken_over_total")?.parse::<u64>().ok()).sum();
        let all_logged = |event: &str, (index, at): &(usize, Instant)| {
            let what = format!(" event={event} address={}", self.nodes[*index].address);
            // Who is down itself knows nothing.
            let others = (0..self.nodes.len()).filter(|i| i != index && !self.is_down(*i));
            let known: Option<Vec<Instant>> = others.map(|i| self.nodes[i].logged(&what, *at)).collect();
            Some((*known?.iter().max()? - *at).as_secs_f64() * 1e3)
        };
        Results {
            runs: 1,
            taken_over,
            noticed_ms: self.killed.iter().filter_map(|killed| all_logged("down", killed)).collect(),
            back_ms: self.restarted.iter().filter_map(|restarted| all_logged("up", restarted)).collect(),
            ..Results::default()
        }
    }

    fn is_down(&self, index: usize) -> bool {
        let last = |list: &[(usize, Instant)]| list.iter().filter(|(i, _)| *i == index).map(|(_, at)| *at).max();
        last(&self.killed) > last(&self.restarted)
    }
}
