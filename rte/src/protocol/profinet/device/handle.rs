// SPDX-License-Identifier: Apache-2.0
//! The application's way to what is not cyclic: alarms, diagnoses, records. For threads of the same process.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use super::check::Place;
use crate::protocol::profinet::model::Model;
use crate::protocol::profinet::wire::diagnosis::Channel;

/// Alarms that wait for the lane.
const ALARMS_MAX: usize = 64;
/// Diagnoses at once.
const DIAGNOSES_MAX: usize = 64;

/// What the application tells the controllers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Alarm {
    /// Something happened in the process.
    Process {
        /// Where.
        place: Place,
        /// The structure of the data: 0 to 0x7fff, the maker's own.
        structure: u16,
        /// What happened.
        data: Vec<u8>,
    },
    /// A fault came or went.
    Diagnosis {
        /// Where.
        place: Place,
        /// The channel: 0 to 0x7fff, or 0x8000 for the whole submodule.
        channel: u16,
        /// ChannelErrorType: 1 short circuit, 2 undervoltage, 5 overtemperature, 6 line break …
        error: u16,
        /// Whether it came.
        appears: bool,
    },
}

impl Alarm {
    /// Where it happened.
    pub fn place(&self) -> Place {
        match self {
            Self::Process { place, .. } | Self::Diagnosis { place, .. } => *place,
        }
    }
}

/// What both sides see.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) alarms: VecDeque<Alarm>,
    /// Records that were written or set, by place and index.
    pub(super) records: BTreeMap<(Place, u16), Vec<u8>>,
    /// Faults that there are, by place, channel and kind.
    pub(super) diagnoses: BTreeMap<(Place, u16, u16), Channel>,
    writes: u64,
}

impl Shared {
    /// A controller or the application wrote a record.
    pub(super) fn write(&mut self, place: Place, index: u16, data: &[u8]) {
        self.records.insert((place, index), data.to_vec());
        self.writes += 1;
    }
}

/// The application's side. Clones are the same side.
#[derive(Clone, Debug)]
pub struct Handle {
    shared: Arc<Mutex<Shared>>,
    model: Arc<Model>,
}

impl Handle {
    /// Of a device.
    pub(super) fn new(model: Arc<Model>) -> Self {
        let shared =
            Shared { alarms: VecDeque::new(), records: BTreeMap::new(), diagnoses: BTreeMap::new(), writes: 0 };
        Self { shared: Arc::new(Mutex::new(shared)), model }
    }

    /// What both sides see. A thread that died with it in its hands left it whole: each change is one step.
    pub(super) fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Tells the controllers something; a diagnosis is also kept until it disappears.
    ///
    /// # Errors
    /// If nothing is plugged there, or too many wait.
    pub fn raise(&self, alarm: Alarm) -> Result<(), String> {
        let (slot, subslot) = alarm.place();
        if self.model.submodule(slot, subslot).is_none() {
            return Err(format!("nothing is plugged in slot {slot}, subslot {subslot}: see [[profinet.module]]"));
        }
        let mut shared = self.shared();
        if shared.alarms.len() == ALARMS_MAX {
            return Err(format!("{ALARMS_MAX} alarms wait already"));
        }
        if let Alarm::Diagnosis { place, channel, error, appears } = alarm {
            let key = (place, channel, error);
            if !appears {
                shared.diagnoses.remove(&key);
            } else if shared.diagnoses.len() < DIAGNOSES_MAX || shared.diagnoses.contains_key(&key) {
                shared.diagnoses.insert(key, Channel { number: channel, properties: Channel::APPEARS, error });
            } else {
                return Err(format!("there are {DIAGNOSES_MAX} diagnoses already"));
            }
        }
        shared.alarms.push_back(alarm);
        Ok(())
    }

    /// A record, if a controller or the application wrote it.
    pub fn record(&self, place: Place, index: u16) -> Option<Vec<u8>> {
        self.shared().records.get(&(place, index)).cloned()
    }

    /// Gives a record a value.
    ///
    /// # Errors
    /// If there is no such record, or it has another length.
    pub fn set_record(&self, place: Place, index: u16, data: &[u8]) -> Result<(), String> {
        let (slot, subslot) = place;
        let records = self.model.submodule(slot, subslot).map_or(&[][..], |submodule| &submodule.records);
        match records.iter().find(|record| record.index == index) {
            None => Err(format!("there is no record {index} in slot {slot}, subslot {subslot}")),
            Some(record) if record.bytes != data.len() => {
                Err(format!("record {index} of slot {slot}, subslot {subslot} has {} bytes", record.bytes))
            }
            Some(_) => {
                self.shared().write(place, index, data);
                Ok(())
            }
        }
    }

    /// How often records were written: whether it is worth to look.
    pub fn writes(&self) -> u64 {
        self.shared().writes
    }
}
