// SPDX-License-Identifier: Apache-2.0
//! The model of a switch: against frames worked out by hand, and properties of all disciplines.

use proptest::prelude::*;
use weir_io::fitting::switch::analysis::bound;
use weir_io::fitting::switch::queues::{Discipline, reserved_bps};
use weir_io::fitting::switch::simulation::simulate;
use weir_io::fitting::switch::traffic::{Source, Traffic};

/// 100 Mbit/s: a bit time is 10 ns.
fn traffic(sources: Vec<Source>) -> Traffic {
    Traffic { link_bps: 100_000_000, buffer_bytes: 64 * 1024, span: 10_000_000, sources }
}

fn source(name: &str, priority: u8, frame_bytes: u64, offset: u64, period: u64) -> Source {
    let (name, port) = (name.to_owned(), name.to_owned());
    Source { name, port, priority, frame_bytes, offset, period, until: 10_000_000, is_stream: true, watchdog: 3 }
}

fn load(name: &str, priority: u8, frame_bytes: u64, offset: u64, period: u64) -> Source {
    Source { is_stream: false, ..source(name, priority, frame_bytes, offset, period) }
}

#[test]
fn a_long_frame_that_has_begun_is_waited_for() {
    // The load's frame is complete after (1480 + 20) * 8 = 12000 bit times and leaves until 24000. The stream's is sent at
    // 12000, complete at 12672, and leaves from 24000 to 24672.
    let traffic = traffic(vec![source("s", 6, 64, 12_000, 9_000_000), load("l", 0, 1480, 0, 20_000_000)]);
    for discipline in [Discipline::Fifo, Discipline::Strict] {
        assert_eq!(simulate(discipline, &traffic)[0].delays[0], 12_672);
    }
}

#[test]
fn a_credit_based_shaper_spaces_frames_by_its_idle_slope() {
    // Two frames of 672 bit times at once, of a class that has 10 % of the link. The first leaves at once and costs
    // 672 * (0.9 * rate); the second one waits until 672 * 9 bit times after its end.
    let mut one = source("a", 6, 64, 0, 13_440);
    one.until = 1;
    let mut other = source("b", 6, 64, 0, 13_440);
    other.until = 1;
    let traffic = traffic(vec![one, other]);
    assert_eq!(reserved_bps(6, &traffic), 10_000_000);
    let delays = simulate(Discipline::Cbs, &traffic);
    assert_eq!(delays[0].delays, [2 * 672]);
    assert_eq!(delays[1].delays, [2 * 672 + 672 * 9 + 672]);
}

#[test]
fn a_flood_takes_a_stream_away_from_a_plain_switch_only() {
    let flood = (0..3).map(|n| load(&format!("flood {n}"), 0, 64, 200 * n, 672));
    let traffic = traffic([source("s", 6, 64, 0, 100_000)].into_iter().chain(flood).collect());
    let lost = |discipline| simulate(discipline, &traffic)[0].lost;
    assert!(lost(Discipline::Fifo) > 0);
    for discipline in [Discipline::Strict, Discipline::Cbs, Discipline::Tas, Discipline::Ats] {
        assert_eq!(lost(discipline), 0, "{discipline:?}");
    }
}

#[test]
fn a_flood_that_is_marked_as_a_stream_is_kept_out_by_shapers_of_streams_alone() {
    let traffic = traffic(vec![source("s", 6, 64, 0, 100_000), load("f", 6, 64, 0, 672), load("g", 6, 64, 300, 672)]);
    assert!(simulate(Discipline::Strict, &traffic)[0].lost > 0);
    assert_eq!(simulate(Discipline::Ats, &traffic)[0].lost, 0);
}

fn sources() -> impl Strategy<Value = Vec<Source>> {
    let streams = (64_u64..400, 0_u64..100_000, 100_000_u64..400_000);
    let loads = (64_u64..1518, 0_u64..100_000, 1_u64..4, 0_u8..6);
    (prop::collection::vec(streams, 1..4), prop::collection::vec(loads, 0..4)).prop_map(|(streams, loads)| {
        let streams = streams
            .into_iter()
            .enumerate()
            .map(|(n, (bytes, offset, period))| source(&format!("stream {n}"), 6, bytes, offset, period));
        let loads = loads.into_iter().enumerate().map(|(n, (bytes, offset, period, priority))| {
            load(&format!("load {n}"), priority, bytes, offset, (bytes + 20) * 8 * period)
        });
        streams.chain(loads).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn every_frame_leaves_or_is_counted_and_no_delay_exceeds_its_bound(sources in sources()) {
        let traffic = traffic(sources);
        for discipline in Discipline::ALL {
            for (source, outcome) in traffic.sources.iter().zip(simulate(discipline, &traffic)) {
                let sent = (traffic.span - source.offset).div_ceil(source.period);
                prop_assert_eq!(outcome.delays.len() as u64 + outcome.lost, sent, "{} {:?}", source.name, discipline);
                let Some(bound) = bound(discipline, source, &traffic).filter(|_| source.is_stream) else { continue };
                let most = outcome.delays.iter().max().copied().unwrap_or(0);
                prop_assert!(most <= bound, "{:?} {}: {most} > {bound}", discipline, source.name);
                prop_assert_eq!(outcome.lost, 0);
            }
        }
    }
}
