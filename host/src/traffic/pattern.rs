// SPDX-License-Identifier: Apache-2.0
//! Open-loop sources: what each frame of a pattern holds.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;

use super::frame::{self, Path};
use super::schedule::Schedule;
use super::source::Source;

/// First source port of TCP SYNs; the ports below belong to services.
const FIRST_SYN_PORT: u16 = 1024;

/// What the frames of a source are.
#[derive(Debug, Clone, Copy)]
pub(super) enum Content {
    /// Datagrams of this payload from one port to another.
    Udp { src_port: u16, dst_port: u16, payload_bytes: u32 },
    /// First fragments of such datagrams.
    FirstFragment { src_port: u16, dst_port: u16, payload_bytes: u32 },
    /// Connection attempts, each from another port.
    TcpSyn { dst_port: u16 },
    /// Echo requests.
    Echo { payload_bytes: u32 },
    /// ARP requests.
    Arp,
}

/// Makes one frame after the other.
#[derive(Debug)]
pub(super) struct Template {
    path: Path,
    content: Content,
    sequence: u32,
    first_ident: u16,
    rng: ChaCha8Rng,
}

impl Template {
    /// Frames of this content; `rng` gives the first IPv4 identification and the TCP sequence numbers.
    pub(super) fn new(path: Path, content: Content, mut rng: ChaCha8Rng) -> Template {
        let first_ident = rng.next_u32() as u16;
        Template { path, content, sequence: 0, first_ident, rng }
    }

    /// The next frame.
    pub(super) fn next_frame(&mut self) -> Vec<u8> {
        let sequence = self.sequence;
        self.sequence = sequence.wrapping_add(1);
        let counter = self.first_ident.wrapping_add(sequence as u16);
        match self.content {
            Content::Udp { src_port, dst_port, payload_bytes } => {
                frame::udp(self.path, counter, src_port, dst_port, &frame::payload(sequence, payload_bytes))
            }
            Content::FirstFragment { src_port, dst_port, payload_bytes } => {
                let payload = frame::payload(sequence, payload_bytes & !7);
                frame::first_fragment(frame::udp(self.path, counter, src_port, dst_port, &payload))
            }
            Content::TcpSyn { dst_port } => {
                let ports = u32::from(u16::MAX - FIRST_SYN_PORT) + 1;
                let port = u32::from(FIRST_SYN_PORT) + (u32::from(self.first_ident) + sequence % ports) % ports;
                frame::tcp_syn(self.path, counter, port as u16, dst_port, self.rng.next_u32())
            }
            Content::Echo { payload_bytes } => {
                let data = frame::payload(sequence, payload_bytes);
                frame::echo_request(self.path, counter, self.first_ident, sequence as u16, &data)
            }
            Content::Arp => frame::arp_request(self.path.from, self.path.to),
        }
    }
}

/// A source that sends by its schedule, whatever the device does.
#[derive(Debug)]
pub(super) struct OpenLoop {
    template: Template,
    schedule: Schedule,
    due: Option<u64>,
}

impl OpenLoop {
    /// A source of these frames at these times.
    pub(super) fn new(template: Template, mut schedule: Schedule) -> OpenLoop {
        let due = schedule.next();
        OpenLoop { template, schedule, due }
    }
}

impl Source for OpenLoop {
    fn next_due(&self) -> Option<u64> {
        self.due
    }

    fn take(&mut self) -> Option<Vec<u8>> {
        self.due = self.schedule.next();
        Some(self.template.next_frame())
    }
}

/// A source that sends whenever the link is idle within `[start, stop)`.
#[derive(Debug)]
pub(super) struct LineRate {
    /// What it sends.
    pub(super) template: Template,
    /// First cycle.
    pub(super) start_cycle: u64,
    /// Cycle before which its last frame begins.
    pub(super) stop_cycle: u64,
}
