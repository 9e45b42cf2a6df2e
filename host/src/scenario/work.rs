// SPDX-License-Identifier: Apache-2.0
//! What a job does: `work_us`, `binomial` or `source`.

use std::path::Path;

use super::files;
use super::model::Work;
use super::reader::Reader;
use super::tree::Value;

/// Larger coefficients do not fit 64 bits.
const BINOMIAL_ROW_MAX: u32 = 60;

/// Reads the work of a task, which is periodic if it has a period or one that is wrong.
pub(super) fn read(reader: &Reader<'_>, name: &str, period_us: Option<u32>, folder: &Path) -> Option<Work> {
    let given = ["work_us", "binomial", "source"].into_iter().filter(|key| reader.given(key));
    let given: Vec<&str> = given.collect();
    match given[..] {
        [] if reader.given("period_us") => {
            let message = format!("the task `{name}` has no work");
            let help = "give `work_us`, `binomial` or `source`";
            reader.refuse("name", message, "nothing says what a job does", help);
            None
        }
        [] => Some(Work::Synthetic { us: 0.0 }),
        ["work_us"] => synthetic(reader, period_us),
        ["binomial"] => binomial(reader),
        ["source"] => source(reader, name, folder),
        [first, second, ..] => {
            let message = format!("a task cannot have both `{first}` and `{second}`");
            reader.refuse(second, message, "a second kind of work", "keep one of them");
            None
        }
        [_] => unreachable!("the keys of work are matched above"),
    }
}

fn synthetic(reader: &Reader<'_>, period_us: Option<u32>) -> Option<Work> {
    let us = reader.number("work_us")?;
    if reader.given("period_us") && us == 0.0 {
        reader.refuse("work_us", "`work_us` is out of range", "a periodic task needs some", "write a number above 0");
        return None;
    }
    if let Some(period_us) = period_us.filter(|period_us| us > f64::from(*period_us)) {
        let label = format!("must be at most the period, {period_us} us");
        reader.refuse("work_us", "this task can never keep up", label, "shorten the work or lengthen the period");
        return None;
    }
    Some(Work::Synthetic { us })
}

fn binomial(reader: &Reader<'_>) -> Option<Work> {
    let items = reader.list("binomial")?;
    let whole = |index: usize| match items.get(index)?.value {
        Value::Integer(whole) => u32::try_from(whole).ok(),
        _ => None,
    };
    match (items.len(), whole(0), whole(1)) {
        (2, Some(n), Some(k)) if n <= BINOMIAL_ROW_MAX && (1..=n).contains(&k) => Some(Work::Binomial { n, k }),
        _ => {
            let label = format!("must be [n, k] with 1 <= k <= n <= {BINOMIAL_ROW_MAX}");
            reader.refuse("binomial", "`binomial` is out of range", label, "for example `binomial = [20, 10]`");
            None
        }
    }
}

fn source(reader: &Reader<'_>, name: &str, folder: &Path) -> Option<Work> {
    let starts_well = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    if !name.is_empty() && (!starts_well || name.contains('-')) {
        let message = format!("`{name}_job` cannot be a C function");
        let help = "with `source`, the name has letters, digits and `_`, and no digit first";
        reader.refuse("name", message, "its name is part of the function's", help);
    }
    Some(Work::Source { path: files::existing(reader, "source", folder)? })
}
