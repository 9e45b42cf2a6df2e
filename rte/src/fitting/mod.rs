// SPDX-License-Identifier: Apache-2.0
//! The domain of traffic fitting: sockets, timers, policies and CPUs; whose turn it is, and when.
//!
//! A [`driver`] runs one lane in one thread; [`running`] starts one for each lane of a protocol. [`interface`] knows what
//! the network interface is called by, [`sockets`] and [`connections`] are its doors, [`system`] are the calls of the
//! kernel that need `unsafe`. A cyclic lane has its turn by a
//! [`policy`] with a runtime that follows from its [`execution`] times, on a CPU of a [`cpuset`]. For a whole device, the [`supervisor`] starts a [`child`] process for each of the
//! [`protocols`], and is the one owner of the interface's [`address`].

pub mod address;
pub mod child;
pub mod connections;
pub mod console;
pub mod cpuset;
pub mod driver;
pub mod execution;
pub mod filter;
pub mod interface;
pub mod message;
pub mod outbox;
pub mod plugin;
pub mod policy;
pub mod protocols;
pub mod requests;
pub mod running;
pub mod sockets;
pub mod store;
pub mod supervisor;
pub mod switch;
pub mod system;
pub mod tune;
pub mod wakeup;

use std::fmt;

/// What cannot be done, and the way out, in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    /// Says so.
    pub fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
