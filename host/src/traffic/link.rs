// SPDX-License-Identifier: Apache-2.0
//! The link: when each bit is on the wire.

/// Shortest frame without FCS; shorter ones are padded with zeros.
pub const MIN_FRAME_BYTES: usize = 60;

const PREAMBLE_BYTES: u64 = 8;
const FCS_BYTES: u64 = 4;
const GAP_BYTES: u64 = 12;
const BITS_PER_BYTE: u64 = 8;

/// One direction of an Ethernet link.
///
/// A bit lasts `cpu_mhz / link_mbps` cycles, seldom a whole number. Instants are therefore kept in *ticks* of
/// `1 / link_mbps` cycles, in which a bit lasts exactly `cpu_mhz`.
#[derive(Debug, Clone)]
pub(super) struct Link {
    ticks_per_cycle: u64,
    ticks_per_byte: u64,
    free_tick: u64,
}

/// When a frame is on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    /// First bit of the preamble.
    pub(super) start_cycle: u64,
    /// Last bit of the FCS.
    pub(super) end_cycle: u64,
}

impl Link {
    /// An idle link.
    pub(super) fn new(cpu_mhz: u32, link_mbps: u32) -> Link {
        Link { ticks_per_cycle: u64::from(link_mbps), ticks_per_byte: BITS_PER_BYTE * u64::from(cpu_mhz), free_tick: 0 }
    }

    /// Whether a frame due at `cycle` would find the link idle until then.
    pub(super) fn idle_before(&self, cycle: u64) -> bool {
        self.free_tick < cycle.saturating_mul(self.ticks_per_cycle)
    }

    /// First bit of a frame that is due at `due_cycle`.
    pub(super) fn start_cycle(&self, due_cycle: u64) -> u64 {
        self.start_tick(due_cycle).div_ceil(self.ticks_per_cycle)
    }

    /// Puts a frame of `frame_bytes` (padded, without FCS) on the wire.
    pub(super) fn send(&mut self, due_cycle: u64, frame_bytes: usize) -> Slot {
        let start_tick = self.start_tick(due_cycle);
        let wire_bytes = PREAMBLE_BYTES + frame_bytes as u64 + FCS_BYTES;
        let end_tick = start_tick + wire_bytes * self.ticks_per_byte;
        self.free_tick = end_tick + GAP_BYTES * self.ticks_per_byte;
        Slot {
            start_cycle: start_tick.div_ceil(self.ticks_per_cycle),
            end_cycle: end_tick.div_ceil(self.ticks_per_cycle),
        }
    }

    fn start_tick(&self, due_cycle: u64) -> u64 {
        self.free_tick.max(due_cycle.saturating_mul(self.ticks_per_cycle))
    }
}
