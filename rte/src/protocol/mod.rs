// SPDX-License-Identifier: Apache-2.0
//! The domain of the protocols: what every one of them looks like to the others.
//!
//! A protocol is a few *lanes*, each a state machine that one thread runs: one for what is sent and received at the
//! cycle, one for all else, so that a flood of requests does not disturb the cycle. Lanes of one protocol that tell one
//! another something do it through triple buffers.

pub mod cclink;
pub mod modbus;
pub mod profinet;

use std::fmt;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::ops::RangeInclusive;

/// A moment or a span, in nanoseconds of `CLOCK_MONOTONIC`.
pub type Nanos = u64;

/// An Ethernet address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// To all.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// Whether it addresses a group.
    pub fn is_group(self) -> bool {
        self.0[0] & 1 != 0
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// What an interface is called by. All three are 0.0.0.0 when it has no address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Address {
    pub ip: Ipv4Addr,
    pub mask: Ipv4Addr,
    pub gateway: Ipv4Addr,
}

impl Address {
    /// The broadcast address of its network.
    pub fn broadcast(&self) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(self.ip) | !u32::from(self.mask))
    }
}

/// Something a lane receives from and sends to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Port {
    /// Ethernet frames of one type, to the device's own address and to these groups. Received frames are whole, from the
    /// destination address on, but never have a VLAN tag (the kernel takes it away from a socket that is bound to
    /// a type); sent ones have it if the lane put it there.
    Ethernet {
        /// EtherType.
        ethertype: u16,
        /// Groups to listen to.
        groups: Vec<Mac>,
        /// Only frames whose first 16 bits after the type are within: PROFINET's FrameID.
        first_word: RangeInclusive<u16>,
    },
    /// UDP datagrams to the device's address or a broadcast. Answers go out from this port and the device's address.
    Udp {
        /// Port number; 0 for any that is free.
        port: u16,
    },
    /// TCP connections that others open.
    Tcp {
        /// Port number.
        port: u16,
        /// How many at once; more are closed at once.
        connections: usize,
    },
}

/// Where something came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// An Ethernet station.
    Ethernet(Mac),
    /// A UDP socket.
    Udp(SocketAddrV4),
    /// A TCP connection, by a number that is not used again while the device runs. No bytes mean: it was closed.
    Connection(u32),
}

/// What came in.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// Which of the lane's ports.
    pub port: usize,
    /// From whom.
    pub from: Source,
    /// A whole frame, a datagram's payload, or what there is of a stream.
    pub bytes: &'a [u8],
}

/// An interface's address as someone on the network wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRequest {
    /// The new address.
    pub address: Address,
    /// To be kept over a restart.
    pub permanent: bool,
}

/// Where a lane puts what it wants done. Nothing in it waits or fails for the lane: what cannot be sent is counted
/// by the driver.
pub trait Outbox {
    /// Sends a frame, from the destination address on.
    fn frame(&mut self, port: usize, frame: &[u8]);
    /// Sends a datagram.
    fn datagram(&mut self, port: usize, to: SocketAddrV4, payload: &[u8]);
    /// Sends over a connection.
    fn stream(&mut self, port: usize, connection: u32, bytes: &[u8]);
    /// Closes a connection when what was sent over it is gone.
    fn close(&mut self, port: usize, connection: u32);
    /// Has the protocol's other lanes run as soon as they can.
    fn wake_others(&mut self);
    /// Asks the one owner of the address for another. [`Lane::address_changed`] is the answer, if it agrees.
    fn request_address(&mut self, request: AddressRequest);
    /// Tells the user that something happened that they may want to know, in one line. Never at the cycle.
    fn tell(&mut self, event: &str);
}

/// How urgent a lane is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// Sends and receives at a cycle: gets the real-time policy and the exclusive CPU. With the shortest cycle that it
    /// may have.
    Cyclic(Nanos),
    /// All else.
    Acyclic,
}

/// A state machine that one thread runs.
pub trait Lane: Send {
    /// What it is called in metrics and messages: "profinet cyclic".
    fn name(&self) -> &str;
    /// What it receives from and sends to. The same for as long as it lives.
    fn ports(&self) -> &[Port];
    /// How urgent it is.
    fn urgency(&self) -> Urgency;
    /// Something came in.
    fn receive(&mut self, now: Nanos, received: Received<'_>, out: &mut dyn Outbox);
    /// When it must run next, if nothing comes in before.
    fn due(&self) -> Option<Nanos>;
    /// The time that [`Self::due`] named has come, or another lane has something for it.
    fn run(&mut self, now: Nanos, out: &mut dyn Outbox);
    /// The interface has an address, or another one. Also called once before all else.
    fn address_changed(&mut self, _now: Nanos, _mac: Mac, _address: Address, _out: &mut dyn Outbox) {}
    /// The device is being stopped: last words to the other side, outputs to their safe values. Nothing is called after
    /// it.
    fn stop(&mut self, _now: Nanos, _out: &mut dyn Outbox) {}
    /// What happened so far, by name: also why something was dropped.
    fn counters(&self) -> Vec<(&'static str, u64)>;
}
