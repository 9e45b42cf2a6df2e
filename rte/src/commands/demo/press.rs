// SPDX-License-Identifier: Apache-2.0
//! The demo's application: a press whose speed follows what a PLC wants.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use weir_io::application::connection::Connection;
use weir_io::fitting::system::now;

const CYCLE: Duration = Duration::from_millis(1);

/// The running application.
pub struct Press {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Press {
    /// Starts it on a device's memory.
    pub fn start(memory: &Path) -> Result<Self, String> {
        let mut connection = Connection::open(memory).map_err(|error| format!("{}: {error}", memory.display()))?;
        let points = ["speed", "force"].map(|name| connection.output(name));
        let inputs = ["speed_now", "pressure", "strokes", "door_closed"].map(|name| connection.input(name));
        let ([Some(speed), Some(force)], [Some(speed_now), Some(pressure), Some(strokes), Some(door)]) =
            (points, inputs)
        else {
            return Err("the demo's device has other data points".into());
        };
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let (mut moved, mut way) = (0.0_f64, 0.0);
            while !stopped.load(Ordering::Relaxed) {
                connection.refresh(now());
                let wanted = connection.get(speed);
                moved += (wanted - moved).clamp(-5.0, 5.0);
                way += moved / 60_000.0;
                connection.set(speed_now, moved.round());
                connection.set(pressure, connection.get(force));
                connection.set(strokes, f64::trunc(way));
                connection.set(door, 1.0);
                connection.publish(now(), true);
                std::thread::sleep(CYCLE);
            }
        });
        Ok(Self { stop, thread })
    }

    /// Ends it.
    pub fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.join();
    }
}
