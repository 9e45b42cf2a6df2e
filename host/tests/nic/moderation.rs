// SPDX-License-Identifier: Apache-2.0
//! The model against a NIC that is stepped cycle by cycle, and what holds of every load.

use proptest::prelude::*;
use weir::nic::{AbsoluteMode, Cause, Interrupt, Match, Nic, Queue, Settings};

/// Written as the text of the specification reads: counters that count down, one cycle after the other.
struct Stepped {
    queue: Queue,
    cycle: u64,
    waiting: u32,
    full: u64,
    packet: Option<u64>,
    absolute: Option<u64>,
}

impl Stepped {
    fn new(queue: &Queue) -> Self {
        let absolute = match queue.absolute_mode {
            AbsoluteMode::Periodic { offset_cycles } => Some(offset_cycles + queue.absolute_cycles),
            AbsoluteMode::FromFirst => None,
        };
        Self { queue: queue.clone(), cycle: 0, waiting: 0, full: 0, packet: None, absolute }
    }

    fn periodic(&self) -> bool {
        matches!(self.queue.absolute_mode, AbsoluteMode::Periodic { .. })
    }

    fn announce(&mut self, index: usize, cause: Cause, seen: &mut Vec<Interrupt>) {
        if self.waiting > 0 {
            seen.push(Interrupt { time: self.cycle, queue: index, cause, frames: self.waiting });
        }
        self.waiting = 0;
        self.packet = None;
        if !self.periodic() {
            self.absolute = None;
        }
    }

    /// Timers that are due in this cycle.
    fn timers(&mut self, index: usize, seen: &mut Vec<Interrupt>) {
        let (packet, absolute) = (self.packet == Some(0), self.absolute == Some(0));
        if absolute && self.periodic() {
            self.absolute = Some(self.queue.absolute_cycles);
        }
        if absolute {
            self.announce(index, Cause::AbsoluteTimer, seen);
        } else if packet {
            self.announce(index, Cause::PacketTimer, seen);
        }
    }

    fn frame(&mut self, index: usize, seen: &mut Vec<Interrupt>) {
        if self.waiting == self.queue.capacity {
            self.full += 1;
            return;
        }
        self.waiting += 1;
        let timers = self.queue.packet_cycles > 0 || self.queue.absolute_cycles > 0;
        if !timers && self.queue.frames == 0 {
            return self.announce(index, Cause::AtOnce, seen);
        }
        if self.queue.frames == self.waiting {
            return self.announce(index, Cause::Frames, seen);
        }
        if self.queue.packet_cycles > 0 {
            self.packet = Some(self.queue.packet_cycles);
        }
        if self.queue.absolute_cycles > 0 && self.absolute.is_none() {
            self.absolute = Some(self.queue.absolute_cycles);
        }
    }

    fn tick(&mut self) {
        self.cycle += 1;
        self.packet = self.packet.map(|left| left - 1);
        self.absolute = self.absolute.map(|left| left - 1);
    }
}

fn queues() -> impl Strategy<Value = Vec<Queue>> {
    let timer = || prop_oneof![Just(0u64), 1..40u64];
    let queue = (timer(), timer(), any::<bool>(), 0..30u64, 1..8u32, 0..8u32).prop_map(
        |(packet_cycles, absolute_cycles, periodic, offset_cycles, capacity, frames)| Queue {
            name: String::new(),
            matches: Match::default(),
            packet_cycles,
            absolute_cycles,
            absolute_mode: if periodic && absolute_cycles > 0 {
                AbsoluteMode::Periodic { offset_cycles }
            } else {
                AbsoluteMode::FromFirst
            },
            frames: frames.min(capacity),
            capacity,
        },
    );
    prop::collection::vec(queue, 1..4)
}

/// Per frame the cycles since the one before and the queue.
fn load() -> impl Strategy<Value = Vec<(u64, usize)>> {
    prop::collection::vec((0..30u64, 0..64usize), 0..80)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(10_000) })]

    #[test]
    fn the_model_is_what_stepping_cycle_by_cycle_gives(queues in queues(), load in load()) {
        let settings = Settings { clock_mhz: 1, empty_interrupts: false, uncounted_losses: false, queues };
        let mut time = 0;
        let frames: Vec<(u64, usize)> = load.iter().map(|(gap, queue)| {
            time += gap;
            (time, queue % settings.queues.len())
        }).collect();
        let end = time + 100;

        let mut seen = Vec::new();
        let mut nic = Nic::new(&settings);
        for (time, queue) in &frames {
            nic.frame(*time, *queue, |interrupt| seen.push(interrupt));
        }
        nic.advance(end, |interrupt| seen.push(interrupt));

        let mut expected = Vec::new();
        let mut stepped: Vec<Stepped> = settings.queues.iter().map(Stepped::new).collect();
        let mut coming = frames.iter().peekable();
        for cycle in 0..=end {
            for (index, queue) in stepped.iter_mut().enumerate() {
                queue.timers(index, &mut expected);
            }
            while let Some((_, queue)) = coming.next_if(|(time, _)| *time == cycle) {
                stepped[*queue].frame(*queue, &mut expected);
            }
            stepped.iter_mut().for_each(Stepped::tick);
        }
        prop_assert_eq!(&seen, &expected);

        for (totals, stepped) in nic.totals().iter().zip(&stepped) {
            prop_assert_eq!(totals.frames, totals.announced + totals.full + totals.waiting);
            prop_assert_eq!(totals.full, stepped.full);
        }
        prop_assert!(seen.iter().all(|interrupt| interrupt.frames > 0), "an interrupt without a frame");
    }

    #[test]
    fn the_absolute_timer_bounds_the_wait(queues in queues(), load in load()) {
        let settings = Settings { clock_mhz: 1, empty_interrupts: false, uncounted_losses: false, queues };
        let mut oldest = vec![None; settings.queues.len()];
        let mut nic = Nic::new(&settings);
        let mut time = 0;
        for (gap, queue) in load {
            time += gap;
            let queue = queue % settings.queues.len();
            nic.frame(time, queue, |interrupt| {
                let waited: Option<u64> = oldest[interrupt.queue].take().map(|since| interrupt.time - since);
                let queue = &settings.queues[interrupt.queue];
                let first_period_later = match queue.absolute_mode {
                    AbsoluteMode::Periodic { offset_cycles } => offset_cycles,
                    AbsoluteMode::FromFirst => 0,
                };
                let bound = queue.absolute_cycles + first_period_later;
                assert!(queue.absolute_cycles == 0 || waited.is_none_or(|waited| waited <= bound), "{waited:?} cycles, bound {bound}");
            });
            if nic.totals()[queue].waiting > 0 {
                oldest[queue].get_or_insert(time);
            }
        }
    }
}
