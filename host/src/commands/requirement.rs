// SPDX-License-Identifier: Apache-2.0
//! `--require`: a claim about results, for a user's own CI.

use std::str::FromStr;

use crate::results::Results;
use crate::scenario::Variant;

/// No task misses a deadline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    /// Only in runs of this variant.
    variant: Option<String>,
}

impl FromStr for Requirement {
    type Err = String;

    fn from_str(text: &str) -> Result<Requirement, String> {
        let (claim, variant) = match text.split_once('=') {
            Some((claim, variant)) => (claim, Some(variant.to_string())),
            None => (text, None),
        };
        if claim != "no-misses" {
            return Err(format!("there is no claim `{claim}`; write no-misses or no-misses=VARIANT"));
        }
        if let Some(name) = &variant
            && !Variant::ALL.iter().any(|variant| variant.name() == name)
        {
            let known: Vec<&str> = Variant::ALL.iter().map(|variant| variant.name()).collect();
            return Err(format!("there is no variant `{name}`; there are: {}", known.join(", ")));
        }
        Ok(Requirement { variant })
    }
}

impl Requirement {
    /// The runs and tasks that break the claim; empty: it holds. A claim about a variant that was not run is broken.
    pub fn violations(&self, results: &Results) -> Vec<String> {
        let concerned = |variant: &str| self.variant.as_deref().is_none_or(|name| name == variant);
        let runs: Vec<_> = results.runs.iter().filter(|run| concerned(&run.variant)).collect();
        if runs.is_empty() {
            return vec![format!("variant `{}` was not run", self.variant.as_deref().unwrap_or(""))];
        }
        let mut violations = Vec::new();
        for run in runs {
            let loads: Vec<String> = run.loads.iter().map(|(name, value)| format!(" {name}={value}")).collect();
            for task in run.tasks.iter().filter(|task| task.missed > 0) {
                violations.push(format!(
                    "{}{}: task `{}` missed {} of {} deadlines",
                    run.variant,
                    loads.concat(),
                    task.name,
                    task.missed,
                    task.jobs
                ));
            }
        }
        violations
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_claims_and_refuses_others_by_name() {
        assert_eq!("no-misses".parse(), Ok(Requirement { variant: None }));
        assert_eq!("no-misses=stock".parse(), Ok(Requirement { variant: Some("stock".to_string()) }));
        assert!("no-mises".parse::<Requirement>().unwrap_err().contains("write no-misses"));
        assert!("no-misses=stok".parse::<Requirement>().unwrap_err().contains("there are: stock"));
    }
}
