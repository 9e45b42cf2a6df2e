// SPDX-License-Identifier: Apache-2.0
//! `struct scenario` of device/firmware/include/scenario.h: how the firmware learns the scenario.

use crate::scenario::{NicQueue, Protocol, Scenario, ServerKind, Task, TaskKind, Variant, Work};

/// Most tasks that the firmware has room for.
pub const TASKS_MAX: usize = 12;
/// Threads in `struct scenario_status`: the tasks, driver or network task, `tcpip_thread`, idle, two of some variants.
pub const THREADS_MAX: usize = TASKS_MAX + 5;
const NAME_BYTES: usize = 16;
/// Overall limit of `capped`, packets and microseconds, where the scenario has none: its packets take the share of the
/// CPU that the library's limit leaves to receiving, 40 %.
const CAPPED_LIMIT: (u32, u32) = (4, 1000);
const MAGIC: u32 = 0x5745_4952;
const HEADER_BYTES: usize = 4 * 12 + 4 * 7 + 4 + 4 * 4 + 8 + 4;
const TASK_BYTES: usize = NAME_BYTES + 4 * 10 + 4 * 5 + 4 * 4;
/// Size of `struct scenario`.
pub const BYTES: usize = HEADER_BYTES + TASKS_MAX * TASK_BYTES;
/// Size of `struct scenario_status`.
pub const STATUS_BYTES: usize = 4 * TASKS_MAX + 8 * THREADS_MAX + 4 * 6;

/// MAC address of the device: locally administered, from its IP address.
pub fn device_mac(scenario: &Scenario) -> [u8; 6] {
    let [a, b, c, d] = scenario.device.address.octets();
    [0x02, 0x57, a, b, c, d]
}

/// The block's bytes: as much of it as there are tasks.
pub fn encode(scenario: &Scenario, variant: Variant) -> Vec<u8> {
    let limit = scenario.limit.map_or((0, 0), |limit| (limit.capacity, limit.period_us));
    let limit = if limit == (0, 0) && variant == Variant::Capped { CAPPED_LIMIT } else { limit };
    let device = &scenario.device;
    let mut block = Vec::new();
    let seed = (scenario.seed ^ (scenario.seed >> 32)) as u32;
    for word in [
        MAGIC,
        u32::from(device.trace),
        seed,
        device.cpu_mhz,
        scenario.net_priority(variant),
        device.rx_buffers,
        variant as u32,
        limit.0,
        limit.1,
        u32::from(device.eager_invalidation),
        u32::from(scenario.mitigation.mended),
        scenario.mitigation.task.map_or(TASKS_MAX as u32, |task| task as u32),
        scenario.mitigation.capacity,
        scenario.mitigation.slice_us,
        scenario.mitigation.stop_percent,
        scenario.mitigation.resume_percent,
        scenario.mitigation.queue,
        u32::from(scenario.nic.periodic),
    ]
    .into_iter()
    .chain(queue_words(&scenario.nic.queue))
    .chain([u32::from_le_bytes(device.address.octets()), netmask(device.prefix).swap_bytes()])
    {
        block.extend(word.to_le_bytes());
    }
    block.extend(device_mac(scenario));
    block.extend([0; 2]);
    block.extend((scenario.tasks.len() as u32).to_le_bytes());
    let mut sources = 0;
    for task in &scenario.tasks {
        encode_task(task, scenario, &mut sources, &mut block);
    }
    block
}

fn flow_words(task: &Task) -> [u32; 5] {
    let TaskKind::Receiving { flow, .. } = &task.kind else { return [0; 5] };
    let (kind, capacity, period_us) = flow.server.map_or((0, 0, 0), |server| {
        let kind = match server.kind {
            ServerKind::Deferrable => 1,
            ServerKind::Sporadic => 2,
        };
        (kind, server.capacity, server.period_us)
    });
    let from = flow.from.map_or(0, |from| u32::from_le_bytes(from.octets()));
    [kind, capacity, period_us, flow.priority.unwrap_or(0), from]
}

fn netmask(prefix: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0)
}

fn queue_words(queue: &NicQueue) -> [u32; 4] {
    [queue.packet_timer_us, queue.absolute_timer_us, queue.frames, queue.bytes]
}

fn encode_task(task: &Task, scenario: &Scenario, sources: &mut u32, block: &mut Vec<u8>) {
    let mut name = [0; NAME_BYTES];
    let length = task.name.len().min(NAME_BYTES - 1);
    name[..length].copy_from_slice(&task.name.as_bytes()[..length]);
    block.extend(name);
    let (kind, period_us, deadline_us, port, reply_bytes) = match &task.kind {
        TaskKind::Periodic { period_us, deadline_us } => (0, *period_us, *deadline_us, 0, 0),
        TaskKind::Background => (1, 0, 0, 0, 0),
        TaskKind::Receiving { listen, reply_bytes, .. } => match listen.protocol {
            Protocol::Udp => (2, 0, 0, u32::from(listen.port), *reply_bytes),
            Protocol::Tcp => (3, 0, 0, u32::from(listen.port), 0),
        },
    };
    let (work, a, b) = match &task.work {
        Work::Synthetic { us } => (0, (us * f64::from(scenario.device.cpu_mhz)).round() as u32, 0),
        Work::Binomial { n, k } => (1, *n, *k),
        Work::Source { .. } => {
            *sources += 1;
            (2, *sources - 1, 0)
        }
    };
    for word in [kind, task.priority, task.stack_bytes, period_us, deadline_us, port, reply_bytes, work, a, b] {
        block.extend(u32::to_le_bytes(word));
    }
    block.extend(flow_words(task).map(u32::to_le_bytes).concat());
    let queue = match &task.kind {
        TaskKind::Receiving { flow, .. } => scenario.nic.queue.with(&flow.queue),
        _ => scenario.nic.queue,
    };
    block.extend(queue_words(&queue).map(u32::to_le_bytes).concat());
}
