// SPDX-License-Identifier: Apache-2.0
//! Policies, CPUs, timers, memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use super::{Apply, Finding, State};
use crate::fitting::Error;
use crate::fitting::cpuset::{self, Hierarchy};
use crate::fitting::policy::{deadline, fifo};
use crate::fitting::sockets::capabilities_hint;

const MS: u64 = 1_000_000;

pub(super) fn findings() -> Vec<Finding> {
    vec![kernel(), try_deadline(), try_fifo(), throttling(), cpus(), partition(), memory(), timers(), governor()]
}

fn read(path: impl AsRef<Path>) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn kernel() -> Finding {
    const WHAT: &str = "real-time kernel";
    let release = read("/proc/sys/kernel/osrelease").unwrap_or_default();
    if read("/sys/kernel/realtime").as_deref() == Some("1") {
        return Finding::there(WHAT, release);
    }
    let costs = "interrupts and locks of the kernel hold the cycle up, for milliseconds at worst";
    Finding::missing(WHAT, release, costs, "a kernel with PREEMPT_RT; on Debian: apt-get install linux-image-rt-amd64")
}

fn try_deadline() -> Finding {
    const WHAT: &str = "SCHED_DEADLINE";
    let tried = thread::spawn(|| deadline(MS / 10, MS)).join().expect("it does not panic");
    match tried {
        Ok(()) => Finding::there(WHAT, "100 us of 1 ms are admitted"),
        Err(error) => {
            let costs =
                "no guaranteed time in each cycle: SCHED_FIFO shares its CPU with all of its priority and above";
            Finding::missing(WHAT, error.to_string(), costs, capabilities_hint("cap_sys_nice"))
        }
    }
}

fn try_fifo() -> Finding {
    const WHAT: &str = "SCHED_FIFO";
    match thread::spawn(fifo).join().expect("it does not panic") {
        Ok(()) => Finding::there(WHAT, "priority 80"),
        Err(error) => {
            let costs = "the cycle waits whenever any other program runs";
            Finding::missing(WHAT, error.to_string(), costs, capabilities_hint("cap_sys_nice"))
        }
    }
}

fn throttling() -> Finding {
    const WHAT: &str = "time for real time";
    let number = |name: &str| read(Path::new("/proc/sys/kernel").join(name))?.parse::<i64>().ok();
    match (number("sched_rt_runtime_us"), number("sched_rt_period_us")) {
        (Some(-1), _) => Finding::there(WHAT, "all of it: nothing stops a real-time thread that never rests"),
        (Some(runtime), Some(period)) => Finding::there(WHAT, format!("{runtime} of {period} us")),
        _ => Finding::unknown(WHAT, "/proc/sys/kernel/sched_rt_runtime_us cannot be read", ""),
    }
}

fn cpus() -> Finding {
    const WHAT: &str = "a CPU for the cycle";
    match cpuset::online().len() {
        1 => Finding::missing(WHAT, "there is one CPU", "the cycle and all else share it", "a machine with two"),
        count => Finding::there(WHAT, format!("{count} CPUs")),
    }
}

fn partition() -> Finding {
    const WHAT: &str = "exclusive CPU";
    let costs = "other programs run on the cycle's CPU, too; and SCHED_DEADLINE cannot be pinned";
    match Hierarchy::find() {
        Hierarchy::Two(root) => {
            Finding::there(WHAT, format!("cpuset of version 2 in {}: `weir-io run` makes a partition", root.display()))
        }
        Hierarchy::One(root) => {
            let way = "boot with systemd.unified_cgroup_hierarchy=1, or cgroup_no_v1=cpuset";
            Finding::missing(WHAT, format!("cpuset of version 1 in {}", root.display()), costs, way)
        }
        Hierarchy::Missing => {
            let way = "a kernel with CONFIG_CPUSETS, and cgroup version 2 mounted";
            Finding::missing(WHAT, "no cpuset is mounted", costs, way)
        }
    }
}

fn memory() -> Finding {
    const WHAT: &str = "locked memory";
    use rustix::mm::{MapFlags, ProtFlags, mlock, mmap_anonymous, munmap};
    const BYTES: usize = 1 << 24;
    let flags = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
    // SAFETY: a new mapping, locked and given back.
    let tried = unsafe {
        mmap_anonymous(std::ptr::null_mut(), BYTES, flags.0, flags.1).and_then(|at| {
            let locked = mlock(at, BYTES);
            munmap(at, BYTES)?;
            locked
        })
    };
    match tried {
        Ok(()) => Finding::there(WHAT, "16 MiB can be locked"),
        Err(error) => {
            let costs = "the cycle may wait for a page, for milliseconds with a slow disk";
            Finding::missing(WHAT, error.to_string(), costs, capabilities_hint("cap_ipc_lock"))
        }
    }
}

fn timers() -> Finding {
    const WHAT: &str = "fine timers";
    let resolution = rustix::time::clock_getres(rustix::time::ClockId::Monotonic);
    let ns = resolution.tv_sec * 1_000_000_000 + resolution.tv_nsec as i64;
    if ns <= 1_000 {
        return Finding::there(WHAT, format!("{ns} ns"));
    }
    let costs = "every cycle is late by up to a tick";
    Finding::missing(WHAT, format!("{ns} ns"), costs, "a kernel with CONFIG_HIGH_RES_TIMERS, without highres=off")
}

fn governor() -> Finding {
    const WHAT: &str = "steady CPU clock";
    let cpus = fs::read_dir("/sys/devices/system/cpu").into_iter().flatten().flatten();
    let paths: Vec<PathBuf> =
        cpus.map(|cpu| cpu.path().join("cpufreq/scaling_governor")).filter(|path| path.exists()).collect();
    let other = paths.iter().filter_map(read).find(|governor| governor != "performance");
    match other {
        None if paths.is_empty() => Finding::there(WHAT, "the kernel does not change it"),
        None => Finding::there(WHAT, "governor performance"),
        Some(governor) => {
            let costs = "the CPU is slow when a cycle begins, and changes its clock within it";
            let way = "echo performance > /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";
            let apply: Apply = Box::new(move || {
                for path in &paths {
                    fs::write(path, "performance")
                        .map_err(|error| Error::new(format!("{}: {error}", path.display())))?;
                }
                Ok(format!("governor performance on {} CPUs", paths.len()))
            });
            let found = format!("governor {governor}");
            Finding { apply: Some(apply), state: State::Missing, ..Finding::missing(WHAT, found, costs, way) }
        }
    }
}
