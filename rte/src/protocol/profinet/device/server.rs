// SPDX-License-Identifier: Apache-2.0
//! The RPC server: calls that came in fragments are put together, calls that came again get the same answer again.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddrV4};

use crate::protocol::Nanos;
use crate::protocol::profinet::wire::rpc::{
    Cause, DEVICE_INTERFACE, ENDPOINT_MAPPER, FRAGMENT_BYTES_MAX, Flag, Header, Kind,
};
use crate::protocol::profinet::wire::{Malformed, Uuid};

/// Clients whose last answer is remembered.
const SESSIONS_MAX: usize = 16;
/// Clients whose calls may come in fragments at the same time.
const PARTIAL_MAX: usize = 4;
/// How long an answer is remembered: longer than clients repeat a call.
const REMEMBERED: Nanos = 5_000_000_000;
/// Longest call.
const CALL_BYTES_MAX: usize = 65_000;

/// What came to the server.
#[derive(Debug)]
pub enum Incoming {
    /// A call that is complete: it wants an answer.
    Call(Header, Vec<u8>),
    /// Something that was answered here.
    Done,
    /// Dropped, and why.
    Dropped(&'static str),
}

#[derive(Debug)]
struct Session {
    client: (SocketAddrV4, Uuid),
    sequence: u32,
    answered_at: Nanos,
    datagrams: Vec<Vec<u8>>,
}

#[derive(Debug)]
struct Partial {
    client: (SocketAddrV4, Uuid),
    sequence: u32,
    next: u16,
    body: Vec<u8>,
}

/// The server.
#[derive(Debug, Default)]
pub struct Server {
    sessions: VecDeque<Session>,
    partial: VecDeque<Partial>,
}

impl Server {
    /// A datagram came.
    pub fn receive(
        &mut self,
        now: Nanos,
        from: SocketAddrV4,
        datagram: &[u8],
        send: &mut dyn FnMut(&[u8]),
    ) -> Incoming {
        self.sessions.retain(|session| now.saturating_sub(session.answered_at) < REMEMBERED);
        let (header, body) = match Header::decode(datagram) {
            Ok(decoded) => decoded,
            Err(Malformed(why)) => return Incoming::Dropped(why),
        };
        let client = (from, header.activity);
        match header.kind {
            Kind::REQUEST => {}
            Kind::PING => return self.ping(client, &header, send),
            Kind::ACK | Kind::FRAGMENT_ACK => return Incoming::Done,
            _ => return Incoming::Dropped("RPC that is no call"),
        }
        if let Some(session) = self.sessions.iter().find(|session| session.client == client) {
            if session.sequence == header.sequence {
                session.datagrams.iter().for_each(|datagram| send(datagram));
                return Incoming::Done;
            }
            if header.sequence.wrapping_sub(session.sequence) > u32::MAX / 2 {
                return Incoming::Dropped("RPC call overtaken");
            }
        }
        if ![DEVICE_INTERFACE, ENDPOINT_MAPPER].contains(&header.interface) {
            send(&failure(&header, Kind::REJECT, Cause::UNKNOWN_INTERFACE));
            return Incoming::Dropped("RPC for another interface");
        }
        if header.flags & Flag::FRAGMENT == 0 {
            return Incoming::Call(header, body.to_vec());
        }
        self.fragment(client, header, body, send)
    }

    fn ping(&self, client: (SocketAddrV4, Uuid), header: &Header, send: &mut dyn FnMut(&[u8])) -> Incoming {
        let is_it = |session: &&Session| session.client == client && session.sequence == header.sequence;
        match self.sessions.iter().find(is_it) {
            Some(session) => session.datagrams.iter().for_each(|datagram| send(datagram)),
            None => send(&Header { kind: Kind::NO_CALL, flags: Flag::NO_FRAGMENT_ACK, ..*header }.encode(&[])),
        }
        Incoming::Done
    }

    fn fragment(
        &mut self,
        client: (SocketAddrV4, Uuid),
        header: Header,
        body: &[u8],
        send: &mut dyn FnMut(&[u8]),
    ) -> Incoming {
        let is_it = |partial: &Partial| partial.client == client && partial.sequence == header.sequence;
        if header.fragment == 0 {
            self.partial.retain(|partial| partial.client != client);
            if self.partial.len() == PARTIAL_MAX {
                self.partial.pop_front();
            }
            let partial = Partial { client, sequence: header.sequence, next: 0, body: Vec::new() };
            self.partial.push_back(partial);
        }
        let Some(at) = self.partial.iter().position(is_it) else {
            return Incoming::Dropped("RPC fragment without begin");
        };
        let partial = &mut self.partial[at];
        if header.fragment != partial.next {
            return Incoming::Dropped("RPC fragment out of sequence");
        }
        if partial.body.len() + body.len() > CALL_BYTES_MAX {
            self.partial.remove(at);
            send(&failure(&header, Kind::REJECT, Cause::REMOTE_NO_MEMORY));
            return Incoming::Dropped("RPC call too long");
        }
        partial.next += 1;
        partial.body.extend_from_slice(body);
        if header.flags & Flag::LAST_FRAGMENT != 0 {
            let body = self.partial.remove(at).map(|partial| partial.body).unwrap_or_default();
            return Incoming::Call(header, body);
        }
        if header.flags & Flag::NO_FRAGMENT_ACK == 0 {
            send(&Header { kind: Kind::FRAGMENT_ACK, flags: Flag::NO_FRAGMENT_ACK, ..header }.encode(&[]));
        }
        Incoming::Done
    }

    /// Answers a call, in as many datagrams as it needs, and remembers the answer.
    pub fn answer(&mut self, now: Nanos, to: SocketAddrV4, call: &Header, body: &[u8], send: &mut dyn FnMut(&[u8])) {
        let flags = call.flags & Flag::IDEMPOTENT | Flag::NO_FRAGMENT_ACK;
        let header = Header { kind: Kind::RESPONSE, flags, fragment: 0, serial: 0, ..*call };
        let mut datagrams = Vec::new();
        let count = body.len().div_ceil(FRAGMENT_BYTES_MAX).max(1);
        for n in 0..count {
            let part = &body[n * FRAGMENT_BYTES_MAX..body.len().min((n + 1) * FRAGMENT_BYTES_MAX)];
            let mut header = Header { fragment: n as u16, serial: n as u16, ..header };
            if count > 1 {
                header.flags |= Flag::FRAGMENT;
            }
            if count > 1 && n + 1 == count {
                header.flags |= Flag::LAST_FRAGMENT;
            }
            datagrams.push(header.encode(part));
        }
        self.remember(now, to, call, datagrams, send);
    }

    /// A connection from there is over: whoever calls from there now does not want the old answers.
    pub fn forget(&mut self, ip: Ipv4Addr) {
        self.sessions.retain(|session| *session.client.0.ip() != ip);
        self.partial.retain(|partial| *partial.client.0.ip() != ip);
    }

    /// Rejects a call that cannot be understood.
    pub fn reject(call: &Header, cause: u32, send: &mut dyn FnMut(&[u8])) {
        send(&failure(call, Kind::REJECT, cause));
    }

    fn remember(
        &mut self,
        now: Nanos,
        to: SocketAddrV4,
        call: &Header,
        datagrams: Vec<Vec<u8>>,
        send: &mut dyn FnMut(&[u8]),
    ) {
        datagrams.iter().for_each(|datagram| send(datagram));
        let client = (to, call.activity);
        self.sessions.retain(|session| session.client != client);
        if self.sessions.len() == SESSIONS_MAX {
            self.sessions.pop_front();
        }
        self.sessions.push_back(Session { client, sequence: call.sequence, answered_at: now, datagrams });
    }
}

/// Why a call fails or is rejected.
fn failure(call: &Header, kind: u8, cause: u32) -> Vec<u8> {
    let mut body = Vec::new();
    call.ndr().put32(&mut body, cause);
    Header { kind, flags: Flag::NO_FRAGMENT_ACK, fragment: 0, serial: 0, ..*call }.encode(&body)
}
