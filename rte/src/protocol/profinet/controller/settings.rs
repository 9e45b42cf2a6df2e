// SPDX-License-Identifier: Apache-2.0
//! What a controller is told.

use super::super::model::Model;
use super::super::name::StationName;
use super::super::wire::iocr::CLOCK_NANOS;
use crate::protocol::{Address, Nanos};

/// A record that is written while the connection starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Slot.
    pub slot: u16,
    /// Subslot.
    pub subslot: u16,
    /// Index.
    pub index: u16,
    /// The record.
    pub bytes: Vec<u8>,
}

/// How often frames are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// In 31.25 us.
    pub send_clock: u16,
    /// A frame in every that many send clocks.
    pub reduction_ratio: u16,
}

impl Cycle {
    /// A cycle of so many microseconds: 250 or 500, or 1000 doubled up to nine times.
    pub fn from_us(us: u64) -> Option<Self> {
        // In 31.25 us, of which a millisecond has 32.
        let clocks = us.checked_mul(4).filter(|quarters| quarters % 125 == 0)? / 125;
        match clocks {
            8 | 16 => Some(Self { send_clock: clocks as u16, reduction_ratio: 1 }),
            32..=16_384 if clocks.is_power_of_two() => {
                Some(Self { send_clock: 32, reduction_ratio: (clocks / 32) as u16 })
            }
            _ => None,
        }
    }

    /// In units of the cycle counter, 31.25 us.
    pub fn clocks(self) -> u64 {
        u64::from(self.send_clock) * u64::from(self.reduction_ratio)
    }

    /// From frame to frame.
    pub fn period(self) -> Nanos {
        self.clocks() * CLOCK_NANOS
    }
}

/// What a controller is told.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The device as it should be.
    pub device: Model,
    /// What the device is called.
    pub station: StationName,
    /// What the controller is called.
    pub own_name: StationName,
    /// The address that the device gets if it has another; none: it keeps what it has.
    pub address: Option<Address>,
    /// The cycle, the same in both directions.
    pub cycle: Cycle,
    /// After how many cycles without data the connection is given up, 3 to 255.
    pub watchdog_factor: u16,
    /// What is written while the connection starts.
    pub parameters: Vec<Parameter>,
    /// After what time a lost connection is tried again.
    pub again_after: Nanos,
    /// Draws identifiers; another one for each controller and start.
    pub seed: u64,
}
