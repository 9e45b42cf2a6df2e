// SPDX-License-Identifier: Apache-2.0
//! A NIC's settings: a TOML file with a clock and queues.

use std::fmt;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::scenario::{Listen, Protocol};

/// Queues of one NIC, at most: the RTL's.
const QUEUES_MAX: usize = 64;
/// Longest timer.
const TIMER_US_MAX: u64 = 10_000_000;

/// A NIC.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What one cycle is.
    pub clock_mhz: u32,
    /// The published simulator's defect: a threshold that is reached leaves the packet timer running, which announces
    /// nothing then.
    pub empty_interrupts: bool,
    /// The published simulator's defect: what finds its queue full is gone without being counted.
    pub uncounted_losses: bool,
    /// The first that matches a frame takes it.
    pub queues: Vec<Queue>,
}

/// A queue of the NIC.
#[derive(Debug, Clone)]
pub struct Queue {
    /// Unique.
    pub name: String,
    /// Which frames.
    pub matches: Match,
    /// Restarted by each frame; 0: none.
    pub packet_cycles: u64,
    /// Bounds the wait; 0: none.
    pub absolute_cycles: u64,
    /// When the absolute timer starts.
    pub absolute_mode: AbsoluteMode,
    /// An interrupt when as many wait; 0: no threshold.
    pub frames: u32,
    /// Frames that it holds.
    pub capacity: u32,
}

/// When the absolute timer starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AbsoluteMode {
    /// With the first frame; no other one restarts it.
    FromFirst,
    /// With the NIC, again and again.
    Periodic {
        /// Of the first period's begin.
        offset_cycles: u64,
    },
}

/// Which frames are a queue's.
#[derive(Debug, Clone, Default)]
pub struct Match {
    /// Of this protocol and destination port; `None`: all.
    pub port: Option<Listen>,
    /// Of this sender; `None`: all.
    pub from: Option<Ipv4Addr>,
}

/// Why a file is no NIC's settings.
#[derive(Debug)]
pub struct SettingsError {
    path: PathBuf,
    problem: String,
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}: {}", self.path.display(), self.problem.trim_end())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default = "default_clock_mhz")]
    clock_mhz: u32,
    #[serde(default)]
    compat: Compat,
    #[serde(default)]
    queue: Vec<FileQueue>,
}

fn default_clock_mhz() -> u32 {
    100
}

/// `[compat]`.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Compat {
    empty_interrupts: bool,
    uncounted_losses: bool,
}

/// `[[queue]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileQueue {
    name: String,
    port: Option<String>,
    from: Option<Ipv4Addr>,
    #[serde(default)]
    packet_timer_us: u64,
    #[serde(default)]
    absolute_timer_us: u64,
    #[serde(default)]
    absolute_mode: FileMode,
    #[serde(default)]
    offset_us: u64,
    #[serde(default)]
    frames: u32,
    #[serde(default = "default_capacity")]
    capacity: u32,
}

fn default_capacity() -> u32 {
    128
}

#[derive(Deserialize, Default, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum FileMode {
    #[default]
    FromFirst,
    Periodic,
}

impl Settings {
    /// Reads and checks a file.
    pub fn open(path: &Path) -> Result<Settings, SettingsError> {
        let fail = |problem: String| SettingsError { path: path.to_owned(), problem };
        let text = std::fs::read_to_string(path).map_err(|error| fail(error.to_string()))?;
        Settings::parse(&text).map_err(fail)
    }

    /// Reads and checks the text of a file.
    pub fn parse(text: &str) -> Result<Settings, String> {
        let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
        if !(1..=1000).contains(&file.clock_mhz) {
            return Err(format!("`clock_mhz` is {}; it must be 1 to 1000", file.clock_mhz));
        }
        if file.queue.is_empty() || file.queue.len() > QUEUES_MAX {
            return Err(format!("{} queues; a NIC has 1 to {QUEUES_MAX}: add `[[queue]]`", file.queue.len()));
        }
        let mut queues: Vec<Queue> = Vec::new();
        for queue in file.queue {
            let name = queue.name.clone();
            let queue = read_queue(queue, file.clock_mhz).map_err(|why| format!("queue `{name}`: {why}"))?;
            if queues.iter().any(|other| other.name == name) {
                return Err(format!("two queues are called `{name}`"));
            }
            queues.push(queue);
        }
        Ok(Settings {
            clock_mhz: file.clock_mhz,
            empty_interrupts: file.compat.empty_interrupts,
            uncounted_losses: file.compat.uncounted_losses,
            queues,
        })
    }
}

fn read_queue(queue: FileQueue, clock_mhz: u32) -> Result<Queue, String> {
    for (key, value) in [
        ("packet_timer_us", queue.packet_timer_us),
        ("absolute_timer_us", queue.absolute_timer_us),
        ("offset_us", queue.offset_us),
    ] {
        if value > TIMER_US_MAX {
            return Err(format!("`{key}` is {value}; it must be 0 to {TIMER_US_MAX}"));
        }
    }
    if queue.name.is_empty() || queue.name.chars().any(|c| c.is_control() || c == ',' || c == '"') {
        return Err("a name must not be empty, and hold no comma, quote or control character".to_owned());
    }
    if queue.capacity == 0 || queue.frames > queue.capacity {
        let (capacity, frames) = (queue.capacity, queue.frames);
        return Err(format!("`capacity` is {capacity}; it must be at least 1, and at least `frames`, {frames}"));
    }
    if queue.absolute_mode == FileMode::Periodic && queue.absolute_timer_us == 0 {
        return Err("`absolute_mode = \"periodic\"` needs `absolute_timer_us`, the period".to_owned());
    }
    let cycles = |us: u64| us * u64::from(clock_mhz);
    Ok(Queue {
        name: queue.name,
        matches: Match { port: queue.port.as_deref().map(read_port).transpose()?, from: queue.from },
        packet_cycles: cycles(queue.packet_timer_us),
        absolute_cycles: cycles(queue.absolute_timer_us),
        absolute_mode: match queue.absolute_mode {
            FileMode::FromFirst => AbsoluteMode::FromFirst,
            FileMode::Periodic => AbsoluteMode::Periodic { offset_cycles: cycles(queue.offset_us) },
        },
        frames: queue.frames,
        capacity: queue.capacity,
    })
}

fn read_port(text: &str) -> Result<Listen, String> {
    let wrong = || format!("`port` is `{text}`; write \"udp/PORT\" or \"tcp/PORT\"");
    let (protocol, port) = text.split_once('/').ok_or_else(wrong)?;
    let protocol = match protocol {
        "udp" => Protocol::Udp,
        "tcp" => Protocol::Tcp,
        _ => return Err(wrong()),
    };
    Ok(Listen { protocol, port: port.parse().map_err(|_| wrong())? })
}
