// SPDX-License-Identifier: Apache-2.0

use super::super::model::{ACCESS_POINT, Data, INTERFACE, Model, Module, PORT, Submodule};
use super::super::name::StationName;
use super::super::wire::block::Block;
use super::super::wire::rpc::{Arguments, Header, Operation};
use super::super::wire::{Reader, captured};
use super::plan::Plan;
use super::*;
use crate::application::image::{Image, Type};
use crate::application::layout::{Layout, Order};

/// That many bytes of inputs or outputs.
pub(super) fn data(bytes: usize) -> Data {
    let mut image = Image::default();
    let mut layout = Layout::new(Order::Big);
    let names: Vec<String> = (0..bytes).map(|n| format!("b{n}")).collect();
    for name in &names {
        image.add(name, Type::U8);
        layout.push(image.get(name).unwrap());
    }
    Data { layout, names }
}

pub(super) fn submodule(subslot: u16, ident: u32, inputs: usize, outputs: usize) -> Submodule {
    let name = "test".to_owned();
    Submodule { subslot, ident, name, inputs: data(inputs), outputs: data(outputs), records: Vec::new() }
}

/// The device of the captures: two modules with 1 and 8 bytes each way.
fn device() -> Model {
    let name = || "test".to_owned();
    let access_point =
        vec![submodule(ACCESS_POINT, 1, 0, 0), submodule(INTERFACE, 0x8000, 0, 0), submodule(PORT, 0x8001, 0, 0)];
    Model {
        station: "rt-labs-dev".into(),
        vendor_id: 0x0493,
        device_id: 2,
        vendor: name(),
        product: name(),
        order: name(),
        serial: name(),
        hardware: 1,
        software: [0, 0, 1],
        interval_min: 32,
        connections: 1,
        modules: vec![
            Module { slot: 0, ident: 1, name: name(), submodules: access_point },
            Module { slot: 1, ident: 0x32, name: name(), submodules: vec![submodule(1, 0x132, 1, 1)] },
            Module { slot: 2, ident: 0x40, name: name(), submodules: vec![submodule(1, 0x140, 8, 8)] },
        ],
    }
}

fn settings() -> Settings {
    Settings {
        device: device(),
        station: StationName::new(b"rt-labs-dev").unwrap(),
        own_name: StationName::new(b"tp").unwrap(),
        address: None,
        cycle: Cycle::from_us(8000).unwrap(),
        watchdog_factor: 10,
        parameters: Vec::new(),
        again_after: 1_000_000_000,
        seed: 1,
    }
}

/// The blocks of the first captured call of that kind.
fn captured_blocks(operation: u16) -> Vec<u8> {
    let frames = captured::frames("pn-rt1-8ms-connect-write-read-alarm-release");
    let mut datagrams = frames.iter().filter_map(|(_, frame)| frame.get(42..).filter(|_| frame[12..14] == [8, 0]));
    datagrams
        .find_map(|datagram| {
            let (header, body) = Header::decode(datagram).ok()?;
            let arguments = Arguments::decode(body, header.ndr()).ok()?;
            (header.kind == 0 && header.operation == operation).then(|| arguments.blocks.to_vec())
        })
        .unwrap()
}

#[test]
fn connect_is_what_a_captured_controller_sent() {
    let captured = captured_blocks(Operation::CONNECT);
    let Block::ArRequest(ar) = Block::decode(&mut Reader::new(&captured)).unwrap() else { panic!("no AR") };
    let settings = settings();
    let own = Plan::new(&settings).connect(&settings, ar.ar, ar.session, ar.mac);
    // Its object is the controller's own.
    let object = own.windows(16).position(|bytes| bytes[..10] == ar.object.0[..10]).unwrap();
    let mut own = own;
    own[object..object + 16].copy_from_slice(&ar.object.0);
    assert_eq!(own, captured);
}

#[test]
fn cycles_are_powers_of_two() {
    assert_eq!(Cycle::from_us(1000), Some(Cycle { send_clock: 32, reduction_ratio: 1 }));
    assert_eq!(Cycle::from_us(8000).unwrap().period(), 8_000_000);
    assert_eq!(Cycle::from_us(250), Some(Cycle { send_clock: 8, reduction_ratio: 1 }));
    assert_eq!(Cycle::from_us(512_000), Some(Cycle { send_clock: 32, reduction_ratio: 512 }));
    for us in [0, 100, 125, 750, 3000, 1_024_000, u64::MAX] {
        assert_eq!(Cycle::from_us(us), None);
    }
}
