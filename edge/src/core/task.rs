// SPDX-License-Identifier: Apache-2.0
//! What a client asks for (thesis 8.2.1).

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use super::time::Instant;

/// Names a task everywhere: its client's session and the client's count of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId {
    /// The client's session, random for each start of the client.
    pub client: u64,
    /// Counts the client's tasks.
    pub number: u32,
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}/{}", self.client, self.number)
    }
}

/// A task as nodes handle it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its name.
    pub id: TaskId,
    /// Which of the client's attempts to place it this is. A later one gives the earlier ones up.
    pub attempt: u8,
    /// Where answers and the result go.
    pub client: SocketAddr,
    /// When the result must leave for the client, in the clock of the machine that has this: the client's deadline, less
    /// what the way back takes.
    pub leave_by: Instant,
    /// Worst-case execution time. A job that exceeds it is stopped.
    pub wcet: Duration,
    /// The program, by the name under which nodes have it.
    pub program: String,
    /// Its input.
    pub payload: Vec<u8>,
}

/// Why a task was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum Refusal {
    /// No node that was asked can finish it in time.
    NoTime = 1,
    /// The client knows no node that answers.
    NoNode = 2,
    /// No node that was asked has a program of this name.
    NoProgram = 3,
    /// The node has as many tasks as it may.
    Full = 4,
    /// The machine that ran it was lost, and no other can finish it in time.
    Lost = 5,
    /// The input is longer than a datagram carries. A client's own answer; never in a message.
    TooLarge = 6,
}

impl Refusal {
    /// Of the number in a message.
    pub fn from_wire(value: u8) -> Option<Self> {
        [Self::NoTime, Self::NoNode, Self::NoProgram, Self::Full, Self::Lost].into_iter().find(|r| *r as u8 == value)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoTime => "no-time",
            Self::NoNode => "no-node",
            Self::NoProgram => "no-program",
            Self::Full => "full",
            Self::Lost => "lost",
            Self::TooLarge => "too-large",
        })
    }
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Exit {
    /// The program ended well; the output is its result.
    Done = 1,
    /// It took longer than its worst case and was stopped.
    Overrun = 2,
    /// The program could not be started, or reported failure; the output says what is known.
    Failed = 3,
}

impl Exit {
    /// Of the number in a message.
    pub fn from_wire(value: u8) -> Option<Self> {
        [Self::Done, Self::Overrun, Self::Failed].into_iter().find(|e| *e as u8 == value)
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Done => "done",
            Self::Overrun => "overrun",
            Self::Failed => "failed",
        })
    }
}
