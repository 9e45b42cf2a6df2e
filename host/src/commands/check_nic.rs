// SPDX-License-Identifier: Apache-2.0
//! `weir check`: the figures behind the rules of the multiqueue NIC's parameters.

use std::fmt::Write;

use super::check::aligned;
use crate::scenario::Scenario;
use crate::scenario::moderation::{self, Demand, Figures, FlowFigures, us};

/// A row for each flow; `None` where the scenario has nothing to do with such a NIC.
pub fn table(scenario: &Scenario) -> Option<String> {
    let demand = Demand::of(scenario);
    if !moderation::concerns(scenario) || demand.flows.is_empty() {
        return None;
    }
    let figures = moderation::figures(&demand, &moderation::settings(scenario));
    let heading = ["flow", "n_q", "R_max", "t_P", "t_qf", "t_d", "t_J", "t_pack", "t_abs", "at most"];
    let mut rows = vec![heading.map(str::to_owned)];
    rows.extend(demand.flows.iter().zip(&figures.flows).map(|(flow, of)| row(&flow.name, of, &figures)));
    let mut text = aligned(&rows);
    text.push_str(&burst(&demand, &figures));
    for note in &demand.notes {
        writeln!(text, "{note}").expect("a String takes everything");
    }
    Some(text)
}

/// How the delay of a burst comes about.
pub(super) fn burst(demand: &Demand, figures: &Figures) -> String {
    let mut text = format!(
        "WCPD = {} us of protocol work * {} frames = {} us",
        us(demand.netstack_us),
        figures.burst_frames,
        us(figures.wcpd_us)
    );
    if !figures.moderates {
        text.push_str("; all announce at once: no rule applies, and none vouches for deadlines");
    }
    text.push('\n');
    text
}

fn row(name: &str, of: &FlowFigures, figures: &Figures) -> [String; 10] {
    let time = |figure: Option<f64>, without: &str| match figure {
        Some(figure) if figure.is_finite() => format!("{} us", us(figure)),
        Some(_) => "endless".to_owned(),
        None => without.to_owned(),
    };
    let timer = |timer_us: u32| time((timer_us > 0).then_some(f64::from(timer_us)), "none");
    let (least, most) = of.frames;
    let frames = if least == most { most.to_string() } else { format!("{least} to {most}") };
    [
        name.to_owned(),
        frames,
        of.rate_pps.map_or("unknown".to_owned(), |pps| format!("{}/s", us(pps))),
        time(of.distance_us, "-"),
        time(of.fill_us, "unknown"),
        time(of.deadline_us, "none"),
        time(of.jobs_us, "-"),
        timer(of.queue.packet_timer_us),
        timer(of.queue.absolute_timer_us),
        time(of.bound_us(figures.wcpd_us), "-"),
    ]
}
