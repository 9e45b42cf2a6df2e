// SPDX-License-Identifier: Apache-2.0
//! Which data point has which address: the four tables of the Modbus data model. Addresses are those of the protocol,
//! from 0.

use crate::application::image::{Point, Type};

/// Addresses that a table may have.
pub const ADDRESSES: usize = 65_536;

/// Why a point cannot be placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unplaceable {
    /// Another one is at this address.
    Taken(usize),
    /// It would end behind the last address, 65535.
    Beyond,
    /// Only a `bool` has an address in a table of bits.
    NotABit,
}

/// Discrete inputs or coils: every address is a `bool`.
#[derive(Clone, Debug, Default)]
pub struct Bits(Vec<Option<usize>>);

impl Bits {
    /// Gives a point an address, or the next one behind all others.
    ///
    /// # Errors
    /// If that address is not free, or the point is not a `bool`.
    pub fn place(&mut self, point: Point, address: Option<usize>) -> Result<usize, Unplaceable> {
        if point.kind != Type::Bool {
            return Err(Unplaceable::NotABit);
        }
        place(&mut self.0, address, [point.offset])
    }

    /// Packs `count` bits from an image into `to`, the first being the lowest of the first byte. Addresses that no point
    /// has are 0.
    pub fn read(&self, image: &[u8], from: usize, count: usize, to: &mut [u8]) -> Option<()> {
        to.fill(0);
        for (n, at) in self.0.get(from..from + count)?.iter().enumerate() {
            to[n / 8] |= u8::from(at.is_some_and(|at| image[at] != 0)) << (n % 8);
        }
        Some(())
    }

    /// Whether every one of these addresses is a point's.
    pub fn has(&self, from: usize, count: usize) -> bool {
        self.0.get(from..from + count).is_some_and(|bits| bits.iter().all(Option::is_some))
    }

    /// Writes bits into an image; addresses that no point has are left out.
    pub fn write(&self, image: &mut [u8], from: usize, bits: impl Iterator<Item = bool>) {
        for (at, bit) in self.0.iter().skip(from).zip(bits) {
            if let Some(at) = at {
                image[*at] = u8::from(bit);
            }
        }
    }
}

/// A register: a point, or one half of one with 32 bits.
#[derive(Clone, Copy, Debug)]
struct Cell {
    point: Point,
    is_high: bool,
}

/// Input registers or holding registers. A point of 8 or 16 bits has one register, with its sign; one of 32 bits has two;
/// a `bool` has one, in which all but 0 is true.
#[derive(Clone, Debug, Default)]
pub struct Registers {
    cells: Vec<Option<Cell>>,
    /// The first of two registers has the lower half.
    pub low_word_first: bool,
}

impl Registers {
    /// Gives a point an address, or the next one behind all others.
    ///
    /// # Errors
    /// If that address is not free.
    pub fn place(&mut self, point: Point, address: Option<usize>) -> Result<usize, Unplaceable> {
        let cell = |is_high| Cell { point, is_high };
        if point.kind.bytes() < 4 {
            place(&mut self.cells, address, [cell(false)])
        } else {
            place(&mut self.cells, address, [cell(!self.low_word_first), cell(self.low_word_first)])
        }
    }

    /// Puts `count` registers from an image into `to`, the high byte first. Addresses that no point has are 0.
    pub fn read(&self, image: &[u8], from: usize, count: usize, to: &mut [u8]) -> Option<()> {
        let cells = self.cells.get(from..from + count)?;
        for (cell, to) in cells.iter().zip(to.chunks_exact_mut(2)) {
            to.copy_from_slice(&cell.map_or(0, |cell| cell.read(image)).to_be_bytes());
        }
        Some(())
    }

    /// Whether every one of these addresses is a point's.
    pub fn has(&self, from: usize, count: usize) -> bool {
        self.cells.get(from..from + count).is_some_and(|cells| cells.iter().all(Option::is_some))
    }

    /// Whether the points can hold these values.
    pub fn can_hold(&self, from: usize, values: impl Iterator<Item = u16>) -> bool {
        self.cells.iter().skip(from).zip(values).all(|(cell, value)| {
            cell.is_none_or(|cell| match cell.point.kind {
                Type::U8 => u8::try_from(value).is_ok(),
                Type::I8 => i8::try_from(value.cast_signed()).is_ok(),
                _ => true,
            })
        })
    }

    /// Writes registers into an image; addresses that no point has are left out.
    pub fn write(&self, image: &mut [u8], from: usize, values: impl Iterator<Item = u16>) {
        for (cell, value) in self.cells.iter().skip(from).zip(values) {
            if let Some(cell) = cell {
                cell.write(image, value);
            }
        }
    }
}

impl Cell {
    fn read(self, image: &[u8]) -> u16 {
        let Point { kind, offset } = self.point;
        match kind {
            Type::Bool => u16::from(image[offset] != 0),
            Type::U8 => u16::from(image[offset]),
            Type::I8 => i16::from(image[offset].cast_signed()).cast_unsigned(),
            Type::U16 | Type::I16 => u16::from_ne_bytes([image[offset], image[offset + 1]]),
            Type::U32 | Type::I32 | Type::F32 => {
                let at = offset + self.half();
                u16::from_ne_bytes([image[at], image[at + 1]])
            }
        }
    }

    fn write(self, image: &mut [u8], value: u16) {
        let Point { kind, offset } = self.point;
        match kind {
            Type::Bool => image[offset] = u8::from(value != 0),
            Type::U8 | Type::I8 => image[offset] = value as u8,
            Type::U16 | Type::I16 => image[offset..offset + 2].copy_from_slice(&value.to_ne_bytes()),
            Type::U32 | Type::I32 | Type::F32 => {
                let at = offset + self.half();
                image[at..at + 2].copy_from_slice(&value.to_ne_bytes());
            }
        }
    }

    /// Where its half of four bytes in the machine's order begins.
    fn half(self) -> usize {
        if self.is_high == cfg!(target_endian = "little") { 2 } else { 0 }
    }
}

fn place<T: Copy, const N: usize>(
    table: &mut Vec<Option<T>>,
    address: Option<usize>,
    cells: [T; N],
) -> Result<usize, Unplaceable> {
    let address = address.unwrap_or(table.len());
    if address.saturating_add(N) > ADDRESSES {
        return Err(Unplaceable::Beyond);
    }
    if table.len() < address + N {
        table.resize(address + N, None);
    }
    if let Some(taken) = (address..address + N).find(|at| table[*at].is_some()) {
        return Err(Unplaceable::Taken(taken));
    }
    for (to, cell) in table[address..].iter_mut().zip(cells) {
        *to = Some(cell);
    }
    Ok(address)
}

/// The four tables.
#[derive(Clone, Debug, Default)]
pub struct Map {
    /// Inputs that are a `bool`.
    pub discrete_inputs: Bits,
    /// Inputs.
    pub input_registers: Registers,
    /// Outputs that are a `bool`.
    pub coils: Bits,
    /// Outputs.
    pub holding_registers: Registers,
}
