// SPDX-License-Identifier: Apache-2.0
//! What happens when a controller vanishes, hesitates, is one too many, or wants what cannot be.

use weir_io::protocol::profinet::device::handle::Alarm;
use weir_io::protocol::profinet::wire::Reader;
use weir_io::protocol::profinet::wire::block::{Block, ControlKind};
use weir_io::protocol::profinet::wire::control::{Command, Control};
use weir_io::protocol::profinet::wire::rpc::{Arguments, Header, Kind};
use weir_io::protocol::profinet::wire::status::Status;
use weir_io::protocol::{Mac, Nanos, Source};

use crate::replay::{Packet, conversation};
use crate::rig::{ACYCLIC, CONFIGURATION, MS, OWN, RPC, Rig, SECOND, Sent};

const CAPTURE: &str = "pn-rt1-8ms-connect-write-read-alarm-release";
const CYCLE: Nanos = 8 * MS;

/// The captured controller's calls, and its first cyclic frame.
pub struct Controller {
    from: Source,
    connect: Vec<u8>,
    prm_end: Vec<u8>,
    release: Vec<u8>,
    frame: Vec<u8>,
    cycle: u16,
    sequence: u32,
}

impl Controller {
    pub fn new() -> Self {
        let (_, packets) = conversation(CAPTURE);
        let mut calls = packets.iter().filter_map(|(_, is_controller, packet)| match packet {
            Packet::Datagram { from, payload, .. } if *is_controller && payload[1] == Kind::REQUEST => {
                Some((Source::Udp(*from), payload.clone()))
            }
            _ => None,
        });
        let (from, connect) = calls.next().unwrap();
        let (_, prm_end) = calls.next().unwrap();
        let (_, release) = calls.next_back().unwrap();
        let frame = packets.iter().find_map(|(_, is_controller, packet)| match packet {
            Packet::Cyclic(frame) if *is_controller => Some(frame.clone()),
            _ => None,
        });
        Self { from, connect, prm_end, release, frame: frame.unwrap(), cycle: 0, sequence: 0 }
    }

    /// Makes a call, changed; answers the status and the blocks of the answer.
    pub fn call(&mut self, rig: &mut Rig, payload: &[u8], change: impl FnOnce(&mut Vec<Block>)) -> (Status, Vec<u8>) {
        let (header, body) = Header::decode(payload).unwrap();
        let arguments = Arguments::decode(body, header.ndr()).unwrap();
        let mut reader = Reader::new(arguments.blocks);
        let mut blocks = Vec::new();
        while !reader.rest().is_empty() {
            blocks.push(Block::decode(&mut reader).unwrap());
        }
        change(&mut blocks);
        let mut encoded = Vec::new();
        blocks.iter().for_each(|block| block.encode(&mut encoded));
        let body = Arguments { blocks: &encoded, ..arguments }.encode(header.ndr());
        self.sequence += 1;
        let payload = Header { sequence: self.sequence, ..header }.encode(&body);
        rig.receive(ACYCLIC, RPC, self.from, &payload);
        let sent = rig.sent.iter().rev().find_map(|(_, sent)| match sent {
            Sent::Datagram(RPC, _, payload) => Some(payload.clone()),
            _ => None,
        });
        let sent = sent.expect("an answer");
        let (header, body) = Header::decode(&sent).unwrap();
        assert_eq!((header.kind, header.sequence), (Kind::RESPONSE, self.sequence));
        let arguments = Arguments::decode(body, header.ndr()).unwrap();
        (arguments.status(), arguments.blocks.to_vec())
    }

    pub fn connect(&mut self, rig: &mut Rig, change: impl FnOnce(&mut Vec<Block>)) -> (Status, Vec<u8>) {
        let payload = self.connect.clone();
        self.call(rig, &payload, change)
    }

    pub fn prm_end(&mut self, rig: &mut Rig) -> Status {
        let payload = self.prm_end.clone();
        self.call(rig, &payload, |_| ()).0
    }

    /// Confirms that the device is ready.
    pub fn confirm(&mut self, rig: &mut Rig) {
        let call = rig.sent.iter().rev().find_map(|(_, sent)| match sent {
            Sent::Datagram(OWN, to, payload) => Some((*to, payload.clone())),
            _ => None,
        });
        let (to, call) = call.expect("ApplicationReady");
        let (header, body) = Header::decode(&call).unwrap();
        let arguments = Arguments { first: 0, ..Arguments::decode(body, header.ndr()).unwrap() };
        let answer = Header { kind: Kind::RESPONSE, ..header }.encode(&arguments.encode(header.ndr()));
        rig.receive(ACYCLIC, OWN, Source::Udp(to), &answer);
    }

    /// Sends outputs: of the first module with that status, and of the second.
    pub fn send(&mut self, rig: &mut Rig, led: (u8, u8), float: u32) {
        self.cycle = self.cycle.wrapping_add(256);
        let mut frame = self.frame.clone();
        frame[20..22].copy_from_slice(&[led.0, led.1]);
        frame[22..26].copy_from_slice(&float.to_be_bytes());
        frame[30] = 0x80;
        let end = frame.len();
        frame[end - 4..end - 2].copy_from_slice(&self.cycle.to_be_bytes());
        frame[end - 2] = 0x35;
        rig.receive_frame(&frame);
    }

    pub fn start(&mut self, rig: &mut Rig) {
        assert_eq!(self.connect(rig, |_| ()).0, Status::OK);
        assert_eq!(self.prm_end(rig), Status::OK);
        self.confirm(rig);
    }
}

pub fn rig() -> Rig {
    Rig::new(Mac([2, 0, 0, 0, 0, 0x50]), [192, 168, 0, 50])
}

/// The status of the ERR PDUs that were sent.
fn errors(rig: &Rig) -> Vec<(Nanos, u32)> {
    let error = |sent: &Sent| match sent {
        Sent::Frame(frame) if frame[18..20] == [0xfe, 1] && frame[24] == 0x14 => {
            Some(u32::from_be_bytes(frame[32..36].try_into().unwrap()))
        }
        _ => None,
    };
    rig.sent.iter().filter_map(|(at, sent)| Some((*at, error(sent)?))).collect()
}

#[test]
fn a_controller_that_vanishes_is_noticed_within_the_watchdog() {
    let mut rig = rig();
    let mut controller = Controller::new();
    controller.start(&mut rig);
    for n in 1..=20 {
        controller.send(&mut rig, (n, 0x80), 1000 + u32::from(n));
        rig.run(CYCLE);
    }
    let last = rig.now - CYCLE;
    assert_eq!(rig.output("led"), (true, true, 20));
    rig.run_until(last + 10 * CYCLE - 1);
    assert_eq!(rig.output("led"), (true, true, 20));
    rig.run_until(last + 10 * CYCLE);
    assert_eq!(rig.output("led"), (false, false, 9));
    assert_eq!(rig.output("out_f"), (false, false, 1020));
    assert_eq!(rig.output("out_i"), (false, false, 7));
    assert_eq!(errors(&rig), [(last + 10 * CYCLE, 0xcf81_fd05)]);
    rig.sent.clear();
    rig.run(SECOND);
    assert_eq!(rig.sent, []);
    // The same controller, and another one, find a device that is free.
    Controller::new().start(&mut rig);
}

#[test]
fn inputs_are_sent_at_their_times_and_late_ones_are_made_up_without_a_burst() {
    let mut rig = rig();
    let mut controller = Controller::new();
    controller.start(&mut rig);
    controller.send(&mut rig, (1, 0x80), 1);
    rig.publish(true, &[0xab, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    rig.sent.clear();
    rig.run(5 * CYCLE);
    let cyclic = |rig: &Rig| -> Vec<(Nanos, u16)> {
        let frame = |sent: &Sent| match sent {
            Sent::Frame(frame) if frame[18] == 0xc0 => {
                Some(u16::from_be_bytes([frame[frame.len() - 4], frame[frame.len() - 3]]))
            }
            _ => None,
        };
        rig.sent.iter().filter_map(|(at, sent)| Some((*at, frame(sent)?))).collect()
    };
    let before = cyclic(&rig);
    assert_eq!(before.len(), 5);
    for (at, cycle) in &before {
        assert_eq!((at % CYCLE, *cycle), (0, (at / 31_250) as u16));
    }
    // The thread does not get its turn for three and a half cycles.
    rig.now += 3 * CYCLE + CYCLE / 2;
    rig.sent.clear();
    let now = rig.now;
    rig.run(CYCLE);
    let after = cyclic(&rig);
    let due = now / CYCLE * CYCLE;
    assert_eq!(after, [(now, (due / 31_250) as u16), (due + CYCLE, ((due + CYCLE) / 31_250) as u16)]);
    assert_eq!(rig.counter("cyclic frames not sent in time"), 2);
}

#[test]
fn statuses_follow_the_application_and_the_controller() {
    let mut rig = rig();
    let mut controller = Controller::new();
    controller.start(&mut rig);
    let statuses = |rig: &mut Rig| {
        rig.sent.clear();
        rig.run(CYCLE);
        let frame = rig.sent.iter().find_map(|(_, sent)| match sent {
            Sent::Frame(frame) if frame[18] == 0xc0 => Some(frame.clone()),
            _ => None,
        });
        let frame = frame.unwrap();
        (frame[20], frame[24], frame[33], frame[frame.len() - 2])
    };
    controller.send(&mut rig, (1, 0x80), 1);
    rig.publish(true, &[0; 12]);
    assert_eq!(statuses(&mut rig), (0x80, 0x80, 0x80, 0x35));
    rig.publish(false, &[0; 12]);
    assert_eq!(statuses(&mut rig), (0x80, 0, 0, 0x35));
    // The first module's data is bad: its outputs are safe, those of the second go on.
    controller.send(&mut rig, (5, 0x00), 77);
    assert_eq!((rig.output("led"), rig.output("out_f")), ((true, true, 9), (true, true, 77)));
    controller.send(&mut rig, (5, 0x80), 78);
    assert_eq!((rig.output("led"), rig.output("out_f")), ((true, true, 5), (true, true, 78)));
    // A diagnosis is in the data's status as long as it is there.
    let alarm = |appears| Alarm::Diagnosis { place: (1, 1), channel: 0, error: 6, appears };
    rig.handle.raise(alarm(true)).unwrap();
    rig.run(10 * MS);
    controller.send(&mut rig, (5, 0x80), 78);
    assert_eq!(statuses(&mut rig).3, 0x15);
    rig.handle.raise(alarm(false)).unwrap();
    rig.run(10 * MS);
    controller.send(&mut rig, (5, 0x80), 78);
    assert_eq!(statuses(&mut rig).3, 0x35);
}

#[test]
fn frames_that_do_not_fit_are_counted_and_do_not_keep_the_connection() {
    let mut rig = rig();
    let mut controller = Controller::new();
    controller.start(&mut rig);
    controller.send(&mut rig, (1, 0x80), 1);
    let good = {
        let mut frame = controller.frame.clone();
        frame[56..60].copy_from_slice(&[0x7f, 0, 0x35, 0]);
        frame
    };
    let cases: [(usize, u8, &str); 5] = [
        (58 + 4, 0x31, "cyclic frame without valid data"),
        (59 + 4, 1, "cyclic frame damaged on its way"),
        (10, 0xee, "cyclic frame of nobody"),
        (19, 0x55, "cyclic frame of nobody"),
        (56 + 4, 0, "cyclic frame repeated or overtaken"),
    ];
    for (at, byte, why) in cases {
        let before = rig.counter(why);
        let mut frame = good.clone();
        frame[60..64].copy_from_slice(&[0x02, 0, 0x35, 0]);
        frame[at] = byte;
        rig.receive_frame(&frame);
        assert_eq!(rig.counter(why), before + 1, "{why}");
    }
    rig.receive_frame(&good[..good.len() - 1]);
    assert_eq!(rig.counter("cyclic frame of another length"), 1);
    // One whose data is not to be used keeps the connection, but not again and again.
    let mut unused = good.clone();
    unused[60..64].copy_from_slice(&[0x02, 0, 0x34, 0]);
    let (received, repeated) = ("cyclic frames received", "cyclic frame repeated or overtaken");
    let before = [received, repeated].map(|counter| rig.counter(counter));
    (0..2).for_each(|_| rig.receive_frame(&unused));
    assert_eq!([received, repeated].map(|counter| rig.counter(counter)), before.map(|count| count + 1));
    rig.run(10 * CYCLE);
    assert_eq!(rig.counter("data hold expired"), 1);
}

#[test]
fn a_second_controller_is_refused_or_served_as_configured() {
    for connections in [1, 2] {
        let text = CONFIGURATION.replace("hardware = 3", &format!("hardware = 3\nconnections = {connections}"));
        let mut rig = Rig::with(&text, Mac([2, 0, 0, 0, 0, 0x50]), [192, 168, 0, 50], |_| ());
        let mut first = Controller::new();
        first.start(&mut rig);
        first.send(&mut rig, (1, 0x80), 1);
        let mut second = Controller::new();
        second.from = Source::Udp("192.168.0.31:1000".parse().unwrap());
        let (status, blocks) = second.connect(&mut rig, |blocks| {
            let Block::ArRequest(ar) = &mut blocks[0] else { panic!() };
            ar.ar.0[0] ^= 1;
            ar.mac.0[5] ^= 1;
        });
        if connections == 1 {
            assert_eq!(status, Status(0xdb81_4004));
            assert!(rig.told.last().unwrap().1.contains("is refused"), "{:?}", rig.told);
            continue;
        }
        // It gets the device, but not the modules that the first has.
        assert_eq!(status, Status::OK);
        let mut reader = Reader::new(&blocks);
        let decoded: Vec<_> = std::iter::from_fn(|| Block::decode(&mut reader).ok()).collect();
        let Some(Block::ModuleDiff(diff)) = decoded.last() else { panic!("{decoded:?}") };
        assert_eq!(diff.modules.iter().map(|module| module.slot).collect::<Vec<_>>(), [1, 2]);
        rig.run(CYCLE);
        assert_eq!(rig.output("led"), (true, true, 1));
    }
}

#[test]
fn what_cannot_be_is_refused_with_the_field_that_is_wrong() {
    let mut rig = rig();
    type Change = fn(&mut Vec<Block>);
    let cases: [(u32, Change); 14] = [
        (0xdb81_0104, |blocks| {
            if let Block::ArRequest(ar) = &mut blocks[0] {
                ar.kind = 6
            }
        }),
        (0xdb81_0109, |blocks| {
            if let Block::ArRequest(ar) = &mut blocks[0] {
                ar.properties = 0x10
            }
        }),
        (0xdb81_010a, |blocks| {
            if let Block::ArRequest(ar) = &mut blocks[0] {
                ar.activity_timeout = 0
            }
        }),
        (0xdb81_0207, |blocks| {
            if let Block::IocrRequest(iocr) = &mut blocks[1] {
                iocr.properties = 3
            }
        }),
        (0xdb81_0207, |blocks| {
            if let Block::ArRequest(ar) = &mut blocks[0] {
                ar.properties |= 1 << 30
            }
        }),
        (0xdb81_0208, |blocks| {
            if let Block::IocrRequest(iocr) = &mut blocks[1] {
                iocr.data_bytes = 39
            }
        }),
        (0xdb81_0209, |blocks| {
            if let Block::IocrRequest(iocr) = &mut blocks[1] {
                iocr.frame_id = 0x8000
            }
        }),
        (0xdb81_020b, |blocks| {
            if let Block::IocrRequest(iocr) = &mut blocks[1] {
                (iocr.send_clock, iocr.reduction_ratio) = (16, 1);
            }
        }),
        (0xdb81_0210, |blocks| {
            if let Block::IocrRequest(iocr) = &mut blocks[2] {
                iocr.data_hold_factor = 241
            }
        }),
        (0xdb81_0211, |blocks| {
            if let Block::IocrRequest(iocr) = &mut blocks[2] {
                iocr.tag = 0xa000
            }
        }),
        (0xdb81_0218, |blocks| {
            if let Block::IocrRequest(iocr) = &mut blocks[1] {
                iocr.apis[0].data[4].offset = 4
            }
        }),
        (0xdb81_030e, |blocks| {
            if let Block::Expected(expected) = &mut blocks[4] {
                expected.modules[1].submodules[0].data[0].bytes = 2;
            }
        }),
        (0xdb81_0408, |blocks| {
            if let Block::AlarmCrRequest(alarm) = &mut blocks[3] {
                alarm.retries = 2
            }
        }),
        (0xdb81_4003, |blocks| _ = blocks.remove(3)),
    ];
    for (status, change) in cases {
        let (is, answer) = Controller::new().connect(&mut rig, change);
        assert_eq!((is, answer.len()), (Status(status), 0));
        rig.run(10 * SECOND);
    }
    assert_eq!(rig.counter("connections"), 0);
}

#[test]
fn both_ways_to_start_with_class_2_and_what_is_not_plugged() {
    for advanced in [false, true] {
        let mut rig = rig();
        let mut controller = Controller::new();
        let (status, answer) = controller.connect(&mut rig, |blocks| {
            for block in blocks {
                match block {
                    Block::ArRequest(ar) if advanced => ar.properties |= 1 << 30,
                    Block::IocrRequest(iocr) => {
                        iocr.properties = 2;
                        iocr.frame_id = if iocr.kind == 1 { 0x8001 } else { 0xffff };
                    }
                    Block::Expected(expected) => expected.modules[2].ident = 0x41,
                    _ => {}
                }
            }
        });
        assert_eq!(status, Status::OK);
        let mut reader = Reader::new(&answer);
        let kinds: Vec<_> = std::iter::from_fn(|| Block::decode(&mut reader).ok()).map(|b| b.header().kind).collect();
        let expected: &[u16] = &[0x8101, 0x8102, 0x8102, 0x8103, 0x8104, 0x8106];
        assert_eq!(kinds, expected[..if advanced { 6 } else { 5 }]);
        controller.prm_end(&mut rig);
        controller.confirm(&mut rig);
        rig.publish(true, &[0; 12]);
        rig.sent.clear();
        rig.run(CYCLE);
        // The wrong module's data and consumer are bad, the other's good.
        let Some((_, Sent::Frame(frame))) = rig.sent.first() else { panic!() };
        assert_eq!((frame[18], frame[24], frame[33], frame[34], frame[35]), (0x80, 0x80, 0, 0x80, 0));
    }
}

#[test]
fn a_start_that_stops_half_way_is_given_up() {
    // Between Connect and PrmEnd: the activity timeout, 10 s here.
    let mut rig = rig();
    let start = rig.now;
    Controller::new().connect(&mut rig, |_| ());
    rig.run(11 * SECOND);
    assert_eq!(errors(&rig), [(start + 10 * SECOND, 0xcf81_fd06)]);
    // ApplicationReady is sent four times, 2 s apart.
    let mut rig = self::rig();
    let start = rig.now;
    let mut controller = Controller::new();
    controller.connect(&mut rig, |_| ());
    controller.prm_end(&mut rig);
    rig.run(20 * SECOND);
    let calls: Vec<_> = rig.sent.iter().filter(|(_, sent)| matches!(sent, Sent::Datagram(OWN, ..))).collect();
    assert_eq!(calls.iter().map(|(at, _)| at - start).collect::<Vec<_>>(), [0, 2 * SECOND, 4 * SECOND, 6 * SECOND]);
    assert_eq!(errors(&rig), [(start + 8 * SECOND, 0xcf81_fd0c)]);
}

#[test]
fn a_call_that_comes_again_gets_the_same_answer_and_is_not_done_again() {
    let mut rig = rig();
    let controller = Controller::new();
    rig.receive(ACYCLIC, RPC, controller.from, &controller.connect);
    rig.receive(ACYCLIC, RPC, controller.from, &controller.connect);
    let answers = rig.take_sent();
    assert_eq!(answers.len(), 2);
    assert_eq!(answers[0], answers[1]);
    assert_eq!(rig.counter("connections"), 1);
}

#[test]
fn after_parameters_that_are_written_once_more_the_device_is_ready_by_another_call() {
    let mut rig = rig();
    let mut controller = Controller::new();
    controller.start(&mut rig);
    controller.send(&mut rig, (1, 0x80), 1);
    let sequence = |rig: &Rig| {
        let calls = rig.sent.iter().filter_map(|(_, sent)| match sent {
            Sent::Datagram(OWN, _, payload) => Some(Header::decode(payload).unwrap().0.sequence),
            _ => None,
        });
        calls.collect::<Vec<_>>()
    };
    assert_eq!(sequence(&rig), [0]);
    let begin = controller.prm_end.clone();
    let (status, _) = controller.call(&mut rig, &begin, |blocks| {
        let Block::Control(_, control) = blocks[0] else { panic!("it is PrmEnd") };
        blocks[0] = Block::Control(ControlKind::PRM_BEGIN, Control { command: Command::PRM_BEGIN, ..control });
    });
    assert_eq!((status, controller.prm_end(&mut rig)), (Status::OK, Status::OK));
    assert_eq!(sequence(&rig), [0, 1], "the controller would answer a call that it knows without looking at it");
}

#[test]
fn a_stopped_device_says_so() {
    let mut rig = rig();
    let mut controller = Controller::new();
    controller.start(&mut rig);
    controller.send(&mut rig, (1, 0x80), 1);
    rig.stop();
    assert_eq!(rig.output("led"), (false, false, 9));
    assert_eq!(errors(&rig).iter().map(|(_, status)| *status).collect::<Vec<_>>(), [0xcf81_fd10]);
}

#[test]
fn a_released_connection_and_a_reset_device_are_safe_at_once() {
    for reset in [false, true] {
        let mut rig = rig();
        let mut controller = Controller::new();
        controller.start(&mut rig);
        controller.send(&mut rig, (1, 0x80), 1);
        if reset {
            rig.reset();
        } else {
            let release = controller.release.clone();
            assert_eq!(controller.call(&mut rig, &release, |_| ()).0, Status::OK);
        }
        assert_eq!(rig.output("led"), (false, false, 9));
        assert!(!rig.discovery.is_connected());
        let status = if reset { 0xcf81_fd20 } else { 0xcf81_fd0f };
        assert_eq!(errors(&rig), [(rig.now, status)]);
    }
}
