// SPDX-License-Identifier: Apache-2.0
//! One job's process group: started, stopped, continued, killed; what it wrote and how long it executed.
//!
//! Stopping is done by `SIGSTOP` to the group, with and without real-time priorities: one call stops all processes and
//! threads of a program at once, where a lower priority would have to be given to each of them. The group's number
//! cannot have passed to somebody else: its leader is not waited for before the group is killed.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Child, ChildStderr, ChildStdout};
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use super::orphans::TASK_VARIABLE;
use super::spawn::{Place, Program, spawn};
use crate::core::message::PAYLOAD_BYTES_MAX;
use crate::core::task::{Exit, Task};
use crate::core::time::{Instant, nanoseconds};

/// What is kept of a program's complaints.
const COMPLAINT_BYTES_MAX: usize = 1_024;

/// A program that was started and not yet waited for.
#[derive(Debug)]
pub struct Job {
    child: Child,
    group: Pid,
    pidfd: OwnedFd,
    stdout: ChildStdout,
    stderr: ChildStderr,
    output: Vec<u8>,
    complaint: Vec<u8>,
    /// Without the time since `running_since`.
    executed: Duration,
    running_since: Option<Instant>,
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Well or not.
    pub exit: Exit,
    /// How long it had its worker.
    pub execution: Duration,
    /// Its result, or what is known of the failure.
    pub output: Vec<u8>,
}

impl Job {
    /// Starts a task's program. The task's payload is its standard input.
    pub fn start(now: Instant, program: &Program, place: &Place, task: &Task) -> io::Result<Self> {
        let id = task.id.to_string();
        let wcet = (nanoseconds(task.wcet) / 1_000).to_string();
        let variables = [(TASK_VARIABLE, OsStr::new(&id)), ("WEIR_WCET_US", OsStr::new(&wcet))];
        let mut child = spawn(program, place, &variables)?;
        let group = Pid::from_child(&child);
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(mut stdin), Some(stdout), Some(stderr)) = pipes else { unreachable!("all three are piped") };
        // A payload is shorter than the smallest pipe. A program need not read it.
        let _ = stdin.write_all(&task.payload);
        drop(stdin);
        let prepared = pidfd_open(group, PidfdFlags::NONBLOCK).and_then(|pidfd| {
            rustix::io::ioctl_fionbio(&stdout, true)?;
            rustix::io::ioctl_fionbio(&stderr, true)?;
            Ok(pidfd)
        });
        let pidfd = prepared.inspect_err(|_| {
            let _ = kill_process_group(group, Signal::KILL);
            let _ = child.wait();
        })?;
        let (output, complaint, executed) = (Vec::new(), Vec::new(), Duration::ZERO);
        Ok(Self { child, group, pidfd, stdout, stderr, output, complaint, executed, running_since: Some(now) })
    }

    /// Its process, which is the first of its group.
    pub fn pid(&self) -> Pid {
        self.group
    }

    /// Becomes readable when the program has ended.
    pub fn pidfd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// What it writes as its result.
    pub fn stdout(&self) -> BorrowedFd<'_> {
        self.stdout.as_fd()
    }

    /// What it writes as its complaints.
    pub fn stderr(&self) -> BorrowedFd<'_> {
        self.stderr.as_fd()
    }

    /// Lets it stand still.
    pub fn stop(&mut self, now: Instant) {
        let _ = kill_process_group(self.group, Signal::STOP);
        self.executed = self.executed(now);
        self.running_since = None;
    }

    /// Goes on with it.
    pub fn go_on(&mut self, now: Instant) {
        self.running_since = Some(now);
        let _ = kill_process_group(self.group, Signal::CONT);
    }

    /// Ends it.
    pub fn kill(&mut self) {
        let _ = kill_process_group(self.group, Signal::KILL);
    }

    fn executed(&self, now: Instant) -> Duration {
        self.executed + self.running_since.map_or(Duration::ZERO, |since| now.since(since))
    }

    /// Reads what it wrote as its result; whether more can come that is of use.
    pub fn read_output(&mut self) -> bool {
        let more = read_some(&mut self.stdout, &mut self.output, PAYLOAD_BYTES_MAX + 1);
        more && self.output.len() <= PAYLOAD_BYTES_MAX
    }

    /// Whether it wrote more than a datagram carries: nothing good can come of it any more.
    pub fn wrote_too_much(&self) -> bool {
        self.output.len() > PAYLOAD_BYTES_MAX
    }

    /// Reads what it complains of; whether more can come.
    pub fn read_complaint(&mut self) -> bool {
        read_some(&mut self.stderr, &mut self.complaint, COMPLAINT_BYTES_MAX)
    }

    /// Its program has ended, or it was killed: nothing of its group is left after this, and what left the group is
    /// for [`super::orphans`].
    pub fn end(mut self, now: Instant) -> Ended {
        let execution = self.executed(now);
        self.kill();
        let status = self.child.wait();
        self.read_output();
        self.read_complaint();
        let failed = |text: String| Ended { exit: Exit::Failed, execution, output: text.into_bytes() };
        if self.wrote_too_much() {
            return failed(format!("the program wrote more than {PAYLOAD_BYTES_MAX} bytes"));
        }
        match status {
            Ok(status) if status.success() => Ended { exit: Exit::Done, execution, output: self.output },
            Ok(status) => failed(match first_line(&self.complaint) {
                Some(line) => format!("{status}: {line}"),
                None => status.to_string(),
            }),
            Err(error) => failed(error.to_string()),
        }
    }
}

/// Reads until the pipe is empty; what is beyond `max` bytes is thrown away. Whether the pipe is still open.
fn read_some(pipe: &mut impl Read, into: &mut Vec<u8>, max: usize) -> bool {
    let mut buffer = [0; 4_096];
    // As many times as a pipe is long: a program that writes without end is not to keep us.
    for _ in 0..16 {
        match pipe.read(&mut buffer) {
            Ok(0) => return false,
            Ok(length) => into.extend_from_slice(&buffer[..length.min(max.saturating_sub(into.len()))]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
        }
    }
    true
}

fn first_line(text: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}
