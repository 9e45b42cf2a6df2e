// SPDX-License-Identifier: Apache-2.0
//! What holds of the platform `model` whatever its costs are. How far its figures are from `soc`: tests/device/model.rs.

use std::fs;

use weir::model::{Calibration, Runner, refusal};
use weir::nic::{Nic, Settings};
use weir::results::Run;
use weir::scenario::{self, Overrides, Scenario, Variant};
use weir::soc::{Outcome, device_mac};
use weir::traffic::{FlowId, Wire};

const COVERED: [Variant; 4] = [Variant::Stock, Variant::Driver, Variant::Nic, Variant::Codesign];

fn scenario_of(text: &str) -> Scenario {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let path = folder.path().join("test.toml");
    fs::write(&path, text).expect("the folder is writable");
    scenario::load(&path, &Overrides::default()).unwrap_or_else(|errors| panic!("{errors}")).remove(0).scenario
}

/// A control loop, two sockets, and every kind of frame, more than can be worked on.
fn busy(seed: u64) -> Scenario {
    scenario_of(&format!(
        "name = 'busy'
seed = {seed}
duration_ms = 40
[device]
rx_buffers = 48
[nic]
absolute_timer_us = 400
frames = 8
[[task]]
name = 'axis'
priority = 7
period_us = 1000
work_us = 200
[[task]]
name = 'odd'
priority = 4
period_us = 730
work_us = 30
[[task]]
name = 'command'
priority = 6
listen = 'udp/5005'
deadline_us = 2000
flow = {{ capacity = 3, period_us = 1000, from = '10.0.0.2', absolute_timer_us = 0 }}
[[task]]
name = 'log'
priority = 3
listen = 'udp/5006'
reply_bytes = 40
[[task]]
name = 'worker'
priority = 1
background = true
[[traffic]]
to = 'udp/5005'
from = '10.0.0.2'
pattern = 'poisson'
rate_pps = 2000
[[traffic]]
to = 'udp/5005'
from = '10.0.0.66'
pattern = 'poisson'
rate_pps = 5000
[[traffic]]
to = 'udp/5006'
from = '10.0.0.3'
pattern = 'request'
rate_pps = 300
timeout_ms = 5
[[traffic]]
to = 'udp/5006'
from = '10.0.0.67'
pattern = 'poisson'
rate_pps = 9000
payload_bytes = 300
[[traffic]]
to = 'udp/9'
from = '10.0.0.66'
pattern = 'poisson'
rate_pps = 9000
[[traffic]]
to = 'broadcast/137'
from = '10.0.0.68'
pattern = 'burst'
rate_pps = 30000
burst_ms = 2
every_ms = 9
[[traffic]]
to = 'fragments/5006'
from = '10.0.0.68'
pattern = 'poisson'
rate_pps = 900
[[traffic]]
pattern = 'arp'
from = '10.0.0.69'
rate_pps = 700
[[traffic]]
pattern = 'icmp'
from = '10.0.0.69'
rate_pps = 700
"
    ))
}

fn run(scenario: &Scenario, variant: Variant) -> Outcome {
    let calibration = Calibration::shipped().expect("the calibration that comes with weir");
    Runner::new(variant, &calibration, false).run(scenario, &mut |_| {}).unwrap_or_else(|error| panic!("{error}"))
}

fn offered(run: &Run) -> u64 {
    run.flows.iter().map(|flow| flow.offered).sum()
}

#[test]
fn every_frame_is_delivered_or_dropped_for_one_reason_or_on_its_way() {
    for seed in 1..6 {
        let scenario = busy(seed);
        for variant in COVERED {
            let run = run(&scenario, variant).run;
            for flow in &run.flows {
                let dropped = &flow.dropped;
                let reasons = dropped.nic_filter + dropped.nic_full + dropped.flow_limit + dropped.recycled;
                let reasons = reasons + dropped.overall_limit + dropped.stack + dropped.socket;
                assert_eq!(flow.offered, flow.delivered + reasons + flow.in_flight, "{} {}", run.variant, flow.name);
            }
            assert!(offered(&run) > 1000);
            assert_eq!(run.buffers.leaked, 0);
            let shares = run.cpu.isr + run.cpu.net + run.cpu.tasks + run.cpu.idle;
            assert!((shares - 1.0).abs() < 1e-5, "{} {shares}", run.variant);
        }
    }
}

#[test]
fn one_seed_is_one_result() {
    for variant in COVERED {
        let json = |seed| serde_json::to_string(&run(&busy(seed), variant).run).expect("plain numbers");
        assert_eq!(json(7), json(7));
        assert_ne!(json(7), json(8));
    }
}

#[test]
fn software_that_costs_nothing_leaves_the_nics_own_interrupts() {
    let scenario = scenario_of(
        "name = 'moderated'
duration_ms = 300
warmup_ms = 0
[[task]]
name = 'a'
priority = 5
listen = 'udp/5005'
flow = { packet_timer_us = 90, absolute_timer_us = 700, frames = 6 }
[[task]]
name = 'b'
priority = 4
listen = 'udp/5006'
[[traffic]]
to = 'udp/5005'
pattern = 'poisson'
rate_pps = 9000
[[traffic]]
to = 'udp/5006'
pattern = 'poisson'
rate_pps = 3000
",
    );
    let run =
        Runner::without_costs(Variant::Nic).run(&scenario, &mut |_| {}).unwrap_or_else(|error| panic!("{error}")).run;
    let settings = "[[queue]]
name = 'a'
packet_timer_us = 90
absolute_timer_us = 700
frames = 6
[[queue]]
name = 'b'
";
    let mut nic = Nic::new(&Settings::parse(settings).expect("settings"));
    let mut wire = Wire::new(&scenario, device_mac(&scenario)).expect("traffic");
    let end = 300 * 100_000;
    let mut interrupts = std::collections::BTreeSet::new();
    let mut count = |interrupt: weir::nic::Interrupt| {
        // Two queues at one cycle are one interrupt.
        interrupts.extend((interrupt.time < end).then_some(interrupt.time));
    };
    while let Some(frame) = wire.next_frame(end) {
        if let FlowId::Task(queue) = frame.flow {
            nic.frame(frame.end_cycle, queue, &mut count);
        }
    }
    nic.advance(end - 1, &mut count);
    assert!(interrupts.len() > 500);
    assert_eq!(run.interrupts.nic, interrupts.len() as u64);
    assert_eq!(run.flows.iter().map(|flow| flow.delivered + flow.in_flight).sum::<u64>(), offered(&run));
}

#[test]
fn what_it_does_not_cover_is_refused_with_what_it_does() {
    let scenario = |rest: &str| scenario_of(&format!("name = 'x'\n{rest}"));
    let task = "[[task]]\nname = 't'\npriority = 3\n";
    for (text, variant, word) in [
        (String::new(), Variant::Capped, "covers stock, driver, nic and codesign"),
        ("[device]\ncpu = 'full'".to_string(), Variant::Stock, "covers `imac`"),
        (format!("{task}listen = 'tcp/502'"), Variant::Stock, "task `t`"),
    ] {
        let why = refusal(&scenario(&text), variant).expect("refused");
        assert!(why.contains(word), "{why}");
    }
    assert_eq!(refusal(&scenario(&format!("{task}listen = 'udp/502'")), Variant::Codesign), None);
}
