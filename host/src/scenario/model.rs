// SPDX-License-Identifier: Apache-2.0
//! A scenario as the rest of the program sees it: checked, defaults filled in, every sweep resolved to one value.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::PathBuf;

/// One run's worth of a scenario file: the file with one value chosen for every swept key.
#[derive(Debug, Clone)]
pub struct Case {
    /// Swept keys and the value they have here: traffic name, TRAFFIC.payload_bytes, TASK.KEY or device.KEY.
    pub loads: BTreeMap<String, f64>,
    /// The scenario with these values.
    pub scenario: Scenario,
}

/// A checked scenario.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Title.
    pub name: String,
    /// Seed of every random choice.
    pub seed: u64,
    /// Measured time.
    pub duration_ms: u32,
    /// Time before it, under the same load.
    pub warmup_ms: u32,
    /// Receive paths to run it under, in the order of the file.
    pub variants: Vec<Variant>,
    /// The device.
    pub device: Device,
    /// `[limit]`; `None` is the variant's own.
    pub limit: Option<Limit>,
    /// `[mitigation]`.
    pub mitigation: Mitigation,
    /// `[nic]`.
    pub nic: Nic,
    /// Tasks, in the order of the file.
    pub tasks: Vec<Task>,
    /// Traffic, in the order of the file.
    pub traffic: Vec<Traffic>,
}

impl Scenario {
    /// Priority of the network tasks. Where a task stands to them is part of the thesis's rules: above in `burst` and
    /// `queue`, beside in `budget`.
    pub fn net_priority(&self, variant: Variant) -> u32 {
        let given = self.device.net_priority;
        let watched = self.mitigation.task.map(|task| self.tasks[task].priority);
        match (variant, watched) {
            (Variant::Burst | Variant::Queue, Some(watched)) => given.min(watched.saturating_sub(1).max(1)),
            (Variant::Budget, Some(watched)) => watched,
            _ => given,
        }
    }
}

/// A receive path, with its number in `enum scenario_variant` of the firmware.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// lwIP as its users run it.
    Stock = 0,
    /// `Stock` with a capacity of packets per time slice.
    Burst = 1,
    /// `Stock` that stops receiving while a task is late.
    Hysteresis = 2,
    /// `Stock` with a time budget for its driver.
    Budget = 3,
    /// `Stock` that stops receiving while its driver's queue is full.
    Queue = 4,
    /// `Stock` with an overall limit and polling.
    Capped = 5,
    /// Budgeted polling, as Linux does it.
    Napi = 6,
    /// A thread for each traffic class, as Zephyr does it.
    Classes = 7,
    /// The receive library.
    Driver = 8,
    /// `Stock` on the multiqueue NIC.
    Nic = 9,
    /// The receive library on the multiqueue NIC.
    Codesign = 10,
}

impl Variant {
    /// All that this version has.
    pub const ALL: &'static [Variant] = &[
        Variant::Stock,
        Variant::Burst,
        Variant::Hysteresis,
        Variant::Budget,
        Variant::Queue,
        Variant::Capped,
        Variant::Napi,
        Variant::Classes,
        Variant::Driver,
        Variant::Nic,
        Variant::Codesign,
    ];

    /// By number.
    const NAMES: [&'static str; 11] =
        ["stock", "burst", "hysteresis", "budget", "queue", "capped", "napi", "classes", "driver", "nic", "codesign"];

    /// The name in scenarios and results.
    pub fn name(self) -> &'static str {
        Variant::NAMES[self as usize]
    }

    /// Whether the earliness of a task decides when packets are received.
    pub fn watches_a_task(self) -> bool {
        matches!(self, Variant::Hysteresis | Variant::Budget)
    }

    /// Whether packets go through the receive library; they go through the stock driver otherwise.
    pub fn uses_library(self) -> bool {
        matches!(self, Variant::Driver | Variant::Codesign)
    }

    /// Whether the device has the multiqueue NIC; it has the plain one otherwise.
    pub fn uses_queues(self) -> bool {
        matches!(self, Variant::Nic | Variant::Codesign)
    }
}

/// The CPU on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cpu {
    /// VexRiscv `imac`: RV32IMAC, 4 KiB caches.
    Imac,
    /// VexRiscv `full`: RV32IM, 4 KiB caches.
    Full,
}

/// `[device]`.
#[derive(Debug, Clone)]
pub struct Device {
    /// CPU variant.
    pub cpu: Cpu,
    /// Clock.
    pub cpu_mhz: u32,
    /// 10, 100 or 1000.
    pub link_mbps: u32,
    /// Packet buffers in the closed pool.
    pub rx_buffers: u32,
    /// FreeRTOS priority of driver task and `tcpip_thread`.
    pub net_priority: u32,
    /// Address of the device.
    pub address: Ipv4Addr,
    /// Its prefix length.
    pub prefix: u8,
    /// RTOS tick.
    pub tick_us: u32,
    /// Events at the trace port (the active method). Off, only passive figures remain.
    pub trace: bool,
    /// The library invalidates the cache in the receive interrupt instead of later, for comparison.
    pub eager_invalidation: bool,
    /// Which order the firmware is linked in; 0 is the build's own.
    pub link_order: u32,
}

/// `[[task]]`.
#[derive(Debug, Clone)]
pub struct Task {
    /// Unique name.
    pub name: String,
    /// FreeRTOS priority, larger is more urgent.
    pub priority: u32,
    /// When it runs.
    pub kind: TaskKind,
    /// What one job does.
    pub work: Work,
    /// Stack.
    pub stack_bytes: u32,
}

/// When a task runs.
#[derive(Debug, Clone)]
pub enum TaskKind {
    /// Released by the clock.
    Periodic {
        /// Distance of two releases. Multiples of the tick are released by it, others by a hardware timer.
        period_us: u32,
        /// Relative to the release.
        deadline_us: u32,
    },
    /// Never blocks; counts its loops.
    Background,
    /// Released by each message.
    Receiving {
        /// Where it listens.
        listen: Listen,
        /// From the last bit on the wire to completion; `None`: no deadline.
        deadline_us: Option<u32>,
        /// Size of the answer to each UDP message; 0: none.
        reply_bytes: u32,
        /// The flow's contract.
        flow: Contract,
    },
}

/// Transport protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// UDP.
    Udp,
    /// TCP.
    Tcp,
}

/// A port of the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Listen {
    /// Protocol.
    pub protocol: Protocol,
    /// Port.
    pub port: u16,
}

/// `[task.flow]`: what the library and the multiqueue NIC are told. The stock path has no use for any of it but `from`.
#[derive(Debug, Clone, Default)]
pub struct Contract {
    /// Only this sender is the flow.
    pub from: Option<Ipv4Addr>,
    /// Its server; `None`: no limit.
    pub server: Option<Server>,
    /// Its priority; `None`: the task's.
    pub priority: Option<u32>,
    /// Its queue in the multiqueue NIC, where it is not as `[nic]` has it.
    pub queue: QueueOverrides,
}

/// `[nic]`: the multiqueue NIC.
#[derive(Debug, Clone, Copy)]
pub struct Nic {
    /// What its queues are like, but for what flows ask for.
    pub queue: NicQueue,
    /// What of that the file gives.
    pub asked: QueueOverrides,
    /// The absolute timers run by themselves, again and again (the published simulator); from the first packet otherwise.
    pub periodic: bool,
    /// Worst protocol work per frame, for the rules of the parameters; `None`: what was measured.
    pub netstack_us: Option<f64>,
}

/// A queue of the multiqueue NIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NicQueue {
    /// Interrupt this long after the last packet; 0: no such timer.
    pub packet_timer_us: u32,
    /// Interrupt this long after the first packet; 0: no such timer.
    pub absolute_timer_us: u32,
    /// Interrupt when as many wait; 0: no threshold.
    pub frames: u32,
    /// Size of each of its two buffers.
    pub bytes: u32,
}

/// What a flow asks for its queue.
#[derive(Debug, Clone, Copy, Default)]
pub struct QueueOverrides {
    /// See [`NicQueue`].
    pub packet_timer_us: Option<u32>,
    /// See [`NicQueue`].
    pub absolute_timer_us: Option<u32>,
    /// See [`NicQueue`].
    pub frames: Option<u32>,
    /// See [`NicQueue`].
    pub bytes: Option<u32>,
}

impl NicQueue {
    /// With what a flow asks for.
    pub fn with(self, asked: &QueueOverrides) -> NicQueue {
        NicQueue {
            packet_timer_us: asked.packet_timer_us.unwrap_or(self.packet_timer_us),
            absolute_timer_us: asked.absolute_timer_us.unwrap_or(self.absolute_timer_us),
            frames: asked.frames.unwrap_or(self.frames),
            bytes: asked.bytes.unwrap_or(self.bytes),
        }
    }
}

/// An aperiodic server: how many packets a flow may bring.
#[derive(Debug, Clone, Copy)]
pub struct Server {
    /// What comes back, and when.
    pub kind: ServerKind,
    /// Packets per period.
    pub capacity: u32,
    /// The period.
    pub period_us: u32,
}

/// How a server's capacity comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerKind {
    /// All of it, when a period begins.
    Deferrable,
    /// Each packet's, one period after it.
    Sporadic,
}

/// `[mitigation]`: settings of the variants `burst`, `hysteresis`, `budget` and `queue` (thesis 5.2).
#[derive(Debug, Clone)]
pub struct Mitigation {
    /// With what the thesis found wrong put right.
    pub mended: bool,
    /// Index of the task whose earliness counts; `None` if there is no periodic task.
    pub task: Option<usize>,
    /// `burst`: packets per slice.
    pub capacity: u32,
    /// `burst`: length of a slice.
    pub slice_us: u32,
    /// `hysteresis`: earliness below which receiving stops, in percent of the deadline.
    pub stop_percent: u32,
    /// `hysteresis`: earliness above which it goes on.
    pub resume_percent: u32,
    /// `queue`: frames that are a full queue.
    pub queue: u32,
}

/// `[limit]`: the overall limit of the library and of `capped`.
#[derive(Debug, Clone, Copy)]
pub struct Limit {
    /// Packets of all flows together per period.
    pub capacity: u32,
    /// The period.
    pub period_us: u32,
}

/// What one job does.
#[derive(Debug, Clone)]
pub enum Work {
    /// Burns CPU for this long when nothing disturbs it.
    Synthetic {
        /// Microseconds.
        us: f64,
    },
    /// Computes the ascending series of binomial coefficients up to C(n, k) (thesis 5.3).
    Binomial {
        /// Row.
        n: u32,
        /// Column.
        k: u32,
    },
    /// The user's C file with `void NAME_job(void)`.
    Source {
        /// Absolute path.
        path: PathBuf,
    },
}

/// `[[traffic]]`.
#[derive(Debug, Clone)]
pub struct Traffic {
    /// Unique; given or derived.
    pub name: String,
    /// Sender; sources have MAC addresses derived from it.
    pub from: Ipv4Addr,
    /// Where it goes.
    pub to: Target,
    /// UDP payload, or data of an echo request.
    pub payload_bytes: u32,
    /// Differentiated services code point of its IP packets, 0 to 63; 0 where the sender is a live peer or a capture.
    pub dscp: u8,
    /// When it is sent.
    pub pattern: Pattern,
    /// First frame not before this time after the start of the run (warm-up included).
    pub start_ms: f64,
    /// Last frame before this time; `None`: the run's end.
    pub stop_ms: Option<f64>,
}

/// Destination of traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// A port of the device.
    Port(Listen),
    /// The device itself (ARP, ICMP, captures with addresses rewritten).
    Device,
    /// A capture's own addresses.
    AsIs,
    /// The link's broadcast address, to this UDP port.
    Broadcast(u16),
    /// A multicast group that the device has not joined, to this UDP port.
    Multicast(u16),
    /// The device's UDP port, as first fragments of datagrams whose rest never comes.
    Fragments(u16),
}

/// The shape of traffic over time.
#[derive(Debug, Clone)]
pub enum Pattern {
    /// Constant distance.
    Uniform {
        /// Frames per second.
        rate_pps: f64,
    },
    /// Exponential distances (thesis 4.6.1).
    Poisson {
        /// Mean frames per second.
        rate_pps: f64,
    },
    /// `rate_pps` for `burst_ms`, every `every_ms`.
    Burst {
        /// Frames per second inside a burst.
        rate_pps: f64,
        /// Length of a burst.
        burst_ms: f64,
        /// Distance of the beginnings of two bursts.
        every_ms: f64,
    },
    /// Rises in equal steps from 0 to `rate_pps` and falls again, once over the run (thesis 5.3).
    Pyramid {
        /// Frames per second at the top.
        rate_pps: f64,
        /// Steps on each side.
        steps: u32,
    },
    /// As fast as the link carries.
    LineRate,
    /// A capture, with its own timing.
    Pcap {
        /// Absolute path.
        path: PathBuf,
        /// 2.0 doubles the rate.
        speed: f64,
        /// What becomes of the capture's TCP conversations with the target.
        tcp: CaptureTcp,
    },
    /// A live Modbus/TCP master: connects, reads holding registers, waits for the answer; closed loop.
    Modbus {
        /// Most requests per second.
        rate_pps: f64,
        /// Registers read by each request, 1 to 125.
        registers: u16,
    },
    /// A live UDP client: sends a request, waits for the answer or a timeout; closed loop.
    Request {
        /// Most requests per second.
        rate_pps: f64,
        /// Waits this long for an answer.
        timeout_ms: f64,
    },
    /// ARP requests for the device.
    Arp {
        /// Frames per second.
        rate_pps: f64,
    },
    /// Echo requests.
    Icmp {
        /// Frames per second.
        rate_pps: f64,
    },
}

/// How a capture's TCP is replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaptureTcp {
    /// Conversations with ports on which the device listens are held anew, by a live client that sends what the
    /// captured client sent, when it sent it; so that sequence numbers fit. The others frame by frame.
    Live,
    /// Frame by frame, as captured.
    Frames,
}
