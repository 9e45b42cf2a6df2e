// SPDX-License-Identifier: Apache-2.0
//! The few messages of Perfetto's trace format that Weir writes, with Perfetto's names and field numbers
//! (`protos/perfetto/trace/perfetto_trace.proto`).

use prost::{Enumeration, Message, Oneof};

/// A whole file.
#[derive(Clone, PartialEq, Message)]
pub struct Trace {
    /// In any order; Weir sorts by time.
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<TracePacket>,
}

/// One record.
#[derive(Clone, PartialEq, Message)]
pub struct TracePacket {
    /// Nanoseconds.
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    /// Records of one writer carry one number, which is not 0.
    #[prost(uint32, optional, tag = "10")]
    pub trusted_packet_sequence_id: Option<u32>,
    /// 1 on the first record: nothing before it matters.
    #[prost(uint32, optional, tag = "13")]
    pub sequence_flags: Option<u32>,
    /// What the record says.
    #[prost(oneof = "PacketData", tags = "11, 60")]
    pub data: Option<PacketData>,
}

/// What a record says.
#[derive(Clone, PartialEq, Oneof)]
pub enum PacketData {
    /// Something happened.
    #[prost(message, tag = "11")]
    TrackEvent(TrackEvent),
    /// A track exists.
    #[prost(message, tag = "60")]
    TrackDescriptor(TrackDescriptor),
}

/// A row of the display.
#[derive(Clone, PartialEq, Message)]
pub struct TrackDescriptor {
    /// Its number.
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    /// What the user reads.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    /// The track it belongs under.
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    /// Present if it shows a number.
    #[prost(message, optional, tag = "8")]
    pub counter: Option<CounterDescriptor>,
    /// How its children are ordered.
    #[prost(enumeration = "ChildTracksOrdering", optional, tag = "11")]
    pub child_ordering: Option<i32>,
    /// Its place among its siblings.
    #[prost(int32, optional, tag = "12")]
    pub sibling_order_rank: Option<i32>,
}

/// A number over time.
#[derive(Clone, PartialEq, Message)]
pub struct CounterDescriptor {
    /// Its unit.
    #[prost(string, optional, tag = "6")]
    pub unit_name: Option<String>,
}

/// How the children of a track are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum ChildTracksOrdering {
    /// As the viewer likes.
    Unknown = 0,
    /// By name.
    Lexicographic = 1,
    /// By time.
    Chronological = 2,
    /// By `sibling_order_rank`.
    Explicit = 3,
}

/// Something that happened on a track.
#[derive(Clone, PartialEq, Message)]
pub struct TrackEvent {
    /// What the user reads after a click.
    #[prost(message, repeated, tag = "4")]
    pub debug_annotations: Vec<DebugAnnotation>,
    /// What kind.
    #[prost(enumeration = "EventType", optional, tag = "9")]
    pub r#type: Option<i32>,
    /// The track.
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
    /// What the user reads.
    #[prost(string, optional, tag = "23")]
    pub name: Option<String>,
    /// The number, on a counter's track.
    #[prost(int64, optional, tag = "30")]
    pub counter_value: Option<i64>,
    /// Arrows that pass through.
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub flow_ids: Vec<u64>,
    /// Arrows that end here.
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    pub terminating_flow_ids: Vec<u64>,
}

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum EventType {
    /// Not used.
    Unspecified = 0,
    /// A slice opens.
    SliceBegin = 1,
    /// The innermost open slice closes.
    SliceEnd = 2,
    /// A moment.
    Instant = 3,
    /// A counter's new value.
    Counter = 4,
}

/// A named value.
#[derive(Clone, PartialEq, Message)]
pub struct DebugAnnotation {
    /// The name.
    #[prost(string, optional, tag = "10")]
    pub name: Option<String>,
    /// The value.
    #[prost(oneof = "AnnotationValue", tags = "2, 4, 5, 6")]
    pub value: Option<AnnotationValue>,
}

/// The value of an annotation.
#[derive(Clone, PartialEq, Oneof)]
pub enum AnnotationValue {
    /// Yes or no.
    #[prost(bool, tag = "2")]
    BoolValue(bool),
    /// A whole number.
    #[prost(int64, tag = "4")]
    IntValue(i64),
    /// A number.
    #[prost(double, tag = "5")]
    DoubleValue(f64),
    /// Text.
    #[prost(string, tag = "6")]
    StringValue(String),
}
