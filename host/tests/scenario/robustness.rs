// SPDX-License-Identifier: Apache-2.0
//! Whatever is in the file and on the command line: an answer, never a crash.

use proptest::prelude::*;

use crate::common::{check_with, set};

/// A valid scenario that uses most keys.
const FULL: &str = r#"name = "full"
seed = 1
variants = ["stock", "driver"]
[device]
cpu_mhz = [50, 100]
address = "10.0.0.1/24"
[[task]]
name = "axis"
priority = 6
period_us = 1000
deadline_us = 1000
source = "axis.c"
[[task]]
name = "command"
priority = 5
listen = "udp/5005"
binomial = [20, 10]
reply_bytes = 4
[task.flow]
capacity = 2
period_us = 1000
from = "10.0.0.2"
[[traffic]]
to = "udp/5005"
pattern = "uniform"
rate_pps = [0, 500]
[[traffic]]
pattern = "request"
to = "udp/5005"
rate_pps = 5
[[traffic]]
pattern = "pcap"
file = "plant.pcap"
to = "device"
[nic]
queues = 8
[limit]
capacity = 7
period_us = 1000
"#;

/// Words that mean something to the reader, to be put where they do not belong.
const WORDS: &[&str] = &[
    "0",
    "-1",
    "1e400",
    "nan",
    "inf",
    "99999999999999999999999999999999999999999",
    "[]",
    "[[task]]",
    "[task]",
    "[1, 2]",
    "{}",
    "true",
    "\"\"",
    "''",
    "\"udp/5005\"",
    "\n",
    " = ",
    "rate_pps",
    "name",
    "\u{feff}",
    "é",
    "#",
    "1979-05-27",
    "\t",
    "\r\n",
    "\0",
    "[[traffic]]",
    "[task.flow]",
    "pattern = \"line-rate\"",
    "\"10.0.0.1/8\"",
];

/// Shows whatever comes out: that must not fail either.
fn show(text: &[u8], options: &[&str]) {
    match check_with(text, &set(options)) {
        Ok(checked) => {
            assert!(!checked.cases.is_empty());
            checked.warnings.render(true);
        }
        Err(errors) => {
            let report = errors.report();
            assert!(!report.render(true).is_empty());
            report.problems().iter().for_each(|problem| {
                report.line_column(problem);
            });
        }
    }
}

#[test]
fn the_full_scenario_is_valid() {
    assert_eq!(crate::common::cases(FULL).len(), 4);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        show(&bytes, &[]);
    }

    #[test]
    fn any_text(text in "\\PC{0,200}") {
        show(text.as_bytes(), &[]);
    }

    #[test]
    fn a_scenario_with_bytes_changed(changes in proptest::collection::vec((0..FULL.len(), any::<u8>()), 1..8)) {
        let mut bytes = FULL.as_bytes().to_vec();
        for (index, byte) in changes {
            bytes[index] = byte;
        }
        show(&bytes, &[]);
    }

    #[test]
    fn a_scenario_with_words_and_lines_exchanged(
        words in proptest::collection::vec((0..FULL.len(), 0..20usize, 0..WORDS.len()), 1..4),
        from in 0..40usize, to in 0..40usize,
    ) {
        let mut text = FULL.to_owned();
        for (start, length, word) in words {
            let start = start.min(text.len());
            let end = (start + length).min(text.len());
            if text.is_char_boundary(start) && text.is_char_boundary(end) {
                text.replace_range(start..end, WORDS[word]);
            }
        }
        let mut lines: Vec<&str> = text.lines().collect();
        let (from, to) = (from % lines.len(), to % lines.len());
        lines.swap(from, to);
        show(lines.join("\n").as_bytes(), &[]);
    }

    #[test]
    fn a_value_of_another_kind(line in 0..40usize, word in 0..WORDS.len()) {
        let mut lines: Vec<String> = FULL.lines().map(str::to_owned).collect();
        let line = line % lines.len();
        if let Some((key, _)) = lines[line].split_once('=') {
            lines[line] = format!("{key}= {}", WORDS[word]);
        }
        show(lines.join("\n").as_bytes(), &[]);
    }

    #[test]
    fn any_option(option in "\\PC{0,40}", key in 0..6usize, word in 0..WORDS.len()) {
        let keys = ["seed", "device.tick_us", "task.axis.work_us", "task.axis.flow.from", "traffic.uniform.name", "variants"];
        show(FULL.as_bytes(), &[&option]);
        show(FULL.as_bytes(), &[&format!("{}={}", keys[key], WORDS[word])]);
        show(FULL.as_bytes(), &[&format!("{}={option}", keys[key])]);
    }
}
