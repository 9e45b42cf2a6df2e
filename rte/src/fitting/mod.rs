// SPDX-License-Identifier: Apache-2.0
//! The domain of traffic fitting: sockets, timers, policies and CPUs; whose turn it is, and when.

pub mod switch;
