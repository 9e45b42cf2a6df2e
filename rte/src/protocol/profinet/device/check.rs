// SPDX-License-Identifier: Apache-2.0
//! Whether a Connect request is one that can be served; what is agreed on if it is.

use std::collections::BTreeSet;

use super::link::{Consumed, Part, Provided, Relation};
use crate::application::layout::{Layout, Order};
use crate::protocol::Nanos;
use crate::protocol::profinet::model::{self, Model};
use crate::protocol::profinet::wire::ETHERTYPE;
use crate::protocol::profinet::wire::block::Block;
use crate::protocol::profinet::wire::connect::{AR_TYPE_IO_CONTROLLER, AlarmCrRequest, ArProperty, ArRequest};
use crate::protocol::profinet::wire::expected::{
    DataDescription, DifferentModule, DifferentSubmodule, Module, ModuleDiff, ModuleState, Submodule, SubmoduleState,
    TYPE_MASK,
};
use crate::protocol::profinet::wire::iocr::{CLOCK_NANOS, INPUT, IocrRequest, Item, OUTPUT};
use crate::protocol::profinet::wire::rpc::object;
use crate::protocol::profinet::wire::rt::{BAD, GOOD};
use crate::protocol::profinet::wire::status::{Call, Fault, Rpc, Status};

/// Data is not held for longer.
const HELD_MAX: Nanos = 1_920_000_000;
/// Tags: priority 6, and 5 for low alarms; no VLAN.
const TAG_CYCLIC: u16 = 0xc000;
const TAG_LOW: u16 = 0xa000;
const NO_OFFSET: u32 = u32::MAX;
/// The controller leaves the FrameID to the device.
const ANY_FRAME_ID: u16 = 0xffff;

/// A Connect request, its blocks in their places.
#[derive(Clone, Debug)]
pub struct Request {
    /// Who connects.
    pub ar: ArRequest,
    /// In the order of the request.
    pub iocrs: Vec<IocrRequest>,
    /// About alarms.
    pub alarm: AlarmCrRequest,
    /// What is expected to be plugged, of all blocks.
    pub modules: Vec<Module>,
}

/// The data of a CR, and where the statuses of which consumers are.
type Frame = (Vec<Part>, Vec<(usize, Place)>);

/// A subslot of a slot.
pub type Place = (u16, u16);

/// What else must be known to judge a request.
#[derive(Debug)]
pub struct Circumstances<'a> {
    /// The device.
    pub model: &'a Model,
    /// What other controllers have.
    pub taken: &'a BTreeSet<Place>,
    /// FrameIDs that other controllers send with.
    pub frame_ids: &'a BTreeSet<u16>,
    /// The new connection's number.
    pub number: u64,
}

/// What was agreed on.
#[derive(Clone, Debug)]
pub struct Agreed {
    /// The cyclic part.
    pub relation: Relation,
    /// In what that which is plugged differs from what is expected.
    pub diff: ModuleDiff,
    /// What the controller gets.
    pub places: BTreeSet<Place>,
}

fn ensure(condition: bool, fault: Fault, field: u8) -> Result<(), Status> {
    if condition { Ok(()) } else { Err(Status::block(Call::Connect, fault, field)) }
}

impl Request {
    /// Puts blocks in their places.
    ///
    /// # Errors
    /// If there are too few, too many or others.
    pub fn new(blocks: Vec<Block>) -> Result<Self, Status> {
        let (mut ar, mut iocrs, mut alarms, mut modules) = (None, Vec::new(), Vec::new(), Vec::new());
        for block in blocks {
            match block {
                Block::ArRequest(block) if ar.is_none() => ar = Some(block),
                Block::IocrRequest(block) => iocrs.push(block),
                Block::AlarmCrRequest(block) => alarms.push(block),
                Block::Expected(block) => modules.extend(block.modules),
                _ => return Err(Status::rpc(Call::Connect, Rpc::UnknownBlocks)),
            }
        }
        let ar = ar.ok_or(Status::rpc(Call::Connect, Rpc::UnknownBlocks))?;
        let [alarm] = alarms[..] else { return Err(Status::rpc(Call::Connect, Rpc::AlarmCrCount)) };
        Ok(Self { ar, iocrs, alarm, modules })
    }

    /// Whether the controller wants the newer way to start.
    pub fn is_advanced(&self) -> bool {
        self.ar.properties & ArProperty::ADVANCED_START != 0
    }

    /// What is agreed on.
    ///
    /// # Errors
    /// Which field of which block cannot be as it is.
    pub fn check(&self, around: &Circumstances<'_>) -> Result<Agreed, Status> {
        check_ar(&self.ar)?;
        check_modules(&self.modules)?;
        let one = |kind: u16| {
            let mut of_kind = self.iocrs.iter().filter(|iocr| iocr.kind == kind);
            let one = of_kind.next().ok_or(Status::rpc(Call::Connect, Rpc::IocrMissing))?;
            ensure(of_kind.next().is_none(), Fault::Iocr, 4).map(|()| one)
        };
        ensure(self.iocrs.iter().all(|iocr| matches!(iocr.kind, INPUT | OUTPUT)), Fault::Iocr, 4)?;
        let (input, output) = (one(INPUT)?, one(OUTPUT)?);
        ensure(input.reference != output.reference, Fault::Iocr, 5)?;
        for iocr in [input, output] {
            self.check_iocr(iocr, around)?;
        }
        check_alarm(&self.alarm)?;
        let (diff, places) = self.compare(around)?;
        let provided = self.provided(input, around, &places)?;
        let consumed = self.consumed(output, around, &places)?;
        let relation = Relation { number: around.number, mac: self.ar.mac, provided, consumed };
        Ok(Agreed { relation, diff, places })
    }

    fn check_iocr(&self, iocr: &IocrRequest, around: &Circumstances<'_>) -> Result<(), Status> {
        let check = |condition: bool, field: u8| ensure(condition, Fault::Iocr, field);
        check(iocr.ethertype == ETHERTYPE, 6)?;
        let classes = if self.is_advanced() { 2..=2 } else { 1..=2 };
        check(classes.contains(&iocr.rt_class()), 7)?;
        check((40..=1440).contains(&iocr.data_bytes), 8)?;
        let is_any = iocr.kind == OUTPUT && iocr.frame_id == ANY_FRAME_ID;
        check(is_any || frame_ids(iocr).contains(&iocr.frame_id), 9)?;
        check(!(iocr.kind == OUTPUT && around.frame_ids.contains(&iocr.frame_id)), 9)?;
        check((1..=128).contains(&iocr.send_clock), 10)?;
        check((1..=512).contains(&iocr.reduction_ratio), 11)?;
        let period = iocr.period();
        check(period >= CLOCK_NANOS * Nanos::from(around.model.interval_min), 11)?;
        check((1..=iocr.reduction_ratio).contains(&iocr.phase), 12)?;
        let clock = CLOCK_NANOS * Nanos::from(iocr.send_clock);
        check(iocr.send_offset == NO_OFFSET || Nanos::from(iocr.send_offset) < clock, 14)?;
        let is_time = |factor: u16| (1..=0x1e00).contains(&factor) && Nanos::from(factor) * period <= HELD_MAX;
        check(is_time(iocr.watchdog_factor), 15)?;
        check(is_time(iocr.data_hold_factor), 16)?;
        check(iocr.tag == TAG_CYCLIC, 17)?;
        check(!iocr.apis.is_empty(), 19)?;
        check(iocr.apis.iter().all(|api| api.api == model::API), 20)
    }

    /// Which of the expected submodules are plugged and free, and how the others differ.
    fn compare(&self, around: &Circumstances<'_>) -> Result<(ModuleDiff, BTreeSet<Place>), Status> {
        let mut diff = ModuleDiff::default();
        let mut places = BTreeSet::new();
        for module in &self.modules {
            let mut different = DifferentModule { api: module.api, slot: module.slot, ..DifferentModule::default() };
            match around.model.module(module.slot).filter(|_| module.api == model::API) {
                None => different.state = ModuleState::NONE,
                Some(real) if real.ident != module.ident => {
                    different.ident = real.ident;
                    different.state = ModuleState::WRONG;
                }
                Some(real) => {
                    different.ident = real.ident;
                    different.state = ModuleState::PROPER;
                    for submodule in &module.submodules {
                        match difference(real, submodule, around.taken)? {
                            Some(other) => different.submodules.push(other),
                            None => _ = places.insert((module.slot, submodule.subslot)),
                        }
                    }
                    if different.submodules.is_empty() {
                        continue;
                    }
                }
            }
            diff.modules.push(different);
        }
        diff.modules.sort_by_key(|module| (module.api, module.slot));
        Ok((diff, places))
    }

    fn expected(&self, item: &Item, slot_field: u8) -> Result<&Submodule, Status> {
        let module = self.modules.iter().find(|module| module.slot == item.slot && module.api == model::API);
        let module = module.ok_or(Status::block(Call::Connect, Fault::Iocr, slot_field))?;
        let submodule = module.submodules.iter().find(|submodule| submodule.subslot == item.subslot);
        submodule.ok_or(Status::block(Call::Connect, Fault::Iocr, slot_field + 1))
    }

    /// The data of a CR, in a frame in which nothing overlaps; and where its statuses are.
    fn frame(&self, iocr: &IocrRequest, around: &Circumstances<'_>, places: &BTreeSet<Place>) -> Result<Frame, Status> {
        let mut is_used = vec![false; usize::from(iocr.data_bytes)];
        let mut occupy = |at: usize, bytes: usize, field: u8| {
            let range = is_used.get_mut(at..at + bytes).filter(|range| !range.contains(&true));
            range.map(|range| range.fill(true)).ok_or(Status::block(Call::Connect, Fault::Iocr, field))
        };
        let (mut parts, mut statuses) = (Vec::new(), Vec::new());
        let mut seen = BTreeSet::new();
        for item in iocr.apis.iter().flat_map(|api| &api.data) {
            let submodule = self.expected(item, 22)?;
            let place = (item.slot, item.subslot);
            let data = submodule.data.iter().find(|data| data.direction == iocr.kind);
            let data = data.filter(|_| seen.insert(place)).ok_or(Status::block(Call::Connect, Fault::Iocr, 23))?;
            let (at, bytes) = (usize::from(item.offset), usize::from(data.bytes));
            occupy(at, bytes + 1, 24)?;
            let real = around.model.submodule(item.slot, item.subslot).filter(|_| places.contains(&place));
            let layout = real.map(|real| match iocr.kind {
                _ if bytes == 0 => Layout::new(Order::Big),
                INPUT => real.inputs.layout.clone(),
                _ => real.outputs.layout.clone(),
            });
            parts.push(Part { at, bytes, layout });
        }
        seen.clear();
        for item in iocr.apis.iter().flat_map(|api| &api.status) {
            self.expected(item, 26)?;
            let place = (item.slot, item.subslot);
            ensure(seen.insert(place), Fault::Iocr, 27)?;
            occupy(usize::from(item.offset), 1, 28)?;
            statuses.push((usize::from(item.offset), place));
        }
        Ok((parts, statuses))
    }

    fn provided(
        &self,
        iocr: &IocrRequest,
        around: &Circumstances<'_>,
        places: &BTreeSet<Place>,
    ) -> Result<Provided, Status> {
        let (parts, statuses) = self.frame(iocr, around, places)?;
        let status = |place: &Place| if places.contains(place) { GOOD } else { BAD };
        let clock = CLOCK_NANOS * Nanos::from(iocr.send_clock);
        let in_clock = if iocr.send_offset == NO_OFFSET { 0 } else { Nanos::from(iocr.send_offset) };
        Ok(Provided {
            frame_id: iocr.frame_id,
            tag: iocr.tag,
            bytes: usize::from(iocr.data_bytes),
            period: iocr.period(),
            offset: clock * Nanos::from(iocr.phase - 1) + in_clock,
            parts,
            consumers: statuses.iter().map(|(at, place)| (*at, status(place))).collect(),
        })
    }

    fn consumed(
        &self,
        iocr: &IocrRequest,
        around: &Circumstances<'_>,
        places: &BTreeSet<Place>,
    ) -> Result<Consumed, Status> {
        let (parts, _) = self.frame(iocr, around, places)?;
        let frame_id = match iocr.frame_id {
            ANY_FRAME_ID => frame_ids(iocr).find(|id| !around.frame_ids.contains(id)).unwrap_or(ANY_FRAME_ID),
            id => id,
        };
        let held = Nanos::from(iocr.data_hold_factor) * iocr.period();
        Ok(Consumed { frame_id, bytes: usize::from(iocr.data_bytes), held, parts })
    }
}

/// FrameIDs of a CR's RT class.
fn frame_ids(iocr: &IocrRequest) -> std::ops::RangeInclusive<u16> {
    if iocr.rt_class() == 1 { 0xc000..=0xf7ff } else { 0x8000..=0xbbff }
}

fn check_ar(ar: &ArRequest) -> Result<(), Status> {
    let check = |condition: bool, field: u8| ensure(condition, Fault::Ar, field);
    check(ar.kind == AR_TYPE_IO_CONTROLLER, 4)?;
    check(ar.ar.0 != [0; 16], 5)?;
    check(!ar.mac.is_group() && ar.mac.0 != [0; 6], 7)?;
    check(ar.object.0[..10] == object(0, 0, 0).0[..10], 8)?;
    let is_active = ar.properties & ArProperty::STATE == 1;
    let refused = ArProperty::DEVICE_ACCESS;
    check(is_active && ar.properties & refused == 0 && ar.properties & ArProperty::PARAMETERS_BY_INITIATOR != 0, 9)?;
    check((1..=1000).contains(&ar.activity_timeout), 10)?;
    check(ar.udp_rt_port == ETHERTYPE, 11)?;
    check((1..=240).contains(&ar.station.len()), 12)
}

fn check_alarm(alarm: &AlarmCrRequest) -> Result<(), Status> {
    let check = |condition: bool, field: u8| ensure(condition, Fault::AlarmCr, field);
    check(alarm.kind == 1, 4)?;
    check(alarm.ethertype == ETHERTYPE, 5)?;
    check(alarm.properties & !1 == 0, 6)?;
    check((1..=100).contains(&alarm.timeout), 7)?;
    check((3..=15).contains(&alarm.retries), 8)?;
    check((200..=1432).contains(&alarm.data_bytes_max), 10)?;
    check(alarm.tag_high == TAG_CYCLIC, 11)?;
    check(alarm.tag_low == TAG_LOW, 12)
}

fn check_modules(modules: &[Module]) -> Result<(), Status> {
    let check = |condition: bool, field: u8| ensure(condition, Fault::Expected, field);
    check(!modules.is_empty(), 4)?;
    let mut places = BTreeSet::new();
    let mut slots = BTreeSet::new();
    for module in modules {
        check(slots.insert((module.api, module.slot)), 6)?;
        check(!module.submodules.is_empty(), 9)?;
        for submodule in &module.submodules {
            check(places.insert((module.api, module.slot, submodule.subslot)), 10)?;
            // Data without statuses, or of another length than is said, is for other kinds of connections.
            check(submodule.properties & 0x38 == 0, 12)?;
            let directions: &[u16] = match submodule.properties & TYPE_MASK {
                3 => &[INPUT, OUTPUT],
                2 => &[OUTPUT],
                _ => &[INPUT],
            };
            check(submodule.data.iter().map(|data| data.direction).eq(directions.iter().copied()), 13)?;
            check(submodule.data.iter().all(|data| data.bytes < 1440), 14)?;
            check(submodule.data.iter().all(|data| data.iops_bytes == 1), 15)?;
            check(submodule.data.iter().all(|data| data.iocs_bytes == 1), 16)?;
        }
    }
    Ok(())
}

/// How what is plugged differs from a submodule that is expected.
fn difference(
    real: &model::Module,
    expected: &Submodule,
    taken: &BTreeSet<Place>,
) -> Result<Option<DifferentSubmodule>, Status> {
    let subslot = expected.subslot;
    let Some(submodule) = real.submodules.iter().find(|submodule| submodule.subslot == subslot) else {
        return Ok(Some(DifferentSubmodule { subslot, ident: 0, state: SubmoduleState::NONE }));
    };
    let ident = submodule.ident;
    if ident != expected.ident {
        return Ok(Some(DifferentSubmodule { subslot, ident, state: SubmoduleState::WRONG }));
    }
    let bytes =
        |data: &DataDescription| if data.direction == INPUT { &submodule.inputs } else { &submodule.outputs }.bytes();
    let is_same =
        |direction: u16, real: usize| expected.data.iter().any(|data| data.direction == direction) || real == 0;
    let are_same = is_same(INPUT, submodule.inputs.bytes()) && is_same(OUTPUT, submodule.outputs.bytes());
    ensure(are_same && expected.data.iter().all(|data| usize::from(data.bytes) == bytes(data)), Fault::Expected, 14)?;
    // The access point and the interface are everybody's.
    if real.slot != 0 && taken.contains(&(real.slot, subslot)) {
        return Ok(Some(DifferentSubmodule { subslot, ident, state: SubmoduleState::LOCKED_BY_CONTROLLER }));
    }
    Ok(None)
}
