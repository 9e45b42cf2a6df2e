// SPDX-License-Identifier: Apache-2.0
//! `weir-io describe`: what engineering tools want to read.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand};
use say::say;
use weir_io::configuration::Configuration;
use weir_io::protocol::profinet::gsdml;

/// Writes the description of a device for engineering tools
#[derive(Debug, Args)]
pub struct DescribeArguments {
    #[command(subcommand)]
    which: Which,
}

#[derive(Debug, Subcommand)]
enum Which {
    /// GSDML of the PROFINET device (not checked by PI's GSD checker)
    Profinet {
        /// The configuration
        file: PathBuf,
        /// The folder that it is written to
        #[arg(long, default_value = ".")]
        folder: PathBuf,
        /// Date in its name, as 2026-01-31; left out: today
        #[arg(long, value_parser = date)]
        date: Option<(u16, u8, u8)>,
    },
    /// CSP+ of a CC-Link slave (not checked by CLPA's CSP+ tool, whose schema is not public)
    Cclink {
        /// The configuration
        file: PathBuf,
        /// Which slave, if there are several
        #[arg(long, default_value = "cclink")]
        name: String,
        /// The folder that it is written to
        #[arg(long, default_value = ".")]
        folder: PathBuf,
        /// Date in it, as 2026-01-31; left out: today
        #[arg(long, value_parser = date)]
        date: Option<(u16, u8, u8)>,
    },
}

/// Writes it.
pub fn run(arguments: &DescribeArguments) -> Result<(), String> {
    match &arguments.which {
        Which::Profinet { file, folder, date } => profinet(file, folder, *date),
        Which::Cclink { file, name, folder, date } => cclink(file, name, folder, *date),
    }
}

fn profinet(file: &Path, folder: &Path, date: Option<(u16, u8, u8)>) -> Result<(), String> {
    let configuration = Configuration::read(file).map_err(|error| error.to_string())?;
    let Some(model) = &configuration.profinet else {
        return Err(format!("{}: there is no [profinet] to describe", file.display()));
    };
    let points = &configuration.points;
    let description = gsdml::describe(model, &points.inputs, &points.outputs, date.unwrap_or_else(today));
    let path = folder.join(description.file);
    fs::write(&path, description.text).map_err(|error| format!("{}: {error}", path.display()))?;
    say!("{} is written; PI's GSD checker has not seen it", path.display());
    Ok(())
}

fn cclink(file: &Path, name: &str, folder: &Path, date: Option<(u16, u8, u8)>) -> Result<(), String> {
    let configuration = Configuration::read(file).map_err(|error| error.to_string())?;
    let Some(slave) = configuration.cclink.iter().find(|slave| slave.name == name) else {
        let names: Vec<_> = configuration.cclink.iter().map(|slave| slave.name.as_str()).collect();
        return Err(match names.is_empty() {
            true => format!("{}: there is no [[cclink]] to describe", file.display()),
            false => {
                format!("{}: there is no [[cclink]] called \"{name}\": --name {}", file.display(), names.join(" or "))
            }
        });
    };
    let device = &configuration.device.name;
    let plain: String = device.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let path = folder.join(format!("{plain}-{name}.cspp"));
    let text = slave.describe(device, date.unwrap_or_else(today));
    fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    say!("{} is written; CLPA's CSP+ tool has not seen it", path.display());
    Ok(())
}

fn date(text: &str) -> Result<(u16, u8, u8), String> {
    let wrong = || "a date is written as 2026-01-31".to_owned();
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts[..] else { return Err(wrong()) };
    let number = |text: &str| text.parse::<u16>().map_err(|_| wrong());
    match (number(year)?, number(month)?, number(day)?) {
        (year @ 1970..=9999, month @ 1..=12, day @ 1..=31) => Ok((year, month as u8, day as u8)),
        _ => Err(wrong()),
    }
}

/// Today, in UTC.
fn today() -> (u16, u8, u8) {
    let days = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / 86_400);
    civil(days)
}

/// Year, month and day of a day since 1970 (Howard Hinnant, "chrono-compatible low-level date algorithms").
fn civil(days: u64) -> (u16, u8, u8) {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day_of_month = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    ((era * 400 + year + u64::from(month <= 2)) as u16, month as u8, day_of_month as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_their_dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(59), (1970, 3, 1));
        assert_eq!(civil(19_782), (2024, 2, 29));
        assert_eq!(civil(20_819), (2027, 1, 1));
        assert_eq!(date("2026-01-31"), Ok((2026, 1, 31)));
        assert!(date("2026-13-01").is_err() && date("today").is_err());
    }
}
