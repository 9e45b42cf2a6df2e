// SPDX-License-Identifier: Apache-2.0
//! A network of machines on this one: each in a network namespace of its own, with a cable to a switch in ours. The switch
//! and its delay are the kernel's (a bridge, netem) where they can be had, and otherwise our own.

use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

use super::privileges::{round_trip, run};
use super::switch;
use network_namespace::{Namespace, isolate};

/// The cable of a machine, each way.
const NODE_CABLE: Duration = Duration::from_millis(1);
const CLIENT_CABLE: Duration = Duration::from_millis(29);
/// Last parts of the addresses of 192.168.1.0/24.
const FIRST_NODE: usize = 11;
const FIRST_CLIENT: usize = 101;
const ARP_RETRANSMIT_MS: &str = "100";
const BRIDGE: &str = "site";
/// What a machine's interface is called in its namespace.
const INTERFACE: &str = "eth0";

/// A machine: a namespace with a cable.
pub struct Machine {
    /// What happens there happens on that machine.
    pub namespace: Namespace,
    /// Where the others reach it.
    pub address: Ipv4Addr,
    /// The other end of its cable.
    port: String,
    cable: Duration,
}

/// Machines and what is between them.
pub struct Network {
    /// Those of the nodes.
    pub nodes: Vec<Machine>,
    /// Those of the clients.
    pub clients: Vec<Machine>,
    /// What it consists of, with measured delays.
    pub description: String,
}

impl Network {
    /// Builds it, which this process does before it has a second thread: it moves into a network namespace itself.
    pub fn build(nodes: usize, clients: usize) -> Result<Self, String> {
        isolate()?;
        let nodes = (0..nodes).map(|index| Machine::new("node", index, FIRST_NODE, NODE_CABLE));
        let nodes: Vec<Machine> = nodes.collect::<Result<_, _>>()?;
        let clients = (0..clients).map(|index| Machine::new("client", index, FIRST_CLIENT, CLIENT_CABLE));
        let clients: Vec<Machine> = clients.collect::<Result<_, _>>()?;
        let mut network = Self { nodes, clients, description: String::new() };
        let how = match network.join_by_kernel() {
            Ok(measured) => format!("a bridge and netem; {measured}"),
            Err(reason) => {
                network.join_by_us()?;
                let measured = network.measured().map_err(|error| format!("our switch: {error}"))?;
                format!("our own switch (netem: no, {reason}); {measured}")
            }
        };
        let namespaces = network.machines().count();
        network.description = format!("{namespaces} machines, each in a network namespace of its own, joined by {how}");
        Ok(network)
    }

    fn machines(&self) -> impl Iterator<Item = &Machine> {
        self.nodes.iter().chain(&self.clients)
    }

    /// Fails, and leaves nothing behind, if the delay does not come: tc may report success for one that never does.
    fn join_by_kernel(&self) -> Result<String, String> {
        run("ip", &["link", "add", BRIDGE, "type", "bridge"])?;
        let joined = self.delay_by_netem().and_then(|()| {
            let measured = self.measured();
            measured.map_err(|error| format!("tc reports success, but {error}"))
        });
        if joined.is_err() {
            // The ports are free again with this.
            run("ip", &["link", "delete", BRIDGE])?;
            for machine in self.machines() {
                let clear = |interface| run("tc", &["qdisc", "delete", "dev", interface, "root"]);
                // Most have none.
                let _ = (clear(&machine.port), machine.namespace.within(|| clear(INTERFACE)));
            }
        }
        joined
    }

    fn delay_by_netem(&self) -> Result<(), String> {
        run("ip", &["link", "set", BRIDGE, "up"])?;
        for machine in self.machines() {
            run("ip", &["link", "set", &machine.port, "master", BRIDGE])?;
            let delay = format!("{}ms", machine.cable.as_millis());
            let netem = |interface| run("tc", &["qdisc", "add", "dev", interface, "root", "netem", "delay", &delay]);
            netem(&machine.port)?;
            machine.namespace.within(|| netem(INTERFACE))?;
        }
        Ok(())
    }

    fn join_by_us(&self) -> Result<(), String> {
        let ports = self.machines().map(|machine| {
            let opened = switch::Port::open(&machine.port, machine.cable);
            opened.map_err(|error| format!("our switch at {}: {error}", machine.port))
        });
        let ports: Vec<switch::Port> = ports.collect::<Result<_, _>>()?;
        std::thread::spawn(move || {
            if let Err(error) = switch::run(&ports) {
                eprintln!("our switch: {error}");
            }
        });
        Ok(())
    }

    /// Round trips as they are; an error if they are shorter than they should be.
    fn measured(&self) -> Result<String, String> {
        let mut parts = Vec::new();
        let pairs = [("client and node", &self.clients[0], &self.nodes[0]), ("nodes", &self.nodes[0], &self.nodes[1])];
        for (between, near, far) in pairs {
            let measured = near.round_trip(far).map_err(|error| format!("between {between}: {error}"))?;
            let wanted_ms = 2 * (near.cable + far.cable).as_millis();
            let measured_ms = measured.as_secs_f64() * 1e3;
            if measured_ms < wanted_ms as f64 {
                return Err(format!("of {wanted_ms} ms between {between} only {measured_ms:.1} come"));
            }
            parts.push(format!("{measured_ms:.1} ms between {between} (of {wanted_ms})"));
        }
        Ok(format!("measured round trip: {}", parts.join(", ")))
    }
}

impl Machine {
    fn new(name: &str, index: usize, first: usize, cable: Duration) -> Result<Self, String> {
        let namespace = Namespace::new().map_err(|error| format!("a network namespace: {error}"))?;
        let last = u8::try_from(first + index).map_err(|_| format!("{name} {index} has no address any more"))?;
        let address = Ipv4Addr::new(192, 168, 1, last);
        let port = format!("{name}{index}");
        run("ip", &["link", "add", &port, "type", "veth", "peer", "name", INTERFACE, "netns", &namespace.path()])?;
        namespace.within(|| {
            run("ip", &["link", "set", "lo", "up"])?;
            run("ip", &["address", "add", &format!("{address}/24"), "dev", INTERFACE])?;
            run("ip", &["link", "set", INTERFACE, "addrgenmode", "none", "up"])?;
            // A machine is found again so long after its cable is back; the kernel's default is a second.
            run("ip", &["ntable", "change", "name", "arp_cache", "dev", INTERFACE, "retrans", ARP_RETRANSMIT_MS])
        })?;
        run("ip", &["link", "set", &port, "addrgenmode", "none", "up"])?;
        Ok(Self { namespace, address, port, cable })
    }

    /// Takes the other end of its cable down, or up: the machine sees what it would see with a cable.
    pub fn set_link(&self, up: bool) -> Result<(), String> {
        run("ip", &["link", "set", &self.port, if up { "up" } else { "down" }])
    }

    fn round_trip(&self, other: &Self) -> std::io::Result<Duration> {
        let open = |machine: &Self| machine.namespace.within(|| UdpSocket::bind((machine.address, 0)));
        round_trip(&open(self)?, &open(other)?)
    }
}
