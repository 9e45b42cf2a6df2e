// SPDX-License-Identifier: Apache-2.0
//! The answers of captured slaves go to our master, which sends the requests that the captured master sent: byte for
//! byte.
//!
//! The clock is left aside, and the length of pauses. Our master is configured with what the captured one said of itself
//! (version, time-out, count, parameter), and its user orders with each request what the captured user had ordered.

use std::net::Ipv4Addr;

use weir_io::protocol::cclink::STATION_BITS;
use weir_io::protocol::cclink::master::{Scan, Settings, SlaveSettings, master};
use weir_io::protocol::cclink::wire::cyclic::{Request, Response};
use weir_io::protocol::{Lane, Nanos, Received, Source};

use super::captures::{Datagram, read};
use super::device::Sent;
use super::network::{MS, address, mac};

/// The captures that begin with a master's first request.
const WHOLE: [&str; 7] = [
    "cciefb-v1-ti-ti-2occupied",
    "cciefb-v1slave-ti-v2master-rtlabs",
    "cciefb-v2-wrong-occupied",
    "cciefb-v2-1slave-lifecycle",
    "cciefb-v2-slmp-seterror-masterstate",
    "cciefb-v2-slmp-setip-ok",
    "cciefb-v1slave-ti-nodesearch",
];

/// Without the clock.
fn timeless(payload: &[u8]) -> Vec<u8> {
    [&payload[..39], &[0; 8], &payload[47..]].concat()
}

fn sequence(request: &[u8]) -> u16 {
    Request::read(request).unwrap().fields().sequence
}

/// Answers how many requests were compared.
fn replay(name: &str) -> usize {
    let datagrams: Vec<Datagram> = read(name).into_iter().filter(Datagram::is_cyclic).collect();
    let first = Request::read(&datagrams[0].payload).unwrap();
    let fields = first.fields();
    let slave = SlaveSettings { ip: first.slave(0).unwrap(), stations: first.stations() };
    let settings = Settings {
        groups: vec![vec![slave]],
        version: fields.version,
        scan: Scan::Fast(fields.timeout_ms),
        timeout_count: fields.timeout_count,
        parameter: fields.parameter,
        clock_zero_ms: None,
    };
    let (mut lane, mut desk) = master(settings).unwrap();
    lane.address_changed(0, mac(100), address(100), &mut Sent::default());
    let mut now: Nanos = 2500 * MS;
    let mut sent = Sent::default();
    let mut compared = 0;
    let mut before: Option<(u16, Nanos)> = None;
    // The last request's sequence, the last answer, and from whom it is.
    let mut last = (0, Vec::new(), datagrams[0].from);
    for datagram in &datagrams {
        let at = datagram.at.as_nanos() as Nanos;
        if Response::read(&datagram.payload).is_ok() {
            now += MS / 100;
            let received = Received { port: 0, from: Source::Udp(datagram.from), bytes: &datagram.payload };
            // Data are ordered with the next request: it is put together after the answer came.
            let next = datagrams.iter().find(|next| next.at > datagram.at && Request::read(&next.payload).is_ok());
            if let Some(next) = next {
                order(&mut desk.orders, &Request::read(&next.payload).unwrap());
            }
            lane.receive(now, received, &mut sent);
            (last.1, last.2) = (datagram.payload.clone(), datagram.from);
            continue;
        }
        let request = Request::read(&datagram.payload).unwrap();
        if request.fields().master != Ipv4Addr::new(192, 168, 3, 100) {
            continue;
        }
        order(&mut desk.orders, &request);
        if before.is_some_and(|(sequence, _)| request.fields().sequence != sequence + 1) {
            // The capture was cut: what is missing is answered as the last request before was.
            loop {
                let ours = sent.datagrams.pop_front().map_or(last.0, |(_, ours)| sequence(&ours));
                if ours == request.fields().sequence {
                    break;
                }
                let mut answer: Vec<u8> = last.1.clone();
                answer[57..59].copy_from_slice(&ours.to_le_bytes());
                now += MS / 100;
                let received = Received { port: 0, from: Source::Udp(last.2), bytes: &answer };
                lane.receive(now, received, &mut sent);
                let next = sent.datagrams.front().unwrap_or_else(|| panic!("{name} at {:?}: no request", datagram.at));
                if sequence(&next.1) == request.fields().sequence {
                    break;
                }
            }
            before = None;
        }
        if sent.datagrams.is_empty() {
            // Nobody answered, or none was to: the time-out, which the capture shows, too.
            let due = lane.due().unwrap();
            if let Some((_, earlier)) = before {
                let (ours, captured) = (due - now, at - earlier);
                assert!(ours.abs_diff(captured) < 20 * MS, "{name} at {:?}: {ours} ns, {captured} ns", datagram.at);
            }
            now = now.max(due);
            lane.run(now, &mut sent);
        }
        let (to, ours) = sent.datagrams.pop_front().expect("a request");
        assert_eq!(timeless(&ours), timeless(&datagram.payload), "{name} at {:?}", datagram.at);
        assert_eq!(to, datagram.to, "{name}");
        assert!(sent.datagrams.is_empty());
        last.0 = request.fields().sequence;
        before = Some((request.fields().sequence, at));
        compared += 1;
    }
    compared
}

fn order(
    orders: &mut weir_io::application::triple_buffer::Producer<weir_io::protocol::cclink::master::Orders>,
    request: &Request<'_>,
) {
    let fields = request.fields();
    assert_eq!(request.ry().len(), STATION_BITS / 8 * request.stations());
    orders.publish(|orders| {
        orders.unit = fields.unit;
        orders.stopped[0] = request.slave(0) == Some(Ipv4Addr::UNSPECIFIED);
        orders.ry.copy_from_slice(request.ry());
        orders.rww.copy_from_slice(request.rww());
    });
}

#[test]
fn our_master_sends_what_captured_masters_sent() {
    let counts = WHOLE.map(|name| (name, replay(name)));
    println!("{counts:?}");
    assert!(counts.iter().all(|(_, count)| *count >= 2));
    assert_eq!(counts.map(|(_, count)| count).iter().sum::<usize>(), 387, "all that they have");
}
