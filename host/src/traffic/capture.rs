// SPDX-License-Identifier: Apache-2.0
//! Reads capture files: pcap and pcapng, either byte order, micro- and nanoseconds.

use std::path::Path;

use pcap_file::pcap::PcapParser;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::pcapng::{Block, PcapNgParser};
use pcap_file::{DataLink, PcapError, TsResolution};

use super::capture_error::{CaptureError, CaptureProblem};
use super::{capture_notes, headers};

/// Largest file that is read.
pub const MAX_CAPTURE_BYTES: u64 = 1 << 30;
/// Longest frame without FCS and VLAN tags; each tag allows 4 bytes more.
pub const MAX_FRAME_BYTES: usize = 1514;

const VLAN_TAG_BYTES: usize = 4;
const NS_PER_S: i128 = 1_000_000_000;
const SECTION_HEADER: [u8; 4] = [0x0A, 0x0D, 0x0D, 0x0A];
const PACKET_BLOCK: u32 = 2;
const SIMPLE_PACKET_BLOCK: u32 = 3;
const ENHANCED_PACKET_BLOCK: u32 = 6;

/// The frames of a capture.
#[derive(Debug, Clone)]
pub struct Capture {
    /// Frames in the order of their time stamps, each with its nanoseconds since the first.
    pub frames: Vec<(u64, Vec<u8>)>,
    /// What a user should know about the file although it can be used.
    pub notes: Vec<String>,
}

impl Capture {
    /// Reads the file as a whole and checks it.
    pub fn open(path: impl AsRef<Path>) -> Result<Capture, CaptureError> {
        let path = path.as_ref();
        read(path)
            .and_then(|bytes| Capture::parse(&bytes))
            .map_err(|problem| CaptureError { path: path.to_owned(), problem })
    }

    /// The frames of a capture file with this content.
    pub fn parse(bytes: &[u8]) -> Result<Capture, CaptureProblem> {
        let mut records = Records::default();
        match bytes.first_chunk() {
            _ if bytes.is_empty() => return Err(CaptureProblem::Empty),
            Some(&SECTION_HEADER) => read_pcapng(bytes, &mut records)?,
            Some([0xA1, 0xB2, 0xC3, 0xD4] | [0xD4, 0xC3, 0xB2, 0xA1]) => read_pcap(bytes, &mut records)?,
            Some([0xA1, 0xB2, 0x3C, 0x4D] | [0x4D, 0x3C, 0xB2, 0xA1]) => read_pcap(bytes, &mut records)?,
            _ => {
                return Err(CaptureProblem::NotACapture { looks_like: looks_like(bytes) });
            }
        }
        records.into_capture()
    }
}

fn read(path: &Path) -> Result<Vec<u8>, CaptureProblem> {
    let bytes = std::fs::metadata(path).map_err(CaptureProblem::Unreadable)?.len();
    if bytes > MAX_CAPTURE_BYTES {
        return Err(CaptureProblem::TooLarge { bytes });
    }
    std::fs::read(path).map_err(CaptureProblem::Unreadable)
}

fn looks_like(bytes: &[u8]) -> &'static str {
    match bytes {
        [0x1F, 0x8B, ..] => "it is compressed: unpack it with gunzip first",
        [0x28, 0xB5, 0x2F, 0xFD, ..] => "it is compressed: unpack it with unzstd first",
        [0xA1, 0xB2, 0xCD, 0x34, ..] | [0x34, 0xCD, 0xB2, 0xA1, ..] => {
            "it has the modified header of an old libpcap: convert it with editcap -F pcapng IN OUT"
        }
        [b'b', b't', b's', b'n', b'o', b'o', b'p', 0, ..] | [b's', b'n', b'o', b'o', b'p', 0, 0, 0, ..] => {
            "it is a snoop capture: convert it with editcap -F pcapng IN OUT"
        }
        _ => "its first bytes are of neither format; record with tcpdump -w or with Wireshark",
    }
}

/// Records as they are read.
#[derive(Debug, Default)]
struct Records {
    frames: Vec<(i128, Vec<u8>)>,
    /// Records so far, bad ones included.
    count: u64,
    cut: u64,
    first_cut: u64,
    oversized: u64,
    first_oversized: (u64, usize),
}

impl Records {
    fn push(&mut self, time_ns: i128, original_bytes: u32, data: &[u8]) -> Result<(), CaptureProblem> {
        self.count += 1;
        let original_bytes = original_bytes as usize;
        if data.len() > original_bytes {
            let what = format!("record {} holds more bytes than its frame had", self.count);
            return Err(CaptureProblem::Damaged { after_record: self.count - 1, what });
        }
        if data.len() < original_bytes {
            self.first_cut = if self.cut == 0 { self.count } else { self.first_cut };
            self.cut += 1;
        }
        if original_bytes > MAX_FRAME_BYTES + headers::vlan_tags(data) * VLAN_TAG_BYTES {
            if self.oversized == 0 {
                self.first_oversized = (self.count, original_bytes);
            }
            self.oversized += 1;
        }
        self.frames.push((time_ns, data.to_vec()));
        Ok(())
    }

    fn check_link_type(&self, link_type: DataLink) -> Result<(), CaptureProblem> {
        // The upper half of the field tells about the FCS.
        match u32::from(link_type) & 0xFFFF {
            1 => Ok(()),
            number => Err(CaptureProblem::LinkType { record: self.count + 1, number }),
        }
    }

    fn damaged(&self, error: PcapError) -> CaptureProblem {
        match error {
            PcapError::IncompleteBuffer => CaptureProblem::Truncated { after_record: self.count },
            error => CaptureProblem::Damaged { after_record: self.count, what: error.to_string() },
        }
    }

    fn into_capture(mut self) -> Result<Capture, CaptureProblem> {
        if self.cut > 0 {
            let (frames, of, first_record) = (self.cut, self.count, self.first_cut);
            return Err(CaptureProblem::Cut { frames, of, first_record });
        }
        if self.oversized > 0 {
            let (first_record, bytes) = self.first_oversized;
            return Err(CaptureProblem::Oversized { frames: self.oversized, first_record, bytes });
        }
        let notes = capture_notes::notes(&self.frames);
        self.frames.sort_by_key(|(time_ns, _)| *time_ns);
        let Some(&(first_ns, _)) = self.frames.first() else {
            return Err(CaptureProblem::NoFrames);
        };
        let since_first = |time_ns: i128| u64::try_from(time_ns - first_ns).unwrap_or(u64::MAX);
        let frames = self.frames.into_iter().map(|(time_ns, frame)| (since_first(time_ns), frame)).collect();
        Ok(Capture { frames, notes })
    }
}

fn read_pcap(bytes: &[u8], records: &mut Records) -> Result<(), CaptureProblem> {
    let (mut rest, parser) = PcapParser::new(bytes).map_err(|error| records.damaged(error))?;
    let header = parser.header();
    let ns_per_unit = match header.ts_resolution {
        TsResolution::MicroSecond => 1000,
        TsResolution::NanoSecond => 1,
    };
    while !rest.is_empty() {
        // Raw, because the checked form turns away what we want to tell apart.
        let (next, packet) = parser.next_raw_packet(rest).map_err(|error| records.damaged(error))?;
        records.check_link_type(header.datalink)?;
        let time_ns = i128::from(packet.ts_sec) * NS_PER_S + i128::from(packet.ts_frac) * ns_per_unit;
        records.push(time_ns, packet.orig_len, &packet.data)?;
        rest = next;
    }
    Ok(())
}

fn read_pcapng(bytes: &[u8], records: &mut Records) -> Result<(), CaptureProblem> {
    let (mut rest, mut parser) = PcapNgParser::new(bytes).map_err(|error| records.damaged(error))?;
    while !rest.is_empty() {
        // Only blocks that matter are read further: an odd name record should not refuse a capture.
        let (next, raw) = parser.next_raw_block(rest).map_err(|error| records.damaged(error))?;
        let record = records.count + 1;
        match raw.type_ {
            ENHANCED_PACKET_BLOCK => {
                let (_, block) = parser.next_block(rest).map_err(|error| records.damaged(error))?;
                if let Block::EnhancedPacket(packet) = block {
                    push_enhanced(&parser, &packet, records)?;
                }
            }
            PACKET_BLOCK => {
                return Err(CaptureProblem::NoTime { record, block: "packet block (obsolete)" });
            }
            SIMPLE_PACKET_BLOCK => {
                return Err(CaptureProblem::NoTime { record, block: "simple packet block" });
            }
            _ => {}
        }
        rest = next;
    }
    Ok(())
}

fn push_enhanced(
    parser: &PcapNgParser,
    packet: &EnhancedPacketBlock<'_>,
    records: &mut Records,
) -> Result<(), CaptureProblem> {
    let damaged = |what: String| CaptureProblem::Damaged { after_record: records.count, what };
    let interface = parser
        .packet_interface(packet)
        .ok_or_else(|| damaged(format!("interface {} is not described", packet.interface_id)))?;
    records.check_link_type(interface.linktype)?;
    // The crate takes every count for nanoseconds, whatever the interface says its units are.
    let units = packet.timestamp.as_nanos() as i128;
    let time_ns = time_ns(interface, units)
        .ok_or_else(|| damaged(format!("time resolution of interface {}", packet.interface_id)))?;
    records.push(time_ns, packet.original_len, &packet.data)
}

/// Nanoseconds since the epoch of a count of the interface's time units.
fn time_ns(interface: &InterfaceDescriptionBlock<'_>, units: i128) -> Option<i128> {
    let mut units_per_s: i128 = 1_000_000;
    let mut offset_s: i128 = 0;
    for option in &interface.options {
        match option {
            InterfaceDescriptionOption::IfTsResol(value) if value & 0x80 == 0 => {
                units_per_s = 10i128.checked_pow(u32::from(*value))?;
            }
            InterfaceDescriptionOption::IfTsResol(value) => {
                units_per_s = 2i128.checked_pow(u32::from(value & 0x7F))?;
            }
            // A signed number that the crate reads as unsigned.
            InterfaceDescriptionOption::IfTsOffset(value) => offset_s = i128::from(*value as i64),
            _ => {}
        }
    }
    Some(units * NS_PER_S / units_per_s + offset_s * NS_PER_S)
}
