// SPDX-License-Identifier: Apache-2.0
//! What users rely on of the simulated device. Cycle counts are exact, so tests assert them; wall-clock times never.

mod captures;
mod codesign;
mod command;
mod conservation;
mod exactness;
mod faults;
mod library;
mod model;
mod nic_rules;
mod opponents;
mod overload;
mod tasks;
#[path = "../traffic_common/mod.rs"]
mod traffic_common;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};

use weir::results::{FlowResult, Run};
use weir::scenario::{self, Case, Cpu, Overrides, Scenario};
use weir::soc::{Image, Outcome, RunError, Runner};
use weir::workshop::{BuildError, Workshop};

/// Builds go one after the other, so that the first test makes what all need.
static WORKSHOP: LazyLock<Mutex<Workshop>> =
    LazyLock::new(|| Mutex::new(Workshop::find().expect("tests run in the project's folder")));

/// A folder for a test's files.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder for temporary files")
}

/// The checked cases of a scenario given as text.
fn cases_in(folder: &Path, text: &str) -> Vec<Case> {
    let path = folder.join("test.toml");
    fs::write(&path, text).expect("the folder is writable");
    scenario::load(&path, &Overrides::default()).unwrap_or_else(|errors| panic!("{errors}"))
}

fn scenario_of(text: &str) -> Scenario {
    cases_in(folder().path(), text).remove(0).scenario
}

fn runner(scenario: &Scenario) -> Result<Runner, BuildError> {
    let workshop = WORKSHOP.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let library = weir::soc::open_library(&workshop.device(scenario.device.cpu, scenario.variants[0])?)
        .map_err(BuildError::Failed)?;
    let image = Image::open(&workshop.firmware(scenario)?).map_err(BuildError::Failed)?;
    Ok(Runner { variant: scenario.variants[0], library, image, shortcuts: true, record: false })
}

fn try_run(scenario: &Scenario) -> Result<Outcome, RunError> {
    runner(scenario).unwrap_or_else(|error| panic!("{error}")).run(scenario, &mut |_| {})
}

fn outcome(text: &str) -> Outcome {
    try_run(&scenario_of(text)).unwrap_or_else(|error| panic!("{error}"))
}

/// The flow of this name.
fn flow<'a>(run: &'a Run, name: &str) -> &'a FlowResult {
    run.flows.iter().find(|flow| flow.name == name).unwrap()
}

/// What a critical task is sent, more often than it needs.
const COMMANDS: &str = "
    [[traffic]]
    pattern = 'uniform'
    to = 'udp/5005'
    from = '10.0.0.2'
    rate_pps = 1000
";

fn run(text: &str) -> Run {
    outcome(text).run
}

/// The folder of captures that comes with a developer's checkout; `None`, and a word, where it is absent.
fn shared_captures() -> Option<PathBuf> {
    let root = WORKSHOP.lock().unwrap_or_else(std::sync::PoisonError::into_inner).root().to_path_buf();
    let folder = root.join("../shared/reference/pcap/ics");
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("SKIPPED: the captures of ../shared/reference/pcap/ics are not here");
    None
}

/// What both CPUs have in common.
const CPUS: [Cpu; 2] = [Cpu::Imac, Cpu::Full];
