// SPDX-License-Identifier: Apache-2.0
//! Whether a task is run again after its node's death, though copies of it were lost.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use weir_edge::core::client::Outcome;
use weir_edge::core::task::TaskId;

mod virtual_site;
use virtual_site::{Datagram, Site};

/// The types of datagrams, as in `message.rs`.
const FORWARD_ANSWER: u8 = 19;
const GUARD: u8 = 20;

/// Four nodes, of which the first runs a task for long; datagrams are lost as `loses` says.
fn site(loses: impl FnMut(&Datagram) -> bool + 'static) -> (Site, TaskId) {
    let mut site = Site::new(4);
    site.execution = Duration::from_millis(400);
    site.client(&[0]);
    site.run(Duration::from_secs(2));
    site.loses = Box::new(loses);
    let id = site.submit(0, Duration::from_secs(10));
    site.run(Duration::from_millis(200));
    assert_eq!(site.runs.len(), 1);
    (site, id)
}

/// Lets the node that runs the task die; how often it was run in the end.
fn dies(mut site: Site, id: TaskId) -> usize {
    site.crash(site.runs[0].0);
    site.run(Duration::from_secs(12));
    let result = |(of, outcome): &(TaskId, Outcome)| *of == id && matches!(outcome, Outcome::Result { .. });
    assert_eq!(site.outcomes.iter().filter(|outcome| result(outcome)).count(), usize::from(site.runs.len() > 1));
    site.runs.len()
}

#[test]
fn a_copy_that_was_lost_is_sent_again() {
    let lost = Rc::new(Cell::new(0));
    let count = Rc::clone(&lost);
    let (site, id) = site(move |datagram| {
        let loses = datagram.bytes[3] == GUARD && count.get() < 2;
        count.set(count.get() + u32::from(loses));
        loses
    });
    assert_eq!(lost.get(), 2);
    assert_eq!(dies(site, id), 2);
}

#[test]
fn who_does_not_take_the_copy_is_followed_by_the_next() {
    // The first guardian does not hear us, or we do not hear it.
    for mute in [false, true] {
        let mut first = None;
        let (site, id) = site(move |datagram| {
            if datagram.bytes[3] == GUARD {
                first = first.or(Some(datagram.to));
            }
            let (kind, of) = if mute { (FORWARD_ANSWER, datagram.from) } else { (GUARD, datagram.to) };
            datagram.bytes[3] == kind && first == Some(of)
        });
        assert_eq!(dies(site, id), 2, "mute {mute}");
    }
}

#[test]
fn copies_that_nobody_acknowledges_end() {
    let sent = Rc::new(Cell::new(0));
    let count = Rc::clone(&sent);
    let (mut site, _) = site(move |datagram| {
        count.set(count.get() + u32::from(datagram.bytes[3] == GUARD));
        datagram.bytes[3] == FORWARD_ANSWER
    });
    site.run(Duration::from_secs(10));
    assert_eq!((sent.get(), site.runs.len()), (9, 1));
}
