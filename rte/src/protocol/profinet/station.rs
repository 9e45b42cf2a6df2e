// SPDX-License-Identifier: Apache-2.0
//! What the device's lanes tell one another of the station, and what of it survives a restart.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::name::StationName;
use crate::application::triple_buffer::{Consumer, Producer, triple_buffer};

/// What others may decide of a station over the network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Station {
    /// Its name.
    pub name: StationName,
    /// How often it was reset to what it was like when it left the factory. Each ends all connections.
    pub resets: u64,
}

/// The side that discovery has.
#[derive(Debug)]
pub struct DiscoverySide {
    station: Producer<Station>,
    connected: Arc<AtomicBool>,
}

/// The side that the lane with the connections has.
#[derive(Debug)]
pub struct DeviceSide {
    station: Consumer<Station>,
    connected: Arc<AtomicBool>,
}

/// Both sides.
pub fn sides(station: Station) -> (DiscoverySide, DeviceSide) {
    let (producer, consumer) = triple_buffer(station);
    let connected = Arc::new(AtomicBool::new(false));
    (DiscoverySide { station: producer, connected: connected.clone() }, DeviceSide { station: consumer, connected })
}

impl DiscoverySide {
    /// Tells the other side what became of the station.
    pub fn publish(&mut self, station: &Station) {
        self.station.publish(|to| to.clone_from(station));
    }

    /// Whether a controller has a connection: nobody else changes name or address then.
    pub fn is_connected(&self) -> bool {
        self.connected.load(Ordering::Relaxed)
    }
}

impl DeviceSide {
    /// The station as it is now, and whether that is news.
    pub fn station(&mut self) -> (Station, bool) {
        self.station.newest(|station, fresh| (station.clone(), fresh))
    }

    /// Tells discovery whether a controller has a connection.
    pub fn set_connected(&self, connected: bool) {
        self.connected.store(connected, Ordering::Relaxed);
    }
}

/// What survives a restart: short texts by name. Where, is for the one who runs the lanes to say.
pub trait Store: Send {
    /// What was put last.
    fn get(&self, key: &str) -> Option<String>;
    /// Puts something there.
    ///
    /// # Errors
    /// Why that is not possible, in one line.
    fn put(&mut self, key: &str, value: &str) -> Result<(), String>;
}

/// A store that forgets: for tests and simulations, which keep it in their hands over a "restart".
impl Store for std::collections::BTreeMap<String, String> {
    fn get(&self, key: &str) -> Option<String> {
        std::collections::BTreeMap::get(self, key).cloned()
    }

    fn put(&mut self, key: &str, value: &str) -> Result<(), String> {
        self.insert(key.to_owned(), value.to_owned());
        Ok(())
    }
}
