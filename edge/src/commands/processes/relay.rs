// SPDX-License-Identifier: Apache-2.0
//! A link between clients and machines that delays and loses datagrams as a scenario says: in user space, since not
//! every kernel has netem.
//!
//! Towards the clients there is one socket for each machine, whose address the machine gives as its own to clients;
//! towards the machines one for each client, so that a result that comes from another machine than the one that was
//! asked finds its way, too.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use weir_edge::sim::network::delays;
use weir_edge::sim::scenario::Way;

use super::node::Node;

/// No datagram on a loopback device is longer.
const DATAGRAM_BYTES_MAX: usize = 65_536;
/// Clients beyond these are not heard.
pub const CLIENTS_MAX: usize = 256;
/// How soon it is noticed that the link is not needed any more.
const IDLE: Duration = Duration::from_millis(100);

/// A socket on a loopback port that the operating system chooses.
pub fn socket() -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// A link in a thread of its own, until it is dropped.
pub struct Relay {
    /// Where clients reach the machines through it.
    pub fronts: Vec<SocketAddr>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Relay {
    /// Starts it before machines that have none yet. Jitter and losses are drawn from the seed.
    pub fn start(nodes: &mut [Node], way: Way, seed: u64) -> Result<Self, String> {
        let (mut ends, mut fronts) = (Vec::new(), Vec::new());
        for node in nodes {
            let Some(front) = node.front.take() else { continue };
            fronts.push(front.local_addr().map_err(|error| format!("the relay: {error}"))?);
            ends.push(End { front, address: node.address });
        }
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            if let Err(error) = run(&ends, &way, ChaCha8Rng::seed_from_u64(seed), &stopped) {
                eprintln!("the relay: {error}");
            }
        });
        Ok(Self { fronts, stop, thread: Some(thread) })
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It panicked if this fails; that was reported.
            let _ = thread.join();
        }
    }
}

/// The socket that stands for a machine towards clients, and where the machine is.
struct End {
    front: UdpSocket,
    address: SocketAddr,
}

struct Client {
    address: SocketAddr,
    back: UdpSocket,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum By {
    Front(usize),
    Back(usize),
}

/// When it is due, its number, by which socket it goes, where to, and what.
type Datagram = (Instant, u64, By, SocketAddr, Vec<u8>);

/// Datagrams in the order in which they are due; those that are due together in the order in which they came.
#[derive(Default)]
struct UnderWay {
    heap: BinaryHeap<Reverse<Datagram>>,
    count: u64,
}

impl UnderWay {
    fn push(&mut self, delay: Duration, by: By, to: SocketAddr, datagram: &[u8]) {
        self.count += 1;
        self.heap.push(Reverse((Instant::now() + delay, self.count, by, to, datagram.to_vec())));
    }

    fn due(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((due, ..))| *due)
    }
}

fn run(ends: &[End], way: &Way, mut rng: ChaCha8Rng, stop: &AtomicBool) -> io::Result<()> {
    let mut clients: Vec<Client> = Vec::new();
    let mut places: HashMap<SocketAddr, usize> = HashMap::new();
    let mut under_way = UnderWay::default();
    let mut buffer = vec![0; DATAGRAM_BYTES_MAX];
    while !stop.load(Ordering::Relaxed) {
        wait(ends, &clients, under_way.due())?;
        for end in ends {
            while let Ok((length, from)) = end.front.recv_from(&mut buffer) {
                if !places.contains_key(&from) && clients.len() < CLIENTS_MAX {
                    clients.push(Client { address: from, back: socket()? });
                    places.insert(from, clients.len() - 1);
                }
                let Some(place) = places.get(&from) else { continue };
                for delay in delays(way, &mut rng) {
                    under_way.push(delay, By::Back(*place), end.address, &buffer[..length]);
                }
            }
        }
        for client in &clients {
            while let Ok((length, from)) = client.back.recv_from(&mut buffer) {
                let Some(index) = ends.iter().position(|end| end.address == from) else { continue };
                for delay in delays(way, &mut rng) {
                    under_way.push(delay, By::Front(index), client.address, &buffer[..length]);
                }
            }
        }
        while under_way.due().is_some_and(|due| due <= Instant::now())
            && let Some(Reverse((_, _, by, to, datagram))) = under_way.heap.pop()
        {
            let socket = match by {
                By::Front(index) => &ends[index].front,
                By::Back(place) => &clients[place].back,
            };
            // Its receiver may be gone; then it is lost, as on any link.
            let _ = socket.send_to(&datagram, to);
        }
    }
    Ok(())
}

fn wait(ends: &[End], clients: &[Client], due: Option<Instant>) -> io::Result<()> {
    let sockets = ends.iter().map(|end| &end.front).chain(clients.iter().map(|client| &client.back));
    let mut ready: Vec<PollFd> = sockets.map(|socket| PollFd::new(socket, PollFlags::IN)).collect();
    let left = due.map_or(IDLE, |due| due.saturating_duration_since(Instant::now()).min(IDLE));
    match poll(&mut ready, Timespec::try_from(left).ok().as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
