// SPDX-License-Identifier: Apache-2.0
//! A connection (AR) with a controller, from its Connect on.

use std::collections::BTreeSet;
use std::net::SocketAddrV4;
use std::sync::Arc;

use super::alarms::{AlarmEnd, Terms};
use super::check::{Agreed, Place, Request};
use super::link::Relation;
use super::records::Connected;
use crate::protocol::profinet::model::Model;
use crate::protocol::profinet::wire::block::{Block, ControlKind};
use crate::protocol::profinet::wire::connect::{AlarmCrResponse, ArResponse, ArServer};
use crate::protocol::profinet::wire::control::{Command, Control};
use crate::protocol::profinet::wire::expected::ModuleDiff;
use crate::protocol::profinet::wire::iocr::{INPUT, IocrResponse};
use crate::protocol::profinet::wire::rpc::{Arguments, CONTROLLER_INTERFACE, Flag, Header, Kind, Operation};
use crate::protocol::profinet::wire::rta::Notification;
use crate::protocol::profinet::wire::status::Status;
use crate::protocol::profinet::wire::{ETHERTYPE, RPC_PORT, Uuid};
use crate::protocol::{Mac, Nanos};

const TIMEOUT_UNIT: Nanos = 100_000_000;
/// When ApplicationReady is sent again, and how often.
const READY_AGAIN: Nanos = 2_000_000_000;
const READY_REPEATED_MAX: u32 = 3;
/// Most bytes of blocks that the answer to ApplicationReady may have.
const READY_ANSWER_BYTES: u32 = 1340;

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The controller writes parameters.
    Parameters,
    /// All parameters are there; the controller is told, and has to confirm.
    Ready {
        /// When it is told again.
        again_at: Nanos,
        /// How often it was.
        repeated: u32,
    },
    /// It has confirmed.
    Data,
}

/// A connection.
#[derive(Debug)]
pub struct Connection {
    /// What the controller wants.
    pub request: Request,
    /// The cyclic part.
    pub relation: Arc<Relation>,
    /// In what that which is plugged differs from what is expected.
    pub diff: ModuleDiff,
    /// What is the controller's.
    pub places: BTreeSet<Place>,
    /// How far it is.
    pub state: State,
    /// Whether inputs are sent.
    pub is_providing: bool,
    /// Whether valid outputs came.
    pub has_data: bool,
    /// High alarms and low ones.
    pub alarms: [AlarmEnd; 2],
    /// Where ApplicationReady goes.
    peer: SocketAddrV4,
    /// Until when the controller has to go on with the start.
    active_until: Nanos,
    activity: Uuid,
    ready_sequence: u32,
}

impl Connection {
    /// One that was just agreed on.
    pub fn new(request: Request, agreed: Agreed, own: Mac, peer: SocketAddrV4, now: Nanos) -> Self {
        let alarm = request.alarm;
        let end = |high: bool| {
            AlarmEnd::new(Terms {
                to: request.ar.mac,
                from: own,
                remote: alarm.reference,
                local: local_reference(agreed.relation.number),
                tag: if high { alarm.tag_high } else { alarm.tag_low },
                high,
                timeout: Nanos::from(alarm.timeout) * TIMEOUT_UNIT,
                retries: alarm.retries,
                bytes_max: usize::from(alarm.data_bytes_max),
            })
        };
        // Unique in space by the address, in time by the clock and the connection's number.
        let mut activity = [0; 16];
        activity[0..8].copy_from_slice(&now.to_be_bytes());
        activity[8..10].copy_from_slice(&(agreed.relation.number as u16).to_be_bytes());
        activity[10..16].copy_from_slice(&own.0);
        let alarms = [end(true), end(false)];
        let mut this = Self {
            request,
            relation: Arc::new(agreed.relation),
            diff: agreed.diff,
            places: agreed.places,
            state: State::Parameters,
            is_providing: false,
            has_data: false,
            alarms,
            peer: SocketAddrV4::new(*peer.ip(), RPC_PORT),
            active_until: 0,
            activity: Uuid(activity),
            ready_sequence: 0,
        };
        this.active(now);
        this
    }

    /// The controller did something.
    pub fn active(&mut self, now: Nanos) {
        self.active_until = now + Nanos::from(self.request.ar.activity_timeout) * TIMEOUT_UNIT;
    }

    /// The answer to its Connect.
    pub fn answer(&self, own: Mac, model: &Model, station: &str, out: &mut Vec<u8>) {
        let ar = &self.request.ar;
        let response = ArResponse { kind: ar.kind, ar: ar.ar, session: ar.session, mac: own, udp_rt_port: ETHERTYPE };
        Block::ArResponse(response).encode(out);
        for iocr in &self.request.iocrs {
            let is_input = iocr.kind == INPUT;
            let frame_id = if is_input { iocr.frame_id } else { self.relation.consumed.frame_id };
            let response = IocrResponse { kind: iocr.kind, reference: iocr.reference, frame_id };
            Block::IocrResponse(response).encode(out);
        }
        let alarm = &self.request.alarm;
        let reference = local_reference(self.relation.number);
        let data_bytes_max = alarm.data_bytes_max;
        Block::AlarmCrResponse(AlarmCrResponse { kind: alarm.kind, reference, data_bytes_max }).encode(out);
        if !self.diff.modules.is_empty() {
            Block::ModuleDiff(self.diff.clone()).encode(out);
        }
        if self.request.is_advanced() {
            let name = if station.is_empty() { &model.station } else { station };
            Block::ArServer(ArServer { station: name.as_bytes().to_vec() }).encode(out);
        }
    }

    /// Where the controller is called.
    pub fn peer(&self) -> SocketAddrV4 {
        self.peer
    }

    /// What records need to know.
    pub fn connected(&self) -> Connected<'_> {
        Connected { modules: &self.request.modules, diff: &self.diff }
    }

    /// The call that tells the controller that the device is ready, and where it goes.
    pub fn ready_call(&self) -> (SocketAddrV4, Vec<u8>) {
        let header = Header {
            kind: Kind::REQUEST,
            flags: Flag::IDEMPOTENT,
            object: self.request.ar.object,
            interface: CONTROLLER_INTERFACE,
            activity: self.activity,
            interface_version: 1,
            sequence: self.ready_sequence,
            operation: Operation::CONTROL,
            ..Header::default()
        };
        let mut blocks = Vec::new();
        let control = Control {
            ar: self.request.ar.ar,
            session: self.request.ar.session,
            command: Command::APPLICATION_READY,
            ..Control::default()
        };
        Block::Control(ControlKind::APPLICATION_READY, control).encode(&mut blocks);
        if !self.diff.modules.is_empty() {
            Block::ModuleDiff(self.diff.clone()).encode(&mut blocks);
        }
        let arguments = Arguments { first: READY_ANSWER_BYTES, maximum: READY_ANSWER_BYTES, blocks: &blocks };
        (self.peer, header.encode(&arguments.encode(header.ndr())))
    }

    /// The controller writes parameters once more. That the device is ready then is another call than before.
    pub fn parameters_begin(&mut self) {
        self.state = State::Parameters;
        self.ready_sequence = self.ready_sequence.wrapping_add(1);
    }

    /// The parameters are there.
    pub fn parameters_end(&mut self, now: Nanos) {
        self.is_providing = true;
        self.state = State::Ready { again_at: now + READY_AGAIN, repeated: 0 };
    }

    /// Whether an answer is the one to ApplicationReady; `Err` if the controller refuses.
    pub fn confirm(&mut self, header: &Header, status: Status) -> Option<Result<(), Status>> {
        let is_it = header.activity == self.activity && header.sequence == self.ready_sequence;
        if !is_it || !matches!(self.state, State::Ready { .. }) {
            return None;
        }
        if status != Status::OK {
            return Some(Err(Status::CALL_FAILED));
        }
        self.state = State::Data;
        Some(Ok(()))
    }

    /// When something is to be done, if nothing comes.
    pub fn due(&self) -> Option<Nanos> {
        let ready = match self.state {
            State::Ready { again_at, .. } => Some(again_at),
            _ => None,
        };
        let active = self.is_starting().then_some(self.active_until);
        let alarms = self.alarms.iter().filter_map(AlarmEnd::due);
        ready.into_iter().chain(active).chain(alarms).min()
    }

    fn is_starting(&self) -> bool {
        !(self.state == State::Data && self.has_data)
    }

    /// Whether the start has taken too long; whether ApplicationReady is to be sent again.
    ///
    /// # Errors
    /// Why the connection is over.
    pub fn supervise(&mut self, now: Nanos) -> Result<bool, Status> {
        if let State::Ready { again_at, repeated } = &mut self.state
            && *again_at <= now
        {
            if *repeated == READY_REPEATED_MAX {
                return Err(Status::CALL_FAILED);
            }
            *repeated += 1;
            *again_at = now + READY_AGAIN;
            return Ok(true);
        }
        if self.is_starting() && self.active_until <= now { Err(Status::ACTIVITY_TIMEOUT) } else { Ok(false) }
    }

    /// Hands an alarm to its end.
    ///
    /// # Errors
    /// Why it is not sent.
    pub fn raise(&mut self, notification: Notification) -> Result<(), &'static str> {
        self.alarms[usize::from(!notification.high)].raise(notification)
    }
}

/// The device's end of a connection's alarms: others follow before one is used again.
fn local_reference(number: u64) -> u16 {
    ((number - 1) % 0x7fff) as u16 + 1
}
