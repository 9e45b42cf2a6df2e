// SPDX-License-Identifier: Apache-2.0
//! A device like the captured one, driven packet by packet in virtual time.

use std::net::SocketAddrV4;
use std::path::Path;

use weir_io::application::endpoint::{Door, Endpoint, State};
use weir_io::application::memory::{Memory, Plan};
use weir_io::configuration::Configuration;
use weir_io::protocol::profinet::device::Device;
use weir_io::protocol::profinet::device::handle::Handle;
use weir_io::protocol::profinet::model::Model;
use weir_io::protocol::profinet::station::{DiscoverySide, Station, sides};
use weir_io::protocol::{Address, AddressRequest, Lane, Mac, Nanos, Outbox, Received, Source};

pub const MS: Nanos = 1_000_000;
pub const SECOND: Nanos = 1_000_000_000;
/// Two modules with 1 and 8 bytes each way, as p-net's sample has.
pub const CONFIGURATION: &str = r#"[device]
name = "captured"
interface = "eth0"
[inputs]
button = "u8"
echo_f = "u32"
echo_i = "u32"
[outputs]
led = { type = "u8", safe = 9 }
out_f = { type = "u32", safe = "hold" }
out_i = { type = "u32", safe = 7 }
[profinet]
station = "rt-labs-dev"
vendor_id = 0x0493
device_id = 0x0002
order = "12345 Abcdefghijk"
serial = "007"
hardware = 3
[[profinet.module]]
slot = 1
ident = 0x32
name = "8 bits in and out"
[[profinet.module.submodule]]
ident = 0x132
inputs = ["button"]
outputs = ["led"]
records = [{ index = 123, name = "gain", bytes = 4 }, { index = 124, name = "offset", bytes = 4 }]
[[profinet.module]]
slot = 2
ident = 0x40
name = "echo"
[[profinet.module.submodule]]
ident = 0x140
inputs = ["echo_f", "echo_i"]
outputs = ["out_f", "out_i"]
"#;

/// Something that the device sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    Frame(Vec<u8>),
    /// Port of the lane, receiver, payload.
    Datagram(usize, SocketAddrV4, Vec<u8>),
}

#[derive(Default)]
struct Box_ {
    sent: Vec<Sent>,
    told: Vec<String>,
    woken: bool,
}

impl Outbox for Box_ {
    fn frame(&mut self, _port: usize, frame: &[u8]) {
        self.sent.push(Sent::Frame(frame.to_vec()));
    }
    fn datagram(&mut self, port: usize, to: SocketAddrV4, payload: &[u8]) {
        self.sent.push(Sent::Datagram(port, to, payload.to_vec()));
    }
    fn stream(&mut self, _port: usize, _connection: u32, _bytes: &[u8]) {
        panic!("it has no streams");
    }
    fn close(&mut self, _port: usize, _connection: u32) {
        panic!("it has no streams");
    }
    fn wake_others(&mut self) {
        self.woken = true;
    }
    fn request_address(&mut self, _request: AddressRequest) {
        panic!("discovery has to do with addresses");
    }
    fn tell(&mut self, event: &str) {
        assert!(!event.contains('\n'));
        self.told.push(event.to_owned());
    }
}

pub const ACYCLIC: usize = 0;
pub const CYCLIC: usize = 1;
/// Ports of the acyclic lane.
pub const RPC: usize = 0;
pub const OWN: usize = 1;
pub const ALARMS: usize = 2;

type Act<'a> = Box<dyn FnOnce(&mut dyn Lane, Nanos, &mut dyn Outbox) + 'a>;

/// The device and its application.
pub struct Rig {
    pub now: Nanos,
    pub lanes: [Box<dyn Lane>; 2],
    pub handle: Handle,
    pub door: Door,
    pub discovery: DiscoverySide,
    /// When it was sent, and what.
    pub sent: Vec<(Nanos, Sent)>,
    pub told: Vec<(Nanos, String)>,
    configuration: Configuration,
}

impl Rig {
    pub fn new(mac: Mac, ip: [u8; 4]) -> Self {
        Self::with(CONFIGURATION, mac, ip, |model| model.software = [0, 2, 0])
    }

    pub fn with(text: &str, mac: Mac, ip: [u8; 4], change: impl FnOnce(&mut Model)) -> Self {
        let configuration = Configuration::parse(text, Path::new("captured.toml")).unwrap();
        let points = &configuration.points;
        let plan = Plan { inputs: points.inputs.bytes(), outputs: points.outputs.bytes(), endpoints: 1 };
        let memory = Memory::anonymous(plan).unwrap();
        let now = SECOND;
        let endpoint = Endpoint::new(&memory, 0, points.safe.clone(), 100 * MS, now);
        let door = Door::new(&memory, 0);
        let (discovery, side) = sides(Station::default());
        let mut model = configuration.profinet.clone().unwrap();
        change(&mut model);
        let device = Device::new(model, endpoint, points.safe.clone(), side);
        let address = Address { ip: ip.into(), mask: [255, 255, 255, 0].into(), gateway: [0; 4].into() };
        let mut this = Self {
            now,
            lanes: [Box::new(device.acyclic), Box::new(device.cyclic)],
            handle: device.handle,
            door,
            discovery,
            sent: Vec::new(),
            told: Vec::new(),
            configuration,
        };
        (0..2).for_each(|lane| this.act(lane, |lane, now, out| lane.address_changed(now, mac, address, out)));
        this
    }

    fn act(&mut self, lane: usize, act: impl FnOnce(&mut dyn Lane, Nanos, &mut dyn Outbox)) {
        self.act_once(lane, Box::new(act));
    }

    fn act_once(&mut self, lane: usize, act: Act<'_>) {
        let mut out = Box_::default();
        act(self.lanes[lane].as_mut(), self.now, &mut out);
        self.sent.extend(out.sent.into_iter().map(|sent| (self.now, sent)));
        self.told.extend(out.told.into_iter().map(|told| (self.now, told)));
        if out.woken {
            self.act_once(1 - lane, Box::new(|lane, now, out| lane.run(now, out)));
        }
    }

    /// Lets time pass.
    pub fn run_until(&mut self, end: Nanos) {
        while let Some(due) = self.lanes.iter().filter_map(|lane| lane.due()).min().filter(|due| *due <= end) {
            self.now = self.now.max(due);
            for lane in 0..2 {
                if self.lanes[lane].due().is_some_and(|due| due <= self.now) {
                    self.act(lane, |lane, now, out| lane.run(now, out));
                }
            }
        }
        self.now = self.now.max(end);
    }

    pub fn run(&mut self, span: Nanos) {
        self.run_until(self.now + span);
    }

    /// A packet for the device.
    pub fn receive(&mut self, lane: usize, port: usize, from: Source, bytes: &[u8]) {
        self.act(lane, |lane, now, out| lane.receive(now, Received { port, from, bytes }, out));
    }

    /// A frame without its tag, to the lane whose it is.
    pub fn receive_frame(&mut self, frame: &[u8]) {
        let mut frame = frame.to_vec();
        if frame.len() > 18 && frame[12..14] == [0x81, 0x00] {
            frame.drain(12..16);
        }
        let Some(id) = frame.get(14..16) else { return };
        let from = Source::Ethernet(Mac(frame[6..12].try_into().unwrap()));
        match u16::from_be_bytes([id[0], id[1]]) {
            0x8000..=0xfbff => self.receive(CYCLIC, 0, from, &frame),
            0xfc01..=0xfe01 => self.receive(ACYCLIC, ALARMS, from, &frame),
            _ => {}
        }
    }

    /// Discovery has reset the station.
    pub fn reset(&mut self) {
        assert!(self.discovery.is_connected());
        self.discovery.publish(&Station { resets: 1, ..Station::default() });
        (0..2).for_each(|lane| self.act(lane, |lane, now, out| lane.run(now, out)));
    }

    /// The device is stopped.
    pub fn stop(&mut self) {
        (0..2).for_each(|lane| self.act(lane, |lane, now, out| lane.stop(now, out)));
    }

    /// The application measured.
    pub fn publish(&mut self, good: bool, image: &[u8]) {
        self.door.publish(self.now, good, image);
    }

    /// Whether a PLC sends outputs, whether it runs, and an output by name.
    pub fn output(&mut self, name: &str) -> (bool, bool, u32) {
        let point = self.configuration.points.outputs.get(name).unwrap();
        let (state, _, image) = self.door.outputs();
        let bytes = &image[point.offset..point.offset + point.kind.bytes()];
        let mut value = [0; 4];
        value[..bytes.len()].copy_from_slice(bytes);
        (state & State::VALID != 0, state & State::RUN != 0, u32::from_ne_bytes(value))
    }

    pub fn counter(&self, name: &str) -> u64 {
        let all = self.lanes.iter().flat_map(|lane| lane.counters());
        all.filter(|(other, _)| *other == name).map(|(_, count)| count).sum()
    }

    pub fn take_sent(&mut self) -> Vec<(Nanos, Sent)> {
        std::mem::take(&mut self.sent)
    }
}
