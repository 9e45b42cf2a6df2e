// SPDX-License-Identifier: Apache-2.0
//! The panel of the demo, which looks on by Modbus/TCP and may sound the horn.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::network::Station;

const PATIENCE: Duration = Duration::from_secs(2);
/// How often it asks.
const CYCLE: Duration = Duration::from_millis(20);

/// What it has seen.
#[derive(Debug, Default)]
pub struct Seen {
    /// Answers.
    pub answers: AtomicU64,
    /// The first input register: the speed.
    pub speed: AtomicU16,
    stop: AtomicBool,
}

/// The running panel.
pub struct Panel {
    /// What it has seen.
    pub seen: Arc<Seen>,
    thread: JoinHandle<()>,
}

impl Panel {
    /// Starts it on its station.
    pub fn start(at: &Station, device: SocketAddr) -> Self {
        let seen = Arc::new(Seen::default());
        let (here, to) = (at.namespace.clone(), seen.clone());
        let thread = std::thread::spawn(move || {
            here.within(|| {
                while !to.stop.load(Ordering::Relaxed) {
                    // A connection that is not there or is lost is tried again.
                    let _ = look(device, &to);
                    std::thread::sleep(CYCLE);
                }
            });
        });
        Self { seen, thread }
    }

    /// Ends it.
    pub fn stop(self) {
        self.seen.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.join();
    }
}

fn look(device: SocketAddr, seen: &Seen) -> io::Result<()> {
    let mut stream = TcpStream::connect_timeout(&device, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    while !seen.stop.load(Ordering::Relaxed) {
        // Read input registers: one from 0. Header: transaction, protocol, length, unit.
        stream.write_all(&[0, 1, 0, 0, 0, 6, 1, 4, 0, 0, 0, 1])?;
        let mut answer = [0; 11];
        stream.read_exact(&mut answer)?;
        seen.speed.store(u16::from_be_bytes([answer[9], answer[10]]), Ordering::Relaxed);
        // Write a single coil: 0.
        let horn = if (seen.answers.fetch_add(1, Ordering::Relaxed) / 50).is_multiple_of(2) { 0xff } else { 0 };
        stream.write_all(&[0, 2, 0, 0, 0, 6, 1, 5, 0, 0, horn, 0])?;
        stream.read_exact(&mut [0; 12])?;
        std::thread::sleep(CYCLE);
    }
    Ok(())
}
