// SPDX-License-Identifier: Apache-2.0
//! Every PROFINET packet of the captures is decoded and encoded to the same bytes.

mod support;

use std::collections::BTreeMap;

use support::{datagram, frames};
use weir_io::protocol::profinet::wire::block::Block;
use weir_io::protocol::profinet::wire::rpc::{Arguments, Header};
use weir_io::protocol::profinet::wire::rt::{Cyclic, DataStatus, Ethernet, OVERHEAD_BYTES};
use weir_io::protocol::profinet::wire::rta::{Answer, HIGH, Kind, LOW, Notification, Rta};
use weir_io::protocol::profinet::wire::{ETHERTYPE, RPC_PORT, Reader};

const CAPTURES: [&str; 4] = [
    "pn-rt1-8ms-connect-write-read-alarm-release",
    "pn-rt1-1ms-cyclic",
    "dual-pn-1ms-and-cciefb",
    "pn-dcp-identify-set",
];

/// The blocks of a call and what follows a record's header.
fn blocks(bytes: &[u8]) -> Vec<Block> {
    let mut reader = Reader::new(bytes);
    let mut blocks = Vec::new();
    while !reader.rest().is_empty() {
        let block = Block::decode(&mut reader).unwrap_or_else(|faulty| panic!("{faulty:x?} in {bytes:02x?}"));
        // A record is bytes of its own kind.
        if matches!(&block, Block::WriteRequest(_)) {
            reader.take(reader.rest().len()).unwrap();
        }
        if matches!(&block, Block::ReadResponse(header) if header.index < 0x8000) {
            reader.take(reader.rest().len()).unwrap();
        }
        blocks.push(block);
    }
    blocks
}

fn check_rpc(payload: &[u8]) -> String {
    let (header, body) = Header::decode(payload).unwrap();
    assert_eq!(header.encode(body), payload);
    let arguments = Arguments::decode(body, header.ndr()).unwrap();
    assert_eq!(arguments.encode(header.ndr()), body);
    let mut encoded = Vec::new();
    let decoded = blocks(arguments.blocks);
    decoded.iter().for_each(|block| block.encode(&mut encoded));
    assert_eq!(encoded, arguments.blocks[..encoded.len()]);
    assert!(!decoded.iter().any(|block| matches!(block, Block::Other(..))), "{decoded:x?}");
    format!("rpc {:x?}", decoded.iter().map(|block| block.header().kind).collect::<Vec<_>>())
}

fn check_alarm(ethernet: &Ethernet, rest: &[u8], frame: &[u8]) -> String {
    let pdu = Rta::decode(rest).unwrap();
    assert_eq!(pdu.encode(ethernet), frame);
    if pdu.kind == Kind::Data {
        match Notification::decode(pdu.data) {
            Ok(notification) => assert_eq!(notification.encode(), pdu.data),
            Err(_) => assert_eq!(Answer::decode(pdu.data).unwrap().encode(), pdu.data),
        }
    }
    format!("alarm {:?}", pdu.kind)
}

fn check_cyclic(ethernet: &Ethernet, rest: &[u8], frame: &[u8]) -> String {
    let pdu = Cyclic::decode(rest).unwrap();
    let mut encoded = vec![0; pdu.data.len() + OVERHEAD_BYTES];
    let at = ethernet.write(&mut encoded);
    encoded[at..at + pdu.data.len()].copy_from_slice(pdu.data);
    Cyclic::write_trailer(&mut encoded, pdu.cycle, pdu.status);
    assert_eq!(encoded, frame);
    assert_eq!(ethernet.tag, Some(0xc000));
    assert_eq!(pdu.status | DataStatus::RUN, 0x35);
    "cyclic".to_owned()
}

#[test]
fn every_packet_is_decoded_and_encoded_to_the_same_bytes() {
    let mut seen = BTreeMap::new();
    for (_, frame) in CAPTURES.iter().flat_map(|name| frames(name)) {
        let what = if let Some((from, to, payload)) = datagram(&frame) {
            if from.port() != RPC_PORT && to.port() != RPC_PORT {
                continue;
            }
            check_rpc(payload)
        } else if let Ok((ethernet, rest)) = Ethernet::decode(&frame) {
            match ethernet.frame_id {
                HIGH | LOW => check_alarm(&ethernet, rest, &frame),
                0x8000..=0xf7ff => check_cyclic(&ethernet, rest, &frame),
                _ => continue,
            }
        } else {
            assert_ne!(frame[12..14], ETHERTYPE.to_be_bytes());
            continue;
        };
        *seen.entry(what).or_insert(0) += 1;
    }
    println!("{seen:#?}");
    assert_eq!(seen["alarm Ack"], 2);
    assert_eq!(seen["alarm Data"], 2);
    assert_eq!(seen["alarm Error"], 1);
    assert_eq!(seen["rpc [101, 102, 102, 103, 104]"], 2);
    assert_eq!(seen["rpc [8009, 20]"], 1);
}
