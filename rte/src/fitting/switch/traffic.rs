// SPDX-License-Identifier: Apache-2.0
//! What goes through a switch towards one of its ports: a file with streams and load.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use toml::Spanned;

use crate::configuration::{Error, Place};

/// Preamble, start of frame and gap between frames (IEEE 802.3), in bytes: every frame occupies the wire for these, too.
pub const OVERHEAD_BYTES: u64 = 20;
/// The shortest and the longest frame with its check sequence, the latter with a VLAN tag.
const FRAME_BYTES: std::ops::RangeInclusive<u64> = 64..=1522;

/// The network around an egress port.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// Bits per second of every link.
    pub link_bps: u64,
    /// Bytes of buffer of the egress port, shared out evenly between its queues.
    pub buffer_bytes: u64,
    /// How long the simulation runs, in bit times.
    pub span: u64,
    /// All that sends.
    pub sources: Vec<Source>,
}

/// Something that sends frames of one length.
#[derive(Clone, Debug)]
pub struct Source {
    /// What it is called.
    pub name: String,
    /// The switch's port that its frames come in by. Sources at one port share its link.
    pub port: String,
    /// PCP of its frames.
    pub priority: u8,
    /// Length of a frame with its check sequence, in bytes.
    pub frame_bytes: u64,
    /// When its first frame is sent, in bit times.
    pub offset: u64,
    /// Bit times from frame to frame.
    pub period: u64,
    /// After that it sends no more, in bit times.
    pub until: u64,
    /// A stream is what the port is made for: it has a reservation. All else is load.
    pub is_stream: bool,
    /// Periods without a frame after which its receiver gives up, for a stream.
    pub watchdog: u64,
}

impl Source {
    /// Bit times that a frame occupies a link.
    pub fn wire(&self) -> u64 {
        (self.frame_bytes + OVERHEAD_BYTES) * 8
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default = "hundred")]
    link_mbit: Spanned<u64>,
    #[serde(default = "buffer")]
    buffer_kib: u64,
    #[serde(default = "second")]
    seconds: Spanned<f64>,
    stream: Vec<StreamTable>,
    #[serde(default)]
    load: Vec<LoadTable>,
}

fn hundred() -> Spanned<u64> {
    Spanned::new(0..0, 100)
}

fn buffer() -> u64 {
    64
}

fn second() -> Spanned<f64> {
    Spanned::new(0..0, 1.0)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StreamTable {
    name: String,
    port: String,
    #[serde(default = "six")]
    priority: Spanned<u8>,
    frame_bytes: Spanned<u64>,
    period_us: Spanned<u64>,
    #[serde(default)]
    offset_us: u64,
    #[serde(default = "three")]
    watchdog: u64,
}

fn six() -> Spanned<u8> {
    Spanned::new(0..0, 6)
}

fn three() -> u64 {
    3
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LoadTable {
    name: String,
    port: String,
    #[serde(default)]
    priority: Option<Spanned<u8>>,
    frame_bytes: Spanned<u64>,
    percent: Spanned<f64>,
    #[serde(default)]
    from_ms: f64,
    until_ms: Option<f64>,
}

impl Traffic {
    /// Reads a file.
    ///
    /// # Errors
    /// One line that says which line of which file is wrong, why, and what would be right.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = fs::read_to_string(path).map_err(|error| Error::new(path, &format!("cannot be read: {error}")))?;
        let place = Place { path, text: &text };
        let file: File = toml::from_str(&text).map_err(|error| place.toml(&error))?;
        Self::new(&file, &place)
    }

    fn new(file: &File, place: &Place) -> Result<Self, Error> {
        let mbit = *file.link_mbit.get_ref();
        if ![10, 100, 1000, 2500, 10_000].contains(&mbit) {
            return Err(place.at(&file.link_mbit, "a link has 10, 100, 1000, 2500 or 10000 Mbit/s"));
        }
        let seconds = *file.seconds.get_ref();
        if !(0.001..=3600.0).contains(&seconds) {
            return Err(place.at(&file.seconds, "seconds is between 0.001 and 3600"));
        }
        if file.stream.is_empty() {
            return Err(Error::new(place.path, "there is no [[stream]]: nothing to look at"));
        }
        let span = (seconds * 1e6) as u64 * mbit;
        let streams = file.stream.iter().map(|table| stream(table, mbit, span, place));
        let load = file.load.iter().map(|table| load(table, mbit, span, place));
        let sources = streams.chain(load).collect::<Result<Vec<_>, _>>()?;
        let this = Self { link_bps: mbit * 1_000_000, buffer_bytes: file.buffer_kib * 1024, span, sources };
        let reserved: f64 = this.streams().map(|source| source.wire() as f64 / source.period as f64).sum();
        if reserved > 0.75 {
            let what = format!(
                "the streams need {:.0} % of the link; IEEE 802.1Qav leaves them 75 %: longer periods, or a faster link",
                100.0 * reserved
            );
            return Err(place.at(&file.stream[0].period_us, &what));
        }
        Ok(this)
    }

    /// What the port is made for.
    pub fn streams(&self) -> impl Iterator<Item = &Source> {
        self.sources.iter().filter(|source| source.is_stream)
    }

    /// Microseconds of that many bit times.
    pub fn us(&self, bit_times: u64) -> f64 {
        bit_times as f64 * 1e6 / self.link_bps as f64
    }

    /// Bit times that the longest frame of any source occupies a link.
    pub fn longest(&self) -> u64 {
        self.sources.iter().map(Source::wire).max().unwrap_or(0)
    }
}

fn stream(table: &StreamTable, mbit: u64, span: u64, place: &Place) -> Result<Source, Error> {
    let period = *table.period_us.get_ref();
    if !(1..=1_000_000).contains(&period) {
        return Err(place.at(&table.period_us, "period_us is between 1 and 1000000"));
    }
    Ok(Source {
        name: table.name.clone(),
        port: table.port.clone(),
        priority: priority(&table.priority, place)?,
        frame_bytes: frame_bytes(&table.frame_bytes, place)?,
        offset: table.offset_us * mbit,
        period: period * mbit,
        until: span,
        is_stream: true,
        watchdog: table.watchdog,
    })
}

fn load(table: &LoadTable, mbit: u64, span: u64, place: &Place) -> Result<Source, Error> {
    let percent = *table.percent.get_ref();
    if !(percent > 0.0 && percent <= 100.0) {
        return Err(place.at(&table.percent, "percent of its link is above 0 and at most 100"));
    }
    let ms = |ms: f64| (ms.max(0.0) * 1e3) as u64 * mbit;
    let mut source = Source {
        name: table.name.clone(),
        port: table.port.clone(),
        priority: table.priority.as_ref().map_or(Ok(0), |value| priority(value, place))?,
        frame_bytes: frame_bytes(&table.frame_bytes, place)?,
        offset: ms(table.from_ms),
        period: 0,
        until: table.until_ms.map_or(span, ms),
        is_stream: false,
        watchdog: 0,
    };
    source.period = (source.wire() as f64 * 100.0 / percent).round() as u64;
    Ok(source)
}

fn priority(value: &Spanned<u8>, place: &Place) -> Result<u8, Error> {
    Some(*value.get_ref()).filter(|value| *value < 8).ok_or_else(|| place.at(value, "a priority (PCP) is 0 to 7"))
}

fn frame_bytes(value: &Spanned<u64>, place: &Place) -> Result<u64, Error> {
    let wrong = || place.at(value, "frame_bytes is 64 to 1522, check sequence included");
    Some(*value.get_ref()).filter(|value| FRAME_BYTES.contains(value)).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_files_get_one_line() {
        let stream = "[[stream]]\nname = \"a\"\nport = \"p\"\nframe_bytes = 64\nperiod_us = 1000\n";
        let error = |text: &str| {
            let path = Path::new("streams.toml");
            let place = Place { path, text };
            let file = toml::from_str::<File>(text).map_err(|error| place.toml(&error));
            file.and_then(|file| Traffic::new(&file, &place)).unwrap_err().to_string()
        };
        for (change, to, what) in [
            ("frame_bytes = 64", "frame_bytes = 63", "streams.toml:4: frame_bytes is 64 to 1522"),
            ("period_us = 1000", "period_us = 0", "streams.toml:5: period_us is between 1 and 1000000"),
            ("period_us = 1000", "period_us = 8", "streams.toml:5: the streams need 84 % of the link"),
            ("period_us = 1000", "period_us = 1000\npriority = 8", "streams.toml:6: a priority (PCP) is 0 to 7"),
            ("name = \"a\"", "name = 1", "streams.toml:2: invalid type: integer"),
        ] {
            let text = stream.replace(change, to);
            assert!(error(&text).starts_with(what), "{}", error(&text));
        }
    }
}
