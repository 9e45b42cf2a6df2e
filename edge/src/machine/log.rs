// SPDX-License-Identifier: Apache-2.0
//! One line an event, in logfmt, to stderr: `time=... level=info event=listening address=127.0.0.1:7400`.

use std::fmt::{Display, Write as _};
use std::io::Write as _;
use std::time::SystemTime;

/// How much is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// What keeps the machine from its work.
    Error,
    /// What works, but not as it might.
    Warn,
    /// What changes seldom: start, members, leave.
    #[default]
    Info,
    /// Each task, too.
    Debug,
}

impl Level {
    fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }
}

/// Writes what is at least as grave as its level.
#[derive(Clone, Copy, Debug, Default)]
pub struct Log(pub Level);

impl Log {
    /// Writes an event with what belongs to it.
    pub fn write(&self, level: Level, event: &str, fields: &[(&str, &dyn Display)]) {
        if level > self.0 {
            return;
        }
        let line = line(SystemTime::now(), level, event, fields);
        // There is nowhere to report that the log cannot be written.
        let _ = std::io::stderr().lock().write_all(line.as_bytes());
    }
}

fn line(time: SystemTime, level: Level, event: &str, fields: &[(&str, &dyn Display)]) -> String {
    let time = humantime::format_rfc3339_millis(time);
    let mut line = format!("time={time} level={} event={event}", level.name());
    for (name, value) in fields {
        let value = value.to_string();
        let plain = !value.is_empty() && !value.contains([' ', '"', '=', '\n', '\r', '\t']);
        // Writing to a string does not fail.
        let _ = if plain { write!(line, " {name}={value}") } else { write!(line, " {name}={value:?}") };
    }
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_quoted_if_it_has_to_be() {
        let time = SystemTime::UNIX_EPOCH;
        let got = line(time, Level::Warn, "failed", &[("task", &7), ("why", &"no \"file\"\nhere"), ("rest", &"")]);
        let expected = "time=1970-01-01T00:00:00.000Z level=warn event=failed task=7 \
                        why=\"no \\\"file\\\"\\nhere\" rest=\"\"\n";
        assert_eq!(got, expected);
    }
}
