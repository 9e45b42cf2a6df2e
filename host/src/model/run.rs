// SPDX-License-Identifier: Apache-2.0
//! One run of one scenario on the model.

use super::costs::{Calibration, Costs};
use super::covers::refusal;
use super::device::Device;
use super::paths::{COPIES, PLACES};
use super::threads::threads;
use crate::observe::{Ending, Measured, Observer};
use crate::results::Buffers;
use crate::scenario::{Scenario, TaskKind, Variant};
use crate::soc::{Outcome, RunError, device_mac};
use crate::traffic::Wire;

/// Ticks before the traffic begins.
const TICKS_BEFORE: u64 = 2;
/// Between two words on the progress.
const PROGRESS_MS: u64 = 5;

/// Runs scenarios on the model.
#[derive(Debug, Clone)]
pub struct Runner {
    /// The receive path.
    pub variant: Variant,
    costs: Costs,
    /// Keep everything for a timeline.
    pub record: bool,
}

impl Runner {
    /// With the costs of a calibration.
    pub fn new(variant: Variant, calibration: &Calibration, record: bool) -> Runner {
        Runner { variant, costs: calibration.of(variant), record }
    }

    /// Software that costs nothing, so that what is seen is the NIC's doing.
    pub fn without_costs(variant: Variant) -> Runner {
        Runner { variant, costs: Costs::nothing(), record: false }
    }

    /// Runs `scenario`; `progress` is told the simulated milliseconds.
    ///
    /// # Errors
    /// [`RunError`]: what the model does not cover, or has no cost of.
    pub fn run(&self, scenario: &Scenario, progress: &mut dyn FnMut(u64)) -> Result<Outcome, RunError> {
        if let Some(why) = refusal(scenario, self.variant) {
            return Err(RunError::Broken(why));
        }
        let cycles_per_ms = u64::from(scenario.device.cpu_mhz) * 1000;
        let tick_cycles = u64::from(scenario.device.tick_us) * u64::from(scenario.device.cpu_mhz);
        let epoch = TICKS_BEFORE * tick_cycles;
        let start = epoch + u64::from(scenario.warmup_ms) * cycles_per_ms;
        let window = start..start + u64::from(scenario.duration_ms) * cycles_per_ms;
        let buffers = if self.variant.uses_queues() { PLACES + COPIES } else { scenario.device.rx_buffers as usize };
        let measured =
            Measured { epoch, window: window.clone(), buffers, buffers_base: 0, buffer_bytes: 1, record: self.record };
        let (threads, names) = threads(scenario, self.variant);
        let observer = Observer::new(scenario, self.variant, &names, measured, 0);
        let wire = Wire::new(scenario, device_mac(scenario)).map_err(RunError::Traffic)?;
        let mut device = Device::new(scenario, self.variant, self.costs.clone(), threads, observer, wire, epoch);
        let mut run_until = |device: &mut Device, end: u64| {
            while device.now < end {
                device.run_until((device.now + PROGRESS_MS * cycles_per_ms).min(end)).map_err(RunError::Broken)?;
                progress(device.now.saturating_sub(epoch) / cycles_per_ms);
            }
            Ok(())
        };
        run_until(&mut device, window.start)?;
        device.off_cycles_max = 0;
        run_until(&mut device, window.end)?;
        finish(device, scenario, window.end)
    }
}

fn finish(device: Device, scenario: &Scenario, end: u64) -> Result<Outcome, RunError> {
    let (pool, at_rest, missing) = device.books();
    if missing != 0 {
        return Err(RunError::Broken(format!("the model lost {missing} of {pool} buffers")));
    }
    let loop_cycles = device.loop_cycles().map_err(RunError::Broken)?;
    let ending = Ending {
        off_cycles_max: device.off_cycles_max,
        loops: vec![0; scenario.tasks.len()],
        buffers: Buffers { pool: pool as u64, free_at_end: at_rest as u64, leaked: 0 },
        peers: device.wire.peer_stats(),
    };
    let (mut run, timeline) = device.observer.finish(end, scenario, &ending);
    for (task, result) in scenario.tasks.iter().zip(&mut run.tasks) {
        if let TaskKind::Background = task.kind {
            result.loops = result.cycles / loop_cycles;
        }
    }
    Ok(Outcome { run, timeline, peers: ending.peers, hash: 0, cycles: end, simulated_cycles: 0 })
}
