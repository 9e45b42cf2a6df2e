// SPDX-License-Identifier: Apache-2.0
//! A device to talk to: a smoltcp stack with a Modbus/TCP server and a UDP echo, driven by simulated time.

use std::collections::VecDeque;

use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{self, Device, DeviceCapabilities, Medium};
use smoltcp::socket::{tcp, udp};
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, HardwareAddress, IpCidr};
use weir::traffic::{Wire, WireFrame};

use super::{DEVICE, DEVICE_MAC};

const CYCLES_PER_US: u64 = 100;
/// From the end of a frame to the end of the answer to it.
const WORK_CYCLES: u64 = 2000;
pub const MODBUS_PORT: u16 = 502;
pub const ECHO_PORT: u16 = 5005;

/// What the device does with a Modbus request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    Right,
    Exception,
    WrongTransaction,
    Silent,
    Close,
}

#[derive(Default)]
pub struct Queues {
    rx: VecDeque<Vec<u8>>,
    tx: Vec<Vec<u8>>,
}

pub struct Rx(Vec<u8>);
pub struct Tx<'a>(&'a mut Vec<Vec<u8>>);

impl Device for Queues {
    type RxToken<'a> = Rx;
    type TxToken<'a> = Tx<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Rx, Tx<'_>)> {
        Some((Rx(self.rx.pop_front()?), Tx(&mut self.tx)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Tx<'_>> {
        Some(Tx(&mut self.tx))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = 1514;
        capabilities
    }
}

impl phy::RxToken for Rx {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

impl phy::TxToken for Tx<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut frame = vec![0; len];
        let result = f(&mut frame);
        self.0.push(frame);
        result
    }
}

pub struct FakeDevice {
    queues: Queues,
    iface: Interface,
    sockets: SocketSet<'static>,
    servers: Vec<SocketHandle>,
    echo: SocketHandle,
    manner: Manner,
    /// All bytes that came in over TCP.
    pub received: Vec<u8>,
    pub accepted: usize,
    waiting: Vec<bool>,
    /// Drops every UDP request whose sequence number is a multiple of this.
    pub lose_every: u32,
}

impl FakeDevice {
    pub fn new(manner: Manner) -> FakeDevice {
        let mut queues = Queues::default();
        let config = Config::new(HardwareAddress::Ethernet(EthernetAddress(DEVICE_MAC)));
        let mut iface = Interface::new(config, &mut queues, Instant::ZERO);
        iface.update_ip_addrs(|list| list.push(IpCidr::new(DEVICE.into(), 24)).expect("room"));
        let mut sockets = SocketSet::new(Vec::new());
        let buffer = || tcp::SocketBuffer::new(vec![0; 4096]);
        let servers: Vec<_> = (0..16).map(|_| sockets.add(tcp::Socket::new(buffer(), buffer()))).collect();
        let packets = || udp::PacketBuffer::new(vec![udp::PacketMetadata::EMPTY; 8], vec![0; 8192]);
        let mut socket = udp::Socket::new(packets(), packets());
        socket.bind(ECHO_PORT).expect("free");
        let echo = sockets.add(socket);
        let waiting = vec![true; servers.len()];
        let (received, accepted) = (Vec::new(), 0);
        FakeDevice { queues, iface, sockets, servers, echo, manner, received, accepted, waiting, lose_every: 0 }
    }

    /// A device without servers: it refuses every connection.
    pub fn deaf() -> FakeDevice {
        let mut device = FakeDevice::new(Manner::Right);
        for handle in device.servers.drain(..) {
            device.sockets.remove(handle);
        }
        device
    }

    fn poll(&mut self, now: u64) {
        let instant = Instant::from_micros((now / CYCLES_PER_US) as i64);
        self.iface.poll(instant, &mut self.queues, &mut self.sockets);
        for at in 0..self.servers.len() {
            self.serve(at);
        }
        self.echo();
        self.iface.poll(instant, &mut self.queues, &mut self.sockets);
    }

    fn serve(&mut self, at: usize) {
        let socket = self.sockets.get_mut::<tcp::Socket>(self.servers[at]);
        if socket.state() == tcp::State::Closed {
            socket.listen(MODBUS_PORT).expect("a port");
            self.waiting[at] = true;
        }
        if self.waiting[at] && socket.state() == tcp::State::Established {
            self.waiting[at] = false;
            self.accepted += 1;
        }
        if socket.state() == tcp::State::CloseWait {
            socket.close();
        }
        while socket.can_recv() {
            let mut bytes = vec![0; 4096];
            let length = socket.recv_slice(&mut bytes).expect("open");
            self.received.extend(&bytes[..length]);
            if length == 12 {
                answer(self.manner, socket, &bytes);
            }
        }
    }

    fn echo(&mut self) {
        let socket = self.sockets.get_mut::<udp::Socket>(self.echo);
        while let Ok((payload, meta)) = socket.recv() {
            let payload = payload.to_vec();
            let sequence = u32::from_be_bytes(payload[..4].try_into().expect("four bytes"));
            if self.lose_every == 0 || !sequence.is_multiple_of(self.lose_every) {
                // What is in an answer does not matter to the client.
                socket.send_slice(&[0; 8], meta.endpoint).expect("room");
            }
        }
    }

    fn poll_at(&mut self, now: u64) -> Option<u64> {
        let instant = Instant::from_micros((now / CYCLES_PER_US) as i64);
        let at = self.iface.poll_at(instant, &self.sockets)?;
        Some(at.total_micros() as u64 * CYCLES_PER_US)
    }
}

fn answer(manner: Manner, socket: &mut tcp::Socket<'_>, request: &[u8]) {
    let count = request[11];
    let mut data = vec![request[6], request[7], count * 2];
    data.resize(3 + usize::from(count) * 2, 0x5A);
    match manner {
        Manner::Right | Manner::WrongTransaction => {}
        Manner::Exception => data = vec![request[6], request[7] | 0x80, 2],
        Manner::Silent => return,
        Manner::Close => return socket.close(),
    }
    let mut adu = request[..4].to_vec();
    adu[1] ^= u8::from(manner == Manner::WrongTransaction);
    adu.extend((data.len() as u16).to_be_bytes());
    adu.extend(data);
    // Fails where the client has reset the connection already.
    let _ = socket.send_slice(&adu);
}

/// Runs wire and device until `end`; returns what was on the wire.
pub fn run(wire: &mut Wire, device: &mut FakeDevice, end: u64) -> Vec<WireFrame> {
    let mut frames: Vec<WireFrame> = Vec::new();
    let (mut delivered, mut now) = (0, 0);
    while now < end {
        while let Some(frame) = wire.next_frame(now + 1) {
            frames.push(frame);
        }
        while delivered < frames.len() && frames[delivered].end_cycle <= now {
            device.queues.rx.push_back(frames[delivered].bytes.clone());
            delivered += 1;
        }
        device.poll(now);
        for frame in std::mem::take(&mut device.queues.tx) {
            wire.receive(now + WORK_CYCLES, &frame);
        }
        let arrival = frames.get(delivered).map(|frame| frame.end_cycle);
        let next = [arrival, wire.next_due(), device.poll_at(now)].into_iter().flatten().min();
        now = next.unwrap_or(end).max(now + CYCLES_PER_US);
    }
    frames
}
