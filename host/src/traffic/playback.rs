// SPDX-License-Identifier: Apache-2.0
//! Makes sources and hosts from a capture.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::Path;

use super::address::{is_martian, mac_of};
use super::capture::Capture;
use super::conversation::{self, Script, TimedFrames};
use super::error::TrafficError;
use super::headers;
use super::live::LiveClients;
use super::replay::Replay;
use super::rewrite;
use super::setup::{Entry, Setup};
use crate::scenario::{CaptureTcp, Target};

impl Setup {
    /// Plays a capture, from the entry's start to its stop.
    pub(super) fn add_capture(
        &mut self,
        entry: Entry<'_>,
        path: &Path,
        speed: f64,
        tcp: CaptureTcp,
    ) -> Result<(), TrafficError> {
        if !(speed.is_finite() && speed > 0.0) {
            return Err(entry.error(format!("speed is {speed}; it has to be more than 0")));
        }
        let capture = Capture::open(path)
            .map_err(|error| TrafficError::Capture { traffic: entry.traffic.name.clone(), error })?;
        self.note(entry, &capture.notes);
        let frames = self.within_run(entry, &capture, speed);
        match entry.traffic.to {
            Target::AsIs => {
                self.answer_arp_of(&frames);
                self.play(entry, frames);
                Ok(())
            }
            Target::Device => self.add_rewritten(entry, &capture, &frames, tcp),
            Target::Port(_) | Target::Broadcast(_) | Target::Multicast(_) | Target::Fragments(_) => {
                Err(entry.error("a capture goes to = \"device\" or to = \"as-is\""))
            }
        }
    }

    fn within_run(&mut self, entry: Entry<'_>, capture: &Capture, speed: f64) -> TimedFrames {
        let clock = self.clock;
        let timed = capture.frames.iter().map(|(since_first_ns, frame)| {
            let cycle = entry.start_cycle.saturating_add(clock.cycles_of_ns(*since_first_ns, speed));
            (cycle, frame)
        });
        let within = timed.take_while(|(cycle, _)| *cycle < entry.stop_cycle);
        let frames: TimedFrames = within.map(|(cycle, frame)| (cycle, frame.clone())).collect();
        let (played, all) = (frames.len(), capture.frames.len());
        if played < all {
            self.note(entry, &[format!("{played} of {all} frames are played, the run ends before the others")]);
        }
        frames
    }

    fn add_rewritten(
        &mut self,
        entry: Entry<'_>,
        capture: &Capture,
        frames: &TimedFrames,
        tcp: CaptureTcp,
    ) -> Result<(), TrafficError> {
        let server = rewrite::server_of(&capture.frames);
        let rewritten = rewrite::rewrite(frames, server, self.device_mac, &mut self.subnet).map_err(|full| {
            entry.error(format!(
                "the capture has {} senders, more than the device's subnet has free addresses; \
                 give the device an address with a prefix of /{} or shorter",
                full.senders, full.prefix
            ))
        })?;
        self.note(entry, &rewritten.notes);
        for address in rewritten.senders.values() {
            self.arp.add(*address, mac_of(*address));
        }
        let (frames, scripts) = match tcp {
            CaptureTcp::Live => conversation::split(rewritten.frames, self.subnet.device(), &self.tcp_ports),
            CaptureTcp::Frames => (rewritten.frames, Vec::new()),
        };
        self.note(entry, &[format!("{} TCP conversations are held live", scripts.len())]);
        self.hold(entry, scripts);
        self.play(entry, frames);
        Ok(())
    }

    fn hold(&mut self, entry: Entry<'_>, scripts: Vec<Script>) {
        let mut by_client: BTreeMap<Ipv4Addr, Vec<Script>> = BTreeMap::new();
        for script in scripts {
            by_client.entry(script.client).or_default().push(script);
        }
        let device = self.subnet.device();
        for (client, scripts) in by_client {
            let clients = LiveClients::new(entry.index, &entry.traffic.name, device, scripts);
            self.host(entry.index, client).add(Box::new(clients));
        }
    }

    /// Senders of a capture that is played as it is answer with the MAC address they have there.
    fn answer_arp_of(&mut self, frames: &TimedFrames) {
        let device = self.subnet.device();
        for (_, frame) in frames {
            let sender = rewrite::sender_of(frame).filter(|sender| !is_martian(*sender) && *sender != device);
            let mac = headers::src_mac(frame);
            if let Some(sender) = sender.filter(|_| mac.is_unicast()) {
                self.arp.add(sender, mac.0);
            }
        }
    }

    fn play(&mut self, entry: Entry<'_>, frames: TimedFrames) {
        self.sources.push((entry.index, Box::new(Replay::new(frames))));
    }

    fn note(&mut self, entry: Entry<'_>, notes: &[String]) {
        let name = &entry.traffic.name;
        self.notes.extend(notes.iter().map(|note| format!("traffic {name:?}: {note}")));
    }
}
