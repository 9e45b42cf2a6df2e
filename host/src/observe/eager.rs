// SPDX-License-Identifier: Apache-2.0
//! Interrupts of the library's eager half, by what they did: cycles from the interrupt's first to its last.

use crate::soc::Drop;

/// Cycles by path.
#[derive(Debug, Default)]
pub struct Eager {
    under_way: UnderWay,
    queued: Vec<u64>,
    short_circuit: Vec<u64>,
    limited: Vec<u64>,
    recycled: Vec<u64>,
    several: Vec<u64>,
}

/// What the interrupt under way has done so far.
#[derive(Debug, Default)]
struct UnderWay {
    frames: u64,
    queued: bool,
    recycled: bool,
    short_circuit: bool,
}

impl Eager {
    /// A frame was kept.
    pub fn queued(&mut self) {
        self.under_way.frames += 1;
        self.under_way.queued = true;
    }

    /// A frame was discarded: the one that arrived, or for its sake one that waited.
    pub fn dropped(&mut self, why: Drop) {
        match why {
            Drop::Recycled => self.under_way.recycled = true,
            Drop::ShortCircuit => {
                self.under_way.frames += 1;
                self.under_way.short_circuit = true;
            }
            Drop::Limited | Drop::Refused => self.under_way.frames += 1,
        }
    }

    /// The interrupt has returned.
    pub fn interrupt_over(&mut self, cycles: u64) {
        let done = std::mem::take(&mut self.under_way);
        let path = match done {
            _ if cycles == 0 => return,
            UnderWay { frames: 0, .. } => return,
            UnderWay { frames: 1, recycled: true, .. } => &mut self.recycled,
            UnderWay { frames: 1, queued: true, .. } => &mut self.queued,
            UnderWay { frames: 1, short_circuit: true, .. } => &mut self.short_circuit,
            UnderWay { frames: 1, .. } => &mut self.limited,
            UnderWay { frames, .. } => {
                self.several.push(cycles / frames);
                return;
            }
        };
        path.push(cycles);
    }

    /// Names and cycles. `eager/several`: per frame, of interrupts that met more than one.
    pub fn paths(&self) -> Vec<(&'static str, &Vec<u64>)> {
        vec![
            ("eager/queued", &self.queued),
            ("eager/short-circuit", &self.short_circuit),
            ("eager/limited", &self.limited),
            ("eager/recycle", &self.recycled),
            ("eager/several", &self.several),
        ]
    }
}
