// SPDX-License-Identifier: Apache-2.0
//! A slave with its application, and what a lane sends.

use std::collections::VecDeque;
use std::net::SocketAddrV4;

use weir_io::application::endpoint::{Door, Endpoint, Safe};
use weir_io::application::image::{Image, Type};
use weir_io::application::layout::{Layout, Order};
use weir_io::application::memory::{Memory, Plan};
use weir_io::protocol::cclink::slave::{Control, MasterStop, Settings, slave};
use weir_io::protocol::cclink::{Identity, STATION_BITS, STATION_WORDS};
use weir_io::protocol::{AddressRequest, Lane, Nanos, Outbox};

const MS: Nanos = 1_000_000;

/// What a lane sends.
#[derive(Default)]
pub struct Sent {
    pub datagrams: VecDeque<(SocketAddrV4, Vec<u8>)>,
    pub requests: Vec<AddressRequest>,
    pub told: Vec<String>,
}

impl Outbox for Sent {
    fn frame(&mut self, _: usize, _: &[u8]) {
        panic!("CC-Link sends datagrams");
    }

    fn datagram(&mut self, _: usize, to: SocketAddrV4, payload: &[u8]) {
        self.datagrams.push_back((to, payload.to_vec()));
    }

    fn stream(&mut self, _: usize, _: u32, _: &[u8]) {
        panic!("CC-Link sends datagrams");
    }

    fn close(&mut self, _: usize, _: u32) {
        panic!("CC-Link has no connections");
    }

    fn wake_others(&mut self) {}

    fn request_address(&mut self, request: AddressRequest) {
        self.requests.push(request);
    }

    fn tell(&mut self, event: &str) {
        self.told.push(event.to_owned());
    }
}

/// A slave all of whose bits and words are data points, in the order of the wire.
pub struct Device {
    pub lanes: Vec<Box<dyn Lane>>,
    pub control: Control,
    pub door: Door,
    pub stations: usize,
}

/// Bits first, then words, so that an image is the wire's bytes with a byte for each bit.
fn everything(stations: usize) -> (Image, Layout, Layout) {
    let mut image = Image::default();
    let (mut bits, mut words) = (Layout::new(Order::Little), Layout::new(Order::Little));
    for n in 0..STATION_BITS * stations {
        let name = format!("bit{n}");
        image.add(&name, Type::Bool);
        bits.push(image.get(&name).unwrap());
    }
    for n in 0..STATION_WORDS * stations {
        let name = format!("word{n}");
        image.add(&name, Type::U16);
        words.push(image.get(&name).unwrap());
    }
    (image, bits, words)
}

/// The image with these bits and words.
pub fn image(bits: &[u8], words: &[u8]) -> Vec<u8> {
    let bits = bits.iter().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1));
    bits.chain(words.chunks(2).flat_map(|word| u16::from_le_bytes([word[0], word[1]]).to_ne_bytes())).collect()
}

impl Device {
    pub fn new(stations: usize, identity: Identity, change: impl FnOnce(&mut Settings)) -> Self {
        let (image, bits, words) = everything(stations);
        let plan = Plan { inputs: image.bytes(), outputs: image.bytes(), endpoints: 1 };
        let memory = Memory::anonymous(plan).unwrap();
        let safe = Safe { values: vec![0; image.bytes()], replaced: vec![true; image.bytes()] };
        let endpoint = Endpoint::new(&memory, 0, safe, 100_000 * MS, 0);
        let mut settings = Settings {
            name: "cclink".to_owned(),
            identity,
            version: 2,
            stations,
            rx: bits.clone(),
            rwr: words.clone(),
            ry: bits,
            rww: words,
            application_stop: Default::default(),
            application_error: 1,
            master_stop: MasterStop::Pass,
            may_set_address: true,
            cycle: MS,
        };
        change(&mut settings);
        let (lanes, control) = slave(settings, endpoint);
        Self { lanes, control, door: Door::new(&memory, 0), stations }
    }

    pub fn image_bytes(&self) -> usize {
        (STATION_BITS + 2 * STATION_WORDS) * self.stations
    }
}
