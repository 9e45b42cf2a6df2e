// SPDX-License-Identifier: Apache-2.0
//! A live Modbus/TCP master: reads holding registers, one request outstanding.

use std::net::Ipv4Addr;

use rmodbus::ModbusProto;
use rmodbus::client::ModbusRequest;
use smoltcp::iface::SocketHandle;
use smoltcp::socket::tcp;

use super::host::{App, Net};
use super::stats::PeerStats;
use super::time::Clock;

/// The master waits this long for a connection or an answer.
pub const ANSWER_TIMEOUT_MS: u64 = 1000;
/// It waits this long after a connection has ended before it opens another.
pub const RECONNECT_DELAY_MS: u64 = 10;

const UNIT: u8 = 1;
const FIRST_REGISTER: u16 = 0;
/// Transaction, protocol and length; the length counts what follows.
const MBAP_PREFIX_BYTES: usize = 6;
/// Unit, function and byte count of an answer.
const ANSWER_HEADER_BYTES: usize = 3;
const FUNCTION_AT: usize = 7;
const EXCEPTION_BIT: u8 = 0x80;
/// Prefix and the largest length that Modbus allows.
const MAX_ADU_BYTES: usize = 260;

/// What a master does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub(super) clock: Clock,
    pub(super) device: Ipv4Addr,
    pub(super) port: u16,
    pub(super) registers: u16,
    /// First connection.
    pub(super) start_cycle: u64,
    /// No request and no connection from here on.
    pub(super) stop_cycle: u64,
    /// Least distance of two requests.
    pub(super) period_cycles: u64,
}

/// The master.
pub(super) struct Master {
    entry: usize,
    stats: PeerStats,
    plan: Plan,
    state: State,
    transaction: u16,
    next_request: u64,
    received: Vec<u8>,
}

enum State {
    /// Connects at this cycle.
    Idle(u64),
    Connecting {
        socket: SocketHandle,
        since: u64,
    },
    Ready {
        socket: SocketHandle,
    },
    Waiting {
        socket: SocketHandle,
        since: u64,
        request: ModbusRequest,
    },
}

impl Master {
    /// A master for the traffic entry at this index.
    pub(super) fn new(entry: usize, name: &str, plan: Plan) -> Master {
        Master {
            entry,
            stats: PeerStats::new(name),
            plan,
            state: State::Idle(plan.start_cycle),
            transaction: 0,
            next_request: plan.start_cycle,
            received: Vec::new(),
        }
    }

    fn timeout(&self, since: u64) -> u64 {
        since + self.plan.clock.cycles_of_us(ANSWER_TIMEOUT_MS * 1000)
    }

    /// One step of the state machine; whether another may follow at once.
    fn step(&mut self, now: u64, net: &mut Net) -> bool {
        match &self.state {
            State::Idle(at) if *at <= now && now < self.plan.stop_cycle => self.connect(now, net),
            State::Idle(_) => false,
            State::Connecting { socket, since } => {
                let (socket, since) = (*socket, *since);
                match net.sockets.get::<tcp::Socket>(socket).state() {
                    tcp::State::Established => {
                        self.state = State::Ready { socket };
                        true
                    }
                    tcp::State::SynSent if now < self.timeout(since) => false,
                    _ => self.disconnect(socket, now, net, 1),
                }
            }
            State::Ready { socket } => {
                let socket = *socket;
                if !net.sockets.get::<tcp::Socket>(socket).may_recv() {
                    self.disconnect(socket, now, net, 0)
                } else if self.next_request <= now && now < self.plan.stop_cycle {
                    self.request(socket, now, net)
                } else {
                    false
                }
            }
            State::Waiting { socket, since, .. } => {
                let (socket, since) = (*socket, *since);
                self.answer(socket, since, now, net)
            }
        }
    }

    fn connect(&mut self, now: u64, net: &mut Net) -> bool {
        let local_port = net.ephemeral_port();
        self.stats.connections += 1;
        self.received.clear();
        match net.connect(self.plan.device, self.plan.port, local_port) {
            Some(socket) => self.state = State::Connecting { socket, since: now },
            None => self.end(now, 1),
        }
        false
    }

    fn disconnect(&mut self, socket: SocketHandle, now: u64, net: &mut Net, failures: u64) -> bool {
        let tcp = net.sockets.get_mut::<tcp::Socket>(socket);
        match tcp.state() {
            tcp::State::CloseWait => tcp.close(),
            _ => tcp.abort(),
        }
        net.retire(socket);
        self.end(now, failures);
        false
    }

    fn end(&mut self, now: u64, failures: u64) {
        self.stats.failed += failures;
        self.state = State::Idle(now + self.plan.clock.cycles_of_us(RECONNECT_DELAY_MS * 1000));
    }

    fn request(&mut self, socket: SocketHandle, now: u64, net: &mut Net) -> bool {
        self.transaction = self.transaction.wrapping_add(1);
        let mut request = ModbusRequest::new(UNIT, ModbusProto::TcpUdp);
        request.tr_id = self.transaction;
        let mut bytes: Vec<u8> = Vec::new();
        let made = request.generate_get_holdings(FIRST_REGISTER, self.plan.registers, &mut bytes).is_ok();
        let sent = net.sockets.get_mut::<tcp::Socket>(socket).send_slice(&bytes);
        if !made || sent != Ok(bytes.len()) {
            return self.disconnect(socket, now, net, 1);
        }
        self.stats.sent += 1;
        self.next_request = now + self.plan.period_cycles;
        self.state = State::Waiting { socket, since: now, request };
        false
    }

    fn answer(&mut self, socket: SocketHandle, since: u64, now: u64, net: &mut Net) -> bool {
        let tcp = net.sockets.get_mut::<tcp::Socket>(socket);
        let received = &mut self.received;
        while tcp.can_recv() {
            let taken = tcp.recv(|bytes| {
                received.extend_from_slice(bytes);
                (bytes.len(), ())
            });
            if taken.is_err() {
                break;
            }
        }
        let open = tcp.may_recv();
        match self.take_adu() {
            Ok(Some(adu)) => self.judge(&adu, socket, since, now, net),
            Ok(None) if open && now < self.timeout(since) => false,
            Ok(None) | Err(()) => self.disconnect(socket, now, net, 1),
        }
    }

    /// One whole answer, if it is there. The library's own framing ends at 255 bytes; 125 registers need 259.
    fn take_adu(&mut self) -> Result<Option<Vec<u8>>, ()> {
        let Some(length) = self.received.get(MBAP_PREFIX_BYTES - 2..MBAP_PREFIX_BYTES) else {
            return Ok(None);
        };
        let bytes = MBAP_PREFIX_BYTES + usize::from(u16::from_be_bytes([length[0], length[1]]));
        if !(MBAP_PREFIX_BYTES + ANSWER_HEADER_BYTES..=MAX_ADU_BYTES).contains(&bytes) {
            return Err(());
        }
        if self.received.len() < bytes {
            return Ok(None);
        }
        Ok(Some(self.received.drain(..bytes).collect()))
    }

    fn judge(&mut self, adu: &[u8], socket: SocketHandle, since: u64, now: u64, net: &mut Net) -> bool {
        let State::Waiting { request, .. } = &self.state else {
            return false;
        };
        let whole = MBAP_PREFIX_BYTES + ANSWER_HEADER_BYTES + 2 * usize::from(self.plan.registers);
        let transaction_fits = adu[..2] == request.tr_id.to_be_bytes();
        let exception = adu[FUNCTION_AT] == request.func as u8 | EXCEPTION_BIT;
        let right = request.parse_ok(adu).is_ok() && adu.len() == whole;
        if !transaction_fits || !(exception || right) {
            return self.disconnect(socket, now, net, 1);
        }
        self.stats.answered += 1;
        self.stats.exceptions += u64::from(exception);
        self.stats.round_trip_cycles.push(now - since);
        self.state = State::Ready { socket };
        true
    }
}

impl App for Master {
    fn run(&mut self, now: u64, net: &mut Net) {
        while self.step(now, net) {}
    }

    fn next_due(&self) -> Option<u64> {
        let before_stop = |at: u64| (at < self.plan.stop_cycle).then_some(at);
        match &self.state {
            State::Idle(at) => before_stop(*at),
            State::Connecting { since, .. } | State::Waiting { since, .. } => Some(self.timeout(*since)),
            State::Ready { .. } => before_stop(self.next_request),
        }
    }

    fn stats(&self) -> (usize, &PeerStats) {
        (self.entry, &self.stats)
    }
}
