// SPDX-License-Identifier: Apache-2.0
//! `nic/equivalence/harness.cpp`, called.

use std::path::Path;

use libloading::Library as Shared;
use weir::nic::{AbsoluteMode, Queue};
use weir::scenario::Protocol;

/// What the RTL did.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Event {
    pub cycle: u64,
    pub queue: u32,
    pub kind: u32,
}

impl Event {
    pub const FRAME: u32 = 16;
    pub const OPENED: u32 = 17;
    pub const FILTERED: u32 = 18;
}

#[repr(C)]
struct RawNic {
    _private: [u8; 0],
}

/// The RTL, compiled.
pub struct Library(Shared);

impl Library {
    pub fn open() -> Library {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../build/nic-equivalence/libnic.so");
        // SAFETY: our own library, which has no initialisers.
        let shared = unsafe { Shared::new(&path) };
        Library(shared.unwrap_or_else(|error| panic!("{error}; `make test-nic` builds it")))
    }

    fn call<F: Copy>(&self, name: &str) -> F {
        // SAFETY: the types at the calls are those of harness.cpp.
        *unsafe { self.0.get(name.as_bytes()) }.unwrap_or_else(|error| panic!("{error}"))
    }
}

const EVENTS_MAX: usize = 1 << 17;
const CLASS_TCP: u32 = 1 << 16;
const CLASS_UDP: u32 = 1 << 17;
const BUFFER_WORDS: u32 = 32_768;

/// One NIC.
pub struct Rtl<'a> {
    library: &'a Library,
    raw: *mut RawNic,
    events: Vec<Event>,
}

impl<'a> Rtl<'a> {
    pub fn new(library: &'a Library) -> Rtl<'a> {
        let create: extern "C" fn() -> *mut RawNic = library.call("nic_new");
        let rtl = Rtl { library, raw: create(), events: Vec::with_capacity(EVENTS_MAX) };
        let events: extern "C" fn(*mut RawNic, *const Event, u32) -> u32 = library.call("nic_events");
        events(rtl.raw, rtl.events.as_ptr(), EVENTS_MAX as u32);
        rtl
    }

    pub fn open(&mut self, index: usize, queue: &Queue) {
        let port = queue.matches.port.expect("a port");
        let class = if port.protocol == Protocol::Tcp { CLASS_TCP } else { CLASS_UDP };
        let (periodic, offset) = match queue.absolute_mode {
            AbsoluteMode::Periodic { offset_cycles } => (1, offset_cycles as u32),
            AbsoluteMode::FromFirst => (0, 0),
        };
        let base = 2 * BUFFER_WORDS * index as u32;
        let words = [
            class | u32::from(port.port),
            0,
            0,
            1,
            base,
            BUFFER_WORDS,
            queue.packet_cycles as u32,
            queue.absolute_cycles as u32,
            periodic,
            offset,
            queue.frames,
            0,
            0,
        ];
        let open: extern "C" fn(*mut RawNic, u32, *const u32) = self.library.call("nic_open");
        open(self.raw, index as u32, words.as_ptr());
    }

    pub fn start(&mut self) {
        self.library.call::<extern "C" fn(*mut RawNic)>("nic_start")(self.raw);
    }

    pub fn run(&mut self, cycle: u64) {
        self.library.call::<extern "C" fn(*mut RawNic, u64)>("nic_run")(self.raw, cycle);
    }

    pub fn frame(&mut self, bytes: &[u8]) {
        let frame: extern "C" fn(*mut RawNic, *const u8, u32) = self.library.call("nic_frame");
        frame(self.raw, bytes.as_ptr(), bytes.len() as u32);
    }

    pub fn cycle(&self) -> u64 {
        self.library.call::<extern "C" fn(*const RawNic) -> u64>("nic_cycle")(self.raw)
    }

    pub fn simulated(&self) -> u64 {
        self.library.call::<extern "C" fn(*const RawNic) -> u64>("nic_simulated")(self.raw)
    }

    /// All so far.
    pub fn events(&mut self) -> Vec<Event> {
        let events: extern "C" fn(*mut RawNic, *const Event, u32) -> u32 = self.library.call("nic_events");
        let count = events(self.raw, self.events.as_ptr(), EVENTS_MAX as u32) as usize;
        assert!(count <= EVENTS_MAX, "{count} events are too many for a test");
        // SAFETY: the library has written as many.
        unsafe { self.events.set_len(count) };
        self.events.clone()
    }
}

impl Drop for Rtl<'_> {
    fn drop(&mut self) {
        self.library.call::<extern "C" fn(*mut RawNic)>("nic_free")(self.raw);
    }
}
