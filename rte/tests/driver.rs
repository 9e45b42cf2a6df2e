// SPDX-License-Identifier: Apache-2.0
//! The driver on a real network: packets, timers, connections, floods.

mod common;

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::{Host, pair};
use weir_io::configuration::Policy;
use weir_io::fitting::driver::Event;
use weir_io::fitting::interface::Interface;
use weir_io::fitting::policy::Wanted;
use weir_io::fitting::running::{Running, start, start_fitted};
use weir_io::protocol::{Address, AddressRequest, Lane, Mac, Nanos, Outbox, Port, Received, Source, Urgency};

/// For what comes at once, on a machine that floods itself beside.
const PATIENCE: Duration = Duration::from_secs(20);

const MS: Nanos = 1_000_000;
const ETHERTYPE: u16 = 0x88B5;
const GROUP: Mac = Mac([1, 0x0e, 0xcf, 0, 0, 1]);
const DEVICE: Ipv4Addr = Ipv4Addr::new(192, 168, 3, 20);

/// Answers everything with itself, and sends a frame every millisecond once it was asked to.
struct Mirror {
    ports: Vec<Port>,
    own: Mac,
    next: Option<Nanos>,
    ticks: u64,
    packets: u64,
}

impl Mirror {
    fn new() -> Self {
        let ports = vec![
            Port::Udp { port: 61_450 },
            Port::Ethernet { ethertype: ETHERTYPE, groups: vec![GROUP], first_word: 0x8000..=0x8FFF },
            Port::Tcp { port: 502, connections: 2 },
        ];
        Self { ports, own: Mac::default(), next: None, ticks: 0, packets: 0 }
    }
}

impl Lane for Mirror {
    fn name(&self) -> &str {
        "mirror"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn urgency(&self) -> Urgency {
        Urgency::Cyclic(MS)
    }

    fn receive(&mut self, now: Nanos, received: Received<'_>, out: &mut dyn Outbox) {
        self.packets += 1;
        match received.from {
            Source::Udp(from) => match received.bytes {
                b"tick" => self.next = Some(now),
                b"address" => {
                    let ip = Ipv4Addr::new(192, 168, 3, 21);
                    let address = Address { ip, mask: Ipv4Addr::new(255, 255, 255, 0), gateway: ip };
                    out.request_address(AddressRequest { address, permanent: false });
                }
                bytes => out.datagram(received.port, from, bytes),
            },
            Source::Ethernet(from) => {
                let frame = [&from.0[..], &self.own.0, &received.bytes[12..]].concat();
                out.frame(received.port, &frame);
            }
            Source::Connection(number) if received.bytes.is_empty() => out.tell(&format!("closed {number}")),
            Source::Connection(number) => {
                out.stream(received.port, number, received.bytes);
                if received.bytes.ends_with(b"bye") {
                    out.close(received.port, number);
                }
            }
        }
    }

    fn due(&self) -> Option<Nanos> {
        self.next
    }

    fn run(&mut self, now: Nanos, _out: &mut dyn Outbox) {
        while let Some(next) = self.next.filter(|next| *next <= now) {
            self.next = Some(next + MS);
            self.ticks += 1;
        }
    }

    fn address_changed(&mut self, _now: Nanos, mac: Mac, _address: Address, _out: &mut dyn Outbox) {
        self.own = mac;
    }

    fn stop(&mut self, _now: Nanos, out: &mut dyn Outbox) {
        out.tell("stopped");
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("ticks", self.ticks), ("packets", self.packets)]
    }
}

fn mirror(device: &Host) -> Running {
    device.run(|| {
        let interface = Interface::open("rte0").unwrap();
        assert_eq!(interface.mac, Mac([2, 0, 0, 0, 0, 0x14]));
        assert_eq!(interface.address().ip, DEVICE);
        assert_eq!(interface.address().broadcast(), Ipv4Addr::new(192, 168, 3, 255));
        start(&interface, interface.address(), vec![Box::new(Mirror::new())]).unwrap()
    })
}

fn counter(running: &Running, name: &str) -> u64 {
    running.counters()[0].1.iter().find(|(counter, _)| *counter == name).unwrap().1
}

fn udp() -> UdpSocket {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.set_broadcast(true).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    socket
}

#[test]
fn datagrams_to_the_address_and_to_both_broadcasts_are_answered_from_the_address() {
    let Some((device, plc)) = pair() else { return };
    plc.ip("route add 255.255.255.255/32 dev rte0");
    let running = mirror(&device);
    plc.run(|| {
        let socket = udp();
        for to in [DEVICE, Ipv4Addr::new(192, 168, 3, 255), Ipv4Addr::BROADCAST] {
            socket.send_to(b"there", SocketAddrV4::new(to, 61_450)).unwrap();
            let mut answer = [0; 16];
            let (bytes, from) = socket.recv_from(&mut answer).unwrap();
            assert_eq!((&answer[..bytes], from), (&b"there"[..], SocketAddrV4::new(DEVICE, 61_450).into()));
        }
    });
    assert_eq!(running.stop().len(), 1);
}

#[test]
fn what_is_for_another_address_of_the_interface_is_left_alone() {
    let Some((device, plc)) = pair() else { return };
    device.ip("address add 192.168.3.30/24 dev rte0");
    let running = mirror(&device);
    plc.run(|| {
        udp().send_to(b"there", "192.168.3.30:61450").unwrap();
        std::thread::sleep(Duration::from_millis(50));
    });
    assert_eq!(counter(&running, "packets"), 0);
    assert_eq!(counter(&running, "driver datagrams for another address"), 1);
}

#[test]
fn a_second_lane_on_the_same_port_gets_broadcasts_too() {
    let Some((device, plc)) = pair() else { return };
    let (one, other) = (mirror(&device), mirror_without_tcp(&device));
    plc.run(|| {
        let socket = udp();
        socket.send_to(b"both", "192.168.3.255:61450").unwrap();
        let mut answer = [0; 16];
        assert_eq!(socket.recv_from(&mut answer).unwrap().0, 4);
        assert_eq!(socket.recv_from(&mut answer).unwrap().0, 4);
    });
    assert_eq!((counter(&one, "packets"), counter(&other, "packets")), (1, 1));
}

fn mirror_without_tcp(device: &Host) -> Running {
    device.run(|| {
        let interface = Interface::open("rte0").unwrap();
        let mut lane = Mirror::new();
        lane.ports.truncate(1);
        start(&interface, interface.address(), vec![Box::new(lane)]).unwrap()
    })
}

#[test]
fn an_address_that_the_network_wants_is_asked_for_and_told() {
    let Some((device, plc)) = pair() else { return };
    let running = mirror(&device);
    plc.run(|| udp().send_to(b"address", "192.168.3.20:61450").unwrap());
    let event = running.event(PATIENCE).unwrap();
    let Event::AddressWanted(request) = event else { panic!("{event:?}") };
    assert_eq!(request.address.ip, Ipv4Addr::new(192, 168, 3, 21));
}

#[test]
fn frames_with_and_without_a_tag_come_in_without_it() {
    let Some((device, plc)) = pair() else { return };
    let running = mirror(&device);
    let answers = plc.run(|| {
        let socket = packet_socket("rte0");
        let own = Interface::open("rte0").unwrap().mac;
        let device = Mac([2, 0, 0, 0, 0, 0x14]);
        let mut answers = Vec::new();
        for (to, tag) in [(device, &[][..]), (GROUP, &[0x81, 0, 0xC0, 0][..]), (Mac::BROADCAST, &[][..])] {
            let frame = [&to.0[..], &own.0, tag, &ETHERTYPE.to_be_bytes(), &[0x80, 1], &[7; 46]].concat();
            rustix::net::send(&socket, &frame, rustix::net::SendFlags::empty()).unwrap();
            let mut answer = [0; 128];
            let (bytes, _) = rustix::net::recv(&socket, &mut answer, rustix::net::RecvFlags::empty()).unwrap();
            answers.push(answer[..bytes].to_vec());
        }
        // Another first word, another station.
        for (to, word) in [(device, [0x90, 0]), (Mac([2; 6]), [0x80, 0])] {
            let frame = [&to.0[..], &own.0, &ETHERTYPE.to_be_bytes(), &word, &[7; 46]].concat();
            rustix::net::send(&socket, &frame, rustix::net::SendFlags::empty()).unwrap();
        }
        answers
    });
    let expected = [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0x14, 0x88, 0xB5, 0x80, 1][..], &[7; 46]].concat();
    assert!(answers.iter().all(|answer| *answer == expected), "{answers:x?}");
    assert_eq!(counter(&running, "packets"), 3);
}

fn packet_socket(interface: &str) -> std::os::fd::OwnedFd {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with, sockopt};
    let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, SocketFlags::CLOEXEC, None).unwrap();
    let index = Interface::open(interface).unwrap().index;
    weir_io::fitting::system::bind_packet(&socket, index, ETHERTYPE).unwrap();
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(Duration::from_secs(2))).unwrap();
    socket
}

#[test]
fn connections_are_served_limited_and_closed_when_asked() {
    let Some((device, plc)) = pair() else { return };
    let running = mirror(&device);
    plc.run(|| {
        let connect = || {
            let stream =
                TcpStream::connect_timeout(&"192.168.3.20:502".parse().unwrap(), Duration::from_secs(2)).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            stream
        };
        let mut buffer = vec![0; 70_000];
        let is_closed = |error: &io::Error| error.kind() != io::ErrorKind::WouldBlock;
        let mut silent = connect();
        let (mut one, mut two) = (connect(), connect());
        assert!(silent.read(&mut buffer).map_or_else(|error| is_closed(&error), |bytes| bytes == 0), "it makes room");
        for stream in [&mut one, &mut two] {
            stream.write_all(b"there").unwrap();
            stream.read_exact(&mut buffer[..5]).unwrap();
            assert_eq!(&buffer[..5], b"there");
        }
        let refused = connect().read(&mut buffer);
        assert!(refused.map_or_else(|error| is_closed(&error), |bytes| bytes == 0), "the third is closed at once");
        // More than the socket takes at once, so that some of it waits in the driver.
        one.write_all(&[1; 50_000]).unwrap();
        one.write_all(b"bye").unwrap();
        one.read_exact(&mut buffer[..50_003]).unwrap();
        assert_eq!(&buffer[50_000..50_003], b"bye");
        assert!(matches!(one.read(&mut buffer), Ok(0) | Err(_)), "closed when all was sent");
        drop(two);
    });
    let event = running.event(PATIENCE).unwrap();
    assert_eq!(event, Event::Told { lane: "mirror".to_owned(), line: "closed 3".to_owned() });
    assert_eq!(counter(&running, "driver connections refused"), 1);
}

#[test]
fn a_flood_does_not_stop_the_timer() {
    flood(Wanted::PLAIN);
}

/// Packets leave a part of the runtime to the timer; the kernel stops a thread that has used it up.
#[test]
fn a_flood_does_not_stop_the_timer_of_a_thread_with_a_runtime() {
    flood(Wanted { policy: Policy::Deadline, runtime: Some(200_000), ..Wanted::PLAIN });
}

fn flood(wanted: Wanted) {
    let Some((device, plc)) = pair() else { return };
    let running = device.run(move || {
        let interface = Interface::open("rte0").unwrap();
        start_fitted(&interface, interface.address(), vec![Box::new(Mirror::new())], wanted).unwrap()
    });
    if let Some(Event::Ended { reason: Some(reason), .. }) = running.event(Duration::from_millis(100)) {
        eprintln!("skipped: {reason}");
        return;
    }
    plc.run(|| udp().send_to(b"tick", "192.168.3.20:61450").unwrap());
    let flooding = Arc::new(AtomicBool::new(true));
    let flood = flooding.clone();
    let flooder = std::thread::spawn(move || {
        plc.run(move || {
            let (socket, raw, own) = (udp(), packet_socket("rte0"), Interface::open("rte0").unwrap().mac);
            let frame = |to: Mac, kind: u16| [&to.0[..], &own.0, &kind.to_be_bytes(), &[0x80; 48]].concat();
            let device = Mac([2, 0, 0, 0, 0, 0x14]);
            let frames = [frame(device, ETHERTYPE), frame(Mac::BROADCAST, 0x0806), frame(GROUP, ETHERTYPE)];
            let mut sent = 0_u64;
            while flood.load(Ordering::Relaxed) {
                let _ = socket.send_to(&[0; 64], "192.168.3.255:61450");
                for frame in &frames {
                    let _ = rustix::net::send(&raw, frame, rustix::net::SendFlags::DONTWAIT);
                }
                sent += 1 + frames.len() as u64;
            }
            sent
        })
    });
    std::thread::sleep(Duration::from_millis(100));
    let (begin, before) = (Instant::now(), counter(&running, "ticks"));
    std::thread::sleep(Duration::from_secs(2));
    let ticks = counter(&running, "ticks") - before;
    let elapsed = begin.elapsed().as_millis() as u64;
    flooding.store(false, Ordering::Relaxed);
    let sent = flooder.join().unwrap();
    let packets = counter(&running, "packets");
    let (late, rests) = (counter(&running, "driver latest timer (ns)"), counter(&running, "driver rests from a flood"));
    println!(
        "{ticks} ticks in {elapsed} ms, the latest by {late} ns; {packets} of {sent} packets taken, {rests} rests"
    );
    assert!(packets > 1_000 && ticks + 50 >= elapsed, "{ticks} ticks in {elapsed} ms, {packets} packets");
}

#[test]
fn a_lane_says_its_last_words_and_an_interface_that_goes_away_ends_it() {
    let Some((device, _plc)) = pair() else { return };
    let running = mirror(&device);
    device.ip("link del rte0");
    let Some(Event::Ended { reason: Some(reason), .. }) = running.event(PATIENCE) else { panic!("it runs on") };
    assert!(reason.starts_with("interface rte0 is gone"), "{reason}");
}

#[test]
fn a_port_that_somebody_has_is_told_with_the_way_out() {
    let Some((device, _plc)) = pair() else { return };
    let _running = mirror(&device);
    let error = device.run(|| {
        let interface = Interface::open("rte0").unwrap();
        start(&interface, interface.address(), vec![Box::new(Mirror::new())]).err().unwrap().to_string()
    });
    assert!(error.starts_with("TCP port 502 of rte0: ") && error.ends_with("`ss -lnp` tells which"), "{error}");
}
