// SPDX-License-Identifier: Apache-2.0
//! What stations may be called.

use std::fmt;

/// A station's name: labels of 1 to 63 lower-case letters, digits and `-`, with dots between them, 240 characters in
/// all; or none, for a station that was not named yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StationName(String);

impl StationName {
    /// Checks a name.
    ///
    /// # Errors
    /// Which rule it breaks, and what would be right.
    pub fn new(name: &[u8]) -> Result<Self, &'static str> {
        if name.is_empty() {
            return Ok(Self::default());
        }
        if name.len() > 240 {
            return Err("a station's name has at most 240 characters");
        }
        let is_allowed = |c: &u8| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, b'-' | b'.');
        if !name.iter().all(is_allowed) {
            return Err("a station's name has lower-case letters, digits, - and ., such as \"press-3\"");
        }
        for label in name.split(|c| *c == b'.') {
            if !(1..=63).contains(&label.len()) {
                return Err("between the dots of a station's name are 1 to 63 characters");
            }
            if label[0] == b'-' || label[label.len() - 1] == b'-' {
                return Err("the parts of a station's name do not begin or end with -");
            }
        }
        let is_number = |label: &[u8]| label.len() <= 3 && label.iter().all(u8::is_ascii_digit);
        let mut labels = name.split(|c| *c == b'.');
        if labels.clone().count() == 4 && labels.clone().all(is_number) {
            return Err("a station's name does not look like an IP address");
        }
        if is_port(labels.next().expect("it has a label")) {
            return Err("a station's name does not begin like a port, \"port-001\"");
        }
        Ok(Self(String::from_utf8(name.to_vec()).expect("it is ASCII")))
    }

    /// The name; empty if there is none.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What a port is called by the neighbours.
    pub fn port(&self) -> String {
        if self.0.is_empty() { "port-001".to_owned() } else { format!("port-001.{}", self.0) }
    }
}

impl fmt::Display for StationName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// `port-` and three digits, and perhaps `-` and five.
fn is_port(label: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().all(u8::is_ascii_digit);
    match label.strip_prefix(b"port-") {
        Some(rest) if rest.len() == 3 => digits(rest),
        Some(rest) if rest.len() == 9 => digits(&rest[..3]) && rest[3] == b'-' && digits(&rest[4..]),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_rules() {
        let long_label = "a".repeat(63);
        let longest = [&long_label[..]; 4].join(".")[..240].to_owned();
        for good in ["", "press-3", "a", "9", "a.b-c.d", "1.2.3", "1.2.3.4.5", "port-1", "port-0012", &longest] {
            assert_eq!(StationName::new(good.as_bytes()).map(|name| name.to_string()), Ok(good.to_owned()));
        }
        let too_long = format!("{longest}a");
        let label = "a".repeat(64);
        for bad in [
            "Press",
            "a_b",
            "a b",
            "ä",
            ".a",
            "a.",
            "a..b",
            "-a",
            "a-",
            "a.-b",
            "1.2.3.4",
            "port-001",
            "port-001-00002.x",
            &label,
            &too_long,
        ] {
            assert!(StationName::new(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
