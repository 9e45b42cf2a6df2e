// SPDX-License-Identifier: Apache-2.0
//! `weir-edge sim`: scenarios in virtual time.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use report_page::{CHART_LIBRARY, STYLE, escape, escape_script, fill};
use serde_json::json;
use weir_edge::sim::results::{Results, quantile};
use weir_edge::sim::scenario::{self, Row, Scenario};
use weir_edge::sim::{faults, world};

use say::say;

/// Runs a scenario file in virtual time and prints a row for each of its variations. The same file and seed give the
/// same rows on every machine.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A scenario file (TOML); edge/scenarios has some.
    #[arg(required_unless_present = "random")]
    file: Option<PathBuf>,
    /// Only this seed, instead of 1 up to the file's `seeds`.
    #[arg(long)]
    seed: Option<u64>,
    /// Also writes all figures to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Also writes a page with charts to this file.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Instead of a file: this many random scenarios in which everything goes wrong; checks what must hold in each.
    #[arg(long, value_name = "COUNT", conflicts_with_all = ["file", "seed", "json", "html"])]
    random: Option<u64>,
    /// The first seed of --random.
    #[arg(long, value_name = "SEED", default_value_t = 1, requires = "random")]
    from: u64,
}

/// Exit status: 0, 1 if something that must hold did not, 2 if the file cannot be used.
pub fn run(args: &Args) -> ExitCode {
    match (args.random, &args.file) {
        (Some(count), _) => random(args.from, count),
        (None, Some(file)) => match scenario::read(file) {
            Ok(rows) => table(args, &rows),
            Err(error) => {
                eprintln!("weir-edge: {}", error.trim_end());
                ExitCode::from(2)
            }
        },
        (None, None) => unreachable!("clap demands one of them"),
    }
}

/// Runs what there is to run on all CPUs; the results come in order.
fn in_parallel(runs: &[(&Scenario, u64)], mut done: impl FnMut(usize, Results) + Send) {
    let next = AtomicU64::new(0);
    let waiting: Mutex<(usize, BTreeMap<usize, Results>)> = Mutex::default();
    let done = Mutex::new(&mut done);
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cpus.min(runs.len()) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed) as usize;
                    let Some((scenario, seed)) = runs.get(index) else { return };
                    let results = world::run(scenario, *seed);
                    let mut waiting = waiting.lock().expect("no run panics with it");
                    waiting.1.insert(index, results);
                    while let Some(results) = {
                        let first = waiting.0;
                        waiting.1.remove(&first)
                    } {
                        (done.lock().expect("printing does not panic"))(waiting.0, results);
                        waiting.0 += 1;
                    }
                }
            });
        }
    });
}

fn random(from: u64, count: u64) -> ExitCode {
    let scenarios: Vec<(Scenario, u64)> = (from..from + count).map(|seed| (faults::scenario(seed), seed)).collect();
    let runs: Vec<(&Scenario, u64)> = scenarios.iter().map(|(s, seed)| (s, *seed)).collect();
    let (mut sum, mut failed) = (Results::default(), 0);
    in_parallel(&runs, |index, results| {
        if let Some(wrong) = results.wrong.first() {
            failed += 1;
            say!("weir-edge sim --random 1 --from {}: {wrong}", from + index as u64);
        }
        sum.add(results);
    });
    say!(
        "{count} runs, {failed} failed; of {} tasks {} accepted, of these {} in time, {} late, {} stopped at their worst case, \
         {} given back, {} lost; {} taken over",
        sum.tasks.submitted,
        sum.tasks.accepted,
        sum.tasks.in_time,
        sum.tasks.late,
        sum.tasks.overrun,
        sum.tasks.given_back,
        sum.tasks.lost,
        sum.taken_over
    );
    ExitCode::from(u8::from(failed > 0))
}

fn table(args: &Args, rows: &[Row]) -> ExitCode {
    let seeds = |row: &Row| args.seed.map_or(1..=row.scenario.seeds, |seed| seed..=seed);
    let runs: Vec<(usize, &Scenario, u64)> =
        rows.iter().enumerate().flat_map(|(i, row)| seeds(row).map(move |seed| (i, &row.scenario, seed))).collect();
    let plain: Vec<(&Scenario, u64)> = runs.iter().map(|(_, scenario, seed)| (*scenario, *seed)).collect();
    let widths: Vec<usize> =
        columns(rows).iter().map(|values| values.iter().map(String::len).max().unwrap_or(0)).collect();
    let cells = |values: Vec<String>| {
        values.iter().zip(&widths).map(|(value, width)| format!("{value:<width$}  ")).collect::<String>()
    };
    let head = cells(columns(rows).into_iter().map(|values| values[0].clone()).collect());
    say!("{head}{HEAD}");
    let (mut sums, mut failed) = (vec![Results::default(); rows.len()], false);
    in_parallel(&plain, |index, results| {
        let row = runs[index].0;
        for wrong in &results.wrong {
            failed = true;
            say!("seed {}: {wrong}", runs[index].2);
        }
        sums[row].add(results);
        if runs.get(index + 1).is_none_or(|next| next.0 != row) {
            let varied = rows[row].varied.iter().map(|(_, value)| value.clone()).collect();
            say!("{}{}", cells(varied), line(&sums[row]));
        }
    });
    let written = as_json(rows, &sums);
    let files = [(&args.json, format!("{written:#}\n")), (&args.html, page(rows, &written))];
    for (path, text) in files {
        if let Some(path) = path
            && let Err(error) = std::fs::write(path, text)
        {
            eprintln!("weir-edge: {}: {error}", path.display());
            return ExitCode::from(2);
        }
    }
    ExitCode::from(u8::from(failed))
}

/// For each thing that varies: what the column is called, and its values.
fn columns(rows: &[Row]) -> Vec<Vec<String>> {
    let first = rows.first().map(|row| row.varied.clone()).unwrap_or_default();
    let column = |(i, (key, _)): (usize, &(String, String))| {
        std::iter::once(key.clone()).chain(rows.iter().map(|row| row.varied[i].1.clone())).collect()
    };
    first.iter().enumerate().map(column).collect()
}

const HEAD: &str =
    "submitted  accepted  in time  success   late  lost  given back  placed us p50    p99  noticed ms  wire/s";

/// A row: shares of all tasks; `in time` of the accepted ones. `wire/s` is in datagrams for each machine.
fn line(results: &Results) -> String {
    // Down to a tenth of a per cent: nothing is rounded up to all.
    let share = |count: u64, of: u64| format!("{:.1} %", (1000 * count / of.max(1)) as f64 / 10.0);
    let noticed = results.noticed_ms.iter().copied().reduce(f64::max);
    format!(
        "{:>9}  {:>8}  {:>7}  {:>7}  {:>5}  {:>4}  {:>10}  {:>13.0}  {:>5.0}  {:>10}  {:>6.0}",
        results.tasks.submitted,
        share(results.tasks.accepted, results.tasks.submitted),
        share(results.tasks.in_time, results.tasks.accepted),
        share(results.tasks.in_time, results.tasks.submitted),
        results.tasks.late,
        results.tasks.lost,
        results.tasks.given_back,
        quantile(&results.placing_us, 0.5),
        quantile(&results.placing_us, 0.99),
        noticed.map_or("-".to_owned(), |ms| format!("{ms:.0}")),
        results.wire_messages,
    )
}

fn as_json(rows: &[Row], sums: &[Results]) -> serde_json::Value {
    let times = |values: &[f32]| {
        let at = |share| f64::from(quantile(values, share));
        json!({ "p50": at(0.5), "p90": at(0.9), "p99": at(0.99), "p999": at(0.999), "max": at(1.0) })
    };
    let rows = rows.iter().zip(sums).map(|(row, sum)| {
        json!({
            "scenario": row.scenario.name,
            "varied": row.varied,
            "success": sum.tasks.success(),
            "counts": sum,
            "placing_us": times(&sum.placing_us),
            "answer_ms": times(&sum.answer_ms),
            "response_ms": times(&sum.response_ms),
        })
    });
    rows.collect()
}

const PAGE: &str = include_str!("../../assets/sim-report.html");

fn page(rows: &[Row], data: &serde_json::Value) -> String {
    let Some(Row { scenario, .. }) = rows.first() else { return String::new() };
    let lede = format!(
        "{} s and {} seeds for each row; tasks of {} ms. In virtual time: the same figures on every machine.",
        scenario.seconds, scenario.seeds, scenario.task.wcet_ms
    );
    let values = [
        ("title", escape(&scenario.name)),
        ("lede", escape(&lede)),
        ("style", STYLE.to_owned()),
        ("library", CHART_LIBRARY.to_owned()),
        ("data", escape_script(&data.to_string())),
    ];
    fill(PAGE, &values.each_ref().map(|(name, value)| (*name, value.as_str())))
}
