// SPDX-License-Identifier: Apache-2.0
//! `weir compare`: how far the platform `model` is from `soc`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;

use super::arguments::{Failure, Verdict, say};
use super::input;
use crate::model::{self, Calibration};
use crate::results::{FlowResult, Run};
use crate::scenario::{Case, Overrides, Pattern, Protocol, Scenario, Target, TaskKind, Variant};
use crate::soc::{self, Image, Outcome};
use crate::workshop::Workshop;

/// `weir compare`.
#[derive(Debug, Args)]
pub struct CompareArguments {
    /// The scenarios
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub overrides: Overrides,
    /// Leaves out tasks that listen to TCP and what is sent to them, on both platforms
    #[arg(long)]
    pub without_tcp: bool,
    /// Says on standard error how long each platform took
    #[arg(long)]
    pub times: bool,
}

/// Runs each case on both platforms and prints a table.
pub fn run(options: &CompareArguments) -> Result<Verdict, Failure> {
    let failure = |error: &dyn std::fmt::Display| Failure::Run(error.to_string());
    let workshop = Workshop::find().map_err(|error| failure(&error))?;
    let calibration = Calibration::shipped().map_err(Failure::Run)?;
    let (mut on_soc, mut on_model) = (Duration::ZERO, Duration::ZERO);
    for file in &options.files {
        let mut checked = input::read(file, &options.overrides)?;
        if options.without_tcp {
            checked.cases.iter_mut().for_each(|case| without_tcp(&mut case.scenario));
        }
        let name = checked.cases[0].scenario.name.clone();
        for note in model::notes(&calibration, &checked.cases[0].scenario) {
            eprintln!("note: {note}");
        }
        say(&format!("{name}\n{}\n", head()));
        for case in &checked.cases {
            for variant in case.scenario.variants.iter().copied().filter(|v| model::VARIANTS.contains(v)) {
                if let Some(why) = model::refusal(&case.scenario, variant) {
                    return Err(Failure::Input(format!("error: {}: {why}", file.display())));
                }
                let begin = Instant::now();
                let truth = soc_run(&workshop, case, variant)?;
                on_soc += begin.elapsed();
                let begin = Instant::now();
                let runner = model::Runner::new(variant, &calibration, false);
                let outcome = runner.run(&case.scenario, &mut |_| {}).map_err(|error| failure(&error))?;
                on_model += begin.elapsed();
                say(&rows(case, variant, &truth.run, &outcome.run));
            }
        }
        say("\n");
    }
    if options.times {
        eprintln!("soc: {:.2} s, model: {:.3} s", on_soc.as_secs_f64(), on_model.as_secs_f64());
    }
    Ok(Verdict::Done)
}

fn soc_run(workshop: &Workshop, case: &Case, variant: Variant) -> Result<Outcome, Failure> {
    let failure = |error: &dyn std::fmt::Display| Failure::Run(format!("{}: {error}", variant.name()));
    let image = workshop.firmware(&case.scenario).map_err(|error| failure(&error))?;
    let library = workshop.device(case.scenario.device.cpu, variant).map_err(|error| failure(&error))?;
    let library: Arc<_> = soc::open_library(&library).map_err(Failure::Run)?;
    let image = Image::open(&image).map_err(Failure::Run)?;
    let runner = soc::Runner { variant, library, image, shortcuts: true, record: false };
    runner.run(&case.scenario, &mut |_| {}).map_err(|error| failure(&error))
}

fn without_tcp(scenario: &mut Scenario) {
    let tcp = |protocol: Protocol| protocol == Protocol::Tcp;
    scenario.tasks.retain(|task| !matches!(&task.kind, TaskKind::Receiving { listen, .. } if tcp(listen.protocol)));
    scenario.traffic.retain(|traffic| {
        let to_tcp = matches!(&traffic.to, Target::Port(listen) if tcp(listen.protocol));
        !to_tcp && !matches!(traffic.pattern, Pattern::Pcap { .. } | Pattern::Modbus { .. })
    });
}

/// A quantity that both platforms give.
struct Figure {
    name: &'static str,
    of: fn(&Run) -> Option<f64>,
}

fn flows(run: &Run) -> impl Iterator<Item = &FlowResult> {
    run.flows.iter().filter(|flow| flow.name != "background")
}

fn most(values: impl Iterator<Item = f64>) -> Option<f64> {
    values.fold(None, |most, value| Some(most.map_or(value, |most: f64| most.max(value))))
}

/// What is compared.
const FIGURES: &[Figure] = &[
    Figure { name: "delivered", of: |run| Some(flows(run).map(|flow| flow.delivered).sum::<u64>() as f64) },
    Figure {
        name: "dropped",
        of: |run| Some(run.flows.iter().map(|f| f.offered - f.delivered - f.in_flight).sum::<u64>() as f64),
    },
    Figure { name: "missed", of: |run| Some(run.tasks.iter().map(|task| task.missed).sum::<u64>() as f64) },
    Figure {
        name: "longest response us",
        of: |run| most(run.tasks.iter().filter_map(|task| Some(task.response_us.as_ref()?.max))),
    },
    Figure { name: "latency p50 us", of: |run| Some(flows(run).find_map(|flow| flow.latency_us.as_ref())?.p50) },
    Figure { name: "latency max us", of: |run| Some(flows(run).find_map(|flow| flow.latency_us.as_ref())?.max) },
    Figure { name: "interrupts", of: |run| Some(run.interrupts.count as f64) },
    Figure { name: "ISR share %", of: |run| Some(run.cpu.isr * 100.0) },
    Figure { name: "net share %", of: |run| Some(run.cpu.net * 100.0) },
];

fn head() -> String {
    format!("  {:<28}{:<22}{:>12}{:>12}{:>12}", "variant, load", "figure", "soc", "model", "difference")
}

fn rows(case: &Case, variant: Variant, truth: &Run, modelled: &Run) -> String {
    let loads: Vec<String> = case.loads.iter().map(|(name, value)| format!(" {name}={value}")).collect();
    let mut who = format!("{}{}", variant.name(), loads.concat());
    let mut text = String::new();
    for figure in FIGURES {
        let (Some(soc), Some(model)) = ((figure.of)(truth), (figure.of)(modelled)) else { continue };
        let shown = |value: f64| if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.1}") };
        let difference = match soc == 0.0 {
            true if model == 0.0 => "0 %".to_string(),
            true => "-".to_string(),
            false => format!("{:+.1} %", (model / soc - 1.0) * 100.0),
        };
        text += &format!("  {who:<28}{:<22}{:>12}{:>12}{difference:>12}\n", figure.name, shown(soc), shown(model));
        who.clear();
    }
    text
}
