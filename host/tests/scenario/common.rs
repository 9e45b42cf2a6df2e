// SPDX-License-Identifier: Apache-2.0
//! Scenarios written to a folder of their own.

use std::fs;

use tempfile::TempDir;
use weir::scenario::{self, Case, Checked, InputErrors, Overrides};

/// A valid scenario with one task of each kind.
pub const TASKS: &str = r#"name = "test"
[[task]]
name = "axis"
priority = 6
period_us = 1000
work_us = 300
[[task]]
name = "worker"
priority = 1
background = true
[[task]]
name = "command"
priority = 5
listen = "udp/5005"
reply_bytes = 4
[[task]]
name = "plc"
priority = 4
listen = "tcp/502"
"#;

/// A folder with the scenario `s.toml` and files that it can name.
pub fn folder(text: impl AsRef<[u8]>) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("s.toml"), text).expect("a file");
    fs::write(folder.path().join("axis.c"), "void axis_job(void) {}\n").expect("a file");
    fs::write(folder.path().join("plant.pcap"), "not read here").expect("a file");
    fs::write(folder.path().join("empty.pcap"), "").expect("a file");
    folder
}

pub fn set(options: &[&str]) -> Overrides {
    Overrides { set: options.iter().map(|option| (*option).to_owned()).collect(), ..Overrides::default() }
}

pub fn check_with(text: impl AsRef<[u8]>, overrides: &Overrides) -> Result<Checked, InputErrors> {
    scenario::check(&folder(text).path().join("s.toml"), overrides)
}

/// The cases of a scenario that is valid.
pub fn cases_with(text: &str, overrides: &Overrides) -> Vec<Case> {
    check_with(text, overrides).unwrap_or_else(|errors| panic!("{errors}")).cases
}

pub fn cases(text: &str) -> Vec<Case> {
    cases_with(text, &Overrides::default())
}

/// The only case of a scenario that is valid.
pub fn scenario(text: &str) -> weir::scenario::Scenario {
    let mut cases = cases(text);
    assert_eq!(cases.len(), 1);
    cases.remove(0).scenario
}

/// What is printed for a scenario that is refused; the file is called `s.toml`.
pub fn refusal_with(text: impl AsRef<[u8]>, overrides: &Overrides) -> String {
    let folder = folder(text);
    let errors = scenario::check(&folder.path().join("s.toml"), overrides).expect_err("it should be refused");
    errors
        .to_string()
        .replace(&format!("{}/", folder.path().display()), "")
        .replace(&folder.path().display().to_string(), ".")
}

pub fn refusal(text: impl AsRef<[u8]>) -> String {
    refusal_with(text, &Overrides::default())
}

/// Line, message and remark of each problem; line 0 is not in the file.
pub fn problems(text: &str) -> Vec<(usize, String, String)> {
    let errors = check_with(text, &Overrides::default()).expect_err("it should be refused");
    let report = errors.report();
    let found = report.problems().iter().map(|problem| {
        let line = report.line_column(problem).map_or(0, |(line, _)| line);
        (line, problem.message().to_owned(), problem.label().to_owned())
    });
    found.collect()
}
