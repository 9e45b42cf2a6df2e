// SPDX-License-Identifier: Apache-2.0
//! What arrives: a capture, or a list of times and senders.

use std::fmt;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use super::settings::{Match, Settings};
use crate::scenario::Listen;
use crate::traffic::{self, Capture};

const NS_PER_US: u64 = 1000;

/// A frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Clock cycle in which it is in RAM.
    pub time: u64,
    /// Its queue.
    pub queue: u8,
}

/// Frames in the order of time, sorted into the queues of a NIC.
#[derive(Debug, Clone, Default)]
pub struct Load {
    /// Those that match a queue.
    pub frames: Vec<Frame>,
    /// Number of the others: filtered.
    pub filtered: u64,
    /// What a user should know of the file although it can be used.
    pub notes: Vec<String>,
}

/// Why there are no frames.
#[derive(Debug)]
pub enum FramesError {
    /// Of a capture.
    Capture(traffic::CaptureError),
    /// Of a list: file, line (0: none), what is wrong.
    List(PathBuf, usize, String),
}

impl fmt::Display for FramesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FramesError::Capture(error) => write!(f, "error: {error}"),
            FramesError::List(path, 0, problem) => write!(f, "error: {}: {problem}", path.display()),
            FramesError::List(path, line, problem) => write!(f, "error: {}:{line}: {problem}", path.display()),
        }
    }
}

impl Load {
    /// Reads a capture (pcap, pcapng) or a list (`.csv`: a line `microseconds,sender` per frame).
    pub fn open(path: &Path, settings: &Settings) -> Result<Load, FramesError> {
        if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv")) {
            return Load::list(path, settings);
        }
        let capture = Capture::open(path).map_err(FramesError::Capture)?;
        let mut load = Load { notes: capture.notes, ..Load::default() };
        for (ns, bytes) in &capture.frames {
            let (from, port) = traffic::receiver(bytes);
            load.add(cycles(*ns, settings), from, port, settings);
        }
        Ok(load)
    }

    fn list(path: &Path, settings: &Settings) -> Result<Load, FramesError> {
        let fail = |line: usize, problem: String| FramesError::List(path.to_owned(), line, problem);
        let text = std::fs::read_to_string(path).map_err(|error| fail(0, error.to_string()))?;
        let mut load = Load::default();
        let mut last = 0;
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let (us, from) = read_line(line).ok_or_else(|| {
                fail(index + 1, format!("`{line}` is no frame; write MICROSECONDS,ADDRESS: 1500,10.0.0.2"))
            })?;
            if us < last {
                return Err(fail(index + 1, format!("time goes back, from {last} to {us}; sort the lines")));
            }
            last = us;
            load.add(us * u64::from(settings.clock_mhz), Some(from), None, settings);
        }
        if load.frames.is_empty() && load.filtered == 0 {
            return Err(fail(0, "there are no frames in it".to_owned()));
        }
        Ok(load)
    }

    fn add(&mut self, time: u64, from: Option<Ipv4Addr>, port: Option<Listen>, settings: &Settings) {
        match settings.queues.iter().position(|queue| holds(&queue.matches, from, port)) {
            Some(queue) => self.frames.push(Frame { time, queue: queue as u8 }), // at most 64
            None => self.filtered += 1,
        }
    }
}

fn cycles(ns: u64, settings: &Settings) -> u64 {
    // 128 bits: a capture may last years.
    (u128::from(ns) * u128::from(settings.clock_mhz) / u128::from(NS_PER_US)) as u64
}

fn read_line(line: &str) -> Option<(u64, Ipv4Addr)> {
    let (us, from) = line.split_once(',')?;
    // So that a product with the clock fits.
    let us = us.trim().parse().ok().filter(|us| *us < u64::MAX / 1000)?;
    Some((us, from.trim().parse().ok()?))
}

fn holds(wanted: &Match, from: Option<Ipv4Addr>, port: Option<Listen>) -> bool {
    wanted.from.is_none_or(|wanted| from == Some(wanted)) && wanted.port.is_none_or(|wanted| port == Some(wanted))
}
