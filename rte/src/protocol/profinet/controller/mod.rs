// SPDX-License-Identifier: Apache-2.0
//! A simple controller, as a tool for commissioning and test: it looks for one device, connects, exchanges data, reads
//! and writes records, acknowledges alarms, releases. It is one lane; its user has a [`Handle`].

mod alarms;
mod call;
mod connection;
mod cyclic;
mod finding;
mod lane;
#[cfg(test)]
mod life;
mod plan;
mod settings;
mod statistics;
#[cfg(test)]
mod tests;

use std::net::Ipv4Addr;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

pub use lane::Controller;
pub use settings::{Cycle, Parameter, Settings};
pub use statistics::Statistics;

use super::wire::rta::Notification;
use super::wire::status::Status;
use crate::application::triple_buffer::{Consumer, Producer, triple_buffer};
use crate::protocol::Mac;

/// Commands that wait, and events that were not heard yet.
const QUEUE_MAX: usize = 64;

/// How far it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Looks for the device by its name.
    #[default]
    Looking,
    /// Gives it an address.
    Addressing,
    /// Connects.
    Connecting,
    /// Writes parameters and says that these were all.
    Parameterising,
    /// Waits until the device is ready.
    Waiting,
    /// Exchanges data.
    Data,
    /// Releases the connection.
    Releasing,
    /// Released: rests until it is told to connect again.
    Released,
    /// Lost the connection, or did not get one; tries again later.
    Pausing,
}

/// What the user wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Reads a record.
    Read {
        /// Slot.
        slot: u16,
        /// Subslot.
        subslot: u16,
        /// Index.
        index: u16,
        /// At most so many bytes.
        bytes: u32,
    },
    /// Writes a record.
    Write(Parameter),
    /// Releases the connection, or the next one if there is none.
    Release,
    /// Connects again.
    Connect,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// It is in another phase.
    Phase(Phase),
    /// A record was read: its index, and the record or why not.
    Read(u16, Result<Vec<u8>, Status>),
    /// A record was written: its index, and whether.
    Written(u16, Status),
    /// The device has raised an alarm, which was acknowledged.
    Alarm(Notification),
}

/// What is sent to the device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outputs {
    /// The submodules' outputs one after the other, in the order of slots and subslots.
    pub image: Vec<u8>,
    /// Whether the controller's program runs.
    pub run: bool,
}

/// What there is to see.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// How far it is.
    pub phase: Phase,
    /// The submodules' inputs one after the other.
    pub inputs: Vec<u8>,
    /// Whether they are good.
    pub good: bool,
    /// The device's Ethernet address, once it is known.
    pub device: Option<(Mac, Ipv4Addr)>,
    /// How evenly frames came since the connection is there.
    pub statistics: Statistics,
    /// How often there was a connection.
    pub connections: u64,
    /// How often it was lost.
    pub lost: u64,
}

/// The user's side. Nothing of it makes the lane wait.
#[derive(Debug)]
pub struct Handle {
    outputs: Producer<Outputs>,
    view: Consumer<View>,
    commands: SyncSender<Command>,
    events: Receiver<Event>,
}

/// The lane's side.
struct Side {
    outputs: Consumer<Outputs>,
    view: Producer<View>,
    commands: Receiver<Command>,
    events: SyncSender<Event>,
}

fn sides(view: View, outputs: usize) -> (Handle, Side) {
    let (output_producer, output_consumer) = triple_buffer(Outputs { image: vec![0; outputs], run: true });
    let (view_producer, view_consumer) = triple_buffer(view);
    let (command_sender, command_receiver) = sync_channel(QUEUE_MAX);
    let (event_sender, event_receiver) = sync_channel(QUEUE_MAX);
    let handle =
        Handle { outputs: output_producer, view: view_consumer, commands: command_sender, events: event_receiver };
    let side = Side { outputs: output_consumer, view: view_producer, commands: command_receiver, events: event_sender };
    (handle, side)
}

impl Handle {
    /// Sends other outputs from now on.
    pub fn set_outputs(&mut self, image: &[u8], run: bool) {
        self.outputs.publish(|to| {
            to.image.clear();
            to.image.extend_from_slice(image);
            to.run = run;
        });
    }

    /// What there is to see.
    pub fn view(&mut self) -> View {
        self.view.newest(|view, _| view.clone())
    }

    /// Wants something done. Answers `false` if too much waits already.
    pub fn command(&self, command: Command) -> bool {
        self.commands.try_send(command).is_ok()
    }

    /// The next thing that happened, if there is one. What nobody hears is dropped when there is too much of it.
    pub fn event(&self) -> Option<Event> {
        self.events.try_recv().ok()
    }
}
