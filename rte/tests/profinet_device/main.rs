// SPDX-License-Identifier: Apache-2.0
//! The PROFINET device, packet by packet: against captures of another maker's device, and by what may not happen.

mod hostile;
mod life;
mod replay;
mod rig;
#[path = "../support/mod.rs"]
mod support;
