// SPDX-License-Identifier: Apache-2.0
//! The application's connection to a device: data points by name, through the shared memory. `rte/c/weir_io.h` is the
//! same for C.

use std::io;
use std::ops::Range;
use std::path::Path;

use super::description::Description;
use super::endpoint::{Door, State};
use super::image::{Point, Type};
use super::memory::{Memory, Presence};
use crate::protocol::Nanos;

/// An input by handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input(Point);

/// An output by handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output {
    point: Point,
    owner: Option<usize>,
}

/// The connection. Nothing in it waits once it is there.
#[derive(Debug)]
pub struct Connection {
    memory: Memory,
    description: Description,
    doors: Vec<Door>,
    inputs: Vec<u8>,
    outputs: Vec<Received>,
    /// Where outputs lie that a protocol has, and which.
    owned: Vec<(Range<usize>, usize)>,
    /// Given back when all else is gone.
    _presence: Presence,
}

/// What there is of a protocol's outputs.
#[derive(Debug)]
struct Received {
    state: u32,
    image: Vec<u8>,
}

impl Connection {
    /// Opens a device's memory. Inputs are 0 and not good until they are published.
    ///
    /// # Errors
    /// If there is none, it is something else, or another application has it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let (presence, memory, description) = Presence::take(path)?;
        let doors = (0..description.endpoints.len()).map(|n| Door::new(&memory, n)).collect();
        let outputs =
            description.endpoints.iter().map(|_| Received { state: 0, image: description.safe.values.clone() });
        let outputs = outputs.collect();
        let inputs = vec![0; description.inputs.bytes()];
        let owned = description.outputs.points().filter_map(|(name, point)| {
            Some((point.offset..point.offset + point.kind.bytes(), *description.owners.get(name)?))
        });
        let owned = owned.collect();
        Ok(Self { memory, doors, inputs, outputs, owned, description, _presence: presence })
    }

    /// What the device consists of.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Whether the device was started with another configuration: open its memory again.
    pub fn is_replaced(&self) -> bool {
        self.memory.is_replaced()
    }

    /// The input of that name.
    pub fn input(&self, name: &str) -> Option<Input> {
        self.description.inputs.get(name).map(Input)
    }

    /// The output of that name.
    pub fn output(&self, name: &str) -> Option<Output> {
        let point = self.description.outputs.get(name)?;
        Some(Output { point, owner: self.description.owners.get(name).copied() })
    }

    /// Sets an input; PLCs see it after [`Self::publish`]. Every type's values are exact in an `f64`. Answers `false`, and
    /// changes nothing, if the value is not one of the point's type.
    pub fn set(&mut self, input: Input, value: f64) -> bool {
        let Point { kind, offset } = input.0;
        let Some(bytes) = bytes_of(kind, value) else { return false };
        self.inputs[offset..offset + kind.bytes()].copy_from_slice(&bytes[..kind.bytes()]);
        true
    }

    /// The image of inputs, for one who knows where each lies.
    pub fn inputs_mut(&mut self) -> &mut [u8] {
        &mut self.inputs
    }

    /// Hands all inputs to all protocols, as one image; `good` is what the PLCs are told of them.
    pub fn publish(&mut self, now: Nanos, good: bool) {
        for door in &mut self.doors {
            door.publish(now, good, &self.inputs);
        }
    }

    /// Takes the newest outputs of all protocols. Those of one that hangs or was killed become their safe values.
    pub fn refresh(&mut self, now: Nanos) {
        let Description { safe, outputs_stale_after, .. } = &self.description;
        for (door, received) in self.doors.iter_mut().zip(&mut self.outputs) {
            let (state, at, image) = door.outputs();
            let is_fresh = now.saturating_sub(at) <= *outputs_stale_after;
            received.state = if is_fresh { state } else { 0 };
            received.image.copy_from_slice(image);
            if !is_fresh {
                safe.apply(&mut received.image);
            }
        }
    }

    /// All outputs in one image, whatever protocol each belongs to, as of the last [`Self::refresh`].
    pub fn outputs(&self, image: &mut [u8]) {
        image.copy_from_slice(&self.description.safe.values);
        for (from, owner) in &self.owned {
            image[from.clone()].copy_from_slice(&self.outputs[*owner].image[from.clone()]);
        }
    }

    /// Bits of [`State`] of a protocol's outputs, as of the last [`Self::refresh`].
    pub fn state(&self, endpoint: usize) -> u32 {
        self.outputs.get(endpoint).map_or(0, |received| received.state)
    }

    /// Whether a PLC sends this output.
    pub fn is_valid(&self, output: Output) -> bool {
        output.owner.is_some_and(|owner| self.state(owner) & State::VALID != 0)
    }

    /// An output's value as of the last [`Self::refresh`].
    pub fn get(&self, output: Output) -> f64 {
        let image = output.owner.map_or(&self.description.safe.values, |owner| &self.outputs[owner].image);
        value_of(output.point, image)
    }
}

fn bytes_of(kind: Type, value: f64) -> Option<[u8; 4]> {
    let (low, high) = match kind {
        Type::Bool => (0.0, 1.0),
        Type::U8 => (0.0, f64::from(u8::MAX)),
        Type::I8 => (f64::from(i8::MIN), f64::from(i8::MAX)),
        Type::U16 => (0.0, f64::from(u16::MAX)),
        Type::I16 => (f64::from(i16::MIN), f64::from(i16::MAX)),
        Type::U32 => (0.0, f64::from(u32::MAX)),
        Type::I32 => (f64::from(i32::MIN), f64::from(i32::MAX)),
        Type::F32 => return Some((value as f32).to_ne_bytes()),
    };
    if !(low..=high).contains(&value) || value.fract() != 0.0 {
        return None;
    }
    let whole = value as i64;
    let mut bytes = [0; 4];
    match kind.bytes() {
        1 => bytes[0] = whole as u8,
        2 => bytes[..2].copy_from_slice(&(whole as u16).to_ne_bytes()),
        _ => bytes = (whole as u32).to_ne_bytes(),
    }
    Some(bytes)
}

fn value_of(point: Point, image: &[u8]) -> f64 {
    let Point { kind, offset } = point;
    let byte = image[offset];
    let two = || [byte, image[offset + 1]];
    let four = || [byte, image[offset + 1], image[offset + 2], image[offset + 3]];
    match kind {
        Type::Bool => f64::from(u8::from(byte != 0)),
        Type::U8 => f64::from(byte),
        Type::I8 => f64::from(byte.cast_signed()),
        Type::U16 => f64::from(u16::from_ne_bytes(two())),
        Type::I16 => f64::from(i16::from_ne_bytes(two())),
        Type::U32 => f64::from(u32::from_ne_bytes(four())),
        Type::I32 => f64::from(i32::from_ne_bytes(four())),
        Type::F32 => f64::from(f32::from_ne_bytes(four())),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::endpoint::{Endpoint, Safe};
    use super::*;

    fn device() -> Description {
        let mut this = Description { endpoints: vec!["profinet".into(), "modbus".into()], ..Description::default() };
        for (name, kind) in [("open", Type::Bool), ("pressure", Type::F32), ("way", Type::I32)] {
            this.inputs.add(name, kind);
        }
        for (name, kind) in [("speed", Type::I16), ("lamp", Type::Bool), ("free", Type::U8)] {
            this.outputs.add(name, kind);
        }
        this.safe = Safe { values: vec![0, 0, 0, 9], replaced: vec![true, true, false, true] };
        this.owners = [("speed".into(), 1), ("lamp".into(), 0)].into();
        this.outputs_stale_after = 1_000_000;
        this
    }

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("memory");
        (folder, path)
    }

    #[test]
    fn points_go_both_ways_by_name() {
        let (_folder, path) = folder();
        let device = device();
        let memory = Memory::create(&path, &device).unwrap();
        let mut modbus = Endpoint::new(&memory, 1, device.safe.clone(), 100, 1);
        let mut application = Connection::open(&path).unwrap();
        assert_eq!(memory.application(), Some(std::process::id()));
        let pressure = application.input("pressure").unwrap();
        assert!(application.set(pressure, 1.5));
        assert!(application.set(application.input("way").unwrap(), -2_147_483_648.0));
        for wrong in [0.5, 2.0, -1.0, f64::NAN] {
            assert!(!application.set(application.input("open").unwrap(), wrong), "{wrong}");
        }
        application.publish(50, true);
        let (image, good) = modbus.inputs(60);
        assert_eq!((value_of(pressure.0, image), good), (1.5, true));
        assert_eq!(value_of(application.input("way").unwrap().0, image), -2_147_483_648.0);

        let [speed, free] = ["speed", "free"].map(|name| application.output(name).unwrap());
        modbus.outputs(70, true, |image| image[..2].copy_from_slice(&(-7_i16).to_ne_bytes()));
        application.refresh(80);
        assert_eq!((application.get(speed), application.is_valid(speed)), (-7.0, true));
        assert_eq!((application.get(free), application.is_valid(free)), (9.0, false));
        assert_eq!((application.state(0), application.state(1)), (0, State::VALID | State::RUN));
        application.refresh(70 + 1_000_001);
        assert_eq!((application.get(speed), application.is_valid(speed)), (0.0, false), "the protocol hangs");
    }

    #[test]
    fn there_is_one_application() {
        let (_folder, path) = folder();
        let memory = Memory::create(&path, &device()).unwrap();
        let application = Connection::open(&path).unwrap();
        let error = Connection::open(&path).unwrap_err().to_string();
        assert_eq!(error, format!("another application has it: process {}", std::process::id()));
        drop(application);
        assert_eq!(memory.application(), None);
        Connection::open(&path).unwrap();
    }

    #[test]
    fn a_device_that_starts_again_uses_its_memory_on_unless_it_is_another() {
        let (_folder, path) = folder();
        let device = device();
        drop(Memory::create(&path, &device).unwrap());
        let mut application = Connection::open(&path).unwrap();
        let memory = Memory::create(&path, &device).unwrap();
        application.publish(50, true);
        assert!(Endpoint::new(&memory, 0, device.safe.clone(), 100, 1).inputs(60).1);
        assert!(!application.is_replaced());
        let mut other = device.clone();
        other.inputs.add("more", Type::U8);
        drop(memory);
        Memory::create(&path, &other).unwrap();
        assert!(application.is_replaced());
        assert!(Connection::open(&path).unwrap().input("more").is_some());
    }

    #[test]
    fn there_is_one_device_whether_it_would_use_the_memory_on_or_replace_it() {
        let (_folder, path) = folder();
        let memory = Memory::create(&path, &device()).unwrap();
        let slots = memory.outputs(0);
        drop(memory);
        let mut other = device();
        other.inputs.add("more", Type::U8);
        for device in [device(), other] {
            let error = Memory::create(&path, &device).unwrap_err().to_string();
            assert_eq!(error, "another weir-io runs with it");
        }
        assert!(!Connection::open(&path).unwrap().is_replaced());
        drop(slots);
        Memory::create(&path, &device()).unwrap();
    }

    #[test]
    fn what_others_put_in_the_folder_is_not_written_into() {
        let (folder, path) = folder();
        let precious = folder.path().join("precious");
        std::fs::write(&precious, "as it was").unwrap();
        std::os::unix::fs::symlink(&precious, path.with_extension("new")).unwrap();
        drop(Memory::create(&path, &device()).unwrap());
        assert_eq!(std::fs::read_to_string(&precious).unwrap(), "as it was");
        // A memory that fits, but that another user made and may write, is replaced.
        if rustix::process::geteuid().is_root() {
            let mut stranger = Connection::open(&path).unwrap();
            std::os::unix::fs::chown(&path, Some(65_534), None).unwrap();
            let memory = Memory::create(&path, &device()).unwrap();
            assert!(stranger.is_replaced());
            stranger.publish(50, true);
            assert!(!Endpoint::new(&memory, 0, device().safe, 100, 1).inputs(60).1);
        }
    }

    #[test]
    fn what_is_no_memory_is_refused() {
        let (_folder, path) = folder();
        assert!(Connection::open(&path).is_err());
        Memory::create(&path, &device()).unwrap();
        let good = std::fs::read(&path).unwrap();
        for (length, byte, says) in [
            (0, 0, "it is not a memory of this version of weir-io"),
            (good.len(), 4, "it is not a memory of this version of weir-io"),
            (good.len() - 1, 63, "its length is not what its header says"),
            (good.len(), 16, "its length is not what its header says"),
            (good.len(), 19, "its length is not what its header says"),
            (good.len(), good.len() - 64 + 43, "its data points are not what its header says"),
        ] {
            let mut wrong = good[..length].to_vec();
            if let Some(byte) = wrong.get_mut(byte) {
                *byte = 99;
            }
            std::fs::write(&path, wrong).unwrap();
            assert_eq!(Connection::open(&path).unwrap_err().to_string(), says, "{byte}");
        }
    }
}
