// SPDX-License-Identifier: Apache-2.0
//! What tests share: hosts in network namespaces of their own, joined by virtual cables.

#![allow(dead_code)]

use std::process::Command;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use rustix::thread::{UnshareFlags, gettid};

type Job = Box<dyn FnOnce() + Send>;

/// A thread in a network namespace that goes away with it, however the test ends.
pub struct Host {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    id: i32,
}

impl Host {
    /// A new one, or none with the reason told, where namespaces are not allowed.
    pub fn new() -> Option<Self> {
        let (jobs, to_do) = channel::<Job>();
        let (started, start) = channel();
        let thread = std::thread::spawn(move || {
            // SAFETY: only the network is unshared, no memory.
            let result = unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) };
            started.send(result.map(|()| gettid().as_raw_nonzero().get())).unwrap();
            to_do.into_iter().for_each(|job| job());
        });
        match start.recv().unwrap() {
            Ok(id) => Some(Self { jobs: Some(jobs), thread: Some(thread), id }),
            Err(error) => {
                eprintln!("skipped: a network namespace of its own: {error}; run as root");
                None
            }
        }
    }

    /// Does something in it. What is started in there, threads and processes, is in it, too.
    pub fn run<R: Send + 'static>(&self, job: impl FnOnce() -> R + Send + 'static) -> R {
        let (done, result) = channel();
        let job = Box::new(move || drop(done.send(job())));
        self.jobs.as_ref().unwrap().send(job).unwrap();
        result.recv().expect("what was to be done in the namespace has panicked")
    }

    /// Runs `ip` in it.
    pub fn ip(&self, arguments: &str) {
        let line = arguments.to_owned();
        let output = self.run(move || Command::new("ip").args(line.split_whitespace()).output().unwrap());
        assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        drop(self.jobs.take());
        let _ = self.thread.take().unwrap().join();
    }
}

/// Two hosts with a cable between them: `rte0` is 192.168.3.20/24 at the first and 192.168.3.1/24 at the second.
pub fn pair() -> Option<(Host, Host)> {
    let (device, plc) = (Host::new()?, Host::new()?);
    device.ip(&format!(
        "link add rte0 address 02:00:00:00:00:14 type veth peer name rte0 address 02:00:00:00:00:01 netns {}",
        plc.id
    ));
    for (host, address) in [(&device, "192.168.3.20/24"), (&plc, "192.168.3.1/24")] {
        host.ip(&format!("address add {address} brd + dev rte0"));
        host.ip("link set lo up");
        host.ip("link set rte0 up");
    }
    Some((device, plc))
}
