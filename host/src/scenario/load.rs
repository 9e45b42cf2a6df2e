// SPDX-License-Identifier: Apache-2.0
//! From a path to checked cases.

use std::fmt;
use std::fs;
use std::path::Path;

use toml::de::DeTable;

use super::model::Case;
use super::naming;
use super::overrides::{self, Overrides};
use super::report::{Place, Problem, Report, Sink, Text};
use super::sweep;
use super::top;
use super::tree::Table;

/// A scenario is written by hand; something larger is another file given by mistake.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// When something is wrong, so many cases are enough to show it.
const REFUSED_CASES_MAX: usize = 100;

/// Why a scenario is refused. Its `Display` is plain text for people; [`Report::render`] can add colours.
#[derive(Debug, Clone)]
pub struct InputErrors(Report);

impl InputErrors {
    /// The problems, at least one of them an error.
    pub fn report(&self) -> &Report {
        &self.0
    }
}

impl fmt::Display for InputErrors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl std::error::Error for InputErrors {}

/// A scenario that can be run.
#[derive(Debug, Clone)]
pub struct Checked {
    /// One for each combination of swept values, in file order, first key slowest.
    pub cases: Vec<Case>,
    /// What the user should know all the same.
    pub warnings: Report,
}

/// Reads and checks a scenario file; warnings are dropped.
pub fn load(path: &Path, overrides: &Overrides) -> Result<Vec<Case>, InputErrors> {
    check(path, overrides).map(|checked| checked.cases)
}

/// Reads and checks a scenario file.
pub fn check(path: &Path, overrides: &Overrides) -> Result<Checked, InputErrors> {
    let sink = Sink::default();
    let file = Text { name: path.display().to_string(), content: String::new(), is_file: true };
    let mut texts = vec![file];
    match read(path) {
        Ok(content) => texts[0].content = content,
        Err(problem) => sink.push(problem),
    }
    let mut cases = Vec::new();
    if let Some(mut root) = parse(&texts[0].content, &sink) {
        naming::name_traffic(&mut root);
        overrides::apply(overrides, &mut root, &mut texts, &sink);
        let folder = path.parent().unwrap_or(Path::new(""));
        for (number, (loads, root)) in sweep::cases(root, &sink).enumerate() {
            let scenario = top::read(&root, folder, &sink);
            cases.extend(scenario.map(|scenario| Case { loads, scenario }));
            if sink.is_full() || (sink.has_errors() && number >= REFUSED_CASES_MAX) {
                break;
            }
        }
    }
    let has_errors = sink.has_errors();
    let report = sink.into_report(texts);
    if has_errors { Err(InputErrors(report)) } else { Ok(Checked { cases, warnings: report }) }
}

/// The text of a scenario file.
fn read(path: &Path) -> Result<String, Problem> {
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => Problem::error("there is no such file").help("check the name and the folder"),
        _ => Problem::error(format!("cannot read the scenario: {error}")),
    };
    let metadata = fs::metadata(path).map_err(failed)?;
    if metadata.is_dir() {
        return Err(Problem::error("this is a folder, not a scenario").help("name one of its .toml files"));
    }
    if metadata.len() > FILE_BYTES_MAX {
        let problem = Problem::error("this file is too large for a scenario");
        return Err(problem.help(format!("it has {} bytes; at most {FILE_BYTES_MAX}", metadata.len())));
    }
    let bytes = fs::read(path).map_err(failed)?;
    let content = String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = valid.iter().filter(|byte| **byte == b'\n').count() + 1;
        let problem = Problem::error(format!("line {line} is not UTF-8 text"));
        problem.help(format!("byte {} of the file; save it as UTF-8", valid.len() + 1))
    })?;
    if content.trim_start_matches('\u{feff}').trim().is_empty() {
        let problem = Problem::error("the scenario is empty");
        return Err(problem.help("it needs at least `name = \"...\"`"));
    }
    Ok(content)
}

/// The tree of a text; `None` if it is not TOML.
fn parse(content: &str, sink: &Sink) -> Option<Table> {
    if sink.has_errors() {
        return None;
    }
    let (table, errors) = DeTable::parse_recoverable(content);
    for error in &errors {
        let problem = Problem::error(format!("not valid TOML: {}", error.message()));
        let place = error.span().map(|span| Place::new(0, span));
        sink.push(match place {
            Some(place) => problem.at(&place, ""),
            None => problem,
        });
    }
    let root = Place::new(0, 0..0);
    errors.is_empty().then(|| Table::from_toml(table.get_ref(), root, 0))
}
