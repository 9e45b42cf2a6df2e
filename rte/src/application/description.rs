// SPDX-License-Identifier: Apache-2.0
//! What an application must know of a device to work with it: it stands in the shared memory, behind the buffers, so
//! that a program needs nothing but that file.
//!
//! Each protocol, input and output has a record of [`RECORD`] bytes: its name, filled up with zeros, and six words in
//! the machine's own order: type, offset, the protocol that an output belongs to, whether it is held (and not replaced)
//! when that is lost, its safe value (the first bytes of the word), and zero.

use std::collections::BTreeMap;

use super::endpoint::Safe;
use super::image::{Image, Point, Type};
use super::memory::Plan;
use crate::protocol::Nanos;

/// Bytes of a record.
pub const RECORD: usize = 64;
const NAME: usize = 40;
/// The protocol of an output that none has.
pub const NOBODY: u32 = u32::MAX;

/// The data points of a device, and which protocols there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// The protocols by number: "profinet".
    pub endpoints: Vec<String>,
    /// From the sensors to the PLCs.
    pub inputs: Image,
    /// From the PLCs to the actuators.
    pub outputs: Image,
    /// What outputs are when no PLC sends them.
    pub safe: Safe,
    /// Number of the protocol that an output belongs to, by the output's name. An output that nobody has keeps its
    /// safe value.
    pub owners: BTreeMap<String, usize>,
    /// Outputs that are older are not believed any more: their protocol hangs, or the device was killed. A multiple of
    /// a millisecond.
    pub outputs_stale_after: Nanos,
}

/// The numbers of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counts {
    pub endpoints: usize,
    pub inputs: usize,
    pub outputs: usize,
}

impl Description {
    /// What lies where in the memory.
    pub fn plan(&self) -> Plan {
        Plan { inputs: self.inputs.bytes(), outputs: self.outputs.bytes(), endpoints: self.endpoints.len() }
    }

    pub(super) fn counts(&self) -> Counts {
        Counts {
            endpoints: self.endpoints.len(),
            inputs: self.inputs.points().count(),
            outputs: self.outputs.points().count(),
        }
    }

    /// The records.
    pub(super) fn encode(&self) -> Vec<u8> {
        let endpoints = self.endpoints.iter().map(|name| record(name, [0; 6]));
        let inputs =
            self.inputs.points().map(|(name, point)| record(name, [number(point.kind), at(point), 0, 0, 0, 0]));
        let outputs = self.outputs.points().map(|(name, point)| {
            let owner = self.owners.get(name).map_or(NOBODY, |owner| *owner as u32);
            let bytes = point.offset..point.offset + point.kind.bytes();
            let is_held = u32::from(!self.safe.replaced[bytes.start]);
            let mut safe = [0; 4];
            safe[..bytes.len()].copy_from_slice(&self.safe.values[bytes]);
            record(name, [number(point.kind), at(point), owner, is_held, u32::from_ne_bytes(safe), 0])
        });
        endpoints.chain(inputs).chain(outputs).flatten().collect()
    }

    /// What the records say, if they are right. They may come from another program.
    pub(super) fn decode(bytes: &[u8], counts: Counts, plan: Plan, outputs_stale_after: Nanos) -> Option<Self> {
        let mut this = Self { outputs_stale_after, ..Self::default() };
        this.safe = Safe { values: vec![0; plan.outputs], replaced: vec![false; plan.outputs] };
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for (n, record) in bytes.chunks_exact(RECORD).enumerate() {
            let (name, [kind, at, owner, is_held, safe, _]) = parse(record)?;
            if n < counts.endpoints {
                this.endpoints.push(name);
                continue;
            }
            let kind = *TYPES.get(kind as usize)?;
            let point = Point { kind, offset: at as usize };
            if n < counts.endpoints + counts.inputs {
                inputs.push((name, point));
                continue;
            }
            let slice = point.offset..point.offset.checked_add(kind.bytes())?;
            this.safe.values.get_mut(slice.clone())?.copy_from_slice(&safe.to_ne_bytes()[..kind.bytes()]);
            this.safe.replaced.get_mut(slice)?.fill(is_held == 0);
            if owner != NOBODY {
                this.owners.insert(name.clone(), Some(owner as usize).filter(|n| *n < counts.endpoints)?);
            }
            outputs.push((name, point));
        }
        this.inputs = image(inputs)?;
        this.outputs = image(outputs)?;
        (this.counts() == counts && this.plan() == plan).then_some(this)
    }
}

/// The types by number: `enum weir_io_type` of `rte/c/weir_io.h`.
const TYPES: [Type; 8] = [Type::Bool, Type::U8, Type::I8, Type::U16, Type::I16, Type::U32, Type::I32, Type::F32];

fn number(kind: Type) -> u32 {
    TYPES.iter().position(|other| *other == kind).expect("all are there") as u32
}

fn at(point: Point) -> u32 {
    point.offset as u32
}

fn record(name: &str, words: [u32; 6]) -> [u8; RECORD] {
    let mut record = [0; RECORD];
    let length = name.len().min(NAME - 1);
    record[..length].copy_from_slice(&name.as_bytes()[..length]);
    for (to, word) in record[NAME..].chunks_exact_mut(4).zip(words) {
        to.copy_from_slice(&word.to_ne_bytes());
    }
    record
}

fn parse(record: &[u8]) -> Option<(String, [u32; 6])> {
    let (name, words) = record.split_at(NAME);
    let length = name.iter().position(|byte| *byte == 0)?;
    let name = std::str::from_utf8(&name[..length]).ok()?.to_owned();
    let mut of = [0; 6];
    for (word, bytes) in of.iter_mut().zip(words.chunks_exact(4)) {
        *word = u32::from_ne_bytes(bytes.try_into().ok()?);
    }
    Some((name, of))
}

/// An image with these points, if that is how an image lays them out.
fn image(mut points: Vec<(String, Point)>) -> Option<Image> {
    points.sort_by_key(|(_, point)| point.offset);
    let mut image = Image::default();
    for (name, point) in points {
        if !image.add(&name, point.kind) || image.get(&name) != Some(point) {
            return None;
        }
    }
    Some(image)
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn example() -> Description {
        let mut this = Description { endpoints: vec!["profinet".into(), "modbus".into()], ..Description::default() };
        for (name, kind) in [("open", Type::Bool), ("pressure", Type::F32), ("count", Type::U16)] {
            this.inputs.add(name, kind);
        }
        for (name, kind) in [("speed", Type::I16), ("lamp", Type::Bool)] {
            this.outputs.add(name, kind);
        }
        this.safe = Safe { values: vec![1, 2, 0], replaced: vec![true, true, false] };
        this.owners.insert("speed".into(), 1);
        this.outputs_stale_after = 5_000_000;
        this
    }

    #[test]
    fn what_is_written_is_read() {
        let this = example();
        let read = Description::decode(&this.encode(), this.counts(), this.plan(), this.outputs_stale_after);
        assert_eq!(read, Some(this));
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        let this = example();
        let bytes = this.encode();
        let decode = |bytes: &[u8]| Description::decode(bytes, this.counts(), this.plan(), 0);
        assert!(decode(&bytes).is_some());
        assert!(decode(&bytes[RECORD..]).is_none(), "a record is missing");
        let [kind, offset, owner, name] = [2 * RECORD + NAME, 2 * RECORD + NAME + 4, 6 * RECORD + NAME + 8, 39];
        for (byte, value) in [(kind, 9), (offset, 1), (owner, 7), (name, b'x')] {
            let mut wrong = bytes.clone();
            wrong[byte] = value;
            if byte == name {
                wrong[..name].fill(b'x');
            }
            assert!(decode(&wrong).is_none(), "byte {byte}");
        }
    }
}
