// SPDX-License-Identifier: Apache-2.0
//! Who records all of a site's datagrams and sends them again, to whom he likes, changes nothing but counters.

use std::time::Duration;

mod virtual_site;
use virtual_site::{Datagram, Site, address};

const SECOND: Duration = Duration::from_secs(1);

/// What must stay as it is: who knows whom by which session, how many clients and tasks each remembers, what ran.
fn state(site: &Site) -> impl PartialEq + std::fmt::Debug + use<> {
    let members = |node: &weir_edge::core::node::Node| {
        let members: Vec<_> = node.members().map(|m| (m.address, m.session, m.comeback)).collect();
        let (tasks, clients, _) = node.remembered();
        (members, tasks, clients, node.queued(), node.counters().submitted, node.counters().accepted)
    };
    let nodes: Vec<_> = site.nodes.iter().map(|node| node.as_ref().map(members)).collect();
    (nodes, site.runs.len(), site.changes.len(), site.outcomes.len())
}

/// A site's life: tasks, a node and a client that go for good, a node that is started anew.
fn life() -> (Site, Vec<Datagram>) {
    let mut site = Site::new(4);
    site.recorded = Some(Vec::new());
    let clients = [site.client(&[0, 1, 2, 3]), site.client(&[0, 1])];
    for second in 0..6 {
        site.run(SECOND / 2);
        // More at once than one node has time for: some are handed on.
        for client in clients.into_iter().filter(|client| site.clients[*client].is_some()).collect::<Vec<_>>() {
            (0..8).for_each(|_| {
                site.submit(client, Duration::from_millis(30));
            });
        }
        site.run(SECOND / 2);
        match second {
            1 => site.start(2, 2_000_000),
            2 => site.crash(3),
            3 => site.clients[1] = None,
            _ => {}
        }
    }
    let recorded = site.recorded.take().expect("it was wanted");
    assert!(site.runs.len() > 20 && recorded.len() > 1_000, "{} {}", site.runs.len(), recorded.len());
    // Kinds 1 to 8, 16 to 23, but for what nothing here calls for.
    let kinds = |kind: u8| recorded.iter().any(|datagram| datagram.bytes[3] == kind);
    assert!([1, 2, 3, 5, 7, 8, 16, 17, 18, 19, 20, 22, 23].into_iter().all(kinds));
    (site, recorded)
}

#[test]
fn a_recording_of_a_sites_life_changes_nothing() {
    let (mut site, recorded) = life();
    // Soon; when the tasks are forgotten; when the client is; when the nodes that are gone are (after a minute).
    for pause in [0, 5, 40, 90, 600] {
        site.run(SECOND * pause);
        // The client that is there submits once more, so that it has its place.
        site.submit(0, Duration::from_millis(30));
        site.run(3 * SECOND);
        let before = state(&site);
        for (count, datagram) in recorded.iter().enumerate() {
            let elsewhere = Datagram { from: address(60), ..datagram.clone() };
            site.deliver(datagram);
            site.deliver(&elsewhere);
            // To all others, too.
            (0..4).for_each(|node| site.deliver(&Datagram { to: address(node), ..datagram.clone() }));
            if count % 50 == 0 {
                site.run(Duration::from_millis(1));
                assert_eq!(state(&site), before, "{pause} s later, datagram {count}");
            }
        }
        site.run(3 * SECOND);
        assert_eq!(state(&site), before, "{pause} s later");
    }
}
