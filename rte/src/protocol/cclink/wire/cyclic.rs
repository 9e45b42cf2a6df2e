// SPDX-License-Identifier: Apache-2.0
//! The cyclic datagrams: a master's request to all slaves of a group, a slave's response.
//!
//! ```text
//! request   0 subheader 5000 | 2 route | 7 length | 11 command, subcommand | 15 version | 19 offset of the cyclic block
//!          35 unit | 39 clock | 47 master 51 group 53 sequence 55 timeout 57 count 59 parameter 61 stations N 63 state
//!          67 slave addresses 4 N | RWw 64 N | RY 8 N
//! response  0 subheader D000 | 2 route | 7 length | 11 version | 13 end code | 15 offset of the cyclic block
//!          31 vendor 35 model 39 version 43 unit 45 error 47 management | 51 slave 55 group 57 sequence
//!          59 RWr 64 M | RX 8 M
//! ```

use std::net::Ipv4Addr;

use super::super::{GROUPS_MAX, STATIONS_PER_GROUP_MAX, bits_bytes, words_bytes};
use super::{Malformed, ROUTE, Reader, Writer};

const REQUEST: [u8; 2] = [0x50, 0x00];
const RESPONSE: [u8; 2] = [0xD0, 0x00];
const COMMAND: u16 = 0x0E70;
/// Where the length ends that counts what follows.
const LENGTH_END: usize = 9;
/// From where the offset of the cyclic block counts.
const OFFSET_FROM: usize = 11;
const REQUEST_OFFSET: u16 = 36;
const RESPONSE_OFFSET: u16 = 40;
/// Bytes of the cyclic block before the slaves' addresses, and of all before them.
const REQUEST_BLOCK: usize = 20;
const REQUEST_HEADER: usize = OFFSET_FROM + REQUEST_OFFSET as usize + REQUEST_BLOCK;
/// Bytes of the cyclic block before the data, and of all before the data.
const RESPONSE_BLOCK: usize = 8;
const RESPONSE_HEADER: usize = OFFSET_FROM + RESPONSE_OFFSET as usize + RESPONSE_BLOCK;
/// Bytes of a station in a request and in a response.
const REQUEST_STATION: usize = 4 + words_bytes(1) + bits_bytes(1);
const RESPONSE_STATION: usize = words_bytes(1) + bits_bytes(1);

/// Bytes of the longest request.
pub const REQUEST_BYTES_MAX: usize = REQUEST_HEADER + REQUEST_STATION * STATIONS_PER_GROUP_MAX;
/// Bytes of the longest response.
pub const RESPONSE_BYTES_MAX: usize = RESPONSE_HEADER + RESPONSE_STATION * STATIONS_PER_GROUP_MAX;

/// The address that stands for a slave's second and further stations.
pub const FURTHER_STATION: Ipv4Addr = Ipv4Addr::BROADCAST;

/// A master's state, as it tells it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MasterUnit(pub u16);

impl MasterUnit {
    /// Its program runs.
    pub const RUN: Self = Self(1);
    /// It is stopped.
    pub const STOP: Self = Self(0);
    /// A user stopped it (version 2).
    pub const STOPPED_BY_USER: Self = Self(2);

    /// Whether its program runs.
    pub fn runs(self) -> bool {
        self.0 & 1 != 0
    }
}

/// What a response says of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndCode(pub u16);

impl EndCode {
    /// All is well.
    pub const GOOD: Self = Self(0);
    /// The slave has another master.
    pub const MASTER_DUPLICATION: Self = Self(0xCFE0);
    /// The slave has another number of stations.
    pub const WRONG_STATIONS: Self = Self(0xCFE1);
    /// The slave has an error and wants to be left alone.
    pub const SLAVE_ERROR: Self = Self(0xCFF0);
    /// The slave's application wants it to be left alone.
    pub const DISCONNECT: Self = Self(0xCFFF);
}

/// The fields of a request that are not data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestFields {
    /// Protocol version of the master: 1 or 2, later ones are taken for 2.
    pub version: u16,
    /// The master's state.
    pub unit: MasterUnit,
    /// Milliseconds since 1970, 0 without a clock.
    pub clock_ms: u64,
    /// The master's address, which the datagram comes from.
    pub master: Ipv4Addr,
    /// 1 to 64.
    pub group: u8,
    /// 0 in the first request, then 1 to 65535 and from 1 again.
    pub sequence: u16,
    /// How long the master waits for responses; 0 stands for 500.
    pub timeout_ms: u16,
    /// After how many missing responses a slave is dropped; 0 stands for 3.
    pub timeout_count: u16,
    /// Another one after each change of the master's configuration.
    pub parameter: u16,
    /// Bit n: the cyclic transmission of the slave whose first station is n.
    pub state: u16,
}

impl RequestFields {
    /// How long a response may be missing, in milliseconds.
    pub fn watchdog_ms(&self) -> u64 {
        let or = |value: u16, default: u64| if value == 0 { default } else { u64::from(value) };
        or(self.timeout_ms, 500) * or(self.timeout_count, 3)
    }

    /// Writes a request; answers its length. `buffer` is long enough for as many stations as `slaves` has, which are
    /// as many as `rww` and `ry` have.
    pub fn write(&self, slaves: &[Ipv4Addr], rww: &[u8], ry: &[u8], buffer: &mut [u8]) -> usize {
        let stations = slaves.len();
        let length = REQUEST_HEADER + REQUEST_STATION * stations;
        buffer[..REQUEST_HEADER].fill(0);
        let mut to = Writer(buffer);
        to.bytes(0, &REQUEST);
        to.bytes(2, &ROUTE);
        to.u16(7, (length - LENGTH_END) as u16);
        to.u16(11, COMMAND);
        to.u16(15, self.version);
        to.u16(19, REQUEST_OFFSET);
        to.u16(35, self.unit.0);
        to.bytes(39, &self.clock_ms.to_le_bytes());
        to.ip(47, self.master);
        to.bytes(51, &[self.group]);
        to.u16(53, self.sequence);
        to.u16(55, self.timeout_ms);
        to.u16(57, self.timeout_count);
        to.u16(59, self.parameter);
        to.u16(61, stations as u16);
        to.u16(63, self.state);
        for (n, slave) in slaves.iter().enumerate() {
            to.ip(REQUEST_HEADER + 4 * n, *slave);
        }
        let data = REQUEST_HEADER + 4 * stations;
        to.bytes(data, &rww[..words_bytes(stations)]);
        to.bytes(data + words_bytes(stations), &ry[..bits_bytes(stations)]);
        length
    }
}

/// A request.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    bytes: &'a [u8],
    /// Where the slaves' addresses begin.
    slaves: usize,
    stations: usize,
}

impl<'a> Request<'a> {
    /// Looks at a datagram.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Malformed> {
        if bytes.len() < REQUEST_HEADER + REQUEST_STATION {
            return Err(Malformed::Length);
        }
        let from = Reader(bytes);
        if from.bytes(0) != REQUEST {
            return Err(Malformed::Subheader);
        }
        if from.u16(11) != COMMAND || from.u16(13) != 0 {
            return Err(Malformed::Command);
        }
        let block = OFFSET_FROM + usize::from(from.u16(19));
        if block < REQUEST_HEADER - REQUEST_BLOCK {
            return Err(Malformed::Value);
        }
        if usize::from(from.u16(7)) + LENGTH_END != bytes.len() || bytes.len() < block + REQUEST_BLOCK {
            return Err(Malformed::Length);
        }
        let stations = usize::from(from.u16(block + 14));
        if !(1..=STATIONS_PER_GROUP_MAX).contains(&stations) || !(1..=GROUPS_MAX).contains(&bytes[block + 4]) {
            return Err(Malformed::Value);
        }
        if bytes.len() != block + REQUEST_BLOCK + REQUEST_STATION * stations {
            return Err(Malformed::Length);
        }
        Ok(Self { bytes, slaves: block + REQUEST_BLOCK, stations })
    }

    /// What is not data.
    pub fn fields(&self) -> RequestFields {
        let from = Reader(self.bytes);
        let block = self.slaves - REQUEST_BLOCK;
        RequestFields {
            version: from.u16(15),
            unit: MasterUnit(from.u16(35)),
            clock_ms: u64::from_le_bytes(from.bytes(39)),
            master: from.ip(block),
            group: self.bytes[block + 4],
            sequence: from.u16(block + 6),
            timeout_ms: from.u16(block + 8),
            timeout_count: from.u16(block + 10),
            parameter: from.u16(block + 12),
            state: from.u16(block + 16),
        }
    }

    /// Stations of the group.
    pub fn stations(&self) -> usize {
        self.stations
    }

    /// The address of the slave whose first station it is; [`FURTHER_STATION`] for its further ones; 0.0.0.0 if it is
    /// stopped. None behind the last station.
    pub fn slave(&self, station: usize) -> Option<Ipv4Addr> {
        (station < self.stations).then(|| Reader(self.bytes).ip(self.slaves + 4 * station))
    }

    /// The first station of a slave, and how many it has.
    pub fn find(&self, slave: Ipv4Addr) -> Option<(usize, usize)> {
        let first = (0..self.stations).find(|station| self.slave(*station) == Some(slave))?;
        Some((first, self.occupied(first)))
    }

    /// How many stations the slave has whose first one it is.
    pub fn occupied(&self, first: usize) -> usize {
        1 + (first + 1..self.stations).take_while(|station| self.slave(*station) == Some(FURTHER_STATION)).count()
    }

    /// The words of all stations.
    pub fn rww(&self) -> &'a [u8] {
        let at = self.slaves + 4 * self.stations;
        &self.bytes[at..at + words_bytes(self.stations)]
    }

    /// The bits of all stations.
    pub fn ry(&self) -> &'a [u8] {
        let at = self.slaves + 4 * self.stations + words_bytes(self.stations);
        &self.bytes[at..]
    }
}

/// The fields of a response that are not data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseFields {
    /// The highest protocol version that the slave has: 1 or 2.
    pub version: u16,
    /// What the slave says of the request.
    pub end_code: EndCode,
    /// The maker's number at the CLPA.
    pub vendor: u16,
    /// The device's model, numbered by its maker.
    pub model: u32,
    /// The device's version.
    pub equipment_version: u16,
    /// Bit 0: its application runs.
    pub unit: u16,
    /// 0, or an error of the maker's list, not 0xC000 to 0xCFFF.
    pub error: u16,
    /// What the maker likes.
    pub management: u32,
    /// The slave's address.
    pub slave: Ipv4Addr,
    /// As in the request.
    pub group: u8,
    /// As in the request.
    pub sequence: u16,
}

impl ResponseFields {
    /// Writes what stands before the data of a slave with so many stations; answers the length of the whole, and leaves
    /// the data as it is. `buffer` is long enough.
    pub fn write(&self, stations: usize, buffer: &mut [u8]) -> usize {
        let length = RESPONSE_HEADER + RESPONSE_STATION * stations;
        buffer[..RESPONSE_HEADER].fill(0);
        let mut to = Writer(buffer);
        to.bytes(0, &RESPONSE);
        to.bytes(2, &ROUTE);
        to.u16(7, (length - LENGTH_END) as u16);
        to.u16(11, self.version);
        to.u16(13, self.end_code.0);
        to.u16(15, RESPONSE_OFFSET);
        to.u16(31, self.vendor);
        to.u32(35, self.model);
        to.u16(39, self.equipment_version);
        to.u16(43, self.unit);
        to.u16(45, self.error);
        to.u32(47, self.management);
        to.ip(51, self.slave);
        to.bytes(55, &[self.group]);
        to.u16(57, self.sequence);
        length
    }
}

/// The words and the bits in the buffer of a response.
pub fn response_data(stations: usize, buffer: &mut [u8]) -> (&mut [u8], &mut [u8]) {
    buffer[RESPONSE_HEADER..RESPONSE_HEADER + RESPONSE_STATION * stations].split_at_mut(words_bytes(stations))
}

/// A response.
#[derive(Clone, Copy, Debug)]
pub struct Response<'a> {
    bytes: &'a [u8],
    /// Where the data begin.
    data: usize,
    stations: usize,
}

impl<'a> Response<'a> {
    /// Looks at a datagram.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Malformed> {
        if bytes.len() < RESPONSE_HEADER + RESPONSE_STATION {
            return Err(Malformed::Length);
        }
        let from = Reader(bytes);
        if from.bytes(0) != RESPONSE {
            return Err(Malformed::Subheader);
        }
        let data = OFFSET_FROM + usize::from(from.u16(15)) + RESPONSE_BLOCK;
        if data < RESPONSE_HEADER {
            return Err(Malformed::Value);
        }
        let rest = bytes.len().checked_sub(data).ok_or(Malformed::Length)?;
        let stations = rest / RESPONSE_STATION;
        let is_whole = rest % RESPONSE_STATION == 0 && (1..=STATIONS_PER_GROUP_MAX).contains(&stations);
        if !is_whole || usize::from(from.u16(7)) + LENGTH_END != bytes.len() {
            return Err(Malformed::Length);
        }
        if !(1..=GROUPS_MAX).contains(&bytes[data - 4]) {
            return Err(Malformed::Value);
        }
        Ok(Self { bytes, data, stations })
    }

    /// What is not data.
    pub fn fields(&self) -> ResponseFields {
        let from = Reader(self.bytes);
        ResponseFields {
            version: from.u16(11),
            end_code: EndCode(from.u16(13)),
            vendor: from.u16(31),
            model: from.u32(35),
            equipment_version: from.u16(39),
            unit: from.u16(43),
            error: from.u16(45),
            management: from.u32(47),
            slave: from.ip(self.data - 8),
            group: self.bytes[self.data - 4],
            sequence: from.u16(self.data - 2),
        }
    }

    /// Stations of the slave.
    pub fn stations(&self) -> usize {
        self.stations
    }

    /// Its words.
    pub fn rwr(&self) -> &'a [u8] {
        &self.bytes[self.data..self.data + words_bytes(self.stations)]
    }

    /// Its bits.
    pub fn rx(&self) -> &'a [u8] {
        &self.bytes[self.data + words_bytes(self.stations)..]
    }
}
