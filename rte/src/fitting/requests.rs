// SPDX-License-Identifier: Apache-2.0
//! A socket in the file system to which other processes send lines for a protocol.

use std::ffi::OsString;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use super::Error;
use super::console::tell;
use crate::protocol::profinet::device::request::{LINE_BYTES_MAX, Requests};

/// The socket of a device whose memory is that file.
pub fn path(memory: &Path) -> PathBuf {
    let mut path = OsString::from(memory);
    path.push(".profinet");
    path.into()
}

/// Receives lines. The socket appears when it is asked for the first one, and goes with it. Whoever may write to the
/// file may send.
#[derive(Debug)]
pub struct RequestSocket {
    path: PathBuf,
    socket: Option<io::Result<UnixDatagram>>,
}

impl RequestSocket {
    /// At that path, in place of one that another process left.
    pub fn new(path: PathBuf) -> Self {
        Self { path, socket: None }
    }
}

fn bind(path: &Path) -> io::Result<UnixDatagram> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let socket = UnixDatagram::bind(path)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

impl Requests for RequestSocket {
    fn next(&mut self) -> Option<String> {
        let path = &self.path;
        let socket = self.socket.get_or_insert_with(|| {
            bind(path)
                .inspect_err(|error| tell(&format!("profinet: no alarms of applications: {}: {error}", path.display())))
        });
        let mut line = [0; LINE_BYTES_MAX];
        let count = socket.as_ref().ok()?.recv(&mut line).ok()?;
        Some(String::from_utf8_lossy(&line[..count]).into_owned())
    }
}

impl Drop for RequestSocket {
    fn drop(&mut self) {
        if let Some(Ok(_)) = &self.socket {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Sends a line to a device that runs.
///
/// # Errors
/// If it does not run, or takes no more.
pub fn send(path: &Path, line: &str) -> Result<(), Error> {
    let sent = UnixDatagram::unbound().and_then(|socket| socket.send_to(line.as_bytes(), path));
    match sent {
        Ok(_) => Ok(()),
        Err(error) => Err(Error::new(format!("{}: {error}; `weir-io run` makes it", path.display()))),
    }
}
