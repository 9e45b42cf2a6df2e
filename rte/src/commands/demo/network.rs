// SPDX-License-Identifier: Apache-2.0
//! A device and its PLCs, each in a network namespace of its own, with a cable to a switch in ours.

use std::process::Command;

use network_namespace::{Namespace, isolate};

const SWITCH: &str = "switch";
/// What a station's interface is called in its namespace.
pub const INTERFACE: &str = "eth0";

/// A station.
pub struct Station {
    /// What happens there happens on that station.
    pub namespace: Namespace,
    /// The switch's port that its cable leads to.
    pub port: String,
}

/// Moves this process, which has one thread, into a network namespace, and makes the switch there.
pub fn build() -> Result<(), String> {
    isolate()?;
    ip(&["link", "add", SWITCH, "type", "bridge"])?;
    ip(&["link", "set", SWITCH, "addrgenmode", "none", "up"])
}

impl Station {
    /// A station with a cable to the switch. With an address, unless it gets one in another way.
    pub fn new(name: &str, address: Option<&str>) -> Result<Self, String> {
        let namespace = Namespace::new().map_err(|error| format!("a network namespace: {error}"))?;
        // Not the bare name: "master" is a word of ip's own.
        let port = format!("to-{name}");
        ip(&["link", "add", &port, "type", "veth", "peer", "name", INTERFACE, "netns", &namespace.path()])?;
        ip(&["link", "set", &port, "master", SWITCH, "addrgenmode", "none", "up"])?;
        namespace.within(|| {
            ip(&["link", "set", "lo", "up"])?;
            if let Some(address) = address {
                ip(&["address", "add", address, "broadcast", "+", "dev", INTERFACE])?;
            }
            ip(&["link", "set", INTERFACE, "addrgenmode", "none", "up"])
        })?;
        Ok(Self { namespace, port })
    }
}

fn ip(arguments: &[&str]) -> Result<(), String> {
    let output = Command::new("ip").args(arguments).output();
    let output = output.map_err(|error| format!("ip cannot be run: {error}; it is in the package iproute2"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("ip {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim()))
}
