// SPDX-License-Identifier: Apache-2.0
//! Makes closed-loop peers from traffic entries.

use super::error::TrafficError;
use super::setup::{Entry, Setup};
use super::source::uniform01;
use super::{modbus, request};
use crate::scenario::{Listen, Protocol, Target};

impl Setup {
    /// Adds a Modbus/TCP master.
    pub(super) fn add_modbus(&mut self, entry: Entry<'_>, rate_pps: f64, registers: u16) -> Result<(), TrafficError> {
        if !(1..=125).contains(&registers) {
            return Err(entry.error(format!("registers is {registers}; one request reads 1 to 125")));
        }
        let Target::Port(Listen { protocol: Protocol::Tcp, port }) = entry.traffic.to else {
            return Err(entry.error("modbus goes to = \"tcp/PORT\""));
        };
        let Some((start_cycle, period_cycles)) = self.live_start(entry, rate_pps)? else {
            return Ok(());
        };
        let (clock, device, stop_cycle) = (self.clock, self.subnet.device(), entry.stop_cycle);
        let plan = modbus::Plan { clock, device, port, registers, start_cycle, stop_cycle, period_cycles };
        let master = modbus::Master::new(entry.index, &entry.traffic.name, plan);
        self.host(entry.index, entry.traffic.from).add(Box::new(master));
        Ok(())
    }

    /// Adds a client that waits for answers.
    pub(super) fn add_request(&mut self, entry: Entry<'_>, rate_pps: f64, timeout_ms: f64) -> Result<(), TrafficError> {
        if !(timeout_ms.is_finite() && timeout_ms > 0.0) {
            return Err(entry.error(format!("timeout_ms is {timeout_ms}; it has to be more than 0")));
        }
        let Target::Port(Listen { protocol: Protocol::Udp, port }) = entry.traffic.to else {
            return Err(entry.error("request goes to = \"udp/PORT\""));
        };
        let Some((start_cycle, period_cycles)) = self.live_start(entry, rate_pps)? else {
            return Ok(());
        };
        let plan = request::Plan {
            device: self.subnet.device(),
            port,
            payload_bytes: entry.traffic.payload_bytes,
            start_cycle,
            stop_cycle: entry.stop_cycle,
            period_cycles,
            timeout_cycles: self.clock.cycles_of_ms(timeout_ms).max(1),
        };
        let client = request::Client::new(entry.index, &entry.traffic.name, plan);
        self.host(entry.index, entry.traffic.from).add(Box::new(client));
        Ok(())
    }

    /// First action and least distance of a live peer, which begins at a random time within its first
    /// period, as uniform traffic does.
    fn live_start(&self, entry: Entry<'_>, rate_pps: f64) -> Result<Option<(u64, u64)>, TrafficError> {
        let from = entry.traffic.from;
        if !self.subnet.contains(from) {
            return Err(entry.error(format!("from is {from}; a live peer has to be in the device's subnet")));
        }
        if entry.checked_rate(rate_pps)? == 0.0 {
            return Ok(None);
        }
        let period_cycles = self.clock.period_cycles(rate_pps);
        let phase_cycles = uniform01(&mut self.schedule_rng(entry)) * period_cycles;
        Ok(Some((entry.start_cycle.saturating_add(phase_cycles as u64), (period_cycles as u64).max(1))))
    }
}
