// SPDX-License-Identifier: Apache-2.0
//! Every datagram of every capture decodes, and encodes to the same bytes.

use weir_io::protocol::cclink::wire::cyclic::{
    REQUEST_BYTES_MAX, RESPONSE_BYTES_MAX, Request, Response, response_data,
};
use weir_io::protocol::cclink::wire::slmp;

use super::captures::{ALL, Datagram, read};

/// What our encoder makes of what our decoder found.
pub fn again(datagram: &Datagram) -> Vec<u8> {
    let bytes = &datagram.payload;
    if datagram.is_cyclic() {
        if let Ok(request) = Request::read(bytes) {
            let mut buffer = [0; REQUEST_BYTES_MAX];
            let slaves: Vec<_> = (0..request.stations()).map(|n| request.slave(n).unwrap()).collect();
            let length = request.fields().write(&slaves, request.rww(), request.ry(), &mut buffer);
            return buffer[..length].to_vec();
        }
        let response = Response::read(bytes).unwrap();
        let mut buffer = [0; RESPONSE_BYTES_MAX];
        let length = response.fields().write(response.stations(), &mut buffer);
        let (rwr, rx) = response_data(response.stations(), &mut buffer);
        rwr.copy_from_slice(response.rwr());
        rx.copy_from_slice(response.rx());
        return buffer[..length].to_vec();
    }
    let mut buffer = [0; slmp::BYTES_MAX];
    let length = match slmp::Request::read(bytes) {
        Ok(request) => request.write(&mut buffer),
        Err(_) => slmp::Response::read(bytes).unwrap().write(&mut buffer),
    };
    buffer[..length].to_vec()
}

#[test]
fn every_captured_datagram_decodes_and_encodes_to_the_same_bytes() {
    for (name, count) in ALL {
        let datagrams = read(name);
        assert_eq!(datagrams.len(), count, "{name}");
        for datagram in datagrams {
            assert!(!datagram.source.is_group());
            assert_eq!(again(&datagram), datagram.payload, "{name} at {:?}", datagram.at);
        }
    }
}

#[test]
fn reserved_fields_are_not_looked_at() {
    let datagrams = read("cciefb-v2-1slave-lifecycle");
    let reserved: [&[usize]; 2] = [
        &[2, 3, 4, 5, 6, 9, 10, 17, 18, 21, 27, 34, 37, 38, 52, 65, 66],
        &[2, 3, 4, 5, 6, 9, 10, 17, 24, 30, 33, 34, 41, 42, 56],
    ];
    for (datagram, reserved) in datagrams.iter().zip(reserved) {
        let mut disturbed = datagram.clone();
        reserved.iter().for_each(|at| disturbed.payload[*at] ^= 0xA5);
        assert_eq!(again(&disturbed), datagram.payload);
    }
}

#[test]
fn a_length_that_does_not_fit_is_refused() {
    for (name, _) in ALL {
        for datagram in read(name).iter().take(40) {
            let bytes = &datagram.payload;
            for cut in 0..bytes.len() {
                let cut = &bytes[..cut];
                assert!(Request::read(cut).is_err() && Response::read(cut).is_err());
                assert!(slmp::Request::read(cut).is_err() && slmp::Response::read(cut).is_err());
            }
            let longer = [&bytes[..], &[0]].concat();
            assert!(Request::read(&longer).is_err() && Response::read(&longer).is_err());
            assert!(slmp::Request::read(&longer).is_err() && slmp::Response::read(&longer).is_err());
        }
    }
}
