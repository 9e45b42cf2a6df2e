// SPDX-License-Identifier: Apache-2.0
//! The process of an application that is a plug-in: `weir-io plugin FILE`, started by the supervisor as a protocol's
//! process is. It ends when the supervisor does.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use rustix::time::{timerfd_create, timerfd_settime};
use signal_hook::consts::{SIGINT, SIGTERM};

use super::Error;
use super::console::tell;
use super::message::Message;
use super::system::now;
use crate::application::connection::Connection;
use crate::application::plugin::Plugin;
use crate::configuration::Configuration;

/// What the process is called.
pub const NAME: &str = "application";

/// Runs the configured plug-in until it is told to stop.
///
/// # Errors
/// Why it cannot run.
pub fn run(configuration: &Configuration) -> Result<(), Error> {
    let application = &configuration.application;
    let Some(plugin) = &application.plugin else {
        return Err(Error::new("no plugin is configured: [application] plugin = \"lib….so\""));
    };
    let failed = |error: io::Error| Error::new(format!("{NAME}: {error}"));
    let path = application.memory.display();
    let connection = Connection::open(&application.memory).map_err(|error| Error::new(format!("{path}: {error}")))?;
    let mut running = Plugin::load(&plugin.library, connection).map_err(Error::new)?;
    let (mut stopped, signalled) = UnixStream::pair().map_err(failed)?;
    signal_hook::low_level::pipe::register(SIGTERM, signalled).map_err(failed)?;
    // From a terminal it comes to the whole group, and is the supervisor's.
    signal_hook::flag::register(SIGINT, Arc::<AtomicBool>::default()).map_err(failed)?;
    let timer = timer(plugin.cycle).map_err(failed)?;
    let supervisor = io::stdin();
    let mut late = 0;
    loop {
        let mut watched = [
            PollFd::new(&timer, PollFlags::IN),
            PollFd::new(&stopped, PollFlags::IN),
            PollFd::new(&supervisor, PollFlags::IN),
        ];
        match poll(&mut watched, None) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(failed(error.into())),
        }
        let [ticked, stop, heard] = watched.map(|watched| !watched.revents().is_empty());
        if stop {
            let _ = stopped.read(&mut [0]);
            break;
        }
        if heard {
            match Message::receive(io::stdin(), false) {
                Ok(Some(Message::Counters)) => tell(&format!("{NAME}: cycles that came too late {late}")),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
                Ok(_) | Err(_) => {}
            }
        }
        if ticked {
            let mut expired = [0; 8];
            // A cycle that took too long is not made up: the next one is for the newest values.
            if rustix::io::read(&timer, &mut expired).is_ok() {
                late += u64::from_ne_bytes(expired) - 1;
            }
            running.cycle(now());
        }
    }
    Ok(())
}

fn timer(cycle: Duration) -> io::Result<std::os::fd::OwnedFd> {
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
    let cycle = Timespec { tv_sec: cycle.as_secs() as i64, tv_nsec: i64::from(cycle.subsec_nanos()) };
    let spec = Itimerspec { it_interval: cycle, it_value: cycle };
    timerfd_settime(&timer, TimerfdTimerFlags::empty(), &spec)?;
    Ok(timer)
}
