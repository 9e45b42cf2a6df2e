// SPDX-License-Identifier: Apache-2.0
//! Did you mean?

/// The candidate that the word was probably meant to be.
pub(super) fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_ascii_lowercase();
    // Words this long are not slips of the pen, and the distance below takes quadratic time.
    if word.len() > 64 {
        return None;
    }
    let slips_max = 1 + word.chars().count() / 4;
    candidates
        .into_iter()
        .map(|candidate| (distance(&word, candidate), candidate))
        .filter(|(slips, _)| *slips <= slips_max)
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, candidate)| candidate)
}

/// Slips of the pen between the two; a unit left out (`period` for `period_us`) is one.
fn distance(word: &str, candidate: &str) -> usize {
    let without_unit = candidate.rsplit_once('_').map_or(candidate, |(name, _)| name);
    let whole = strsim::damerau_levenshtein(word, candidate);
    if without_unit == word { whole.min(1) } else { whole }
}

/// `did you mean ...?`, or else everything there is to choose from.
pub(super) fn hint<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str> + Clone, what: &str) -> String {
    match closest(word, candidates.clone()) {
        Some(candidate) => format!("did you mean `{candidate}`?"),
        None => {
            let all: Vec<&str> = candidates.into_iter().collect();
            if all.is_empty() { format!("there are no {what}") } else { format!("{what}: {}", all.join(", ")) }
        }
    }
}
