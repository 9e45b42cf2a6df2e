// SPDX-License-Identifier: Apache-2.0
//! An I/O device that serves several PLCs at once, each with its own real-time Ethernet protocol, on one port.
//!
//! Three domains of scheduling, as in Leibundgut and Doran, "Quo Vadis Real Time Ethernet", section IV, each in a
//! folder of its own:
//!
//! * [`application`]: sensors and actuators. Whoever reads and drives them runs when it likes.
//! * [`protocol`]: packs and unpacks what goes over the wire and runs each protocol's state machine. Time and packets
//!   come in, packets go out; nothing in there knows a socket or a clock.
//! * [`fitting`]: timers, sockets, priorities: sends and receives at the cycle.
//!
//! Between the domains are triple buffers ([`application::rotation`]): nobody waits for anybody, the newest value wins.
//! [`configuration`] is the TOML file, [`simulated`] a network in virtual time.

pub mod application;
pub mod configuration;
pub mod fitting;
pub mod measuring;
pub mod protocol;
pub mod simulated;
