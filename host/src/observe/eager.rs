// SPDX-License-Identifier: Apache-2.0
//! Interrupts of the library's eager half, by what they did: cycles from the interrupt's entry to its return.

use super::event::Drop;

/// Cycles by path.
#[derive(Debug, Default)]
pub struct Eager {
    under_way: UnderWay,
    queued: Vec<u64>,
    short_circuit: Vec<u64>,
    limited: Vec<u64>,
    recycled: Vec<u64>,
    burst: Vec<u64>,
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

    /// The interrupt has returned; `cycles`: if it counts.
    pub fn interrupt_over(&mut self, cycles: Option<u64>) {
        let done = std::mem::take(&mut self.under_way);
        let Some(cycles) = cycles else { return };
        let path = match done {
            UnderWay { frames: 0, .. } => return,
            UnderWay { frames: 1, recycled: true, .. } => &mut self.recycled,
            UnderWay { frames: 1, queued: true, .. } => &mut self.queued,
            UnderWay { frames: 1, short_circuit: true, .. } => &mut self.short_circuit,
            UnderWay { frames: 1, .. } => &mut self.limited,
            UnderWay { frames, .. } => {
                self.burst.push(cycles / frames);
                return;
            }
        };
        path.push(cycles);
    }

    /// Names and cycles. `eager/burst`: per frame, of interrupts that met more than one.
    pub fn paths(&self) -> Vec<(&'static str, &Vec<u64>)> {
        vec![
            ("eager/queued", &self.queued),
            ("eager/short-circuit", &self.short_circuit),
            ("eager/limit", &self.limited),
            ("eager/recycle", &self.recycled),
            ("eager/burst", &self.burst),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(eager: &Eager) -> Vec<(&'static str, Vec<u64>)> {
        eager.paths().into_iter().filter(|(_, c)| !c.is_empty()).map(|(name, c)| (name, c.clone())).collect()
    }

    #[test]
    fn one_frame_is_the_path_that_it_took() {
        let mut eager = Eager::default();
        eager.queued();
        eager.interrupt_over(Some(100));
        eager.dropped(Drop::Recycled);
        eager.queued();
        eager.interrupt_over(Some(200));
        eager.dropped(Drop::ShortCircuit);
        eager.interrupt_over(Some(50));
        eager.dropped(Drop::Limited);
        eager.interrupt_over(Some(60));
        eager.dropped(Drop::Refused);
        eager.interrupt_over(Some(70));
        let expected = [
            ("eager/queued", vec![100]),
            ("eager/short-circuit", vec![50]),
            ("eager/limit", vec![60, 70]),
            ("eager/recycle", vec![200]),
        ];
        assert_eq!(counts(&eager), expected);
    }

    #[test]
    fn several_frames_share_their_interrupt() {
        let mut eager = Eager::default();
        eager.queued();
        eager.dropped(Drop::ShortCircuit);
        eager.dropped(Drop::Recycled);
        eager.queued();
        eager.interrupt_over(Some(300));
        assert_eq!(counts(&eager), [("eager/burst", vec![100])]);
    }

    #[test]
    fn other_interrupts_and_those_outside_the_window_do_not_count() {
        let mut eager = Eager::default();
        eager.interrupt_over(Some(80));
        eager.queued();
        eager.interrupt_over(None);
        eager.interrupt_over(Some(80));
        assert!(counts(&eager).is_empty());
    }
}
