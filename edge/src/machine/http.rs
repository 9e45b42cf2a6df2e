// SPDX-License-Identifier: Apache-2.0
//! The metrics endpoint: answers every request with one text, within the machine's event loop.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::BorrowedFd;

use rustix::event::epoll::{self, EventData, EventFlags};

/// Who is slower than so many others who ask later is cut off.
const CONNECTIONS_MAX: usize = 16;
const REQUEST_BYTES_MAX: usize = 4_096;

struct Connection {
    stream: TcpStream,
    request: Vec<u8>,
    response: Vec<u8>,
    written: usize,
}

/// A listening socket and who is connected to it.
pub struct Endpoint {
    listener: TcpListener,
    /// The token of the listener; those of the connections follow, each `step` further.
    token: u64,
    step: u64,
    connections: [Option<Connection>; CONNECTIONS_MAX],
    next: usize,
}

impl Endpoint {
    /// Listens.
    pub fn open(epoll: BorrowedFd, address: SocketAddr, token: u64, step: u64) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        epoll::add(epoll, &listener, EventData::new_u64(token), EventFlags::IN)?;
        Ok(Self { listener, token, step, connections: [const { None }; CONNECTIONS_MAX], next: 0 })
    }

    /// Where it listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Something can be done for a token of ours. `text` makes the answer.
    pub fn ready(&mut self, epoll: BorrowedFd, token: u64, text: impl FnOnce() -> String) {
        match usize::try_from((token - self.token) / self.step) {
            Ok(0) => self.accept(epoll),
            Ok(place @ 1..=CONNECTIONS_MAX) => {
                let connection = &mut self.connections[place - 1];
                if !connection.as_mut().is_some_and(|c| c.go_on(epoll, token, text).unwrap_or(false)) {
                    *connection = None;
                }
            }
            _ => {}
        }
    }

    fn accept(&mut self, epoll: BorrowedFd) {
        // An error is of a connection that is gone already.
        let Ok((stream, _)) = self.listener.accept() else { return };
        let place = self.connections.iter().position(Option::is_none).unwrap_or(self.next);
        self.next = (place + 1) % CONNECTIONS_MAX;
        let token = EventData::new_u64(self.token + (place as u64 + 1) * self.step);
        let watched =
            stream.set_nonblocking(true).and_then(|()| Ok(epoll::add(epoll, &stream, token, EventFlags::IN)?));
        let connection = Connection { stream, request: Vec::new(), response: Vec::new(), written: 0 };
        self.connections[place] = watched.is_ok().then_some(connection);
    }
}

impl Connection {
    /// Reads, or writes; whether there is more to do.
    fn go_on(&mut self, epoll: BorrowedFd, token: u64, text: impl FnOnce() -> String) -> io::Result<bool> {
        if self.response.is_empty() {
            let mut buffer = [0; REQUEST_BYTES_MAX];
            let length = self.stream.read(&mut buffer)?;
            self.request.extend_from_slice(&buffer[..length]);
            let whole = self.request.windows(4).any(|bytes| bytes == b"\r\n\r\n");
            if !whole {
                return Ok(length > 0 && self.request.len() < REQUEST_BYTES_MAX);
            }
            self.response = response(&self.request, text);
        }
        match self.stream.write(&self.response[self.written..]) {
            Ok(length) => self.written += length,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        if self.written < self.response.len() {
            epoll::modify(epoll, &self.stream, EventData::new_u64(token), EventFlags::OUT)?;
        }
        Ok(self.written < self.response.len())
    }
}

fn response(request: &[u8], text: impl FnOnce() -> String) -> Vec<u8> {
    let (status, body) = match request {
        [b'G', b'E', b'T', b' ', b'/', b' ', ..] => ("200 OK", text()),
        _ if request.starts_with(b"GET /metrics ") => ("200 OK", text()),
        _ => ("404 Not Found", "GET /metrics\n".to_owned()),
    };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}
