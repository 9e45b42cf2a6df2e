// SPDX-License-Identifier: Apache-2.0
//! What closed-loop peers saw.

/// Counts of one closed-loop traffic entry, over the whole run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PeerStats {
    /// Name of the traffic entry.
    pub name: String,
    /// TCP connections begun.
    pub connections: u64,
    /// Requests (Modbus, request), or pieces of captured payload (live conversations), handed to the stack.
    pub sent: u64,
    /// Of these, those that the device answered; each segment with data answers the oldest piece.
    pub answered: u64,
    /// Of the answered Modbus requests, those answered by an exception.
    pub exceptions: u64,
    /// Requests that timed out, were answered wrongly or lost their connection, connections refused; or
    /// conversations that broke before the end of their script. What is under way at the end of the run is
    /// counted nowhere.
    pub failed: u64,
    /// For each answered request, in order: from handing it to the host's stack to reading the answer,
    /// [`HOST_DELAY_US`](super::HOST_DELAY_US) included.
    pub round_trip_cycles: Vec<u64>,
}

impl PeerStats {
    /// No counts yet.
    pub(super) fn new(name: &str) -> PeerStats {
        PeerStats { name: name.to_owned(), ..PeerStats::default() }
    }

    /// Adds the counts of another host of the same entry.
    pub(super) fn add(&mut self, other: &PeerStats) {
        self.connections += other.connections;
        self.sent += other.sent;
        self.answered += other.answered;
        self.exceptions += other.exceptions;
        self.failed += other.failed;
        self.round_trip_cycles.extend(&other.round_trip_cycles);
    }
}
