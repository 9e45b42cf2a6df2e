// SPDX-License-Identifier: Apache-2.0
//! The network card of a simulated host: two queues.

use std::collections::VecDeque;

use smoltcp::phy::{self, Device, DeviceCapabilities, Medium};
use smoltcp::time::Instant;

use super::capture::MAX_FRAME_BYTES;

/// Frames to and from a host's stack.
#[derive(Debug, Default)]
pub(super) struct Card {
    pub(super) rx: VecDeque<Vec<u8>>,
    pub(super) tx: VecDeque<Vec<u8>>,
}

/// A received frame.
pub(super) struct RxToken(Vec<u8>);

/// Room for a frame to send.
pub(super) struct TxToken<'a>(&'a mut VecDeque<Vec<u8>>);

impl Device for Card {
    type RxToken<'a> = RxToken;
    type TxToken<'a> = TxToken<'a>;

    fn receive(&mut self, _timestamp: Instant) -> Option<(RxToken, TxToken<'_>)> {
        Some((RxToken(self.rx.pop_front()?), TxToken(&mut self.tx)))
    }

    fn transmit(&mut self, _timestamp: Instant) -> Option<TxToken<'_>> {
        Some(TxToken(&mut self.tx))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = MAX_FRAME_BYTES;
        capabilities
    }
}

impl phy::RxToken for RxToken {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

impl phy::TxToken for TxToken<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut frame = vec![0; len];
        let result = f(&mut frame);
        self.0.push_back(frame);
        result
    }
}
