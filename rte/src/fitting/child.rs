// SPDX-License-Identifier: Apache-2.0
//! A protocol's process: `weir-io protocol FILE NAME`, started by the supervisor with a socket as standard input. It
//! ends when the supervisor does, and leaves the outputs at their safe values.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::spawn;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};

use super::Error;
use super::console::tell;
use super::cpuset::Set;
use super::driver::Event;
use super::interface::Interface;
use super::message::Message;
use super::policy::{Wanted, lock_memory};
use super::protocols::{Start, protocols};
use super::running::{Handle, Running, start_fitted};
use super::system::now;
use crate::application::endpoint::Endpoint;
use crate::application::memory::Memory;
use crate::configuration::{Configuration, Fitting};
use crate::protocol::Address;

/// Where the supervisor wants a protocol's process.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The folder of the set of CPUs that it enters.
    pub set: Option<PathBuf>,
    /// The CPU that its cyclic threads are pinned to.
    pub cpu: Option<usize>,
}

/// Runs the protocol of that name until it is told to stop.
///
/// # Errors
/// Why it cannot run on.
pub fn run(configuration: &Configuration, name: &str, place: &Place) -> Result<(), Error> {
    let failed = |error: io::Error| Error::new(format!("{name}: {error}"));
    let protocols = protocols(configuration);
    let number = protocols.iter().position(|protocol| protocol.name == name);
    let number = number.ok_or_else(|| Error::new(format!("no protocol \"{name}\" is configured")))?;
    let protocol = &protocols[number];
    let endpoint = || endpoint(configuration, number);
    let made = Start { endpoint: endpoint()?, state: configuration.fitting.state.clone(), now: now() };
    let lanes = (protocol.lanes)(made)?;
    let interface = Interface::open(&configuration.device.interface)?;
    if let Some(set) = &place.set {
        Set::enter(set)?;
    }
    match configuration.fitting.lock_memory {
        Some(true) => lock_memory()?,
        None => lock_memory().unwrap_or_else(|error| tell(&format!("{name}: {error}"))),
        Some(false) => {}
    }
    let Fitting { policy, runtime, tick, .. } = configuration.fitting;
    let wanted = Wanted { policy, runtime, cpu: place.cpu, tick };
    let address = first_address().map_err(|error| Error::new(format!("{name}: {error}; `weir-io run` starts it")))?;
    let running = start_fitted(&interface, address, lanes, wanted)?;
    let (handle, lines) = (running.handle(), name.to_owned());
    spawn(move || listen(&handle, &lines));
    stop_on_signal(running.handle()).map_err(failed)?;
    let result = attend(&running, name);
    running.stop();
    // The lanes are gone; whatever they left, nobody sends outputs any more.
    endpoint()?.outputs_lost(now());
    result
}

fn endpoint(configuration: &Configuration, number: usize) -> Result<Endpoint, Error> {
    let path: &Path = &configuration.application.memory;
    let (memory, _) = Memory::open(path)
        .map_err(|error| Error::new(format!("{}: {error}; `weir-io run` makes it", path.display())))?;
    let stale_after = configuration.application.stale_after;
    if number >= memory.plan().endpoints || memory.plan().outputs != configuration.points.outputs.bytes() {
        return Err(Error::new(format!("{}: it is of another configuration", path.display())));
    }
    Ok(Endpoint::new(&memory, number, configuration.points.safe.clone(), stale_after, now()))
}

/// The supervisor's first message is the protocol's address.
fn first_address() -> io::Result<Address> {
    loop {
        match Message::receive(io::stdin(), true) {
            Ok(Some(Message::Address(address))) => return Ok(address),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Hears the supervisor, until it is gone.
fn listen(handle: &Handle, name: &str) {
    loop {
        match Message::receive(io::stdin(), true) {
            Ok(Some(Message::Address(address))) => handle.address_changed(address),
            Ok(Some(Message::Counters)) => {
                for (lane, counters) in handle.counters() {
                    let counters = counters.iter().filter(|(_, count)| *count != 0);
                    let counters = counters.map(|(name, count)| format!("{name} {count}"));
                    tell(&format!("{name}: {lane}: {}", counters.collect::<Vec<_>>().join(", ")));
                }
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return handle.stop(),
        }
    }
}

/// `SIGTERM` stops the lanes. `SIGINT` comes to the whole group from a terminal, and is the supervisor's.
fn stop_on_signal(handle: Handle) -> io::Result<()> {
    let (mut signals, signalled) = UnixStream::pair()?;
    signal_hook::low_level::pipe::register(SIGTERM, signalled)?;
    signal_hook::flag::register(SIGINT, Arc::<AtomicBool>::default())?;
    spawn(move || {
        let _ = signals.read(&mut [0]);
        handle.stop();
    });
    Ok(())
}

/// Passes on what lanes want known until the first of them ends.
fn attend(running: &Running, name: &str) -> Result<(), Error> {
    loop {
        match running.event(Duration::MAX) {
            Some(Event::Told { lane, line }) => tell(&format!("{lane}: {line}")),
            Some(Event::AddressWanted(request)) => {
                if let Err(error) = Message::Request(request).send(io::stdin()) {
                    tell(&format!("{name}: address {} is not asked for: {error}", request.address.ip));
                }
            }
            Some(Event::Ended { lane, reason: Some(reason) }) => return Err(Error::new(format!("{lane}: {reason}"))),
            Some(Event::Ended { reason: None, .. }) | None => return Ok(()),
        }
    }
}
