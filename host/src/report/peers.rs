// SPDX-License-Identifier: Apache-2.0
//! What live peers experienced, in a sentence and in columns.

use super::format::{self, count, us};
use super::grid::{Cell, Group, Tone};
use super::phrase::Points;
use super::sweep::Series;
use super::verdict::names;
use crate::results::{PeerResult, Results};

/// What a reader has to know about the columns.
pub const NOTE: &str = "Sent: requests, or pieces of recorded payload. Failed: requests without an answer in time, or \
                        conversations that broke. What was under way at the end of the run is neither answered nor \
                        failed.";

/// One sentence per peer, and whether one of them was let down in some run.
pub fn sentences(points: &Points, series: &Series) -> (Vec<String>, bool) {
    let all = series.runs.iter().flat_map(|run| &run.peers).filter(|peer| peer.sent > 0 || peer.failed > 0);
    let mut let_down = false;
    let sentence = |name: &&str| {
        let peers: Vec<(usize, &PeerResult)> = series
            .runs
            .iter()
            .enumerate()
            .filter_map(|(i, run)| Some((i, run.peers.iter().find(|peer| peer.name == *name)?)))
            .collect();
        let (text, bad) = sentence(points, &peers);
        let_down |= bad;
        format!("{}: {text}.", format::clean(name))
    };
    let sentences = names(all, |peer| &peer.name).iter().map(sentence).collect();
    (sentences, let_down)
}

/// How much of what a peer sent was answered, of 1.
fn share(peer: &PeerResult) -> f64 {
    peer.answered as f64 / peer.sent.max(1) as f64
}

fn sentence(points: &Points, peers: &[(usize, &PeerResult)]) -> (String, bool) {
    let bad = |peer: &PeerResult| {
        let wanted = peer.sent > 0 || peer.failed > 0;
        wanted && (peer.failed > 0 || peer.answered == 0 || share(peer) < 0.5)
    };
    // From a load on, if all the ones above it are alike.
    let word = |index: usize| {
        let above = peers.iter().filter(|(i, _)| *i >= index).map(|(_, p)| (p.sent, p.answered, p.failed));
        let above: Vec<_> = above.collect();
        if above.len() > 1 && above.iter().all(|other| *other == above[0]) { "from" } else { "at" }
    };
    // Only the first mention names the key.
    let clause = |(index, peer): &(usize, &PeerResult), named: bool| match points.x.get(*index) {
        Some(x) if points.key.is_some() => {
            let place = if named { points.at(*x) } else { format::load(*x) };
            format!("{} {place} {}", word(*index), numbers(peer))
        }
        _ => numbers(peer),
    };
    let Some(first_bad) = peers.iter().find(|(_, peer)| bad(peer)) else {
        let last = peers.last().map_or(String::new(), |last| clause(last, false));
        let everywhere = if points.key.is_some() { points.everywhere() } else { String::new() };
        return (format!("nothing fails{everywhere} ({last})"), false);
    };
    let failing = peers.iter().filter(|(_, peer)| bad(peer));
    let worst = failing.min_by(|a, b| share(a.1).total_cmp(&share(b.1)));
    let good = peers.first().filter(|(_, peer)| !bad(peer) && peer.sent > 0);
    let worst = worst.filter(|worst| worst.0 != first_bad.0);
    let told = good.into_iter().chain([first_bad]).chain(worst);
    let clauses: Vec<String> = told.enumerate().map(|(i, run)| clause(run, i == 0)).collect();
    (clauses.join("; "), true)
}

fn numbers(peer: &PeerResult) -> String {
    let some = |value: u64| if value == 0 { "none".into() } else { count(value) };
    format!("{} sent, {} answered, {} failed", some(peer.sent), some(peer.answered), some(peer.failed))
}

/// Columns of every peer; none when there are no peers.
pub fn groups(results: &Results) -> Vec<Group> {
    let all = names(results.runs.iter().flat_map(|run| &run.peers), |peer| &peer.name);
    let group = |name: &&str| {
        let mut group = Group::new(name, &["sent", "answered", "failed", "p99", "max"]);
        for run in &results.runs {
            group.push(match run.peers.iter().find(|peer| peer.name == *name) {
                Some(peer) => cells(peer),
                None => vec![Cell::new("-", Tone::Dim); 5],
            });
        }
        group
    };
    all.iter().map(group).collect()
}

fn cells(peer: &PeerResult) -> Vec<Cell> {
    let unanswered = if peer.sent > 0 && peer.answered == 0 { Tone::Bad } else { Tone::Plain };
    let failed = if peer.failed > 0 { Tone::Bad } else { Tone::Plain };
    let time = |value: Option<f64>| value.map_or(Cell::new("-", Tone::Dim), |value| Cell::plain(us(value)));
    let round_trip = peer.round_trip_us.as_ref();
    vec![
        Cell::plain(count(peer.sent)),
        Cell::new(count(peer.answered), unanswered),
        Cell::new(count(peer.failed), failed),
        time(round_trip.map(|q| q.p99)),
        time(round_trip.map(|q| q.max)),
    ]
}
