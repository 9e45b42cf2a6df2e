// SPDX-License-Identifier: Apache-2.0
//! What a stream's delay can be at most, whatever the load does, where theory tells.

use super::queues::{Discipline, reserved_bps, window};
use super::traffic::{Source, Traffic};

/// The most that passes from the moment at which a stream's frame is sent to its last bit at the receiver, in bit times.
/// None where load can make it any time. Holds if nothing but streams has the streams' priorities, streams of one port do
/// not exceed its link, and all of a stream's frames fit into its period.
pub fn bound(discipline: Discipline, stream: &Source, traffic: &Traffic) -> Option<u64> {
    let marked = traffic.sources.iter().any(|source| !source.is_stream && reserved_bps(source.priority, traffic) > 0);
    let ingress: u64 = at_port(stream, traffic);
    let same: u64 = traffic.streams().filter(|other| other.priority == stream.priority).map(Source::wire).sum();
    let blocking = longest_below(stream.priority, traffic);
    let is_highest = traffic.sources.iter().all(|source| source.priority <= stream.priority);
    match discipline {
        Discipline::Fifo => None,
        _ if marked || !is_highest => None,
        // One frame that has just begun, then one of each stream: none sends a second one before these are through.
        Discipline::Strict if same + blocking <= shortest_period(traffic) => Some(ingress + blocking + same),
        Discipline::Strict => None,
        // Rate-latency service of the highest class: idle slope after one frame of interference.
        Discipline::Cbs => {
            let idle = reserved_bps(stream.priority, traffic);
            Some(ingress + blocking + (same * traffic.link_bps).div_ceil(idle))
        }
        // A frame that misses its window by a little waits for the next one, which has room for one frame of each.
        Discipline::Tas => {
            let (cycle, window) = window(traffic);
            let one_class = traffic.streams().all(|other| other.priority == stream.priority);
            let one_period = traffic.streams().all(|other| other.period % cycle == 0);
            (one_class && one_period).then_some(ingress + cycle + 2 * window)
        }
        Discipline::Ats => None,
    }
}

/// Bit times on the port's own link, behind one frame of each other source that shares it.
fn at_port(stream: &Source, traffic: &Traffic) -> u64 {
    traffic.sources.iter().filter(|source| source.port == stream.port).map(Source::wire).sum()
}

fn longest_below(priority: u8, traffic: &Traffic) -> u64 {
    traffic.sources.iter().filter(|source| source.priority < priority).map(Source::wire).max().unwrap_or(0)
}

fn shortest_period(traffic: &Traffic) -> u64 {
    traffic.streams().map(|source| source.period).min().unwrap_or(0)
}
