// SPDX-License-Identifier: Apache-2.0
//! What the kernel's network can do, tried in a network namespace of its own.

use std::io;
use std::process::Command;
use std::thread;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::thread::UnshareFlags;

use super::Finding;
use crate::fitting::sockets::capabilities_hint;
use crate::fitting::system::set_option;

/// Queueing disciplines: name, arguments for a trial, what their absence costs, and what brings them.
const QDISCS: [(&str, &str, &str); 5] = [
    ("prio", "prio", "cyclic frames wait behind others where pfifo_fast is not the interface's"),
    (
        "mqprio",
        "mqprio num_tc 1 map 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 queues 1@0 hw 0",
        "no queue of the hardware for the cycle",
    ),
    (
        "cbs",
        "cbs idleslope 2376 sendslope -97624 hicredit 37 locredit -208",
        "no 802.1Qav shaping on a switch of this kernel",
    ),
    (
        "taprio",
        "taprio num_tc 1 map 0 queues 1@0 base-time 0 sched-entry S 01 1000000 clockid CLOCK_TAI",
        "no 802.1Qbv gates",
    ),
    ("etf", "etf clockid CLOCK_TAI delta 200000", "SO_TXTIME is not honoured: frames leave when the thread sends them"),
];

pub(super) fn findings() -> Vec<Finding> {
    let mut all = vec![packet_socket(), time_stamps(), send_times()];
    // A thread of its own: the namespace goes away with it.
    all.extend(thread::spawn(in_a_namespace).join().expect("it does not panic"));
    all
}

fn raw() -> io::Result<std::os::fd::OwnedFd> {
    Ok(socket_with(AddressFamily::PACKET, SocketType::RAW, SocketFlags::CLOEXEC, None)?)
}

fn packet_socket() -> Finding {
    const WHAT: &str = "packet sockets";
    match raw() {
        Ok(_) => Finding::there(WHAT, "AF_PACKET"),
        Err(error) => Finding::missing(
            WHAT,
            error.to_string(),
            "no PROFINET: its frames are no IP",
            capabilities_hint("cap_net_raw"),
        ),
    }
}

fn time_stamps() -> Finding {
    const WHAT: &str = "time stamps by the kernel";
    let flags = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
    let socket =
        socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None).map_err(io::Error::from);
    let set = |socket| set_option(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, &flags);
    match socket.and_then(set) {
        Ok(()) => Finding::there(WHAT, "when frames are received"),
        Err(error) => {
            Finding::missing(WHAT, error.to_string(), "measurements contain the program's own delay", "another kernel")
        }
    }
}

fn send_times() -> Finding {
    const WHAT: &str = "SO_TXTIME";
    let times = libc::sock_txtime { clockid: libc::CLOCK_TAI, flags: 0 };
    let set = |socket| set_option(socket, libc::SOL_SOCKET, libc::SO_TXTIME, &times);
    match raw().and_then(set) {
        Ok(()) => Finding::there(WHAT, "accepted; honoured where etf or taprio is the interface's"),
        Err(error) => {
            let costs = "frames leave when the thread sends them";
            Finding::missing(WHAT, error.to_string(), costs, "a kernel since 4.19, and cap_net_admin")
        }
    }
}

/// Runs a command; answers what it complains of.
fn run(program: &str, arguments: &str) -> Result<(), String> {
    let output = Command::new(program).args(arguments.split_whitespace()).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(complaint.lines().next().unwrap_or("no reason").to_owned()) }
}

fn in_a_namespace() -> Vec<Finding> {
    const WHAT: &str = "queueing disciplines";
    // SAFETY: only the network is unshared, no memory.
    let unshared = unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) };
    if let Err(error) = unshared {
        return vec![Finding::unknown(WHAT, format!("no namespace to try them in: {error}"), "run as root")];
    }
    let ready = run("ip", "link add tune0 numtxqueues 4 type veth peer name tune1")
        .and_then(|()| run("ip", "link set tune0 up"));
    if let Err(error) = ready {
        return vec![Finding::unknown(WHAT, error, "apt-get install iproute2; a kernel with veth")];
    }
    let mut all: Vec<Finding> = QDISCS.iter().map(|(kind, arguments, costs)| qdisc(kind, arguments, costs)).collect();
    all.push(match run("ip", "link add link tune0 name tune0.5 type vlan id 5") {
        Ok(()) => Finding::there("VLAN interfaces", "802.1Q"),
        Err(error) => {
            let costs = "no device within a VLAN of its own; priority tags are written without it";
            Finding::missing("VLAN interfaces", error, costs, "modprobe 8021q, or a kernel with CONFIG_VLAN_8021Q")
        }
    });
    all
}

fn qdisc(kind: &'static str, arguments: &str, costs: &'static str) -> Finding {
    let tried = run("tc", &format!("qdisc replace dev tune0 root {arguments}"));
    let _ = run("tc", "qdisc del dev tune0 root");
    match tried {
        Ok(()) => Finding::there(kind, "queueing discipline"),
        // taprio asks for more of the interface than a virtual one has; then it is there.
        Err(error) if !error.contains("unknown") && !error.starts_with("tc:") => {
            Finding::there(kind, format!("there, not for a virtual interface ({error})"))
        }
        Err(error) => Finding::missing(
            kind,
            error,
            costs,
            format!("modprobe sch_{kind}, or a kernel with CONFIG_NET_SCH_{}", kind.to_uppercase()),
        ),
    }
}
