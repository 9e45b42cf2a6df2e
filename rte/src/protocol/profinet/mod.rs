// SPDX-License-Identifier: Apache-2.0
//! PROFINET IO: the device, and what it and a controller have in common on the wire.
//!
//! [`model`] is what a device is, [`device`] its connections with controllers; [`discovery`] is the lane that is found,
//! named and addressed; [`station`] what these lanes tell one another of it. [`gsdml`] describes the device to
//! engineering tools. [`controller`] is the other side and [`finder`] asks who is there, as tools.

pub mod controller;
pub mod counters;
pub mod device;
pub mod discovery;
pub mod finder;
pub mod gsdml;
pub mod model;
pub mod name;
pub mod station;
pub mod wire;
