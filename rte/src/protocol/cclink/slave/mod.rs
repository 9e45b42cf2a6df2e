// SPDX-License-Identifier: Apache-2.0
//! The slave: a lane that answers the master at the cycle, and one for the commands that find it and set its address.

mod acyclic;
mod cyclic;

pub use acyclic::{Acyclic, answer_delay_ms};
pub use cyclic::Cyclic;

use serde::Deserialize;

use super::wire::cyclic::EndCode;
use super::{Identity, STATIONS_PER_GROUP_MAX};
use crate::application::endpoint::Endpoint;
use crate::application::layout::Layout;
use crate::application::triple_buffer::{Consumer, Producer, triple_buffer};
use crate::protocol::{Lane, Nanos};

/// What the master sees when the application stops or is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApplicationStop {
    /// The last inputs, the slave's state "stopped" and the error code that is set for this.
    #[default]
    Report,
    /// The slave disconnects itself with 0xCFF0 until the application is back.
    Disconnect,
}

/// What the outputs are while the master's program is stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MasterStop {
    /// Their safe values.
    #[default]
    Safe,
    /// What they were when it stopped.
    Hold,
    /// What the master sends.
    Pass,
}

/// What a slave is told.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What it is called in messages.
    pub name: String,
    /// What it tells masters that it is.
    pub identity: Identity,
    /// The protocol version: 1 or 2.
    pub version: u16,
    /// How many stations it occupies: 1 to [`STATIONS_PER_GROUP_MAX`].
    pub stations: usize,
    /// Inputs that are bits.
    pub rx: Layout,
    /// Inputs that are words.
    pub rwr: Layout,
    /// Outputs that are bits.
    pub ry: Layout,
    /// Outputs that are words.
    pub rww: Layout,
    /// What is done when the application stops.
    pub application_stop: ApplicationStop,
    /// The error code while it is stopped: not 0xC000 to 0xCFFF.
    pub application_error: u16,
    /// What is done when the master's program stops.
    pub master_stop: MasterStop,
    /// Whether masters may set the address.
    pub may_set_address: bool,
    /// The shortest cycle that is expected of a master.
    pub cycle: Nanos,
}

/// What the application, or whoever ends the process, wants of the slave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// To have no master. A master that is there is told so with 0xCFFF.
    pub disconnected: bool,
    /// The error code: 0 for none, not 0xC000 to 0xCFFF.
    pub error: u16,
    /// What the field for whatever the maker likes has.
    pub management: u32,
}

/// Where wishes are made. They hold from the next request on.
#[derive(Debug)]
pub struct Control(Producer<Wishes>);

impl Control {
    /// Replaces all wishes made before.
    pub fn wish(&mut self, wishes: Wishes) {
        self.0.publish(|old| *old = wishes);
    }
}

/// The lanes of a slave.
pub fn slave(settings: Settings, endpoint: Endpoint) -> (Vec<Box<dyn Lane>>, Control) {
    assert!((1..=STATIONS_PER_GROUP_MAX).contains(&settings.stations), "the configuration checks it");
    let (control, wishes) = triple_buffer(Wishes::default());
    let acyclic = Acyclic::new(&settings);
    let cyclic = Cyclic::new(settings, endpoint, wishes);
    (vec![Box::new(cyclic), Box::new(acyclic)], Control(control))
}

/// The application as the cyclic lane sees it.
struct Application {
    endpoint: Endpoint,
    wishes: Consumer<Wishes>,
    stop: ApplicationStop,
}

impl Application {
    /// What a master is to be told in order to go, if it is to go.
    fn farewell(&mut self, now: Nanos) -> Option<EndCode> {
        if self.wishes.newest(|wishes, _| wishes.disconnected) {
            return Some(EndCode::DISCONNECT);
        }
        (self.stop == ApplicationStop::Disconnect && !self.endpoint.inputs(now).1).then_some(EndCode::SLAVE_ERROR)
    }
}
