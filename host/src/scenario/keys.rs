// SPDX-License-Identifier: Apache-2.0
//! Every key of a scenario file, with its range and default, in one table.
//!
//! The reader refuses keys that are not here and takes ranges and defaults from here; `docs/reference/scenario.md` has
//! one row for each ([`Key::row`]).

use std::fmt::Write;

/// A kind of table in a scenario file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// The top of the file.
    Scenario,
    /// `[device]`.
    Device,
    /// `[[task]]`.
    Task,
    /// `[task.flow]`.
    Flow,
    /// `[[traffic]]`.
    Traffic,
    /// `[nic]`.
    Nic,
    /// `[limit]`.
    Limit,
    /// `[mitigation]`.
    Mitigation,
}

impl Section {
    /// As one writes it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Scenario => "the top of the file",
            Self::Device => "[device]",
            Self::Task => "[[task]]",
            Self::Flow => "[task.flow]",
            Self::Traffic => "[[traffic]]",
            Self::Nic => "[nic]",
            Self::Limit => "[limit]",
            Self::Mitigation => "[mitigation]",
        }
    }
}

/// What a key takes.
#[derive(Debug, Clone, Copy)]
pub enum Takes {
    /// A whole number, from the first to the second.
    Whole(u64, u64),
    /// Any number, from the first to the second.
    Number(f64, f64),
    /// A string, described in words.
    Text(&'static str),
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// `true` or `false`.
    Flag,
    /// A list or table, described in words.
    Other(&'static str),
}

/// What holds when a key is not given.
#[derive(Debug, Clone, Copy)]
pub enum Preset {
    /// The scenario is refused.
    Required,
    /// This value, as one would write it in the file, without quotes.
    Value(&'static str),
    /// What these words say.
    Words(&'static str),
}

/// One key.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Where it stands.
    pub section: Section,
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub takes: Takes,
    /// Whether a list of values makes one run for each.
    pub sweeps: bool,
    /// What holds without it.
    pub default: Preset,
    /// What it means.
    pub meaning: &'static str,
}

impl Key {
    /// The key's row in the reference.
    pub fn row(&self) -> String {
        let mut row = format!("| `{}` | {}", self.name, self.takes.words());
        if self.sweeps {
            row.push_str("; sweeps");
        }
        let quoted = matches!(self.takes, Takes::Text(_) | Takes::OneOf(_));
        let written = match self.default {
            Preset::Required => write!(row, " | *required*"),
            Preset::Value(value) if quoted => write!(row, " | `\"{value}\"`"),
            Preset::Value(value) => write!(row, " | `{value}`"),
            Preset::Words(words) => write!(row, " | {words}"),
        };
        written.expect("a String takes everything");
        row + &format!(" | {} |", self.meaning)
    }
}

impl Takes {
    /// In words.
    pub fn words(&self) -> String {
        match self {
            Self::Whole(..) => format!("whole number, {}", self.range()),
            Self::Number(..) => format!("number, {}", self.range()),
            Self::Text(words) | Self::Other(words) => (*words).to_owned(),
            Self::OneOf(choices) => {
                let quoted: Vec<String> = choices.iter().map(|choice| format!("`\"{choice}\"`")).collect();
                quoted.join(", ")
            }
            Self::Flag => "`true` or `false`".to_owned(),
        }
    }

    /// The range in words; empty for what has none.
    pub fn range(&self) -> String {
        match self {
            Self::Whole(least, u64::MAX) => format!("{least} or more"),
            Self::Whole(least, most) => format!("{least} to {most}"),
            Self::Number(least, most) => format!("{least} to {most}"),
            _ => String::new(),
        }
    }
}

/// The entry of a key.
pub fn lookup(section: Section, name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.section == section && key.name == name)
}

/// The names of a section's keys.
pub fn names(section: Section) -> impl Iterator<Item = &'static str> + Clone {
    KEYS.iter().filter(move |key| key.section == section).map(|key| key.name)
}

const fn key(section: Section, name: &'static str, takes: Takes, default: Preset, meaning: &'static str) -> Key {
    Key { section, name, takes, sweeps: false, default, meaning }
}

const fn swept(section: Section, name: &'static str, takes: Takes, default: Preset, meaning: &'static str) -> Key {
    Key { section, name, takes, sweeps: true, default, meaning }
}

use Preset::{Required, Value, Words};
use Section::{Device, Flow, Limit, Mitigation, Nic, Scenario, Task, Traffic};
use Takes::{Flag, Number, OneOf, Other, Text, Whole};

/// The names of the patterns.
pub const PATTERNS: &[&str] =
    &["uniform", "poisson", "burst", "pyramid", "line-rate", "pcap", "modbus", "request", "arp", "icmp"];

/// The table.
#[rustfmt::skip]
pub const KEYS: &[Key] = &[
    key(Scenario, "name", Text("one line of 1 to 100 characters"), Required, "Title of the reports."),
    key(Scenario, "seed", Whole(0, u64::MAX), Value("1"), "Seed of every random choice; one seed is one run, byte for byte."),
    key(Scenario, "duration_ms", Whole(1, 600_000), Value("200"), "Measured time."),
    key(Scenario, "warmup_ms", Whole(0, 600_000), Value("20"), "Time before it, under the same load, that is not measured."),
    key(Scenario, "variants", Other("list of names"), Value("[\"stock\"]"), "Receive paths to run under; see below."),
    key(Scenario, "device", Other("table"), Words("its defaults"), "The device; see [device](#device)."),
    key(Scenario, "task", Other("tables, at most 12"), Words("none"), "Its tasks; see [task](#task)."),
    key(Scenario, "traffic", Other("tables, at most 32"), Words("none"), "What the network sends; see [traffic](#traffic)."),
    key(Scenario, "nic", Other("table"), Words("its defaults"), "The multiqueue NIC; see [nic](#nic)."),
    key(Scenario, "limit", Other("table"), Words("its defaults"), "The overall limit of the library and of `capped`; see [limit](#limit)."),
    key(Scenario, "mitigation", Other("table"), Words("its defaults"), "Settings of `burst`, `hysteresis`, `budget` and `queue`; see [mitigation](#mitigation)."),

    key(Device, "cpu", OneOf(&["imac", "full"]), Value("imac"), "VexRiscv variant: `imac` is RV32IMAC, `full` is RV32IM; both with caches of 4 KiB."),
    swept(Device, "cpu_mhz", Whole(10, 1000), Value("100"), "Clock of the CPU."),
    swept(Device, "link_mbps", Whole(10, 1000), Value("100"), "Speed of the link: 10, 100 or 1000."),
    swept(Device, "rx_buffers", Whole(20, 256), Value("64"), "Packet buffers in the closed pool. The descriptor ring holds 16 of them."),
    swept(Device, "net_priority", Whole(1, 15), Value("7"), "Priority of the stock network tasks (driver and `tcpip_thread`)."),
    key(Device, "address", Text("IPv4 address with prefix length, 8 to 30"), Value("10.0.0.1/24"), "Address and network of the device."),
    swept(Device, "tick_us", Whole(1000, 10_000), Value("1000"), "RTOS tick: 1000, 2000, 5000 or 10000 ([tick](#tick))."),
    key(Device, "trace", Flag, Value("true"), "Events at the trace port (the active method). Without them only passive figures remain."),
    key(Device, "eager_invalidation", Flag, Value("false"), "Library, for comparison: the receive interrupt invalidates the cache at once instead of leaving it to the network task."),
    swept(Device, "link_order", Whole(0, 65_535), Value("0"), "Order in which the firmware is linked; 0 is the build's own."),

    key(Task, "name", Text("1 to 15 of A-Z a-z 0-9 _ -"), Required, "Unique name. With `source`, also the beginning of a C identifier."),
    swept(Task, "priority", Whole(1, 15), Required, "FreeRTOS priority, larger is more urgent; 0 is the idle task's."),
    key(Task, "period_us", Whole(50, 600_000_000), Words("not periodic"), "Periodic task: released every period."),
    key(Task, "background", Flag, Value("false"), "Background task: never blocks and counts its loops (the passive method). It starves everything below it."),
    key(Task, "listen", Text("`\"udp/PORT\"` or `\"tcp/PORT\"`"), Words("not receiving"), "Receiving task: released by each message. On TCP it answers Modbus/TCP."),
    key(Task, "deadline_us", Whole(1, 4_000_000_000), Words("periodic: the period; receiving: none"), "Periodic: from release to completion, at most 10 periods. Receiving: from the last bit on the wire to completion."),
    swept(Task, "work_us", Number(0.0, 1_000_000.0), Words("receiving: 0"), "CPU time of one job when nothing disturbs it; periodic: above 0 and at most the period."),
    key(Task, "binomial", Other("`[n, k]`, 1 <= k <= n <= 60"), Words("none"), "A job computes the ascending series of binomial coefficients up to C(n, k)."),
    key(Task, "source", Text("path, relative to the scenario file"), Words("none"), "A job is the C function `void NAME_job(void)` in this file."),
    key(Task, "reply_bytes", Whole(0, 1400), Value("0"), "Receiving on UDP: size of the answer to each message; 0 is none."),
    key(Task, "stack_bytes", Whole(512, 16_384), Value("2048"), "Stack of the task."),
    key(Task, "flow", Other("table"), Words("its defaults"), "Receiving: the contract of its flow; see [task.flow](#taskflow)."),

    key(Flow, "capacity", Whole(1, 65_535), Words("no limit"), "Packets served per period."),
    key(Flow, "period_us", Whole(1, 2_000_000), Words("no limit"), "Period of the flow's server."),
    key(Flow, "server", OneOf(&["deferrable", "sporadic"]), Value("deferrable"), "How the capacity comes back."),
    key(Flow, "from", Text("IPv4 address"), Words("every sender"), "Only this sender is the flow; others to the same port are background."),
    key(Flow, "priority", Whole(1, 15), Words("the task's"), "Priority of the flow."),
    key(Flow, "packet_timer_us", Whole(0, 1_000_000), Words("that of [nic](#nic)"), "Interrupt this long after the last packet; 0: no such timer."),
    key(Flow, "absolute_timer_us", Whole(0, 1_000_000), Words("that of [nic](#nic)"), "Interrupt this long after the first packet; 0: no such timer."),
    key(Flow, "frames", Whole(0, 64), Words("that of [nic](#nic)"), "Interrupt when as many packets wait; 0: no threshold."),
    key(Flow, "queue_bytes", Whole(1616, 8192), Words("that of [nic](#nic)"), "Size of each of the flow's two buffers in the NIC, a multiple of 16."),

    key(Traffic, "name", Text("1 to 31 of A-Z a-z 0-9 _ -"), Words("the pattern, numbered if it occurs more than once: `uniform-1`"), "Unique name."),
    key(Traffic, "pattern", OneOf(PATTERNS), Required, "Shape over time; see [patterns](#patterns)."),
    key(Traffic, "to", Text("target"), Words("`\"device\"` for arp and icmp, else *required*"), "Where it goes; see [targets](#targets)."),
    key(Traffic, "from", Text("IPv4 address"), Words("`\"10.0.0.2\"`, or else the first other host of the device's network"), "Sender, a host of the device's network. Its MAC address is derived from it."),
    swept(Traffic, "rate_pps", Number(0.0, 2_000_000.0), Words("modbus: 50; else *required*"), "Frames per second; 0 is silent. Open loops have to fit the link ([load](#load))."),
    swept(Traffic, "payload_bytes", Whole(0, 1472), Value("32"), "UDP payload, or data of an echo request."),
    key(Traffic, "dscp", Whole(0, 63), Value("0"), "What the sender marks its IP packets with (RFC 2474); variant `classes` has a thread of high priority for 32 and above."),
    key(Traffic, "start_ms", Number(0.0, 1_200_000.0), Value("0"), "First frame not before this time after the start of the warm-up."),
    key(Traffic, "stop_ms", Number(0.0, 1_200_000.0), Words("the end of the run"), "Last frame before this time; after `start_ms`."),
    key(Traffic, "burst_ms", Number(0.001, 600_000.0), Value("10"), "burst: length of a burst."),
    key(Traffic, "every_ms", Number(0.001, 600_000.0), Value("100"), "burst: distance of the beginnings of two bursts, at least `burst_ms`."),
    key(Traffic, "steps", Whole(1, 1000), Value("10"), "pyramid: steps on each side."),
    key(Traffic, "file", Text("path, relative to the scenario file"), Words("pcap: *required*"), "pcap: the capture."),
    key(Traffic, "speed", Number(0.001, 1000.0), Value("1"), "pcap: 2 doubles the rate."),
    key(Traffic, "tcp", OneOf(&["live", "frames"]), Value("live"), "pcap: `live` holds TCP conversations with listening ports anew; `frames` sends frame by frame, as captured."),
    key(Traffic, "registers", Whole(1, 125), Value("10"), "modbus: holding registers read by each request."),
    key(Traffic, "timeout_ms", Number(0.001, 600_000.0), Value("100"), "request: waits this long for an answer."),

    key(Nic, "queues", Whole(4, 16), Value("16"), "Receive queues: three, and one for each receiving task."),
    key(Nic, "packet_timer_us", Whole(0, 1_000_000), Value("0"), "Interrupt this long after the last packet; 0: no such timer."),
    key(Nic, "absolute_timer_us", Whole(0, 1_000_000), Value("0"), "Interrupt this long after the first packet; 0: no such timer."),
    key(Nic, "absolute_mode", OneOf(&["from-first", "periodic"]), Value("from-first"), "`periodic`: the absolute timers run by themselves, again and again."),
    key(Nic, "frames", Whole(0, 64), Value("0"), "Interrupt when as many packets wait; 0: no threshold."),
    key(Nic, "queue_bytes", Whole(1616, 8192), Value("4096"), "Size of each of a queue's two buffers, a multiple of 16."),
    key(Nic, "netstack_us", Number(0.1, 100_000.0), Words("measured: 6,200 cycles and more ([rules](nic-parameters.md#where-the-numbers-come-from))"), "Worst protocol work per packet, for the rules of the parameters; changes no run."),

    key(Limit, "capacity", Whole(1, 65_535), Words("the variant's"), "Packets of all flows together per period, at most 16."),
    key(Limit, "period_us", Whole(1, 2_000_000), Words("the variant's"), "Period of the overall limit."),

    key(Mitigation, "form", OneOf(&["original", "mended"]), Value("mended"), "As the thesis has it, or with the faults put right that it found."),
    key(Mitigation, "task", Text("a periodic task's name"), Words("the periodic task of highest priority"), "The task that is protected."),
    key(Mitigation, "capacity", Whole(1, 100_000), Value("200"), "burst: packets per slice."),
    key(Mitigation, "slice_us", Whole(100, 1_000_000), Value("20000"), "burst: length of a slice."),
    key(Mitigation, "stop_percent", Whole(0, 100), Value("10"), "hysteresis: receiving stops when the task's earliness falls below this part of its deadline."),
    key(Mitigation, "resume_percent", Whole(0, 100), Value("20"), "hysteresis: and goes on when it is above this one; not below `stop_percent`."),
    key(Mitigation, "queue", Whole(1, 16), Value("16"), "queue: frames in the ring of descriptors that are a full queue."),
];
