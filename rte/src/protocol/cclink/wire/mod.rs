// SPDX-License-Identifier: Apache-2.0
//! What CC-Link IE Field Basic looks like on the wire: bytes in, fields out, and back.
//!
//! Integers are little-endian but for the first word of a datagram. An IP address is sent as an integer, so 192.168.3.1
//! is `01 03 a8 c0`; an Ethernet address has its last byte first. Reserved fields are sent as 0 and not looked at when
//! they come in. Fields as CLPA's BAP-C0401ENG-044 has them, by way of traffic of two independent implementations.

pub mod cyclic;
pub mod slmp;

use std::net::Ipv4Addr;

use crate::protocol::Mac;

/// Why a datagram is nothing of CC-Link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Shorter than its header, or not as long as the header says.
    Length,
    /// The first word is of something else.
    Subheader,
    /// Another command.
    Command,
    /// A field has a value that it cannot have.
    Value,
}

impl Malformed {
    /// What it is called in counters.
    pub fn name(self) -> &'static str {
        match self {
            Self::Length => "dropped: length",
            Self::Subheader => "dropped: subheader",
            Self::Command => "dropped: other command",
            Self::Value => "dropped: impossible value",
        }
    }

    /// All of them.
    pub const ALL: [Self; 4] = [Self::Length, Self::Subheader, Self::Command, Self::Value];
}

/// The five bytes after the subheader, or after the serial number: network 0, unit 0xFF, module 0x03FF, extension 0.
const ROUTE: [u8; 5] = [0x00, 0xFF, 0xFF, 0x03, 0x00];

/// Reads at places that the caller has checked.
#[derive(Clone, Copy)]
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn bytes<const N: usize>(self, at: usize) -> [u8; N] {
        self.0[at..at + N].try_into().expect("as many as asked for")
    }

    fn u16(self, at: usize) -> u16 {
        u16::from_le_bytes(self.bytes(at))
    }

    fn u32(self, at: usize) -> u32 {
        u32::from_le_bytes(self.bytes(at))
    }

    fn ip(self, at: usize) -> Ipv4Addr {
        Ipv4Addr::from(self.u32(at))
    }

    fn mac(self, at: usize) -> Mac {
        let mut bytes = self.bytes(at);
        bytes.reverse();
        Mac(bytes)
    }
}

/// Writes at places that the caller has checked.
struct Writer<'a>(&'a mut [u8]);

impl Writer<'_> {
    fn bytes(&mut self, at: usize, bytes: &[u8]) {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn u16(&mut self, at: usize, value: u16) {
        self.bytes(at, &value.to_le_bytes());
    }

    fn u32(&mut self, at: usize, value: u32) {
        self.bytes(at, &value.to_le_bytes());
    }

    fn ip(&mut self, at: usize, value: Ipv4Addr) {
        self.u32(at, u32::from(value));
    }

    fn mac(&mut self, at: usize, Mac(mut bytes): Mac) {
        bytes.reverse();
        self.bytes(at, &bytes);
    }
}
