// SPDX-License-Identifier: Apache-2.0
//! What the link carries.

use super::model::Protocol::Tcp;
use super::model::{Pattern, Target, Traffic};
use super::report::{Problem, Sink};
use super::tree::Table;

/// Ethernet, IPv4 and UDP or ICMP headers, and the frame check sequence.
const HEADERS_BYTES: u32 = 14 + 20 + 8 + CHECK_BYTES;
/// Frame check sequence: on the wire, but not in a queue.
pub(super) const CHECK_BYTES: u32 = 4;
const FRAME_BYTES_MIN: u32 = 64;
/// Preamble and the gap between two frames.
const BETWEEN_FRAMES_BYTES: u32 = 8 + 12;

/// Size of the frames of open-loop traffic.
pub(super) fn frame_bytes(traffic: &Traffic) -> u32 {
    match (&traffic.pattern, traffic.to) {
        (Pattern::Arp { .. }, _) => FRAME_BYTES_MIN,
        (_, Target::Port(listen)) if listen.protocol == Tcp => FRAME_BYTES_MIN,
        _ => FRAME_BYTES_MIN.max(HEADERS_BYTES + traffic.payload_bytes),
    }
}

/// The greatest rate of traffic that does not wait for answers.
fn open_rate_pps(pattern: &Pattern) -> Option<f64> {
    match *pattern {
        Pattern::Uniform { rate_pps }
        | Pattern::Poisson { rate_pps }
        | Pattern::Burst { rate_pps, .. }
        | Pattern::Pyramid { rate_pps, .. }
        | Pattern::Arp { rate_pps }
        | Pattern::Icmp { rate_pps } => Some(rate_pps),
        // A line rate takes what is left, a capture has its own, and closed loops wait.
        Pattern::LineRate | Pattern::Pcap { .. } | Pattern::Modbus { .. } | Pattern::Request { .. } => None,
    }
}

pub(super) fn wire_bits(traffic: &Traffic) -> f64 {
    f64::from((frame_bytes(traffic) + BETWEEN_FRAMES_BYTES) * 8)
}

/// Refuses traffic that the link cannot carry, alone or together.
pub(super) fn check(traffic: &[(Traffic, &Table)], link_mbps: u32, sink: &Sink) {
    // No speed: a wrong one, which is reported.
    if link_mbps == 0 {
        return;
    }
    let link_bps = f64::from(link_mbps) * 1e6;
    let mut all_fit = true;
    for (one, table) in traffic {
        let Some(rate_pps) = open_rate_pps(&one.pattern) else {
            continue;
        };
        let most_pps = link_bps / wire_bits(one);
        if rate_pps > most_pps {
            all_fit = false;
            let bytes = frame_bytes(one);
            let problem = Problem::error(format!("`{}` is more than the link carries", one.name));
            let label = format!("at most {} frames of {bytes} bytes fit {link_mbps} Mbit/s", most_pps.floor());
            let problem = problem.at(table.place_of("rate_pps"), label);
            sink.push(problem.help("lower the rate, or raise `link_mbps` in [device]"));
        }
    }
    if all_fit {
        check_together(traffic, link_bps, sink);
    }
}

/// The sum is greatest at some moment when traffic starts.
fn check_together(traffic: &[(Traffic, &Table)], link_bps: f64, sink: &Sink) {
    let bits_per_second = |one: &Traffic| open_rate_pps(&one.pattern).map_or(0.0, |rate_pps| rate_pps * wire_bits(one));
    for (starting, _) in traffic {
        let now_ms = starting.start_ms;
        let active = traffic
            .iter()
            .filter(|(one, _)| one.start_ms <= now_ms && one.stop_ms.is_none_or(|stop_ms| now_ms < stop_ms));
        let sum_bps: f64 = active.clone().map(|(one, _)| bits_per_second(one)).sum();
        let greatest = active.max_by(|(a, _), (b, _)| bits_per_second(a).total_cmp(&bits_per_second(b)));
        if sum_bps > link_bps
            && let Some((one, table)) = greatest
        {
            let problem = Problem::error("the traffic together is more than the link carries");
            let label = format!("`{}` and the others: {:.1} of {} Mbit/s", one.name, sum_bps / 1e6, link_bps / 1e6);
            let problem = problem.at(table.place_of("rate_pps"), label);
            sink.push(problem.help("lower the rates, or raise `link_mbps` in [device]"));
            return;
        }
    }
}
