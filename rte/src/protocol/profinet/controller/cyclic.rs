// SPDX-License-Identifier: Apache-2.0
//! The cyclic data of a connection.

use super::super::wire::iocr::CLOCK_NANOS;
use super::super::wire::rt::{Cyclic, DataStatus, Ethernet, GOOD, OVERHEAD_BYTES, TAGGED_HEADER_BYTES};
use super::plan::{Plan, TAG};
use super::settings::Cycle;
use super::statistics::Statistics;
use crate::protocol::{Mac, Nanos};

/// Bytes in front of the data.
const DATA_AT: usize = TAGGED_HEADER_BYTES + 2;
/// A cycle counter that is further ahead than that is one of the past.
const AHEAD_MAX: u16 = 61_440;

/// What is sent.
#[derive(Debug)]
pub(super) struct Provider {
    frame: Vec<u8>,
    cycle: Cycle,
    pub(super) next: Nanos,
    /// Cycles in which nothing was sent, since the lane did not get to run.
    pub(super) skipped: u64,
}

impl Provider {
    pub(super) fn new(now: Nanos, from: Mac, to: Mac, frame_id: u16, cycle: Cycle, plan: &Plan) -> Self {
        let mut frame = vec![0; OVERHEAD_BYTES + usize::from(plan.outputs.bytes())];
        Ethernet { to, from, tag: Some(TAG), frame_id }.write(&mut frame);
        Self { frame, cycle, next: now, skipped: 0 }
    }

    /// The frame of now, with these outputs. `run` is the state of the controller's program.
    pub(super) fn frame(&mut self, now: Nanos, plan: &Plan, image: &[u8], run: bool) -> &[u8] {
        let mut from = 0;
        let data = &mut self.frame[DATA_AT..];
        for field in &plan.outputs.data {
            let at = usize::from(field.item.offset);
            if let Some(bytes) = image.get(from..from + field.bytes) {
                data[at..at + field.bytes].copy_from_slice(bytes);
            }
            data[at + field.bytes] = GOOD;
            from += field.bytes;
        }
        for item in &plan.outputs.status {
            data[usize::from(item.offset)] = GOOD;
        }
        let status = DataStatus::PRIMARY | DataStatus::VALID | DataStatus::NO_PROBLEM;
        // Follows time: a cycle that was not sent is seen at the other side.
        let clocks = now / CLOCK_NANOS / self.cycle.clocks() * self.cycle.clocks();
        Cyclic::write_trailer(&mut self.frame, clocks as u16, status | if run { DataStatus::RUN } else { 0 });
        let period = self.cycle.period();
        let late = now.saturating_sub(self.next) / period;
        self.skipped += late;
        self.next += (late + 1) * period;
        &self.frame
    }
}

/// What is received.
#[derive(Debug)]
pub(super) struct Consumer {
    from: Mac,
    bytes: usize,
    cycle: Cycle,
    last: Option<(Nanos, u16)>,
    /// The submodules' data, one after the other.
    pub(super) image: Vec<u8>,
    /// Whether the device's data was valid, and all its submodules good.
    pub(super) good: bool,
    /// When nothing has come for too long.
    pub(super) lost_at: Nanos,
    watchdog: Nanos,
    pub(super) statistics: Statistics,
}

impl Consumer {
    pub(super) fn new(now: Nanos, from: Mac, cycle: Cycle, watchdog_factor: u16, plan: &Plan) -> Self {
        let watchdog = cycle.period() * u64::from(watchdog_factor);
        Self {
            from,
            bytes: usize::from(plan.inputs.bytes()),
            cycle,
            last: None,
            image: vec![0; plan.inputs.image_bytes()],
            good: false,
            lost_at: now + watchdog,
            watchdog,
            statistics: Statistics::default(),
        }
    }

    /// Whether a frame has come yet.
    pub(super) fn has_begun(&self) -> bool {
        self.last.is_some()
    }

    /// Takes what follows the FrameID of a frame that came from `from`.
    pub(super) fn receive(&mut self, now: Nanos, from: Mac, bytes: &[u8], plan: &Plan) -> Result<(), &'static str> {
        if from != self.from {
            return Err("dropped: cyclic frame of another station");
        }
        let cyclic = Cyclic::decode(bytes).map_err(|_| "dropped: malformed")?;
        if cyclic.data.len() != self.bytes || cyclic.transfer != 0 {
            return Err("dropped: cyclic frame of another length");
        }
        let ahead = self.last.map(|(_, cycle)| cyclic.cycle.wrapping_sub(cycle));
        if ahead.is_some_and(|ahead| !(1..=AHEAD_MAX).contains(&ahead)) {
            return Err("dropped: cyclic frame is old");
        }
        let cycles = u64::from(ahead.unwrap_or(0)) / self.cycle.clocks().max(1);
        self.statistics.add(self.last.map(|(at, _)| now - at), cycles, self.cycle.period());
        self.last = Some((now, cyclic.cycle));
        if cyclic.status & DataStatus::VALID == 0 {
            self.good = false;
            return Ok(());
        }
        self.lost_at = now + self.watchdog;
        let mut to = 0;
        self.good = cyclic.status & DataStatus::NO_PROBLEM != 0;
        for field in &plan.inputs.data {
            let at = usize::from(field.item.offset);
            if cyclic.data[at + field.bytes] & GOOD == GOOD {
                self.image[to..to + field.bytes].copy_from_slice(&cyclic.data[at..at + field.bytes]);
            } else {
                self.good = false;
            }
            to += field.bytes;
        }
        Ok(())
    }
}
