// SPDX-License-Identifier: Apache-2.0
//! Reading what the user gives, for every command that takes a scenario.

use std::io::IsTerminal;
use std::path::Path;

use super::arguments::Failure;
use crate::scenario::{self, Checked, Overrides};
use crate::soc;
use crate::traffic::Wire;

/// Reads and checks a scenario and the captures that it names; says on standard error what is remarkable.
pub fn read(file: &Path, overrides: &Overrides) -> Result<Checked, Failure> {
    let styled = std::io::stderr().is_terminal();
    let checked = scenario::check(file, overrides).map_err(|errors| Failure::Input(errors.report().render(styled)))?;
    if !checked.warnings.is_empty() {
        eprintln!("{}", checked.warnings.render(styled));
    }
    let mut notes: Vec<String> = Vec::new();
    for case in &checked.cases {
        let wire = Wire::new(&case.scenario, soc::device_mac(&case.scenario))
            .map_err(|error| Failure::Input(format!("error: {error}")))?;
        for note in wire.notes() {
            if !notes.contains(note) {
                notes.push(note.clone());
            }
        }
    }
    for note in notes {
        eprintln!("note: {note}");
    }
    Ok(checked)
}
