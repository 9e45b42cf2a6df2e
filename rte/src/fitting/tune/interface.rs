// SPDX-License-Identifier: Apache-2.0
//! The configured interface: link, hardware time stamps, interrupts that are held back.

use std::fs;
use std::io;
use std::path::Path;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use super::{Apply, Finding};
use crate::fitting::Error;
use crate::fitting::interface::Interface;
use crate::fitting::system::{interface_call, interface_request};

/// `struct ethtool_ts_info`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct TimeStamps {
    command: u32,
    so_timestamping: u32,
    clock: i32,
    tx_types: u32,
    tx_reserved: [u32; 3],
    rx_filters: u32,
    rx_reserved: [u32; 3],
}

/// `struct ethtool_coalesce`; its first two fields after the command are how many microseconds and frames the
/// interface gathers before it interrupts.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Coalesce {
    command: u32,
    rx_us: u32,
    rx_frames: u32,
    others: [u32; 20],
}

const GET_TIME_STAMPS: u32 = 0x41;
const GET_COALESCE: u32 = 0x0e;
const SET_COALESCE: u32 = 0x0f;
/// `SOF_TIMESTAMPING_RAW_HARDWARE`.
const RAW_HARDWARE: u32 = 1 << 6;
const SIOCETHTOOL: libc::Ioctl = 0x8946;

/// Asks the driver, or tells it. `T` is what the kernel expects for its command.
fn ethtool<T: Copy>(name: &str, mut value: T) -> io::Result<T> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    let mut request = interface_request(name)?;
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    interface_call(&socket, SIOCETHTOOL, &mut request)?;
    Ok(value)
}

pub(super) fn findings(name: &str) -> Vec<Finding> {
    if let Err(error) = Interface::open(name) {
        return vec![Finding::missing("interface", error.to_string(), "nothing can run", "[device] interface = …")];
    }
    vec![link(name), time_stamps(name), coalescing(name)]
}

fn link(name: &str) -> Finding {
    let read = |file: &str| fs::read_to_string(Path::new("/sys/class/net").join(name).join(file)).ok();
    let speed = read("speed").and_then(|text| text.trim().parse::<i64>().ok()).filter(|speed| *speed > 0);
    let speed = speed.map_or("unknown speed".to_owned(), |speed| format!("{speed} Mbit/s"));
    if read("carrier").is_some_and(|text| text.trim() == "1") {
        return Finding::there("link", format!("{name} is up, {speed}"));
    }
    Finding::missing(
        "link",
        format!("{name} has none"),
        "nothing is sent or received",
        format!("ip link set {name} up, and a cable"),
    )
}

fn time_stamps(name: &str) -> Finding {
    const WHAT: &str = "time stamps by the interface";
    let found = ethtool(name, TimeStamps { command: GET_TIME_STAMPS, ..TimeStamps::default() });
    match found {
        Ok(found) if found.so_timestamping & RAW_HARDWARE != 0 => {
            Finding::there(WHAT, format!("clock /dev/ptp{}", found.clock))
        }
        _ => {
            let costs = "measurements contain the interrupt's delay";
            Finding::missing(WHAT, "none", costs, "an interface with hardware time stamps: ethtool -T")
        }
    }
}

fn coalescing(name: &str) -> Finding {
    const WHAT: &str = "prompt interrupts";
    let before = match ethtool(name, Coalesce { command: GET_COALESCE, ..Coalesce::default() }) {
        Ok(before) => before,
        Err(_) => return Finding::there(WHAT, "the interface's driver gathers none that it says"),
    };
    if before.rx_us == 0 {
        return Finding::there(WHAT, "frames are not gathered");
    }
    let interface = name.to_owned();
    let apply: Apply = Box::new(move || {
        let new = Coalesce { command: SET_COALESCE, rx_us: 0, rx_frames: 1, ..before };
        ethtool(&interface, new).map_err(|error| Error::new(error.to_string()))?;
        Ok("each frame interrupts at once".to_owned())
    });
    let found = format!("{name} gathers frames for {} us", before.rx_us);
    let costs = "every request is seen that much later";
    let way = format!("ethtool -C {name} rx-usecs 0 rx-frames 1");
    Finding { apply: Some(apply), ..Finding::missing(WHAT, found, costs, way) }
}
