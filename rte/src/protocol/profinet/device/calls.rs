// SPDX-License-Identifier: Apache-2.0
//! Which call does what, and what its answer looks like.

use std::net::SocketAddrV4;

use super::acyclic::{AcyclicLane, rest};
use super::records;
use crate::protocol::profinet::wire::block::{Block, ControlKind, Faulty};
use crate::protocol::profinet::wire::control::{Command, Control};
use crate::protocol::profinet::wire::endpoint_mapper::{self, Entry, Lookup};
use crate::protocol::profinet::wire::record::{HEADER_BYTES, RecordHeader, WRITE_MULTIPLE};
use crate::protocol::profinet::wire::rpc::{self, Arguments, Cause, ENDPOINT_MAPPER, Header, Operation};
use crate::protocol::profinet::wire::status::{Call, Fault, Rpc, Status};
use crate::protocol::profinet::wire::{Put, RPC_PORT, Reader, Uuid};
use crate::protocol::{Nanos, Outbox};

/// What becomes of a call.
pub(super) enum Reply {
    /// The body of its answer, and the connection that is ready by now.
    Answer(Vec<u8>, Option<Uuid>),
    /// DCE's cause, and the name under which it is counted.
    Reject(u32, &'static str),
}

/// All blocks of a call.
pub(super) fn decode_blocks(blocks: &[u8], call: Call) -> Result<Vec<Block>, Status> {
    let mut reader = Reader::new(blocks);
    let mut decoded = Vec::new();
    while !reader.rest().is_empty() {
        decoded.push(Block::decode(&mut reader).map_err(|faulty| faulty_block(faulty, call))?);
    }
    Ok(decoded)
}

fn faulty_block(Faulty { kind, .. }: Faulty, call: Call) -> Status {
    let fault = match kind {
        0x0101 => Fault::Ar,
        0x0102 => Fault::Iocr,
        0x0103 => Fault::AlarmCr,
        0x0104 => Fault::Expected,
        0x0110..=0x0112 | 0x0118 => Fault::ControlConnect,
        0x0114 => Fault::Release,
        _ => return Status::rpc(call, Rpc::UnknownBlocks),
    };
    Status::block(call, fault, 1)
}

/// The one block of a Control or Release call.
pub(super) fn control_block(blocks: &[u8], call: Call) -> Result<(u16, Control), Status> {
    match decode_blocks(blocks, call)?[..] {
        [Block::Control(kind, control)] => Ok((kind, control)),
        _ => Err(Status::rpc(call, Rpc::UnknownBlocks)),
    }
}

/// Its answer.
pub(super) fn done(kind: u16, control: Control) -> Vec<u8> {
    let mut answer = Vec::new();
    let control = Control { command: Command::DONE, ..control };
    Block::Control(kind | ControlKind::RESPONSE, control).encode(&mut answer);
    answer
}

impl AcyclicLane {
    pub(super) fn dispatch(
        &mut self,
        now: Nanos,
        from: SocketAddrV4,
        header: &Header,
        body: &[u8],
        out: &mut dyn Outbox,
    ) -> Reply {
        if header.interface == ENDPOINT_MAPPER {
            return self.look_up(header, body);
        }
        let Ok(Arguments { first: room, blocks, .. }) = Arguments::decode(body, header.ndr()) else {
            return Reply::Reject(Cause::PROTOCOL_ERROR, "NDR lengths");
        };
        let mut then = None;
        let (status, answer) = match header.operation {
            Operation::CONNECT => or_empty(self.connect(now, from, blocks, out)),
            Operation::RELEASE => or_empty(self.control(now, blocks, Call::Release, out)),
            Operation::CONTROL => {
                let result = self.control(now, blocks, Call::Control, out);
                if result.is_ok() {
                    then = control_block(blocks, Call::Control).ok().map(|(_, control)| control.ar);
                }
                or_empty(result)
            }
            Operation::READ => self.read(now, blocks, true),
            Operation::READ_IMPLICIT => self.read(now, blocks, false),
            Operation::WRITE => self.write(now, blocks),
            _ => return Reply::Reject(Cause::UNKNOWN_OPERATION, "RPC of an unknown operation"),
        };
        if status != Status::OK {
            self.counters.count("calls answered with an error");
        }
        let (status, answer) = if answer.len() > room as usize {
            (Status::rpc(Call::Read, Rpc::ArgsLength), Vec::new())
        } else {
            (status, answer)
        };
        let arguments = Arguments { first: status.0, maximum: room, blocks: &answer };
        Reply::Answer(arguments.encode(header.ndr()), then)
    }

    fn look_up(&self, header: &Header, body: &[u8]) -> Reply {
        if header.operation != endpoint_mapper::LOOKUP {
            return Reply::Reject(Cause::UNKNOWN_OPERATION, "RPC of an unknown operation");
        }
        let Ok(lookup) = Lookup::decode(body, header.ndr()) else {
            return Reply::Reject(Cause::PROTOCOL_ERROR, "endpoint lookup too short");
        };
        let model = &self.model;
        let object = rpc::object(1, model.device_id, model.vendor_id);
        let [major, minor, patch] = model.software;
        let (product, order, hardware) = (&model.product, &model.order, model.hardware);
        let annotation = format!("{product:<25.25} {order:<20.20} {hardware:>5} V{major:>3}{minor:>3}{patch:>3}");
        let entry = Entry { object, port: RPC_PORT, annotation };
        // There is one entry alone: how many the caller takes is not looked at, which not all write where it should be.
        let is_first = lookup.handle == Uuid::NIL;
        let (entry, handle) = if is_first { (Some(&entry), object) } else { (None, Uuid::NIL) };
        Reply::Answer(endpoint_mapper::encode_answer(entry, handle, header.ndr()), None)
    }

    fn read(&mut self, now: Nanos, blocks: &[u8], needs_connection: bool) -> (Status, Vec<u8>) {
        let mut reader = Reader::new(blocks);
        let Ok(Block::ReadRequest(header)) = Block::decode(&mut reader) else {
            return (Status::rpc(Call::Read, Rpc::UnknownBlocks), Vec::new());
        };
        let place = self.place(header.ar);
        if let Some(connection) = place.and_then(|place| self.connections[place].as_mut()) {
            connection.active(now);
        }
        let connection = place.and_then(|place| self.connections[place].as_ref());
        let result = if connection.is_none() && needs_connection {
            Err(Status::rpc(Call::Read, Rpc::UnknownAr))
        } else {
            let connected = connection.map(super::connection::Connection::connected);
            records::read(&self.model, &self.handle, connected, &header)
        };
        let (status, mut record) = or_empty(result);
        record.truncate(header.bytes as usize);
        let mut answer = Vec::new();
        let bytes = record.len() as u32;
        Block::ReadResponse(RecordHeader { bytes, target_ar: Uuid::NIL, ..header }).encode(&mut answer);
        answer.put(&record);
        (status, answer)
    }

    fn write(&mut self, now: Nanos, blocks: &[u8]) -> (Status, Vec<u8>) {
        let mut reader = Reader::new(blocks);
        let Ok(Block::WriteRequest(header)) = Block::decode(&mut reader) else {
            return (Status::rpc(Call::Write, Rpc::UnknownBlocks), Vec::new());
        };
        let mut answer = Vec::new();
        if header.index != WRITE_MULTIPLE {
            let status = self.write_one(now, &header, reader.rest());
            Block::WriteResponse(RecordHeader { bytes: 0, status, ..header }).encode(&mut answer);
            return (status, answer);
        }
        let multiple = RecordHeader { status: Status::OK, bytes: 0, ..header };
        let mut answers = Vec::new();
        let mut records = rest(blocks, HEADER_BYTES);
        while !records.is_empty() {
            let mut reader = Reader::new(records);
            let Ok(Block::WriteRequest(header)) = Block::decode(&mut reader) else {
                return (Status::rpc(Call::Write, Rpc::UnknownBlocks), Vec::new());
            };
            let Ok(data) = reader.take(header.bytes as usize) else {
                return (Status::rpc(Call::Write, Rpc::ArgsLength), Vec::new());
            };
            let status = self.write_one(now, &header, data);
            Block::WriteResponse(RecordHeader { bytes: 0, status, ..header }).encode(&mut answers);
            // Each begins at a multiple of 4.
            records = rest(records, (HEADER_BYTES + data.len()).next_multiple_of(4));
        }
        let bytes = answers.len() as u32;
        Block::WriteResponse(RecordHeader { bytes, ..multiple }).encode(&mut answer);
        answer.put(&answers);
        (Status::OK, answer)
    }

    fn write_one(&mut self, now: Nanos, header: &RecordHeader, data: &[u8]) -> Status {
        let place = self.place(header.ar);
        let Some(connection) = place.and_then(|place| self.connections[place].as_mut()) else {
            return Status::rpc(Call::Write, Rpc::UnknownAr);
        };
        connection.active(now);
        if data.len() != header.bytes as usize {
            return Status::rpc(Call::Write, Rpc::ArgsLength);
        }
        let is_plugged = self.model.submodule(header.slot, header.subslot).is_some();
        if is_plugged && !connection.places.contains(&(header.slot, header.subslot)) {
            return Status::record(Call::Write, Status::ACCESS_DENIED);
        }
        records::write(&self.model, &self.handle, header, data).err().unwrap_or(Status::OK)
    }
}

fn or_empty(result: Result<Vec<u8>, Status>) -> (Status, Vec<u8>) {
    match result {
        Ok(answer) => (Status::OK, answer),
        Err(status) => (status, Vec::new()),
    }
}
