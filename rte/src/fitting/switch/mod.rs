// SPDX-License-Identifier: Apache-2.0
//! The switch between the PLCs and the device (the paper's juncture element): what its egress port does to a stream, and
//! how a Linux switch is told to do it.
//!
//! The model is deterministic and counts in bit times of the link: it shows what a stream will see before anyone buys
//! hardware. It knows what a standard says about the order of frames, and nothing of a certain chip.

pub mod analysis;
pub mod linux;
pub mod queues;
pub mod simulation;
pub mod traffic;
