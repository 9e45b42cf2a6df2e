// SPDX-License-Identifier: Apache-2.0
//! Valid scenarios come out with their values, and with the documented defaults.

use std::net::Ipv4Addr;

use weir::scenario::{
    CaptureTcp, Cpu, Limit, Listen, Pattern, Protocol, Server, ServerKind, Target, TaskKind, Variant, Work,
};

use crate::common::{TASKS, scenario};

#[test]
fn a_name_is_enough() {
    let scenario = scenario("name = 'x'");
    assert_eq!((scenario.name.as_str(), scenario.seed, scenario.duration_ms, scenario.warmup_ms), ("x", 1, 200, 20));
    assert_eq!(scenario.variants, [Variant::Stock]);
    let device = scenario.device;
    assert_eq!(device.cpu, Cpu::Imac);
    assert_eq!((device.cpu_mhz, device.link_mbps, device.rx_buffers, device.net_priority), (100, 100, 64, 7));
    assert_eq!((device.address, device.prefix), (Ipv4Addr::new(10, 0, 0, 1), 24));
    assert_eq!((device.tick_us, device.trace, device.link_order), (1000, true, 0));
    assert!(!device.eager_invalidation && scenario.limit.is_none());
    assert!(scenario.tasks.is_empty() && scenario.traffic.is_empty());
}

#[test]
fn tasks_of_all_kinds() {
    let tasks = scenario(TASKS).tasks;
    assert!(matches!(tasks[0].kind, TaskKind::Periodic { period_us: 1000, deadline_us: 1000 }));
    assert!(matches!(tasks[0].work, Work::Synthetic { us } if us == 300.0));
    assert_eq!(tasks[0].stack_bytes, 2048);
    assert!(matches!(tasks[1].kind, TaskKind::Background));
    let TaskKind::Receiving { listen, deadline_us, reply_bytes, flow } = &tasks[2].kind else { panic!("receiving") };
    assert_eq!(*listen, Listen { protocol: Protocol::Udp, port: 5005 });
    assert_eq!((*deadline_us, *reply_bytes, flow.from), (None, 4, None));
    assert!(matches!(tasks[2].work, Work::Synthetic { us: 0.0 }));
}

#[test]
fn a_contract_and_the_overall_limit_are_kept() {
    let text = "name = 'x'\n[[task]]\nname = 'a'\npriority = 1\nlisten = 'udp/7'\nbinomial = [20, 10]\n[task.flow]\n\
                capacity = 2\nperiod_us = 1000\nserver = 'sporadic'\nfrom = '10.0.0.9'\npriority = 3\n\
                packet_timer_us = 10\nqueue_bytes = 2048\n\
                [nic]\nqueues = 8\nabsolute_timer_us = 20\n[limit]\ncapacity = 7\nperiod_us = 1000\n";
    let scenario = scenario(text);
    let TaskKind::Receiving { flow, .. } = &scenario.tasks[0].kind else { panic!("receiving") };
    assert_eq!(flow.from, Some(Ipv4Addr::new(10, 0, 0, 9)));
    assert_eq!(flow.priority, Some(3));
    assert!(matches!(flow.server, Some(Server { kind: ServerKind::Sporadic, capacity: 2, period_us: 1000 })));
    let queue = scenario.nic.queue.with(&flow.queue);
    let all = (queue.packet_timer_us, queue.absolute_timer_us, queue.frames, queue.bytes);
    assert_eq!((all, scenario.nic.queue.bytes, scenario.nic.periodic), ((10, 20, 0, 2048), 4096, false));
    assert!(matches!(scenario.limit, Some(Limit { capacity: 7, period_us: 1000 })));
    assert!(matches!(scenario.tasks[0].work, Work::Binomial { n: 20, k: 10 }));
}

#[test]
fn without_a_contract_nothing_is_limited() {
    let text = "name = 'x'\nvariants = ['driver', 'stock']\n[device]\neager_invalidation = true\n\
                [[task]]\nname = 'a'\npriority = 1\nlisten = 'udp/7'\n[limit]\n";
    let scenario = scenario(text);
    let TaskKind::Receiving { flow, .. } = &scenario.tasks[0].kind else { panic!("receiving") };
    assert!(flow.server.is_none() && flow.priority.is_none() && flow.from.is_none() && scenario.limit.is_none());
    assert_eq!(scenario.variants, [Variant::Driver, Variant::Stock]);
    assert!(scenario.device.eager_invalidation);
}

#[test]
fn a_server_is_deferrable_unless_it_says_otherwise() {
    let text = "name = 'x'\n[[task]]\nname = 'a'\npriority = 1\nlisten = 'udp/7'\n[task.flow]\n\
                capacity = 500\nperiod_us = 1000\n";
    let tasks = scenario(text).tasks;
    let TaskKind::Receiving { flow, .. } = &tasks[0].kind else { panic!("receiving") };
    assert!(matches!(flow.server, Some(Server { kind: ServerKind::Deferrable, capacity: 500, period_us: 1000 })));
}

#[test]
fn traffic_of_all_patterns() {
    let traffic = |keys: &str| scenario(&format!("{TASKS}[[traffic]]\n{keys}")).traffic.remove(0);
    let udp = "to = 'udp/9'\n";
    let one = traffic(&format!("pattern = 'uniform'\nrate_pps = 500\n{udp}"));
    assert_eq!((one.name.as_str(), one.from, one.payload_bytes), ("uniform", Ipv4Addr::new(10, 0, 0, 2), 32));
    assert_eq!((one.start_ms, one.stop_ms), (0.0, None));
    assert_eq!(one.to, Target::Port(Listen { protocol: Protocol::Udp, port: 9 }));
    assert!(matches!(one.pattern, Pattern::Uniform { rate_pps: 500.0 }));
    let one = traffic("pattern = 'poisson'\nrate_pps = 0\nto = 'broadcast/67'");
    assert!(matches!((one.pattern, one.to), (Pattern::Poisson { rate_pps: 0.0 }, Target::Broadcast(67))));
    let one = traffic(&format!("pattern = 'burst'\nrate_pps = 1\nstart_ms = 5\nstop_ms = 9.5\n{udp}"));
    assert!(matches!(one.pattern, Pattern::Burst { rate_pps: 1.0, burst_ms: 10.0, every_ms: 100.0 }));
    assert_eq!((one.start_ms, one.stop_ms), (5.0, Some(9.5)));
    let one = traffic(&format!("pattern = 'pyramid'\nrate_pps = 9\n{udp}"));
    assert!(matches!(one.pattern, Pattern::Pyramid { rate_pps: 9.0, steps: 10 }));
    let one = traffic("pattern = 'line-rate'\nto = 'tcp/80'");
    assert!(matches!((one.pattern, one.payload_bytes), (Pattern::LineRate, 0)));
    let one = traffic("pattern = 'pcap'\nfile = 'plant.pcap'\nto = 'device'\nspeed = 2\ntcp = 'frames'");
    assert!(matches!(one.pattern, Pattern::Pcap { speed: 2.0, tcp: CaptureTcp::Frames, .. }));
    let one = traffic("pattern = 'modbus'\nto = 'tcp/502'\nfrom = '10.0.0.77'");
    assert!(matches!(one.pattern, Pattern::Modbus { rate_pps: 50.0, registers: 10 }));
    assert_eq!(one.from, Ipv4Addr::new(10, 0, 0, 77));
    let one = traffic("pattern = 'request'\nrate_pps = 5\nto = 'udp/5005'");
    assert!(matches!(one.pattern, Pattern::Request { rate_pps: 5.0, timeout_ms: 100.0 }));
    let one = traffic("pattern = 'arp'\nrate_pps = 5");
    assert!(matches!((one.pattern, one.to), (Pattern::Arp { rate_pps: 5.0 }, Target::Device)));
    let one = traffic("pattern = 'icmp'\nrate_pps = 5\npayload_bytes = 1472");
    assert!(matches!((one.pattern, one.payload_bytes), (Pattern::Icmp { rate_pps: 5.0 }, 1472)));
}

#[test]
fn nameless_traffic_is_called_after_its_pattern_and_numbered_if_it_is_not_alone() {
    let arp = "[[traffic]]\npattern = 'arp'\nrate_pps = 1\n";
    let icmp = "[[traffic]]\npattern = 'icmp'\nrate_pps = 1\n";
    let names = |text: String| -> Vec<String> {
        scenario(&format!("name = 'x'\n{text}")).traffic.into_iter().map(|one| one.name).collect()
    };
    assert_eq!(names(format!("{arp}{icmp}{arp}")), ["arp-1", "icmp", "arp-2"]);
    assert_eq!(names(format!("{arp}{icmp}name = 'arp'\n{arp}name = 'arp-1'\n")), ["arp-2", "arp", "arp-1"]);
}

#[test]
fn senders_stay_in_the_devices_network() {
    let from = |address: &str| {
        let text = format!("name = 'x'\n[device]\naddress = '{address}'\n[[traffic]]\npattern = 'arp'\nrate_pps = 1");
        scenario(&text).traffic[0].from
    };
    assert_eq!(from("10.0.0.1/24"), Ipv4Addr::new(10, 0, 0, 2));
    assert_eq!(from("10.0.0.2/24"), Ipv4Addr::new(10, 0, 0, 1));
    assert_eq!(from("192.168.1.1/24"), Ipv4Addr::new(192, 168, 1, 2));
    assert_eq!(from("192.168.1.77/30"), Ipv4Addr::new(192, 168, 1, 78));
}

#[test]
fn loads_up_to_the_link_are_accepted() {
    scenario("name = 'x'\n[[traffic]]\npattern = 'arp'\nrate_pps = 148809");
    scenario("name = 'x'\n[device]\nlink_mbps = 1000\n[[traffic]]\npattern = 'arp'\nrate_pps = 1488095");
    // Not at the same time.
    scenario(
        "name = 'x'\n[[traffic]]\npattern = 'arp'\nrate_pps = 100000\nstop_ms = 50\n\
         [[traffic]]\npattern = 'arp'\nrate_pps = 100000\nstart_ms = 50",
    );
    // A line rate takes what is left.
    scenario(
        "name = 'x'\n[[traffic]]\npattern = 'arp'\nrate_pps = 148809\n[[traffic]]\npattern = 'line-rate'\nto = 'udp/9'",
    );
}
