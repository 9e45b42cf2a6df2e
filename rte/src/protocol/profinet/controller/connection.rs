// SPDX-License-Identifier: Apache-2.0
//! A connection from Connect on.

use std::net::Ipv4Addr;

use super::super::wire::block::{Block, ControlKind};
use super::super::wire::control::{Command, Control};
use super::super::wire::iocr::{INPUT, OUTPUT};
use super::super::wire::record::RecordHeader;
use super::super::wire::rpc::{self, Operation};
use super::super::wire::{Reader, Uuid};
use super::alarms::Alarms;
use super::call::Call;
use super::cyclic::{Consumer, Provider};
use super::plan::{INPUT_REFERENCE, OUTPUT_REFERENCE, Plan};
use super::settings::{Parameter, Settings};
use crate::protocol::{Mac, Nanos};

/// What the device answered to Connect.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Agreed {
    pub(super) input_frame_id: u16,
    pub(super) output_frame_id: u16,
    pub(super) alarm_reference: u16,
    /// Modules and submodules that are not as they should be.
    pub(super) differences: usize,
}

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Connecting,
    /// Writes the parameter of this number.
    Writing(usize),
    Ending,
    Waiting,
    Data,
    Releasing,
}

/// A connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) mac: Mac,
    pub(super) ip: Ipv4Addr,
    ar: Uuid,
    session: u16,
    activity: Uuid,
    object: Uuid,
    calls: u32,
    records: u16,
    pub(super) call: Option<Call>,
    pub(super) step: Step,
    /// The device has said that it is ready.
    pub(super) ready: bool,
    /// When the device must have said so.
    pub(super) ready_until: Nanos,
    pub(super) input_frame_id: u16,
    pub(super) cyclic: Option<(Provider, Consumer)>,
    pub(super) alarms: Option<[Alarms; 2]>,
    /// What the call is about, if it is about a record.
    pub(super) record: Option<u16>,
}

impl Connection {
    pub(super) fn new(mac: Mac, ip: Ipv4Addr, settings: &Settings, draw: [u64; 4], session: u16) -> Self {
        Self {
            mac,
            ip,
            ar: uuid(draw[0], draw[1]),
            session,
            activity: uuid(draw[2], draw[3]),
            object: rpc::object(1, settings.device.device_id, settings.device.vendor_id),
            calls: 0,
            records: 0,
            call: None,
            step: Step::Connecting,
            ready: false,
            ready_until: 0,
            input_frame_id: 0,
            cyclic: None,
            alarms: None,
            record: None,
        }
    }

    fn begin(&mut self, now: Nanos, operation: u16, blocks: &[u8]) {
        self.call = Some(Call::new(now, self.object, self.activity, self.calls, operation, blocks));
        self.calls += 1;
    }

    pub(super) fn connect(&mut self, now: Nanos, plan: &Plan, settings: &Settings, own: Mac) {
        let blocks = plan.connect(settings, self.ar, self.session, own);
        self.begin(now, Operation::CONNECT, &blocks);
    }

    /// What the device answered, if it fits.
    pub(super) fn agreed(&self, blocks: &[u8]) -> Option<Agreed> {
        let mut agreed = Agreed::default();
        let mut reader = Reader::new(blocks);
        let mut is_this = false;
        while !reader.rest().is_empty() {
            match Block::decode(&mut reader).ok()? {
                Block::ArResponse(ar) => is_this = ar.ar == self.ar && ar.session == self.session,
                Block::IocrResponse(iocr) => match (iocr.kind, iocr.reference) {
                    (INPUT, INPUT_REFERENCE) => agreed.input_frame_id = iocr.frame_id,
                    (OUTPUT, OUTPUT_REFERENCE) => agreed.output_frame_id = iocr.frame_id,
                    _ => return None,
                },
                Block::AlarmCrResponse(alarm) => agreed.alarm_reference = alarm.reference,
                Block::ModuleDiff(diff) => agreed.differences = diff.modules.len(),
                _ => {}
            }
        }
        (is_this && agreed.input_frame_id != 0 && agreed.output_frame_id != 0).then_some(agreed)
    }

    fn control(&mut self, now: Nanos, operation: u16, kind: u16, command: u16) {
        let mut blocks = Vec::new();
        let control = Control { ar: self.ar, session: self.session, command, ..Control::default() };
        Block::Control(kind, control).encode(&mut blocks);
        self.begin(now, operation, &blocks);
    }

    pub(super) fn end_parameters(&mut self, now: Nanos) {
        self.step = Step::Ending;
        self.control(now, Operation::CONTROL, ControlKind::PRM_END, Command::PRM_END);
    }

    pub(super) fn release(&mut self, now: Nanos) {
        self.step = Step::Releasing;
        self.control(now, Operation::RELEASE, ControlKind::RELEASE, Command::RELEASE);
    }

    fn header(&mut self, slot: u16, subslot: u16, index: u16, bytes: u32) -> RecordHeader {
        self.records = self.records.wrapping_add(1);
        self.record = Some(index);
        RecordHeader { sequence: self.records, ar: self.ar, slot, subslot, index, bytes, ..RecordHeader::default() }
    }

    pub(super) fn write(&mut self, now: Nanos, Parameter { slot, subslot, index, bytes }: &Parameter) {
        let header = self.header(*slot, *subslot, *index, bytes.len() as u32);
        let mut blocks = Vec::new();
        Block::WriteRequest(header).encode(&mut blocks);
        blocks.extend_from_slice(bytes);
        self.begin(now, Operation::WRITE, &blocks);
    }

    pub(super) fn read(&mut self, now: Nanos, slot: u16, subslot: u16, index: u16, bytes: u32) {
        let header = self.header(slot, subslot, index, bytes);
        let mut blocks = Vec::new();
        Block::ReadRequest(header).encode(&mut blocks);
        self.begin(now, Operation::READ, &blocks);
    }

    /// The answer to "ApplicationReady", if that is what the device calls with these blocks.
    pub(super) fn ready_answer(&self, blocks: &[u8]) -> Option<Vec<u8>> {
        let Ok(Block::Control(ControlKind::APPLICATION_READY, control)) = Block::decode(&mut Reader::new(blocks))
        else {
            return None;
        };
        let is_it = control.ar == self.ar && control.session == self.session;
        if !is_it || control.command != Command::APPLICATION_READY || self.step == Step::Connecting {
            return None;
        }
        let kind = ControlKind::APPLICATION_READY | ControlKind::RESPONSE;
        let mut answer = Vec::new();
        Block::Control(kind, Control { command: Command::DONE, ..control }).encode(&mut answer);
        Some(answer)
    }

    /// When it must run next.
    pub(super) fn due(&self) -> Option<Nanos> {
        let call = self.call.as_ref().map(|call| call.again_at);
        let cyclic = self.cyclic.as_ref().map(|(provider, consumer)| match self.step {
            Step::Data => provider.next.min(consumer.lost_at),
            _ => provider.next,
        });
        let alarms = self.alarms.iter().flatten().filter_map(Alarms::due);
        let ready = (self.step == Step::Waiting).then_some(self.ready_until);
        call.into_iter().chain(cyclic).chain(ready).chain(alarms).min()
    }
}

/// The data of a record that was read, without its header.
pub(super) fn record(blocks: &[u8]) -> Option<Vec<u8>> {
    let mut reader = Reader::new(blocks);
    let Ok(Block::ReadResponse(header)) = Block::decode(&mut reader) else { return None };
    reader.rest().get(..header.bytes as usize).map(<[u8]>::to_vec)
}

/// A drawn UUID, of version 4.
fn uuid(high: u64, low: u64) -> Uuid {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&high.to_be_bytes());
    bytes[8..].copy_from_slice(&low.to_be_bytes());
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    Uuid(bytes)
}
