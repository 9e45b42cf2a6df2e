// SPDX-License-Identifier: Apache-2.0
//! A host with a stack of its own: one smoltcp interface for each address, and what runs on it.

use std::collections::VecDeque;
use std::net::Ipv4Addr;

use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::socket::tcp;
use smoltcp::wire::{EthernetAddress, HardwareAddress, IpCidr};

use super::address::mac_of;
use super::phy::Card;
use super::source::Source;
use super::stats::PeerStats;
use super::time::Clock;

/// From the last bit of a frame of the device to the moment when a host has dealt with it.
pub const HOST_DELAY_US: u64 = 10;

const FIRST_EPHEMERAL_PORT: u16 = 49_152;
const TCP_BUFFER_BYTES: usize = 8192;

/// A program on a host.
pub(super) trait App: Send {
    /// Acts; called whenever the host's stack has run, and at [`App::next_due`].
    fn run(&mut self, now: u64, net: &mut Net);

    /// When it wants to act next, whatever the network does.
    fn next_due(&self) -> Option<u64>;

    /// Index of its traffic entry, and its counts.
    fn stats(&self) -> (usize, &PeerStats);
}

/// The stack as programs see it.
pub(super) struct Net {
    pub(super) iface: Interface,
    pub(super) sockets: SocketSet<'static>,
    next_port: u16,
    retired: Vec<SocketHandle>,
}

impl Net {
    /// A local port; they are given in turn.
    pub(super) fn ephemeral_port(&mut self) -> u16 {
        let port = self.next_port;
        self.next_port = port.checked_add(1).unwrap_or(FIRST_EPHEMERAL_PORT);
        port
    }

    /// Opens a connection; `None` where the stack refuses.
    pub(super) fn connect(&mut self, device: Ipv4Addr, port: u16, local_port: u16) -> Option<SocketHandle> {
        let buffer = || tcp::SocketBuffer::new(vec![0; TCP_BUFFER_BYTES]);
        let mut socket = tcp::Socket::new(buffer(), buffer());
        socket.set_nagle_enabled(false);
        socket.connect(self.iface.context(), (device, port), local_port).ok()?;
        Some(self.sockets.add(socket))
    }

    /// Leaves a TCP socket to the stack, which lets go of it when it is closed.
    pub(super) fn retire(&mut self, socket: SocketHandle) {
        self.retired.push(socket);
    }

    fn sweep(&mut self) {
        let sockets = &mut self.sockets;
        self.retired.retain(|handle| {
            let state = sockets.get::<tcp::Socket>(*handle).state();
            let closed = matches!(state, tcp::State::Closed | tcp::State::TimeWait);
            if closed {
                sockets.remove(*handle);
            }
            !closed
        });
    }
}

/// A host.
pub(super) struct Host {
    clock: Clock,
    mac: EthernetAddress,
    card: Card,
    net: Net,
    apps: Vec<Box<dyn App>>,
    /// Frames from the device that have not reached the stack, by time.
    inbox: VecDeque<(u64, Vec<u8>)>,
    /// Frames for the link, by time.
    outbox: VecDeque<(u64, Vec<u8>)>,
    timer: Option<u64>,
}

impl Host {
    /// A host with this address; `random_seed` is for sequence numbers.
    pub(super) fn new(clock: Clock, address: Ipv4Addr, prefix: u8, random_seed: u64) -> Host {
        let mac = EthernetAddress(mac_of(address));
        let mut card = Card::default();
        let mut config = Config::new(HardwareAddress::Ethernet(mac));
        config.random_seed = random_seed;
        let mut iface = Interface::new(config, &mut card, clock.instant(0));
        iface.update_ip_addrs(|addresses| {
            // An interface has room for at least one address.
            let _ = addresses.push(IpCidr::new(address.into(), prefix));
        });
        let sockets = SocketSet::new(Vec::new());
        let net = Net { iface, sockets, next_port: FIRST_EPHEMERAL_PORT, retired: Vec::new() };
        let (inbox, outbox) = (VecDeque::new(), VecDeque::new());
        Host { clock, mac, card, net, apps: Vec::new(), inbox, outbox, timer: None }
    }

    /// Starts a program.
    pub(super) fn add(&mut self, app: Box<dyn App>) {
        self.timer = [self.timer, app.next_due()].into_iter().flatten().min();
        self.apps.push(app);
    }

    /// A frame of the device, which the stack sees at `cycle`; cycles never decrease.
    pub(super) fn receive(&mut self, cycle: u64, dst: EthernetAddress, bytes: &[u8]) {
        if dst == self.mac || dst.is_multicast() {
            self.inbox.push_back((cycle, bytes.to_vec()));
        }
    }

    /// Counts of its programs, with the index of their traffic entries.
    pub(super) fn stats(&self) -> impl Iterator<Item = (usize, &PeerStats)> {
        self.apps.iter().map(|app| app.stats())
    }

    /// When the stack or a program has something to do.
    fn wake(&self) -> Option<u64> {
        let arrival = self.inbox.front().map(|(cycle, _)| *cycle);
        [arrival, self.timer].into_iter().flatten().min()
    }

    fn run(&mut self, now: u64) {
        while self.inbox.front().is_some_and(|(cycle, _)| *cycle <= now) {
            self.card.rx.extend(self.inbox.pop_front().map(|(_, bytes)| bytes));
        }
        let instant = self.clock.instant(now);
        self.net.iface.poll(instant, &mut self.card, &mut self.net.sockets);
        for app in &mut self.apps {
            app.run(now, &mut self.net);
        }
        self.net.iface.poll(instant, &mut self.card, &mut self.net.sockets);
        self.net.sweep();
        self.outbox.extend(self.card.tx.drain(..).map(|bytes| (now, bytes)));
        self.set_timer(now);
    }

    fn set_timer(&mut self, now: u64) {
        // The stack knows microseconds only: what it wants at once, it gets in the next one, or it would
        // be asked for ever in this one.
        let stack = self.net.iface.poll_at(self.clock.instant(now), &self.net.sockets);
        let stack = stack.map(|at| self.clock.cycle(at).max(self.clock.next_us(now)));
        let programs = self.apps.iter().filter_map(|app| app.next_due());
        self.timer = programs.map(|due| due.max(now + 1)).chain(stack).min();
    }
}

impl Source for Host {
    fn next_due(&self) -> Option<u64> {
        let ready = self.outbox.front().map(|(cycle, _)| *cycle);
        [ready, self.wake()].into_iter().flatten().min()
    }

    fn take(&mut self) -> Option<Vec<u8>> {
        let due = self.next_due()?;
        if self.outbox.front().is_none_or(|(cycle, _)| *cycle > due) {
            self.run(due);
        }
        match self.outbox.front() {
            Some((cycle, _)) if *cycle <= due => self.outbox.pop_front().map(|(_, bytes)| bytes),
            _ => None,
        }
    }
}
