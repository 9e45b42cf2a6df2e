// SPDX-License-Identifier: Apache-2.0
//! What a lane may use while a driver calls it, and what that counts.

use std::io;
use std::net::SocketAddrV4;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use rustix::event::{EventfdFlags, eventfd};

use super::connections::Sent;
use super::sockets::Socket;
use super::system::packets_dropped;
use crate::protocol::{Address, AddressRequest, Outbox};

/// Something that a lane wants known outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// One line for the user.
    Told {
        /// The lane's name.
        lane: String,
        /// What happened.
        line: String,
    },
    /// Somebody on the network wants another address for the interface.
    AddressWanted(AddressRequest),
    /// The lane runs no more; with the reason, unless it was told to stop.
    Ended {
        /// The lane's name.
        lane: String,
        /// Why.
        reason: Option<String>,
    },
}

/// What wakes a driver.
#[derive(Clone, Debug)]
pub struct Waker(pub(super) Arc<OwnedFd>);

impl Waker {
    /// A new one.
    ///
    /// # Errors
    /// If the process has no more descriptors.
    pub fn new() -> io::Result<Self> {
        Ok(Self(Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)))
    }

    /// Wakes.
    pub fn wake(&self) {
        // Fails only when 2^64 - 2 wakes were not seen; then it wakes all the same.
        let _ = rustix::io::write(&*self.0, &1_u64.to_ne_bytes());
    }

    pub(super) fn clear(&self) {
        let _ = rustix::io::read(&*self.0, &mut [0_u8; 8]);
    }
}

/// What a driver has counted, beside its lane.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) rounds: u64,
    pub(super) frames_not_sent: u64,
    pub(super) datagrams_not_sent: u64,
    pub(super) streams_not_sent: u64,
    pub(super) foreign_datagrams: u64,
    pub(super) connections_refused: u64,
    pub(super) receive_errors: u64,
    pub(super) events_dropped: u64,
    pub(super) late_ns_max: u64,
    pub(super) rests: u64,
    pub(super) frames_dropped: u64,
}

/// Everything of a driver that a lane may use while it is called.
pub(super) struct Out {
    pub(super) name: String,
    pub(super) sockets: Vec<Socket>,
    pub(super) epoll: OwnedFd,
    pub(super) address: Address,
    pub(super) others: Vec<Waker>,
    pub(super) events: SyncSender<Event>,
    pub(super) counts: Counts,
    /// Connections that were lost while something was sent over them: port and number.
    pub(super) lost: Vec<(usize, u32)>,
}

impl Out {
    /// What was counted, by name.
    pub(super) fn counters(&mut self) -> Vec<(&'static str, u64)> {
        for socket in &self.sockets {
            if let Socket::Ethernet(socket) = socket {
                self.counts.frames_dropped += packets_dropped(socket.as_fd());
            }
        }
        let counts = &self.counts;
        vec![
            ("driver rounds", counts.rounds),
            ("driver frames not sent", counts.frames_not_sent),
            ("driver datagrams not sent", counts.datagrams_not_sent),
            ("driver stream bytes not sent", counts.streams_not_sent),
            ("driver datagrams for another address", counts.foreign_datagrams),
            ("driver connections refused", counts.connections_refused),
            ("driver receive errors", counts.receive_errors),
            ("driver events dropped", counts.events_dropped),
            ("driver latest timer (ns)", counts.late_ns_max),
            ("driver frames dropped by the kernel", counts.frames_dropped),
            ("driver rests from a flood", counts.rests),
        ]
    }

    fn event(&mut self, event: Event) {
        // Whoever listens may be slow; the cycle does not wait for them.
        if self.events.try_send(event).is_err() {
            self.counts.events_dropped += 1;
        }
    }
}

/// What epoll tells a port's events by; number 0 is the port itself, others are its connections.
pub(super) fn token(port: usize, connection: u32) -> u64 {
    (port as u64) << 32 | u64::from(connection)
}

impl Outbox for Out {
    fn frame(&mut self, port: usize, frame: &[u8]) {
        if self.sockets[port].send_frame(frame).is_err() {
            self.counts.frames_not_sent += 1;
        }
    }

    fn datagram(&mut self, port: usize, to: SocketAddrV4, payload: &[u8]) {
        if self.sockets[port].send_datagram(self.address.ip, to, payload).is_err() {
            self.counts.datagrams_not_sent += 1;
        }
    }

    fn stream(&mut self, port: usize, connection: u32, bytes: &[u8]) {
        let Socket::Tcp(connections) = &mut self.sockets[port] else { return };
        match connections.send(connection, bytes, &self.epoll, token(port, connection)) {
            Sent::Yes => {}
            Sent::Closed => {
                self.lost.push((port, connection));
                self.counts.streams_not_sent += 1;
            }
            Sent::Unknown => self.counts.streams_not_sent += 1,
        }
    }

    fn close(&mut self, port: usize, connection: u32) {
        if let Socket::Tcp(connections) = &mut self.sockets[port] {
            connections.close(connection);
        }
    }

    fn wake_others(&mut self) {
        self.others.iter().for_each(Waker::wake);
    }

    fn request_address(&mut self, request: AddressRequest) {
        self.event(Event::AddressWanted(request));
    }

    fn tell(&mut self, event: &str) {
        self.event(Event::Told { lane: self.name.clone(), line: event.to_owned() });
    }
}
