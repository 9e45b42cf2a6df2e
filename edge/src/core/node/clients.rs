// SPDX-License-Identifier: Apache-2.0
//! Those who submit tasks: who they are, and where.

use super::*;

impl Node {
    pub(super) fn hello(&mut self, now: Instant, from: SocketAddr, header: Header) -> Result<(), Dropped> {
        if self.config.role == Role::Worker {
            return Err(Dropped::Unexpected);
        }
        if !self.clients.contains_key(&header.sender) {
            if self.clients.len() >= self.config.clients_max {
                return Err(Dropped::Limit);
            }
            let token = self.rng.next_u64();
            self.clients.insert(header.sender, Client { address: from, token, window: Window::default(), heard: now });
        }
        let Some(client) = self.clients.get_mut(&header.sender) else { return Err(Dropped::Limit) };
        if !client.window.accept(header.sequence) {
            return Err(Dropped::Replayed);
        }
        client.heard = now;
        let token = client.token;
        // Others from anywhere, so that clients spread over the site and find the nearest.
        let first = if self.peers.is_empty() { 0 } else { self.rng.random_range(0..self.peers.len()) };
        let others = self.peers.values().cycle().skip(first).take(self.peers.len().min(OTHERS_MAX));
        let others = others.filter(|p| p.member.role != Role::Worker).map(|p| p.member.for_clients).collect();
        let density = self.load(now);
        let welcome = Message::Welcome { asked_at: header.sent_at, token, density, others };
        self.send(now, from, header.sender, &welcome);
        Ok(())
    }

    pub(super) fn check_client(&mut self, now: Instant, from: SocketAddr, header: Header) -> Result<(), Dropped> {
        let client = self.clients.get_mut(&header.sender).filter(|c| c.token == header.token);
        let client = client.ok_or(Dropped::Stranger)?;
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
