// SPDX-License-Identifier: Apache-2.0
//! What happened on the device, moment by moment: input of the report's timeline and of the Perfetto trace.
//! All times are absolute cycles of the device.

/// One run, or a window of it.
#[derive(Debug, Clone, Default)]
pub struct Timeline {
    /// Clock of the device.
    pub cpu_hz: u64,
    /// First cycle that it covers.
    pub start: u64,
    /// First cycle that it no longer covers.
    pub end: u64,
    /// Who can have the CPU, interrupt handlers first, then tasks from the most urgent, idle last.
    pub lanes: Vec<Lane>,
    /// Who had the CPU, in order of time, without gaps.
    pub spans: Vec<Span>,
    /// Jobs, ordered by release.
    pub jobs: Vec<Job>,
    /// Packets, ordered by arrival.
    pub packets: Vec<Packet>,
}

impl Timeline {
    /// At most `ms_max` milliseconds and `spans_max` spans of it: from shortly before the first missed deadline, or
    /// from the beginning when there is none.
    pub fn interesting(&self, ms_max: u64, spans_max: usize) -> Timeline {
        let length = (self.cpu_hz / 1000 * ms_max).min(self.end - self.start);
        let missed = |job: &Job| {
            let deadline = job.deadline.filter(|deadline| *deadline >= self.start && *deadline <= self.end)?;
            (job.end.is_none_or(|end| end > deadline)).then_some(job.release)
        };
        let first_miss = self.jobs.iter().filter_map(missed).min();
        let lead = length / 4;
        let from = first_miss.map_or(self.start, |release| release.saturating_sub(lead));
        let from = from.clamp(self.start, self.end - length);
        let first = self.spans.partition_point(|span| span.end <= from);
        let to = self.spans.get(first + spans_max).map_or(from + length, |span| span.start.min(from + length));
        self.cut(from, to)
    }

    /// What touches the time from `from` up to `to`.
    pub fn cut(&self, from: u64, to: u64) -> Timeline {
        let touches = |start: u64, end: u64| start < to && end >= from;
        let first = self.spans.partition_point(|span| span.end <= from);
        let last = self.spans.partition_point(|span| span.start < to);
        let spans = self.spans[first..last.max(first)].iter();
        let spans = spans.map(|s| Span { lane: s.lane, start: s.start.max(from), end: s.end.min(to) }).collect();
        let over = |packet: &Packet| match (packet.fate, packet.steps.last()) {
            (Some(_), Some((cycle, _))) => *cycle,
            (Some(_), None) => packet.arrival,
            (None, _) => u64::MAX,
        };
        Timeline {
            cpu_hz: self.cpu_hz,
            start: from,
            end: to,
            lanes: self.lanes.clone(),
            spans,
            jobs: self.jobs.iter().filter(|j| touches(j.release, j.end.unwrap_or(u64::MAX))).cloned().collect(),
            packets: self.packets.iter().filter(|p| touches(p.arrival, over(p))).cloned().collect(),
        }
    }
}

/// Something that executes.
#[derive(Debug, Clone)]
pub struct Lane {
    /// `ISR`, a task's name, or `idle`.
    pub name: String,
    /// What it is.
    pub kind: LaneKind,
    /// FreeRTOS priority, larger is more urgent; 0 for handlers, and for a network task that inherits it from its
    /// packets.
    pub priority: u32,
}

/// Kind of execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaneKind {
    /// Interrupt handlers.
    Isr,
    /// Network tasks.
    Net,
    /// A task of the scenario.
    Task,
    /// The idle task.
    Idle,
}

/// A stretch of execution.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// Index into `lanes`.
    pub lane: usize,
    /// First cycle.
    pub start: u64,
    /// First cycle after it.
    pub end: u64,
}

/// One job of a task.
#[derive(Debug, Clone)]
pub struct Job {
    /// Index into `lanes`.
    pub lane: usize,
    /// Released: by the clock, or by the last bit of its packet.
    pub release: u64,
    /// Deadline, if it has one.
    pub deadline: Option<u64>,
    /// First executed; `None`: not yet when the timeline ended.
    pub start: Option<u64>,
    /// Completed.
    pub end: Option<u64>,
}

/// One packet's way through the device.
#[derive(Debug, Clone)]
pub struct Packet {
    /// Name of its flow.
    pub flow: String,
    /// Length in bytes with headers, without frame check sequence.
    pub bytes: usize,
    /// Last bit on the wire.
    pub arrival: u64,
    /// The stages it reached, in order of time.
    pub steps: Vec<(u64, Stage)>,
    /// How it ended; `None`: still on its way.
    pub fate: Option<Fate>,
}

/// A place on the receive path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// In a buffer in RAM, descriptor handed back.
    Ram,
    /// Taken from the ring by the driver.
    Driver,
    /// In the queue of its flow.
    Queue,
    /// The IP stack began with it.
    Stack,
    /// In the queue of its socket.
    Socket,
    /// Taken from the socket by its task.
    Task,
    /// Its buffer is free again.
    Freed,
}

impl Stage {
    /// The word that reports show.
    pub fn label(self) -> &'static str {
        match self {
            Stage::Ram => "in RAM",
            Stage::Driver => "driver",
            Stage::Queue => "flow queue",
            Stage::Stack => "IP stack",
            Stage::Socket => "socket",
            Stage::Task => "task",
            Stage::Freed => "freed",
        }
    }
}

/// Where a packet ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// Delivered to its task, or used up by the protocol it was for.
    Delivered,
    /// Dropped by the NIC's filter or as damaged.
    NicFilter,
    /// No descriptor, no room in the NIC.
    NicFull,
    /// Over its flow's limit, or refused by the library.
    FlowLimit,
    /// Discarded for want of buffers, in favour of packets that matter more.
    Recycled,
    /// Lost in the NIC while the overall limit held the receive interrupt off.
    OverallLimit,
    /// Dropped by driver or IP stack.
    Stack,
    /// The socket's queue was full.
    Socket,
}

impl Fate {
    /// The key that `results.json` uses.
    pub fn label(self) -> &'static str {
        match self {
            Fate::Delivered => "delivered",
            Fate::NicFilter => "nic_filter",
            Fate::NicFull => "nic_full",
            Fate::FlowLimit => "flow_limit",
            Fate::Recycled => "recycled",
            Fate::OverallLimit => "overall_limit",
            Fate::Stack => "stack",
            Fate::Socket => "socket",
        }
    }
}
