// SPDX-License-Identifier: Apache-2.0
//! A lane's ports as sockets of one interface.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send, socket_with, sockopt,
};

use super::Error;
use super::connections::Connections;
use super::filter;
use super::interface::Interface;
use super::system::{
    attach_filter, bind_packet, bind_to_interface, join_group, receive_datagram, send_datagram, set_option,
};
use crate::protocol::{Address, Mac, Port, Source, Urgency};

/// `SO_PRIORITY` of what is sent at the cycle, as in the paper, section VI-F3: the highest band of `pfifo_fast`.
pub const CYCLIC_PRIORITY: libc::c_int = 6;

/// A port.
#[derive(Debug)]
pub enum Socket {
    /// Frames.
    Ethernet(OwnedFd),
    /// Datagrams.
    Udp(OwnedFd),
    /// Streams.
    Tcp(Connections),
}

impl Socket {
    /// Opens a port on an interface.
    ///
    /// # Errors
    /// What is missing, and the way out.
    pub fn open(port: &Port, interface: &Interface, urgency: Urgency) -> Result<Self, Error> {
        let opened = match port {
            Port::Ethernet { ethertype, groups, first_word } => {
                let program = filter::program(&addresses(interface.mac, groups), first_word);
                ethernet(interface, *ethertype, groups, &program).map(Self::Ethernet)
            }
            Port::Udp { port } => inet(interface, SocketType::DGRAM, *port).map(Self::Udp),
            Port::Tcp { port, connections } => inet(interface, SocketType::STREAM, *port)
                .and_then(|socket| Connections::listen(socket, *connections))
                .map(Self::Tcp),
        };
        let socket = opened.map_err(|error| explain(port, interface, &error))?;
        if let Urgency::Cyclic(_) = urgency {
            set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_PRIORITY, &CYCLIC_PRIORITY)
                .map_err(|error| explain(port, interface, &error))?;
        }
        Ok(socket)
    }

    /// Receives what there is, without waiting. Connections are received from by [`Connections`].
    pub fn receive(&self, address: &Address, buffer: &mut [u8]) -> io::Result<Taken> {
        match self {
            Self::Ethernet(socket) => {
                let (bytes, _) = recv(socket, &mut *buffer, RecvFlags::DONTWAIT)?;
                let Some(from) = buffer[..bytes].get(6..12) else { return Ok(Taken::Foreign) };
                Ok(Taken::One { from: Source::Ethernet(Mac(from.try_into().expect("six bytes"))), bytes })
            }
            Self::Udp(socket) => {
                let datagram = receive_datagram(socket.as_fd(), buffer)?;
                let is_for_it =
                    datagram.to == Ipv4Addr::BROADCAST || [address.ip, address.broadcast()].contains(&datagram.to);
                if !is_for_it {
                    return Ok(Taken::Foreign);
                }
                Ok(Taken::One { from: Source::Udp(datagram.from), bytes: datagram.bytes })
            }
            Self::Tcp(_) => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    /// Sends a frame.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn send_frame(&self, frame: &[u8]) -> io::Result<()> {
        let Self::Ethernet(socket) = self else { return Err(io::ErrorKind::InvalidInput.into()) };
        send(socket, frame, SendFlags::DONTWAIT)?;
        Ok(())
    }

    /// Sends a datagram from an address of the interface.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn send_datagram(&self, from: Ipv4Addr, to: SocketAddrV4, payload: &[u8]) -> io::Result<()> {
        let Self::Udp(socket) = self else { return Err(io::ErrorKind::InvalidInput.into()) };
        send_datagram(socket.as_fd(), from, to, payload)
    }
}

/// What a socket gave.
#[derive(Clone, Copy, Debug)]
pub enum Taken {
    /// A frame or a datagram, in the buffer.
    One {
        /// Who sent it.
        from: Source,
        /// How much of the buffer it is.
        bytes: usize,
    },
    /// Something for another address of the interface.
    Foreign,
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Ethernet(socket) | Self::Udp(socket) => socket.as_fd(),
            Self::Tcp(connections) => connections.listener(),
        }
    }
}

fn addresses(own: Mac, groups: &[Mac]) -> Vec<Mac> {
    let mut addresses = vec![own, Mac::BROADCAST];
    addresses.extend(groups);
    addresses
}

fn ethernet(
    interface: &Interface,
    ethertype: u16,
    groups: &[Mac],
    program: &[libc::sock_filter],
) -> io::Result<OwnedFd> {
    // Without a protocol it receives nothing until it is bound; then the filter is there.
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)?;
    attach_filter(&socket, program)?;
    bind_packet(&socket, interface.index, ethertype)?;
    for group in groups.iter().filter(|group| group.is_group()) {
        join_group(&socket, interface.index, group.0)?;
    }
    Ok(socket)
}

fn inet(interface: &Interface, kind: SocketType, port: u16) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::INET, kind, flags, None)?;
    bind_to_interface(&socket, &interface.name)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if kind == SocketType::DGRAM {
        sockopt::set_socket_broadcast(&socket, true)?;
        set_option(&socket, libc::IPPROTO_IP, libc::IP_PKTINFO, &1_i32)?;
    }
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port))?;
    Ok(socket)
}

/// One line with the way out.
fn explain(port: &Port, interface: &Interface, error: &io::Error) -> Error {
    let (what, capability) = match port {
        Port::Ethernet { ethertype, .. } => (format!("EtherType {ethertype:#06x}"), "cap_net_raw"),
        Port::Udp { port } => (format!("UDP port {port}"), bind_capability(*port)),
        Port::Tcp { port, .. } => (format!("TCP port {port}"), bind_capability(*port)),
    };
    let way_out = match error.kind() {
        io::ErrorKind::PermissionDenied => format!(": {}", capabilities_hint(capability)),
        io::ErrorKind::AddrInUse => ": another program has it; `ss -lnp` tells which".to_owned(),
        _ => String::new(),
    };
    Error::new(format!("{what} of {}: {error}{way_out}", interface.name))
}

fn bind_capability(port: u16) -> &'static str {
    if port < 1024 { "cap_net_bind_service" } else { "cap_net_raw" }
}

/// How to come by what is missing.
pub fn capabilities_hint(missing: &str) -> String {
    let program = std::env::current_exe().map_or_else(|_| "weir-io".to_owned(), |path| path.display().to_string());
    let all = "cap_net_raw,cap_net_bind_service,cap_net_admin,cap_sys_nice,cap_ipc_lock";
    format!("{missing} is missing; run as root, or once `setcap {all}+ep {program}`")
}
