// SPDX-License-Identifier: Apache-2.0
//! How data points of an image lie in a protocol's data.

use super::image::{Point, Type};

/// The order of a number's bytes on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The highest byte first: PROFINET, Modbus.
    Big,
    /// The lowest byte first: CC-Link.
    Little,
}

#[derive(Clone, Copy, Debug)]
struct Field {
    point: Point,
    /// In bits: bit `n % 8`, the lowest being 0, of byte `n / 8`.
    at: usize,
}

/// Which data points lie where in a protocol's data. Packing and unpacking need no allocation and look at nothing but
/// their arguments, so that both may be done at the cycle.
#[derive(Clone, Debug)]
pub struct Layout {
    order: Order,
    fields: Vec<Field>,
    bits: usize,
}

impl Layout {
    /// An empty one.
    pub fn new(order: Order) -> Self {
        Self { order, fields: Vec::new(), bits: 0 }
    }

    /// Appends a data point: a `bool` at the next bit, all others at the next byte.
    pub fn push(&mut self, point: Point) {
        let at = if point.kind == Type::Bool { self.bits } else { self.bits.next_multiple_of(8) };
        self.push_at(point, at);
    }

    /// Puts a data point at that bit, which is a multiple of 8 unless it is a `bool`.
    pub fn push_at(&mut self, point: Point, at: usize) {
        debug_assert!(point.kind == Type::Bool || at.is_multiple_of(8));
        let bits = if point.kind == Type::Bool { 1 } else { 8 * point.kind.bytes() };
        self.fields.push(Field { point, at });
        self.bits = self.bits.max(at + bits);
    }

    /// Bytes on the wire that are needed.
    pub fn bytes(&self) -> usize {
        self.bits.div_ceil(8)
    }

    /// From the image into the protocol's data, which has at least [`Self::bytes`]. Bits of no data point stay.
    pub fn pack(&self, image: &[u8], wire: &mut [u8]) {
        for Field { point: Point { kind, offset }, at } in self.fields.iter().copied() {
            let byte = at / 8;
            if kind == Type::Bool {
                let mask = 1 << (at % 8);
                wire[byte] = if image[offset] == 0 { wire[byte] & !mask } else { wire[byte] | mask };
            } else {
                self.copy(&image[offset..offset + kind.bytes()], &mut wire[byte..byte + kind.bytes()]);
            }
        }
    }

    /// From the protocol's data, which has at least [`Self::bytes`], into the image. Data points of others stay.
    pub fn unpack(&self, wire: &[u8], image: &mut [u8]) {
        for Field { point: Point { kind, offset }, at } in self.fields.iter().copied() {
            let byte = at / 8;
            if kind == Type::Bool {
                image[offset] = wire[byte] >> (at % 8) & 1;
            } else {
                self.copy(&wire[byte..byte + kind.bytes()], &mut image[offset..offset + kind.bytes()]);
            }
        }
    }

    /// From the machine's order to the wire's, or back: the same either way.
    fn copy(&self, from: &[u8], to: &mut [u8]) {
        to.copy_from_slice(from);
        if (self.order == Order::Big) == cfg!(target_endian = "little") {
            to.reverse();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::application::image::Image;

    fn image() -> Image {
        let mut image = Image::default();
        for (name, kind) in [("open", Type::Bool), ("speed", Type::U16), ("warm", Type::Bool), ("way", Type::I32)] {
            assert!(image.add(name, kind));
        }
        image
    }

    #[test]
    fn bits_lie_side_by_side_and_numbers_in_the_order_of_the_protocol() {
        let image = image();
        let mut bytes = vec![0; image.bytes()];
        bytes[image.get("warm").unwrap().offset] = 1;
        let speed = image.get("speed").unwrap().offset;
        bytes[speed..speed + 2].copy_from_slice(&0x1234_u16.to_ne_bytes());
        for (order, wire) in [(Order::Big, [0b10, 0x12, 0x34]), (Order::Little, [0b10, 0x34, 0x12])] {
            let mut layout = Layout::new(order);
            ["open", "warm", "speed"].iter().for_each(|name| layout.push(image.get(name).unwrap()));
            let mut packed = vec![0; layout.bytes()];
            layout.pack(&bytes, &mut packed);
            assert_eq!(packed, wire);
            let mut back = vec![0; image.bytes()];
            layout.unpack(&packed, &mut back);
            assert_eq!(back, bytes);
        }
    }
}
