// SPDX-License-Identifier: Apache-2.0
//! A [`crate::core::node::Node`] on a real machine: sockets, the clock, processes, the configuration file, metrics, logs.
//!
//! One thread and one `epoll` do it all; nothing waits busily.

pub mod clock;
pub mod config;
pub mod driver;
mod http;
mod interpreter;
pub mod job;
pub mod log;
mod metrics;
mod orphans;
mod programs;
pub mod spawn;
