// SPDX-License-Identifier: Apache-2.0
//! The two PLCs of the demo, with programs that want something else every moment.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use weir_io::configuration::{Cclink, Configuration, Policy};
use weir_io::fitting::interface::Interface;
use weir_io::fitting::policy::Wanted;
use weir_io::fitting::running::{self, Running};
use weir_io::protocol::cclink::master::{self, Desk, Scan, SlaveSettings, master};
use weir_io::protocol::profinet::controller::{self, Controller, Cycle, Handle, Phase};
use weir_io::protocol::profinet::name::StationName;

use super::network::{INTERFACE, Station};

/// After how many cycles without data either side gives up.
const WATCHDOG: u16 = 64;

/// The PROFINET controller.
pub struct Profinet {
    handle: Handle,
    lanes: Running,
    outputs: Vec<u8>,
}

/// The CC-Link master.
pub struct CcLink {
    desk: Desk,
    lanes: Running,
    slave: Cclink,
}

impl Profinet {
    /// Starts it on its station, for the device of that configuration.
    pub fn start(at: &Station, device: &Configuration, cycle: Duration) -> Result<Self, String> {
        let model = device.profinet.clone().ok_or("the demo's device has no [profinet]")?;
        let name = |text: &str| StationName::new(text.as_bytes()).map_err(|error| format!("{text}: {error}"));
        let cycle = Cycle::from_us(cycle.as_micros() as u64).ok_or("PROFINET's cycles are 1, 2, 4 … 512 ms")?;
        let outputs = model.modules.iter().flat_map(|module| &module.submodules).map(|sub| sub.outputs.bytes()).sum();
        let settings = controller::Settings {
            station: name(&model.station)?,
            own_name: name("controller")?,
            device: model,
            address: device.device.address,
            cycle,
            watchdog_factor: WATCHDOG,
            parameters: Vec::new(),
            again_after: 1_000_000_000,
            seed: seed(),
        };
        let (lane, handle) = Controller::new(settings);
        let lanes = start(at, vec![Box::new(lane)])?;
        Ok(Self { handle, lanes, outputs: vec![0; outputs] })
    }

    /// One turn of its program: writes `speed` and closes or opens the clamp. Tells whether there is a connection, and the
    /// inputs as the configuration's image.
    pub fn turn(&mut self, device: &Configuration, speed: u16) -> (Phase, Vec<u8>) {
        let model = device.profinet.as_ref().expect("it was there at the start");
        let submodules = || model.modules.iter().flat_map(|module| &module.submodules);
        let mut image = vec![0; device.points.outputs.bytes()];
        let mut put = |name: &str, bytes: &[u8]| {
            let at = device.points.outputs.get(name).expect("the demo's device has it").offset;
            image[at..at + bytes.len()].copy_from_slice(bytes);
        };
        put("speed", &speed.to_ne_bytes());
        put("clamp", &[u8::from(speed > 0)]);
        let mut at = 0;
        for submodule in submodules() {
            let bytes = submodule.outputs.bytes();
            submodule.outputs.layout.pack(&image, &mut self.outputs[at..at + bytes]);
            at += bytes;
        }
        self.handle.set_outputs(&self.outputs, true);
        let view = self.handle.view();
        let mut inputs = vec![0; device.points.inputs.bytes()];
        let mut at = 0;
        for submodule in submodules() {
            let bytes = submodule.inputs.bytes();
            if let Some(of) = view.inputs.get(at..at + bytes) {
                submodule.inputs.layout.unpack(of, &mut inputs);
            }
            at += bytes;
        }
        (view.phase, inputs)
    }

    /// Releases the connection and stops.
    pub fn stop(self) {
        self.handle.command(controller::Command::Release);
        std::thread::sleep(Duration::from_millis(200));
        self.lanes.stop();
    }
}

impl CcLink {
    /// Starts it on its station, for the device of that configuration.
    pub fn start(at: &Station, device: &Configuration, cycle: Duration) -> Result<Self, String> {
        let slave = device.cclink.first().cloned().ok_or("the demo's device has no [[cclink]]")?;
        let slaves = device.cclink.iter().map(|slave| {
            let ip = slave.address.or(device.device.address).ok_or("the demo's device has no address")?.ip;
            Ok(SlaveSettings { ip, stations: slave.settings.stations })
        });
        let slaves = slaves.collect::<Result<Vec<_>, String>>()?;
        let cycle = u16::try_from(cycle.as_millis()).map_err(|_| "a CC-Link cycle is 1 to 2000 ms")?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
        let settings = master::Settings {
            groups: vec![slaves],
            version: 2,
            scan: Scan::Constant(cycle),
            timeout_count: WATCHDOG,
            parameter: seed() as u16,
            clock_zero_ms: Some(since - weir_io::fitting::system::now() / 1_000_000),
        };
        let (lane, desk) = master(settings)?;
        let lanes = start(at, vec![Box::new(lane)])?;
        Ok(Self { desk, lanes, slave })
    }

    /// One turn of its program: writes `force` and switches the lamp. Tells how far it is, with how many slaves, and what it
    /// reads of the speed.
    pub fn turn(&mut self, force: i16) -> (master::Phase, usize, u16) {
        let word = |points: &[weir_io::configuration::Placed], name: &str| {
            points.iter().find(|placed| placed.name == name).map_or(0, |placed| placed.at)
        };
        let (at, lamp) = (word(&self.slave.rww, "force") * 2, word(&self.slave.ry, "lamp"));
        self.desk.orders.publish(|orders| {
            orders.rww[at..at + 2].copy_from_slice(&force.to_le_bytes());
            let mask = 1 << (lamp % 8);
            let byte = &mut orders.ry[lamp / 8];
            *byte = if force > 0 { *byte | mask } else { *byte & !mask };
        });
        let at = word(&self.slave.rwr, "speed_now") * 2;
        self.desk.report.newest(|report, _| {
            let connected = report.slaves.iter().filter(|slave| slave.connected).count();
            let word = report.rwr.get(at..at + 2).map_or(0, |bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
            (report.phase, connected, word)
        })
    }

    /// Stops.
    pub fn stop(self) {
        self.lanes.stop();
    }
}

/// Another one at each start.
fn seed() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64
}

fn start(at: &Station, lanes: Vec<Box<dyn weir_io::protocol::Lane>>) -> Result<Running, String> {
    let started = at.namespace.within(|| {
        let interface = Interface::open(INTERFACE)?;
        running::start_fitted(&interface, interface.address(), lanes, Wanted { policy: Policy::Auto, ..Wanted::PLAIN })
    });
    started.map_err(|error| format!("{}: {error}", at.port))
}
