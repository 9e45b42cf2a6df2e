// SPDX-License-Identifier: Apache-2.0
//! Scenarios and frames for the tests of the traffic.
#![allow(dead_code, missing_docs)]

pub mod device;

use std::net::Ipv4Addr;

use weir::scenario::{
    Contract, Cpu, Device, Listen, Mitigation, Nic, NicQueue, Pattern, Protocol, QueueOverrides, Scenario, Target,
    Task, TaskKind, Traffic, Variant, Work,
};
use weir::traffic::{Wire, WireFrame};

pub const DEVICE_MAC: [u8; 6] = [0x02, 0xDE, 0xAD, 0xBE, 0xEF, 0x01];
pub const DEVICE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
pub const SENDER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
pub const END: u64 = u64::MAX;

pub fn scenario(tasks: Vec<Task>, traffic: Vec<Traffic>) -> Scenario {
    Scenario {
        name: "test".to_owned(),
        seed: 1,
        duration_ms: 200,
        warmup_ms: 20,
        variants: vec![Variant::Stock],
        device: Device {
            cpu: Cpu::Imac,
            cpu_mhz: 100,
            link_mbps: 100,
            rx_buffers: 64,
            net_priority: 7,
            address: DEVICE,
            prefix: 24,
            tick_us: 1000,
            trace: true,
            eager_invalidation: false,
            link_order: 0,
        },
        limit: None,
        mitigation: Mitigation {
            mended: true,
            task: None,
            capacity: 200,
            slice_us: 20_000,
            stop_percent: 10,
            resume_percent: 20,
            queue: 16,
        },
        nic: Nic {
            queue: NicQueue { packet_timer_us: 0, absolute_timer_us: 0, frames: 0, bytes: 4096 },
            asked: QueueOverrides::default(),
            periodic: false,
            netstack_us: None,
        },
        tasks,
        traffic,
    }
}

pub fn udp(port: u16) -> Listen {
    Listen { protocol: Protocol::Udp, port }
}

pub fn tcp(port: u16) -> Listen {
    Listen { protocol: Protocol::Tcp, port }
}

pub fn listener(name: &str, listen: Listen, from: Option<Ipv4Addr>) -> Task {
    Task {
        name: name.to_owned(),
        priority: 5,
        kind: TaskKind::Receiving {
            listen,
            deadline_us: None,
            reply_bytes: 0,
            flow: Contract { from, ..Contract::default() },
        },
        work: Work::Synthetic { us: 1.0 },
        stack_bytes: 1024,
    }
}

pub fn traffic(name: &str, to: Target, pattern: Pattern) -> Traffic {
    Traffic {
        name: name.to_owned(),
        from: SENDER,
        to,
        payload_bytes: 18,
        dscp: 0,
        pattern,
        start_ms: 0.0,
        stop_ms: None,
    }
}

pub fn all_frames(wire: &mut Wire) -> Vec<WireFrame> {
    frames_until(wire, END)
}

pub fn frames_until(wire: &mut Wire, end: u64) -> Vec<WireFrame> {
    std::iter::from_fn(|| wire.next_frame(end)).collect()
}

pub fn frames_of(scenario: &Scenario) -> Vec<WireFrame> {
    all_frames(&mut Wire::new(scenario, DEVICE_MAC).expect("a good scenario"))
}

/// Where `shared/reference/pcap/ics` is, if it is there.
pub fn reference_capture(name: &str) -> Option<std::path::PathBuf> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/reference/pcap/ics");
    let path = root.join(name);
    if !path.exists() {
        println!("SKIPPED: the reference capture {name} is not at ../shared/reference/pcap/ics");
        return None;
    }
    Some(path)
}

/// A little-endian pcap file with microseconds: (time in us, frame).
pub fn pcap(frames: &[(u64, Vec<u8>)]) -> Vec<u8> {
    pcap_with(1, frames.iter().map(|(us, frame)| (*us, frame.len() as u32, frame.clone())))
}

/// The same with any link type and original lengths.
pub fn pcap_with(link_type: u32, records: impl Iterator<Item = (u64, u32, Vec<u8>)>) -> Vec<u8> {
    let mut file = Vec::new();
    file.extend(0xA1B2_C3D4u32.to_le_bytes());
    file.extend([2, 0, 4, 0]);
    file.extend([0; 8]);
    file.extend(65_535u32.to_le_bytes());
    file.extend(link_type.to_le_bytes());
    for (us, original_bytes, frame) in records {
        file.extend(((us / 1_000_000) as u32).to_le_bytes());
        file.extend(((us % 1_000_000) as u32).to_le_bytes());
        file.extend((frame.len() as u32).to_le_bytes());
        file.extend(original_bytes.to_le_bytes());
        file.extend(frame);
    }
    file
}
