// SPDX-License-Identifier: Apache-2.0
//! Frames of an interface as they come and go, with the kernel's time stamps.

use std::mem::{MaybeUninit, zeroed};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use crate::fitting::Error;
use crate::fitting::interface::Interface;
use crate::fitting::system::{bind_packet, set_option};

const ALL_TYPES: u16 = 0x0003;
/// Room for frames that are not yet looked at: a second of both directions at 100 Mbit/s.
const BUFFER_BYTES: libc::c_int = 32 << 20;
const FRAME_BYTES_MAX: usize = 2048;

/// An ear at an interface, which hears what it receives and what it sends.
#[derive(Debug)]
pub struct Ear {
    socket: OwnedFd,
    name: String,
}

impl Ear {
    /// Begins to listen.
    ///
    /// # Errors
    /// With the way out, if there is no such interface, or it is not permitted.
    pub fn open(name: &str) -> Result<Self, Error> {
        let interface = Interface::open(name)?;
        let failed = |error: std::io::Error| {
            let way_out = if error.kind() == std::io::ErrorKind::PermissionDenied {
                ": it needs CAP_NET_RAW, as root has"
            } else {
                ""
            };
            Error::new(format!("{name} cannot be listened to: {error}{way_out}"))
        };
        let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, SocketFlags::CLOEXEC, None);
        let socket = socket.map_err(|error| failed(error.into()))?;
        set_option(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1).map_err(failed)?;
        // Without the privilege to exceed the limit, the limit does.
        let forced = set_option(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &BUFFER_BYTES);
        forced.or_else(|_| set_option(&socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &BUFFER_BYTES)).map_err(failed)?;
        bind_packet(&socket, interface.index, ALL_TYPES).map_err(failed)?;
        Ok(Self { socket, name: name.to_owned() })
    }

    /// Calls `each` with the time, in nanoseconds since 1970, and the bytes of every frame for that long.
    ///
    /// # Errors
    /// If the interface is gone.
    pub fn listen(&self, how_long: Duration, mut each: impl FnMut(u64, &[u8])) -> Result<(), Error> {
        let failed = |error| Error::new(format!("{} cannot be listened to any more: {error}", self.name));
        let end = Instant::now() + how_long;
        let mut frame = [0; FRAME_BYTES_MAX];
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            match self.receive(&mut frame) {
                Ok((at, bytes)) => each(at, &frame[..bytes]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    let patience = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
                    let mut readable = [PollFd::new(&self.socket, PollFlags::IN)];
                    poll(&mut readable, Some(&patience)).map_err(|error| failed(error.into()))?;
                }
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(())
    }

    fn receive(&self, frame: &mut [u8]) -> std::io::Result<(u64, usize)> {
        #[repr(align(8))]
        struct Control([MaybeUninit<u8>; 64]);
        let mut control = Control([MaybeUninit::uninit(); 64]);
        let mut part = libc::iovec { iov_base: frame.as_mut_ptr().cast(), iov_len: frame.len() };
        // SAFETY: all zeros are an empty message.
        let mut message: libc::msghdr = unsafe { zeroed() };
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = control.0.len() as _;
        let socket = self.socket.as_fd().as_raw_fd();
        // SAFETY: everything that the message points to lives for the call.
        let bytes = unsafe { libc::recvmsg(socket, &raw mut message, libc::MSG_DONTWAIT) };
        let bytes = usize::try_from(bytes).map_err(|_| std::io::Error::last_os_error())?;
        // SAFETY: the kernel has filled in the control messages; the macros stay within their length.
        unsafe {
            let mut header = libc::CMSG_FIRSTHDR(&raw const message);
            while let Some(this) = header.as_ref() {
                if this.cmsg_level == libc::SOL_SOCKET && this.cmsg_type == libc::SCM_TIMESTAMPNS {
                    let time = libc::CMSG_DATA(header).cast::<libc::timespec>().read_unaligned();
                    return Ok((time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64, bytes));
                }
                header = libc::CMSG_NXTHDR(&raw const message, header);
            }
        }
        Err(std::io::Error::other("the kernel gives no time stamps"))
    }
}
