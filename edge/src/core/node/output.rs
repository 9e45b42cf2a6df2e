// SPDX-License-Identifier: Apache-2.0
//! What comes out of a machine: what is to be done for it, what happened, and counts.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use crate::core::message::Dropped;
use crate::core::task::{Exit, Refusal, Task, TaskId};

/// What is to be done for a node.
#[derive(Clone, Debug)]
pub enum Output {
    /// Send a datagram.
    Send(SocketAddr, Vec<u8>),
    /// Start a task's program on one of the workers.
    Start(usize, Task),
    /// Let its program stand still.
    Stop(TaskId),
    /// Go on with it.
    Continue(TaskId),
    /// End its program; nothing is expected of it any more.
    Kill(TaskId),
    /// For those who watch.
    Event(Event),
}

/// What happened to a task or another machine, for logs, metrics and the simulator's invariants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A client's task came here.
    Submitted(TaskId),
    /// This machine will run this attempt.
    Accepted(TaskId, u8),
    /// Nobody will.
    Refused(TaskId, Refusal),
    /// This machine does not count any more on the other one's running it.
    GivenUp(TaskId, SocketAddr),
    /// This machine does not run it any more: the client or the others gave it up.
    Dropped(TaskId),
    /// It ended.
    Ended(TaskId, Exit),
    /// Another machine is there.
    Up(SocketAddr),
    /// It fell silent, left, or was started anew.
    Down(SocketAddr),
}

/// Counts since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Datagrams that changed nothing, by reason.
    pub dropped: BTreeMap<Dropped, u64>,
    /// Datagrams that were understood.
    pub received: u64,
    /// Datagrams sent, and their bytes.
    pub sent: u64,
    /// Their bytes, without those of UDP and IP.
    pub sent_bytes: u64,
    /// Tasks that clients submitted here.
    pub submitted: u64,
    /// Tasks accepted by this machine.
    pub accepted: u64,
    /// Submitted tasks that nobody took.
    pub refused: u64,
    /// Times that another was asked.
    pub asked: u64,
    /// Tasks of others, given up, that were placed again.
    pub taken_over: u64,
    /// Jobs that ended well.
    pub done: u64,
    /// Jobs stopped at their worst case.
    pub overrun: u64,
    /// Jobs whose program failed.
    pub failed: u64,
}
