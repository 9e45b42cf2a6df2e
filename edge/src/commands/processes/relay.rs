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

#[cfg(test)]
mod tests {
    use super::*;

    const SENT: u8 = 100;

    /// What arrives of so many datagrams, and how long the first of each took.
    fn passed(way: &Way) -> Vec<(u8, Duration)> {
        let (client, node) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        node.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        let end = End { front: socket().unwrap(), address: node.local_addr().unwrap() };
        let front = end.front.local_addr().unwrap();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| run(&[end], way, ChaCha8Rng::seed_from_u64(1), &stop));
            let began = Instant::now();
            (0..SENT).for_each(|number| assert_eq!(client.send_to(&[number], front).unwrap(), 1));
            let mut buffer = [0];
            let passed = std::iter::from_fn(|| node.recv(&mut buffer).ok().map(|_| (buffer[0], began.elapsed())));
            let passed = passed.collect();
            stop.store(true, Ordering::Relaxed);
            passed
        })
    }

    #[test]
    fn a_steady_link_delays_all_alike_and_keeps_their_order() {
        let passed = passed(&Way::steady(20.0));
        assert!(passed.iter().map(|(number, _)| *number).eq(0..SENT));
        assert!(passed.iter().all(|(_, took)| *took >= Duration::from_millis(20)));
    }

    #[test]
    fn a_link_varies_loses_and_doubles_as_it_is_told() {
        let way = Way { delay_ms: 30.0, jitter_ms: 20.0, loss_percent: 30.0, duplicate_percent: 50.0 };
        let passed = passed(&way);
        assert!(passed.iter().all(|(_, took)| *took >= Duration::from_millis(10)));
        let different = (0..SENT).filter(|number| passed.iter().any(|(n, _)| n == number)).count();
        assert!((50..90).contains(&different), "{different}: of 100 about 70");
        assert!(
            (different + 10..different + 60).contains(&passed.len()),
            "{different}, {}: half of them twice",
            passed.len()
        );
        assert!(!passed.is_sorted_by_key(|(number, _)| *number), "what varies overtakes");
    }
}
