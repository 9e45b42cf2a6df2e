// SPDX-License-Identifier: Apache-2.0
//! Calls of the kernel that have no safe wrapper elsewhere: interface requests, packet sockets, datagrams with the
//! address that they were sent to.

use std::io;
use std::mem::{MaybeUninit, size_of, size_of_val, zeroed};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use crate::protocol::Nanos;

/// The time of `CLOCK_MONOTONIC`.
pub fn now() -> Nanos {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn checked_length(result: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// A request about an interface, by its name.
///
/// # Errors
/// If the name is longer than 15 bytes.
pub fn interface_request(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: all zeros are an empty request.
    let mut request: libc::ifreq = unsafe { zeroed() };
    if name.len() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}

/// Asks the kernel about an interface, or to change it; `code` is one of `SIOC…IF…` that take an `ifreq`.
///
/// # Errors
/// What the kernel says.
pub fn interface_call(socket: impl AsFd, code: libc::Ioctl, request: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: a request of that type lives for the call.
    checked(unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), code, std::ptr::from_mut(request)) }).map(drop)
}

/// Adds or removes a route; `code` is `SIOCADDRT` or `SIOCDELRT`.
///
/// # Errors
/// What the kernel says.
pub fn route_call(socket: impl AsFd, code: libc::Ioctl, request: &mut libc::rtentry) -> io::Result<()> {
    // SAFETY: a request of that type lives for the call.
    checked(unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), code, std::ptr::from_mut(request)) }).map(drop)
}

/// An address as the kernel's requests have it.
pub fn to_sockaddr(ip: Ipv4Addr) -> libc::sockaddr {
    let address = to_sockaddr_in(SocketAddrV4::new(ip, 0));
    // SAFETY: both have 16 bytes, and every pattern is one of a sockaddr.
    unsafe { std::mem::transmute::<libc::sockaddr_in, libc::sockaddr>(address) }
}

/// The address that the kernel answered, if it is one of IPv4.
pub fn from_sockaddr(address: &libc::sockaddr) -> Ipv4Addr {
    let [_, _, a, b, c, d, ..] = address.sa_data.map(|byte| byte as u8);
    Ipv4Addr::new(a, b, c, d)
}

fn to_sockaddr_in(to: SocketAddrV4) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: to.port().to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from(*to.ip()).to_be() },
        sin_zero: [0; 8],
    }
}

/// Sets an option that rustix does not know. `value` is what the kernel expects for it.
///
/// # Errors
/// What the kernel says.
pub fn set_option<T: Copy>(socket: impl AsFd, level: libc::c_int, name: libc::c_int, value: &T) -> io::Result<()> {
    let length = size_of_val(value) as libc::socklen_t;
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel reads `length` bytes of the value.
    checked(unsafe { libc::setsockopt(socket, level, name, std::ptr::from_ref(value).cast(), length) }).map(drop)
}

/// Binds a socket to an interface by name: it receives from there and sends there alone.
///
/// # Errors
/// What the kernel says.
pub fn bind_to_interface(socket: impl AsFd, name: &str) -> io::Result<()> {
    let request = interface_request(name)?;
    set_option(socket, libc::SOL_SOCKET, libc::SO_BINDTODEVICE, &request.ifr_name)
}

/// Lets a socket receive only what a program of the classic filter's machine keeps.
///
/// # Errors
/// What the kernel says.
pub fn attach_filter(socket: impl AsFd, program: &[libc::sock_filter]) -> io::Result<()> {
    let length = u16::try_from(program.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let program = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut() };
    set_option(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

/// Binds a packet socket to an interface and an EtherType.
///
/// # Errors
/// What the kernel says.
pub fn bind_packet(socket: impl AsFd, interface: u32, ethertype: u16) -> io::Result<()> {
    // SAFETY: all zeros are an empty address.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = ethertype.to_be();
    address.sll_ifindex = interface as i32;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the address lives for the call.
    checked(unsafe { libc::bind(socket.as_fd().as_raw_fd(), (&raw const address).cast(), length) }).map(drop)
}

/// Has the interface receive a group's frames for as long as the packet socket is open.
///
/// # Errors
/// What the kernel says.
pub fn join_group(socket: impl AsFd, interface: u32, group: [u8; 6]) -> io::Result<()> {
    let [a, b, c, d, e, f] = group;
    let request = libc::packet_mreq {
        mr_ifindex: interface as i32,
        mr_type: libc::PACKET_MR_MULTICAST as u16,
        mr_alen: 6,
        mr_address: [a, b, c, d, e, f, 0, 0],
    };
    set_option(socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &request)
}

/// A datagram that was received.
#[derive(Clone, Copy, Debug)]
pub struct Datagram {
    /// How much of the buffer it is.
    pub bytes: usize,
    /// Who sent it.
    pub from: SocketAddrV4,
    /// The address that it was sent to.
    pub to: Ipv4Addr,
}

/// Room for one control message with an `in_pktinfo`, aligned as its header wants it.
#[repr(align(8))]
struct Control([MaybeUninit<u8>; 64]);

/// Receives a datagram on a socket that has `IP_PKTINFO`. Does not wait.
///
/// # Errors
/// What the kernel says; `WouldBlock` if there is none.
pub fn receive_datagram(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<Datagram> {
    // SAFETY: all zeros are an empty address and an empty message.
    let (mut from, mut message): (libc::sockaddr_in, libc::msghdr) = unsafe { (zeroed(), zeroed()) };
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let mut control = Control([MaybeUninit::uninit(); 64]);
    message.msg_name = (&raw mut from).cast();
    message.msg_namelen = size_of::<libc::sockaddr_in>() as libc::socklen_t;
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control.0.len() as _;
    // SAFETY: everything that the message points to lives for the call.
    let bytes = checked_length(unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT) })?;
    let mut to = Ipv4Addr::UNSPECIFIED;
    // SAFETY: the kernel has filled in the control messages; the macros stay within their length.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(&raw const message);
        while let Some(this) = header.as_ref() {
            if this.cmsg_level == libc::IPPROTO_IP && this.cmsg_type == libc::IP_PKTINFO {
                let info = libc::CMSG_DATA(header).cast::<libc::in_pktinfo>().read_unaligned();
                to = Ipv4Addr::from(u32::from_be(info.ipi_addr.s_addr));
            }
            header = libc::CMSG_NXTHDR(&raw const message, header);
        }
    }
    let from = SocketAddrV4::new(u32::from_be(from.sin_addr.s_addr).into(), u16::from_be(from.sin_port));
    Ok(Datagram { bytes, from, to })
}

/// Sends a datagram from one of the interface's addresses; 0.0.0.0 leaves the choice to the kernel. Does not wait.
///
/// # Errors
/// What the kernel says.
pub fn send_datagram(socket: BorrowedFd<'_>, from: Ipv4Addr, to: SocketAddrV4, payload: &[u8]) -> io::Result<()> {
    let mut to = to_sockaddr_in(to);
    // SAFETY: all zeros are an empty message and an empty information.
    let (mut message, mut info): (libc::msghdr, libc::in_pktinfo) = unsafe { (zeroed(), zeroed()) };
    let mut part = libc::iovec { iov_base: payload.as_ptr().cast_mut().cast(), iov_len: payload.len() };
    let mut control = Control([MaybeUninit::zeroed(); 64]);
    message.msg_name = (&raw mut to).cast();
    message.msg_namelen = size_of::<libc::sockaddr_in>() as libc::socklen_t;
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    if !from.is_unspecified() {
        info.ipi_spec_dst.s_addr = u32::from(from).to_be();
        let length = size_of::<libc::in_pktinfo>() as u32;
        message.msg_control = control.0.as_mut_ptr().cast();
        // SAFETY: the control message fits into its 64 bytes.
        unsafe {
            message.msg_controllen = libc::CMSG_SPACE(length) as _;
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = libc::IPPROTO_IP;
            (*header).cmsg_type = libc::IP_PKTINFO;
            (*header).cmsg_len = libc::CMSG_LEN(length) as _;
            libc::CMSG_DATA(header).cast::<libc::in_pktinfo>().write_unaligned(info);
        }
    }
    // SAFETY: everything that the message points to lives for the call.
    checked_length(unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_DONTWAIT) }).map(drop)
}

/// Sets the calling thread's policy; times in nanoseconds are for `SCHED_DEADLINE`, the priority for `SCHED_FIFO`.
/// Threads and processes that it starts have `SCHED_OTHER` again.
///
/// # Errors
/// What the kernel says: `EPERM` if it is not allowed, `EBUSY` if the admission test fails.
pub fn set_policy(policy: libc::c_int, priority: u32, runtime: Nanos, period: Nanos) -> io::Result<()> {
    let attributes = libc::sched_attr {
        size: size_of::<libc::sched_attr>() as u32,
        sched_policy: policy as u32,
        sched_flags: libc::SCHED_FLAG_RESET_ON_FORK as u64,
        sched_nice: 0,
        sched_priority: priority,
        sched_runtime: runtime,
        sched_deadline: period,
        sched_period: period,
    };
    // SAFETY: the attributes live for the call, and say how long they are; thread 0 is the calling one.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// How many packets a packet socket had no room for since the last call.
pub fn packets_dropped(socket: BorrowedFd<'_>) -> u64 {
    let mut statistics = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
    let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
    let to = (&raw mut statistics).cast();
    // SAFETY: the kernel writes at most `length` bytes.
    let result =
        unsafe { libc::getsockopt(socket.as_raw_fd(), libc::SOL_PACKET, libc::PACKET_STATISTICS, to, &raw mut length) };
    if result == 0 { u64::from(statistics.tp_drops) } else { 0 }
}

/// How long the calling thread has run on a CPU, in nanoseconds.
pub fn thread_time() -> Nanos {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
