// SPDX-License-Identifier: Apache-2.0
//! A protocol's door to the application, and the application's door to a protocol.

use super::memory::{Memory, Slots};
use crate::protocol::Nanos;

/// Bits of the state that stands with an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State;

impl State {
    /// Inputs: measured and good. Outputs: a PLC sends them; without it they are the safe values.
    pub const VALID: u32 = 1;
    /// Outputs: the PLC is in its state "run".
    pub const RUN: u32 = 2;
}

/// How outputs are to be when no PLC sends them: a value, or as they were.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Safe {
    /// An image with the safe values.
    pub values: Vec<u8>,
    /// A mask: bytes that are 0 here keep what the PLC sent last.
    pub replaced: Vec<bool>,
}

impl Safe {
    /// Puts the safe values into an image of outputs.
    pub fn apply(&self, image: &mut [u8]) {
        for ((byte, safe), replaced) in image.iter_mut().zip(&self.values).zip(&self.replaced) {
            if *replaced {
                *byte = *safe;
            }
        }
    }
}

/// A protocol's side. It never waits.
#[derive(Debug)]
pub struct Endpoint {
    inputs: Slots,
    outputs: Slots,
    image: Vec<u8>,
    safe: Safe,
    stale_after: Nanos,
}

impl Endpoint {
    /// The side of protocol number `endpoint`. Inputs older than `stale_after` are not good: the application is gone.
    /// Publishes the safe values; outputs that are held are what was published last, by whichever process.
    pub fn new(memory: &Memory, endpoint: usize, safe: Safe, stale_after: Nanos, now: Nanos) -> Self {
        let outputs = memory.outputs(endpoint);
        let image = outputs.published().unwrap_or(&safe.values).to_vec();
        assert_eq!(image.len(), safe.values.len());
        let mut this = Self { inputs: memory.inputs(endpoint), outputs, image, safe, stale_after };
        this.outputs_lost(now);
        this
    }

    /// The newest inputs, and whether they are good.
    pub fn inputs(&mut self, now: Nanos) -> (&[u8], bool) {
        let stale_after = self.stale_after;
        let (stamp, image, _) = self.inputs.newest();
        let good = stamp.state & State::VALID != 0 && now.saturating_sub(stamp.at) <= stale_after;
        (image, good)
    }

    /// Hands outputs on to the application. `write` finds what was written before and changes this protocol's points.
    pub fn outputs(&mut self, now: Nanos, run: bool, write: impl FnOnce(&mut [u8])) {
        write(&mut self.image);
        self.outputs.publish(now, State::VALID | if run { State::RUN } else { 0 }, &self.image);
    }

    /// The outputs as the application has them.
    pub fn sent(&self) -> &[u8] {
        &self.image
    }

    /// Tells the application that nobody sends outputs any more, and gives it the safe values.
    pub fn outputs_lost(&mut self, now: Nanos) {
        self.safe.apply(&mut self.image);
        self.outputs.publish(now, 0, &self.image);
    }
}

/// The application's side of one protocol. It never waits.
#[derive(Debug)]
pub struct Door {
    inputs: Slots,
    outputs: Slots,
}

impl Door {
    /// The side towards protocol number `endpoint`.
    pub fn new(memory: &Memory, endpoint: usize) -> Self {
        Self { inputs: memory.inputs(endpoint), outputs: memory.outputs(endpoint) }
    }

    /// Hands inputs to the protocol; `good` is what the PLC is told of them.
    pub fn publish(&mut self, now: Nanos, good: bool, image: &[u8]) {
        self.inputs.publish(now, if good { State::VALID } else { 0 }, image);
    }

    /// The newest outputs: bits of [`State`], when they came, and the image.
    pub fn outputs(&mut self) -> (u32, Nanos, &[u8]) {
        let (stamp, image, _) = self.outputs.newest();
        (stamp.state, stamp.at, image)
    }
}

#[cfg(test)]
mod tests {
    use super::super::memory::Plan;
    use super::*;

    #[test]
    fn what_is_held_outlives_the_protocols_process() {
        let memory = Memory::anonymous(Plan { inputs: 1, outputs: 2, endpoints: 1 }).unwrap();
        let safe = Safe { values: vec![7, 0], replaced: vec![true, false] };
        let mut door = Door::new(&memory, 0);
        let mut first = Endpoint::new(&memory, 0, safe.clone(), 10, 1);
        for taken in [false, true] {
            first.outputs(1, true, |image| image.copy_from_slice(&[1, 2]));
            if taken {
                assert_eq!(door.outputs().2, [1, 2]);
            }
            let _second = Endpoint::new(&memory, 0, safe.clone(), 10, 2);
            assert_eq!(door.outputs(), (0, 2, &[7, 2][..]));
        }
    }

    #[test]
    fn outputs_go_to_their_safe_values_when_the_plc_is_lost() {
        let memory = Memory::anonymous(Plan { inputs: 1, outputs: 2, endpoints: 1 }).unwrap();
        let safe = Safe { values: vec![7, 7], replaced: vec![true, false] };
        let mut endpoint = Endpoint::new(&memory, 0, safe, 100, 1);
        let mut door = Door::new(&memory, 0);
        assert_eq!(door.outputs(), (0, 1, &[7, 7][..]));
        endpoint.outputs(5, true, |image| image.copy_from_slice(&[1, 2]));
        assert_eq!(door.outputs(), (State::VALID | State::RUN, 5, &[1, 2][..]));
        endpoint.outputs_lost(9);
        assert_eq!(door.outputs(), (0, 9, &[7, 2][..]));
    }

    #[test]
    fn inputs_are_good_until_they_are_stale() {
        let memory = Memory::anonymous(Plan { inputs: 1, outputs: 0, endpoints: 1 }).unwrap();
        let mut endpoint = Endpoint::new(&memory, 0, Safe::default(), 100, 1);
        assert_eq!(endpoint.inputs(2), (&[0][..], false));
        Door::new(&memory, 0).publish(10, true, &[9]);
        assert_eq!(endpoint.inputs(110), (&[9][..], true));
        assert_eq!(endpoint.inputs(111), (&[9][..], false));
    }
}
