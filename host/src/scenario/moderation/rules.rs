// SPDX-License-Identifier: Apache-2.0
//! Which rules a setting breaks, and what would be right.

use super::NOTHING_US;
use super::demand::Demand;
use super::figures::{Figures, FlowFigures, Wait};

/// A rule of the parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// What waits is in time, and finds room.
    Absolute,
    /// The packet timer is worth waiting for.
    PacketLeast,
    /// The packet timer comes first.
    PacketMost,
}

impl Rule {
    /// As it is written.
    pub fn written(self) -> &'static str {
        match self {
            Self::Absolute => "t_abs <= min(t_d, t_qf) - WCPD - t_J",
            Self::PacketLeast => "t_P <= t_pack",
            Self::PacketMost => "t_pack <= t_abs",
        }
    }

    /// The key that it is about.
    pub fn key(self) -> &'static str {
        match self {
            Self::Absolute => "absolute_timer_us",
            Self::PacketLeast | Self::PacketMost => "packet_timer_us",
        }
    }
}

/// A rule that does not hold.
#[derive(Debug, Clone)]
pub struct Violation {
    /// Index of the flow.
    pub flow: usize,
    /// The flow's name.
    pub name: String,
    /// The rule.
    pub rule: Rule,
    /// By how much, in microseconds; endless where a timer is missing.
    pub excess_us: f64,
    /// With its numbers.
    pub numbers: String,
    /// What would be right.
    pub remedy: String,
}

/// Everything that does not hold. Queues that announce at once need no rules while all do: the bursts that the rules
/// are about come from those that hold frames back, and they are everybody's.
pub fn violations(demand: &Demand, figures: &Figures) -> Vec<Violation> {
    let mut found = Vec::new();
    if !figures.moderates {
        return found;
    }
    for (index, (flow, of)) in
        demand.flows.iter().zip(&figures.flows).enumerate().filter(|(_, (_, of))| of.frames.1 > 0)
    {
        let mut add = |rule, excess_us, numbers, remedy| {
            found.push(Violation { flow: index, name: flow.name.clone(), rule, excess_us, numbers, remedy });
        };
        if let Some(bound_us) = of.bound_us(figures.wcpd_us)
            && of.wait.us() > bound_us + NOTHING_US
        {
            let excess_us = of.wait.us() - bound_us;
            add(Rule::Absolute, excess_us, absolute_numbers(of, figures), absolute_remedy(of, bound_us));
        }
        let (packet_us, wait_us) = (f64::from(of.queue.packet_timer_us), of.wait.us());
        if let Some(distance_us) = of.distance_us
            && of.wait != Wait::No
            && of.effective_packet_us() + NOTHING_US < distance_us
        {
            let effective_us = of.effective_packet_us();
            add(
                Rule::PacketLeast,
                distance_us - effective_us,
                format!("{} us between packets, {} us", us(distance_us), us(effective_us)),
                format!(
                    "at least {} us: nothing else comes in less, and what comes waits for nothing; or no timers: at once",
                    distance_us.ceil()
                ),
            );
        }
        if packet_us > wait_us {
            let remedy = format!("at most `absolute_timer_us`, {} us", us(wait_us));
            add(Rule::PacketMost, packet_us - wait_us, format!("{} us, {} us", us(packet_us), us(wait_us)), remedy);
        }
    }
    found
}

impl FlowFigures {
    /// Whether t_qf is what decides.
    pub fn is_full_first(&self) -> bool {
        self.fill_us.unwrap_or(f64::INFINITY) < self.deadline_us.unwrap_or(f64::INFINITY)
    }

    /// Without a packet timer, the absolute one is how long a packet waits for the next.
    fn effective_packet_us(&self) -> f64 {
        match self.queue.packet_timer_us {
            0 => self.wait.us(),
            us => f64::from(us),
        }
    }
}

fn absolute_numbers(of: &FlowFigures, figures: &Figures) -> String {
    let wait = match of.wait {
        Wait::Endless => "no absolute timer".to_owned(),
        Wait::No => "at once, 0 us".to_owned(),
        Wait::AtMost(at_most_us) => format!("{} us", us(at_most_us)),
    };
    let limit = match (of.deadline_us, of.fill_us) {
        (Some(deadline_us), Some(fill_us)) => format!("min({}, {})", us(deadline_us), us(fill_us)),
        (deadline_us, fill_us) => us(deadline_us.or(fill_us).unwrap_or(f64::INFINITY)),
    };
    format!("{wait}; {limit} - {} - {} us", us(figures.wcpd_us), us(of.jobs_us.unwrap_or(0.0)))
}

fn absolute_remedy(of: &FlowFigures, bound_us: f64) -> String {
    if bound_us < 0.0 {
        let which = if of.is_full_first() { "the room in its queue and socket" } else { "the deadline" };
        return format!(
            "no timer would be right: {which} lacks {} us even at once; make queues smaller (`frames`, `queue_bytes`), \
             or try `--suggest`",
            us(-bound_us)
        );
    }
    match of.distance_us {
        Some(distance_us) if bound_us + NOTHING_US < distance_us => {
            format!("no timers: at most {} us is less than there is between packets", bound_us.floor())
        }
        _ => format!("`absolute_timer_us` of at most {}", (bound_us + NOTHING_US).floor()),
    }
}

/// Microseconds, to a tenth where they are not whole.
pub fn us(us: f64) -> String {
    let tenths = (us * 10.0).round() / 10.0;
    if tenths == f64::INFINITY { "endless".to_owned() } else { tenths.to_string() }
}
