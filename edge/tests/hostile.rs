// SPDX-License-Identifier: Apache-2.0
//! What outsiders send: nothing but counters change.
//!
//! Runs for a second; `WEIR_FUZZ_SECONDS=3600 cargo test --release -p weir-edge --test hostile` for an hour.

use std::net::SocketAddr;
use std::time::Duration;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weir_edge::core::auth::{SiteKey, TAG_BYTES};
use weir_edge::core::client::{self, Client};
use weir_edge::core::message::{DATAGRAM_BYTES_MAX, Dropped, Message, Pen, read};
use weir_edge::core::node::{Config, Node, Output};
use weir_edge::core::task::{Exit, Refusal, Task, TaskId};
use weir_edge::core::time::Instant;

const KEY: [u8; 32] = [7; 32];
const MS: u64 = 1_000_000;

fn address(last: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, last], 7400))
}

fn seconds() -> Duration {
    let text = std::env::var("WEIR_FUZZ_SECONDS").ok();
    Duration::from_secs(text.map_or(1, |text| text.parse().expect("WEIR_FUZZ_SECONDS is a number of seconds")))
}

fn node(seed: u64) -> Node {
    let config = Config { programs: vec!["job".to_owned()], tasks_max: 64, clients_max: 16, ..Config::new(address(1)) };
    Node::new(config, SiteKey::new(&KEY), Instant(0), seed)
}

/// What a node remembers and runs: what nothing but a rightful datagram may change.
fn state(node: &Node) -> impl PartialEq + std::fmt::Debug + use<> {
    let counters = node.counters();
    (node.remembered().0, node.remembered().1, node.queued(), counters.submitted, counters.accepted)
}

/// The same, and how much it understood.
fn state_and_received(node: &Node) -> impl PartialEq + std::fmt::Debug + use<> {
    (state(node), node.counters().received)
}

fn sent(node: &mut Node) -> Vec<(SocketAddr, Vec<u8>)> {
    let outputs = std::iter::from_fn(|| node.poll());
    outputs.filter_map(|output| if let Output::Send(to, bytes) = output { Some((to, bytes)) } else { None }).collect()
}

/// A message with random contents, of any kind.
fn message(rng: &mut ChaCha8Rng) -> Message {
    let mut bytes = |most: usize| {
        let mut bytes = vec![0; rng.random_range(0..=most)];
        rng.fill_bytes(&mut bytes);
        bytes
    };
    let (payload, membership) = (bytes(1200), bytes(300));
    let id = TaskId { client: rng.random_range(0..4), number: rng.random_range(0..8) };
    let (number, attempt) = (id.number, rng.random_range(0..4));
    let task = Task {
        id,
        attempt,
        client: address(rng.random()),
        leave_by: Instant(rng.random_range(0..3_000 * MS)),
        wcet: Duration::from_nanos(rng.random_range(0..500 * MS)),
        program: ["job", "other", ""][rng.random_range(0..3)].to_owned(),
        payload: payload.clone(),
    };
    let far = Task { leave_by: Instant(rng.next_u64()), wcet: Duration::from_nanos(rng.next_u64()), ..task.clone() };
    match rng.random_range(0..17) {
        0 => Message::Hello,
        1 => Message::Welcome { asked_at: Instant(rng.next_u64()), token: 1, density: 2, others: vec![address(9)] },
        2 => Message::Submit(task),
        3 => Message::Submit(far),
        4 => Message::Cancel { number, attempt },
        5 => Message::Accept { number, attempt, holder: address(3) },
        6 => Message::Reject { number, attempt, reason: Refusal::NoTime },
        7 => Message::Result { number, exit: Exit::Done, execution: Duration::ZERO, output: payload },
        8 => Message::ResultAck { number },
        9 => Message::Membership(membership),
        10 => Message::Load { density: rng.next_u32() },
        11 => Message::Forward(task),
        12 => Message::ForwardAnswer { id, attempt, refused: Some(Refusal::Full) },
        13 => Message::Guard(far),
        14 => Message::Withdraw { id, attempt },
        15 => Message::Session,
        _ => Message::Finished { id, execution: Duration::from_nanos(rng.next_u64()) },
    }
}

/// Damages a datagram: cut, lengthened, bits inverted, bytes replaced.
fn damage(rng: &mut ChaCha8Rng, datagram: &mut Vec<u8>) {
    for _ in 0..rng.random_range(1..4) {
        let at = rng.random_range(0..datagram.len().max(1));
        match rng.random_range(0..4) {
            0 => datagram.truncate(at),
            1 => datagram.extend((0..rng.random_range(1..2000)).map(|_| rng.random::<u8>())),
            2 if at < datagram.len() => datagram[at] ^= 1 << rng.random_range(0..8),
            _ if at < datagram.len() => datagram[at] = rng.random(),
            _ => {}
        }
    }
}

#[test]
fn what_is_damaged_or_forged_is_counted_and_changes_nothing() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut node = node(1);
    let mut client = Client::new(client::Config::default(), SiteKey::new(&KEY), Instant(0), 2);
    let mut pens = [Pen::new(SiteKey::new(&KEY), 3), Pen::new(SiteKey::new(&[8; 32]), 3)];
    let before = state_and_received(&node);
    let (began, mut count) = (std::time::Instant::now(), 0);
    while began.elapsed() < seconds() {
        let forged = rng.random_bool(0.5);
        let mut datagram = pens[usize::from(forged)].write(Instant(rng.next_u64()), rng.next_u64(), &message(&mut rng));
        let original = datagram.clone();
        if !forged {
            damage(&mut rng, &mut datagram);
        }
        if datagram == original && !forged {
            continue;
        }
        node.handle_datagram(Instant(count), address(2), &datagram);
        client.handle_datagram(Instant(count), address(2), &datagram);
        count += 1;
        assert_eq!(state_and_received(&node), before);
        assert_eq!(node.counters().dropped.values().sum::<u64>(), count);
        assert_eq!(client.dropped().values().sum::<u64>(), count);
        assert!(sent(&mut node).is_empty() && client.poll().is_none());
    }
    println!("{count} datagrams");
}

#[test]
fn what_members_of_the_site_send_by_mistake_harms_nobody() {
    // Sealed with the right key: half of them damaged before they are sealed, so that the parser sees them. Nothing
    // panics, nothing grows beyond its limit, and after the last deadline nothing is left.
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let key = SiteKey::new(&KEY);
    let began = std::time::Instant::now();
    let (mut count, mut round) = (0u64, 0);
    while began.elapsed() < seconds() {
        round += 1;
        let mut node = node(round);
        let mut client = Client::new(
            client::Config { nodes: vec![address(2)], ..Default::default() },
            key.clone(),
            Instant(0),
            round,
        );
        let mut pens: Vec<Pen> = (0..4).map(|session| Pen::new(key.clone(), session)).collect();
        let mut tokens = [0; 4];
        let mut now = Instant(0);
        for _ in 0..500 {
            now += Duration::from_nanos(rng.random_range(0..5 * MS));
            let who = rng.random_range(0..4);
            let token = [tokens[who], tokens[who], 0, rng.next_u64()][rng.random_range(0..4)];
            let mut datagram = pens[who].write(now, token, &message(&mut rng));
            if rng.random_bool(0.5) {
                datagram.truncate(datagram.len() - TAG_BYTES);
                damage(&mut rng, &mut datagram);
                key.seal(&mut datagram);
            }
            node.handle_datagram(now, address(10 + who as u8), &datagram);
            client.handle_datagram(now, address(2), &datagram);
            node.handle_timeout(now);
            client.handle_timeout(now);
            count += 1;
            for (to, bytes) in sent(&mut node) {
                assert!(bytes.len() <= DATAGRAM_BYTES_MAX);
                let (_, message) = read(&key, address(1), &bytes).expect("what a node sends can be read");
                if let (Message::Welcome { token, .. }, SocketAddr::V4(to)) = (message, to) {
                    tokens[usize::from(to.ip().octets()[3] - 10)] = token;
                }
            }
            while client.poll().is_some() {}
            let (tasks, clients, timers) = node.remembered();
            assert!(tasks <= 64 && clients <= 16 && timers < 1000, "{tasks} {clients} {timers}");
        }
        // An hour and more, in steps of which each finds many timers due.
        for _ in 0..40 {
            now += Duration::from_secs(100);
            node.handle_timeout(now);
            while node.poll().is_some() {}
        }
        assert_eq!((node.remembered().0, node.queued()), (0, 0), "round {round}");
    }
    println!("{count} datagrams in {round} rounds");
}

#[test]
fn a_recording_means_nothing() {
    let (mut node, key) = (node(3), SiteKey::new(&KEY));
    let mut pen = Pen::new(key.clone(), 5);
    let hello = pen.write(Instant(0), 0, &Message::Hello);
    node.handle_datagram(Instant(1), address(10), &hello);
    let (_, welcome) = sent(&mut node).remove(0);
    let Ok((_, Message::Welcome { token, .. })) = read(&key, address(1), &welcome) else { panic!("no welcome") };
    let id = TaskId { client: 5, number: 1 };
    let leave_by = Instant(2_000 * MS);
    let wcet = Duration::from_millis(10);
    let (program, payload) = ("job".to_owned(), Vec::new());
    let task = Task { id, attempt: 1, client: address(10), leave_by, wcet, program, payload };
    let submit = pen.write(Instant(2), token, &Message::Submit(task));
    node.handle_datagram(Instant(3), address(10), &submit);
    assert_eq!(node.counters().accepted, 1);
    sent(&mut node);
    for recorded in [&hello, &submit, &submit] {
        let before = state(&node);
        node.handle_datagram(Instant(4), address(66), recorded);
        assert_eq!(state(&node), before);
        // A hello of before the client was known is answered, with little.
        assert!(sent(&mut node).iter().all(|(_, bytes)| bytes.len() <= hello.len() + 21), "{before:?}");
    }
    assert_eq!(node.counters().dropped.get(&Dropped::Replayed), Some(&2));
    // Another node, or this one after a restart, has given out another token.
    let mut restarted = self::node(4);
    restarted.handle_datagram(Instant(5), address(66), &submit);
    assert_eq!(restarted.counters().dropped.get(&Dropped::Stranger), Some(&1));
    assert_eq!(restarted.counters().accepted, 0);
}

/// The token of the welcome that a node sends.
fn welcomed(node: &mut Node, key: &SiteKey) -> Option<u64> {
    let welcome = sent(node).pop()?.1;
    let Ok((_, Message::Welcome { token, .. })) = read(key, address(1), &welcome) else { panic!("no welcome") };
    Some(token)
}

fn a_task(client: u64, number: u32, leave_by: Instant) -> Message {
    let id = TaskId { client, number };
    let (program, payload, wcet) = ("job".to_owned(), Vec::new(), Duration::from_millis(1));
    Message::Submit(Task { id, attempt: 1, client: address(10), leave_by, wcet, program, payload })
}

#[test]
fn recorded_hellos_take_no_clients_place() {
    // As many places as the hellos have senders, and more hellos than places.
    let (mut node, key) = (node(5), SiteKey::new(&KEY));
    for session in 1..=1_000 {
        let hello = Pen::new(key.clone(), session).write(Instant(0), 0, &Message::Hello);
        for again in 0..3 {
            node.handle_datagram(Instant(session * MS + again), address(66), &hello);
        }
    }
    assert_eq!(node.remembered().1, 0);
    sent(&mut node);
    // One who is there gets in among them.
    let mut pen = Pen::new(key.clone(), 5_000);
    let hello = pen.write(Instant(0), 0, &Message::Hello);
    node.handle_datagram(Instant(2_000 * MS), address(10), &hello);
    let token = welcomed(&mut node, &key).expect("a welcome");
    let submit = pen.write(Instant(0), token, &a_task(5_000, 1, Instant(3_000 * MS)));
    node.handle_datagram(Instant(2_001 * MS), address(10), &submit);
    assert_eq!((node.remembered().1, node.counters().accepted), (1, 1));
}

#[test]
fn what_a_forgotten_client_sent_is_worth_nothing_to_others() {
    let (mut node, key) = (node(6), SiteKey::new(&KEY));
    let mut pen = Pen::new(key.clone(), 5);
    let mut recorded = vec![pen.write(Instant(0), 0, &Message::Hello)];
    node.handle_datagram(Instant(0), address(10), &recorded[0]);
    let token = welcomed(&mut node, &key).expect("a welcome");
    recorded.push(pen.write(Instant(0), token, &Message::Hello));
    recorded.push(pen.write(Instant(0), token, &a_task(5, 1, Instant(60_000 * MS))));
    recorded.push(pen.write(Instant(0), token, &Message::Hello));
    recorded.iter().for_each(|datagram| node.handle_datagram(Instant(MS), address(10), datagram));
    assert_eq!((node.remembered().1, node.counters().accepted), (1, 1));
    // For two minutes all of it comes again, twice in a second: neither keeps it its place, nor gets it another one.
    for half in 1..=240 {
        let now = Instant(half * 500 * MS);
        node.handle_timeout(now);
        recorded.iter().for_each(|datagram| node.handle_datagram(now, address(66), datagram));
        assert_eq!(node.remembered().1, usize::from(half <= 60), "after {half} half seconds");
        assert_eq!((node.counters().submitted, node.counters().accepted), (1, 1));
    }
}

#[test]
fn who_is_there_has_its_place_as_long_as_it_says_hello() {
    let (mut node, key) = (node(7), SiteKey::new(&KEY));
    let (mut pen, mut token) = (Pen::new(key.clone(), 5), 0);
    for second in 0..120 {
        let now = Instant(second * 1_000 * MS);
        node.handle_timeout(now);
        sent(&mut node);
        node.handle_datagram(now, address(10), &pen.write(now, token, &Message::Hello));
        token = welcomed(&mut node, &key).expect("a welcome");
        if second % 50 == 40 {
            let submit = a_task(5, second as u32, now + Duration::from_secs(1));
            node.handle_datagram(now, address(10), &pen.write(now, token, &submit));
        }
        assert_eq!(node.remembered().1, usize::from(second >= 40));
    }
    assert_eq!(node.counters().accepted, 2);
}

#[test]
fn tasks_that_are_due_late_leave_room_for_other_clients() {
    let (mut node, key) = (node(8), SiteKey::new(&KEY));
    let mut refused = [0; 3];
    for client in [1, 2, 3] {
        let mut pen = Pen::new(key.clone(), client);
        node.handle_datagram(Instant(0), address(10), &pen.write(Instant(0), 0, &Message::Hello));
        let token = welcomed(&mut node, &key).expect("a welcome");
        for number in 1..=100 {
            let submit = a_task(client, number, Instant(3_600_000 * MS));
            node.handle_datagram(Instant(0), address(10), &pen.write(Instant(0), token, &submit));
            for (_, answer) in sent(&mut node) {
                match read(&key, address(1), &answer).expect("own datagrams can be read").1 {
                    Message::Accept { .. } => {}
                    Message::Reject { reason: Refusal::Full, .. } => refused[client as usize - 1] += 1,
                    other => panic!("{other:?}"),
                }
            }
        }
    }
    // Of 64 places the first one has half, the second half of what is left, and so on.
    assert_eq!(refused, [100 - 32, 100 - 16, 100 - 8]);
    // Two hours later all is as it was: each has its share again.
    node.handle_timeout(Instant(7_200_000 * MS));
    sent(&mut node);
    assert_eq!(node.remembered().0, 0);
    let mut pen = Pen::new(key.clone(), 1);
    node.handle_datagram(Instant(7_200_000 * MS), address(10), &pen.write(Instant(0), 0, &Message::Hello));
    let token = welcomed(&mut node, &key).expect("a welcome");
    for number in 101..=132 {
        let submit = a_task(1, number, Instant(9_000_000 * MS));
        node.handle_datagram(Instant(7_200_000 * MS), address(10), &pen.write(Instant(0), token, &submit));
    }
    assert_eq!(node.counters().accepted, 32 + 16 + 8 + 32);
}
