// SPDX-License-Identifier: Apache-2.0
//! The memory that the application and the protocols share: a header, for each protocol a triple buffer of inputs and
//! one of outputs, and the [`Description`] of what is in them. It is a file, so that each of them can be a process of
//! its own, die and come back.
//!
//! Integers are in the machine's own order. `rte/c/weir_io.h` describes the same memory to C.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{FlockOperation, flock};
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

use super::description::{Counts, Description, RECORD};
use super::rotation::Rotation;

/// First word of the header: "Weir" and the layout's version.
pub const MAGIC: [u32; 2] = [0x5765_6972, 2];
/// Where a line of a cache begins, and every buffer with it.
const LINE: usize = 64;
/// Bytes of a slot in front of its image.
const SLOT_HEADER: usize = 16;
/// Words of the header that are written once.
const HEADER: usize = 9;
/// The header's word with the application's process.
const APPLICATION: usize = 9;
/// The header's word that is not 0 when another memory stands in this one's place.
const REPLACED: usize = 10;

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

    /// Bytes of the header and the buffers.
    pub fn bytes(&self) -> usize {
        self.endpoint_at(self.endpoints)
    }
}

/// The header's words: what lies where, how many records there are behind it, the bytes of all, and for how many
/// milliseconds outputs are believed.
fn header(plan: Plan, description: &Description) -> [u32; HEADER] {
    let [magic, version] = MAGIC;
    let Counts { inputs, outputs, .. } = description.counts();
    let bytes = plan.bytes() + description.encode().len();
    let stale_after_ms = description.outputs_stale_after / 1_000_000;
    [magic, version, plan.inputs as u32, plan.outputs as u32, plan.endpoints as u32, inputs as u32, outputs as u32]
        .into_iter()
        .chain([bytes as u32, stale_after_ms as u32])
        .collect::<Vec<_>>()
        .try_into()
        .expect("they are as many")
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
    /// The device's right to the file, if it was made or claimed here.
    device: Option<Arc<File>>,
}

fn wrong(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.to_owned())
}

/// Takes the device's right to a file, of which there is one until all who hold the file let go. It is independent of
/// the application's: two devices would write the same outputs.
fn hold(file: &File) -> io::Result<()> {
    // SAFETY: all zeros are a lock of the whole file.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_WRLCK as libc::c_short;
    // SAFETY: the lock lives for the call.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) } == 0 {
        return Ok(());
    }
    match io::Error::last_os_error() {
        error if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => {
            Err(io::Error::new(io::ErrorKind::ResourceBusy, "another weir-io runs with it"))
        }
        error => Err(error),
    }
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
        let memory = Self::new(at, plan, plan.bytes());
        memory.start(&[]);
        Ok(memory)
    }

    /// The file of a device. One that is there and describes the same is used on, so that an application that has it
    /// does not notice; any other is replaced, and its application is told to open it again. The file appears under its
    /// name when it is whole. Its folder may be one in which everybody may make files: what others made there is not
    /// used. For as long as the memory is held, no other device can have the file.
    ///
    /// # Errors
    /// If it cannot be written, or a device runs with it.
    pub fn create(path: &Path, description: &Description) -> io::Result<Self> {
        let plan = description.plan();
        let old = Self::claim(path)?;
        if let Some((memory, found, true)) = &old
            && found == description
            && (0..plan.endpoints).all(|n| memory.inputs(n).is_sound() && memory.outputs(n).is_sound())
        {
            return Ok(memory.clone());
        }
        // Nobody's link is followed, and nobody's file written into.
        let new = path.with_extension("new");
        let _ = std::fs::remove_file(&new);
        let mut file = File::options().read(true).write(true).create_new(true).open(&new)?;
        file.set_len(plan.bytes() as u64)?;
        io::Seek::seek(&mut file, io::SeekFrom::End(0))?;
        io::Write::write_all(&mut file, &description.encode())?;
        let mut memory = Self::map(&file, plan, plan.bytes() + description.encode().len())?;
        memory.start(&header(plan, description));
        hold(&file)?;
        memory.device = Some(Arc::new(file));
        std::fs::rename(&new, path)?;
        if let Some((old, ..)) = old {
            old.word(REPLACED).store(1, Ordering::Release);
        }
        Ok(memory)
    }

    /// The memory that is there, what it says of itself, and whether this user made it: then it is held.
    fn claim(path: &Path) -> io::Result<Option<(Self, Description, bool)>> {
        let Ok(file) = File::options().read(true).write(true).open(path) else { return Ok(None) };
        let is_own = file.metadata()?.uid() == rustix::process::geteuid().as_raw();
        if is_own {
            hold(&file)?;
        }
        let Ok((memory, description)) = Self::read(&file) else { return Ok(None) };
        Ok(Some((Self { device: Some(Arc::new(file)), ..memory }, description, is_own)))
    }

    /// A file that was made by [`Self::create`], and what it says of itself.
    ///
    /// # Errors
    /// If it cannot be read, or is something else.
    pub fn open(path: &Path) -> io::Result<(Self, Description)> {
        Self::read(&File::options().read(true).write(true).open(path)?)
    }

    fn read(file: &File) -> io::Result<(Self, Description)> {
        let length = file.metadata()?.len();
        let mut bytes = [0; 4 * HEADER];
        rustix::io::pread(file, &mut bytes, 0)?;
        let word = |n: usize| u32::from_ne_bytes([bytes[4 * n], bytes[4 * n + 1], bytes[4 * n + 2], bytes[4 * n + 3]]);
        if [word(0), word(1)] != MAGIC {
            return Err(wrong("it is not a memory of this version of weir-io"));
        }
        let [inputs, outputs, endpoints] = [2, 3, 4].map(|n| word(n) as usize);
        let plan = Plan { inputs, outputs, endpoints };
        let counts = Counts { endpoints, inputs: word(5) as usize, outputs: word(6) as usize };
        let records = counts.endpoints + counts.inputs + counts.outputs;
        // None is so large that the sum of all could overflow.
        let is_small = [inputs, outputs, endpoints, records].iter().all(|n| *n <= 1 << 20);
        let whole = if is_small { plan.bytes() + records * RECORD } else { 0 };
        if length != whole as u64 || word(7) as usize != whole {
            return Err(wrong("its length is not what its header says"));
        }
        let mut bytes = vec![0; records * RECORD];
        rustix::io::pread(file, &mut bytes, plan.bytes() as u64)?;
        let description = Description::decode(&bytes, counts, plan, u64::from(word(8)) * 1_000_000)
            .ok_or_else(|| wrong("its data points are not what its header says"))?;
        Ok((Self::map(file, plan, whole)?, description))
    }

    fn map(file: &File, plan: Plan, bytes: usize) -> io::Result<Self> {
        // SAFETY: a new mapping.
        let at = unsafe {
            mmap(std::ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, file, 0)
        }?;
        Ok(Self::new(at, plan, bytes))
    }

    fn new(at: *mut std::ffi::c_void, plan: Plan, bytes: usize) -> Self {
        let at = NonNull::new(at.cast()).expect("mappings are not at zero");
        Self { mapping: Arc::new(Mapping { at, bytes }), plan, device: None }
    }

    /// Writes the header and the words of the triple buffers. Before anybody else has the memory.
    fn start(&self, header: &[u32]) {
        for (n, word) in header.iter().enumerate() {
            self.word(n).store(*word, Ordering::Relaxed);
        }
        for endpoint in 0..self.plan.endpoints {
            for at in [self.plan.endpoint_at(endpoint), self.outputs_at(endpoint)] {
                // SAFETY: a buffer's first line, within the mapping.
                unsafe { self.mapping.at.as_ptr().add(at).cast::<u32>().write(Rotation::START) };
            }
        }
    }

    /// A word of the header.
    fn word(&self, n: usize) -> &AtomicU32 {
        assert!(4 * n < LINE);
        // SAFETY: the header is within the first line, aligned to it, and shared as atomic words only.
        unsafe { &*self.mapping.at.as_ptr().cast::<AtomicU32>().add(n) }
    }

    /// The process of the application that has the memory, or had it when it was killed.
    pub fn application(&self) -> Option<u32> {
        Some(self.word(APPLICATION).load(Ordering::Relaxed)).filter(|process| *process != 0)
    }

    /// Whether another memory stands in this one's place: the device was started with another configuration.
    pub fn is_replaced(&self) -> bool {
        self.word(REPLACED).load(Ordering::Acquire) != 0
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

/// The application's right to the memory, of which there is one. The kernel takes it back from a process that dies.
#[derive(Debug)]
pub struct Presence {
    /// Its lock is the right.
    _file: File,
    memory: Memory,
}

impl Presence {
    /// Opens a device's memory for the application.
    ///
    /// # Errors
    /// As [`Memory::open`], and if another application has it.
    pub fn take(path: &Path) -> io::Result<(Self, Memory, Description)> {
        let file = File::options().read(true).write(true).open(path)?;
        let (memory, description) = Memory::read(&file)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|_| {
            let process = memory.application().unwrap_or(0);
            io::Error::new(io::ErrorKind::ResourceBusy, format!("another application has it: process {process}"))
        })?;
        memory.word(APPLICATION).store(std::process::id(), Ordering::Relaxed);
        Ok((Self { _file: file, memory: memory.clone() }, memory, description))
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.memory.word(APPLICATION).store(0, Ordering::Relaxed);
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

    /// Whether its word names each slot once.
    pub fn is_sound(&self) -> bool {
        self.rotation().is_sound()
    }

    fn slot(&self, index: usize) -> *mut u8 {
        // An application that destroys the memory gets nonsense, and stops no protocol.
        let index = index.min(2);
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

    /// What was published last, if anything, for the one that writes: it may be another process than the one that
    /// published it.
    pub fn published(&self) -> Option<&[u8]> {
        let slot = self.slot(self.rotation().published());
        // SAFETY: nobody but the producer writes into any slot, and that one is not its back buffer.
        let (stamp, image) =
            unsafe { (slot.cast::<Stamp>().read(), std::slice::from_raw_parts(slot.add(SLOT_HEADER), self.image)) };
        (stamp.at != 0).then_some(image)
    }

    /// The newest image, and whether it is seen for the first time. For the one that reads.
    pub fn newest(&mut self) -> (Stamp, &[u8], bool) {
        let (front, fresh) = self.rotation().take();
        let slot = self.slot(front);
        // SAFETY: the front buffer is the consumer's, and there is one: `&mut self`, and the rules of Memory.
        unsafe { (slot.cast::<Stamp>().read(), std::slice::from_raw_parts(slot.add(SLOT_HEADER), self.image), fresh) }
    }
}
