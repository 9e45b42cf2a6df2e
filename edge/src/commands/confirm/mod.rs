// SPDX-License-Identifier: Apache-2.0
//! `weir-edge confirm`: the same scenario, with the same tasks, in virtual time and by real processes.

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;
use weir_edge::machine::spawn::set_fifo;
use weir_edge::sim::results::Results;
use weir_edge::sim::scenario::{self, Row};
use weir_edge::sim::world;

use say::say;

mod devices;
mod limits;
mod run;
mod site;
mod table;

/// Clients and link stand for other machines: no program of this one delays them, if that is permitted.
const PRIORITY: u8 = 60;

/// Runs scenarios in virtual time and then, with the same tasks, by real processes on this machine; prints both beside
/// each other. Each row of a file takes as long as its scenario says.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Scenario files (TOML); edge/scenarios/confirm has some.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Whose tasks they are.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Programs use processor time of their own instead of holding their worker for so long. It takes a CPU for each
    /// node.
    #[arg(long)]
    burn: bool,
    /// Also writes all figures to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// A row in both worlds.
struct Both {
    scenario: String,
    simulator: Results,
    processes: Results,
    /// Tasks that were accepted in both, or in neither.
    alike: u64,
}

/// Exit status: 0, 1 if something that must hold did not, 2 if a file cannot be used or processes cannot be started.
pub fn run(args: &Args) -> ExitCode {
    match confirm(args) {
        Ok(wrong) if wrong.is_empty() => ExitCode::SUCCESS,
        Ok(wrong) => {
            wrong.iter().for_each(|line| eprintln!("{line}"));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("weir-edge: {}", error.trim_end());
            ExitCode::from(2)
        }
    }
}

fn confirm(args: &Args) -> Result<Vec<String>, String> {
    let mut rows = Vec::new();
    for file in &args.files {
        for row in scenario::read(file)? {
            limits::check(&row.scenario, args.burn).map_err(|what| format!("{}: {what}", file.display()))?;
            rows.push(row);
        }
    }
    let simulated: Vec<_> = rows.iter().map(|row| world::run_drawn(&row.scenario, args.seed)).collect();
    if let Err(error) = set_fifo(None, PRIORITY) {
        eprintln!("real-time priority: no ({error}); other programs of this machine delay what runs here");
    }
    let names: Vec<String> = rows.iter().map(name).collect();
    let width = names.iter().map(String::len).chain([table::NAME_MIN]).max().unwrap_or(0);
    say!("{}", table::heading(width));
    let (mut wrong, mut written) = (Vec::new(), Vec::new());
    for ((row, name), (simulator, drawn)) in rows.iter().zip(names).zip(simulated) {
        let (processes, alike) = run::run(&row.scenario, args.burn, &drawn, args.seed)?;
        let both = Both { scenario: name, simulator, processes, alike };
        wrong.extend(both.wrong());
        table::lines(&both, width).iter().for_each(|line| say!("{line}"));
        written.push(both.as_json());
    }
    if let Some(path) = &args.json {
        let text = format!("{:#}\n", serde_json::Value::from(written));
        std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(wrong)
}

/// The scenario's name, and what varies.
fn name(row: &Row) -> String {
    let varied = row.varied.iter().map(|(key, value)| match value.parse::<f64>() {
        Ok(_) => format!("{key} {value}"),
        Err(_) => value.clone(),
    });
    std::iter::once(row.scenario.name.clone()).chain(varied).collect::<Vec<_>>().join(", ")
}

impl Both {
    /// What must be true of both worlds, and is not.
    fn wrong(&self) -> Vec<String> {
        let mut wrong: Vec<String> =
            self.simulator.wrong.iter().chain(&self.processes.wrong).map(|what| what.to_owned()).collect();
        let (simulator, processes) = (&self.simulator.tasks, &self.processes.tasks);
        if simulator.submitted != processes.submitted {
            wrong.push(format!("{} tasks by processes, {} in the simulator", processes.submitted, simulator.submitted));
        }
        if processes.failed > 0 {
            wrong.push(format!("{} programs could not be started or failed", processes.failed));
        }
        for (tally, whose) in [(simulator, "the simulator"), (processes, "processes")] {
            if tally.over() != tally.submitted || tally.accepted + tally.rejected_all() != tally.submitted {
                wrong.push(format!("{whose}: of {} tasks {} had a last word", tally.submitted, tally.over()));
            }
        }
        wrong.iter().map(|what| format!("{}: {what}", self.scenario)).collect()
    }

    fn as_json(&self) -> serde_json::Value {
        let world = |results: &Results| {
            json!({
                "counts": results,
                "answer_ms": table::times(&results.answer_ms),
                "response_ms": table::times(&results.response_ms),
            })
        };
        json!({
            "scenario": self.scenario,
            "simulator": world(&self.simulator),
            "processes": world(&self.processes),
            "decided_alike": self.alike,
        })
    }
}
