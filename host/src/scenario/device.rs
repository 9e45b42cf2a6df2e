// SPDX-License-Identifier: Apache-2.0
//! `[device]`, `[limit]`, `[mitigation]`.

use super::keys::Section;
use super::model::{Cpu, Device, Limit, Mitigation, TaskKind, Variant};
use super::network::Network;
use super::reader::Reader;
use super::report::Place;
use super::suggest;
use super::task::Tasks;
use super::tree::Table;

/// Ticks that are whole milliseconds, which lwIP's port needs, and whole fractions of a second, which FreeRTOS needs.
const TICKS_US: [u32; 4] = [1000, 2000, 5000, 10_000];

/// The device. No network if the address is wrong. Values that are wrong are
/// reported, and then are anything.
pub(super) fn read(top: &Reader<'_>) -> (Device, Option<Network>) {
    let empty = empty_table();
    let reader = Reader::new(Section::Device, top.table_under("device").unwrap_or(&empty), top.sink());
    let network = reader.text("address").and_then(|text| match Network::parse(text) {
        Ok(network) => Some(network),
        Err(why) => {
            let help = "for example `address = \"10.0.0.1/24\"`";
            reader.refuse("address", format!("`{text}` cannot be the device's address"), why, help);
            None
        }
    });
    let link_mbps = reader.u32("link_mbps").unwrap_or(0);
    if link_mbps != 0 && ![10, 100, 1000].contains(&link_mbps) {
        reader.refuse(
            "link_mbps",
            "there is no Ethernet of this speed",
            "must be 10, 100 or 1000",
            "write one of them",
        );
    }
    let tick_us = reader.u32("tick_us").unwrap_or(TICKS_US[0]);
    if !TICKS_US.contains(&tick_us) {
        let label = "must be 1000, 2000, 5000 or 10000";
        reader.refuse("tick_us", "the device has no tick of this length", label, "periods need not be multiples of it");
    }
    let device = Device {
        cpu: if reader.choice("cpu") == Some("full") { Cpu::Full } else { Cpu::Imac },
        cpu_mhz: reader.u32("cpu_mhz").unwrap_or(0),
        link_mbps,
        rx_buffers: reader.u32("rx_buffers").unwrap_or(0),
        net_priority: reader.u32("net_priority").unwrap_or(0),
        address: network.map_or(std::net::Ipv4Addr::UNSPECIFIED, |network| network.device),
        prefix: network.map_or(0, |network| network.prefix),
        tick_us,
        trace: reader.flag("trace").unwrap_or(true),
        eager_invalidation: reader.flag("eager_invalidation").unwrap_or(false),
        link_order: reader.u32("link_order").unwrap_or(0),
    };
    reader.finish(None);
    (device, network)
}

/// Largest capacity of the overall limit: a poll takes no more than the NIC's ring holds.
const LIMIT_CAPACITY_MAX: u32 = 16;

/// `[limit]`. Both keys, or none.
pub(super) fn read_limit(top: &Reader<'_>) -> Option<Limit> {
    let reader = Reader::new(Section::Limit, top.table_under("limit")?, top.sink());
    let (capacity, period_us) = (reader.u32("capacity"), reader.u32("period_us"));
    let pair = both(&reader, capacity, period_us);
    if let Some((capacity, _)) = pair
        && capacity > LIMIT_CAPACITY_MAX
    {
        let label = format!("must be at most {LIMIT_CAPACITY_MAX}, the descriptors of the NIC's ring");
        reader.refuse("capacity", "the overall limit is too large for one poll", label, "shorten the period instead");
    }
    reader.finish(None);
    pair.map(|(capacity, period_us)| Limit { capacity, period_us })
}

/// `[mitigation]`. Values that are wrong are reported, and then are anything.
pub(super) fn read_mitigation(top: &Reader<'_>, tasks: &Tasks<'_>) -> Mitigation {
    let empty = empty_table();
    let reader = Reader::new(Section::Mitigation, top.table_under("mitigation").unwrap_or(&empty), top.sink());
    let periodic = || {
        let all = tasks.read.iter().enumerate();
        all.filter(|(_, (task, _))| matches!(task.kind, TaskKind::Periodic { .. }))
    };
    let highest = periodic().rev().max_by_key(|(_, (task, _))| task.priority).map(|(index, _)| index);
    let task = match reader.text("task") {
        None => highest,
        Some(name) => {
            let found = periodic().find(|(_, (task, _))| task.name == name).map(|(index, _)| index);
            if found.is_none() {
                let names = periodic().map(|(_, (task, _))| task.name.as_str());
                let label = "must be the name of a periodic task";
                let help = suggest::hint(name, names, "periodic tasks");
                reader.refuse("task", format!("there is no periodic task `{name}`"), label, &help);
            }
            found
        }
    };
    let (stop, resume) = (reader.u32("stop_percent").unwrap_or(0), reader.u32("resume_percent").unwrap_or(0));
    if resume < stop {
        let label = format!("must be at least `stop_percent`, {stop}");
        reader.refuse("resume_percent", "receiving would stop and go on at once", label, "raise it");
    }
    let mitigation = Mitigation {
        mended: reader.choice("form") != Some("original"),
        task,
        capacity: reader.u32("capacity").unwrap_or(0),
        slice_us: reader.u32("slice_us").unwrap_or(0),
        stop_percent: stop,
        resume_percent: resume,
        queue: reader.u32("queue").unwrap_or(0),
    };
    reader.finish(None);
    mitigation
}

/// A variant that watches a task needs one.
pub(super) fn check_watched(top: &Reader<'_>, tasks: &Tasks<'_>, variants: &[Variant]) {
    if let Some(variant) = variants.iter().find(|variant| variant.watches_a_task())
        && !tasks.read.iter().any(|(task, _)| matches!(task.kind, TaskKind::Periodic { .. }))
    {
        let message = format!("the variant `{}` needs a periodic task", variant.name());
        let label = "it goes by the earliness of one";
        top.refuse("variants", message, label, "add a [[task]] with `period_us`, or leave the variant out");
    }
}

/// A capacity is per period: one without the other says nothing.
pub(super) fn both(reader: &Reader<'_>, capacity: Option<u32>, period_us: Option<u32>) -> Option<(u32, u32)> {
    match (capacity, period_us) {
        (Some(_), None) if !reader.given("period_us") => {
            reader.refuse("capacity", "`capacity` without `period_us`", "packets per what?", "add `period_us`");
        }
        (None, Some(_)) if !reader.given("capacity") => {
            reader.refuse("period_us", "`period_us` without `capacity`", "how many packets?", "add `capacity`");
        }
        _ => {}
    }
    Some((capacity?, period_us?))
}

/// A table that is not in the file.
pub(super) fn empty_table() -> Table {
    Table { place: Place::new(0, 0..0), entries: Vec::new() }
}
