// SPDX-License-Identifier: Apache-2.0
//! One run of one scenario on the simulated device.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use libloading::Library;

use super::events::{PACKET_UNITS, decode};
use super::ffi::{Config, Device, Stop};
use super::image::Image;
use super::scenario_block::{self, TASKS_MAX, THREADS_MAX};
use crate::observe::{Ending, FirmwareBuffers, Measured, Observed, Observer, Thread};
use crate::results::{Buffers, Run};
use crate::scenario::{Scenario, Task, TaskKind, Variant};
use crate::timeline::{Lane, LaneKind, Timeline};
use crate::traffic::{FlowId, PeerStats, TrafficError, Wire};

/// Start-up takes about 10 ms; this long without being ready is a hang.
const BOOT_MS_MAX: u64 = 500;
/// Interrupts off for longer is a hang: ticks are lost.
const INTERRUPTS_OFF_MS_MAX: u64 = 10;
/// Peers answer a frame of the device after 10 us at the earliest, so that frames may be put on the wire this far
/// ahead of what has been simulated.
const LOOKAHEAD_US: u64 = 10;
/// Between two looks at whether a job still makes progress.
const PATROL_MS: u64 = 5;
/// A job that has itself executed for this many of its deadlines (without one: for so long) will not end.
const JOB_DEADLINES_MAX: u64 = 20;
const JOB_MS_MAX: u64 = 500;

/// Why a run failed.
#[derive(Debug)]
pub enum RunError {
    /// The device's library or firmware is not what it should be.
    Broken(String),
    /// The software on the device failed: fault, hang, stack overrun. The text names task and address.
    Device(String),
    /// The traffic could not be made.
    Traffic(TrafficError),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Broken(text) | RunError::Device(text) => f.write_str(text),
            RunError::Traffic(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RunError {}

/// What a run gave.
#[derive(Debug)]
pub struct Outcome {
    /// Figures.
    pub run: Run,
    /// Everything, if it was asked for.
    pub timeline: Option<Timeline>,
    /// What live peers experienced.
    pub peers: Vec<PeerStats>,
    /// Hash over (cycle, program counter) of all retired instructions.
    pub hash: u64,
    /// Cycles of the whole run.
    pub cycles: u64,
    /// Cycles simulated one by one; the others were skipped as idle.
    pub simulated_cycles: u64,
}

/// Runs scenarios on a device's library.
#[derive(Debug, Clone)]
pub struct Runner {
    /// The receive path.
    pub variant: Variant,
    /// The simulated device.
    pub library: Arc<Library>,
    /// Its firmware.
    pub image: Image,
    /// Skip idle time and what else cannot make a difference; off only to show that it does not.
    pub shortcuts: bool,
    /// Keep everything for a timeline.
    pub record: bool,
}

/// Two for each queue that a flow can have.
const MQ_BUFFERS: u32 = 2 * (TASKS_MAX as u32 + 3);
/// The NIC says what becomes of a frame this long after its end at the latest.
const NIC_VERDICT_CYCLES: u64 = 64;
/// `PLAIN_BUFFER_BYTES` of the firmware.
const PLAIN_BUFFER_BYTES: u32 = 1536;
/// Of the multiqueue NIC: soc/weir_soc.py, and `WEIR_MQ_UNIT_BYTES` of the firmware.
const FRAME_UNIT_BYTES: u32 = 16;
/// More than copies that the firmware may have of them.
const COPIES: u32 = 256;
/// `configMAX_PRIORITIES - 1`.
const BOOSTER_PRIORITY: u32 = 15;
/// How often the pool is counted when a buffer seems to be missing, over so many ticks: a task can lose the CPU for a
/// tick between taking a buffer and passing it on.
const BUFFER_LOOKS: u64 = 400;
const BUFFER_LOOK_TICKS: u64 = 4;

/// Who is told everything that the observer is told: the calibration of the platform `model`.
pub trait Witness {
    /// A run begins.
    fn begin(&mut self, threads: &[Thread], measured: &Measured);
    /// A frame goes on the wire.
    fn offer(&mut self, bytes: &[u8]);
    /// An event.
    fn event(&mut self, now: u64, event: Observed);
}

/// Nobody.
impl Witness for () {
    fn begin(&mut self, _threads: &[Thread], _measured: &Measured) {}
    fn offer(&mut self, _bytes: &[u8]) {}
    fn event(&mut self, _now: u64, _event: Observed) {}
}

struct Session<'a> {
    scenario: &'a Scenario,
    variant: Variant,
    image: &'a Image,
    device: Device,
    cycles_per_ms: u64,
}

impl Runner {
    /// Runs `scenario`; `progress` is told the simulated milliseconds.
    ///
    /// # Errors
    /// See [`RunError`].
    pub fn run(&self, scenario: &Scenario, progress: &mut dyn FnMut(u64)) -> Result<Outcome, RunError> {
        self.run_before(scenario, progress, &mut ())
    }

    /// The same, before a witness.
    ///
    /// # Errors
    /// See [`RunError`].
    pub fn run_before(
        &self,
        scenario: &Scenario,
        progress: &mut dyn FnMut(u64),
        witness: &mut dyn Witness,
    ) -> Result<Outcome, RunError> {
        let mut session = self.boot(scenario)?;
        let cycles_per_ms = session.cycles_per_ms;
        let tick_cycles = u64::from(scenario.device.tick_us) * u64::from(scenario.device.cpu_mhz);
        let epoch = session.device.next_tick() + tick_cycles;
        let start = epoch + u64::from(scenario.warmup_ms) * cycles_per_ms;
        let window = start..start + u64::from(scenario.duration_ms) * cycles_per_ms;
        let (buffers, buffers_base, buffer_bytes) = self.places(scenario).map_err(RunError::Broken)?;
        let measured = Measured {
            epoch,
            window: window.clone(),
            buffers: buffers as usize,
            buffers_base,
            buffer_bytes,
            record: self.record,
        };
        let threads = session.threads()?;
        witness.begin(&threads, &measured);
        let observer = Observer::new(scenario, self.variant, &threads, measured, session.device.cycle());
        let wire = Wire::new(scenario, scenario_block::device_mac(scenario)).map_err(RunError::Traffic)?;
        let mut live = Live { session: &mut session, observer, witness, wire, epoch, loops_before: [0; TASKS_MAX] };
        live.run_until(window.start, progress)?;
        live.session.device.off_max();
        live.loops_before = live.session.loops()?;
        live.run_until(window.end, progress)?;
        live.finish(&window)
    }

    /// The places for frames in RAM: their number, the address of the first, and the bytes of each.
    fn places(&self, scenario: &Scenario) -> Result<(u32, u32, u32), String> {
        if self.variant.uses_queues() {
            return Ok((PACKET_UNITS + COPIES, 0, FRAME_UNIT_BYTES));
        }
        Ok((scenario.device.rx_buffers, self.image.symbol("plain_rx_data")?, PLAIN_BUFFER_BYTES))
    }

    fn config(&self, scenario: &Scenario) -> Result<Config, String> {
        let device = &scenario.device;
        let mhz = u64::from(device.cpu_mhz);
        Ok(Config {
            byte_cycles_numerator: 8 * mhz,
            byte_cycles_denominator: u64::from(device.link_mbps),
            hang_cycles: INTERRUPTS_OFF_MS_MAX * 1000 * mhz,
            current_tcb: self.image.symbol("pxCurrentTCB")?,
            trap_handler: self.image.symbol("freertos_risc_v_trap_handler")?,
            watch: [self.image.symbol("recv_udp")?, self.image.symbol("recv_tcp")?],
            shortcuts: u32::from(self.shortcuts),
        })
    }

    fn boot<'a>(&'a self, scenario: &'a Scenario) -> Result<Session<'a>, RunError> {
        let config = self.config(scenario).map_err(RunError::Broken)?;
        let mut device = Device::new(&self.library, &config).map_err(RunError::Broken)?;
        for (address, bytes) in &self.image.segments {
            device.write(*address, bytes);
        }
        let block = self.image.symbol("weir_scenario").map_err(RunError::Broken)?;
        self.image.check_size("weir_scenario", scenario_block::BYTES).map_err(RunError::Broken)?;
        self.image.check_size("weir_status", scenario_block::STATUS_BYTES).map_err(RunError::Broken)?;
        device.write(block, &scenario_block::encode(scenario, self.variant));
        let cycles_per_ms = u64::from(scenario.device.cpu_mhz) * 1000;
        let mut session = Session { scenario, variant: self.variant, image: &self.image, device, cycles_per_ms };
        while session.device.cycle() < BOOT_MS_MAX * cycles_per_ms {
            // In small steps: what the peers do is only decided when the device is ready.
            let until = session.device.cycle() + cycles_per_ms / 10;
            let stop = session.device.run(until);
            session.check(stop, "start-up")?;
            for event in session.device.events() {
                match decode(event) {
                    Some(Observed::Ready) => return Ok(session),
                    Some(Observed::Failed) => return Err(session.failure("start-up")),
                    _ => {}
                }
            }
        }
        let place = session.image.describe(session.device.pc());
        Err(RunError::Device(format!("the firmware is not ready after {BOOT_MS_MAX} ms; it is at {place}")))
    }
}

impl Session<'_> {
    fn symbol(&self, name: &str) -> Result<u32, RunError> {
        self.image.symbol(name).map_err(RunError::Broken)
    }

    fn at_ms(&self) -> f64 {
        self.device.cycle() as f64 / self.cycles_per_ms as f64
    }

    fn loops(&mut self) -> Result<[u64; TASKS_MAX], RunError> {
        let status = self.symbol("weir_status")?;
        let mut loops = [0; TASKS_MAX];
        for (i, count) in (0u32..).zip(loops.iter_mut()) {
            *count = u64::from(self.device.read_word(status + 4 * i));
        }
        Ok(loops)
    }

    /// The driver's books: `weir_status.rx_free`, and positions given and taken of its `struct plain_ring`; the
    /// library's: `struct weir_rx_books`, with which its variable begins; with the multiqueue NIC buffers that software
    /// has, and frames held, there or as copies.
    fn firmware_buffers(&mut self) -> Result<FirmwareBuffers, RunError> {
        if self.variant.uses_queues() {
            let books = self.device.read_word(self.symbol("weir_mq")?);
            let copies = self.device.read_word(self.symbol("kept_frames_count")?);
            let free = MQ_BUFFERS - (books & 0xffff);
            return Ok(FirmwareBuffers { free, with_nic: 0, held: (books >> 16) + copies });
        }
        if self.variant.uses_library() {
            let books = self.symbol("weir_rx")?;
            let mut half = |index: u32| self.device.read_word(books + 2 * (index & !1)) >> (16 * (index & 1)) & 0xffff;
            return Ok(FirmwareBuffers { free: half(3) + half(4), with_nic: half(0), held: 0 });
        }
        let free = self.symbol("weir_status")? + 4 * TASKS_MAX as u32 + 8 * THREADS_MAX as u32;
        let ring = self.symbol("plain_rx_ring")?;
        let (given, taken) = (self.device.read_word(ring + 8), self.device.read_word(ring + 12));
        Ok(FirmwareBuffers { free: self.device.read_word(free), with_nic: given.wrapping_sub(taken), held: 0 })
    }

    /// Driver or network task, `tcpip_thread`, the scenario's tasks, those of the variant, idle; guards their stacks.
    fn threads(&mut self) -> Result<Vec<Thread>, RunError> {
        let table = self.symbol("weir_status")? + 4 * TASKS_MAX as u32;
        let mut handles = Vec::new();
        for slot in 0..THREADS_MAX as u32 {
            let handle = self.device.read_word(table + 8 * slot);
            let stack = self.device.read_word(table + 8 * slot + 4);
            self.device.set_stack(handle, stack);
            handles.push(handle);
        }
        let thread = |slot: usize, name: &str, kind, priority| Thread {
            handle: handles[slot],
            lane: Lane { name: name.to_string(), kind, priority },
        };
        let (driver, net, tcpip) = if self.variant.uses_library() {
            ("weir_net", 0, self.scenario.tasks.iter().filter(receives).map(|task| task.priority).max().unwrap_or(1))
        } else {
            let net = self.scenario.net_priority(self.variant);
            ("driver", net, net)
        };
        let mut threads = vec![
            thread(TASKS_MAX, driver, LaneKind::Net, net),
            thread(TASKS_MAX + 1, "tcpip_thread", LaneKind::Net, tcpip),
        ];
        for (slot, task) in self.scenario.tasks.iter().enumerate() {
            threads.push(thread(slot, &task.name, LaneKind::Task, task.priority));
        }
        match self.variant {
            Variant::Driver | Variant::Codesign => {
                threads.push(thread(TASKS_MAX + 3, "weir_boost", LaneKind::Net, BOOSTER_PRIORITY));
            }
            Variant::Classes => {
                threads.push(thread(TASKS_MAX + 3, "class_high", LaneKind::Net, net));
                threads.push(thread(TASKS_MAX + 4, "class_low", LaneKind::Net, (net - 1).max(1)));
            }
            _ => {}
        }
        threads.push(thread(TASKS_MAX + 2, "idle", LaneKind::Idle, 0));
        Ok(threads)
    }

    fn check(&mut self, stop: Stop, running: &str) -> Result<(), RunError> {
        let text = match stop {
            Stop::Cycle | Stop::Frame | Stop::Events => return Ok(()),
            Stop::Hang => format!(
                "the device hangs: `{running}` has had interrupts off for {INTERRUPTS_OFF_MS_MAX} ms, at {}",
                self.image.describe(self.device.pc())
            ),
            Stop::Stack => {
                format!(
                    "task `{running}` overran its stack at {}; give it more with `stack_bytes` in its [[task]]",
                    self.task_place()
                )
            }
            // A load that misses the cache asks for the whole line, so that only a store's address is exact.
            Stop::Bus => format!(
                "`{running}` accessed an address at or after {:#010x}, where there is nothing, just after {}",
                self.device.fault_address(),
                self.task_place()
            ),
        };
        Err(RunError::Device(format!("{text} (at {:.3} ms)", self.at_ms())))
    }

    /// The last instruction that a task completed: what a fault follows, also when the trap is already being handled.
    fn task_place(&self) -> String {
        self.image.describe(self.device.task_pc())
    }

    /// The firmware said that it gives up.
    fn failure(&mut self, running: &str) -> RunError {
        let Ok(status) = self.symbol("weir_status") else {
            return RunError::Broken("the firmware gave up and has no status".to_string());
        };
        let base = status + 4 * TASKS_MAX as u32 + 8 * THREADS_MAX as u32 + 4;
        let [cause, mepc, mtval, failure, detail]: [u32; 5] =
            std::array::from_fn(|i| self.device.read_word(base + 4 * i as u32));
        let text = match failure {
            1 => format!(
                "`{running}` caused an exception: {} at {}, value {mtval:#010x}",
                exception_name(cause),
                self.image.describe(mepc)
            ),
            2 => match detail.checked_sub(1).and_then(|task| self.scenario.tasks.get(task as usize)) {
                Some(task) => format!("no memory on the device for task `{}`: fewer or smaller stacks", task.name),
                None => "no memory on the device: fewer tasks, smaller stacks or fewer rx_buffers".to_string(),
            },
            3 => format!("a socket call failed on the device (errno {detail})"),
            4 => format!("an assertion of `{running}` failed: configASSERT in line {detail} of its C file"),
            5 => "the firmware does not understand the scenario block: it is not of this version".to_string(),
            other => format!("the firmware gave up ({other}, {detail:#x})"),
        };
        RunError::Device(format!("{text} (at {:.3} ms)", self.at_ms()))
    }
}

fn receives(task: &&Task) -> bool {
    matches!(task.kind, TaskKind::Receiving { .. })
}

fn exception_name(mcause: u32) -> &'static str {
    match mcause {
        0 => "misaligned instruction address",
        1 => "instruction access fault",
        2 => "illegal instruction",
        3 => "breakpoint",
        4 => "misaligned load",
        5 => "load access fault",
        6 => "misaligned store",
        7 => "store access fault",
        _ => "unknown exception",
    }
}

struct Live<'a, 'b> {
    session: &'a mut Session<'b>,
    observer: Observer,
    witness: &'a mut dyn Witness,
    wire: Wire,
    epoch: u64,
    loops_before: [u64; TASKS_MAX],
}

impl Live<'_, '_> {
    fn run_until(&mut self, end: u64, progress: &mut dyn FnMut(u64)) -> Result<(), RunError> {
        let lookahead = LOOKAHEAD_US * u64::from(self.session.scenario.device.cpu_mhz);
        let patrol = PATROL_MS * self.session.cycles_per_ms;
        let mut next_patrol = self.session.device.cycle();
        loop {
            let now = self.session.device.cycle();
            if now >= end {
                return self.patrol(now);
            }
            if now >= next_patrol {
                progress(now.saturating_sub(self.epoch) / self.session.cycles_per_ms);
                self.patrol(now)?;
                next_patrol = now + patrol;
            }
            let horizon = now + lookahead;
            self.feed(horizon);
            let due = self.wire.next_due().map_or(end, |due| due + self.epoch);
            let until = due.max(horizon).min(now + patrol).min(end);
            let stop = self.session.device.run(until);
            self.drain()?;
            let running = self.observer.running().to_string();
            self.session.check(stop, &running)?;
            if stop == Stop::Frame {
                let (frame, last_bit) = self.session.device.sent();
                self.wire.receive(last_bit.saturating_sub(self.epoch), &frame);
            }
        }
    }

    /// Puts the frames that start before `horizon` on the wire.
    fn feed(&mut self, horizon: u64) {
        let Some(until) = horizon.checked_sub(self.epoch) else { return };
        while let Some(frame) = self.wire.next_frame(until) {
            let task = match frame.flow {
                FlowId::Task(task) => Some(task),
                FlowId::Background => None,
            };
            self.observer.offer(&frame.bytes, frame.end_cycle + self.epoch, task);
            self.witness.offer(&frame.bytes);
            self.session.device.receive(&frame.bytes, frame.start_cycle + self.epoch);
        }
    }

    fn drain(&mut self) -> Result<(), RunError> {
        for event in self.session.device.events() {
            let Some(observed) = decode(event) else { continue };
            if observed == Observed::Failed {
                let running = self.observer.running().to_string();
                return Err(self.session.failure(&running));
            }
            self.observer.event(event.cycle, observed);
            self.witness.event(event.cycle, observed);
        }
        Ok(())
    }

    /// A job that has long had all the CPU that it could need, and does not end.
    fn patrol(&self, now: u64) -> Result<(), RunError> {
        let Some(stuck) = self.observer.stuck_job(now, JOB_DEADLINES_MAX, JOB_MS_MAX * self.session.cycles_per_ms)
        else {
            return Ok(());
        };
        let name = &self.session.scenario.tasks[stuck.task].name;
        let place = self.session.image.describe(self.session.device.pc());
        Err(RunError::Device(format!(
            "task `{name}` hangs: one job has had the CPU for {:.1} ms and has not ended; it is at {place} (at {:.3} ms)",
            stuck.cycles as f64 / self.session.cycles_per_ms as f64,
            self.session.at_ms()
        )))
    }

    fn finish(mut self, window: &Range<u64>) -> Result<Outcome, RunError> {
        let off_cycles_max = self.session.device.off_max();
        let after = self.session.loops()?;
        let loops = after.iter().zip(self.loops_before).map(|(after, before)| after - before).collect();
        let buffers = self.account_for_buffers()?;
        let unaccounted = self.observer.unaccounted_frames(window.end - NIC_VERDICT_CYCLES);
        if unaccounted > 0 {
            return Err(RunError::Broken(format!("{unaccounted} frames vanished between the wire and the NIC")));
        }
        let ending = Ending { off_cycles_max, loops, buffers, peers: self.wire.peer_stats() };
        let (run, timeline) = self.observer.finish(window.end, self.session.scenario, &ending);
        Ok(Outcome {
            run,
            timeline,
            peers: ending.peers,
            hash: self.session.device.hash(),
            cycles: self.session.device.cycle(),
            simulated_cycles: self.session.device.simulated(),
        })
    }

    /// Finds every buffer of the pool. One may be on its way between two places in this very cycle, so that a buffer
    /// only counts as lost when it stays away.
    fn account_for_buffers(&mut self) -> Result<Buffers, RunError> {
        let scenario = self.session.scenario;
        let firmware = self.session.firmware_buffers()?;
        let free = u64::from(firmware.free) + u64::from(firmware.with_nic);
        let mut missing = if scenario.device.trace { self.observer.buffers_missing(scenario, firmware) } else { 0 };
        let patience = BUFFER_LOOK_TICKS * u64::from(scenario.device.tick_us) * u64::from(scenario.device.cpu_mhz);
        for _ in 0..BUFFER_LOOKS {
            if missing == 0 {
                break;
            }
            let until = self.session.device.cycle() + patience / BUFFER_LOOKS;
            self.session.device.run(until);
            self.drain()?;
            missing = self.observer.buffers_missing(scenario, self.session.firmware_buffers()?);
        }
        let leaked = missing.unsigned_abs();
        let pool = if self.session.variant.uses_queues() { MQ_BUFFERS } else { scenario.device.rx_buffers };
        if leaked > 0 {
            return Err(RunError::Device(format!("the receive path lost {leaked} of its {pool} buffers")));
        }
        Ok(Buffers { pool: u64::from(pool), free_at_end: free, leaked })
    }
}
