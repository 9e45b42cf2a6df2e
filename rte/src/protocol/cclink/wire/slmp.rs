// SPDX-License-Identifier: Apache-2.0
//! The two commands of SLMP that find slaves and give them addresses. Both, and the answers, go to all.
//!
//! ```text
//! request   0 subheader 5400 | 2 serial | 6 route | 11 length | 13 timer | 15 command | 17 subcommand | 19 data
//! response  0 subheader D400 | 2 serial | 6 route | 11 length | 13 end code | 15 data
//! ```

use std::net::Ipv4Addr;

use super::{Malformed, ROUTE, Reader, Writer};
use crate::protocol::{Address, Mac};

const REQUEST: [u8; 2] = [0x54, 0x00];
const RESPONSE: [u8; 2] = [0xD4, 0x00];
const NODE_SEARCH: u16 = 0x0E30;
const ADDRESS_SET: u16 = 0x0E31;
/// Where the length ends that counts what follows.
const LENGTH_END: usize = 13;
const REQUEST_DATA: usize = 19;
const RESPONSE_DATA: usize = 15;
/// Bytes of an IPv4 address, as a field says it.
const IP_BYTES: u8 = 4;
const UDP: u8 = 1;
/// No gateway, no target: it has none, or keeps the one that it has.
const NONE: Ipv4Addr = Ipv4Addr::BROADCAST;
const NONE_PORT: u16 = 0xFFFF;

const SEARCH_BYTES: usize = REQUEST_DATA + 11;
const SET_BYTES: usize = REQUEST_DATA + 39;
const FOUND_BYTES: usize = RESPONSE_DATA + 51;
const SET_DONE_BYTES: usize = RESPONSE_DATA + 6;
const REFUSED_BYTES: usize = RESPONSE_DATA + 9;

/// Bytes of the longest request and response.
pub const BYTES_MAX: usize = FOUND_BYTES;

/// The end code of a slave that does not take an address.
pub const REFUSED: u16 = 0xC05C;

/// A master, as it names itself in a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Asker {
    pub mac: Mac,
    pub ip: Ipv4Addr,
}

/// What a slave says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its Ethernet address.
    pub mac: Mac,
    /// Its address; the gateway is 0.0.0.0 if it has none.
    pub address: Address,
    /// The maker's number at the CLPA.
    pub vendor: u16,
    /// The device's model.
    pub model: u32,
    /// The device's version.
    pub equipment_version: u16,
    /// 0 if all is well.
    pub status: u16,
    /// The port for further commands.
    pub port: u16,
}

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Every slave says who it is.
    NodeSearch,
    /// The slave with that Ethernet address takes that address.
    AddressSet(Mac, Address),
}

/// A command, by whom, and its number, which the answer repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Request {
    pub serial: u16,
    pub asker: Asker,
    pub command: Command,
}

/// An answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// To a search, with the master that asked.
    Found(Asker, Found),
    /// The address was taken; the master's Ethernet address.
    Set(Mac),
    /// The command was refused: end code, command.
    Refused(u16, u16),
}

/// An answer and the number of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Response {
    pub serial: u16,
    pub answer: Answer,
}

/// The length, the first word and what the header says of the length.
fn check(bytes: &[u8], subheader: [u8; 2], header: usize) -> Result<Reader<'_>, Malformed> {
    if bytes.len() < header {
        return Err(Malformed::Length);
    }
    let from = Reader(bytes);
    if from.bytes(0) != subheader {
        return Err(Malformed::Subheader);
    }
    if usize::from(from.u16(11)) + LENGTH_END != bytes.len() {
        return Err(Malformed::Length);
    }
    Ok(from)
}

fn start(buffer: &mut [u8], subheader: [u8; 2], serial: u16, length: usize) -> Writer<'_> {
    buffer[..length].fill(0);
    let mut to = Writer(buffer);
    to.bytes(0, &subheader);
    to.u16(2, serial);
    to.bytes(6, &ROUTE);
    to.u16(11, (length - LENGTH_END) as u16);
    to
}

fn gateway(sent: Ipv4Addr) -> Ipv4Addr {
    if sent == NONE { Ipv4Addr::UNSPECIFIED } else { sent }
}

fn sent_gateway(gateway: Ipv4Addr) -> Ipv4Addr {
    if gateway.is_unspecified() { NONE } else { gateway }
}

fn read_address(from: Reader<'_>, at: usize) -> Address {
    Address { ip: from.ip(at), mask: from.ip(at + 4), gateway: gateway(from.ip(at + 8)) }
}

fn write_address(to: &mut Writer<'_>, at: usize, address: Address) {
    to.ip(at, address.ip);
    to.ip(at + 4, address.mask);
    to.ip(at + 8, sent_gateway(address.gateway));
}

impl Asker {
    const BYTES: usize = 11;

    fn read(from: Reader<'_>, at: usize) -> Result<Self, Malformed> {
        if from.0[at + 6] != IP_BYTES {
            return Err(Malformed::Value);
        }
        Ok(Self { mac: from.mac(at), ip: from.ip(at + 7) })
    }

    fn write(self, to: &mut Writer<'_>, at: usize) {
        to.mac(at, self.mac);
        to.bytes(at + 6, &[IP_BYTES]);
        to.ip(at + 7, self.ip);
    }
}

impl Request {
    /// Looks at a datagram.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        let from = check(bytes, REQUEST, REQUEST_DATA)?;
        let (command, length) = match (from.u16(15), from.u16(17)) {
            (NODE_SEARCH, 0) => (NODE_SEARCH, SEARCH_BYTES),
            (ADDRESS_SET, 0) => (ADDRESS_SET, SET_BYTES),
            _ => return Err(Malformed::Command),
        };
        if bytes.len() != length {
            return Err(Malformed::Length);
        }
        let asker = Asker::read(from, REQUEST_DATA)?;
        let command = if command == NODE_SEARCH {
            Command::NodeSearch
        } else {
            let slave = REQUEST_DATA + Asker::BYTES;
            if bytes[slave + 6] != IP_BYTES {
                return Err(Malformed::Value);
            }
            Command::AddressSet(from.mac(slave), read_address(from, slave + 7))
        };
        Ok(Self { serial: from.u16(2), asker, command })
    }

    /// Writes it; answers its length. `buffer` has [`BYTES_MAX`].
    pub fn write(&self, buffer: &mut [u8]) -> usize {
        let (code, length) = match self.command {
            Command::NodeSearch => (NODE_SEARCH, SEARCH_BYTES),
            Command::AddressSet(..) => (ADDRESS_SET, SET_BYTES),
        };
        let mut to = start(buffer, REQUEST, self.serial, length);
        to.u16(15, code);
        self.asker.write(&mut to, REQUEST_DATA);
        if let Command::AddressSet(mac, address) = self.command {
            let slave = REQUEST_DATA + Asker::BYTES;
            to.mac(slave, mac);
            to.bytes(slave + 6, &[IP_BYTES]);
            write_address(&mut to, slave + 7, address);
            // Behind it: the length of a host name, and the target, which is none.
            to.bytes(slave + 20, &[IP_BYTES]);
            to.ip(slave + 21, NONE);
            to.u16(slave + 25, NONE_PORT);
            to.bytes(slave + 27, &[UDP]);
        }
        length
    }
}

impl Found {
    fn read(from: Reader<'_>, at: usize) -> Result<Self, Malformed> {
        if from.0[at + 6] != IP_BYTES || from.0[at + 19] != 0 || from.0[at + 28] != IP_BYTES {
            return Err(Malformed::Value);
        }
        Ok(Self {
            mac: from.mac(at),
            address: read_address(from, at + 7),
            vendor: from.u16(at + 20),
            model: from.u32(at + 22),
            equipment_version: from.u16(at + 26),
            status: from.u16(at + 35),
            port: from.u16(at + 37),
        })
    }

    fn write(&self, to: &mut Writer<'_>, at: usize) {
        to.mac(at, self.mac);
        to.bytes(at + 6, &[IP_BYTES]);
        write_address(to, at + 7, self.address);
        to.u16(at + 20, self.vendor);
        to.u32(at + 22, self.model);
        to.u16(at + 26, self.equipment_version);
        to.bytes(at + 28, &[IP_BYTES]);
        to.ip(at + 29, NONE);
        to.u16(at + 33, NONE_PORT);
        to.u16(at + 35, self.status);
        to.u16(at + 37, self.port);
        to.bytes(at + 39, &[UDP]);
    }
}

impl Response {
    /// Looks at a datagram.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        let from = check(bytes, RESPONSE, RESPONSE_DATA)?;
        let answer = match (from.u16(13), bytes.len()) {
            (0, FOUND_BYTES) => {
                let asker = Asker::read(from, RESPONSE_DATA)?;
                Answer::Found(asker, Found::read(from, RESPONSE_DATA + Asker::BYTES)?)
            }
            (0, SET_DONE_BYTES) => Answer::Set(from.mac(RESPONSE_DATA)),
            (0, _) => return Err(Malformed::Length),
            (end_code, REFUSED_BYTES) => Answer::Refused(end_code, from.u16(RESPONSE_DATA + ROUTE.len())),
            _ => return Err(Malformed::Length),
        };
        Ok(Self { serial: from.u16(2), answer })
    }

    /// Writes it; answers its length. `buffer` has [`BYTES_MAX`].
    pub fn write(&self, buffer: &mut [u8]) -> usize {
        let length = match self.answer {
            Answer::Found(..) => FOUND_BYTES,
            Answer::Set(_) => SET_DONE_BYTES,
            Answer::Refused(..) => REFUSED_BYTES,
        };
        let mut to = start(buffer, RESPONSE, self.serial, length);
        match self.answer {
            Answer::Found(asker, found) => {
                asker.write(&mut to, RESPONSE_DATA);
                found.write(&mut to, RESPONSE_DATA + Asker::BYTES);
            }
            Answer::Set(master) => to.mac(RESPONSE_DATA, master),
            Answer::Refused(end_code, command) => {
                to.u16(13, end_code);
                to.bytes(RESPONSE_DATA, &ROUTE);
                to.u16(RESPONSE_DATA + ROUTE.len(), command);
            }
        }
        length
    }

    /// That the slave does not take an address.
    pub fn address_refused(serial: u16) -> Self {
        Self { serial, answer: Answer::Refused(REFUSED, ADDRESS_SET) }
    }
}
