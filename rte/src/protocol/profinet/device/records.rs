// SPDX-License-Identifier: Apache-2.0
//! What Read and Write calls find: the device's identity, what is plugged, diagnoses, and the application's records.

use super::check::Place;
use super::handle::Handle;
use crate::protocol::profinet::model::{self, Model};
use crate::protocol::profinet::wire::Put;
use crate::protocol::profinet::wire::block::{Block, Header, put_block};
use crate::protocol::profinet::wire::diagnosis::Diagnosis;
use crate::protocol::profinet::wire::expected::{Module, ModuleDiff};
use crate::protocol::profinet::wire::identification::{
    IM0_INDEX, Identification, RealIdentification, RealSlot, padded,
};
use crate::protocol::profinet::wire::record::RecordHeader;
use crate::protocol::profinet::wire::status::{Call, Status};

/// The last index of the application's records.
const USER_LAST: u16 = 0x7fff;
/// I&M0FilterData.
const IM0_FILTER: u16 = 0xf840;
/// ModuleDiffBlock of a connection.
const MODULE_DIFF: u16 = 0xe002;
/// BlockTypes of expected and of real identification data.
const EXPECTED: u16 = 0x0012;
const REAL: u16 = 0x0013;

/// What a connection adds to what the device knows.
#[derive(Clone, Copy, Debug)]
pub struct Connected<'a> {
    /// What was expected.
    pub modules: &'a [Module],
    /// In what that which is plugged differs.
    pub diff: &'a ModuleDiff,
}

/// I&M0 of a device.
pub fn identification(model: &Model) -> Identification {
    Identification {
        vendor: model.vendor_id,
        order: padded(&model.order),
        serial: padded(&model.serial),
        hardware: model.hardware,
        software: (b'V', model.software),
        revision_counter: 0,
        profile: 0,
        profile_type: 0,
        version: (1, 1),
        supported: 0,
    }
}

/// The record that a Read call asks for.
///
/// # Errors
/// If there is none.
pub fn read(
    model: &Model,
    handle: &Handle,
    connected: Option<Connected<'_>>,
    header: &RecordHeader,
) -> Result<Vec<u8>, Status> {
    let fail = |code: u8| Err(Status::record(Call::Read, code));
    let RecordHeader { api, slot, subslot, index, .. } = *header;
    if api != model::API {
        return fail(Status::INVALID_AREA);
    }
    let is_of_device = index >= 0xe000;
    if !is_of_device && index < 0xc000 && model.submodule(slot, subslot).is_none() {
        return fail(Status::INVALID_SLOT);
    }
    if (0xc000..0xe000).contains(&index) && model.module(slot).is_none() {
        return fail(Status::INVALID_SLOT);
    }
    let place = (slot, subslot);
    let mut record = Vec::new();
    match index {
        0..=USER_LAST => {
            let shared = handle.shared();
            return match shared.records.get(&(place, index)) {
                Some(data) => Ok(data.clone()),
                None => fail(Status::READ_ERROR),
            };
        }
        IM0_INDEX => Block::Identification(identification(model)).encode(&mut record),
        IM0_FILTER => im0_filter(model, &mut record),
        0x8001 | 0xc001 | 0xe001 | 0xf000 => real(model, index, place).encode(&mut record),
        0x8000 | 0xc000 | 0xe000 => match connected {
            Some(connected) => expected(connected.modules, index, place).encode(&mut record),
            None => return fail(Status::STATE_CONFLICT),
        },
        MODULE_DIFF => match connected {
            Some(connected) if !connected.diff.modules.is_empty() => {
                Block::ModuleDiff(connected.diff.clone()).encode(&mut record);
            }
            Some(_) => {}
            None => return fail(Status::STATE_CONFLICT),
        },
        0x800a..=0x800c | 0xc00a..=0xc00c | 0xe00a..=0xe00c | 0xf00a..=0xf00c => {
            diagnoses(handle, index, place, &mut record);
        }
        _ => return fail(Status::INVALID_INDEX),
    }
    Ok(record)
}

/// Writes a record of the application.
///
/// # Errors
/// If there is none, or it has another length.
pub fn write(model: &Model, handle: &Handle, header: &RecordHeader, data: &[u8]) -> Result<(), Status> {
    let fail = |code: u8| Err(Status::record(Call::Write, code));
    if header.api != model::API {
        return fail(Status::INVALID_AREA);
    }
    let Some(submodule) = model.submodule(header.slot, header.subslot) else { return fail(Status::INVALID_SLOT) };
    if header.index > USER_LAST {
        return fail(if header.index == IM0_INDEX { Status::ACCESS_DENIED } else { Status::INVALID_INDEX });
    }
    match submodule.records.iter().find(|record| record.index == header.index) {
        None => fail(Status::INVALID_INDEX),
        Some(record) if record.bytes != data.len() => fail(Status::WRITE_LENGTH),
        Some(_) => {
            handle.shared().write((header.slot, header.subslot), header.index, data);
            Ok(())
        }
    }
}

/// Whether a record that covers a subslot, a slot or all is about that place.
fn covers(index: u16, place: Place, other: Place) -> bool {
    match index {
        0x8000..=0xbfff => other == place,
        0xc000..=0xdfff => other.0 == place.0,
        _ => true,
    }
}

fn real(model: &Model, index: u16, place: Place) -> Block {
    let mut slots: Vec<RealSlot> = Vec::new();
    for module in &model.modules {
        let subslots =
            module.submodules.iter().filter(|submodule| covers(index, place, (module.slot, submodule.subslot)));
        let subslots: Vec<_> = subslots.map(|submodule| (submodule.subslot, submodule.ident)).collect();
        if !subslots.is_empty() {
            slots.push((module.slot, module.ident, subslots));
        }
    }
    Block::RealIdentification(RealIdentification { kind: REAL, apis: vec![(model::API, slots)] })
}

fn expected(modules: &[Module], index: u16, place: Place) -> Block {
    let mut slots: Vec<RealSlot> = Vec::new();
    for module in modules.iter().filter(|module| module.api == model::API) {
        let subslots =
            module.submodules.iter().filter(|submodule| covers(index, place, (module.slot, submodule.subslot)));
        let subslots: Vec<_> = subslots.map(|submodule| (submodule.subslot, submodule.ident)).collect();
        if !subslots.is_empty() {
            slots.push((module.slot, module.ident, subslots));
        }
    }
    Block::RealIdentification(RealIdentification { kind: EXPECTED, apis: vec![(model::API, slots)] })
}

fn diagnoses(handle: &Handle, index: u16, place: Place, record: &mut Vec<u8>) {
    let shared = handle.shared();
    let mut blocks: Vec<Diagnosis> = Vec::new();
    for ((at, ..), channel) in shared.diagnoses.iter().filter(|((at, ..), _)| covers(index, place, *at)) {
        match blocks.last_mut() {
            Some(block) if (block.slot, block.subslot) == *at => block.channels.push(*channel),
            _ => blocks.push(Diagnosis { api: model::API, slot: at.0, subslot: at.1, channels: vec![*channel] }),
        }
    }
    blocks.into_iter().for_each(|block| Block::Diagnosis(block).encode(record));
}

/// Which submodules have I&M data of their own: the access point alone, which is also the device's (0x0032).
fn im0_filter(model: &Model, record: &mut Vec<u8>) {
    let ident = model.module(0).map_or(0, |module| module.ident);
    for kind in [0x0030, 0x0032] {
        put_block(record, Header { kind, version: (1, 0) }, |out| {
            out.put16(1);
            out.put32(model::API);
            out.put16(1);
            out.put16(0);
            out.put32(ident);
            out.put16(1);
            out.put16(model::ACCESS_POINT);
            out.put32(u32::from(model::ACCESS_POINT));
        });
    }
}
