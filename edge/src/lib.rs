// SPDX-License-Identifier: Apache-2.0
//! Offloading of real-time tasks: a client hands a task with a deadline to a machine nearby; an accepted task comes
//! back in time, a rejected one is known early.
//!
//! [`core`] decides everything and does no input or output: time, randomness and datagrams come in, datagrams and
//! orders to a program runner go out. [`sim`] drives it in virtual time, [`machine`] with sockets, clocks and processes.
//! [`client`] is what an application uses. [`tally`] counts what became of tasks in either world.

#![deny(unsafe_code)]

pub mod client;
pub mod core;
pub mod machine;
pub mod sim;
pub mod tally;
