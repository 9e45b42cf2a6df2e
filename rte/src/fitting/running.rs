// SPDX-License-Identifier: Apache-2.0
//! A protocol's lanes, each in a thread of its own.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use super::Error;
use super::driver::{Command, Driver, Event, Surroundings, Waker};
use super::interface::Interface;
use super::policy::Wanted;
use crate::protocol::{Address, Lane};

/// Events that wait to be heard; more are dropped and counted.
const EVENTS_MAX: usize = 256;
/// A lane's stack. All of it is locked in memory when memory is.
const STACK_BYTES: usize = 512 * 1024;

struct Controls {
    name: String,
    commands: Sender<Command>,
    waker: Waker,
}

/// Tells lanes that run what they must know, from any thread.
#[derive(Clone)]
pub struct Handle(Arc<[Controls]>);

/// Lanes that run.
pub struct Running {
    handle: Handle,
    threads: Vec<JoinHandle<Option<Box<dyn Lane>>>>,
    events: Receiver<Event>,
}

/// Starts a protocol's lanes on an interface, in the calling thread's network namespace.
///
/// ```no_run
/// # fn lanes() -> Vec<Box<dyn weir_io::protocol::Lane>> { Vec::new() }
/// use weir_io::fitting::{interface::Interface, running};
/// let interface = Interface::open("eth0")?;
/// let running = running::start(&interface, interface.address(), lanes())?;
/// while let Some(event) = running.event(std::time::Duration::from_secs(1)) {
///     println!("{event:?}");
/// }
/// running.stop();
/// # Ok::<(), weir_io::fitting::Error>(())
/// ```
///
/// # Errors
/// If a port cannot be opened, with the way out. Then none of them runs.
pub fn start(interface: &Interface, address: Address, lanes: Vec<Box<dyn Lane>>) -> Result<Running, Error> {
    start_fitted(interface, address, lanes, Wanted::PLAIN)
}

/// As [`start`]; cyclic lanes get their turn as it is wanted.
///
/// # Errors
/// As [`start`]. A turn that cannot be had is told by an event: a named one ends the lane.
pub fn start_fitted(
    interface: &Interface,
    address: Address,
    lanes: Vec<Box<dyn Lane>>,
    wanted: Wanted,
) -> Result<Running, Error> {
    let failed = |error: std::io::Error| Error::new(format!("a lane cannot be started: {error}"));
    let (events, heard) = sync_channel(EVENTS_MAX);
    let wakers = lanes.iter().map(|_| Waker::new()).collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let mut drivers = Vec::new();
    for (n, lane) in lanes.into_iter().enumerate() {
        let (commands, receiver) = channel();
        let others = wakers.iter().enumerate().filter(|(other, _)| *other != n).map(|(_, waker)| waker.clone());
        let around = Surroundings {
            own: wakers[n].clone(),
            others: others.collect(),
            commands: receiver,
            events: events.clone(),
            address,
            wanted,
        };
        drivers.push((Driver::open(lane, interface, around)?, commands));
    }
    let (mut threads, mut controls) = (Vec::new(), Vec::new());
    for ((driver, commands), waker) in drivers.into_iter().zip(wakers) {
        let name = driver.name().to_owned();
        let events = events.clone();
        let builder = Builder::new().name(name.clone()).stack_size(STACK_BYTES);
        threads.push(builder.spawn(move || run(driver, &events)).map_err(failed)?);
        controls.push(Controls { name, commands, waker });
    }
    Ok(Running { handle: Handle(controls.into()), threads, events: heard })
}

/// Tells that a lane has ended, even if it panics.
struct Farewell<'a> {
    lane: String,
    reason: Option<String>,
    events: &'a SyncSender<Event>,
}

impl Drop for Farewell<'_> {
    fn drop(&mut self) {
        // Whoever listens has room for it sooner or later, or does not listen any more.
        let _ = self.events.send(Event::Ended { lane: self.lane.clone(), reason: self.reason.take() });
    }
}

fn run(driver: Driver, events: &SyncSender<Event>) -> Option<Box<dyn Lane>> {
    let reason = Some("it panicked: an error in the program".to_owned());
    let mut farewell = Farewell { lane: driver.name().to_owned(), reason, events };
    let (lane, reason) = match driver.run() {
        Ok(lane) => (Some(lane), None),
        Err(error) => (None, Some(error.to_string())),
    };
    farewell.reason = reason;
    lane
}

impl Handle {
    fn command(&self, command: impl Fn() -> Command) {
        for lane in self.0.iter() {
            // One that has ended says so by an event.
            let _ = lane.commands.send(command());
            lane.waker.wake();
        }
    }

    /// Tells the lanes that the interface has another address.
    pub fn address_changed(&self, address: Address) {
        self.command(|| Command::Address(address));
    }

    /// Has all lanes say their last words and end. Each tells so by an event.
    pub fn stop(&self) {
        self.command(|| Command::Stop);
    }

    /// What each lane and its driver have counted, by the lane's name. A lane that has ended is left out.
    pub fn counters(&self) -> Vec<(String, Vec<(&'static str, u64)>)> {
        let mut all = Vec::new();
        for lane in self.0.iter() {
            let (answer, answered) = sync_channel(1);
            let _ = lane.commands.send(Command::Counters(answer));
            lane.waker.wake();
            if let Ok(counters) = answered.recv_timeout(Duration::from_secs(1)) {
                all.push((lane.name.clone(), counters));
            }
        }
        all
    }
}

impl Running {
    /// Tells the lanes things, from any thread.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Tells the lanes that the interface has another address.
    pub fn address_changed(&self, address: Address) {
        self.handle.address_changed(address);
    }

    /// The next thing that lanes want known, or none within `patience`.
    pub fn event(&self, patience: Duration) -> Option<Event> {
        self.events.recv_timeout(patience).ok()
    }

    /// What each lane and its driver have counted, by the lane's name. A lane that has ended is left out.
    pub fn counters(&self) -> Vec<(String, Vec<(&'static str, u64)>)> {
        self.handle.counters()
    }

    /// Stops all lanes. Answers those that were stopped, to look at; one that had ended before is left out.
    pub fn stop(self) -> Vec<Box<dyn Lane>> {
        self.handle.stop();
        // A lane that says its last words to a full queue must not wait for it.
        drop(self.events);
        self.threads.into_iter().filter_map(|thread| thread.join().ok().flatten()).collect()
    }
}
