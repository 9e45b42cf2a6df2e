// SPDX-License-Identifier: Apache-2.0
//! Real captures run.

use std::fs;

use super::{cases_in, folder, shared_captures, traffic_common, try_run};

#[test]
fn industrial_captures_are_replayed_into_the_device() {
    let Some(captures) = shared_captures() else { return };
    for (file, speed) in [
        ("modbus_clean_1min.pcap", 20.0),
        ("modbus_queryflood_1min.pcap", 10.0),
        ("modbus_synflood_1min.pcap", 4.0),
        ("s7_1min.pcap", 20.0),
    ] {
        let folder = folder();
        let text = format!(
            "name = 'capture'
            duration_ms = 60
            [device]
            address = '10.0.0.1/16'
            [[task]]
            name = 'axis'
            priority = 6
            period_us = 1000
            work_us = 300
            [[task]]
            name = 'modbus'
            priority = 5
            listen = 'tcp/502'
            [[traffic]]
            pattern = 'pcap'
            file = '{}'
            to = 'device'
            speed = {speed:?}",
            captures.join(file).display()
        );
        let case = cases_in(folder.path(), &text).remove(0);
        let run = try_run(&case.scenario).unwrap_or_else(|error| panic!("{file}: {error}")).run;
        let offered: u64 = run.flows.iter().map(|flow| flow.offered).sum();
        assert!(offered > 0, "{file}: nothing of it reached the device");
        for flow in &run.flows {
            assert_eq!(flow.offered, flow.delivered + flow.dropped.total() + flow.in_flight, "{file}");
        }
    }
}

/// UDP datagrams of 2,400 bytes, in three fragments each, for port 5005 of the device, one each millisecond; the last
/// fragment first.
fn fragmented_datagrams(count: u16) -> Vec<u8> {
    const DATAGRAM: usize = 2408;
    const PIECE: usize = 1000;
    let mut frames = Vec::new();
    for id in 0..count {
        let mut datagram = vec![0; DATAGRAM];
        datagram[..8].copy_from_slice(&[0x13, 0x88, 0x13, 0x8d, 0x09, 0x68, 0, 0]);
        for (i, piece) in datagram.chunks(PIECE).enumerate().rev() {
            let fragment = (i * PIECE / 8) as u16 | if (i + 1) * PIECE < DATAGRAM { 0x2000 } else { 0 };
            let mut header = [0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1];
            header[2..4].copy_from_slice(&((20 + piece.len()) as u16).to_be_bytes());
            header[4..6].copy_from_slice(&id.to_be_bytes());
            header[6..8].copy_from_slice(&fragment.to_be_bytes());
            let mut sum: u32 = header.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
            sum = (sum & 0xffff) + (sum >> 16);
            header[10..12].copy_from_slice(&(!sum as u16).to_be_bytes());
            let mut frame = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0].to_vec();
            frame.extend(header);
            frame.extend(piece);
            frames.push((u64::from(id) * 1000 + (3 - i as u64) * 100, frame));
        }
    }
    traffic_common::pcap(&frames)
}

/// The IP stack keeps the first ones while it waits for the rest, which has to come past them.
#[test]
fn datagrams_in_fragments_arrive_on_every_path() {
    for variant in ["stock", "driver", "nic", "codesign"] {
        let folder = folder();
        fs::write(folder.path().join("fragments.pcap"), fragmented_datagrams(40)).unwrap();
        let text = format!(
            "name = 'x'
            duration_ms = 60
            variants = ['{variant}']
            [[task]]
            name = 'command'
            priority = 5
            listen = 'udp/5005'
            [[traffic]]
            pattern = 'pcap'
            file = 'fragments.pcap'
            to = 'device'
            "
        );
        let run = try_run(&cases_in(folder.path(), &text).remove(0).scenario).unwrap().run;
        let fragments = &run.flows[1];
        assert!(fragments.offered >= 60 && fragments.delivered == fragments.offered, "{variant}: {fragments:?}");
        assert_eq!(run.tasks[0].jobs * 3, fragments.delivered, "{variant}");
    }
}
