// SPDX-License-Identifier: Apache-2.0
//! How fast the simulated device is on this machine. Wall-clock times say something about the machine, too: the ratios
//! are what to compare.

use std::path::Path;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use weir::model::{self, Calibration};
use weir::nic::{Nic, Settings};
use weir::scenario::{self, Overrides, Scenario, Variant};
use weir::soc::{Image, Outcome, Runner, open_library};
use weir::workshop::Workshop;

const BUSY: &str = "name = 'busy'
duration_ms = 200
[[task]]
name = 'axis'
priority = 9
period_us = 1000
work_us = 300
[[task]]
name = 'worker'
priority = 1
background = true
[[traffic]]
pattern = 'poisson'
to = 'udp/9'
rate_pps = 5000
";

const LOW_RATE: &str = "name = 'low rate'
duration_ms = 5000
[[task]]
name = 'command'
priority = 5
listen = 'udp/5005'
[[traffic]]
pattern = 'uniform'
to = 'udp/5005'
rate_pps = 60
";

fn scenario(folder: &Path, text: &str) -> Scenario {
    let path = folder.join("bench.toml");
    fs::write(&path, text).expect("a writable folder");
    scenario::load(&path, &Overrides::default()).expect("valid").remove(0).scenario
}

fn timed(runner: &Runner, scenario: &Scenario) -> (Outcome, Duration) {
    let start = Instant::now();
    let outcome = runner.run(scenario, &mut |_| {}).expect("a run");
    (outcome, start.elapsed())
}

fn megahertz(cycles: u64, time: Duration) -> f64 {
    cycles as f64 / time.as_secs_f64() / 1e6
}

/// The settings of the thesis' second experiment, an urgent queue first, and a frame of each queue in turn.
const NIC: &str = "[[queue]]
name = 'urgent'
[[queue]]
name = 'a'
packet_timer_us = 11000
absolute_timer_us = 21000
[[queue]]
name = 'b'
packet_timer_us = 8000
absolute_timer_us = 16000
[[queue]]
name = 'c'
packet_timer_us = 6000
absolute_timer_us = 11000
";

/// Frames per second of the NIC's model, frames in memory.
fn nic_model() -> f64 {
    const FRAMES: usize = 1 << 20;
    const ROUNDS: u64 = 64;
    let settings = Settings::parse(NIC).expect("settings");
    let frames: Vec<(u64, usize)> = (0..FRAMES).map(|i| (i as u64 * 672, i * 7 / 3 % 4)).collect();
    let mut nic = Nic::new(&settings);
    let mut announced = 0;
    let start = Instant::now();
    for round in 0..ROUNDS {
        for (time, queue) in &frames {
            let time = time + round * FRAMES as u64 * 672;
            nic.frame(time, *queue, |interrupt| announced += u64::from(interrupt.frames));
        }
    }
    let rate = (ROUNDS * FRAMES as u64) as f64 / start.elapsed().as_secs_f64();
    assert!(announced > 0);
    rate
}

/// The platform `model`, mean of several runs.
fn modelled(scenario: &Scenario) -> Duration {
    const ROUNDS: u32 = 50;
    let calibration = Calibration::shipped().expect("the calibration that comes with weir");
    let runner = model::Runner::new(Variant::Stock, &calibration, false);
    let start = Instant::now();
    for _ in 0..ROUNDS {
        runner.run(scenario, &mut |_| {}).expect("a run");
    }
    start.elapsed() / ROUNDS
}

fn main() {
    println!("model of the multiqueue NIC: {:.0} million frames/s", nic_model() / 1e6);
    let folder = env::temp_dir().join(format!("weir-bench-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a writable folder");
    let (busy, low_rate) = (scenario(&folder, BUSY), scenario(&folder, LOW_RATE));
    let workshop = Workshop::find().expect("the project's folder");
    let library =
        open_library(&workshop.device(busy.device.cpu, Variant::Stock).expect("a device")).expect("a library");
    let image = Image::open(&workshop.firmware(&busy).expect("a firmware")).expect("an image");
    let runner = Runner { variant: Variant::Stock, library, image, shortcuts: true, record: false };

    let (outcome, alone) = timed(&runner, &busy);
    println!(
        "busy, 200 ms at 100 MHz: {:.2} s, {:.2} simulated MHz",
        alone.as_secs_f64(),
        megahertz(outcome.cycles, alone)
    );
    let start = Instant::now();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| timed(&runner, &busy));
        }
    });
    let ratio = 2.0 * alone.as_secs_f64() / start.elapsed().as_secs_f64();
    println!("two at once: {ratio:.2} times the throughput of one");
    println!("the model on the same: {:.0} times as fast", alone.as_secs_f64() / modelled(&busy).as_secs_f64());
    let full = Runner { shortcuts: false, ..runner.clone() };
    let (_, slow) = timed(&full, &busy);
    println!("every cycle evaluated in full: {:.2} times as long", slow.as_secs_f64() / alone.as_secs_f64());
    let (outcome, time) = timed(&runner, &low_rate);
    println!(
        "60 packets/s, idle skipped: {:.0} simulated MHz, {:.1} % of the cycles simulated",
        megahertz(outcome.cycles, time),
        outcome.simulated_cycles as f64 / outcome.cycles as f64 * 100.0
    );
    fs::remove_dir_all(&folder).expect("its own folder");
}
