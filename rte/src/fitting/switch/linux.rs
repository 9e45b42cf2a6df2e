// SPDX-License-Identifier: Apache-2.0
//! How a Linux switch is told to shape: 802.1Qav slopes from the streams, as `tc` commands.

use std::fmt::Write;

use super::queues::reserved_bps;
use super::traffic::{OVERHEAD_BYTES, Traffic};

/// Parameters of a credit-based shaper as IEEE 802.1Q (annex L) computes and `tc-cbs(8)` takes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slopes {
    /// Priority of its streams.
    pub priority: u8,
    /// Bits per second that it wins while it waits.
    pub idle_bps: u64,
    /// Bits per second that it loses (negative) while it sends.
    pub send_bps: i64,
    /// The most that it can have, in bytes.
    pub high_bytes: u64,
    /// The least that it can have, in bytes (negative).
    pub low_bytes: i64,
}

/// The slopes of every priority that has streams, the highest first.
pub fn slopes(traffic: &Traffic) -> Vec<Slopes> {
    let below = traffic.sources.iter().filter(|source| !source.is_stream).map(|source| source.frame_bytes).max();
    let interference = below.unwrap_or(1522) + OVERHEAD_BYTES;
    let of = |priority: u8| {
        let idle_bps = reserved_bps(priority, traffic);
        let longest = traffic.streams().filter(|source| source.priority == priority).map(|source| source.wire() / 8);
        let send_bps = idle_bps as i64 - traffic.link_bps as i64;
        let low = longest.max().unwrap_or(0) as i64 * send_bps;
        Slopes {
            priority,
            idle_bps,
            send_bps,
            high_bytes: (interference * idle_bps).div_ceil(traffic.link_bps),
            low_bytes: low.div_euclid(traffic.link_bps as i64),
        }
    };
    (0..8).rev().filter(|priority| reserved_bps(*priority, traffic) > 0).map(of).collect()
}

/// The commands for a port of a Linux switch with `queues` hardware queues; `offload` has its hardware shape.
pub fn commands(traffic: &Traffic, interface: &str, offload: bool) -> String {
    let slopes = slopes(traffic);
    let classes = slopes.len() + 1;
    let map = (0..16).map(|priority| {
        let class = slopes.iter().position(|slopes| usize::from(slopes.priority) == priority);
        class.unwrap_or(classes - 1).to_string()
    });
    let map = map.collect::<Vec<_>>().join(" ");
    let queues = (0..classes).map(|class| format!("1@{class}")).collect::<Vec<_>>().join(" ");
    let mut text = format!(
        "tc qdisc replace dev {interface} parent root handle 100: mqprio num_tc {classes} map {map} queues {queues} hw {}\n",
        u8::from(offload)
    );
    for (n, of) in slopes.iter().enumerate() {
        let _ = writeln!(
            text,
            "tc qdisc replace dev {interface} parent 100:{} cbs idleslope {} sendslope {} hicredit {} locredit {} offload {}",
            n + 1,
            of.idle_bps.div_ceil(1000),
            of.idle_bps.div_ceil(1000) as i64 - (traffic.link_bps / 1000) as i64,
            of.high_bytes,
            of.low_bytes,
            u8::from(offload)
        );
    }
    text
}
