// SPDX-License-Identifier: Apache-2.0
//! A link between clients and nodes that delays each datagram: in user space, since not every kernel has netem.
//!
//! Towards the clients there is one socket for each node, whose address the node gives as its own to clients; towards the
//! nodes one for each client, so that a result that comes from another node than the one that was asked finds its way,
//! too.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// No datagram on a loopback device is longer.
const DATAGRAM_BYTES_MAX: usize = 65_536;
/// Clients beyond these are not heard.
const CLIENTS_MAX: usize = 256;

/// A socket on a loopback port that the operating system chooses.
pub fn socket() -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// The socket that stands for a node towards clients, and the node.
pub struct Node {
    /// Where clients reach it.
    pub front: UdpSocket,
    /// Where it is.
    pub address: SocketAddr,
}

struct Client {
    address: SocketAddr,
    back: UdpSocket,
}

enum By {
    Front(usize),
    Back(usize),
}

/// Passes datagrams on for ever, each so much later.
pub fn run(nodes: &[Node], delay: Duration) -> io::Result<()> {
    let mut clients: Vec<Client> = Vec::new();
    let mut places: HashMap<SocketAddr, usize> = HashMap::new();
    // In the order in which they came, which is the one in which they go: all are delayed alike.
    let mut under_way: VecDeque<(Instant, By, SocketAddr, Vec<u8>)> = VecDeque::new();
    let mut buffer = vec![0; DATAGRAM_BYTES_MAX];
    loop {
        wait(nodes, &clients, under_way.front().map(|(due, ..)| *due))?;
        for (index, node) in nodes.iter().enumerate() {
            while let Ok((length, from)) = node.front.recv_from(&mut buffer) {
                let due = Instant::now() + delay;
                if !places.contains_key(&from) && clients.len() < CLIENTS_MAX {
                    clients.push(Client { address: from, back: socket()? });
                    places.insert(from, clients.len() - 1);
                }
                let Some(place) = places.get(&from) else { continue };
                under_way.push_back((due, By::Back(*place), nodes[index].address, buffer[..length].to_vec()));
            }
        }
        for client in &clients {
            while let Ok((length, from)) = client.back.recv_from(&mut buffer) {
                let due = Instant::now() + delay;
                let Some(index) = nodes.iter().position(|node| node.address == from) else { continue };
                under_way.push_back((due, By::Front(index), client.address, buffer[..length].to_vec()));
            }
        }
        while let Some((due, by, to, datagram)) = under_way.front()
            && *due <= Instant::now()
        {
            let socket = match by {
                By::Front(index) => &nodes[*index].front,
                By::Back(place) => &clients[*place].back,
            };
            // Its receiver may be gone; then it is lost, as on any link.
            let _ = socket.send_to(datagram, to);
            under_way.pop_front();
        }
    }
}

fn wait(nodes: &[Node], clients: &[Client], due: Option<Instant>) -> io::Result<()> {
    let sockets = nodes.iter().map(|node| &node.front).chain(clients.iter().map(|client| &client.back));
    let mut ready: Vec<PollFd> = sockets.map(|socket| PollFd::new(socket, PollFlags::IN)).collect();
    let left = due.map(|due| due.saturating_duration_since(Instant::now()));
    let left = left.and_then(|left| Timespec::try_from(left).ok());
    match poll(&mut ready, left.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
