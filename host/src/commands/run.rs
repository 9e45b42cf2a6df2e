// SPDX-License-Identifier: Apache-2.0
//! `weir run`.

use std::collections::BTreeMap;
use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::arguments::{Failure, RunArguments, Verdict, say};
use super::{input, whole_file};
use crate::model::{self, Calibration};
use crate::report;
use crate::results::{Results, Run};
use crate::scenario::{Case, Scenario, Variant};
use crate::soc::{self, Image, Outcome, RunError, Runner};
use crate::timeline::Timeline;
use crate::workshop::{BuildError, Workshop};

/// The report's timeline shows this much of a run at most.
const TIMELINE_MS_MAX: u64 = 20;
const TIMELINE_SPANS_MAX: usize = 12_000;
const TABLE_WIDTH: usize = 118;

/// One variant under one load, and what it needs.
struct Planned {
    case: Case,
    variant: Variant,
    platform: Platform,
    trace: bool,
}

/// What makes the run.
enum Platform {
    Soc(Runner),
    Model(model::Runner),
}

impl Platform {
    fn run(&self, scenario: &Scenario, progress: &mut dyn FnMut(u64)) -> Result<Outcome, RunError> {
        match self {
            Platform::Soc(runner) => runner.run(scenario, progress),
            Platform::Model(runner) => runner.run(scenario, progress),
        }
    }
}

/// What is kept of a run.
struct Finished {
    run: Run,
    window: Timeline,
    trace: Option<Vec<u8>>,
}

/// Runs a scenario, writes and prints what came of it.
pub fn run(options: &RunArguments) -> Result<Verdict, Failure> {
    let checked = input::read(&options.file, &options.overrides)?;
    let scenario = checked.cases[0].scenario.clone();
    let on_model = options.overrides.platform.as_deref() == Some("model");
    let planned = match on_model {
        true => plan_model(checked.cases, options.trace)?,
        false => plan(checked.cases, options.trace)?,
    };
    let finished = execute(&planned, options.jobs.map_or_else(processors, usize::from))?;
    let results = Results {
        weir: env!("CARGO_PKG_VERSION").to_string(),
        scenario: scenario.name.clone(),
        seed: scenario.seed,
        platform: if on_model { "model" } else { "soc" }.to_string(),
        cpu_hz: u64::from(scenario.device.cpu_mhz) * 1_000_000,
        runs: finished.iter().map(|finished| finished.run.clone()).collect(),
    };
    let folder = options.out.clone().unwrap_or_else(|| default_folder(&options.file));
    let json = write(&folder, &results, finished)?;
    if options.json {
        say(&json);
    } else {
        let table = report::table(&results, TABLE_WIDTH, std::io::stdout().is_terminal());
        say(&format!("{table}\nReport: {}\n", folder.join("report.html").display()));
    }
    let violations: Vec<String> = options.require.iter().flat_map(|claim| claim.violations(&results)).collect();
    Ok(match violations.is_empty() {
        true => Verdict::Done,
        false => Verdict::BrokenClaim(format!("required and not so:\n  {}", violations.join("\n  "))),
    })
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

fn default_folder(file: &Path) -> PathBuf {
    Path::new("out").join(file.file_stem().unwrap_or_default())
}

/// Builds what is missing.
fn plan(cases: Vec<Case>, trace: bool) -> Result<Vec<Planned>, Failure> {
    let failure = |error: BuildError| match error {
        BuildError::Source(text) => Failure::Input(text),
        BuildError::Failed(text) => Failure::Run(text),
    };
    let workshop = Workshop::find().map_err(failure)?;
    let mut libraries = BTreeMap::new();
    let mut planned = Vec::new();
    for case in cases {
        let image = workshop.firmware(&case.scenario).map_err(failure)?;
        let image = Image::open(&image).map_err(Failure::Run)?;
        for variant in case.scenario.variants.clone() {
            let device = (case.scenario.device.cpu as u8, variant.uses_queues());
            let library = match libraries.get(&device) {
                Some(library) => Arc::clone(library),
                None => {
                    let path = workshop.device(case.scenario.device.cpu, variant).map_err(failure)?;
                    soc::open_library(&path).map_err(Failure::Run)?
                }
            };
            libraries.insert(device, Arc::clone(&library));
            let runner = Runner { variant, library, image: image.clone(), shortcuts: true, record: true };
            planned.push(Planned { case: case.clone(), variant, platform: Platform::Soc(runner), trace });
        }
    }
    Ok(planned)
}

/// Nothing to build, but for a look at whether the costs are this firmware's.
fn plan_model(cases: Vec<Case>, trace: bool) -> Result<Vec<Planned>, Failure> {
    let calibration = Calibration::shipped().map_err(Failure::Run)?;
    let mut planned = Vec::new();
    for case in cases {
        for variant in case.scenario.variants.clone() {
            if let Some(why) = model::refusal(&case.scenario, variant) {
                return Err(Failure::Input(format!("error: {why}")));
            }
            let platform = Platform::Model(model::Runner::new(variant, &calibration, true));
            planned.push(Planned { case: case.clone(), variant, platform, trace });
        }
    }
    for note in model::notes(&calibration, &planned[0].case.scenario) {
        eprintln!("note: {note}");
    }
    Ok(planned)
}

fn bar(planned: &[Planned]) -> ProgressBar {
    let all_ms: u64 = planned.iter().map(|planned| run_ms(&planned.case.scenario)).sum();
    let bar = ProgressBar::with_draw_target(Some(all_ms), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} ms simulated, {eta} left {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

fn run_ms(scenario: &Scenario) -> u64 {
    u64::from(scenario.warmup_ms) + u64::from(scenario.duration_ms)
}

/// Runs all, `jobs` at a time; the first failure ends it.
fn execute(planned: &[Planned], jobs: usize) -> Result<Vec<Finished>, Failure> {
    let bar = bar(planned);
    let next = AtomicUsize::new(0);
    let finished: Mutex<Vec<Option<Result<Finished, Failure>>>> = Mutex::new(planned.iter().map(|_| None).collect());
    thread::scope(|scope| {
        for _ in 0..jobs.min(planned.len()) {
            scope.spawn(|| {
                while let index = next.fetch_add(1, Ordering::Relaxed)
                    && let Some(one) = planned.get(index)
                {
                    let result = execute_one(one, &bar);
                    if result.is_err() {
                        next.store(planned.len(), Ordering::Relaxed);
                    }
                    finished.lock().expect("no thread panics with the lock")[index] = Some(result);
                }
            });
        }
    });
    bar.finish_and_clear();
    finished.into_inner().expect("no thread panics with the lock").into_iter().flatten().collect()
}

fn execute_one(planned: &Planned, bar: &ProgressBar) -> Result<Finished, Failure> {
    let mut reported = 0;
    let mut progress = |ms: u64| {
        bar.inc(ms.saturating_sub(reported));
        reported = ms;
    };
    let scenario = &planned.case.scenario;
    let outcome = planned.platform.run(scenario, &mut progress).map_err(|error| describe(planned, &error))?;
    bar.inc(run_ms(scenario).saturating_sub(reported));
    Ok(keep(planned, outcome))
}

fn describe(planned: &Planned, error: &RunError) -> Failure {
    let loads: Vec<String> = planned.case.loads.iter().map(|(name, value)| format!(" {name}={value}")).collect();
    Failure::Run(format!("{}{}: {error}", planned.variant.name(), loads.concat()))
}

fn keep(planned: &Planned, outcome: Outcome) -> Finished {
    let mut run = outcome.run;
    run.variant = planned.variant.name().to_string();
    run.loads = planned.case.loads.clone();
    let timeline = outcome.timeline.unwrap_or_default();
    let trace = planned.trace.then(|| report::perfetto(&timeline));
    let window = timeline.interesting(TIMELINE_MS_MAX, TIMELINE_SPANS_MAX);
    Finished { run, window, trace }
}

/// Writes all files, each under another name first, so that a reader finds whole files or none.
fn write(folder: &Path, results: &Results, finished: Vec<Finished>) -> Result<String, Failure> {
    let failure = |path: &Path, error: std::io::Error| Failure::Run(format!("{}: {error}", path.display()));
    fs::create_dir_all(folder).map_err(|error| failure(folder, error))?;
    let json = serde_json::to_string_pretty(results).map_err(|error| Failure::Run(error.to_string()))? + "\n";
    let mut files = Vec::new();
    let mut timelines = Vec::new();
    for (index, one) in finished.into_iter().enumerate() {
        if let Some(trace) = one.trace {
            files.push((format!("{}.perfetto-trace", trace_name(&one.run)), trace));
        }
        timelines.push((index, one.window));
    }
    files.push(("report.html".to_string(), report::html(results, &timelines).into_bytes()));
    files.push(("results.json".to_string(), json.clone().into_bytes()));
    for (name, bytes) in files {
        whole_file::write(&folder.join(&name), &bytes).map_err(|(path, error)| failure(&path, error))?;
    }
    Ok(json)
}

/// `<variant>-<load>`.
fn trace_name(run: &Run) -> String {
    let loads: Vec<String> = run.loads.values().map(|value| format!("-{value}")).collect();
    format!("{}{}", run.variant, loads.concat())
}
