// SPDX-License-Identifier: Apache-2.0
//! How long a transition between two domains takes: `cargo bench -p weir-io --bench figures`. Printed, with what is asked
//! beside; nothing is asserted.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, spawn};
use std::time::Instant;

use weir_io::application::connection::Connection;
use weir_io::application::description::Description;
use weir_io::application::endpoint::{Door, Endpoint, Safe, State};
use weir_io::application::image::Type;
use weir_io::application::memory::{Memory, Plan};
use weir_io::application::rotation::Rotation;

/// Transitions of which the mean is one sample: the clock takes as long as one of them.
const BATCH: u32 = 100;
const SAMPLES: usize = 20_000;

fn main() {
    println!("a sample is the mean of {BATCH}; asked: a transition below 200 ns");
    let rotation = Rotation::new();
    measure("word alone: publish and take", || {
        black_box(rotation.publish());
        black_box(rotation.take());
    });
    for bytes in [64, 1440] {
        let plan = Plan { inputs: bytes, outputs: bytes, endpoints: 1 };
        let memory = Memory::anonymous(plan).expect("there is memory");
        let image = vec![1; bytes];
        let mut slots = memory.inputs(0);
        measure(&format!("publish {bytes} bytes"), || slots.publish(1, State::VALID, black_box(&image)));
        let mut reader = memory.inputs(0);
        measure(&format!("newest of {bytes} bytes, nothing new"), || {
            black_box(reader.newest());
        });
        measure(&format!("publish and newest of {bytes} bytes"), || {
            slots.publish(1, State::VALID, black_box(&image));
            black_box(reader.newest());
        });
        let other = other_side(move || {
            black_box(reader.newest());
        });
        measure(&format!("publish {bytes} bytes, a reader at once"), || slots.publish(1, State::VALID, &image));
        other.end();
        let mut reader = memory.inputs(0);
        let other = other_side(move || slots.publish(1, State::VALID, &image));
        measure(&format!("newest of {bytes} bytes, a writer at once"), || {
            black_box(reader.newest());
        });
        other.end();
    }
    doors();
    application();
}

/// What protocols and applications call.
fn doors() {
    let plan = Plan { inputs: 64, outputs: 64, endpoints: 1 };
    let memory = Memory::anonymous(plan).expect("there is memory");
    let safe = Safe { values: vec![0; 64], replaced: vec![true; 64] };
    let (mut endpoint, mut door) = (Endpoint::new(&memory, 0, safe, 1_000, 1), Door::new(&memory, 0));
    door.publish(1, true, &[0; 64]);
    measure("a protocol's inputs, 64 bytes", || {
        black_box(endpoint.inputs(2));
    });
    measure("a protocol's outputs, 64 bytes", || endpoint.outputs(2, true, |image| image[0] = 1));
}

/// An application with 16 points each way and three protocols.
fn application() {
    let folder = tempfile::tempdir().expect("there is room for a file");
    let mut device = Description { outputs_stale_after: 1_000_000_000, ..Description::default() };
    device.endpoints = ["profinet", "cclink", "modbus"].map(str::to_owned).to_vec();
    for n in 0..16 {
        device.inputs.add(&format!("in_{n}"), Type::U32);
        device.outputs.add(&format!("out_{n}"), Type::U32);
        device.owners.insert(format!("out_{n}"), n % 3);
    }
    device.safe = Safe { values: vec![0; 64], replaced: vec![true; 64] };
    let path = folder.path().join("memory");
    Memory::create(&path, &device).expect("the folder is writable");
    let mut connection = Connection::open(&path).expect("it was just made");
    let (input, output) = (connection.input("in_3").expect("it is there"), connection.output("out_3"));
    measure("an application's set", || {
        black_box(connection.set(input, black_box(7.0)));
    });
    measure("an application's publish to three protocols", || connection.publish(1, true));
    measure("an application's refresh from three protocols", || connection.refresh(1));
    measure("an application's get", || {
        black_box(connection.get(output.expect("it is there")));
    });
}

/// A thread that does something again and again.
struct Other {
    ended: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

fn other_side(mut act: impl FnMut() + Send + 'static) -> Other {
    let ended = Arc::new(AtomicBool::new(false));
    let stop = ended.clone();
    let thread = spawn(move || {
        while !stop.load(Ordering::Relaxed) {
            act();
        }
    });
    Other { ended, thread }
}

impl Other {
    fn end(self) {
        self.ended.store(true, Ordering::Relaxed);
        self.thread.join().expect("it does not panic");
    }
}

fn measure(what: &str, mut act: impl FnMut()) {
    let sample = |_| {
        let began = Instant::now();
        (0..BATCH).for_each(|_| act());
        began.elapsed().as_nanos() as f64 / f64::from(BATCH)
    };
    let mut took: Vec<f64> = (0..SAMPLES).map(sample).collect();
    took.sort_by(f64::total_cmp);
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize];
    println!("{what:<52} p50 {:>7.1}  p99 {:>7.1}  p99.9 {:>8.1} ns", at(0.5), at(0.99), at(0.999));
}
