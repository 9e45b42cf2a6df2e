// SPDX-License-Identifier: Apache-2.0
//! The memory that the application and the protocols share: a header, and for each protocol a triple buffer of inputs and
//! one of outputs. It is a file, so that each of them can be a process of its own, die and come back.
//!
//! Integers are in the machine's own order. `rte/c/weir_io.h` describes the same memory to C.

use std::fs::File;
use std::io;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;

use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

use super::rotation::Rotation;

/// First word of the header: "Weir" and the layout's version.
pub const MAGIC: [u32; 2] = [0x5765_6972, 1];
/// Where a line of a cache begins, and every buffer with it.
const LINE: usize = 64;
/// Bytes of a slot in front of its image.
const SLOT_HEADER: usize = 16;

/// What lies where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Bytes of the image of inputs.
    pub inputs: usize,
    /// Bytes of the image of outputs.
    pub outputs: usize,
    /// How many protocols there are.
    pub endpoints: usize,
}

impl Plan {
    fn stride(image: usize) -> usize {
        (SLOT_HEADER + image).next_multiple_of(LINE)
    }

    fn buffer_bytes(image: usize) -> usize {
        LINE + 3 * Self::stride(image)
    }

    fn endpoint_at(&self, endpoint: usize) -> usize {
        LINE + endpoint * (Self::buffer_bytes(self.inputs) + Self::buffer_bytes(self.outputs))
    }

    /// Bytes of all.
    pub fn bytes(&self) -> usize {
        self.endpoint_at(self.endpoints)
    }

    fn header(&self) -> [u32; 5] {
        let [magic, version] = MAGIC;
        [magic, version, self.inputs as u32, self.outputs as u32, self.endpoints as u32]
    }
}

#[derive(Debug)]
struct Mapping {
    at: NonNull<u8>,
    bytes: usize,
}

// SAFETY: what is in the mapping is shared by the rules of Rotation alone.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nobody has a pointer into it any more: they all hold it.
        let _ = unsafe { munmap(self.at.as_ptr().cast(), self.bytes) };
    }
}

/// The memory.
#[derive(Clone, Debug)]
pub struct Memory {
    mapping: Arc<Mapping>,
    plan: Plan,
}

impl Memory {
    /// Memory of this process alone.
    ///
    /// # Errors
    /// If there is none.
    pub fn anonymous(plan: Plan) -> io::Result<Self> {
        // SAFETY: a new mapping.
        let at = unsafe {
            mmap_anonymous(std::ptr::null_mut(), plan.bytes(), ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED)
        }?;
        let memory = Self::new(at, plan);
        memory.start();
        Ok(memory)
    }

    /// A new file, in place of one that is there. It appears under its name when it is whole.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn create(path: &Path, plan: Plan) -> io::Result<Self> {
        let new = path.with_extension("new");
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&new)?;
        file.set_len(plan.bytes() as u64)?;
        let memory = Self::map(&file, plan)?;
        memory.start();
        std::fs::rename(&new, path)?;
        Ok(memory)
    }

    /// A file that was made by [`Self::create`].
    ///
    /// # Errors
    /// If it cannot be read, or is something else.
    pub fn open(path: &Path) -> io::Result<Self> {
        let wrong = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
        let file = File::options().read(true).write(true).open(path)?;
        let bytes = file.metadata()?.len();
        let mut header = [0; 20];
        io::Read::read_exact(&mut &file, &mut header)
            .map_err(|_| wrong("it is too short to be a memory of weir-io"))?;
        let word =
            |n: usize| u32::from_ne_bytes([header[4 * n], header[4 * n + 1], header[4 * n + 2], header[4 * n + 3]]);
        if [word(0), word(1)] != MAGIC {
            return Err(wrong("it is not a memory of this version of weir-io"));
        }
        let plan = Plan { inputs: word(2) as usize, outputs: word(3) as usize, endpoints: word(4) as usize };
        if bytes != plan.bytes() as u64 {
            return Err(wrong("its length is not what its header says"));
        }
        Self::map(&file, plan)
    }

    fn map(file: &File, plan: Plan) -> io::Result<Self> {
        // SAFETY: a new mapping.
        let at = unsafe {
            mmap(std::ptr::null_mut(), plan.bytes(), ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, file, 0)
        }?;
        Ok(Self::new(at, plan))
    }

    fn new(at: *mut std::ffi::c_void, plan: Plan) -> Self {
        let at = NonNull::new(at.cast()).expect("mappings are not at zero");
        Self { mapping: Arc::new(Mapping { at, bytes: plan.bytes() }), plan }
    }

    /// Writes the header and the words of the triple buffers. Before anybody else has the memory.
    fn start(&self) {
        for (n, word) in self.plan.header().into_iter().enumerate() {
            // SAFETY: the header is within the first line, and nobody else has the memory.
            unsafe { self.mapping.at.as_ptr().cast::<u32>().add(n).write(word) };
        }
        for endpoint in 0..self.plan.endpoints {
            for at in [self.plan.endpoint_at(endpoint), self.outputs_at(endpoint)] {
                // SAFETY: a buffer's first line, within the mapping.
                unsafe { self.mapping.at.as_ptr().add(at).cast::<u32>().write(Rotation::START) };
            }
        }
    }

    fn outputs_at(&self, endpoint: usize) -> usize {
        self.plan.endpoint_at(endpoint) + Plan::buffer_bytes(self.plan.inputs)
    }

    /// What lies where.
    pub fn plan(&self) -> Plan {
        self.plan
    }

    /// A protocol's inputs. One of the two that use them may write, the other read.
    pub fn inputs(&self, endpoint: usize) -> Slots {
        assert!(endpoint < self.plan.endpoints);
        Slots { memory: self.clone(), at: self.plan.endpoint_at(endpoint), image: self.plan.inputs }
    }

    /// A protocol's outputs. One of the two that use them may write, the other read.
    pub fn outputs(&self, endpoint: usize) -> Slots {
        assert!(endpoint < self.plan.endpoints);
        Slots { memory: self.clone(), at: self.outputs_at(endpoint), image: self.plan.outputs }
    }
}

/// What stands before an image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Stamp {
    /// When it was published: nanoseconds of `CLOCK_MONOTONIC`; 0 if never.
    pub at: u64,
    /// Bits of [`super::endpoint::State`].
    pub state: u32,
    reserved: u32,
}

const _: () = assert!(size_of::<Stamp>() == SLOT_HEADER);

/// A triple buffer of images in the memory.
#[derive(Debug)]
pub struct Slots {
    memory: Memory,
    at: usize,
    image: usize,
}

impl Slots {
    /// Its word.
    pub fn rotation(&self) -> &Rotation {
        // SAFETY: within the mapping, aligned to a line, and shared as an atomic word only.
        unsafe { &*self.memory.mapping.at.as_ptr().add(self.at).cast::<Rotation>() }
    }

    fn slot(&self, index: usize) -> *mut u8 {
        assert!(index < 3, "another process has destroyed the shared memory");
        // SAFETY: within the mapping.
        unsafe { self.memory.mapping.at.as_ptr().add(self.at + LINE + index * Plan::stride(self.image)) }
    }

    /// Publishes an image. For the one that writes.
    pub fn publish(&mut self, at: u64, state: u32, image: &[u8]) {
        assert_eq!(image.len(), self.image);
        let slot = self.slot(self.rotation().back());
        // SAFETY: the back buffer is the producer's, and there is one: `&mut self`, and the rules of Memory.
        unsafe {
            slot.cast::<Stamp>().write(Stamp { at, state, reserved: 0 });
            std::ptr::copy_nonoverlapping(image.as_ptr(), slot.add(SLOT_HEADER), image.len());
        }
        self.rotation().publish();
    }

    /// The newest image, and whether it is seen for the first time. For the one that reads.
    pub fn newest(&mut self) -> (Stamp, &[u8], bool) {
        let (front, fresh) = self.rotation().take();
        let slot = self.slot(front);
        // SAFETY: the front buffer is the consumer's, and there is one: `&mut self`, and the rules of Memory.
        unsafe { (slot.cast::<Stamp>().read(), std::slice::from_raw_parts(slot.add(SLOT_HEADER), self.image), fresh) }
    }
}
