// SPDX-License-Identifier: Apache-2.0
//! A day of virtual time: without growth, without drift.
//!
//! At 10 ms; `WEIR_ENDURANCE_CYCLE_MS=1 cargo test --release -p weir-io --test cclink endurance` for another cycle.

use std::process::Command;

use weir_io::protocol::cclink::master::Scan;

use super::network::{MS, plant};

const DAY_MS: u64 = 24 * 3600 * 1000;

/// Pages of this process in memory.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse().unwrap()
}

/// In a process of its own, whose memory other tests do not share.
#[test]
fn endurance_of_a_day() {
    let arguments = ["--exact", "endurance::a_day_alone", "--ignored", "--nocapture"];
    let status = Command::new(std::env::current_exe().unwrap()).args(arguments).status().unwrap();
    assert!(status.success());
}

#[test]
#[ignore = "endurance_of_a_day runs it"]
fn a_day_alone() {
    let text = std::env::var("WEIR_ENDURANCE_CYCLE_MS").ok();
    let cycle: u16 = text.map_or(10, |text| text.parse().expect("WEIR_ENDURANCE_CYCLE_MS is a number"));
    let mut plant = plant(&[&[1, 2]], Scan::Constant(cycle), |_| {});
    plant.network.forget();
    plant.start();
    plant.network.told();
    plant.network.run(60_000 * MS);
    let (before, pages) = (plant.report(), resident());
    plant.network.run(DAY_MS * MS);
    let (after, now) = (plant.report(), resident());
    let cycles = after.cycles[0].count - before.cycles[0].count;
    println!("{cycles} cycles of {cycle} ms; {pages} pages before, {now} after");
    assert_eq!(cycles, DAY_MS / u64::from(cycle));
    let exactly = u64::from(cycle) * MS;
    assert_eq!((after.cycles[0].min, after.cycles[0].max), (exactly, exactly));
    for slave in &after.slaves {
        assert!(slave.connected && (slave.missed, slave.lost) == (0, 0));
        assert_eq!(slave.response.min, slave.response.max);
    }
    assert!(plant.network.told().is_empty());
    // A byte a cycle would be 8 MB.
    assert!(now.saturating_sub(pages) * 4096 < 1_000_000, "{pages} pages, then {now}");
}
