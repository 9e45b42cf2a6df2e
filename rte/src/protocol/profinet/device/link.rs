// SPDX-License-Identifier: Apache-2.0
//! What the lane with the connections and the lane at the cycle tell each other, through triple buffers.

use std::sync::Arc;

use crate::application::layout::Layout;
use crate::protocol::profinet::wire::status::Status;
use crate::protocol::{Mac, Nanos};

/// Most controllers at once.
pub const CONNECTIONS_MAX: usize = 4;

/// Data of a submodule in a frame.
#[derive(Clone, Debug)]
pub struct Part {
    /// Where it begins behind the FrameID; its IOPS follows.
    pub at: usize,
    /// How long it is.
    pub bytes: usize,
    /// Which data points lie where in it, if it is plugged and this controller's: else its status is bad.
    pub layout: Option<Layout>,
}

impl Part {
    /// Where its IOPS is.
    pub fn status_at(&self) -> usize {
        self.at + self.bytes
    }
}

/// Frames from the device to the controller.
#[derive(Clone, Debug)]
pub struct Provided {
    /// FrameID.
    pub frame_id: u16,
    /// TCI of the VLAN tag.
    pub tag: u16,
    /// Data and statuses.
    pub bytes: usize,
    /// From frame to frame.
    pub period: Nanos,
    /// When in the period, counted from multiples of it.
    pub offset: Nanos,
    /// What is in them.
    pub parts: Vec<Part>,
    /// Where the IOCS of outputs are, and what they are.
    pub consumers: Vec<(usize, u8)>,
}

/// Frames from the controller to the device.
#[derive(Clone, Debug)]
pub struct Consumed {
    /// FrameID.
    pub frame_id: u16,
    /// Data and statuses.
    pub bytes: usize,
    /// Without valid data for that long, the connection is over.
    pub held: Nanos,
    /// What is in them.
    pub parts: Vec<Part>,
}

/// The cyclic part of a connection.
#[derive(Clone, Debug)]
pub struct Relation {
    /// Counts connections: none has the number of another.
    pub number: u64,
    /// The controller.
    pub mac: Mac,
    /// To it.
    pub provided: Provided,
    /// From it.
    pub consumed: Consumed,
}

/// A connection that there is.
#[derive(Clone, Debug)]
pub struct Order {
    /// What it is.
    pub relation: Arc<Relation>,
    /// Whether inputs are to be sent: the parameters are there.
    pub is_providing: bool,
}

/// To the lane at the cycle.
#[derive(Clone, Debug, Default)]
pub struct Orders {
    /// By place.
    pub relations: [Option<Order>; CONNECTIONS_MAX],
    /// The device has a diagnosis to tell.
    pub has_problem: bool,
}

/// What became of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Its number; 0 for none.
    pub number: u64,
    /// Whether valid data came.
    pub has_data: bool,
    /// Why it is over.
    pub ended: Option<Status>,
}

/// From the lane at the cycle, by place.
pub type Reports = [Report; CONNECTIONS_MAX];
