// SPDX-License-Identifier: Apache-2.0
//! Numbers and names as people read them.

/// Thousands separated by commas.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A time in microseconds: one decimal below 100, none above.
pub fn us(value: f64) -> String {
    if !value.is_finite() {
        return "-".into();
    }
    let decimals = if value.abs() < 99.95 { 1 } else { 0 };
    let text = fixed(value.abs(), decimals);
    let zero = text.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    if value < 0.0 && !zero { format!("-{text}") } else { text }
}

/// The value of a swept key: as written, thousands separated.
pub fn load(value: f64) -> String {
    if !value.is_finite() {
        return value.to_string();
    }
    let text = fixed(value.abs(), if value.fract() == 0.0 { 0 } else { 3 });
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if value < 0.0 { format!("-{text}") } else { text.into() }
}

/// A share of 1 in per cent, without the sign.
pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    match value {
        v if !v.is_finite() => "-".into(),
        v if v <= 0.0 => "0".into(),
        v if v < 0.1 => "<0.1".into(),
        v if v < 9.95 => format!("{v:.1}"),
        v if (99.5..100.0).contains(&v) => format!("{:.1}", v.min(99.9)),
        v => format!("{v:.0}"),
    }
}

/// A name from the scenario, without control characters: they could steer the terminal.
pub fn clean(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// `a`, `a and b`, `a, b and c`.
pub fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [head @ .., last] => format!("{} and {last}", head.join(", ")),
    }
}

fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    match whole.parse::<u64>() {
        Ok(number) => count(number) + rest,
        Err(_) => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_234_567), "1,234,567");
    }

    #[test]
    fn times_keep_the_digits_that_matter() {
        assert_eq!(us(-0.01), "0.0");
        assert_eq!(us(99.94), "99.9");
        assert_eq!(us(-12_345.6), "-12,346");
        assert_eq!(us(f64::NAN), "-");
    }

    #[test]
    fn shares_never_round_to_all_or_nothing() {
        assert_eq!(percent(0.0), "0");
        assert_eq!(percent(0.00001), "<0.1");
        assert_eq!(percent(0.99999), "99.9");
        assert_eq!(percent(1.0), "100");
    }

    #[test]
    fn loads_are_written_as_in_the_scenario() {
        assert_eq!(load(15_000.0), "15,000");
        assert_eq!(load(0.25), "0.25");
        assert_eq!(load(-2.0), "-2");
    }
}
