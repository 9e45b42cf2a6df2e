// SPDX-License-Identifier: Apache-2.0
//! Which nodes there are: SWIM with suspicion, by foca, whose datagrams, timers and notices are passed on.

use std::net::SocketAddr;
use std::num::{NonZeroU8, NonZeroUsize};
use std::time::Duration;

use foca::{AccumulatingRuntime, Config, Foca, Identity, NoCustomBroadcast, OwnedNotification, PostcardCodec};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::message::DATAGRAM_BYTES_MAX;

/// What a node is to the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Takes tasks from clients, runs them, hands them on.
    Node,
    /// Takes tasks from clients and runs none.
    Scheduler,
    /// Runs what schedulers hand it.
    Worker,
}

/// A node as the others know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Where the others reach it.
    pub address: SocketAddr,
    /// Where clients reach it.
    pub for_clients: SocketAddr,
    /// Its session, another one after each start.
    pub session: u64,
    /// How often it came back after the others took it for dead, in this session.
    pub comeback: u32,
    /// When it was started, by the calendar in milliseconds: only to tell a restarted node from its former self.
    pub started_ms: u64,
    /// What it is to the others.
    pub role: Role,
}

impl Identity for Member {
    type Addr = SocketAddr;

    fn renew(&self) -> Option<Self> {
        // Who was started anew with a calendar that had gone back loses against its former self, and is told that it is
        // dead. Each time that it is told, it says to have been started later, by ever more: 50 years take 14 times.
        let later_ms = 1u64.checked_shl(self.comeback.saturating_mul(3)).unwrap_or(u64::MAX);
        let started_ms = self.started_ms.saturating_add(later_ms);
        Some(Self { comeback: self.comeback.wrapping_add(1), started_ms, ..*self })
    }

    fn addr(&self) -> SocketAddr {
        self.address
    }

    fn win_addr_conflict(&self, other: &Self) -> bool {
        (self.started_ms, self.session, self.comeback) > (other.started_ms, other.session, other.comeback)
    }
}

/// How soon silence is noticed.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// Each node asks one other in this time.
    pub probe: Duration,
    /// How long the other may take. At most half the period.
    pub answer: Duration,
    /// How long a silent one may still object.
    pub suspicion: Duration,
}

impl Default for Timing {
    /// Silence is known to all within a second.
    fn default() -> Self {
        Self {
            probe: Duration::from_millis(100),
            answer: Duration::from_millis(40),
            suspicion: Duration::from_millis(200),
        }
    }
}

/// What became of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is there.
    Up(Member),
    /// It fell silent, left, or was started anew.
    Down(Member),
    /// The others took us for dead; we are back under a new identity.
    WeWereDead,
}

/// A timer of the membership protocol.
pub type Timer = foca::Timer<Member>;

/// The members, and what is to be done for them.
pub struct Membership {
    foca: Foca<Member, PostcardCodec, ChaCha8Rng, NoCustomBroadcast>,
    runtime: AccumulatingRuntime<Member>,
    /// What a notice says besides its first change.
    second: Option<Change>,
}

impl Membership {
    /// Of one node that knows no other yet.
    pub fn new(own: Member, timing: Timing, seed: u64) -> Self {
        let second = foca::PeriodicParams { frequency: Duration::from_secs(1), num_members: NonZeroUsize::MIN };
        let gossip = foca::PeriodicParams {
            frequency: Duration::from_millis(100),
            num_members: const { NonZeroUsize::new(3).unwrap() },
        };
        let config = Config {
            probe_period: timing.probe,
            probe_rtt: timing.answer,
            suspect_to_down_after: timing.suspicion,
            max_transmissions: const { NonZeroU8::new(12).unwrap() },
            max_packet_size: const { NonZeroUsize::new(DATAGRAM_BYTES_MAX - 64).unwrap() },
            notify_down_members: true,
            remove_down_after: Some(Duration::from_secs(60)),
            periodic_announce: Some(second.clone()),
            periodic_announce_to_down_members: Some(second),
            periodic_gossip: Some(gossip),
            ..Config::simple()
        };
        Self {
            foca: Foca::new(own, config, ChaCha8Rng::seed_from_u64(seed), PostcardCodec),
            runtime: AccumulatingRuntime::new(),
            second: None,
        }
    }

    /// Whether a node at this address is there, or was until a minute ago: such a one is asked again without our doing.
    pub fn remembers(&self, address: SocketAddr) -> bool {
        self.foca.iter_membership_state().any(|member| member.id().address == address)
    }

    /// Asks the node at an address for the members. If its session is not known, it is 0: what comes back is the session.
    pub fn join(&mut self, address: SocketAddr, session: u64) {
        let unknown = Member { address, for_clients: address, session, comeback: 0, started_ms: 0, role: Role::Node };
        // It fails only if the packet has no room for a header.
        let _ = self.foca.announce(unknown, &mut self.runtime);
    }

    /// Says goodbye.
    pub fn leave(&mut self) {
        let _ = self.foca.leave_cluster(&mut self.runtime);
    }

    /// Another node's bytes; false if they are none of this protocol.
    pub fn handle(&mut self, bytes: &[u8]) -> bool {
        self.foca.handle_data(bytes, &mut self.runtime).is_ok()
    }

    /// A timer that was asked for is due.
    pub fn timer(&mut self, timer: Timer) {
        // Errors are those of timers that have lost their meaning.
        let _ = self.foca.handle_timer(timer, &mut self.runtime);
    }

    /// What is to be sent.
    pub fn to_send(&mut self) -> Option<(Member, Vec<u8>)> {
        self.runtime.to_send().map(|(to, bytes)| (to, bytes.to_vec()))
    }

    /// Timers that are asked for.
    pub fn to_schedule(&mut self) -> Option<(Duration, Timer)> {
        self.runtime.to_schedule()
    }

    /// What became of whom. A restarted node's former self comes before its new one.
    pub fn change(&mut self) -> Option<Change> {
        if let Some(change) = self.second.take() {
            return Some(change);
        }
        loop {
            return Some(match self.runtime.to_notify()? {
                OwnedNotification::MemberUp(member) => Change::Up(member),
                OwnedNotification::MemberDown(member) => Change::Down(member),
                OwnedNotification::Rename(before, after) => {
                    if before.session == after.session {
                        continue;
                    }
                    // If the former self still counted as there, nothing else says that the new one is.
                    if self.foca.iter_members().any(|member| *member.id() == after) {
                        self.second = Some(Change::Up(after));
                    }
                    Change::Down(before)
                }
                OwnedNotification::Rejoin(_) => Change::WeWereDead,
                OwnedNotification::Active | OwnedNotification::Idle | OwnedNotification::Defunct => continue,
            });
        }
    }
}
