// SPDX-License-Identifier: Apache-2.0
//! What only shows from within.

use super::*;

const MS: u64 = 1_000_000;

fn address(last: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, last], 7400))
}

/// A node without workers that knows two others, and a task for it.
fn node_with_peers() -> (Node, Task) {
    let programs = vec!["job".to_owned()];
    let config = Config { workers: 0, programs, answer: Duration::from_millis(10), ..Config::new(address(1)) };
    let mut node = Node::new(config, SiteKey::new(&[7; 32]), Instant(0), 1);
    for last in [2, 3] {
        let (address, session) = (address(last), u64::from(last));
        let member = Member { address, for_clients: address, session, comeback: 0, started_ms: 0, role: Role::Node };
        node.came_up(Instant(0), member);
        let peer = node.peers.get_mut(&address).unwrap();
        (peer.heard, peer.density) = (Some(Instant(0)), f64::from(last));
        peer.link.came(Instant(0), Instant(0));
    }
    let id = TaskId { client: 5, number: 1 };
    let (leave_by, wcet) = (Instant(1_000 * MS), Duration::from_millis(100));
    let (program, payload) = ("job".to_owned(), Vec::new());
    (node, Task { id, attempt: 1, client: address(9), leave_by, wcet, program, payload })
}

#[test]
fn each_one_who_is_asked_has_its_time() {
    let (mut node, task) = node_with_peers();
    let id = task.id;
    node.submitted(Instant(0), task);
    node.answered(Instant(9 * MS), address(2), id, 1, Some(Refusal::NoTime));
    let mut asked = |at_ms: u64| {
        node.handle_timeout(Instant(at_ms * MS));
        match &node.tasks[&id].state {
            State::Asking { peer, count, .. } => Some((*peer, *count)),
            _ => None,
        }
    };
    // The first one's timer goes off at 10 ms, and does not concern the second.
    assert_eq!([10, 18, 19, 28].map(&mut asked), [1, 1, 2, 2].map(|count| Some((address(3), count))));
    assert_eq!(asked(29), None);
}

#[test]
fn a_client_that_heard_nothing_does_not_have_its_task_done_twice() {
    let (mut node, task) = node_with_peers();
    let id = task.id;
    node.submitted(Instant(0), task.clone());
    node.answered(Instant(MS), address(2), id, 1, None);
    node.finished_elsewhere(address(3), id);
    node.finished_elsewhere(address(2), id);
    node.submitted(Instant(200 * MS), task);
    assert!(matches!(node.tasks[&id].state, State::Away { .. }));
    assert_eq!((node.counters.asked, node.counters.submitted), (1, 1));
}
