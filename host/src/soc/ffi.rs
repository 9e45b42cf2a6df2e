// SPDX-License-Identifier: Apache-2.0
//! The simulated device's shared library (soc/harness/device.h), made safe.

#![allow(unsafe_code)] // the only file that may: it calls C

use std::ffi::c_int;
use std::path::Path;
use std::sync::Arc;

use libloading::Library;

/// Instructions that the observer watches for.
pub const WATCH_MAX: usize = 2;

#[repr(C)]
struct RawDevice {
    _private: [u8; 0],
}

/// `struct weir_event`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Event {
    /// When.
    pub cycle: u64,
    /// `enum weir_event_kind`, see [`super::events::Observed`].
    pub kind: u32,
    /// Depends on the kind.
    pub value: u32,
}

/// `struct weir_config`.
#[repr(C)]
#[derive(Debug, Clone)]
pub struct Config {
    /// Cycles per byte on the wire, numerator.
    pub byte_cycles_numerator: u64,
    /// Denominator.
    pub byte_cycles_denominator: u64,
    /// Interrupts off for longer is a hang.
    pub hang_cycles: u64,
    /// Address of `pxCurrentTCB`.
    pub current_tcb: u32,
    /// Address of the trap handler.
    pub trap_handler: u32,
    /// Instruction addresses; 0: unused.
    pub watch: [u32; WATCH_MAX],
    /// 0: evaluate every cycle in full; 1: skip what cannot make a difference.
    pub shortcuts: u32,
}

/// `enum weir_stop`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The cycle asked for is reached.
    Cycle,
    /// The device has sent a frame.
    Frame,
    /// Many events are waiting.
    Events,
    /// Interrupts were off for too long.
    Hang,
    /// The running task's stack pointer left its stack.
    Stack,
    /// Nothing answers at an address.
    Bus,
}

type New = unsafe extern "C" fn(*const Config) -> *mut RawDevice;
type Free = unsafe extern "C" fn(*mut RawDevice);
type Write = unsafe extern "C" fn(*mut RawDevice, u32, *const u8, u32) -> c_int;
type Read = unsafe extern "C" fn(*mut RawDevice, u32, *mut u8, u32) -> c_int;
type SetStack = unsafe extern "C" fn(*mut RawDevice, u32, u32);
type Receive = unsafe extern "C" fn(*mut RawDevice, *const u8, u32, u64);
type Run = unsafe extern "C" fn(*mut RawDevice, u64) -> c_int;
type Get64 = unsafe extern "C" fn(*const RawDevice) -> u64;
type Take64 = unsafe extern "C" fn(*mut RawDevice) -> u64;
type Get32 = unsafe extern "C" fn(*const RawDevice) -> u32;
type Events = unsafe extern "C" fn(*mut RawDevice, *mut *const Event) -> u64;
type Sent = unsafe extern "C" fn(*const RawDevice, *mut *const u8, *mut u64) -> u32;

struct Functions {
    free: Free,
    write: Write,
    read: Read,
    set_stack: SetStack,
    receive: Receive,
    run: Run,
    cycle: Get64,
    hash: Get64,
    simulated: Get64,
    next_tick: Get64,
    off_max: Take64,
    fault_address: Get32,
    pc: Get32,
    task_pc: Get32,
    events: Events,
    sent: Sent,
}

/// A simulated device.
pub struct Device {
    raw: *mut RawDevice,
    functions: Functions,
    _library: Arc<Library>,
}

/// Opens the library.
///
/// # Errors
/// When the file is not there or not loadable.
pub fn open(path: &Path) -> Result<Arc<Library>, String> {
    // SAFETY: the library is the one that our own build made; its constructors do nothing but initialise Verilator.
    unsafe { Library::new(path) }.map(Arc::new).map_err(|error| format!("{}: {error}", path.display()))
}

fn symbol<T: Copy>(library: &Library, name: &str) -> Result<T, String> {
    // SAFETY: the types above are those of soc/harness/device.h.
    unsafe { library.get::<T>(name.as_bytes()) }.map(|symbol| *symbol).map_err(|error| format!("{name}: {error}"))
}

impl Device {
    /// A device in reset with empty RAM.
    ///
    /// # Errors
    /// When the library lacks a function, that is: when it is not ours.
    pub fn new(library: &Arc<Library>, config: &Config) -> Result<Device, String> {
        let functions = Functions {
            free: symbol(library, "weir_device_free")?,
            write: symbol(library, "weir_device_write")?,
            read: symbol(library, "weir_device_read")?,
            set_stack: symbol(library, "weir_device_set_stack")?,
            receive: symbol(library, "weir_device_receive")?,
            run: symbol(library, "weir_device_run")?,
            cycle: symbol(library, "weir_device_cycle")?,
            hash: symbol(library, "weir_device_hash")?,
            simulated: symbol(library, "weir_device_simulated")?,
            next_tick: symbol(library, "weir_device_next_tick")?,
            off_max: symbol(library, "weir_device_off_max")?,
            fault_address: symbol(library, "weir_device_fault_address")?,
            pc: symbol(library, "weir_device_pc")?,
            task_pc: symbol(library, "weir_device_task_pc")?,
            events: symbol(library, "weir_device_events")?,
            sent: symbol(library, "weir_device_sent")?,
        };
        let new: New = symbol(library, "weir_device_new")?;
        // SAFETY: `config` is valid for the call, which copies it.
        let raw = unsafe { new(config) };
        Ok(Device { raw, functions, _library: Arc::clone(library) })
    }

    /// Writes RAM.
    ///
    /// # Panics
    /// When the range is not in RAM.
    pub fn write(&mut self, address: u32, bytes: &[u8]) {
        // SAFETY: pointer and length are those of the slice.
        let result = unsafe { (self.functions.write)(self.raw, address, bytes.as_ptr(), bytes.len() as u32) };
        assert_eq!(result, 0, "{address:#x} + {} is not in RAM", bytes.len());
    }

    /// Reads RAM; `None` when the range is not in it.
    pub fn read(&mut self, address: u32, count: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; count];
        // SAFETY: pointer and length are those of the vector.
        let result = unsafe { (self.functions.read)(self.raw, address, bytes.as_mut_ptr(), count as u32) };
        (result == 0).then_some(bytes)
    }

    /// Reads one word of RAM; 0 outside of it.
    pub fn read_word(&mut self, address: u32) -> u32 {
        let bytes = self.read(address, 4).unwrap_or_default();
        bytes.try_into().map_or(0, u32::from_le_bytes)
    }

    /// Guards a task's stack.
    pub fn set_stack(&mut self, tcb: u32, lowest: u32) {
        // SAFETY: plain numbers.
        unsafe { (self.functions.set_stack)(self.raw, tcb, lowest) }
    }

    /// Puts a frame on the wire.
    pub fn receive(&mut self, frame: &[u8], start_cycle: u64) {
        // SAFETY: pointer and length are those of the slice; the library copies.
        unsafe { (self.functions.receive)(self.raw, frame.as_ptr(), frame.len() as u32, start_cycle) }
    }

    /// Simulates up to cycle `until`, or until something else needs attention.
    pub fn run(&mut self, until: u64) -> Stop {
        // SAFETY: the device is valid until drop.
        match unsafe { (self.functions.run)(self.raw, until) } {
            0 => Stop::Cycle,
            1 => Stop::Frame,
            2 => Stop::Events,
            3 => Stop::Hang,
            4 => Stop::Stack,
            _ => Stop::Bus,
        }
    }

    /// Events since the last call.
    pub fn events(&mut self) -> Vec<Event> {
        let mut first = std::ptr::null();
        // SAFETY: the library returns an array that is valid until the next call; it is copied before.
        unsafe {
            let count = (self.functions.events)(self.raw, &raw mut first);
            if count == 0 { Vec::new() } else { std::slice::from_raw_parts(first, count as usize).to_vec() }
        }
    }

    /// The frame sent last and the cycle of its last bit.
    pub fn sent(&self) -> (Vec<u8>, u64) {
        let (mut bytes, mut end) = (std::ptr::null(), 0);
        // SAFETY: as above.
        unsafe {
            let count = (self.functions.sent)(self.raw, &raw mut bytes, &raw mut end);
            let frame =
                if count == 0 { Vec::new() } else { std::slice::from_raw_parts(bytes, count as usize).to_vec() };
            (frame, end)
        }
    }

    /// Cycles since reset.
    pub fn cycle(&self) -> u64 {
        // SAFETY: the device is valid until drop; likewise below.
        unsafe { (self.functions.cycle)(self.raw) }
    }

    /// Hash over (cycle, program counter) of every retired instruction.
    pub fn hash(&self) -> u64 {
        unsafe { (self.functions.hash)(self.raw) }
    }

    /// Cycles that were simulated one by one.
    pub fn simulated(&self) -> u64 {
        unsafe { (self.functions.simulated)(self.raw) }
    }

    /// When the next tick is due.
    pub fn next_tick(&self) -> u64 {
        unsafe { (self.functions.next_tick)(self.raw) }
    }

    /// Longest time with interrupts off since the last call.
    pub fn off_max(&mut self) -> u64 {
        unsafe { (self.functions.off_max)(self.raw) }
    }

    /// Where nothing answered.
    pub fn fault_address(&self) -> u32 {
        unsafe { (self.functions.fault_address)(self.raw) }
    }

    /// Program counter of the last instruction outside of traps.
    pub fn task_pc(&self) -> u32 {
        unsafe { (self.functions.task_pc)(self.raw) }
    }

    /// Program counter of the last instruction.
    pub fn pc(&self) -> u32 {
        unsafe { (self.functions.pc)(self.raw) }
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: `raw` came from weir_device_new and is freed once.
        unsafe { (self.functions.free)(self.raw) }
    }
}
