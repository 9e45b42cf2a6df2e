// SPDX-License-Identifier: Apache-2.0
//! Makes the calibration file, from runs of `soc`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::costs::{Class, Mark, Regime, Role, Samples, Stretch, fingerprint, write};
use super::covers::VARIANTS;
use super::measure::Meter;
use crate::scenario::{self, Case, Overrides, TaskKind, Variant};
use crate::soc::{Image, Runner, open_library};
use crate::workshop::Workshop;

/// The runs to read costs off, in the project's folder.
const SCENARIOS: &str = "host/src/model/calibration";
/// The file.
const FILE: &str = "host/src/model/imac.toml";

/// By variant.
type Measured = BTreeMap<&'static str, BTreeMap<Stretch, Samples>>;

fn files(root: &Path) -> Result<Vec<PathBuf>, String> {
    let folder = root.join(SCENARIOS);
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    Ok(files)
}

fn name(file: &Path, case: &Case) -> String {
    let mut name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    for value in case.loads.values() {
        name += &format!("-{value}");
    }
    name
}

/// Runs everything and returns the file's path; `say` is told each run.
///
/// # Errors
/// When something cannot be built, run or written.
pub fn run(workshop: &Workshop, mut say: impl FnMut(&str)) -> Result<PathBuf, String> {
    let mut measured = Measured::new();
    let mut firmware = String::new();
    let mut all = Vec::new();
    for file in files(workshop.root())? {
        all.push((scenario::load(&file, &Overrides::default()).map_err(|errors| errors.to_string())?, file));
    }
    for (cases, file) in all {
        for case in cases {
            let image = workshop.firmware(&case.scenario).map_err(|error| error.to_string())?;
            let image = Image::open(&image)?;
            firmware = fingerprint(&image);
            for variant in VARIANTS {
                let run = name(&file, &case);
                say(&format!("{run} {}", variant.name()));
                let library = workshop.device(case.scenario.device.cpu, variant).map_err(|error| error.to_string())?;
                let runner = Runner {
                    variant,
                    library: open_library(&library)?,
                    image: image.clone(),
                    shortcuts: true,
                    record: false,
                };
                one(&runner, &case, variant, &run, &mut measured)?;
            }
        }
    }
    let path = workshop.root().join(FILE);
    std::fs::write(&path, write(&firmware, &measured)).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}

fn one(runner: &Runner, case: &Case, variant: Variant, run: &str, measured: &mut Measured) -> Result<(), String> {
    let mut meter = Meter::new(&case.scenario, variant);
    let outcome = runner
        .run_before(&case.scenario, &mut |_| {}, &mut meter)
        .map_err(|error| format!("{run} {}: {error}", variant.name()))?;
    let mut samples = std::mem::take(&mut meter.samples);
    for (task, result) in case.scenario.tasks.iter().zip(&outcome.run.tasks) {
        if let TaskKind::Background = task.kind
            && result.loops > 0
        {
            let turn = Stretch {
                role: Role::Background,
                from: Mark::JobStart,
                to: Mark::JobEnd,
                class: Class::Any,
                regime: Regime::First,
            };
            samples.entry(turn).or_default().add(0.0, result.cycles as f64 / result.loops as f64);
        }
    }
    let all = measured.entry(variant.name()).or_default();
    for (stretch, samples) in samples {
        all.entry(stretch).or_default().merge(&samples, run);
    }
    Ok(())
}
