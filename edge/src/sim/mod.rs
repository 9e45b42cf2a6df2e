// SPDX-License-Identifier: Apache-2.0
//! The site in virtual time: one seed is one run, on every machine.
//!
//! What runs are the nodes and clients of [`crate::core`] with their real datagrams, sealed and all. Simulated are the
//! links (delay, jitter, loss, duplicates, partitions), the clocks (offset, drift), the programs' execution, and what
//! befalls machines.

pub mod check;
pub mod draws;
pub mod faults;
pub mod network;
pub mod programs;
pub mod results;
pub mod scenario;
pub mod world;
