// SPDX-License-Identifier: Apache-2.0
//! The model of the multiqueue NIC and its RTL are one: the same frames give the same interrupts with the same frames in
//! them, for the same reasons, and at the same time but for what the RTL takes to act. `make test-nic` builds the RTL.

mod library;

use std::path::{Path, PathBuf};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weir::nic::{AbsoluteMode, Cause, Interrupt, Match, Nic, Queue, Settings};
use weir::scenario::{Listen, Protocol};
use weir::traffic::{self, Capture};

use library::{Event, Library, Rtl};

/// From a timer's due time to the hand-over in the RTL, at most: other queues may come first, a frame be in between, or the
/// queue's last hand-over still be counted.
const TIMER_CYCLES_MAX: u64 = 48;
fn queue(random: &mut ChaCha8Rng, index: usize) -> Queue {
    let mut timer = || if random.random_bool(0.3) { 0 } else { random.random_range(200..20_000u64) };
    let (packet_cycles, absolute_cycles) = (timer(), timer());
    let periodic = absolute_cycles > 0 && random.random_bool(0.3);
    Queue {
        name: index.to_string(),
        matches: Match { port: Some(Listen { protocol: Protocol::Udp, port: 6000 + index as u16 }), from: None },
        packet_cycles,
        absolute_cycles,
        absolute_mode: if periodic {
            AbsoluteMode::Periodic { offset_cycles: random.random_range(0..5000) }
        } else {
            AbsoluteMode::FromFirst
        },
        frames: if random.random_bool(0.5) { 0 } else { random.random_range(1..8) },
        capacity: 1 << 20,
    }
}

fn settings(random: &mut ChaCha8Rng) -> Settings {
    let count = random.random_range(1..=8);
    let queues = (0..count).map(|index| queue(random, index)).collect();
    Settings { clock_mhz: 1, empty_interrupts: false, uncounted_losses: false, queues }
}

fn datagram(port: u16, bytes: usize) -> Vec<u8> {
    let mut frame = vec![0u8; bytes];
    frame[..6].copy_from_slice(&[2, 0, 0, 0, 0, 1]);
    frame[12] = 8;
    frame[14] = 0x45;
    frame[16..18].copy_from_slice(&((bytes - 14) as u16).to_be_bytes());
    frame[23] = 17;
    frame[26..34].copy_from_slice(&[10, 0, 0, 2, 10, 0, 0, 1]);
    frame[36..38].copy_from_slice(&port.to_be_bytes());
    frame
}

/// When, and what.
type Load = Vec<(u64, Vec<u8>)>;

fn load(random: &mut ChaCha8Rng, queues: usize) -> Load {
    let mut time = 2000;
    (0..random.random_range(1..60))
        .map(|_| {
            // At 1 Gbit/s and 100 MHz a frame of 64 bytes takes 67 cycles.
            time += match random.random_range(0..10) {
                0 => random.random_range(20_000..60_000),
                1..=3 => random.random_range(1000..8000),
                _ => random.random_range(67..600),
            };
            let port = 6000 + random.random_range(0..queues as u16 + 1); // the last one is nobody's
            (time, datagram(port, random.random_range(60..200)))
        })
        .collect()
}

fn run_rtl(library: &Library, settings: &Settings, load: &Load) -> (Vec<Event>, u64) {
    let mut rtl = Rtl::new(library);
    for (index, queue) in settings.queues.iter().enumerate() {
        rtl.open(index, queue);
    }
    rtl.start();
    for (time, bytes) in load {
        rtl.run(*time);
        rtl.frame(bytes);
    }
    // The longest first period and timer, and the time that it took to open the queues.
    let settle = 30_000;
    let end = rtl.cycle() + settle;
    rtl.run(end);
    (rtl.events(), rtl.simulated())
}

/// An interrupt of either.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Announced {
    time: u64,
    cause: Cause,
    frames: u32,
}

fn of_rtl(events: &[Event], queue: usize) -> Vec<Announced> {
    let mut waiting = 0;
    let mut announced = Vec::new();
    for event in events.iter().filter(|event| event.queue as usize == queue) {
        match event.kind {
            Event::FRAME => waiting += 1,
            kind if (kind as usize) < Cause::ALL.len() => {
                announced.push(Announced { time: event.cycle, cause: Cause::ALL[kind as usize], frames: waiting });
                waiting = 0;
            }
            _ => {}
        }
    }
    announced
}

/// The model, fed with the frames as they came to count in the RTL.
fn of_model(events: &[Event], settings: &Settings) -> Vec<Vec<Announced>> {
    let mut settings = settings.clone();
    for (index, queue) in settings.queues.iter_mut().enumerate() {
        let opened = events.iter().find(|event| event.kind == Event::OPENED && event.queue as usize == index).unwrap();
        if let AbsoluteMode::Periodic { offset_cycles } = &mut queue.absolute_mode {
            *offset_cycles += opened.cycle; // of the write to CTRL
        }
    }
    let mut announced = vec![Vec::new(); settings.queues.len()];
    let mut on = |Interrupt { time, queue, cause, frames }: Interrupt| {
        announced[queue].push(Announced { time, cause, frames });
    };
    let mut nic = Nic::new(&settings);
    for event in events.iter().filter(|event| event.kind == Event::FRAME) {
        nic.frame(event.cycle, event.queue as usize, &mut on);
    }
    nic.advance(events.last().map_or(0, |event| event.cycle) + 100_000, &mut on);
    announced
}

/// Compares; returns the number of interrupts.
fn compare(what: &str, events: &[Event], settings: &Settings) -> usize {
    let model = of_model(events, settings);
    let mut count = 0;
    for (queue, model) in model.iter().enumerate() {
        let rtl = of_rtl(events, queue);
        count += rtl.len();
        assert_eq!(rtl.len(), model.len(), "{what}, queue {queue}: {:?}\n{rtl:?}\n{model:?}", settings.queues[queue]);
        for (rtl, model) in rtl.iter().zip(model) {
            let delay = rtl.time.wrapping_sub(model.time);
            let timer = matches!(model.cause, Cause::PacketTimer | Cause::AbsoluteTimer);
            let in_time = if timer { delay <= TIMER_CYCLES_MAX } else { delay == 0 };
            assert!(
                (rtl.cause, rtl.frames) == (model.cause, model.frames) && in_time,
                "{what}, queue {queue}: {rtl:?} {model:?}\n{:?}",
                settings.queues[queue]
            );
        }
    }
    count
}

#[test]
fn ten_thousand_random_configurations_and_loads() {
    let library = Library::open();
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let (mut interrupts, mut frames, mut cycles) = (0, 0, 0);
    for round in 0..10_000 {
        let settings = settings(&mut random);
        let load = load(&mut random, settings.queues.len());
        let (events, simulated) = run_rtl(&library, &settings, &load);
        let counted = events.iter().filter(|event| event.kind == Event::FRAME).count();
        let filtered = events.iter().filter(|event| event.kind == Event::FILTERED).count();
        assert_eq!(counted + filtered, load.len(), "round {round}: a frame is nowhere");
        interrupts += compare(&format!("round {round}"), &events, &settings);
        frames += counted;
        cycles += simulated;
    }
    assert!(interrupts > 50_000 && frames > 100_000, "{interrupts} interrupts, {frames} frames, {cycles} cycles");
}

/// Our own, and the industrial ones where they are.
fn captures() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let others = root.join("../shared/reference/pcap/ics").read_dir().into_iter().flatten();
    let others = others.map(|entry| entry.expect("a readable folder").path());
    std::iter::once(root.join("scenarios/demo/plant-modbus.pcap")).chain(others).collect()
}

/// The RTL's parser and filter sort a capture as the model does, and it is announced alike.
#[test]
fn real_captures() {
    let library = Library::open();
    let toml = "clock_mhz = 1\n[[queue]]\nname = 'request'\nport = 'tcp/502'\npacket_timer_us = 2000\n\
                absolute_timer_us = 8000\ncapacity = 100000\n[[queue]]\nname = 's7'\nport = 'tcp/102'\nframes = 3\n\
                absolute_timer_us = 5000\ncapacity = 100000\n";
    for path in captures() {
        let settings = Settings::parse(toml).unwrap();
        let capture = Capture::open(&path).unwrap_or_else(|error| panic!("{error}"));
        // A microsecond is a cycle, but a frame has to have passed before the next one.
        let mut free = 2000;
        let load: Load = capture
            .frames
            .iter()
            .filter(|(_, bytes)| bytes.len() >= 14)
            .map(|(ns, bytes)| {
                let time = free.max(2000 + ns / 1000);
                free = time + bytes.len() as u64 / 4 + 700;
                (time, bytes.clone())
            })
            .collect();
        let (events, _) = run_rtl(&library, &settings, &load);
        let expected: Vec<usize> = load
            .iter()
            .filter_map(|(_, bytes)| {
                let (_, port) = traffic::receiver(bytes);
                settings.queues.iter().position(|queue| port.is_some() && queue.matches.port == port)
            })
            .collect();
        let sorted: Vec<usize> =
            events.iter().filter(|event| event.kind == Event::FRAME).map(|event| event.queue as usize).collect();
        assert_eq!(sorted, expected, "{}", path.display());
        assert!(compare(&path.display().to_string(), &events, &settings) > 0, "{}", path.display());
    }
}
