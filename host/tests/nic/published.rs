// SPDX-License-Identifier: Apache-2.0
//! The published simulator's frames and settings give its interrupts, and its defects are there if asked for.

use std::path::PathBuf;

use weir::nic::{Cause, Interrupt, Load, Nic, Settings};

fn published(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/nic/published").join(file)
}

fn interrupts(setting: &str) -> (u64, u64) {
    let settings = Settings::open(&published(setting)).unwrap();
    let load = Load::open(&published("frames.csv"), &settings).unwrap();
    let mut count = 0;
    let mut announced = 0;
    let mut nic = Nic::new(&settings);
    let mut on = |interrupt: Interrupt| {
        count += 1;
        announced += u64::from(interrupt.frames);
    };
    for frame in &load.frames {
        nic.frame(frame.time, frame.queue.into(), &mut on);
    }
    nic.advance(30_030_000, &mut on);
    (count, announced)
}

#[test]
fn an_interrupt_per_frame_without_moderation() {
    assert_eq!(interrupts("setting-1.toml"), (15_001, 15_001));
}

#[test]
fn half_the_interrupts_with_the_first_moderation() {
    assert_eq!(interrupts("setting-2.toml"), (7_531, 15_001));
}

fn run(toml: &str, frames: &[u64]) -> (Vec<(u64, Cause, u32)>, Nic) {
    let settings = Settings::parse(toml).unwrap();
    let mut nic = Nic::new(&settings);
    let mut seen = Vec::new();
    for time in frames {
        nic.frame(*time, 0, |interrupt| seen.push((interrupt.time, interrupt.cause, interrupt.frames)));
    }
    nic.advance(1_000_000, |interrupt| seen.push((interrupt.time, interrupt.cause, interrupt.frames)));
    (seen, nic)
}

#[test]
fn a_threshold_is_followed_by_an_empty_interrupt_only_if_asked_for() {
    let queue = "clock_mhz = 1\n[[queue]]\nname = 'a'\nframes = 2\npacket_timer_us = 100\n";
    let (seen, _) = run(&format!("compat.empty_interrupts = true\n{queue}"), &[5, 10]);
    assert_eq!(seen, [(10, Cause::Frames, 2), (110, Cause::PacketTimer, 0)]);
    let (seen, _) = run(queue, &[5, 10]);
    assert_eq!(seen, [(10, Cause::Frames, 2)]);
}

#[test]
fn what_a_full_queue_drops_is_uncounted_only_if_asked_for() {
    let queue = "clock_mhz = 1\n[[queue]]\nname = 'a'\ncapacity = 4\nabsolute_timer_us = 100\n";
    let frames: Vec<u64> = (1..=10).collect();
    let (seen, nic) = run(&format!("compat.uncounted_losses = true\n{queue}"), &frames);
    assert_eq!(seen, [(101, Cause::AbsoluteTimer, 4)]);
    assert_eq!((nic.totals()[0].frames, nic.totals()[0].announced, nic.totals()[0].full), (10, 4, 0));
    let (_, nic) = run(queue, &frames);
    assert_eq!((nic.totals()[0].frames, nic.totals()[0].announced, nic.totals()[0].full), (10, 4, 6));
}
