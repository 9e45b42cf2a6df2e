// SPDX-License-Identifier: Apache-2.0
//! How far the platform `model` may be from `soc`, on scenarios that come with weir.

use std::path::Path;

use weir::model::{self, Calibration};
use weir::results::Run;
use weir::scenario::{self, Overrides, Scenario};

use super::{WORKSHOP, try_run};

/// Both platforms on each of the scenario's variants.
fn both(file: &str, set: &[&str]) -> Vec<(Run, Run)> {
    let root = WORKSHOP.lock().unwrap_or_else(std::sync::PoisonError::into_inner).root().to_path_buf();
    let set = set.iter().map(|text| (*text).to_string()).collect();
    let overrides = Overrides { set, ..Overrides::default() };
    let cases = scenario::load(&root.join(Path::new(file)), &overrides).unwrap_or_else(|errors| panic!("{errors}"));
    let calibration = Calibration::shipped().expect("the calibration that comes with weir");
    let mut runs = Vec::new();
    for case in cases {
        for variant in case.scenario.variants.clone() {
            let scenario = Scenario { variants: vec![variant], ..case.scenario.clone() };
            let soc = try_run(&scenario).unwrap_or_else(|error| panic!("{error}"));
            let runner = model::Runner::new(variant, &calibration, false);
            let model = runner.run(&scenario, &mut |_| {}).unwrap_or_else(|error| panic!("{error}"));
            runs.push((soc.run, model.run));
        }
    }
    runs
}

fn delivered(run: &Run) -> f64 {
    run.flows.iter().filter(|flow| flow.name != "background").map(|flow| flow.delivered).sum::<u64>() as f64
}

fn offered(run: &Run) -> u64 {
    run.flows.iter().map(|flow| flow.offered).sum()
}

/// Within a share of the true figure, or a few.
fn near(what: &str, soc: f64, model: f64, share: f64, few: f64, variant: &str) {
    let bound = (soc * share).max(few);
    assert!((soc - model).abs() <= bound, "{variant}: {what}: soc {soc}, model {model}, at most {bound:.1} apart");
}

fn hold(runs: &[(Run, Run)]) {
    for (soc, model) in runs {
        let variant = &soc.variant;
        // The same frames at the same time: nothing of the wire is modelled.
        assert_eq!(offered(soc), offered(model), "{variant}");
        near("interrupts", soc.interrupts.count as f64, model.interrupts.count as f64, INTERRUPTS, 5.0, variant);
        near("delivered", delivered(soc), delivered(model), DELIVERED, 3.0, variant);
        near("share of the handlers", soc.cpu.isr, model.cpu.isr, ISR_SHARE, 0.005, variant);
        for (truth, modelled) in soc.tasks.iter().zip(&model.tasks) {
            assert_eq!(truth.missed > 0, modelled.missed > 0, "{variant}: deadlines of {}", truth.name);
        }
    }
}

/// Bounds: docs/reference/model.md.
const INTERRUPTS: f64 = 0.15;
const DELIVERED: f64 = 0.20;
const ISR_SHARE: f64 = 0.60;

#[test]
fn a_flood_for_nobody() {
    hold(&both("scenarios/codesign/nobodys.toml", &["duration_ms=30", "traffic.flood.rate_pps=[0, 15000]"]));
}

#[test]
fn a_flood_for_a_lower_task() {
    hold(&both("scenarios/codesign/lower-task.toml", &["duration_ms=30", "traffic.flood.rate_pps=15000"]));
}

#[test]
fn moderated_queues() {
    hold(&both(
        "scenarios/thesis-6/flood.toml",
        &["duration_ms=40", "nic.absolute_timer_us=3200", "traffic.flood.rate_pps=5000"],
    ));
}

#[test]
fn a_datagram_at_a_time() {
    hold(&both("scenarios/stock-path.toml", &["duration_ms=40", "device.link_order=0"]));
}
