// SPDX-License-Identifier: Apache-2.0
//! PROFINET IO: the device, and what it and a controller have in common on the wire.

pub mod wire;
