// SPDX-License-Identifier: Apache-2.0
//! What PROFINET looks like on the wire, for both sides: each PDU can be decoded and encoded.
//!
//! All numbers are big-endian, but for the RPC header and its NDR, where the sender says which order it uses. Nothing
//! here panics on what comes from outside; [`Malformed`] names what was wrong.

pub mod block;
#[cfg(test)]
pub(crate) mod captured;
pub mod connect;
pub mod control;
pub mod dcp;
pub mod diagnosis;
pub mod endpoint_mapper;
pub mod ethernet;
pub mod expected;
pub mod identification;
pub mod iocr;
pub mod lldp;
pub mod record;
pub mod rpc;
pub mod rt;
pub mod rta;
pub mod status;

/// EtherType of RT frames, alarms and DCP.
pub const ETHERTYPE: u16 = 0x8892;
/// UDP port of the RPC server, of devices and of controllers.
pub const RPC_PORT: u16 = 34964;

/// Why something was not understood: a name under which it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Malformed(pub &'static str);

/// Something ended before it was complete.
pub const TOO_SHORT: Malformed = Malformed("too short");

/// A UUID as it is written: the first byte first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid(pub [u8; 16]);

impl Uuid {
    /// None.
    pub const NIL: Self = Self([0; 16]);

    /// With the bytes of its three numbers reversed, as a little-endian sender writes it; and back.
    #[must_use]
    pub fn swapped(self) -> Self {
        let mut bytes = self.0;
        bytes[0..4].reverse();
        bytes[4..6].reverse();
        bytes[6..8].reverse();
        Self(bytes)
    }
}

/// Reads what was received from its begin on.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Of all of it.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The next bytes.
    ///
    /// # Errors
    /// If there are not as many.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(TOO_SHORT)?;
        self.0 = rest;
        Ok(taken)
    }

    /// As [`Self::take`], as an array.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        Ok(self.take(N)?.try_into().expect("N bytes were taken"))
    }

    /// The next byte.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(self.array::<1>()?[0])
    }

    /// The next 16 bits.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub fn u16(&mut self) -> Result<u16, Malformed> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    /// The next 32 bits.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub fn u32(&mut self) -> Result<u32, Malformed> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    /// The next UUID.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub fn uuid(&mut self) -> Result<Uuid, Malformed> {
        Ok(Uuid(self.array()?))
    }

    /// What was not read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.0
    }
}

/// Writes at the end of a buffer.
pub trait Put {
    /// Bytes.
    fn put(&mut self, bytes: &[u8]);
    /// A byte.
    fn put8(&mut self, value: u8) {
        self.put(&[value]);
    }
    /// 16 bits.
    fn put16(&mut self, value: u16) {
        self.put(&value.to_be_bytes());
    }
    /// 32 bits.
    fn put32(&mut self, value: u32) {
        self.put(&value.to_be_bytes());
    }
    /// 16 bits each.
    fn put_all(&mut self, values: &[u16]) {
        values.iter().for_each(|value| self.put16(*value));
    }
    /// That many zeros.
    fn put_zeros(&mut self, count: usize) {
        (0..count).for_each(|_| self.put8(0));
    }
}

impl Put for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}
