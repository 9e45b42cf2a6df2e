// SPDX-License-Identifier: Apache-2.0
//! CC-Link IE Field Basic, versions 1 and 2: the slave, and a master as a tool.
//!
//! A master sends a request to all slaves of a group, each of them answers it at once; both over UDP. A slave has 1 to
//! 16 *stations*, and a station 64 bits and 32 words in each direction: `RX` bits and `RWr` words go from the slave to
//! the master, `RY` and `RWw` from the master to the slave.

pub mod cspp;
pub mod master;
pub mod slave;
pub mod wire;

use super::Nanos;

/// UDP port of the cyclic datagrams, at both ends.
pub const CYCLIC_PORT: u16 = 61450;
/// UDP port of the commands that find slaves and set their addresses.
pub const SLMP_PORT: u16 = 61451;
/// Stations of a group, and of a slave.
pub const STATIONS_PER_GROUP_MAX: usize = 16;
/// Groups of a master. They are numbered from 1.
pub const GROUPS_MAX: u8 = 64;
/// Stations of a network.
pub const STATIONS_MAX: usize = 64;
/// Bits of a station in each direction.
pub const STATION_BITS: usize = 64;
/// Words of a station in each direction.
pub const STATION_WORDS: usize = 32;

/// Bytes of so many stations' bits in one direction.
pub const fn bits_bytes(stations: usize) -> usize {
    STATION_BITS / 8 * stations
}

/// Bytes of so many stations' words in one direction.
pub const fn words_bytes(stations: usize) -> usize {
    2 * STATION_WORDS * stations
}

/// What a device is, for masters and the tools of their makers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The maker's number at the CLPA.
    pub vendor: u16,
    /// The device's model, numbered by its maker.
    pub model: u32,
    /// The device's version.
    pub equipment_version: u16,
}

/// Lets through one message of each kind a second to the user: what is told of may come with every datagram.
#[derive(Debug)]
struct Hush<const KINDS: usize>([Nanos; KINDS]);

impl<const KINDS: usize> Default for Hush<KINDS> {
    fn default() -> Self {
        Self([0; KINDS])
    }
}

impl<const KINDS: usize> Hush<KINDS> {
    fn allows(&mut self, kind: usize, now: Nanos) -> bool {
        let allowed = now >= self.0[kind];
        if allowed {
            self.0[kind] = now + 1_000_000_000;
        }
        allowed
    }
}
