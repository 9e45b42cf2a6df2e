// SPDX-License-Identifier: Apache-2.0
//! Real captures run.

use super::{cases_in, folder, shared_captures, try_run};

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
