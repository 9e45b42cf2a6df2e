// SPDX-License-Identifier: Apache-2.0
//! Exact and repeatable.

use std::process::Command;
use std::{env, fs};

use weir::soc::{Image, Outcome};
use weir::workshop::Workshop;

use super::{CPUS, folder, outcome, run, runner, scenario_of};

/// Every way in which the outside acts on the device: ticks, sub-millisecond releases, UDP in and out, live TCP, ARP.
const BUSY: &str = "name = 'busy'
duration_ms = 12
warmup_ms = 2
[[task]]
name = 'axis'
priority = 9
period_us = 1000
work_us = 100
[[task]]
name = 'fast'
priority = 10
period_us = 250
work_us = 20
[[task]]
name = 'command'
priority = 5
listen = 'udp/5005'
reply_bytes = 100
[[task]]
name = 'modbus'
priority = 4
listen = 'tcp/502'
[[traffic]]
pattern = 'request'
to = 'udp/5005'
rate_pps = 1000
[[traffic]]
pattern = 'modbus'
to = 'tcp/502'
rate_pps = 500
[[traffic]]
pattern = 'poisson'
to = 'udp/9'
rate_pps = 800
[[traffic]]
pattern = 'icmp'
rate_pps = 300
";

fn with_shortcuts(text: &str, shortcuts: bool) -> Outcome {
    let scenario = scenario_of(text);
    let mut runner = runner(&scenario).unwrap_or_else(|error| panic!("{error}"));
    runner.shortcuts = shortcuts;
    runner.run(&scenario, &mut |_| {}).unwrap_or_else(|error| panic!("{error}"))
}

/// Skipped idle time and spared evaluations change nothing: every instruction retires in the same cycle.
#[test]
fn shortcuts_change_no_cycle_and_no_instruction() {
    for cpu in CPUS {
        let text = format!("{BUSY}\n[device]\ncpu = '{}'\n", if cpu == CPUS[0] { "imac" } else { "full" });
        let (fast, full) = (with_shortcuts(&text, true), with_shortcuts(&text, false));
        assert_eq!(fast.hash, full.hash, "{cpu:?}");
        assert_eq!(fast.cycles, full.cycles);
        assert_eq!(full.simulated_cycles, full.cycles);
        assert!(fast.simulated_cycles < full.simulated_cycles, "idle time is skipped");
        assert_eq!(serde_json::to_string(&fast.run).unwrap(), serde_json::to_string(&full.run).unwrap());
    }
}

/// The same with timers in the NIC that expire while the device sleeps.
#[test]
fn shortcuts_change_nothing_with_the_multiqueue_nic() {
    let moderated = "[nic]\npacket_timer_us = 150\nabsolute_timer_us = 400\n";
    let periodic = "[nic]\nabsolute_timer_us = 300\nabsolute_mode = 'periodic'\nframes = 3\n";
    for (variant, nic) in [("codesign", ""), ("codesign", moderated), ("nic", moderated), ("nic", periodic)] {
        let text = BUSY.replace("name = 'busy'", &format!("name = 'busy'\nvariants = ['{variant}']"));
        let text = format!("{text}{nic}");
        let (fast, full) = (with_shortcuts(&text, true), with_shortcuts(&text, false));
        assert_eq!(fast.hash, full.hash, "{variant} {nic}");
        assert!(fast.simulated_cycles < full.simulated_cycles, "idle time is skipped");
        assert_eq!(serde_json::to_string(&fast.run).unwrap(), serde_json::to_string(&full.run).unwrap());
    }
}

#[test]
fn a_quiet_device_is_almost_all_skipped() {
    let quiet = outcome(
        "name = 'quiet'
        duration_ms = 200
        [[task]]
        name = 'slow'
        priority = 3
        period_us = 10000
        work_us = 100
        [[task]]
        name = 'command'
        priority = 5
        listen = 'udp/5005'
        [[traffic]]
        pattern = 'uniform'
        to = 'udp/5005'
        rate_pps = 60",
    );
    assert!(quiet.simulated_cycles * 12 < quiet.cycles, "{} of {}", quiet.simulated_cycles, quiet.cycles);
}

#[test]
fn another_seed_gives_another_run_and_the_same_seed_the_same() {
    let one = outcome(BUSY);
    assert_eq!(one.hash, outcome(BUSY).hash);
    assert_ne!(one.hash, outcome(&format!("seed = 2\n{BUSY}")).hash);
}

#[test]
fn results_are_the_same_bytes_whatever_the_folder_and_the_number_of_jobs() {
    let mut bytes = Vec::new();
    for jobs in ["1", "2"] {
        let folder = folder();
        let file = folder.path().join(format!("scenario{jobs}.toml"));
        fs::write(&file, format!("{BUSY}\n[[traffic]]\nname = 'x'\npattern = 'arp'\nrate_pps = [0, 100]\n")).unwrap();
        let out = folder.path().join("out");
        let weir = env!("CARGO_BIN_EXE_weir");
        let status =
            Command::new(weir).arg("run").arg(&file).args(["--jobs", jobs, "--out"]).arg(&out).output().unwrap();
        assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stderr));
        bytes.push((fs::read(out.join("results.json")).unwrap(), fs::read(out.join("report.html")).unwrap()));
    }
    assert_eq!(bytes[0].0, bytes[1].0);
    assert_eq!(bytes[0].1, bytes[1].1);
}

/// The observer's own events cost less than 1 % of the figure that does without them.
#[test]
fn the_trace_port_costs_less_than_a_percent() {
    let loops = |trace: bool| {
        run(&format!(
            "name = 'x'
            duration_ms = 40
            [device]
            trace = {trace}
            [[task]]
            name = 'worker'
            priority = 1
            background = true
            [[task]]
            name = 'command'
            priority = 5
            listen = 'udp/5005'
            [[traffic]]
            pattern = 'poisson'
            to = 'udp/5005'
            rate_pps = 3000"
        ))
        .tasks[0]
            .loops as f64
    };
    let (with, without) = (loops(true), loops(false));
    assert!((without - with).abs() / without < 0.01, "{with} loops with the trace port, {without} without");
}

/// The same sources in another folder give the same image.
#[test]
fn two_builds_of_one_source_give_one_image() {
    let scenario = scenario_of("name = 'x'\n[[task]]\nname = 'a'\npriority = 1\nbackground = true\n");
    let here = runner(&scenario).unwrap_or_else(|error| panic!("{error}")).image;
    let elsewhere = folder();
    let root = super::WORKSHOP.lock().unwrap_or_else(std::sync::PoisonError::into_inner).root().to_path_buf();
    // The packages are there for cargo to read: it says where the C sources of the kernel and the stack are.
    let workspace: toml::Table = std::fs::read_to_string(root.join("Cargo.toml")).unwrap().parse().unwrap();
    let packages = workspace["workspace"]["members"].as_array().unwrap().iter().map(|member| member.as_str().unwrap());
    for part in ["device", "soc", "Cargo.toml", "Cargo.lock"].into_iter().chain(packages) {
        let status = Command::new("cp").arg("-r").arg(root.join(part)).arg(elsewhere.path()).status().unwrap();
        assert!(status.success());
    }
    let there = Workshop::at(elsewhere.path()).firmware(&scenario).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(here.segments, Image::open(&there).unwrap().segments);
}
