// SPDX-License-Identifier: Apache-2.0
//! Looks for the values that a scenario leaves open: every rule holds, and then as few interrupts as possible.
//!
//! Sizes hang together: a larger queue fills later, and its burst is everybody's delay. So the search goes along each
//! queue's sizes in turn, from the sizes that fill in the same time, until nothing gets better.

use super::demand::{Demand, Frames};
use super::figures::{Figures, figures, room_bytes};
use super::rules::{Violation, violations};
use super::{NOTHING_US, announces_at_once, settings};
use crate::scenario::keys::{self, Section, Takes};
use crate::scenario::model::{NicQueue, QueueOverrides, Scenario, TaskKind};

/// Times in which all queues fill, for the search to start from: from 50 us, each a half longer.
const STARTS: i32 = 24;
const FIRST_START_US: f64 = 50.0;
const START_FACTOR: f64 = 1.5;
/// So many of them, the best, are worth going on from.
const STARTS_KEPT: usize = 4;
/// Rounds over all queues. Each round that changes anything makes it better; this ends it in any case.
const ROUNDS_MAX: usize = 20;

/// What was found.
#[derive(Debug)]
pub struct Proposal {
    /// A queue for each flow, what is given included.
    pub queues: Vec<NicQueue>,
    /// Which of their values the scenario left open.
    pub open: Vec<Open>,
    /// What does not hold even so: the least that could be found. Empty: every rule holds.
    pub violations: Vec<Violation>,
    /// What was asked: the cases of the scenario that differ in it.
    pub demands: Vec<Demand>,
}

/// Which values of a queue the scenario leaves open.
#[derive(Debug, Clone, Copy)]
pub struct Open {
    /// `packet_timer_us`.
    pub packet: bool,
    /// `absolute_timer_us`.
    pub absolute: bool,
    /// `queue_bytes` and `frames`, which together are the size.
    pub size: bool,
}

/// A size, and whether frames are held back.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Choice {
    bytes: u32,
    frames: u32,
    moderated: bool,
}

/// A setting, and what is bad about it, worst first: rules broken, by so many microseconds, interrupts per second,
/// frames of a burst.
#[derive(Debug, Clone)]
struct Rated {
    choices: Vec<Choice>,
    queues: Vec<NicQueue>,
    badness: (usize, f64, f64, u32),
}

impl Rated {
    fn is_better_than(&self, other: &Self) -> bool {
        self.badness < other.badness
    }
}

/// Fills what the scenario leaves open. The cases differ in what is swept; the values are for all of them.
pub fn propose<'a>(cases: impl IntoIterator<Item = &'a Scenario>) -> Option<Proposal> {
    let mut scenarios = cases.into_iter();
    let first = scenarios.next()?;
    let mut demands = vec![Demand::of(first)];
    for scenario in scenarios {
        let demand = Demand::of(scenario);
        if !demands.contains(&demand) {
            demands.push(demand);
        }
    }
    let search = Search { given: settings(first), open: open(first), demands };
    let queues = search.run();
    let violations = search.violations(&queues);
    Some(Proposal { queues, open: search.open, violations, demands: search.demands })
}

impl Proposal {
    /// The figures of the case in which a flow has least room for its absolute timer.
    pub fn tightest(&self, flow: usize) -> (&Demand, Figures) {
        let of = |demand| (demand, figures(demand, &self.queues));
        let bound = |figures: &Figures| figures.flows[flow].bound_us(figures.wcpd_us).unwrap_or(f64::INFINITY);
        let all = self.demands.iter().map(of);
        all.min_by(|(_, a), (_, b)| bound(a).total_cmp(&bound(b))).expect("at least one case")
    }
}

fn open(scenario: &Scenario) -> Vec<Open> {
    let nic = &scenario.nic.asked;
    let open_in = |flow: &QueueOverrides| Open {
        packet: flow.packet_timer_us.or(nic.packet_timer_us).is_none(),
        absolute: flow.absolute_timer_us.or(nic.absolute_timer_us).is_none(),
        size: flow.bytes.or(nic.bytes).or(flow.frames).or(nic.frames).is_none(),
    };
    let contracts = scenario.tasks.iter().filter_map(|task| match &task.kind {
        TaskKind::Receiving { flow, .. } => Some(flow),
        _ => None,
    });
    contracts.map(|flow| open_in(&flow.queue)).collect()
}

struct Search {
    given: Vec<NicQueue>,
    open: Vec<Open>,
    demands: Vec<Demand>,
}

impl Search {
    fn run(&self) -> Vec<NicQueue> {
        let mut starts: Vec<Rated> =
            (0..STARTS).map(|step| self.rated(self.start(FIRST_START_US * START_FACTOR.powi(step)))).collect();
        starts.push(self.rated(self.idle()));
        starts.sort_by(|a, b| a.badness.partial_cmp(&b.badness).expect("numbers"));
        starts.dedup_by(|a, b| a.choices == b.choices);
        let ends = starts.into_iter().take(STARTS_KEPT).map(|start| self.improved(start));
        let best = ends.reduce(|best, one| if one.is_better_than(&best) { one } else { best }).expect("starts");
        // Where nothing is held back there are no bursts, and sizes do not matter.
        let idle = self.rated(self.idle());
        let all_at_once = best.queues.iter().all(announces_at_once);
        if all_at_once && idle.queues.iter().all(announces_at_once) { idle.queues } else { best.queues }
    }

    fn improved(&self, mut best: Rated) -> Rated {
        for _ in 0..ROUNDS_MAX {
            let before = best.badness;
            for flow in 0..self.given.len() {
                for choice in self.choices(flow) {
                    let mut choices = best.choices.clone();
                    choices[flow] = choice;
                    let one = self.rated(choices);
                    if one.is_better_than(&best) {
                        best = one;
                    }
                }
            }
            if best.badness == before {
                break;
            }
        }
        best
    }

    /// Lengths of a flow's frames in all cases; `None`: it never gets any.
    fn lengths(&self, flow: usize) -> Option<Frames> {
        self.demands.iter().filter_map(|demand| demand.flows[flow].frames).reduce(Frames::and)
    }

    /// Whether the NIC may hold frames of this flow back, as far as the scenario leaves it open.
    fn may_be(&self, flow: usize, moderated: bool) -> bool {
        let (given, open) = (&self.given[flow], &self.open[flow]);
        let has_timer = (!open.packet && given.packet_timer_us > 0) || (!open.absolute && given.absolute_timer_us > 0);
        let is_held = has_timer || (!open.size && given.frames > 1);
        let is_known = self.demands.iter().all(|demand| demand.flows[flow].arrivals.is_ok());
        if moderated { is_held || (open.absolute && is_known) } else { !is_held }
    }

    /// What can be chosen for a flow.
    fn choices(&self, flow: usize) -> Vec<Choice> {
        let given = &self.given[flow];
        let (bytes, frames) = (given.bytes, given.frames);
        let Some(lengths) = self.lengths(flow) else {
            return vec![Choice { bytes, frames, moderated: self.may_be(flow, true) && !self.may_be(flow, false) }];
        };
        let mut choices = Vec::new();
        for moderated in [false, true].into_iter().filter(|moderated| self.may_be(flow, *moderated)) {
            if !self.open[flow].size {
                choices.push(Choice { bytes, frames, moderated });
            } else if moderated {
                choices.extend((1..=count_max(lengths)).map(|count| sized(count, lengths)));
            } else {
                // A threshold above one would hold back what should be announced at once.
                choices.push(Choice { bytes, frames: 1, moderated });
                choices.extend((1..=count_max(lengths)).map(|count| Choice {
                    frames: 0,
                    moderated,
                    ..sized(count, lengths)
                }));
            }
        }
        choices
    }

    /// Everything at once, as it is.
    fn idle(&self) -> Vec<Choice> {
        let idle = self.given.iter().enumerate().map(|(flow, given)| Choice {
            bytes: given.bytes,
            frames: given.frames,
            moderated: !self.may_be(flow, false),
        });
        idle.collect()
    }

    /// Queues of which each fills in this time.
    fn start(&self, time_us: f64) -> Vec<Choice> {
        let of_flow = |(flow, idle): (usize, Choice)| {
            let Some(lengths) = self.lengths(flow).filter(|_| self.may_be(flow, true) && self.open[flow].size) else {
                return Choice { moderated: self.may_be(flow, true), ..idle };
            };
            let fills_later = |count: u32| {
                let known = self.demands.iter().filter_map(|demand| demand.flows[flow].arrivals.as_ref().ok());
                known.map(|arrivals| arrivals.fill_us(count)).all(|fill_us| fill_us >= time_us)
            };
            let most = count_max(lengths);
            sized((1..most).find(|count| fills_later(*count)).unwrap_or(most), lengths)
        };
        self.idle().into_iter().enumerate().map(of_flow).collect()
    }

    fn rated(&self, choices: Vec<Choice>) -> Rated {
        let queues = self.with_timers(&choices);
        let violations = self.violations(&queues);
        let excess_us: f64 = violations.iter().map(|violation| violation.excess_us.min(1e12)).sum();
        let interrupts = queues.iter().enumerate().map(|(flow, queue)| self.interrupts_per_s(flow, queue)).sum();
        let burst_frames = self.demands.iter().map(|demand| figures(demand, &queues).burst_frames).max();
        Rated { choices, queues, badness: (violations.len(), excess_us, interrupts, burst_frames.unwrap_or(0)) }
    }

    fn violations(&self, queues: &[NicQueue]) -> Vec<Violation> {
        let mut worst: Vec<Violation> = Vec::new();
        for violation in self.demands.iter().flat_map(|demand| violations(demand, &figures(demand, queues))) {
            match worst.iter_mut().find(|known| known.flow == violation.flow && known.rule == violation.rule) {
                Some(known) if known.excess_us < violation.excess_us => *known = violation,
                Some(_) => {}
                None => worst.push(violation),
            }
        }
        worst
    }

    /// The longest timers that these sizes allow.
    fn with_timers(&self, choices: &[Choice]) -> Vec<NicQueue> {
        let sized: Vec<NicQueue> = choices
            .iter()
            .zip(&self.given)
            .map(|(choice, given)| NicQueue { bytes: choice.bytes, frames: choice.frames, ..*given })
            .collect();
        let all: Vec<Figures> = self.demands.iter().map(|demand| figures(demand, &sized)).collect();
        let bound_us = |flow: usize| {
            let bounds = all.iter().filter_map(|figures| figures.flows[flow].bound_us(figures.wcpd_us));
            bounds.reduce(f64::min)
        };
        let with_timer = |(flow, queue): (usize, &NicQueue)| {
            let (open, moderated) = (&self.open[flow], choices[flow].moderated);
            let longest = whole_us(bound_us(flow).unwrap_or(0.0));
            let (packet, absolute) = (queue.packet_timer_us, queue.absolute_timer_us);
            let absolute = match (open.absolute, moderated) {
                (false, _) => absolute,
                (true, false) => 0,
                (true, true) if open.packet => longest.max(1),
                (true, true) => longest.max(packet).max(1),
            };
            let packet = if open.packet { absolute } else { packet };
            NicQueue { packet_timer_us: packet, absolute_timer_us: absolute, ..*queue }
        };
        sized.iter().enumerate().map(with_timer).collect()
    }

    fn interrupts_per_s(&self, flow: usize, queue: &NicQueue) -> f64 {
        let rates = self.demands.iter().filter_map(|demand| demand.flows[flow].arrivals.as_ref().ok());
        let rate_pps = rates.map(|arrivals| arrivals.rate_pps).fold(0.0, f64::max);
        rate_pps / (1.0 + rate_pps * f64::from(queue.absolute_timer_us) / 1e6)
    }
}

/// As whole microseconds, in the range of the timers' keys.
fn whole_us(us: f64) -> u32 {
    let (_, most) = range("absolute_timer_us");
    (us + NOTHING_US).floor().clamp(0.0, f64::from(most)) as u32
}

/// Frames of the greatest queue.
fn count_max(lengths: Frames) -> u32 {
    let (_, most) = range("queue_bytes");
    most / room_bytes(lengths.longest)
}

/// The smallest queue for so many frames, which announces when as many are in it.
fn sized(count: u32, lengths: Frames) -> Choice {
    let (least, _) = range("queue_bytes");
    let bytes = (count * room_bytes(lengths.longest)).max(least);
    let holds_more = bytes / room_bytes(lengths.shortest) > count;
    Choice { bytes, frames: if holds_more { count } else { 0 }, moderated: true }
}

/// Least and most that a flow's key takes.
fn range(key: &str) -> (u32, u32) {
    match keys::lookup(Section::Flow, key).map(|key| key.takes) {
        Some(Takes::Whole(least, most)) => (least as u32, most as u32),
        _ => unreachable!("`{key}` takes a whole number"),
    }
}
