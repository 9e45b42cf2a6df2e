// SPDX-License-Identifier: Apache-2.0
//! Why a capture cannot be used, in words that say what would be right.

use std::fmt;
use std::path::PathBuf;

use super::capture::{MAX_CAPTURE_BYTES, MAX_FRAME_BYTES};

/// A capture file that cannot be used.
#[derive(Debug)]
pub struct CaptureError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: CaptureProblem,
}

/// What is wrong with a capture. Records count from 1.
#[derive(Debug)]
pub enum CaptureProblem {
    /// It cannot be read.
    Unreadable(std::io::Error),
    /// It has no bytes.
    Empty,
    /// It has more than [`MAX_CAPTURE_BYTES`].
    TooLarge {
        /// Its size.
        bytes: u64,
    },
    /// It is something else.
    NotACapture {
        /// What it looks like.
        looks_like: &'static str,
    },
    /// It has no frames.
    NoFrames,
    /// It ends inside a record or block.
    Truncated {
        /// The last whole record.
        after_record: u64,
    },
    /// A field of the file format has an impossible value.
    Damaged {
        /// The last good record.
        after_record: u64,
        /// Which field.
        what: String,
    },
    /// Frames were cut when they were captured.
    Cut {
        /// Frames that were cut.
        frames: u64,
        /// All frames.
        of: u64,
        /// The first of them.
        first_record: u64,
    },
    /// The frames are not Ethernet.
    LinkType {
        /// The first such record.
        record: u64,
        /// Number of the link type.
        number: u32,
    },
    /// Frames are longer than Ethernet carries.
    Oversized {
        /// Frames that are too long.
        frames: u64,
        /// The first of them.
        first_record: u64,
        /// Length of that one.
        bytes: usize,
    },
    /// A record has no time stamp.
    NoTime {
        /// The record.
        record: u64,
        /// Kind of block.
        block: &'static str,
    },
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.problem)
    }
}

impl std::error::Error for CaptureError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.problem {
            CaptureProblem::Unreadable(error) => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for CaptureProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CaptureProblem::Unreadable(error) => write!(f, "cannot be read: {error}"),
            CaptureProblem::Empty => f.write_str("the file is empty; a capture has at least a file header and a frame"),
            CaptureProblem::TooLarge { bytes } => write!(
                f,
                "the file has {bytes} bytes, the limit is {MAX_CAPTURE_BYTES}; cut the part you need out of it \
                 (editcap -c, or -A and -B)"
            ),
            CaptureProblem::NotACapture { looks_like } => {
                write!(f, "not a pcap or pcapng capture, {looks_like}")
            }
            CaptureProblem::NoFrames => f.write_str("the capture has no frames; nothing could be replayed"),
            CaptureProblem::Truncated { after_record } => write!(
                f,
                "the file ends in the middle, after record {after_record}; copy it again, or keep its whole \
                 records with editcap IN OUT"
            ),
            CaptureProblem::Damaged { after_record, what } => {
                write!(f, "the file is damaged after record {after_record}: {what}")
            }
            CaptureProblem::Cut { frames, of, first_record } => write!(
                f,
                "{frames} of {of} frames were cut short when they were captured, first record {first_record}; \
                 record with snaplen 0 (tcpdump -s 0)"
            ),
            CaptureProblem::LinkType { record, number } => write_link_type(f, *record, *number),
            CaptureProblem::Oversized { frames, first_record, bytes } => write!(
                f,
                "{frames} frames are longer than the {MAX_FRAME_BYTES} bytes Ethernet carries, first record \
                 {first_record} with {bytes}; segmentation offload made them, they were never on the wire: \
                 record again after ethtool -K IF gro off gso off tso off, or record at another machine"
            ),
            CaptureProblem::NoTime { record, block } => write!(
                f,
                "record {record} is in a {block}, without a time stamp that could be replayed; needed are enhanced \
                 packet blocks, as dumpcap and Wireshark write them"
            ),
        }
    }
}

fn write_link_type(f: &mut fmt::Formatter<'_>, record: u64, number: u32) -> fmt::Result {
    let (name, right) = match number {
        0 | 108 => ("BSD loopback", "record at an Ethernet interface"),
        9 => ("PPP", "record at an Ethernet interface"),
        12 | 101 | 228 | 229 => ("raw IP, as of a tunnel", "record at the Ethernet interface below the tunnel"),
        105 | 119 | 127 | 163 => ("IEEE 802.11 wireless", "record on the wired side of the access point"),
        113 | 276 => ("Linux cooked", "record at one interface (tcpdump -i eth0), not at \"any\""),
        189 | 220 | 249 => ("USB", "record at an Ethernet interface"),
        227 => ("CAN", "record at an Ethernet interface"),
        _ => ("not known here", "record at an Ethernet interface"),
    };
    write!(f, "record {record} has link type {number} ({name}), needed is 1 (Ethernet): {right}")
}
