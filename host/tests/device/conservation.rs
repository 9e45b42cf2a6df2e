// SPDX-License-Identifier: Apache-2.0
//! Every packet and every buffer is accounted for, whatever the scenario. That no buffer is lost is checked by the run
//! itself, against the firmware's own books.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRng, TestRunner};

use super::run;

#[derive(Debug, Clone)]
struct Shape {
    variant: &'static str,
    seed: u32,
    net_priority: u32,
    rx_buffers: u32,
    link_mbps: u32,
    flood: &'static str,
    flood_to: &'static str,
    rate_pps: u32,
    payload_bytes: u32,
    reply_bytes: u32,
    modbus_pps: u32,
}

fn shapes() -> impl Strategy<Value = Shape> {
    (
        any::<u32>(),
        1..12u32,
        prop::sample::select(vec![20u32, 64, 256]),
        prop::sample::select(vec![10u32, 100, 1000]),
        prop::sample::select(vec!["uniform", "poisson", "burst", "pyramid"]),
        prop::sample::select(vec!["udp/5005", "udp/9", "tcp/502", "tcp/9", "broadcast/5005", "broadcast/9"]),
        0..3800u32,
        prop::sample::select(vec![0u32, 18, 64, 200]),
        prop::sample::select(vec![0u32, 32, 1400]),
        0..800u32,
        prop::sample::select(vec!["stock", "queue", "driver", "nic", "codesign"]),
    )
        .prop_map(|t| Shape {
            seed: t.0,
            net_priority: t.1,
            rx_buffers: t.2,
            link_mbps: t.3,
            flood: t.4,
            flood_to: t.5,
            rate_pps: t.6,
            payload_bytes: t.7,
            reply_bytes: t.8,
            modbus_pps: t.9,
            variant: t.10,
        })
}

fn text(shape: &Shape) -> String {
    let payload = if shape.flood_to.starts_with("tcp") {
        String::new()
    } else {
        format!("payload_bytes = {}", shape.payload_bytes)
    };
    format!(
        "name = 'random'
        variants = ['{}']
        seed = {}
        duration_ms = 15
        warmup_ms = 3
        [device]
        net_priority = {}
        rx_buffers = {}
        link_mbps = {}
        [[task]]
        name = 'axis'
        priority = 6
        period_us = 1000
        work_us = 200
        [[task]]
        name = 'command'
        priority = 5
        listen = 'udp/5005'
        reply_bytes = {}
        [[task]]
        name = 'modbus'
        priority = 3
        listen = 'tcp/502'
        [[traffic]]
        name = 'flood'
        from = '10.0.0.9'
        pattern = '{}'
        to = '{}'
        rate_pps = {}
        {payload}
        [[traffic]]
        pattern = 'modbus'
        to = 'tcp/502'
        rate_pps = {}
        [[traffic]]
        pattern = 'icmp'
        rate_pps = 200
        [[traffic]]
        pattern = 'uniform'
        to = 'udp/5005'
        rate_pps = 300",
        shape.variant,
        shape.seed,
        shape.net_priority,
        shape.rx_buffers,
        shape.link_mbps,
        shape.reply_bytes,
        shape.flood,
        shape.flood_to,
        shape.rate_pps,
        shape.modbus_pps + 1,
    )
}

/// Fixed random scenarios: the same on every machine, others with another number.
#[test]
fn offered_is_delivered_dropped_or_in_flight_and_no_buffer_is_lost() {
    let config = Config { cases: 30, failure_persistence: None, max_shrink_iters: 8, ..Config::default() };
    let rng = TestRng::from_seed(config.rng_algorithm, &[7; 32]);
    TestRunner::new_with_rng(config, rng)
        .run(&shapes(), |shape| {
            let run = run(&text(&shape));
            for flow in &run.flows {
                prop_assert_eq!(flow.offered, flow.delivered + flow.dropped.total() + flow.in_flight, "{}", flow.name);
            }
            prop_assert_eq!(run.buffers.leaked, 0);
            let shares = run.cpu.isr + run.cpu.net + run.cpu.tasks + run.cpu.idle;
            prop_assert!((shares - 1.0).abs() < 1e-5, "{} of the CPU are accounted for", shares);
            let in_flight: u64 = run.flows.iter().map(|flow| flow.in_flight).sum();
            // Of the multiqueue NIC's buffers each holds many of the shortest frames.
            let room = if shape.variant == "nic" || shape.variant == "codesign" { 8192 / 112 } else { 1 };
            prop_assert!(in_flight <= room * run.buffers.pool + 4 * 1024 / 60, "{} in flight", in_flight);
            Ok(())
        })
        .unwrap_or_else(|failure| panic!("{failure}"));
}
