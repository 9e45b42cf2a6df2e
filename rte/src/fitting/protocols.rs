// SPDX-License-Identifier: Apache-2.0
//! Which protocols a configuration asks for, and how each is made.

use std::path::PathBuf;

use super::Error;
use super::interface::Interface;
use super::requests::{self, RequestSocket};
use super::store::FileStore;
use crate::application::endpoint::Endpoint;
use crate::application::memory::{Memory, Plan};
use crate::configuration::{Configuration, Modbus, profinet};
use crate::protocol::modbus::Server;
use crate::protocol::profinet::device::Device;
use crate::protocol::profinet::discovery::{Discovery, Settings};
use crate::protocol::profinet::model::Model;
use crate::protocol::profinet::station::{Station, sides};
use crate::protocol::{Address, Lane, Nanos, Urgency, cclink};

/// What a protocol is made with.
pub struct Start {
    /// Its door to the application.
    pub endpoint: Endpoint,
    /// The folder for what must survive a restart. May not be there yet.
    pub state: PathBuf,
    /// The time.
    pub now: Nanos,
}

type Make<'a> = Box<dyn Fn(Start) -> Result<Vec<Box<dyn Lane>>, Error> + 'a>;

/// A protocol that is configured.
pub struct Protocol<'a> {
    /// What it is called: "profinet", "cclink", "cclink-2". Outputs belong to that name
    /// ([`crate::configuration::Points::output`]).
    pub name: String,
    /// An address of its own, beside the interface's.
    pub address: Option<Address>,
    /// Makes its lanes.
    pub lanes: Make<'a>,
}

/// All that are configured. Their order is that of the endpoints in the shared memory.
pub fn protocols(configuration: &Configuration) -> Vec<Protocol<'_>> {
    let cclink = configuration.cclink.iter().map(|slave| Protocol {
        name: slave.name.clone(),
        address: slave.address,
        lanes: Box::new(|start| Ok(cclink::slave::slave(slave.settings.clone(), start.endpoint).0)),
    });
    let modbus = configuration.modbus.iter().map(|modbus| Protocol {
        name: Modbus::NAME.to_owned(),
        address: None,
        lanes: Box::new(|start| {
            let server = Server::new(modbus.settings.clone(), modbus.map.clone(), start.endpoint);
            Ok(vec![Box::new(server) as Box<dyn Lane>])
        }),
    });
    let profinet = configuration.profinet.iter().map(|model| Protocol {
        name: profinet::NAME.to_owned(),
        address: None,
        lanes: Box::new(|start| device(configuration, model, start)),
    });
    profinet.chain(cclink).chain(modbus).collect()
}

/// The lanes of a PROFINET device.
fn device(configuration: &Configuration, model: &Model, start: Start) -> Result<Vec<Box<dyn Lane>>, Error> {
    let interface = Interface::open(&configuration.device.interface)?;
    let store = FileStore::open(start.state.join("profinet.toml"))?;
    let (discovery, station) = sides(Station::default());
    let discovery = Discovery::new(Settings::new(model, interface.index), discovery, Box::new(store));
    let mut device = Device::new(model.clone(), start.endpoint, configuration.points.safe.clone(), station);
    device.acyclic.listen_to(Box::new(RequestSocket::new(requests::path(&configuration.application.memory))));
    Ok(vec![Box::new(device.cyclic), Box::new(device.acyclic), Box::new(discovery)])
}

/// The cyclic lanes of all protocols, with the shortest cycle of each. Nothing of them runs.
///
/// # Errors
/// If a protocol cannot be made.
pub fn cyclic_lanes(configuration: &Configuration) -> Result<Vec<(String, Nanos)>, Error> {
    let plan = Plan {
        inputs: configuration.points.inputs.bytes(),
        outputs: configuration.points.outputs.bytes(),
        endpoints: 1,
    };
    let mut all = Vec::new();
    for protocol in protocols(configuration) {
        let memory = Memory::anonymous(plan).map_err(|error| Error::new(format!("memory: {error}")))?;
        let endpoint = Endpoint::new(&memory, 0, configuration.points.safe.clone(), 0, 1);
        let start = Start { endpoint, state: configuration.fitting.state.clone(), now: 1 };
        for lane in (protocol.lanes)(start)? {
            if let Urgency::Cyclic(cycle) = lane.urgency() {
                all.push((lane.name().to_owned(), cycle));
            }
        }
    }
    Ok(all)
}
