// SPDX-License-Identifier: Apache-2.0
//! A switch in user space that delays each frame, for kernels without netem: it joins interfaces that nothing else joins.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::ffi::CString;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Before each frame the kernel says, and is told, what of its checksum and segmentation is still to be done.
const OFFLOADS_BYTES: usize = 10;
/// Source and destination of a frame; shorter ones are none.
const ADDRESSES_BYTES: usize = 12;
/// Segments that are still in one piece are at most as long.
const FRAME_BYTES_MAX: usize = OFFLOADS_BYTES + 14 + 65_536;
/// Frames under way; beyond these they are lost, as in any switch.
const UNDER_WAY_MAX: usize = 10_000;
/// Stations beyond these are reached by sending to all.
const STATIONS_MAX: usize = 1_024;
/// Frames of one port before the others have their turn.
const FRAMES_AT_ONCE: usize = 64;

/// An interface of this network namespace, and what its cable takes each way.
pub struct Port {
    socket: OwnedFd,
    delay: Duration,
}

impl Port {
    /// Takes and sends frames at an interface.
    pub fn open(interface: &str, delay: Duration) -> io::Result<Self> {
        let name = CString::new(interface)?;
        // SAFETY: the name ends with a zero byte.
        let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: only numbers are passed. Without a protocol it takes nothing before it is bound to its interface.
        let socket = succeeded(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
        // SAFETY: it was opened just now, and nobody else has it.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        // What others send by the interface is not for us.
        for option in [libc::PACKET_VNET_HDR, libc::PACKET_IGNORE_OUTGOING] {
            let (on, length) = (1_i32, size_of::<i32>() as libc::socklen_t);
            let fd = socket.as_raw_fd();
            // SAFETY: the option is an integer, which lives longer than the call.
            succeeded(unsafe { libc::setsockopt(fd, libc::SOL_PACKET, option, (&raw const on).cast(), length) })?;
        }
        // SAFETY: all bits zero is a valid value of a structure of integers.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = i32::try_from(index).unwrap_or_default();
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the address is as long as is said, and lives longer than the call.
        succeeded(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) })?;
        Ok(Self { socket, delay })
    }
}

fn succeeded(result: i32) -> io::Result<i32> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

type Station = [u8; 6];

/// When, in which order, to which port, what.
type UnderWay = Reverse<(Instant, u64, usize, Vec<u8>)>;

/// Passes frames on for ever, each as much later as both cables take.
pub fn run(ports: &[Port]) -> io::Result<()> {
    let mut stations: HashMap<Station, usize> = HashMap::new();
    let mut under_way: BinaryHeap<UnderWay> = BinaryHeap::new();
    let mut order = 0;
    let mut buffer = vec![0; FRAME_BYTES_MAX];
    loop {
        wait(ports, under_way.peek().map(|Reverse((due, ..))| *due))?;
        for (from, port) in ports.iter().enumerate() {
            for _ in 0..FRAMES_AT_ONCE {
                // An interface that is down says so once; then it is silent until it is up.
                let Ok(length) = rustix::io::read(&port.socket, &mut buffer) else { break };
                let now = Instant::now();
                let frame = &buffer[..length];
                for to in receivers(frame, from, ports.len(), &mut stations) {
                    if under_way.len() < UNDER_WAY_MAX {
                        order += 1;
                        let due = now + port.delay + ports[to].delay;
                        under_way.push(Reverse((due, order, to, frame.to_vec())));
                    }
                }
            }
        }
        while let Some(Reverse((due, ..))) = under_way.peek()
            && *due <= Instant::now()
            && let Some(Reverse((_, _, to, frame))) = under_way.pop()
        {
            // Its cable may be pulled; then it is lost.
            let _ = rustix::io::write(&ports[to].socket, &frame);
        }
    }
}

/// The ports to which a frame goes: where its destination was heard, or else all others.
fn receivers(
    frame: &[u8],
    from: usize,
    ports: usize,
    stations: &mut HashMap<Station, usize>,
) -> impl Iterator<Item = usize> + use<> {
    let addresses = frame.get(OFFLOADS_BYTES..OFFLOADS_BYTES + ADDRESSES_BYTES);
    let station = |at: usize| addresses.and_then(|both| both[at..at + 6].try_into().ok());
    let (destination, source): (Option<Station>, Option<Station>) = (station(0), station(6));
    if let Some(source) = source
        && (stations.len() < STATIONS_MAX || stations.contains_key(&source))
    {
        stations.insert(source, from);
    }
    let known = destination.and_then(|destination| stations.get(&destination).copied());
    let is_frame = addresses.is_some();
    (0..ports).filter(move |port| is_frame && *port != from && known.is_none_or(|known| known == *port))
}

fn wait(ports: &[Port], due: Option<Instant>) -> io::Result<()> {
    let mut ready: Vec<PollFd> = ports.iter().map(|port| PollFd::new(&port.socket, PollFlags::IN)).collect();
    let left = due.map(|due| due.saturating_duration_since(Instant::now()));
    let left = left.and_then(|left| Timespec::try_from(left).ok());
    match poll(&mut ready, left.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(destination: u8, source: u8) -> Vec<u8> {
        [vec![0; OFFLOADS_BYTES], vec![destination; 6], vec![source; 6], vec![0; 50]].concat()
    }

    #[test]
    fn a_frame_goes_where_its_destination_was_heard_and_else_to_all_others() {
        let mut stations = HashMap::new();
        let mut to = |frame: &[u8], from| receivers(frame, from, 4, &mut stations).collect::<Vec<_>>();
        assert_eq!(to(&frame(0xff, 1), 0), [1, 2, 3]);
        assert_eq!(to(&frame(1, 2), 2), [0]);
        assert_eq!(to(&frame(9, 2), 2), [0, 1, 3]);
        // It moved.
        assert_eq!(to(&frame(0xff, 1), 3), [0, 1, 2]);
        assert_eq!(to(&frame(1, 2), 2), [3]);
        assert_eq!(to(&frame(2, 2)[..OFFLOADS_BYTES + 11], 1), [0; 0]);
    }
}
