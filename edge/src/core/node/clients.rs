// SPDX-License-Identifier: Apache-2.0
//! Those who submit tasks: who they are, and where.
//!
//! Who says hello takes no place here: its token is computed and not kept. A place is for who came back with a token,
//! that is, for who has the key and is there now. A token that was computed is good for less time than a client is
//! remembered, so that a recording of what a forgotten client sent has none that counts.

use super::*;

/// A token that is not kept is good for this time to twice it.
const TOKEN_PERIOD: Duration = Duration::from_secs(10);
const _: () = assert!(TOKEN_PERIOD.as_secs() * 2 < CLIENT_SILENT_MAX.as_secs());

impl Node {
    pub(super) fn hello(&mut self, now: Instant, from: SocketAddr, header: Header) -> Result<(), Dropped> {
        if self.config.role == Role::Worker {
            return Err(Dropped::Unexpected);
        }
        let lately = self.gave_lately(now, header);
        let full = self.clients.len() >= self.config.clients_max;
        let (token, proven) = match self.clients.get_mut(&header.sender) {
            Some(client) => {
                // What it sent before it had its place is not in the window, and may be a recording.
                let newest = header.sequence > client.window.highest();
                if !client.window.accept(header.sequence) {
                    return Err(Dropped::Replayed);
                }
                let proven = lately || client.token == header.token;
                if proven && newest {
                    client.heard = now;
                }
                (client.token, proven)
            }
            None if full => return Err(Dropped::Limit),
            None => (self.token(header.sender, now.0 / nanoseconds(TOKEN_PERIOD)), lately),
        };
        let others = if proven { self.others() } else { Vec::new() };
        let density = self.load(now);
        let welcome = Message::Welcome { asked_at: header.sent_at, token, density, others };
        self.send(now, from, header.sender, &welcome);
        Ok(())
    }

    /// Others from anywhere, so that clients spread over the site and find the nearest.
    fn others(&mut self) -> Vec<SocketAddr> {
        let first = if self.peers.is_empty() { 0 } else { self.rng.random_range(0..self.peers.len()) };
        let others = self.peers.values().cycle().skip(first).take(self.peers.len().min(OTHERS_MAX));
        others.filter(|p| p.member.role != Role::Worker).map(|p| p.member.for_clients).collect()
    }

    fn token(&self, client: u64, period: u64) -> u64 {
        // 0 says that there is none.
        self.tokens.number(&[client.to_be_bytes(), period.to_be_bytes()].concat()).max(1)
    }

    fn gave_lately(&self, now: Instant, header: Header) -> bool {
        let period = now.0 / nanoseconds(TOKEN_PERIOD);
        [period, period.saturating_sub(1)].iter().any(|period| self.token(header.sender, *period) == header.token)
    }

    /// Whether a message is from a client that is there; this is where it gets its place.
    pub(super) fn check_client(&mut self, now: Instant, from: SocketAddr, header: Header) -> Result<(), Dropped> {
        let known = self.clients.get(&header.sender);
        if known.is_none_or(|client| client.token != header.token) && !self.gave_lately(now, header) {
            return Err(Dropped::Stranger);
        }
        if known.is_none() && self.clients.len() >= self.config.clients_max {
            return Err(Dropped::Limit);
        }
        let new = || Client { address: from, token: header.token, window: Window::default(), heard: now };
        let client = self.clients.entry(header.sender).or_insert_with(new);
        if !client.window.accept(header.sequence) {
            return Err(Dropped::Replayed);
        }
        client.heard = now;
        client.address = from;
        Ok(())
    }

    pub(super) fn send_to_client(&mut self, now: Instant, id: TaskId, submitted_from: SocketAddr, message: &Message) {
        let to = self.clients.get(&id.client).map_or(submitted_from, |c| c.address);
        self.send(now, to, id.client, message);
    }
}
