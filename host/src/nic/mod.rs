// SPDX-License-Identifier: Apache-2.0
//! The multiqueue NIC as events: which frames does it announce, when, and why? Without a device behind it.

mod frames;
mod model;
mod settings;

pub use frames::{Frame, FramesError, Load};
pub use model::{Cause, Interrupt, Nic, Totals};
pub use settings::{AbsoluteMode, Match, Queue, Settings, SettingsError};
