// SPDX-License-Identifier: Apache-2.0
//! Alarms that applications in other processes raise, as one line of text each.
//!
//! ```text
//! process SLOT SUBSLOT STRUCTURE HEX                 process 1 1 1 0a0b
//! diagnosis SLOT SUBSLOT CHANNEL ERROR appears       diagnosis 1 1 0 6 appears
//! diagnosis SLOT SUBSLOT CHANNEL ERROR disappears
//! ```

use super::handle::Alarm;

/// Longest line.
pub const LINE_BYTES_MAX: usize = 3000;

/// Where such lines come from. Asked a hundred times a second; never waits.
pub trait Requests: Send {
    /// The next line, if there is one.
    fn next(&mut self) -> Option<String>;
}

/// The alarm that a line is about.
///
/// # Errors
/// What would be right.
pub fn parse(line: &str) -> Result<Alarm, &'static str> {
    const RIGHT: &str = "an alarm is written as \"process SLOT SUBSLOT STRUCTURE HEX\", such as \"process 1 1 1 0a0b\", or \
                         \"diagnosis SLOT SUBSLOT CHANNEL ERROR appears\" (or disappears)";
    let words: Vec<_> = line.split_whitespace().collect();
    let number = |word: &str| -> Result<u16, &'static str> {
        let hex = word.strip_prefix("0x").map(|hex| u16::from_str_radix(hex, 16));
        hex.unwrap_or_else(|| word.parse()).map_err(|_| RIGHT)
    };
    match words[..] {
        ["process", slot, subslot, structure, hex] => {
            let structure = number(structure)?;
            if structure > 0x7fff {
                return Err("the structure of a process alarm's data is 0 to 0x7fff");
            }
            let data = bytes(hex).ok_or("the data of a process alarm is 1 to 1400 bytes in hexadecimal digits")?;
            Ok(Alarm::Process { place: (number(slot)?, number(subslot)?), structure, data })
        }
        ["diagnosis", slot, subslot, channel, error, change @ ("appears" | "disappears")] => {
            let channel = number(channel)?;
            if channel > 0x8000 {
                return Err("a channel is 0 to 0x7fff, or 0x8000 for the whole submodule");
            }
            let place = (number(slot)?, number(subslot)?);
            Ok(Alarm::Diagnosis { place, channel, error: number(error)?, appears: change == "appears" })
        }
        _ => Err(RIGHT),
    }
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<_>> = hex.chars().map(|digit| digit.to_digit(16).map(|digit| digit as u8)).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0 && (2..=2800).contains(&digits.len()))?;
    Some(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_alarms_or_say_what_would_be_right() {
        let process = Alarm::Process { place: (1, 2), structure: 3, data: vec![0x0a, 0xff] };
        assert_eq!(parse("process 1 0x2 3 0aFF\n"), Ok(process));
        let diagnosis = Alarm::Diagnosis { place: (1, 1), channel: 0x8000, error: 6, appears: false };
        assert_eq!(parse("diagnosis 1 1 0x8000 6 disappears"), Ok(diagnosis));
        let long = format!("process 1 1 1 {}", "00".repeat(1401));
        for wrong in [
            "",
            "process",
            "process 1 1 1",
            "process 1 1 1 0",
            "process 1 1 1 zz",
            "process 1 1 0x8000 00",
            "process x 1 1 00",
            "diagnosis 1 1 1 1 gone",
            "diagnosis 1 1 0x8001 1 appears",
            &long,
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
