// SPDX-License-Identifier: Apache-2.0
//! The link layer discovery protocol, IEEE 802.1AB, as PROFINET uses it: who is at the other end of the cable.
//!
//! A frame is a row of fields: 7 bits of type, 9 bits of length, the value.

use std::net::Ipv4Addr;

use super::{Malformed, Put, Reader, ethernet};
use crate::protocol::Mac;

/// EtherType.
pub const ETHERTYPE: u16 = 0x88cc;
/// Whom it is sent to: the next station, no further.
pub const GROUP: Mac = Mac([0x01, 0x80, 0xc2, 0, 0, 0x0e]);

/// Fields that belong to the PROFIBUS user organisation.
const PNO: [u8; 3] = [0x00, 0x0e, 0xcf];
/// Fields that belong to IEEE 802.3.
const IEEE: [u8; 3] = [0x00, 0x12, 0x0f];

/// What a port can do, of the field "MAC/PHY configuration/status".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Bit 0: can negotiate, bit 1: does.
    pub negotiation: u8,
    /// What it offers when it negotiates, as IEEE 802.3 has it.
    pub offered: u16,
    /// The medium attachment unit's number, of RFC 4836: 16 is 100BASE-TX full duplex, 30 1000BASE-T full duplex.
    pub attachment: u16,
}

impl Link {
    /// 100 Mbit/s full duplex, which PROFINET needs at least.
    pub const FAST: Self = Self { negotiation: 0, offered: 0, attachment: 16 };
}

/// What a station tells of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announcement<'a> {
    /// Sender.
    pub from: Mac,
    /// The station. Its subtype is 7, "locally assigned", or that of an address.
    pub chassis: &'a [u8],
    /// The port: `port-001.` and the station's name.
    pub port: &'a [u8],
    /// How long it is true, in seconds.
    pub seconds: u16,
    /// The station's own address.
    pub chassis_mac: Option<Mac>,
    /// What the port can do.
    pub link: Option<Link>,
    /// Where the station is managed, and the number of its interface.
    pub management: Option<(Ipv4Addr, u32)>,
}

impl<'a> Announcement<'a> {
    /// Reads a frame from its first byte on. Fields that it does not know are passed over.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn decode(frame: &'a [u8]) -> Result<Self, Malformed> {
        let (_, from, kind, rest) = ethernet::split(frame)?;
        if kind != ETHERTYPE {
            return Err(Malformed("another EtherType"));
        }
        let mut this =
            Self { from, chassis: &[], port: &[], seconds: 0, chassis_mac: None, link: None, management: None };
        let mut reader = Reader::new(rest);
        for count in 0.. {
            let head = reader.u16()?;
            let value = reader.take(usize::from(head & 0x1ff))?;
            match (count, head >> 9) {
                (0, 1) => this.chassis = value.get(1..).ok_or(Malformed("empty chassis"))?,
                (1, 2) => this.port = value.get(1..).ok_or(Malformed("empty port"))?,
                (2, 3) => this.seconds = Reader::new(value).u16()?,
                (0..=2, _) => return Err(Malformed("not chassis, port and time to live first")),
                (_, 0) => break,
                (_, 8) => this.management = management(value).ok(),
                // Others' fields, or newer ones, are none of our business.
                (_, 127) => drop(this.organisation(value)),
                _ => {}
            }
        }
        Ok(this)
    }

    fn organisation(&mut self, value: &[u8]) -> Result<(), Malformed> {
        let mut reader = Reader::new(value);
        match (reader.array()?, reader.u8()?) {
            (PNO, 5) => self.chassis_mac = Some(Mac(reader.array()?)),
            (IEEE, 1) => {
                self.link = Some(Link { negotiation: reader.u8()?, offered: reader.u16()?, attachment: reader.u16()? });
            }
            _ => {}
        }
        Ok(())
    }

    /// The name that its neighbours know this port of this station by: DCP's alias.
    pub fn alias(&self) -> Vec<u8> {
        if self.port.contains(&b'.') { self.port.to_vec() } else { [self.port, b".", self.chassis].concat() }
    }

    /// Writes the frame.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = [GROUP.0, self.from.0].concat();
        bytes.put16(ETHERTYPE);
        let local = [7];
        field(&mut bytes, 1, &[&local, self.chassis]);
        field(&mut bytes, 2, &[&local, self.port]);
        field(&mut bytes, 3, &[&self.seconds.to_be_bytes()]);
        // RT class 2 and 3 are off on this port.
        field(&mut bytes, 127, &[&PNO, &[2, 0, 0, 0, 0]]);
        if let Some(mac) = self.chassis_mac {
            field(&mut bytes, 127, &[&PNO, &[5], &mac.0]);
        }
        if let Some(Link { negotiation, offered, attachment }) = self.link {
            field(&mut bytes, 127, &[&IEEE, &[1, negotiation], &offered.to_be_bytes(), &attachment.to_be_bytes()]);
        }
        if let Some((ip, interface)) = self.management {
            // Of IPv4 (1), 4 bytes of it; the interface's number is an ifIndex (2); no object identifier.
            field(&mut bytes, 8, &[&[5, 1], &ip.octets(), &[2], &interface.to_be_bytes(), &[0]]);
        }
        field(&mut bytes, 0, &[]);
        bytes
    }
}

fn field(bytes: &mut Vec<u8>, kind: u16, parts: &[&[u8]]) {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    debug_assert!(length < 512);
    bytes.put16(kind << 9 | length as u16);
    parts.iter().for_each(|part| bytes.put(part));
}

fn management(value: &[u8]) -> Result<(Ipv4Addr, u32), Malformed> {
    let mut reader = Reader::new(value);
    if reader.array()? != [5, 1] {
        return Err(Malformed("management address is not of IPv4"));
    }
    let ip: [u8; 4] = reader.array()?;
    reader.u8()?;
    Ok((Ipv4Addr::from(ip), reader.u32()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::captured;
    use super::*;

    #[test]
    fn captured_announcements_are_decoded_and_written_again() {
        let mut found = 0;
        for (_, bytes) in captured::frames("pn-rt1-8ms-connect-write-read-alarm-release") {
            if !matches!(ethernet::split(&bytes), Ok((.., ETHERTYPE, _))) {
                continue;
            }
            found += 1;
            let announcement = Announcement::decode(&bytes).unwrap();
            assert_eq!(announcement.port, b"port-001.rt-labs-dev");
            assert!(announcement.link.is_some() && announcement.management.is_some());
            assert_eq!(announcement.encode(), bytes);
        }
        assert_eq!(found, 4);
    }

    proptest! {
        #[test]
        fn no_frame_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Announcement::decode(&[&[0; 12][..], &[0x88, 0xcc], &bytes].concat());
        }
    }
}
