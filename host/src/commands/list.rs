// SPDX-License-Identifier: Apache-2.0
//! `weir list`: the scenarios in a folder, each with the question that it answers.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::check::{aligned, counted, runs};
use crate::scenario::{self, Overrides};

/// Scenarios may stand in folders of their own, beside the files they name; not deeper.
const FOLDERS_DEEP_MAX: u32 = 2;

/// Lists the scenarios below a folder; the text to print.
pub fn run(folder: &Path) -> io::Result<String> {
    let mut paths = Vec::new();
    find(folder, FOLDERS_DEEP_MAX, &mut paths).map_err(|error| {
        let message = format!("cannot list the scenarios in {}: {error}", folder.display());
        io::Error::new(error.kind(), message)
    })?;
    if paths.is_empty() {
        return Ok(format!("there are no scenarios in {}\n", folder.display()));
    }
    paths.sort();
    let mut rows = vec![["scenario", "name", "runs", "question"].map(str::to_owned)];
    rows.extend(paths.iter().map(|path| row(path)));
    Ok(aligned(&rows))
}

fn find(folder: &Path, deep_max: u32, paths: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            if deep_max > 1 {
                find(&path, deep_max - 1, paths)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            paths.push(path);
        }
    }
    Ok(())
}

fn row(path: &Path) -> [String; 4] {
    let here = std::env::current_dir().unwrap_or_default();
    let shown = path.strip_prefix(here).unwrap_or(path).display().to_string();
    let question = fs::read_to_string(path).ok().and_then(|text| question(&text)).unwrap_or_default();
    match scenario::check(path, &Overrides::default()) {
        Ok(checked) => {
            let name = checked.cases.first().map_or("", |case| case.scenario.name.as_str());
            [shown, name.to_owned(), runs(&checked).to_string(), question]
        }
        Err(errors) => {
            let count = counted(errors.report().problems().len(), "problem");
            [shown, format!("refused: {count}, see `weir check`"), "0".to_owned(), question]
        }
    }
}

/// The first comment that is no licence.
fn question(text: &str) -> Option<String> {
    let comments = text.lines().filter_map(|line| line.trim_start().strip_prefix('#'));
    let mut questions = comments.map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("SPDX-"));
    questions.next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_shows_each_scenario_with_its_question() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("a file");
        write("b.toml", "# SPDX-License-Identifier: Apache-2.0\n# Does b hold?\n# More.\nname = 'bee'\n");
        write("notes.txt", "not a scenario");
        fs::create_dir(folder.path().join("a")).expect("a folder");
        write("a/a.toml", "# Does a hold?\nname = 'a'\n[[traffic]]\npattern = 'arp'\nrate_pps = [1, 2]\n");
        write("c.toml", "# Broken\nnam = 'c'\n");
        let text = run(folder.path()).expect("a list");
        assert_eq!(text.lines().count(), 4, "{text}");
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[1][1..], ["a", "2", "Does", "a", "hold?"]);
        assert_eq!(lines[2][1..], ["bee", "1", "Does", "b", "hold?"]);
        assert!(text.contains("refused: 2 problems, see `weir check`"), "{text}");
    }

    #[test]
    fn list_says_when_there_is_nothing() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        assert!(run(folder.path()).expect("a list").starts_with("there are no scenarios in"));
        let error = run(&folder.path().join("gone")).expect_err("no folder");
        assert!(error.to_string().starts_with("cannot list the scenarios in"), "{error}");
    }
}
