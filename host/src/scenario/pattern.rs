// SPDX-License-Identifier: Apache-2.0
//! The patterns of traffic, and the keys that each has.

use std::path::Path;

use super::files;
use super::model::{CaptureTcp, Pattern};
use super::reader::Reader;

/// Requests of a Modbus master that says nothing about it.
const MODBUS_RATE_PPS: f64 = 50.0;

/// The keys that fit a pattern, besides those that all traffic has.
pub(super) fn keys(pattern: &str) -> &'static [&'static str] {
    match pattern {
        "burst" => &["rate_pps", "payload_bytes", "dscp", "burst_ms", "every_ms"],
        "pyramid" => &["rate_pps", "payload_bytes", "dscp", "steps"],
        "line-rate" => &["payload_bytes", "dscp"],
        "pcap" => &["file", "speed", "tcp"],
        "modbus" => &["rate_pps", "registers"],
        "request" => &["rate_pps", "payload_bytes", "timeout_ms"],
        "arp" => &["rate_pps"],
        _ => &["rate_pps", "payload_bytes", "dscp"],
    }
}

/// Reads a pattern's keys.
pub(super) fn read(reader: &Reader<'_>, pattern: &str, folder: &Path) -> Option<Pattern> {
    match pattern {
        "uniform" => Some(Pattern::Uniform { rate_pps: rate_pps(reader)? }),
        "poisson" => Some(Pattern::Poisson { rate_pps: rate_pps(reader)? }),
        "burst" => burst(reader),
        "pyramid" => {
            let (rate_pps, steps) = (rate_pps(reader), reader.u32("steps"));
            Some(Pattern::Pyramid { rate_pps: rate_pps?, steps: steps? })
        }
        "line-rate" => Some(Pattern::LineRate),
        "pcap" => capture(reader, folder),
        "modbus" => {
            let rate_pps = if reader.given("rate_pps") { reader.number("rate_pps") } else { Some(MODBUS_RATE_PPS) };
            let registers = reader.whole("registers").and_then(|registers| u16::try_from(registers).ok());
            Some(Pattern::Modbus { rate_pps: rate_pps?, registers: registers? })
        }
        "request" => {
            let (rate_pps, timeout_ms) = (rate_pps(reader), reader.number("timeout_ms"));
            Some(Pattern::Request { rate_pps: rate_pps?, timeout_ms: timeout_ms? })
        }
        "arp" => Some(Pattern::Arp { rate_pps: rate_pps(reader)? }),
        "icmp" => Some(Pattern::Icmp { rate_pps: rate_pps(reader)? }),
        _ => unreachable!("the table of keys has no other pattern"),
    }
}

fn rate_pps(reader: &Reader<'_>) -> Option<f64> {
    reader.require("rate_pps");
    reader.number("rate_pps")
}

fn burst(reader: &Reader<'_>) -> Option<Pattern> {
    let (rate_pps, burst_ms, every_ms) = (rate_pps(reader), reader.number("burst_ms"), reader.number("every_ms"));
    let (burst_ms, every_ms) = (burst_ms?, every_ms?);
    if every_ms < burst_ms {
        // Either may be the one that is given.
        let key = if reader.given("every_ms") { "every_ms" } else { "burst_ms" };
        let label = format!("a burst of {burst_ms} ms every {every_ms} ms");
        reader.refuse(key, "the bursts overlap", label, "`every_ms` must be at least `burst_ms`");
    }
    Some(Pattern::Burst { rate_pps: rate_pps?, burst_ms, every_ms })
}

fn capture(reader: &Reader<'_>, folder: &Path) -> Option<Pattern> {
    reader.require("file");
    let path = files::existing(reader, "file", folder);
    let speed = reader.number("speed");
    let tcp = reader.choice("tcp")?;
    let tcp = if tcp == "frames" { CaptureTcp::Frames } else { CaptureTcp::Live };
    Some(Pattern::Pcap { path: path?, speed: speed?, tcp })
}
