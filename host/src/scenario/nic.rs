// SPDX-License-Identifier: Apache-2.0
//! `[nic]`, and what `[task.flow]` asks of it.

use super::device::empty_table;
use super::keys::Section;
use super::model::{Nic, NicQueue, QueueOverrides, TaskKind};
use super::reader::Reader;
use super::task::Tasks;

/// Queues that no socket has: fragments, ARP, ICMP.
const SYSTEM_QUEUES: u32 = 3;

/// `[nic]`. Values that are wrong are reported, and then are anything.
pub(super) fn read(top: &Reader<'_>, tasks: &Tasks<'_>) -> Nic {
    let empty = empty_table();
    let reader = Reader::new(Section::Nic, top.table_under("nic").unwrap_or(&empty), top.sink());
    let queues = reader.u32("queues").unwrap_or(0);
    let needed = SYSTEM_QUEUES
        + tasks.read.iter().filter(|(task, _)| matches!(task.kind, TaskKind::Receiving { .. })).count() as u32;
    if queues != 0 && queues < needed {
        let label =
            format!("must be at least {needed}: one for each receiving task and {SYSTEM_QUEUES} for the IP stack");
        reader.refuse("queues", "the NIC has too few queues", label, "leave it out: the device has 16");
    }
    let queue = NicQueue {
        packet_timer_us: reader.u32("packet_timer_us").unwrap_or(0),
        absolute_timer_us: reader.u32("absolute_timer_us").unwrap_or(0),
        frames: reader.u32("frames").unwrap_or(0),
        bytes: bytes(&reader).unwrap_or(0),
    };
    let periodic = reader.choice("absolute_mode") == Some("periodic");
    if periodic && queue.absolute_timer_us == 0 {
        let label = "a period is missing";
        reader.refuse("absolute_mode", "`periodic` without `absolute_timer_us`", label, "add `absolute_timer_us`");
    }
    let netstack_us = reader.given("netstack_us").then(|| reader.number("netstack_us")).flatten();
    reader.finish(None);
    Nic { queue, asked: overrides(&reader), periodic, netstack_us }
}

/// What a flow, or `[nic]` for all, asks of a queue.
pub(super) fn overrides(flow: &Reader<'_>) -> QueueOverrides {
    let given = |key: &'static str| flow.given(key).then(|| flow.u32(key)).flatten();
    QueueOverrides {
        packet_timer_us: given("packet_timer_us"),
        absolute_timer_us: given("absolute_timer_us"),
        frames: given("frames"),
        bytes: flow.given("queue_bytes").then(|| bytes(flow)).flatten(),
    }
}

/// So that every queue has room for two frames of full length, and addresses need no division.
fn bytes(reader: &Reader<'_>) -> Option<u32> {
    let bytes = reader.u32("queue_bytes")?;
    if !bytes.is_multiple_of(16) {
        reader.refuse("queue_bytes", "no queue has this size", "must be a multiple of 16", "round it");
    }
    Some(bytes)
}
