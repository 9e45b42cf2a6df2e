// SPDX-License-Identifier: Apache-2.0
//! How a cyclic lane's thread comes to its time: scheduling policy, CPU, timers, memory (paper, section VI-F).

use std::io;
use std::num::NonZeroU64;

use rustix::mm::{MlockAllFlags, mlockall};
use rustix::thread::{CpuSet, sched_setaffinity, set_current_timer_slack};

use super::Error;
use super::execution::Execution;
use super::sockets::capabilities_hint;
use super::system::set_policy;
use crate::configuration::Policy;
use crate::protocol::Nanos;

/// Above the kernel's threads for interrupts, which have 50 on a real-time kernel: what the cycle needs of them is over
/// in microseconds, and the lane waits for it anyway.
pub const FIFO_PRIORITY: u32 = 80;
/// So many rounds are measured before a runtime follows from them.
const MEASURED_ROUNDS: u64 = 1_000;
/// The kernel gives real-time threads at most so much of a CPU, unless `/proc/sys/kernel/sched_rt_runtime_us` says more.
const SHARE_MAX: f64 = 0.95;

/// What a process's cyclic lanes are to have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The policy.
    pub policy: Policy,
    /// The runtime under `SCHED_DEADLINE`, if it is not to be measured.
    pub runtime: Option<Nanos>,
    /// The CPU that they are pinned to. Not for `SCHED_DEADLINE`, which pins by a partition alone.
    pub cpu: Option<usize>,
    /// If it is named, sockets and times are looked at every so often, and not when something is there: what stacks with
    /// a tick do (paper VI-F). For comparison.
    pub tick: Option<Nanos>,
}

impl Wanted {
    /// Nothing but what every thread has.
    pub const PLAIN: Self = Self { policy: Policy::Other, runtime: None, cpu: None, tick: None };
}

/// What a thread runs under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The kernel's choice, for good.
    Settled,
    /// `SCHED_DEADLINE` follows when enough was measured.
    Measuring,
    /// `SCHED_DEADLINE` with a measured runtime.
    Deadline(Nanos),
}

/// A cyclic lane's turn on a CPU. Belongs to its thread.
#[derive(Debug)]
pub struct Turn {
    wanted: Wanted,
    cycle: Nanos,
    state: State,
    execution: Execution,
    next_look: u64,
}

impl Turn {
    /// Gives the calling thread what is wanted, as far as it is allowed; `tell` is told what is not.
    ///
    /// # Errors
    /// If a policy that was asked for by name cannot be had.
    pub fn begin(wanted: Wanted, cycle: Nanos, tell: &mut dyn FnMut(&str)) -> Result<Self, Error> {
        // Real-time threads have none anyway; the kernel would gather others' timers within 50 us.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        let mut this =
            Self { wanted, cycle, state: State::Settled, execution: Execution::default(), next_look: MEASURED_ROUNDS };
        if let Some(cpu) = wanted.cpu {
            pin(cpu)?;
        }
        match (wanted.policy, wanted.runtime) {
            (Policy::Other, _) => {}
            (Policy::Deadline, Some(runtime)) => deadline(runtime, cycle)?,
            (Policy::Auto, Some(runtime)) if wanted.cpu.is_none() => {
                if let Err(error) = deadline(runtime, cycle) {
                    tell(&error.to_string());
                    this.fifo_or_other(tell);
                }
            }
            (Policy::Fifo, _) => fifo()?,
            (Policy::Deadline, None) => {
                // What is asked for must be possible at all, before anything is measured.
                deadline(cycle.min(100_000), cycle)?;
                fifo()?;
                this.state = State::Measuring;
            }
            (Policy::Auto, _) => {
                let may_deadline = wanted.cpu.is_none() && deadline(cycle.min(100_000), cycle).is_ok();
                this.fifo_or_other(tell);
                if may_deadline {
                    this.state = State::Measuring;
                }
            }
        }
        Ok(this)
    }

    fn fifo_or_other(&mut self, tell: &mut dyn FnMut(&str)) {
        if let Err(error) = fifo() {
            // Also from a deadline that was only tried.
            let _ = set_policy(libc::SCHED_OTHER, 0, 0, 0);
            tell(&format!("{error}; the cycle has the turn that every program has, and waits when others run"));
        }
    }

    /// One round took so much of the CPU.
    pub fn round(&mut self, time: Nanos, tell: &mut dyn FnMut(&str)) {
        self.execution.add(time);
        if self.execution.count() < self.next_look || self.state == State::Settled {
            return;
        }
        // Seldom at first, and more seldom later: the figures change less and less.
        self.next_look = self.execution.count() * 4;
        let runtime = self.execution.runtime().min(self.cycle);
        if matches!(self.state, State::Deadline(before) if runtime <= before) {
            return;
        }
        let (mean, sigma) = (self.execution.mean() / 1e3, self.execution.sigma() / 1e3);
        match deadline(runtime, self.cycle) {
            Ok(()) => {
                self.state = State::Deadline(runtime);
                let us = runtime / 1_000;
                tell(&format!(
                    "SCHED_DEADLINE with {us} us of {} us (mean {mean:.1}, sigma {sigma:.1} us)",
                    self.cycle / 1_000
                ));
            }
            Err(error) => {
                self.state = State::Settled;
                tell(&format!("{error}; it keeps SCHED_FIFO"));
            }
        }
    }

    /// What the rounds took.
    pub fn execution(&self) -> &Execution {
        &self.execution
    }

    /// How much of a cycle packets may take, so that a flood of them leaves time for the timer's work, and the kernel
    /// does not take the CPU away from a real-time thread that never rests.
    pub fn share_of_packets(&self) -> Nanos {
        match (self.state, self.wanted) {
            (State::Deadline(runtime), _) => runtime / 2,
            (_, Wanted { policy: Policy::Auto | Policy::Deadline, runtime: Some(runtime), .. }) => runtime / 2,
            _ => self.cycle / 2,
        }
    }
}

fn pin(cpu: usize) -> Result<(), Error> {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).map_err(|error| Error::new(format!("CPU {cpu} cannot be had: {error}")))
}

/// Gives the calling thread `SCHED_FIFO`.
///
/// # Errors
/// Why not, and the way out.
pub fn fifo() -> Result<(), Error> {
    set_policy(libc::SCHED_FIFO, FIFO_PRIORITY, 0, 0).map_err(|error| explain("SCHED_FIFO", &error))
}

/// Gives the calling thread `SCHED_DEADLINE` with a runtime in each cycle.
///
/// # Errors
/// Why not, and the way out.
pub fn deadline(runtime: Nanos, cycle: Nanos) -> Result<(), Error> {
    let what = format!("SCHED_DEADLINE with {} us of {} us", runtime / 1_000, cycle / 1_000);
    set_policy(libc::SCHED_DEADLINE, 0, runtime, cycle).map_err(|error| explain(&what, &error))
}

fn explain(what: &str, error: &io::Error) -> Error {
    let why = match error.raw_os_error() {
        Some(libc::EPERM) if rustix::process::geteuid().is_root() => {
            "the thread may not use all CPUs of its partition: leave out [fitting] cpu, or see `weir-io tune`"
                .to_owned()
        }
        Some(libc::EPERM) => capabilities_hint("cap_sys_nice"),
        Some(libc::EBUSY) => {
            "the kernel's admission test fails beside what runs: a smaller runtime_us, a longer cycle \
                              or another CPU is needed"
                .to_owned()
        }
        _ => error.to_string(),
    };
    Error::new(format!("{what} is not given: {why}"))
}

/// The paper's rule (section VI-G, equations 1 and 2): the runtimes of all cyclic lanes, each as a share of its cycle,
/// fit into the CPUs, and none exceeds its cycle. Lanes are named for the explanation.
///
/// # Errors
/// Which lanes need how much, and the way out.
pub fn admit(lanes: &[(String, Nanos)], runtime: Nanos, cpus: usize) -> Result<(), Error> {
    let us = runtime / 1_000;
    if let Some((name, cycle)) = lanes.iter().find(|(_, cycle)| *cycle < runtime) {
        let cycle = cycle / 1_000;
        return Err(Error::new(format!("{name}: runtime_us = {us} does not fit into its cycle of {cycle} us")));
    }
    let share: f64 = lanes.iter().map(|(_, cycle)| runtime as f64 / *cycle as f64).sum();
    if share <= SHARE_MAX * cpus as f64 {
        return Ok(());
    }
    let each = lanes.iter().map(|(name, cycle)| format!("{name} {us} of {} us", cycle / 1_000));
    let each = each.collect::<Vec<_>>().join(", ");
    Err(Error::new(format!(
        "cyclic lanes need {:.0} % of {cpus} CPU{} where {:.0} % are given to real time ({each}): a smaller \
         [fitting] runtime_us, longer cycles or more CPUs are needed",
        100.0 * share,
        if cpus == 1 { "" } else { "s" },
        100.0 * SHARE_MAX * cpus as f64
    )))
}

/// Locks this process's memory, so that the cycle never waits for a page.
///
/// # Errors
/// What is missing, and the way out.
pub fn lock_memory() -> Result<(), Error> {
    mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)
        .map_err(|_| Error::new(format!("memory is not locked: {}", capabilities_hint("cap_ipc_lock"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    fn lanes(cycles: &[Nanos]) -> Vec<(String, Nanos)> {
        cycles.iter().enumerate().map(|(n, cycle)| (format!("lane {n}"), *cycle)).collect()
    }

    #[test]
    fn the_papers_table_ii_is_admitted_on_one_cpu() {
        // Two protocols with 300 us of 1 ms each.
        assert_eq!(admit(&lanes(&[MS, MS]), 300_000, 1), Ok(()));
    }

    #[test]
    fn what_does_not_fit_is_explained() {
        let error = admit(&lanes(&[MS, 2 * MS, MS]), 500_000, 1).unwrap_err().to_string();
        assert!(
            error.starts_with(
                "cyclic lanes need 125 % of 1 CPU where 95 % are given to real time (lane 0 500 of 1000 us,"
            )
        );
        assert_eq!(admit(&lanes(&[MS, 2 * MS, MS]), 500_000, 2), Ok(()));
        let error = admit(&lanes(&[MS]), 2 * MS, 4).unwrap_err().to_string();
        assert_eq!(error, "lane 0: runtime_us = 2000 does not fit into its cycle of 1000 us");
    }

    #[test]
    fn a_thread_gets_what_it_is_allowed_and_is_told_what_not() {
        for policy in [Policy::Auto, Policy::Other] {
            std::thread::spawn(move || {
                let mut told = Vec::new();
                let wanted = Wanted { policy, ..Wanted::PLAIN };
                let mut turn = Turn::begin(wanted, 10 * MS, &mut |line| told.push(line.to_owned())).unwrap();
                (0..MEASURED_ROUNDS).for_each(|_| turn.round(20_000, &mut |line| told.push(line.to_owned())));
                assert_eq!(turn.execution().runtime(), 100_000);
                let deadline = matches!(turn.state, State::Deadline(100_000));
                assert!(policy == Policy::Auto || !deadline);
                assert_eq!(turn.share_of_packets(), if deadline { 50_000 } else { 5 * MS });
                assert!(policy == Policy::Other || !told.is_empty());
            })
            .join()
            .unwrap();
        }
    }
}
