// SPDX-License-Identifier: Apache-2.0
//! A live UDP client: sends a request, waits for the answer or a timeout.
//!
//! What comes from the device's port while a request is outstanding is its answer, whatever it holds. After a
//! timeout the client goes on from another port of its own, so that a late answer is not taken for the next one's.

use std::net::Ipv4Addr;

use smoltcp::iface::SocketHandle;
use smoltcp::socket::udp::{PacketBuffer, PacketMetadata, Socket};
use smoltcp::wire::IpEndpoint;

use super::frame;
use super::host::{App, Net};
use super::stats::PeerStats;

const QUEUE_PACKETS: usize = 8;
const QUEUE_BYTES: usize = 16_384;

/// What a client does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub(super) device: Ipv4Addr,
    pub(super) port: u16,
    pub(super) payload_bytes: u32,
    /// First request.
    pub(super) start_cycle: u64,
    /// No request from here on.
    pub(super) stop_cycle: u64,
    /// Least distance of two requests.
    pub(super) period_cycles: u64,
    /// Waits this long for an answer.
    pub(super) timeout_cycles: u64,
}

/// The client.
pub(super) struct Client {
    entry: usize,
    stats: PeerStats,
    plan: Plan,
    socket: Option<SocketHandle>,
    sequence: u32,
    next_request: u64,
    /// When the outstanding request was sent.
    waiting_since: Option<u64>,
}

impl Client {
    /// A client for the traffic entry at this index.
    pub(super) fn new(entry: usize, name: &str, plan: Plan) -> Client {
        let next_request = plan.start_cycle;
        let stats = PeerStats::new(name);
        Client { entry, stats, plan, socket: None, sequence: 0, next_request, waiting_since: None }
    }

    fn open(net: &mut Net) -> SocketHandle {
        let buffer = || PacketBuffer::new(vec![PacketMetadata::EMPTY; QUEUE_PACKETS], vec![0; QUEUE_BYTES]);
        let port = net.ephemeral_port();
        let mut socket = Socket::new(buffer(), buffer());
        bind(&mut socket, port);
        net.sockets.add(socket)
    }

    fn read(&mut self, now: u64, socket: &mut Socket<'_>) {
        let device = IpEndpoint::from((self.plan.device, self.plan.port));
        while let Ok((_, meta)) = socket.recv() {
            match self.waiting_since {
                Some(since) if meta.endpoint == device => {
                    self.stats.answered += 1;
                    self.stats.round_trip_cycles.push(now - since);
                    self.finish();
                }
                _ => {}
            }
        }
    }

    fn finish(&mut self) {
        self.waiting_since = None;
        self.sequence = self.sequence.wrapping_add(1);
    }

    fn send(&mut self, now: u64, socket: &mut Socket<'_>) {
        let payload = frame::payload(self.sequence, self.plan.payload_bytes);
        self.next_request = now + self.plan.period_cycles;
        match socket.send_slice(&payload, (self.plan.device, self.plan.port)) {
            Ok(()) => {
                self.stats.sent += 1;
                self.waiting_since = Some(now);
            }
            Err(_) => self.stats.failed += 1,
        }
    }
}

fn bind(socket: &mut Socket<'_>, port: u16) {
    socket.close();
    // Fails for port 0, which is never given, and for an open socket.
    let _ = socket.bind(port);
}

impl App for Client {
    fn run(&mut self, now: u64, net: &mut Net) {
        let handle = *self.socket.get_or_insert_with(|| Client::open(net));
        self.read(now, net.sockets.get_mut::<Socket>(handle));
        if self.waiting_since.is_some_and(|since| since + self.plan.timeout_cycles <= now) {
            self.stats.failed += 1;
            self.finish();
            let port = net.ephemeral_port();
            bind(net.sockets.get_mut::<Socket>(handle), port);
        }
        let socket = net.sockets.get_mut::<Socket>(handle);
        if self.waiting_since.is_none() && self.next_request <= now && now < self.plan.stop_cycle {
            self.send(now, socket);
        }
    }

    fn next_due(&self) -> Option<u64> {
        match self.waiting_since {
            Some(since) => Some(since + self.plan.timeout_cycles),
            None => (self.next_request < self.plan.stop_cycle).then_some(self.next_request),
        }
    }

    fn stats(&self) -> (usize, &PeerStats) {
        (self.entry, &self.stats)
    }
}
