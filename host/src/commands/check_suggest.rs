// SPDX-License-Identifier: Apache-2.0
//! `weir check --suggest`: values for what the scenario leaves open, as TOML, each with the rule that decided it.

use std::fmt::Write;

use super::check::aligned;
use super::check_nic::burst;
use crate::scenario::Checked;
use crate::scenario::moderation::{self, Demand, Figures, FlowFigures, Open, Proposal, Rule, Violation, us};

/// The text to paste; `Err` says which rule cannot be kept, and by how much.
pub fn suggest(checked: &Checked) -> Result<String, String> {
    let proposal = moderation::propose(checked.cases.iter().map(|case| &case.scenario));
    let Some(proposal) = proposal.filter(|proposal| !proposal.queues.is_empty()) else {
        return Err("error: there is no receiving task, and so no queue to suggest anything for".to_owned());
    };
    if !proposal.violations.is_empty() {
        return Err(proposal.violations.iter().map(|broken| unsatisfiable(broken, &proposal)).collect());
    }
    let (demand, figures) = proposal.tightest(0);
    let mut text = "# From `weir check --suggest`; rules and symbols: docs/reference/nic-parameters.md\n".to_owned();
    write(&mut text, &format!("# {}", burst(demand, &figures)));
    if !figures.moderates {
        text.push_str("# Nothing can be held back: with any timer, some rule would not hold.\n");
    }
    for (flow, of) in proposal.demands[0].flows.iter().enumerate() {
        write(&mut text, &format!("\n# below the task \"{}\"\n[task.flow]\n", of.name));
        text.push_str(&values(&proposal, flow));
    }
    for note in proposal.demands.iter().flat_map(|demand| &demand.notes) {
        if !text.contains(note) {
            write(&mut text, &format!("# {note}\n"));
        }
    }
    Ok(text)
}

fn write(text: &mut String, more: &str) {
    text.write_str(more).expect("a String takes everything");
}

fn unsatisfiable(broken: &Violation, proposal: &Proposal) -> String {
    let Violation { flow, name, rule, excess_us, numbers, .. } = broken;
    let by = if excess_us.is_finite() { format!("by {} us", us(*excess_us)) } else { "by any amount".to_owned() };
    let open = &proposal.open[*flow];
    let given: Vec<&str> = [
        (!open.packet, "packet_timer_us"),
        (!open.absolute, "absolute_timer_us"),
        (!open.size, "queue_bytes and frames"),
    ]
    .into_iter()
    .filter_map(|(given, key)| given.then_some(key))
    .collect();
    let advice = match (given.is_empty(), rule) {
        (false, _) => format!("leave open what is given for it: {}", given.join(", ")),
        (true, Rule::Absolute) => {
            "leave the other queues' timers and sizes open, or give its task more time".to_owned()
        }
        (true, _) => "give its task more time".to_owned(),
    };
    format!("error: `{name}`: {} cannot hold: it fails {by}\n  ({numbers})\n  = help: {advice}\n", rule.written())
}

/// The keys that are open, with remarks.
fn values(proposal: &Proposal, flow: usize) -> String {
    let (demand, figures) = proposal.tightest(flow);
    let (queue, of, Open { packet, absolute, size }) =
        (&proposal.queues[flow], &figures.flows[flow], proposal.open[flow]);
    let mut rows: Vec<[String; 2]> = Vec::new();
    let mut row = |key: &str, value: u32, why: String| rows.push([format!("{key} = {value}"), format!("# {why}")]);
    if packet {
        let why = match queue.packet_timer_us {
            0 => at_once(demand, of, &figures, flow),
            _ => Rule::PacketMost.written().to_owned(),
        };
        row("packet_timer_us", queue.packet_timer_us, why);
    }
    if absolute {
        let why = match queue.absolute_timer_us {
            0 => at_once(demand, of, &figures, flow),
            _ => longest(of, &figures),
        };
        row("absolute_timer_us", queue.absolute_timer_us, why);
    }
    if size && of.frames.1 > 0 && figures.moderates {
        if queue.frames > 0 {
            row("frames", queue.frames, sized(of));
            row("queue_bytes", queue.bytes, "room for as many and more".to_owned());
        } else {
            row("queue_bytes", queue.bytes, sized(of));
        }
    }
    if rows.is_empty() { "# nothing is open\n".to_owned() } else { aligned(&rows) }
}

fn at_once(demand: &Demand, of: &FlowFigures, figures: &Figures, flow: usize) -> String {
    if of.frames.1 == 0 {
        return "at once: nobody sends to it".to_owned();
    }
    if demand.flows[flow].is_unknown() {
        return "at once: t_qf cannot be evaluated".to_owned();
    }
    match (of.bound_us(figures.wcpd_us), of.distance_us) {
        (Some(bound_us), Some(distance_us)) if bound_us < distance_us => {
            format!("at once: t_P, {} us, is more than t_abs may be, {} us", us(distance_us), us(bound_us))
        }
        _ => "at once: any timer here breaks a rule, of this flow or another, or saves fewer interrupts".to_owned(),
    }
}

/// What the absolute timer came from.
fn longest(of: &FlowFigures, figures: &Figures) -> String {
    let decided = if of.is_full_first() {
        format!("t_qf {}", us(of.fill_us.unwrap_or(f64::INFINITY)))
    } else {
        format!("t_d {}", us(of.deadline_us.unwrap_or(f64::INFINITY)))
    };
    let jobs_us = of.jobs_us.unwrap_or(0.0);
    format!("{}: {decided} - {} - {} us", Rule::Absolute.written(), us(figures.wcpd_us), us(jobs_us))
}

fn sized(of: &FlowFigures) -> String {
    let fill = of.fill_us.map_or("a time that is unknown".to_owned(), |fill_us| format!("t_qf = {} us", us(fill_us)));
    format!("n_q = {}, full after {fill}; more adds to every flow's WCPD", of.frames.1)
}
