// SPDX-License-Identifier: Apache-2.0
//! Results and a timeline such as a run gives, made up without a device.
#![allow(dead_code)]

use std::collections::BTreeMap;

use weir::results::{
    Buffers, CpuShares, CycleQuantiles, Dropped, FlowResult, Interrupts, Lateness, LibraryResult, PathResult,
    PeerResult, Preempted, Quantiles, Results, Run, TaskResult,
};

pub mod device;

/// The loads of [`sweep`], in pps.
pub const LOADS: [f64; 6] = [0.0, 1_000.0, 5_000.0, 10_000.0, 15_000.0, 20_000.0];

/// Three variants under six loads: `stock` starves, `driver` misses a little, `codesign` keeps everything.
pub fn sweep() -> Results {
    let variants = ["stock", "driver", "codesign"];
    let runs = variants.iter().flat_map(|variant| LOADS.iter().map(|load| run(variant, Some(*load))));
    results("conveyor under flood", runs.collect())
}

/// One run without a swept key.
pub fn single() -> Results {
    results("one conveyor", vec![run("stock", None)])
}

/// No runs.
pub fn empty() -> Results {
    results("nothing", Vec::new())
}

/// Two swept keys.
pub fn two_keys() -> Results {
    let mut runs = Vec::new();
    for variant in ["stock", "codesign"] {
        for priority in [4.0, 7.0] {
            for load in LOADS {
                let mut run = run(variant, Some(load));
                run.loads.insert("device.net_priority".into(), priority);
                runs.push(run);
            }
        }
    }
    results("conveyor, flood and priority", runs)
}

/// A head around `runs`.
pub fn results(scenario: &str, runs: Vec<Run>) -> Results {
    Results {
        weir: "0.1.0".into(),
        scenario: scenario.into(),
        seed: 1,
        platform: "soc".into(),
        cpu_hz: 100_000_000,
        runs,
    }
}

/// One run; without a load as under 5,000 pps.
pub fn run(variant: &str, load: Option<f64>) -> Run {
    let pps = load.unwrap_or(5_000.0);
    let strength = match variant {
        "stock" => 1.0,
        "driver" => 0.35,
        _ => 0.02,
    };
    let pressure = pps * strength / 15_000.0;
    let isr = (0.03 + 0.3 * pressure).min(0.45);
    let net = (0.02 + 0.65 * pressure).min(0.97 - isr);
    let tasks = (1.0 - isr - net).min(0.42);
    Run {
        variant: variant.into(),
        loads: load.map(|load| ("flood".to_string(), load)).into_iter().collect::<BTreeMap<_, _>>(),
        tasks: vec![
            deadline_task("axis", 200, 1_000.0, 310.0, pressure),
            deadline_task("command", 100, 2_000.0, 140.0, pressure * 0.9),
            background_task("worker", tasks),
        ],
        flows: vec![command_flow(pressure), background_flow(pps, pressure)],
        peers: vec![master(pressure), replay(pressure)],
        interrupts: Interrupts {
            count: 200 + (pps * 0.2 * strength.max(0.1)) as u64,
            nic: (pps * 0.2 * strength.max(0.1)) as u64,
            cycles_total: (isr * 20e6) as u64,
            cycles_max: 912,
            off_cycles_max: 1_310,
        },
        cpu: CpuShares { isr, net, tasks, idle: 1.0 - isr - net - tasks },
        buffers: Buffers { pool: 64, free_at_end: 64 - (pressure * 20.0).min(60.0) as u64, leaked: 0 },
        paths: vec![
            path(&format!("{variant}/isr"), 480, 912),
            path(&format!("{variant}/driver"), 1_900, 3_420),
            path(&format!("{variant}/stack"), 4_210, 7_030),
        ],
        library: (variant == "driver").then_some(LibraryResult { priority_inversion_cycles_max: 9_876 }),
    }
}

fn deadline_task(name: &str, jobs: u64, deadline: f64, base: f64, pressure: f64) -> TaskResult {
    let starved = pressure >= 1.0;
    let missed = if starved { jobs } else { (jobs as f64 * (pressure - 0.6).max(0.0) * 0.9) as u64 };
    let worst = if missed > 0 { deadline * (1.0 + pressure) } else { base + (deadline - base) * pressure * 1.3 };
    let middle = base * (1.0 + pressure);
    let response = Quantiles {
        min: base,
        p50: middle,
        p90: middle + (worst - middle) * 0.3,
        p99: middle + (worst - middle) * 0.8,
        p999: middle + (worst - middle) * 0.97,
        max: worst,
    };
    let late = if starved { 170_000.0 } else { worst - deadline };
    TaskResult {
        name: name.into(),
        jobs,
        missed,
        response_us: (!starved).then_some(response),
        lateness_us: Lateness { max: Some(late), accumulated_per_s: late.max(0.0) * missed as f64 },
        cycles: if starved { 0 } else { jobs * 30_000 },
        loops: 0,
        preempted_cycles: Preempted { isr: (pressure * 2e6) as u64, net: (pressure * 8e6) as u64 },
    }
}

fn background_task(name: &str, share: f64) -> TaskResult {
    TaskResult {
        name: name.into(),
        jobs: 0,
        missed: 0,
        response_us: None,
        lateness_us: Lateness { max: None, accumulated_per_s: 0.0 },
        cycles: (share * 2e7) as u64,
        loops: ((share - 0.3).max(0.0) * 1e6) as u64,
        preempted_cycles: Preempted { isr: 0, net: 0 },
    }
}

fn command_flow(pressure: f64) -> FlowResult {
    let starved = pressure >= 1.0;
    let lost = if starved { 97 } else { (pressure * 40.0) as u64 };
    let full = lost * 2 / 3;
    let in_flight = if starved { 3 } else { 0 };
    let q = Quantiles { min: 90.0, p50: 140.0, p90: 200.0, p99: 420.0, p999: 600.0, max: 700.0 };
    FlowResult {
        name: "command".into(),
        r#match: "udp/5005 from 10.0.0.2".into(),
        offered: 100,
        delivered: 100 - lost - in_flight,
        dropped: Dropped { nic_full: full, socket: lost - full, ..Dropped::default() },
        in_flight,
        latency_us: (!starved).then_some(q),
    }
}

/// A Modbus master that asks 50 times.
fn master(pressure: f64) -> PeerResult {
    let answered = (50.0 * (1.3 - pressure).clamp(0.0, 1.0)) as u64;
    let q = Quantiles { min: 300.0, p50: 410.0, p90: 600.0, p99: 900.0, p999: 1_100.0, max: 1_100.0 };
    let failed = if pressure > 0.5 { (50 - answered) / 2 } else { 0 };
    PeerResult { name: "panel".into(), sent: 50, answered, failed, round_trip_us: (answered > 0).then_some(q) }
}

/// Three replayed conversations.
fn replay(pressure: f64) -> PeerResult {
    let answered = if pressure < 0.9 { 3 } else { 0 };
    PeerResult { name: "plant".into(), sent: 67, answered, failed: 0, round_trip_us: None }
}

fn background_flow(pps: f64, pressure: f64) -> FlowResult {
    let offered = (pps * 0.2) as u64 + 12;
    let in_flight = (pressure * 10.0).min(offered as f64) as u64;
    let stack = ((offered - in_flight) as f64 * (1.0 - pressure.min(0.8))) as u64;
    let delivered = 6.min(offered - in_flight - stack);
    let rest = offered - in_flight - stack - delivered;
    FlowResult {
        name: "background".into(),
        r#match: "everything else".into(),
        offered,
        delivered,
        dropped: Dropped { stack, nic_full: rest / 2, nic_filter: rest - rest / 2, ..Dropped::default() },
        in_flight,
        latency_us: None,
    }
}

fn path(name: &str, p50: u64, max: u64) -> PathResult {
    PathResult {
        name: name.into(),
        count: 4_321,
        cycles: CycleQuantiles { min: p50 / 2, p50, p90: p50, p99: (p50 + max) / 2, p999: max, p9999: max, max },
    }
}
