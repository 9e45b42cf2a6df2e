// SPDX-License-Identifier: Apache-2.0
//! Tracks, slices and moments, written in the order that Perfetto wants.

use prost::Message;

use super::perfetto_proto::{
    AnnotationValue, ChildTracksOrdering, CounterDescriptor, DebugAnnotation, EventType, PacketData, Trace,
    TracePacket, TrackDescriptor, TrackEvent,
};

/// A track that takes slices.
#[derive(Debug, Clone, Copy)]
pub struct Row(pub u64);

/// Tracks of one name that the viewer shows as one, so that slices may overlap.
pub struct Rows {
    parent: u64,
    name: String,
    rank: usize,
    /// Each with the time at which it is free again.
    rows: Vec<(Row, u64)>,
}

/// Collects a trace.
pub struct Writer {
    cpu_hz: u64,
    next_track: u64,
    tracks: Vec<TrackDescriptor>,
    /// Time in nanoseconds, then order at one time: ends, begins, moments.
    events: Vec<(u64, u8, TrackEvent)>,
}

impl Rows {
    /// No track yet.
    pub fn new(parent: u64, name: &str, rank: usize) -> Self {
        Self { parent, name: name.into(), rank, rows: Vec::new() }
    }

    /// A track that is free from `start`, taken until `end`.
    pub fn place(&mut self, writer: &mut Writer, start: u64, end: u64) -> Row {
        match self.rows.iter_mut().find(|(_, free)| *free <= start) {
            Some((row, free)) => {
                *free = end;
                *row
            }
            None => {
                let row = writer.row(self.parent, &self.name, self.rank);
                self.rows.push((row, end));
                row
            }
        }
    }
}

impl Writer {
    /// Nothing yet. Tracks made by [`Writer::row`] are numbered from `first_track`.
    pub fn new(cpu_hz: u64, first_track: u64) -> Self {
        Self { cpu_hz: cpu_hz.max(1), next_track: first_track, tracks: Vec::new(), events: Vec::new() }
    }

    /// A time in microseconds.
    pub fn us(&self, cycle: u64) -> f64 {
        cycle as f64 * 1e6 / self.cpu_hz as f64
    }

    /// A track that only holds others, in the order of their ranks.
    pub fn group(&mut self, uuid: u64, name: &str) {
        let child_ordering = Some(ChildTracksOrdering::Explicit as i32);
        self.tracks.push(TrackDescriptor { child_ordering, ..described(uuid, name) });
    }

    /// A track below `parent`.
    pub fn track(&mut self, uuid: u64, parent: u64, name: &str, rank: usize) {
        let (parent_uuid, sibling_order_rank) = (Some(parent), i32::try_from(rank).ok());
        self.tracks.push(TrackDescriptor { parent_uuid, sibling_order_rank, ..described(uuid, name) });
    }

    /// A track below `parent`, numbered by the writer.
    pub fn row(&mut self, parent: u64, name: &str, rank: usize) -> Row {
        let uuid = self.next_track;
        self.next_track += 1;
        self.track(uuid, parent, name, rank);
        Row(uuid)
    }

    /// A track below `parent` that shows a number, above its siblings.
    pub fn counter_track(&mut self, uuid: u64, parent: u64, name: &str, unit: &str) {
        let counter = Some(CounterDescriptor { unit_name: Some(unit.into()) });
        let (parent_uuid, sibling_order_rank) = (Some(parent), Some(0));
        self.tracks.push(TrackDescriptor { counter, parent_uuid, sibling_order_rank, ..described(uuid, name) });
    }

    /// A slice from `start` to `end`, or a moment if they are the same. Slices of one row nest; outer ones come first.
    pub fn slice(
        &mut self,
        row: Row,
        start: u64,
        end: u64,
        name: &str,
        args: Vec<DebugAnnotation>,
        flow_ids: Vec<u64>,
    ) {
        if self.ns(end) <= self.ns(start) {
            return self.instant(row, start, name, args, flow_ids);
        }
        let begin = TrackEvent { debug_annotations: args, flow_ids, ..event(EventType::SliceBegin, row.0, name) };
        self.events.push((self.ns(start), 1, begin));
        let end_event = TrackEvent { name: None, ..event(EventType::SliceEnd, row.0, "") };
        self.events.push((self.ns(end), 0, end_event));
    }

    /// A moment.
    pub fn instant(&mut self, row: Row, at: u64, name: &str, args: Vec<DebugAnnotation>, flow_ids: Vec<u64>) {
        let moment = TrackEvent { debug_annotations: args, flow_ids, ..event(EventType::Instant, row.0, name) };
        self.events.push((self.ns(at), 2, moment));
    }

    /// A counter's new value.
    pub fn count(&mut self, uuid: u64, at: u64, value: i64) {
        let counted = TrackEvent { name: None, counter_value: Some(value), ..event(EventType::Counter, uuid, "") };
        self.events.push((self.ns(at), 2, counted));
    }

    /// The file.
    pub fn finish(mut self) -> Vec<u8> {
        self.events.sort_by_key(|(time, order, _)| (*time, *order));
        self.end_arrows();
        let tracks = self.tracks.into_iter().map(|track| (None, PacketData::TrackDescriptor(track)));
        let events = self.events.into_iter().map(|(time, _, event)| (Some(time), PacketData::TrackEvent(event)));
        let packet = |(index, (timestamp, data))| TracePacket {
            timestamp,
            trusted_packet_sequence_id: Some(1),
            sequence_flags: (index == 0).then_some(1),
            data: Some(data),
        };
        Trace { packet: tracks.chain(events).enumerate().map(packet).collect() }.encode_to_vec()
    }

    /// Marks the last event of every arrow as its end.
    fn end_arrows(&mut self) {
        let mut ended = std::collections::HashSet::new();
        for (_, _, event) in self.events.iter_mut().rev() {
            let (last, on): (Vec<u64>, Vec<u64>) = event.flow_ids.iter().partition(|id| ended.insert(**id));
            event.flow_ids = on;
            event.terminating_flow_ids = last;
        }
    }

    fn ns(&self, cycle: u64) -> u64 {
        let ns = u128::from(cycle) * 1_000_000_000 / u128::from(self.cpu_hz);
        u64::try_from(ns).unwrap_or(u64::MAX)
    }
}

/// An argument in microseconds.
pub fn arg_us(name: &str, value: f64) -> DebugAnnotation {
    argument(name, AnnotationValue::DoubleValue((value * 1000.0).round() / 1000.0))
}

/// A whole number.
pub fn arg_whole(name: &str, value: i64) -> DebugAnnotation {
    argument(name, AnnotationValue::IntValue(value))
}

/// Text.
pub fn arg_text(name: &str, value: &str) -> DebugAnnotation {
    argument(name, AnnotationValue::StringValue(value.into()))
}

/// Yes or no.
pub fn arg_flag(name: &str, value: bool) -> DebugAnnotation {
    argument(name, AnnotationValue::BoolValue(value))
}

fn argument(name: &str, value: AnnotationValue) -> DebugAnnotation {
    DebugAnnotation { name: Some(name.into()), value: Some(value) }
}

fn described(uuid: u64, name: &str) -> TrackDescriptor {
    TrackDescriptor { uuid: Some(uuid), name: Some(name.into()), ..TrackDescriptor::default() }
}

fn event(kind: EventType, track: u64, name: &str) -> TrackEvent {
    TrackEvent { r#type: Some(kind as i32), track_uuid: Some(track), name: Some(name.into()), ..TrackEvent::default() }
}
