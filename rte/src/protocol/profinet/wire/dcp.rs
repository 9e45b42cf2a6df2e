// SPDX-License-Identifier: Apache-2.0
//! The discovery and basic configuration protocol, DCP.
//!
//! ```text
//! | FrameID 2 | service 1 | kind 1 | transaction 4 | response delay 2 | length 2 | blocks |
//! block: | option 1 | suboption 1 | length 2 | value | padded to an even length |
//! ```
//!
//! Values in answers begin with a BlockInfo, in what is to be set with a BlockQualifier, both of 2 bytes. Filters of an
//! identification have neither, and a Get names just options.

use std::net::Ipv4Addr;

use super::{ETHERTYPE, Malformed, Put, Reader, ethernet};
use crate::protocol::{Address, Mac};

/// Whom an identification is sent to.
pub const IDENTIFY_GROUP: Mac = Mac([0x01, 0x0e, 0xcf, 0, 0, 0]);
/// Whom a Hello is sent to.
pub const HELLO_GROUP: Mac = Mac([0x01, 0x0e, 0xcf, 0, 0, 1]);

/// FrameIDs of DCP.
pub mod frame_id {
    /// Hello.
    pub const HELLO: u16 = 0xfefc;
    /// Get and Set, requests and responses.
    pub const GET_SET: u16 = 0xfefd;
    /// Identify, request.
    pub const IDENTIFY: u16 = 0xfefe;
    /// Identify, response.
    pub const IDENTIFIED: u16 = 0xfeff;
}

/// What is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Service {
    Get,
    Set,
    Identify,
    Hello,
}

/// Request or response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A request.
    Request,
    /// The response of one who did it, or tells in a block why not.
    Done,
    /// The response of one who does not know the service.
    Unsupported,
}

/// An option and its suboption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item(pub u8, pub u8);

#[allow(missing_docs)]
impl Item {
    pub const MAC: Self = Self(1, 1);
    pub const IP: Self = Self(1, 2);
    pub const VENDOR: Self = Self(2, 1);
    pub const NAME: Self = Self(2, 2);
    pub const DEVICE_ID: Self = Self(2, 3);
    pub const ROLE: Self = Self(2, 4);
    pub const OPTIONS: Self = Self(2, 5);
    pub const ALIAS: Self = Self(2, 6);
    pub const START: Self = Self(5, 1);
    pub const STOP: Self = Self(5, 2);
    pub const SIGNAL: Self = Self(5, 3);
    pub const RESPONSE: Self = Self(5, 4);
    pub const FACTORY_RESET: Self = Self(5, 5);
    pub const RESET_TO_FACTORY: Self = Self(5, 6);
    pub const ALL: Self = Self(255, 255);
}

/// Why something was not set; the last byte of a [`Item::RESPONSE`] block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Outcome {
    Done = 0,
    OptionUnknown = 1,
    SuboptionUnknown = 2,
    NotSet = 3,
    NoResource = 4,
    LocalReason = 5,
    InOperation = 6,
}

impl Outcome {
    /// What a byte means, in words.
    pub fn text(byte: u8) -> &'static str {
        match byte {
            0 => "done",
            1 => "the device does not know this option",
            2 => "the device does not know this suboption",
            3 => "the device does not accept this value",
            4 => "the device has no resources",
            5 => "the device refuses for a reason of its own",
            6 => "the device is in operation: release its connection first",
            _ => "unknown error",
        }
    }
}

/// A frame. Its blocks were checked: the iterators do not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Receiver.
    pub to: Mac,
    /// Sender.
    pub from: Mac,
    /// See [`frame_id`].
    pub frame_id: u16,
    /// What is wanted.
    pub service: Service,
    /// Request or response.
    pub kind: Kind,
    /// The sender's number of the transaction.
    pub transaction: u32,
    /// Over how many steps of 10 ms answers to an identification are spread; 0 in answers.
    pub delay: u16,
    data: &'a [u8],
}

/// A block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block<'a> {
    /// Option and suboption.
    pub item: Item,
    /// What stands in it, with BlockInfo or BlockQualifier if it has one.
    pub value: &'a [u8],
}

impl<'a> Block<'a> {
    /// BlockInfo or BlockQualifier, and what comes after it.
    pub fn qualified(&self) -> Option<(u16, &'a [u8])> {
        let mut reader = Reader::new(self.value);
        Some((reader.u16().ok()?, reader.rest()))
    }
}

impl<'a> Frame<'a> {
    /// Reads a frame from its first byte on.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn decode(frame: &'a [u8]) -> Result<Self, Malformed> {
        let (to, from, kind, rest) = ethernet::split(frame)?;
        if kind != ETHERTYPE {
            return Err(Malformed("another EtherType"));
        }
        let mut reader = Reader::new(rest);
        let frame_id = reader.u16()?;
        let service = match reader.u8()? {
            3 => Service::Get,
            4 => Service::Set,
            5 => Service::Identify,
            6 => Service::Hello,
            _ => return Err(Malformed("unknown service")),
        };
        let kind = match reader.u8()? {
            0 => Kind::Request,
            1 => Kind::Done,
            5 => Kind::Unsupported,
            _ => return Err(Malformed("unknown kind of service")),
        };
        let (transaction, delay, length) = (reader.u32()?, reader.u16()?, reader.u16()?);
        let data = reader.take(usize::from(length)).map_err(|_| Malformed("length beyond the frame"))?;
        let this = Self { to, from, frame_id, service, kind, transaction, delay, data };
        let is_sound = if this.is_list() { data.len() % 2 == 0 } else { Blocks(data).all(|block| block.is_some()) };
        if is_sound { Ok(this) } else { Err(Malformed("block beyond the frame")) }
    }

    /// Whether it names options instead of carrying blocks.
    fn is_list(&self) -> bool {
        (self.service, self.kind) == (Service::Get, Kind::Request)
    }

    /// Its blocks; none if it is a request of a Get.
    pub fn blocks(&self) -> impl Iterator<Item = Block<'a>> + use<'a> {
        Blocks(if self.is_list() { &[] } else { self.data }).map_while(|block| block)
    }

    /// What a Get asks for; nothing if it is something else.
    pub fn items(&self) -> impl Iterator<Item = Item> + use<'a> {
        let data = if self.is_list() { self.data } else { &[] };
        data.chunks_exact(2).map(|pair| Item(pair[0], pair[1]))
    }

    /// The value of a block that stands in an answer: without its BlockInfo.
    pub fn answer(&self, item: Item) -> Option<&'a [u8]> {
        self.blocks().find(|block| block.item == item)?.qualified().map(|(_, value)| value)
    }
}

/// Blocks one after the other; `None` where one does not fit, and then the end.
struct Blocks<'a>(&'a [u8]);

impl<'a> Iterator for Blocks<'a> {
    type Item = Option<Block<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        Some(self.block())
    }
}

impl<'a> Blocks<'a> {
    fn block(&mut self) -> Option<Block<'a>> {
        let mut reader = Reader::new(std::mem::take(&mut self.0));
        let item = Item(reader.u8().ok()?, reader.u8().ok()?);
        let length = usize::from(reader.u16().ok()?);
        let value = reader.take(length).ok()?;
        // The last block's padding may be left out.
        self.0 = reader.rest().get(length % 2..).unwrap_or(&[]);
        Some(Block { item, value })
    }
}

/// Writes a frame.
#[derive(Debug)]
pub struct Writer(Vec<u8>);

/// What stands before a frame's blocks.
const HEAD: usize = 14 + 12;

impl Writer {
    /// A frame without blocks. Identifications, Hellos and their answers have a FrameID of their own.
    pub fn new(to: Mac, from: Mac, service: Service, kind: Kind, transaction: u32) -> Self {
        let frame_id = match (service, kind) {
            (Service::Get | Service::Set, _) => frame_id::GET_SET,
            (Service::Identify, Kind::Request) => frame_id::IDENTIFY,
            (Service::Identify, _) => frame_id::IDENTIFIED,
            (Service::Hello, _) => frame_id::HELLO,
        };
        let service = match service {
            Service::Get => 3,
            Service::Set => 4,
            Service::Identify => 5,
            Service::Hello => 6,
        };
        let kind = match kind {
            Kind::Request => 0,
            Kind::Done => 1,
            Kind::Unsupported => 5,
        };
        let mut bytes = Vec::with_capacity(256);
        bytes.put(&to.0);
        bytes.put(&from.0);
        bytes.put16(ETHERTYPE);
        bytes.put16(frame_id);
        bytes.put(&[service, kind]);
        bytes.put32(transaction);
        bytes.put_zeros(4);
        Self(bytes)
    }

    /// Has answers to an identification spread over so many steps of 10 ms, 1 to 6400.
    pub fn delay(mut self, steps: u16) -> Self {
        self.0[HEAD - 4..HEAD - 2].copy_from_slice(&steps.to_be_bytes());
        self
    }

    /// With another FrameID than the service's own.
    pub fn with_frame_id(mut self, frame_id: u16) -> Self {
        self.0[14..16].copy_from_slice(&frame_id.to_be_bytes());
        self
    }

    /// How long it is so far.
    pub fn bytes(&self) -> usize {
        self.0.len()
    }

    /// Appends a block.
    pub fn block(mut self, item: Item, value: &[u8]) -> Self {
        self.head(item, value.len());
        self.0.put(value);
        self.pad()
    }

    /// Appends a block with a BlockInfo or BlockQualifier.
    pub fn qualified(mut self, item: Item, qualifier: u16, value: &[u8]) -> Self {
        self.head(item, 2 + value.len());
        self.0.put16(qualifier);
        self.0.put(value);
        self.pad()
    }

    /// Appends what became of something that was to be set, or could not be got.
    pub fn outcome(self, item: Item, outcome: Outcome) -> Self {
        self.block(Item::RESPONSE, &[item.0, item.1, outcome as u8])
    }

    /// Appends what a Get asks for.
    pub fn item(mut self, item: Item) -> Self {
        self.0.put(&[item.0, item.1]);
        self
    }

    /// The frame.
    pub fn finish(mut self) -> Vec<u8> {
        let length = (self.0.len() - HEAD) as u16;
        self.0[HEAD - 2..HEAD].copy_from_slice(&length.to_be_bytes());
        self.0
    }

    fn head(&mut self, item: Item, length: usize) {
        self.0.put(&[item.0, item.1]);
        self.0.put16(length as u16);
    }

    fn pad(mut self) -> Self {
        self.0.resize(self.0.len().next_multiple_of(2), 0);
        self
    }
}

/// The bytes of an address: of the station, mask, gateway.
pub fn address_bytes(address: &Address) -> [u8; 12] {
    let mut bytes = [0; 12];
    for (to, from) in bytes.chunks_mut(4).zip([address.ip, address.mask, address.gateway]) {
        to.copy_from_slice(&from.octets());
    }
    bytes
}

/// An address from its bytes, if there are as many as there must be.
pub fn address(bytes: &[u8]) -> Option<Address> {
    let bytes: [u8; 12] = bytes.try_into().ok()?;
    let part = |n: usize| Ipv4Addr::new(bytes[n], bytes[n + 1], bytes[n + 2], bytes[n + 3]);
    Some(Address { ip: part(0), mask: part(4), gateway: part(8) })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::captured;
    use super::*;

    fn again(frame: &Frame<'_>) -> Vec<u8> {
        let writer = Writer::new(frame.to, frame.from, frame.service, frame.kind, frame.transaction).delay(frame.delay);
        let writer = frame.items().fold(writer, Writer::item);
        frame.blocks().fold(writer, |writer, block| writer.block(block.item, block.value)).finish()
    }

    #[test]
    fn captured_frames_are_decoded_and_written_again() {
        let mut found = 0;
        for file in ["pn-dcp-identify-set", "pn-rt1-8ms-connect-write-read-alarm-release"] {
            for (_, mut bytes) in captured::frames(file) {
                if !matches!(ethernet::split(&bytes), Ok((.., ETHERTYPE, [0xfe, 0xfc..=0xff, ..]))) {
                    continue;
                }
                found += 1;
                let written = again(&Frame::decode(&bytes).unwrap());
                if bytes.len() % 2 == 1 {
                    // Its sender left out the last block's padding.
                    bytes.push(0);
                    bytes[HEAD - 1] += 1;
                }
                assert_eq!(written, bytes);
            }
        }
        assert_eq!(found, 7 + 6);
    }

    #[test]
    fn an_answer_has_its_name_and_address() {
        let frames = captured::frames("pn-dcp-identify-set");
        let answer = Frame::decode(&frames[2].1).unwrap();
        assert_eq!(answer.answer(Item::NAME), Some(&b"rt-labs-dev"[..]));
        assert_eq!(address(answer.answer(Item::IP).unwrap()).unwrap().ip, Ipv4Addr::UNSPECIFIED);
        let set = Frame::decode(&frames[3].1).unwrap();
        let (qualifier, value) = set.blocks().next().unwrap().qualified().unwrap();
        assert_eq!((qualifier, address(value).unwrap().ip), (1, Ipv4Addr::new(192, 168, 0, 50)));
    }

    #[test]
    fn every_cut_of_a_frame_is_refused() {
        for (_, bytes) in captured::frames("pn-dcp-identify-set").into_iter().skip(1) {
            for length in 0..bytes.len() {
                assert!(Frame::decode(&bytes[..length]).is_err(), "{length} of {}", bytes.len());
            }
        }
    }

    proptest! {
        #[test]
        fn no_frame_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), service in 0_u8..8) {
            let mut frame = [&[0; 12][..], &[0x88, 0x92, 0xfe, 0xfd, service, 0], &bytes].concat();
            if let Some(length) = frame.get_mut(24) { *length = 0; }
            if let Ok(frame) = Frame::decode(&frame) {
                let _ = frame.blocks().count() + frame.items().count();
            }
        }
    }
}
