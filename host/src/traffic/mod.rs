// SPDX-License-Identifier: Apache-2.0
//! What the network does: frames and when they are on the wire.
//!
//! [`Wire`] is everything attached to the device's link, plus the link itself. It is polled like a smoltcp
//! interface: the caller owns the time, in cycles of the device's CPU since the traffic epoch (the start of
//! the warm-up), asks for the next frame up to the time that it has simulated plus a small lookahead, and
//! hands in what the device sends.
//!
//! What a frame does depends only on the scenario, the seed and the frames of the device: no clock enters,
//! and every traffic entry has a stream of random numbers of its own, so that adding an entry leaves the
//! others as they were.
//!
//! # Rules of the link
//!
//! * Frames of all sources are merged by their due time into one first-in first-out queue, as the switch port
//!   in front of the device does; equal due times go in the order of the scenario. The queue is unbounded.
//! * A frame takes 8 bytes of preamble, its own bytes (padded to 60), 4 bytes of FCS and a gap of 12 bytes.
//!   Instants are kept as fractions of a cycle and rounded up when they are told, so nothing drifts.
//! * Line-rate sources send back to back while no other source has a frame due, several of them in turn.
//! * Hosts answer [`HOST_DELAY_US`] after the last bit of a frame from the device.
//! * Every sender answers ARP requests; none announces itself. MAC addresses are `02:00` and the IPv4 address.

mod address;
mod arp;
mod capture;
mod capture_error;
mod capture_notes;
mod checksum;
mod conversation;
mod error;
mod flow;
mod frame;
mod headers;
mod host;
mod link;
mod live;
mod modbus;
mod open_loop;
mod pattern;
mod peers;
mod phy;
mod playback;
mod replay;
mod request;
mod rewrite;
mod schedule;
mod setup;
mod source;
mod stats;
mod time;
mod wire;

pub use address::{Subnet, mac_of};
pub use capture::{Capture, MAX_CAPTURE_BYTES, MAX_FRAME_BYTES};
pub use capture_error::{CaptureError, CaptureProblem};
pub use error::TrafficError;
pub use flow::{FlowId, receiver};
pub use frame::MAX_UDP_PAYLOAD_BYTES;
pub(crate) use frame::{Path, arp, udp};
pub use host::HOST_DELAY_US;
pub use link::MIN_FRAME_BYTES;
pub use modbus::{ANSWER_TIMEOUT_MS, RECONNECT_DELAY_MS};
pub use rewrite::{Rewritten, SubnetFull, rewrite_to_device};
pub use stats::PeerStats;
pub use wire::{Wire, WireFrame};
