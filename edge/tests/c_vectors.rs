// SPDX-License-Identifier: Apache-2.0
//! The C client's codec and estimate are the Rust one's: both are held against `edge/c/tests/vectors.txt`, which this
//! writes and compares, and which `edge/c/tests` reads.

use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weir_edge::core::auth::SiteKey;
use weir_edge::core::link::Link;
use weir_edge::core::message::{Message, OTHERS_MAX, PAYLOAD_BYTES_MAX, PROGRAM_BYTES_MAX, Pen, read};
use weir_edge::core::task::{Exit, Refusal, Task, TaskId};
use weir_edge::core::time::Instant;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/c/tests/vectors.txt");
const HEAD: &str = "\
# SPDX-License-Identifier: Apache-2.0
#
# What the Rust side writes; numbers in hexadecimal, \"-\" for no bytes. Do not edit: after a change of the protocol, run
#
#   WEIR_EDGE_WRITE_VECTORS=1 cargo test --release --test c_vectors
#
# A message: type, sender, token, sequence, sent at, what it says, the datagram.
";
const MS: u64 = 1_000_000;

#[test]
fn the_c_clients_vectors_are_what_this_codec_writes() {
    let written = vectors();
    if std::env::var_os("WEIR_EDGE_WRITE_VECTORS").is_some() {
        std::fs::write(PATH, &written).expect("the sources can be written to");
    }
    let committed = std::fs::read_to_string(PATH).unwrap_or_default();
    for (number, (ours, theirs)) in written.lines().zip(committed.lines()).enumerate() {
        let start = |line: &str| line.chars().take(100).collect::<String>();
        assert!(ours == theirs, "{PATH}:{}: has {:?}, should be {:?}", number + 1, start(theirs), start(ours));
    }
    assert_eq!(written.lines().count(), committed.lines().count(), "lines of {PATH}");
}

fn vectors() -> String {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut key = [0; 32];
    rng.fill_bytes(&mut key);
    let mut out = String::from(HEAD);
    writeln!(out, "key {}", hex(&key)).expect("a string takes all");
    for kind in 0..16 {
        for round in 0..4 {
            let session = rng.next_u64();
            let (name, fields, message) = random_message(&mut rng, session, kind, round);
            let pen = Pen::new(SiteKey::new(&key), session);
            message_line(&mut out, &mut rng, pen, name, &fields, &message);
        }
    }
    (0..5).for_each(|_| link_lines(&mut out, &mut rng));
    out
}

fn message_line(
    out: &mut String,
    rng: &mut ChaCha8Rng,
    mut pen: Pen,
    name: &str,
    fields: &[String],
    message: &Message,
) {
    let (token, now) = (rng.next_u64(), Instant(rng.next_u64()));
    (0..rng.random_range(0..1000)).for_each(|_| drop(pen.write(now, token, &Message::Hello)));
    let datagram = pen.write(now, token, message);
    let from = SocketAddr::from(([0, 0, 0, 0], 0));
    let (header, again) = read(pen.key(), from, &datagram).expect("own datagrams can be read");
    assert_eq!(&again, message);
    let header = [header.sender, header.token, header.sequence, header.sent_at.0].map(|n| format!("{n:x}"));
    let line: Vec<&str> = [name].into_iter().chain(header.iter().chain(fields).map(String::as_str)).collect();
    writeln!(out, "{} {}", line.join(" "), hex(&datagram)).expect("a string takes all");
}

/// The first of the four rounds has the shortest fields, the last the longest.
fn random_message(
    rng: &mut ChaCha8Rng,
    session: u64,
    kind: usize,
    round: usize,
) -> (&'static str, Vec<String>, Message) {
    let (number, attempt) = (rng.next_u32(), rng.random::<u8>());
    let numbers = vec![format!("{number:x}"), format!("{attempt:x}")];
    let id = TaskId { client: session, number };
    let reason = [Refusal::NoTime, Refusal::NoNode, Refusal::NoProgram, Refusal::Full, Refusal::Lost];
    let reason = reason[rng.random_range(0..reason.len())];
    let address = random_address(rng);
    let execution = Duration::from_nanos(rng.next_u64() >> 1);
    match kind {
        0 => ("hello", vec![], Message::Hello),
        1 => {
            let count = [0, 1, rng.random_range(2..OTHERS_MAX), OTHERS_MAX][round];
            let others: Vec<SocketAddr> = (0..count).map(|_| random_address(rng)).collect();
            let (asked_at, token, density) = (Instant(rng.next_u64()), rng.next_u64(), rng.next_u32());
            let mut fields = vec![format!("{:x}", asked_at.0), format!("{token:x}"), format!("{density:x}")];
            fields.push(format!("{count:x}"));
            fields.extend(others.iter().map(|a| address_fields(*a)));
            ("welcome", fields, Message::Welcome { asked_at, token, density, others })
        }
        2 => {
            let task = random_task(rng, id, attempt, round);
            let mut fields = numbers;
            fields.push(format!("{:x}", task.leave_by.0));
            fields.push(format!("{:x}", task.wcet.as_nanos()));
            fields.extend([hex(task.program.as_bytes()), hex(&task.payload)]);
            ("submit", fields, Message::Submit(task))
        }
        3 => ("cancel", numbers, Message::Cancel { number, attempt }),
        4 => {
            let fields = [numbers, vec![address_fields(address)]].concat();
            ("accept", fields, Message::Accept { number, attempt, holder: address })
        }
        5 => {
            let fields = [numbers, vec![format!("{:x}", reason as u8)]].concat();
            ("reject", fields, Message::Reject { number, attempt, reason })
        }
        6 => {
            let exit = [Exit::Done, Exit::Overrun, Exit::Failed][rng.random_range(0..3)];
            let output = random_bytes(rng, [0, 1, 100, PAYLOAD_BYTES_MAX][round]);
            let fields = [number.into(), exit as u64, execution.as_nanos() as u64].map(|n: u64| format!("{n:x}"));
            let fields = [fields.to_vec(), vec![hex(&output)]].concat();
            ("result", fields, Message::Result { number, exit, execution, output })
        }
        7 => ("result_ack", numbers[..1].to_vec(), Message::ResultAck { number }),
        8 => ("unexpected", vec![], Message::Membership(random_bytes(rng, 40 * round))),
        9 => ("unexpected", vec![], Message::Load { density: rng.next_u32() }),
        10 => ("unexpected", vec![], Message::Forward(random_task(rng, id, attempt, round.min(2)))),
        11 => ("unexpected", vec![], Message::ForwardAnswer { id, attempt, refused: Some(reason) }),
        12 => ("unexpected", vec![], Message::Guard(random_task(rng, id, attempt, round.min(2)))),
        13 => ("unexpected", vec![], Message::Withdraw { id, attempt }),
        14 => ("unexpected", vec![], Message::Finished { id, execution }),
        _ => ("unexpected", vec![], Message::Session),
    }
}

fn random_task(rng: &mut ChaCha8Rng, id: TaskId, attempt: u8, round: usize) -> Task {
    let program = [1, 2, rng.random_range(3..PROGRAM_BYTES_MAX), PROGRAM_BYTES_MAX][round];
    Task {
        id,
        attempt,
        client: SocketAddr::from(([0, 0, 0, 0], 0)),
        leave_by: Instant(rng.next_u64()),
        wcet: Duration::from_nanos(rng.next_u64() >> 1),
        program: (0..program).map(|_| char::from(rng.random_range(b'a'..=b'z'))).collect(),
        payload: random_bytes(rng, [0, 1, 100, PAYLOAD_BYTES_MAX][round]),
    }
}

fn random_address(rng: &mut ChaCha8Rng) -> SocketAddr {
    let ip = match rng.random::<bool>() {
        true => IpAddr::V4(Ipv4Addr::from_bits(rng.next_u32())),
        false => IpAddr::V6(Ipv6Addr::from_bits(rng.random())),
    };
    SocketAddr::new(ip, rng.random())
}

fn address_fields(address: SocketAddr) -> String {
    match address.ip() {
        IpAddr::V4(ip) => format!("4 {} {:x}", hex(&ip.octets()), address.port()),
        IpAddr::V6(ip) => format!("6 {} {:x}", hex(&ip.octets()), address.port()),
    }
}

fn random_bytes(rng: &mut ChaCha8Rng, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    rng.fill_bytes(&mut bytes);
    bytes
}

fn hex(bytes: &[u8]) -> String {
    match bytes {
        [] => "-".into(),
        bytes => bytes.iter().map(|b| format!("{b:02x}")).collect(),
    }
}

/// A link's life. No more datagrams come in five seconds than the C client keeps samples; the clocks are far apart, and
/// now and then nothing comes for longer than samples are kept.
fn link_lines(out: &mut String, rng: &mut ChaCha8Rng) {
    let offset = rng.random_range(-1_000_000 * MS as i64..1_000_000 * MS as i64);
    let (delay, spread) = (rng.random_range(0..100 * MS), rng.random_range(1..50 * MS));
    let mut now = 2_000_000 * MS;
    let mut link = Link::default();
    writeln!(out, "link").expect("a string takes all");
    for _ in 0..60 {
        let pause = if rng.random_range(0..20) == 0 { 4_000..20_000 } else { 160..400 };
        now += rng.random_range(pause) * MS + rng.random_range(0..MS);
        let (there, back) = (delay + rng.random_range(0..spread), delay + rng.random_range(0..spread));
        let sent_at = (now - back).wrapping_add_signed(offset);
        link.came(Instant(now), Instant(sent_at));
        writeln!(out, "came {now:x} {sent_at:x}").expect("a string takes all");
        if rng.random_range(0..4) != 0 {
            let asked_at = now - there - back;
            link.answered(Instant(now), Instant(asked_at));
            writeln!(out, "answered {now:x} {asked_at:x}").expect("a string takes all");
        }
        let (Some(min), Some(max)) = (link.round_trip_min(Instant(now)), link.round_trip_max(Instant(now))) else {
            continue;
        };
        writeln!(out, "round_trip {now:x} {:x} {:x}", min.as_nanos(), max.as_nanos()).expect("a string takes all");
        // Factors that a binary fraction has exactly: then both sides round alike.
        let share = [1, 250, 500, 900, 990, 1000][rng.random_range(0..6)];
        let uncertainty = [125, 500, 1000, 1250, 1500, 2000, 10000][rng.random_range(0..7)];
        let due = now + rng.random_range(0..2_000) * MS;
        let (share_of_1, factor) = (f64::from(share) / 1e3, f64::from(uncertainty) / 1e3);
        let leave_by = link.leave_by(Instant(now), Instant(due), share_of_1, factor).expect("it was measured");
        writeln!(out, "leave_by {now:x} {due:x} {share:x} {uncertainty:x} {:x}", leave_by.0)
            .expect("a string takes all");
    }
}
