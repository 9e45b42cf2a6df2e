// SPDX-License-Identifier: Apache-2.0
//! The TCP connections of one port: a limited number of them, each with a limited backlog.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, SocketFlags, accept_with, listen, recv, send, shutdown, sockopt};

/// What may wait to be sent over one connection, in bytes. A peer that lets more wait does not read.
const BACKLOG_BYTES_MAX: usize = 64 * 1024;
/// How long a peer may leave what was sent unacknowledged, in milliseconds.
const UNREAD_MS_MAX: u32 = 30_000;

#[derive(Debug)]
struct Connection {
    number: u32,
    socket: OwnedFd,
    backlog: VecDeque<u8>,
    /// Is closed as soon as the backlog is empty.
    closing: bool,
    /// Something was received.
    spoke: bool,
}

/// What can be done for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It went out, or waits to.
    Yes,
    /// The peer does not read, or is gone: the connection is closed.
    Closed,
    /// There is no such connection.
    Unknown,
}

/// A port's connections.
#[derive(Debug)]
pub struct Connections {
    listener: OwnedFd,
    open: Vec<Connection>,
    limit: usize,
    next: u32,
}

impl Connections {
    /// Begins to listen.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn listen(listener: OwnedFd, limit: usize) -> io::Result<Self> {
        listen(&listener, 16)?;
        Ok(Self { listener, open: Vec::with_capacity(limit), limit, next: 0 })
    }

    /// What is readable when somebody wants to connect.
    pub fn listener(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// Takes one who wants to connect; `token` is what epoll tells events of the connection by, given its number.
    /// Answers whether there was room; none if there was nobody.
    pub fn accept(&mut self, epoll: &OwnedFd, token: impl Fn(u32) -> u64) -> Option<bool> {
        let socket = accept_with(&self.listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK).ok()?;
        if self.open.len() >= self.limit {
            // One that never said anything, of which the lane does not know, makes room: or else a few of these would
            // keep everybody out.
            let Some(silent) = self.open.iter().position(|connection| !connection.spoke) else { return Some(false) };
            self.open.swap_remove(silent);
        }
        // An answer is small and somebody waits for it. If it cannot be had, the connection works all the same.
        let _ = sockopt::set_tcp_nodelay(&socket, true);
        let _ = sockopt::set_tcp_user_timeout(&socket, UNREAD_MS_MAX);
        self.next = self.next.checked_add(1)?;
        let data = EventData::new_u64(token(self.next));
        if epoll::add(epoll, &socket, data, EventFlags::IN | EventFlags::RDHUP).is_err() {
            return Some(false);
        }
        self.open.push(Connection {
            number: self.next,
            socket,
            backlog: VecDeque::new(),
            closing: false,
            spoke: false,
        });
        Some(true)
    }

    fn position(&self, number: u32) -> Option<usize> {
        self.open.iter().position(|connection| connection.number == number)
    }

    /// Receives from one. No bytes: it is closed now.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing, or no such connection.
    pub fn receive(&mut self, number: u32, buffer: &mut [u8]) -> io::Result<usize> {
        let at = self.position(number).ok_or(io::ErrorKind::WouldBlock)?;
        if self.open[at].closing {
            return self.drain(at, buffer);
        }
        match recv(&self.open[at].socket, buffer, RecvFlags::DONTWAIT) {
            Ok((0, _)) => {}
            Ok((bytes, _)) => {
                self.open[at].spoke = true;
                return Ok(bytes);
            }
            Err(Errno::WOULDBLOCK | Errno::INTR) => return Err(io::ErrorKind::WouldBlock.into()),
            Err(_) => {}
        }
        self.open.swap_remove(at);
        Ok(0)
    }

    /// What comes from a connection that the lane has closed is for nobody.
    fn drain(&mut self, at: usize, buffer: &mut [u8]) -> io::Result<usize> {
        if !matches!(recv(&self.open[at].socket, buffer, RecvFlags::DONTWAIT), Ok((1.., _)) | Err(Errno::WOULDBLOCK)) {
            self.open.swap_remove(at);
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    /// Sends over one; `token` as in [`Self::accept`].
    pub fn send(&mut self, number: u32, bytes: &[u8], epoll: &OwnedFd, token: u64) -> Sent {
        let Some(at) = self.position(number).filter(|at| !self.open[*at].closing) else { return Sent::Unknown };
        let connection = &mut self.open[at];
        let was_empty = connection.backlog.is_empty();
        let mut rest = bytes;
        if was_empty {
            match send(&connection.socket, rest, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(sent) => rest = &rest[sent..],
                Err(Errno::WOULDBLOCK | Errno::INTR) => {}
                Err(_) => return self.lost(at),
            }
        }
        if rest.is_empty() {
            return Sent::Yes;
        }
        if connection.backlog.len() + rest.len() > BACKLOG_BYTES_MAX {
            return self.lost(at);
        }
        connection.backlog.extend(rest);
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP;
        if was_empty && epoll::modify(epoll, &connection.socket, EventData::new_u64(token), flags).is_err() {
            return self.lost(at);
        }
        Sent::Yes
    }

    fn lost(&mut self, at: usize) -> Sent {
        self.open.swap_remove(at);
        Sent::Closed
    }

    /// Sends what waits, as far as it goes. Answers whether the connection had to be closed, as in [`Self::send`].
    pub fn flush(&mut self, number: u32, epoll: &OwnedFd, token: u64) -> Sent {
        let Some(at) = self.position(number) else { return Sent::Unknown };
        let connection = &mut self.open[at];
        while !connection.backlog.is_empty() {
            let (front, _) = connection.backlog.as_slices();
            match send(&connection.socket, front, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(sent) => drop(connection.backlog.drain(..sent)),
                Err(Errno::WOULDBLOCK | Errno::INTR) => return Sent::Yes,
                Err(_) => {
                    let closing = connection.closing;
                    self.open.swap_remove(at);
                    return if closing { Sent::Unknown } else { Sent::Closed };
                }
            }
        }
        if connection.closing {
            self.finish(at);
            return Sent::Yes;
        }
        let flags = EventFlags::IN | EventFlags::RDHUP;
        let _ = epoll::modify(epoll, &connection.socket, EventData::new_u64(token), flags);
        Sent::Yes
    }

    /// Closes one when what was sent over it is gone.
    pub fn close(&mut self, number: u32) {
        let Some(at) = self.position(number) else { return };
        self.open[at].closing = true;
        if self.open[at].backlog.is_empty() {
            self.finish(at);
        }
    }

    fn finish(&mut self, at: usize) {
        let connection = self.open.swap_remove(at);
        let _ = shutdown(&connection.socket, Shutdown::Both);
    }
}
