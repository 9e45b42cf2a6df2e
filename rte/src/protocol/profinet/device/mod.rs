// SPDX-License-Identifier: Apache-2.0
//! The device: connections with controllers, cyclic data, records and alarms.
//!
//! Two lanes: [`acyclic::AcyclicLane`] has the connections, [`cyclic::CyclicLane`] their cyclic data. What they tell
//! each other is in [`link`]; neither waits for the other.

pub mod acyclic;
mod alarms;
mod calls;
pub mod check;
mod connection;
pub mod cyclic;
pub mod handle;
pub mod link;
mod records;
pub mod request;
mod server;

use std::sync::Arc;

use super::model::Model;
use super::station::DeviceSide;
use super::wire::iocr::CLOCK_NANOS;
use crate::application::endpoint::{Endpoint, Safe};
use crate::application::triple_buffer::triple_buffer;
use crate::protocol::Nanos;

/// A device's lanes, and the application's way to what is not cyclic.
pub struct Device {
    /// Connections, records and alarms.
    pub acyclic: acyclic::AcyclicLane,
    /// Cyclic data.
    pub cyclic: cyclic::CyclicLane,
    /// Alarms, diagnoses, records.
    pub handle: handle::Handle,
}

impl Device {
    /// As the model describes it. `safe` is what `endpoint` has.
    pub fn new(model: Model, endpoint: Endpoint, safe: Safe, station: DeviceSide) -> Self {
        let model = Arc::new(model);
        let (orders, orders_taken) = triple_buffer(link::Orders::default());
        let (reports, reports_taken) = triple_buffer(link::Reports::default());
        let handle = handle::Handle::new(model.clone());
        let cycle = CLOCK_NANOS * Nanos::from(model.interval_min);
        Self {
            acyclic: acyclic::AcyclicLane::new(model, handle.clone(), station, orders, reports_taken),
            cyclic: cyclic::CyclicLane::new(cycle, endpoint, safe, orders_taken, reports),
            handle,
        }
    }
}
