// SPDX-License-Identifier: Apache-2.0
//! What the supervisor and a protocol's process tell each other: one line of text in one packet of a socket, so that a
//! process that dies leaves no half of one.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair};

use crate::protocol::{Address, AddressRequest};

const BYTES_MAX: usize = 256;

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// To a protocol: the interface's address.
    Address(Address),
    /// To a protocol: print what was counted.
    Counters,
    /// To the supervisor: somebody on the network wants another address.
    Request(AddressRequest),
}

/// Both ends of a new socket: the supervisor's and the protocol's.
///
/// # Errors
/// If the process has no more descriptors.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

impl Message {
    fn encode(&self) -> String {
        let words = |Address { ip, mask, gateway }: &Address| format!("{ip} {mask} {gateway}");
        match self {
            Self::Address(address) => format!("address {}", words(address)),
            Self::Counters => "counters".to_owned(),
            Self::Request(AddressRequest { address, permanent }) => format!("request {} {permanent}", words(address)),
        }
    }

    fn decode(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let kind = words.next()?;
        let mut ip = || words.next()?.parse::<Ipv4Addr>().ok();
        let message = match kind {
            "counters" => Self::Counters,
            "address" => Self::Address(Address { ip: ip()?, mask: ip()?, gateway: ip()? }),
            "request" => {
                let address = Address { ip: ip()?, mask: ip()?, gateway: ip()? };
                Self::Request(AddressRequest { address, permanent: words.next()?.parse().ok()? })
            }
            _ => return None,
        };
        words.next().is_none().then_some(message)
    }

    /// Sends it. Never waits: who does not read its messages loses them.
    ///
    /// # Errors
    /// If the other side is gone or does not read.
    pub fn send(&self, socket: impl AsFd) -> io::Result<()> {
        send(socket, self.encode().as_bytes(), SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?;
        Ok(())
    }

    /// Receives one; none if it is not one that this version knows. Waits if `wait`.
    ///
    /// # Errors
    /// `UnexpectedEof` if the other side is gone; `WouldBlock` if there is nothing.
    pub fn receive(socket: impl AsFd, wait: bool) -> io::Result<Option<Self>> {
        let mut buffer = [0; BYTES_MAX];
        let flags = if wait { RecvFlags::empty() } else { RecvFlags::DONTWAIT };
        match recv(socket, &mut buffer, flags)?.0 {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            bytes => Ok(std::str::from_utf8(&buffer[..bytes]).ok().and_then(Self::decode)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_is_received_until_the_other_side_is_gone() {
        let address = Address { ip: [192, 168, 3, 20].into(), mask: [255, 255, 255, 0].into(), gateway: [0; 4].into() };
        let (one, other) = pair().unwrap();
        let request = Message::Request(AddressRequest { address, permanent: true });
        for message in [Message::Address(address), Message::Counters, request] {
            message.send(&one).unwrap();
            assert_eq!(Message::receive(&other, true).unwrap(), Some(message));
        }
        assert_eq!(Message::receive(&other, false).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        for wrong in ["address 1.2.3.4", "address 1.2.3.4 1.2.3.4 x", "counters x", "\u{fe}", "request 1.1.1.1"] {
            send(&one, wrong.as_bytes(), SendFlags::empty()).unwrap();
            assert_eq!(Message::receive(&other, true).unwrap(), None, "{wrong}");
        }
        drop(one);
        assert_eq!(Message::receive(&other, true).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
