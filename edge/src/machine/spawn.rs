// SPDX-License-Identifier: Apache-2.0
//! Starts a program's process on the CPU, and with the priority, that it is to have from its first instruction.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};
use rustix::thread::{CpuSet, clear_ambient_capability_set, sched_setaffinity};

/// A program as the configuration names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The executable.
    pub path: PathBuf,
    /// What it is given.
    pub arguments: Vec<String>,
}

/// Where and how urgently a job runs.
#[derive(Clone, Debug)]
pub struct Place {
    /// Its only CPU.
    pub cpu: usize,
    /// Its priority of `SCHED_FIFO`; none for the ordinary scheduler.
    pub priority: Option<u8>,
}

/// Starts a program as the leader of a process group of its own, which ends with this process.
#[expect(unsafe_code, reason = "between fork and exec there is no other way")]
pub fn spawn(program: &Program, place: &Place, variables: &[(&str, &OsStr)]) -> io::Result<Child> {
    let mut command = Command::new(&program.path);
    command.args(&program.arguments).envs(variables.iter().copied()).process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut cpus = CpuSet::new();
    cpus.set(place.cpu);
    let parent = getpid();
    // SAFETY: the closure makes system calls only: it does not allocate and takes no lock that the fork may have left
    // taken. In the forked process there is one thread.
    unsafe { command.pre_exec(move || prepare(parent, &cpus)) };
    let child = command.spawn()?;
    if let Some(priority) = place.priority {
        // Until here it has the priority that it inherits, the one above: on a CPU that is busy with another program, we
        // would wait for its exec otherwise. It may have ended meanwhile.
        let _ = set_fifo(Some(Pid::from_child(&child)), priority);
    }
    Ok(child)
}

/// Has the process that this will start end with the thread that starts it, whatever ends that.
#[expect(unsafe_code, reason = "between fork and exec there is no other way")]
pub fn end_with_us(command: &mut Command) {
    let parent = getpid();
    // SAFETY: as above.
    unsafe { command.pre_exec(move || go_with(parent)) };
}

fn go_with(parent: Pid) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() != Some(parent) {
        // It died before it could be said that we go with it.
        return Err(io::ErrorKind::NotFound.into());
    }
    Ok(())
}

fn prepare(parent: Pid, cpus: &CpuSet) -> io::Result<()> {
    go_with(parent)?;
    sched_setaffinity(None, cpus)?;
    // What this machine may do its programs may not. Kernels without ambient capabilities have none to clear.
    let _ = clear_ambient_capability_set();
    Ok(())
}

/// Gives a thread, or the calling one, a priority of `SCHED_FIFO`. What it starts from then on inherits it.
#[expect(unsafe_code, reason = "rustix has no sched_setscheduler")]
pub fn set_fifo(thread: Option<Pid>, priority: u8) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: i32::from(priority) };
    let thread = thread.map_or(0, |thread| thread.as_raw_nonzero().get());
    // SAFETY: the parameters are read during the call only.
    match unsafe { libc::sched_setscheduler(thread, libc::SCHED_FIFO, &raw const parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
