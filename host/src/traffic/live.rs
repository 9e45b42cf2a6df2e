// SPDX-License-Identifier: Apache-2.0
//! Holds a capture's TCP conversations anew: sends what the captured client sent, when it sent it, in a
//! connection whose sequence numbers fit the device's.

use std::collections::VecDeque;
use std::net::Ipv4Addr;

use smoltcp::iface::SocketHandle;
use smoltcp::socket::tcp::{Socket, State};

use super::conversation::{Script, Step};
use super::host::{App, Net};
use super::stats::PeerStats;

/// All conversations of one host of a capture.
pub(super) struct LiveClients {
    entry: usize,
    stats: PeerStats,
    device: Ipv4Addr,
    /// Not begun, by start.
    pending: VecDeque<Script>,
    sessions: Vec<Session>,
    due: Option<u64>,
}

struct Session {
    socket: SocketHandle,
    steps: VecDeque<(u64, Step)>,
    /// Bytes of the first step that the stack has taken already.
    taken: usize,
    /// When the pieces were sent that nothing has come back for. A faster replay sends before the answer is there.
    asked: VecDeque<u64>,
}

/// What a session comes to.
enum Outcome {
    Running,
    Done,
    Broken,
}

impl LiveClients {
    /// Conversations of one host, for the traffic entry at this index.
    pub(super) fn new(entry: usize, name: &str, device: Ipv4Addr, mut scripts: Vec<Script>) -> LiveClients {
        scripts.sort_by_key(|script| script.start_cycle);
        let due = scripts.first().map(|script| script.start_cycle);
        let stats = PeerStats::new(name);
        LiveClients { entry, stats, device, pending: scripts.into(), sessions: Vec::new(), due }
    }

    fn begin(&mut self, script: Script, net: &mut Net) {
        self.stats.connections += 1;
        match net.connect(self.device, script.server_port, script.client_port) {
            Some(socket) => {
                self.sessions.push(Session { socket, steps: script.steps.into(), taken: 0, asked: VecDeque::new() });
            }
            None => self.stats.failed += 1,
        }
    }
}

impl App for LiveClients {
    fn run(&mut self, now: u64, net: &mut Net) {
        while self.pending.front().is_some_and(|script| script.start_cycle <= now) {
            if let Some(script) = self.pending.pop_front() {
                self.begin(script, net);
            }
        }
        let stats = &mut self.stats;
        self.sessions.retain_mut(|session| {
            match session.run(now, net.sockets.get_mut::<Socket>(session.socket), stats) {
                Outcome::Running => return true,
                Outcome::Done => {}
                Outcome::Broken => stats.failed += 1,
            }
            net.retire(session.socket);
            false
        });
        let steps = self.sessions.iter().filter_map(|session| session.next_due(now));
        let start = self.pending.front().map(|script| script.start_cycle);
        self.due = steps.chain(start).min();
    }

    fn next_due(&self) -> Option<u64> {
        self.due
    }

    fn stats(&self) -> (usize, &PeerStats) {
        (self.entry, &self.stats)
    }
}

impl Session {
    fn run(&mut self, now: u64, socket: &mut Socket<'_>, stats: &mut PeerStats) -> Outcome {
        let mut heard = false;
        while socket.can_recv() && socket.recv(|bytes| (bytes.len(), ())).is_ok() {
            heard = true;
        }
        // The host runs at every frame from the device, so that this is one segment: one answer.
        if heard && let Some(asked) = self.asked.pop_front() {
            stats.answered += 1;
            stats.round_trip_cycles.push(now - asked);
        }
        while let Some((_, step)) = self.steps.front().filter(|(cycle, _)| *cycle <= now) {
            let done = match step {
                // Nothing is sent or closed before the connection stands.
                _ if matches!(socket.state(), State::SynSent | State::SynReceived) => false,
                Step::Send(bytes) => {
                    // A broken connection takes nothing; that is seen below.
                    self.taken += socket.send_slice(&bytes[self.taken..]).unwrap_or(0);
                    self.taken == bytes.len()
                }
                Step::Close => {
                    socket.close();
                    true
                }
                Step::Abort => {
                    socket.abort();
                    true
                }
            };
            if !done {
                break;
            }
            if matches!(step, Step::Send(_)) {
                stats.sent += 1;
                self.asked.push_back(now);
            }
            self.steps.pop_front();
            self.taken = 0;
        }
        self.outcome(socket)
    }

    fn outcome(&self, socket: &mut Socket<'_>) -> Outcome {
        let resets_only = self.steps.iter().all(|(_, step)| *step == Step::Abort);
        match socket.state() {
            State::Closed | State::TimeWait if resets_only => Outcome::Done,
            State::Closed | State::TimeWait => Outcome::Broken,
            // The device has closed, and nothing is left to say.
            State::CloseWait if resets_only => {
                socket.close();
                Outcome::Running
            }
            _ => Outcome::Running,
        }
    }

    /// Steps that wait for the network have no time.
    fn next_due(&self, now: u64) -> Option<u64> {
        self.steps.front().map(|(cycle, _)| *cycle).filter(|cycle| *cycle > now)
    }
}
