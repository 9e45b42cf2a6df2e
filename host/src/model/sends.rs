// SPDX-License-Identifier: Apache-2.0
//! What the device sends: ARP packets and replies.

use smoltcp::wire::{ArpOperation, ArpRepr, EthernetAddress};

use super::device::Device;
use super::frames::Frame;
use crate::scenario::TaskKind;
use crate::traffic;

/// Bytes on the wire beside a frame's own: preamble and check sequence.
const WIRE_BYTES: u64 = 12;

impl Device<'_> {
    fn send(&mut self, bytes: &[u8]) {
        let wire_bytes = bytes.len().max(traffic::MIN_FRAME_BYTES) as u64 + WIRE_BYTES;
        let byte_cycles = 8 * u64::from(self.scenario.device.cpu_mhz);
        let last_bit = self.now + (wire_bytes * byte_cycles).div_ceil(u64::from(self.scenario.device.link_mbps));
        self.wire.receive(last_bit.saturating_sub(self.epoch), bytes);
    }

    /// An ARP packet for the device: its sender is known from now on, and answered if it asks.
    pub(super) fn meet(&mut self, frame: &Frame) {
        let Some((address, mac)) = frame.from else { return };
        if !self.neighbours.contains(&address) {
            self.neighbours.push(address);
        }
        if frame.asks {
            self.send_arp(ArpOperation::Reply, mac, address, mac);
        }
    }

    /// Something is to be sent to who sent this frame: whether its address is known; it is asked for otherwise.
    pub(super) fn look_up(&mut self, frame: &Frame) -> bool {
        let Some((address, _)) = frame.from else { return false };
        if self.neighbours.contains(&address) {
            return true;
        }
        self.neighbours.push(address);
        self.send_arp(ArpOperation::Request, EthernetAddress::BROADCAST, address, EthernetAddress([0; 6]));
        false
    }

    fn send_arp(
        &mut self,
        operation: ArpOperation,
        to: EthernetAddress,
        address: std::net::Ipv4Addr,
        target: EthernetAddress,
    ) {
        let own = EthernetAddress(self.mac);
        let repr = ArpRepr::EthernetIpv4 {
            operation,
            source_hardware_addr: own,
            source_protocol_addr: self.scenario.device.address,
            target_hardware_addr: target,
            target_protocol_addr: address,
        };
        self.send(&traffic::arp(to, own, &repr));
    }

    pub(super) fn reply(&mut self, task: usize, message: &Frame) {
        let TaskKind::Receiving { listen, reply_bytes, .. } = self.scenario.tasks[task].kind else { return };
        let Some((to, mac)) = message.from else { return };
        if reply_bytes == 0 || !self.look_up(message) {
            return;
        }
        let path = traffic::Path { from: self.scenario.device.address, to, to_mac: mac.0, dscp: 0 };
        let bytes = traffic::udp(path, 0, listen.port, message.from_port, &vec![0; reply_bytes as usize]);
        self.send(&bytes);
    }
}
