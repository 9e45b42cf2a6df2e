// SPDX-License-Identifier: Apache-2.0
//! The states, the queues, the admission and the protocol, without input or output.
//!
//! A [`node::Node`] and a [`client::Client`] are given datagrams, the time and a seed, and are asked for what they have to
//! send and when they want to be called again. What drives them is the simulator or real sockets.

pub mod auth;
pub mod client;
pub mod link;
pub mod membership;
pub mod message;
pub mod node;
pub mod queue;
pub mod replay;
pub mod task;
pub mod time;
