// SPDX-License-Identifier: Apache-2.0
//! The `weir-edge` command.

use std::path::PathBuf;

use weir_edge::sim::{
    results::{Results, quantile},
    scenario, world,
};

fn main() {
    let path = PathBuf::from(std::env::args().nth(1).unwrap());
    for (row, scenario) in scenario::read(&path).unwrap_or_else(|e| {
        eprintln!("{e}");
        std::process::exit(2)
    }) {
        let began = std::time::Instant::now();
        let mut sum = Results::default();
        for seed in 1..=scenario.seeds {
            sum.add(world::run(&scenario, seed));
        }
        println!(
            "{row:?} sub {} acc {:.3} kept {:.4} succ {:.3} late {} lost {} back {} rej {:?} placing p50 {:.0} p99 {:.0} max {:.0} us noticed {:?} back {:?} msgs {:.1} {:.0} B/s taken {} retried {} mem {} {:.1}s",
            sum.submitted,
            sum.accepted as f64 / sum.submitted as f64,
            sum.kept(),
            sum.success(),
            sum.late,
            sum.lost,
            sum.given_back,
            sum.rejected,
            quantile(&sum.placing_us, 0.5),
            quantile(&sum.placing_us, 0.99),
            quantile(&sum.placing_us, 1.0),
            sum.noticed_ms,
            sum.back_ms,
            sum.wire_messages,
            sum.wire_bytes,
            sum.taken_over,
            sum.retried,
            sum.tasks_remembered_max,
            began.elapsed().as_secs_f32()
        );
        for w in sum.wrong.iter().take(5) {
            println!("   WRONG {w}");
        }
    }
}
