// SPDX-License-Identifier: Apache-2.0
//! Makes open-loop sources from traffic entries.

use std::net::Ipv4Addr;

use rand_chacha::ChaCha8Rng;

use super::error::TrafficError;
use super::frame::Path;
use super::pattern::{Content, LineRate, OpenLoop, Template};
use super::schedule::Schedule;
use super::setup::{Entry, STREAMS_PER_ENTRY, Setup};
use super::source::stream;
use crate::scenario::{Listen, Pattern, Protocol, Target, Traffic};

const BROADCAST_MAC: [u8; 6] = [0xFF; 6];
/// Administratively scoped (RFC 2365), and its MAC address (RFC 1112).
const MULTICAST_GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 0, 1);
const MULTICAST_MAC: [u8; 6] = [0x01, 0x00, 0x5E, 0x7F, 0x00, 0x01];
const FIRST_SOURCE_PORT: usize = 40_000;
const SOURCE_PORTS: usize = 8192;

impl Setup {
    /// Adds a source that sends by a schedule.
    pub(super) fn add_open_loop(&mut self, entry: Entry<'_>) -> Result<(), TrafficError> {
        let template = self.template(entry)?;
        let schedule = self.schedule(entry)?;
        self.sources.push((entry.index, Box::new(OpenLoop::new(template, schedule))));
        Ok(())
    }

    /// Adds a source that sends whenever the link is idle.
    pub(super) fn add_line_rate(&mut self, entry: Entry<'_>) -> Result<(), TrafficError> {
        let template = self.template(entry)?;
        let Entry { start_cycle, stop_cycle, .. } = entry;
        self.line_rate.push(LineRate { template, start_cycle, stop_cycle });
        Ok(())
    }

    /// Random numbers for when an entry acts.
    pub(super) fn schedule_rng(&self, entry: Entry<'_>) -> ChaCha8Rng {
        stream(self.seed, STREAMS_PER_ENTRY * entry.index as u64)
    }

    /// Random numbers for what it sends.
    fn content_rng(&self, entry: Entry<'_>) -> ChaCha8Rng {
        stream(self.seed, STREAMS_PER_ENTRY * entry.index as u64 + 1)
    }

    fn template(&self, entry: Entry<'_>) -> Result<Template, TrafficError> {
        let Traffic { to, payload_bytes, from, dscp, .. } = *entry.traffic;
        let src_port = (FIRST_SOURCE_PORT + entry.index % SOURCE_PORTS) as u16;
        let device = Path { from, to: self.subnet.device(), to_mac: self.device_mac, dscp };
        let everybody = Path { from, to: Ipv4Addr::BROADCAST, to_mac: BROADCAST_MAC, dscp };
        let strangers = Path { from, to: MULTICAST_GROUP, to_mac: MULTICAST_MAC, dscp };
        let (path, content) = match (&entry.traffic.pattern, to) {
            (Pattern::Arp { .. }, Target::Device) => (device, Content::Arp),
            (Pattern::Icmp { .. }, Target::Device) => (device, Content::Echo { payload_bytes }),
            (Pattern::Arp { .. } | Pattern::Icmp { .. }, _) => {
                return Err(entry.error("arp and icmp go to = \"device\""));
            }
            (_, Target::Port(Listen { protocol: Protocol::Udp, port: dst_port })) => {
                (device, Content::Udp { src_port, dst_port, payload_bytes })
            }
            (_, Target::Port(Listen { protocol: Protocol::Tcp, port: dst_port })) => {
                (device, Content::TcpSyn { dst_port })
            }
            (_, Target::Broadcast(dst_port)) => (everybody, Content::Udp { src_port, dst_port, payload_bytes }),
            (_, Target::Multicast(dst_port)) => (strangers, Content::Udp { src_port, dst_port, payload_bytes }),
            (_, Target::Fragments(dst_port)) => (device, Content::FirstFragment { src_port, dst_port, payload_bytes }),
            (_, Target::Device | Target::AsIs) => {
                return Err(entry.error("this pattern goes to a port: udp/PORT, tcp/PORT or broadcast/PORT"));
            }
        };
        Ok(Template::new(path, content, self.content_rng(entry)))
    }

    fn schedule(&self, entry: Entry<'_>) -> Result<Schedule, TrafficError> {
        let mut rng = self.schedule_rng(entry);
        let Entry { start_cycle: start, stop_cycle: stop, .. } = entry;
        let rate_pps = match entry.traffic.pattern {
            Pattern::Uniform { rate_pps }
            | Pattern::Poisson { rate_pps }
            | Pattern::Burst { rate_pps, .. }
            | Pattern::Pyramid { rate_pps, .. }
            | Pattern::Arp { rate_pps }
            | Pattern::Icmp { rate_pps } => entry.checked_rate(rate_pps)?,
            _ => 0.0,
        };
        if rate_pps == 0.0 {
            return Ok(Schedule::silent());
        }
        let period = self.clock.period_cycles(rate_pps);
        Ok(match entry.traffic.pattern {
            Pattern::Poisson { .. } => Schedule::poisson(start, stop, period, rng),
            Pattern::Pyramid { steps, .. } => Schedule::pyramid(start, stop, period, steps, &mut rng),
            Pattern::Burst { burst_ms, every_ms, .. } => {
                let cycles = |ms: f64| self.clock.cycles_of_ms(ms) as f64;
                Schedule::burst(start, stop, period, cycles(burst_ms), cycles(every_ms))
            }
            _ => Schedule::uniform(start, stop, period, &mut rng),
        })
    }
}
