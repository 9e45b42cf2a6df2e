// SPDX-License-Identifier: Apache-2.0
//! What lies where in the frames, and what Connect tells the device of it.

use super::super::model::{API, Submodule};
use super::super::wire::block::Block;
use super::super::wire::connect::{AR_TYPE_IO_CONTROLLER, AlarmCrRequest, ArProperty, ArRequest};
use super::super::wire::expected::{DataDescription, Expected, Module, Submodule as ExpectedSubmodule};
use super::super::wire::iocr::{Api, INPUT, IocrRequest, Item, OUTPUT};
use super::super::wire::{ETHERTYPE, Uuid, rpc};
use super::settings::Settings;
use crate::protocol::Mac;

/// Statuses and data have at least that many bytes.
const DATA_BYTES_MIN: u16 = 40;
/// References of the two directions.
pub(super) const INPUT_REFERENCE: u16 = 1;
pub(super) const OUTPUT_REFERENCE: u16 = 2;
/// The controller's end of the alarms.
pub(super) const ALARM_REFERENCE: u16 = 1;
/// FrameID of inputs: the first of RT class 1 as long as there is one connection.
pub(super) const INPUT_FRAME_ID: u16 = 0xc001;
/// The device chooses its own.
const ANY_FRAME_ID: u16 = 0xffff;
/// A resent alarm's timeout in 100 ms, and how often.
pub(super) const ALARM_TIMEOUT: u16 = 1;
pub(super) const ALARM_RETRIES: u16 = 3;
/// VLAN tags: priorities 6 and 5.
pub(super) const TAG: u16 = 0xc000;
pub(super) const TAG_LOW: u16 = 0xa000;
/// The device waits that long, in 100 ms, for the controller's next step.
const ACTIVITY_TIMEOUT: u16 = 100;

/// A submodule's data in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) item: Item,
    pub(super) bytes: usize,
}

/// One direction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Direction {
    /// Data, each followed by its IOPS.
    pub(super) data: Vec<Field>,
    /// IOCS of the other direction.
    pub(super) status: Vec<Item>,
    end: u16,
}

impl Direction {
    fn push_data(&mut self, slot: u16, subslot: u16, bytes: usize) {
        self.data.push(Field { item: Item { slot, subslot, offset: self.end }, bytes });
        self.end += bytes as u16 + 1;
    }

    fn push_status(&mut self, slot: u16, subslot: u16) {
        self.status.push(Item { slot, subslot, offset: self.end });
        self.end += 1;
    }

    /// Bytes of data and statuses.
    pub(super) fn bytes(&self) -> u16 {
        self.end.max(DATA_BYTES_MIN)
    }

    /// Bytes of all submodules' data, without statuses.
    pub(super) fn image_bytes(&self) -> usize {
        self.data.iter().map(|field| field.bytes).sum()
    }

    fn api(&self) -> Api {
        Api { api: API, data: self.data.iter().map(|field| field.item).collect(), status: self.status.clone() }
    }
}

/// Both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) inputs: Direction,
    pub(super) outputs: Direction,
}

/// Whether a submodule stands among the inputs: also if it has no data at all.
fn has_inputs(submodule: &Submodule) -> bool {
    submodule.inputs.bytes() > 0 || submodule.outputs.bytes() == 0
}

impl Plan {
    /// Data first, then statuses, in the order of the slots.
    pub(super) fn new(settings: &Settings) -> Self {
        let mut this = Self::default();
        let all =
            || settings.device.modules.iter().flat_map(|module| module.submodules.iter().map(|sub| (module.slot, sub)));
        for (slot, submodule) in all() {
            if has_inputs(submodule) {
                this.inputs.push_data(slot, submodule.subslot, submodule.inputs.bytes());
            }
            if submodule.outputs.bytes() > 0 {
                this.outputs.push_data(slot, submodule.subslot, submodule.outputs.bytes());
            }
        }
        for (slot, submodule) in all() {
            if has_inputs(submodule) {
                this.outputs.push_status(slot, submodule.subslot);
            }
            if submodule.outputs.bytes() > 0 {
                this.inputs.push_status(slot, submodule.subslot);
            }
        }
        this
    }

    /// The blocks of a Connect request.
    pub(super) fn connect(&self, settings: &Settings, ar: Uuid, session: u16, mac: Mac) -> Vec<u8> {
        let device = &settings.device;
        let mut blocks = vec![
            Block::ArRequest(ArRequest {
                kind: AR_TYPE_IO_CONTROLLER,
                ar,
                session,
                mac,
                // The controller is one of the same vendor; no device of theirs has the number 0.
                object: rpc::object(1, 0, device.vendor_id),
                properties: 1 | ArProperty::PARAMETERS_BY_INITIATOR,
                activity_timeout: ACTIVITY_TIMEOUT,
                udp_rt_port: ETHERTYPE,
                station: settings.own_name.as_str().as_bytes().to_vec(),
            }),
            Block::IocrRequest(Self::iocr(settings, INPUT, INPUT_REFERENCE, INPUT_FRAME_ID, &self.inputs)),
            Block::IocrRequest(Self::iocr(settings, OUTPUT, OUTPUT_REFERENCE, ANY_FRAME_ID, &self.outputs)),
            Block::AlarmCrRequest(AlarmCrRequest {
                kind: 1,
                ethertype: ETHERTYPE,
                properties: 0,
                timeout: ALARM_TIMEOUT,
                retries: ALARM_RETRIES,
                reference: ALARM_REFERENCE,
                data_bytes_max: 200,
                tag_high: TAG,
                tag_low: TAG_LOW,
            }),
        ];
        let modules = device.modules.iter().map(|module| {
            let submodules = module.submodules.iter().map(expected).collect();
            Module { api: API, slot: module.slot, ident: module.ident, properties: 0, submodules }
        });
        blocks.push(Block::Expected(Expected { modules: modules.collect() }));
        let mut bytes = Vec::new();
        blocks.iter().for_each(|block| block.encode(&mut bytes));
        bytes
    }

    fn iocr(settings: &Settings, kind: u16, reference: u16, frame_id: u16, direction: &Direction) -> IocrRequest {
        IocrRequest {
            kind,
            reference,
            ethertype: ETHERTYPE,
            properties: 1,
            data_bytes: direction.bytes(),
            frame_id,
            send_clock: settings.cycle.send_clock,
            reduction_ratio: settings.cycle.reduction_ratio,
            phase: 1,
            sequence: 0,
            send_offset: u32::MAX,
            watchdog_factor: settings.watchdog_factor,
            data_hold_factor: settings.watchdog_factor,
            tag: TAG,
            multicast: Mac::default(),
            apis: vec![direction.api()],
        }
    }
}

fn expected(submodule: &Submodule) -> ExpectedSubmodule {
    let (inputs, outputs) = (submodule.inputs.bytes() as u16, submodule.outputs.bytes() as u16);
    let description = |direction, bytes| DataDescription { direction, bytes, iocs_bytes: 1, iops_bytes: 1 };
    let mut data = Vec::new();
    if has_inputs(submodule) {
        data.push(description(INPUT, inputs));
    }
    if outputs > 0 {
        data.push(description(OUTPUT, outputs));
    }
    let properties = u16::from(inputs > 0) | u16::from(outputs > 0) << 1;
    ExpectedSubmodule { subslot: submodule.subslot, ident: submodule.ident, properties, data }
}
