// SPDX-License-Identifier: Apache-2.0
//! An application that is a shared library: `rte/c/weir_io_plugin.h` is its interface.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;
use std::ptr::null_mut;

use libloading::Library;

use super::connection::Connection;
use super::image::{Image, Type};
use crate::protocol::Nanos;

const VERSION: u32 = 1;
/// The types by number, as in the header.
const TYPES: [Type; 8] = [Type::Bool, Type::U8, Type::I8, Type::U16, Type::I16, Type::U32, Type::I32, Type::F32];

#[repr(C)]
struct Host {
    version: u32,
    context: *const c_void,
    input: extern "C" fn(*const c_void, *const c_char, c_int) -> i32,
    output: extern "C" fn(*const c_void, *const c_char, c_int) -> i32,
    protocol: extern "C" fn(*const c_void, *const c_char) -> i32,
}

#[repr(C)]
struct Images {
    now: u64,
    outputs: *const u8,
    inputs: *mut u8,
    states: *const u32,
}

type Init = unsafe extern "C" fn(*const Host, *mut *mut c_void) -> c_int;
type Cycle = unsafe extern "C" fn(*mut c_void, *const Images) -> bool;
type Exit = unsafe extern "C" fn(*mut c_void);

/// A plug-in that is loaded, and what it works with.
#[derive(Debug)]
pub struct Plugin {
    connection: Connection,
    outputs: Vec<u8>,
    states: Vec<u32>,
    state: *mut c_void,
    cycle: Cycle,
    exit: Exit,
    /// Unloaded when all else is gone.
    _library: Library,
}

impl Plugin {
    /// Loads a library, which has to be one of `weir_io_plugin.h`, and has it begin.
    ///
    /// # Errors
    /// If it cannot be loaded, or does not want to.
    pub fn load(path: &Path, connection: Connection) -> Result<Self, String> {
        let wrong = |error: libloading::Error| format!("{}: {error}", path.display());
        // SAFETY: what the user names as a plug-in runs with the user's trust, in a process of its own.
        let library = unsafe { Library::new(path) }.map_err(wrong)?;
        // SAFETY: the header says that these are their types.
        let (init, cycle, exit) = unsafe {
            (
                *library.get::<Init>(b"weir_io_plugin_init").map_err(wrong)?,
                *library.get::<Cycle>(b"weir_io_plugin_cycle").map_err(wrong)?,
                *library.get::<Exit>(b"weir_io_plugin_exit").map_err(wrong)?,
            )
        };
        let outputs = vec![0; connection.description().outputs.bytes()];
        let states = vec![0; connection.description().endpoints.len()];
        let mut state = null_mut();
        let context = (&raw const connection).cast();
        let host = Host { version: VERSION, context, input, output, protocol };
        // SAFETY: the host outlives the call, and is asked only during it.
        match unsafe { init(&raw const host, &raw mut state) } {
            0 => Ok(Self { connection, outputs, states, state, cycle, exit, _library: library }),
            code => Err(format!("{}: weir_io_plugin_init answers {code}", path.display())),
        }
    }

    /// Runs a cycle: takes outputs, calls the plug-in, publishes inputs.
    pub fn cycle(&mut self, now: Nanos) {
        self.connection.refresh(now);
        self.connection.outputs(&mut self.outputs);
        for (endpoint, state) in self.states.iter_mut().enumerate() {
            *state = self.connection.state(endpoint);
        }
        let inputs = self.connection.inputs_mut().as_mut_ptr();
        let images = Images { now, outputs: self.outputs.as_ptr(), inputs, states: self.states.as_ptr() };
        // SAFETY: the images live as long as the call, and have the lengths that the plug-in was told offsets of.
        let good = unsafe { (self.cycle)(self.state, &raw const images) };
        self.connection.publish(now, good);
    }
}

impl Drop for Plugin {
    fn drop(&mut self) {
        // SAFETY: after this the state is not used any more.
        unsafe { (self.exit)(self.state) };
    }
}

fn offset(image: &Image, name: *const c_char, kind: c_int) -> i32 {
    let point = || {
        // SAFETY: the header asks for a string.
        let name = unsafe { CStr::from_ptr(name) }.to_str().ok()?;
        let kind = TYPES.get(usize::try_from(kind).ok()?)?;
        image.get(name).filter(|point| point.kind == *kind)
    };
    point().and_then(|point| i32::try_from(point.offset).ok()).unwrap_or(-1)
}

/// The connection behind a host's context.
///
/// # Safety
/// Only for the context of a [`Host`], during the call that it is for.
unsafe fn connection<'a>(context: *const c_void) -> &'a Connection {
    // SAFETY: as above.
    unsafe { &*context.cast::<Connection>() }
}

extern "C" fn input(context: *const c_void, name: *const c_char, kind: c_int) -> i32 {
    // SAFETY: called by the plug-in in its init, with its host's context.
    offset(&unsafe { connection(context) }.description().inputs, name, kind)
}

extern "C" fn output(context: *const c_void, name: *const c_char, kind: c_int) -> i32 {
    // SAFETY: as above.
    offset(&unsafe { connection(context) }.description().outputs, name, kind)
}

extern "C" fn protocol(context: *const c_void, name: *const c_char) -> i32 {
    // SAFETY: as above; the header asks for a string.
    let (connection, name) = unsafe { (connection(context), CStr::from_ptr(name)) };
    let endpoints = &connection.description().endpoints;
    endpoints.iter().position(|endpoint| endpoint.as_bytes() == name.to_bytes()).map_or(-1, |at| at as i32)
}
