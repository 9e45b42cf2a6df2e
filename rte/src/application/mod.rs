// SPDX-License-Identifier: Apache-2.0
//! The domain of the user's application: its data points and how they come to the protocols and back.
//!
//! *Inputs* go from the sensors to the PLCs, *outputs* from the PLCs to the actuators, as in IEC 61131 and PROFINET.
//! All data points of one direction together are its *image*: bytes in the machine's own order, at offsets that
//! [`image::Image`] gives out. Every protocol has an [`endpoint::Endpoint`] of its own, so that one that stops
//! stops nobody else.

pub mod connection;
pub mod description;
pub mod endpoint;
pub mod image;
#[cfg(loom)]
mod interleaved;
pub mod layout;
pub mod memory;
pub mod plugin;
pub mod rotation;
pub mod triple_buffer;
