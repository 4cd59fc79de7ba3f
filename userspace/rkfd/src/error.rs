// SPDX-License-Identifier: MIT OR Apache-2.0

//! What can go wrong, and what to do about it.

use std::path::PathBuf;

use rustix::io::Errno;

/// What the inactive signal of a queue gets for its waves; smaller codes are the packet processor's.
mod trap {
    pub(super) const MEMORY_VIOLATION: i64 = 0x2000_0000;
    pub(super) const ILLEGAL_INSTRUCTION: i64 = 0x4000_0000;
    pub(super) const TRAP: i64 = 0x8000_0000;
}

/// A result of this library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of this library. The text states what to do where something can be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no `/dev/kfd`.
    #[error("{} does not exist: no KFD driver is loaded; load it (modprobe drm; insmod rkfd.ko) and see `dmesg`", path.display())]
    NoDriver {
        /// The device file.
        path: PathBuf,
    },
    /// The device file is not a KFD driver's.
    #[error("{} is there, but does not answer as a KFD driver", path.display())]
    NotKfd {
        /// The device file.
        path: PathBuf,
    },
    /// The render node that the topology names does not exist.
    #[error("{} does not exist, though the driver's topology names it; see `dmesg`, or wait for udev", path.display())]
    NoRenderNode {
        /// The device file.
        path: PathBuf,
    },
    /// The driver is there but knows no GPU.
    #[error("the KFD driver has no GPU; see `dmesg` for why none was taken")]
    NoGpu,
    /// There are fewer GPUs than the one asked for.
    #[error("there is no GPU {index}: {count} found, counted from 0")]
    NoSuchGpu {
        /// The GPU asked for.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// A device file may not be opened.
    #[error("no permission to open {}; add the user to the group that owns it, usually `render`", path.display())]
    Permission {
        /// The device file.
        path: PathBuf,
    },
    /// A device file can't be opened for another reason.
    #[error("cannot open {}: {errno}", path.display())]
    Open {
        /// The device file.
        path: PathBuf,
        /// The reason.
        errno: Errno,
    },
    /// The driver's interface is not the one this library speaks.
    #[error(
        "the driver speaks KFD {major}.{minor}; this library speaks {}.x",
        rkfd_uapi::VERSION_MAJOR
    )]
    Version {
        /// The driver's major version.
        major: u32,
        /// The driver's minor version.
        minor: u32,
    },
    /// The topology in sysfs is missing or lacks something.
    #[error("topology, {}: {what}", path.display())]
    Topology {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The process forked after opening the driver.
    #[error("the driver was opened before this process was forked; open it in the child only")]
    Forked,
    /// An ioctl failed.
    #[error("{name}: {errno}{}", hint(*errno))]
    Ioctl {
        /// The request.
        name: &'static str,
        /// The reason.
        errno: Errno,
    },
    /// `mmap` failed.
    #[error("mmap of {size} bytes ({what}): {errno}")]
    Map {
        /// What was to be mapped.
        what: &'static str,
        /// Bytes.
        size: usize,
        /// The reason.
        errno: Errno,
    },
    /// The GPU is gone, or was reset under this process.
    #[error("the GPU was lost or reset; the process must end or start anew")]
    DeviceLost,
    /// A memory access of the GPU failed.
    #[error("GPU {gpu_id:#x} could not access address {address:#x}: {reason}")]
    MemoryFault {
        /// The GPU.
        gpu_id: u32,
        /// The address, exact to a page.
        address: u64,
        /// Why.
        reason: &'static str,
    },
    /// The packet processor refused a packet and stopped the queue, or a wave of the queue met
    /// something it can't go on from: then what it computed is not whole, and never will be.
    #[error("the queue was stopped with error code {code:#x}: {}", cause(*code))]
    QueueStopped {
        /// The code in the queue's inactive signal: the packet processor's, or of waves 0x2000_0000 for
        /// a violation of memory, 0x4000_0000 for an illegal instruction, 0x8000_0000 for a trap.
        code: i64,
    },
    /// The time ran out.
    #[error("not finished after {millis} ms; the work goes on")]
    Timeout {
        /// How long was waited.
        millis: u128,
    },
    /// No queue of an SDMA engine can be had.
    #[error("the GPU has no free queue of a copy engine; copy with the CPU or by a kernel")]
    NoCopyEngine,
    /// Every slot of the ring is in use.
    #[error("the queue is full: {packets} packets wait")]
    QueueFull {
        /// Slots of the ring.
        packets: u32,
    },
    /// A ring size that the hardware does not take.
    #[error("a ring of {packets} packets is not possible: a power of two from 64 to 4194304")]
    RingSize {
        /// The size asked for.
        packets: u32,
    },
    /// A prepared dispatch is still running.
    #[error("the dispatch is still running; wait for it before submitting it again")]
    Busy,
    /// A queue that has one producer got work from elsewhere.
    #[error("the queue has one producer, which alone submits to it")]
    OneProducer,
    /// Work that was prepared for another queue.
    #[error("the work was prepared for another queue")]
    OtherQueue,
    /// A signal, buffer or module of another GPU.
    #[error("{what} belongs to another GPU than the queue")]
    OtherGpu {
        /// What it is.
        what: &'static str,
    },
    /// An allocation of nothing, or of more than there can be.
    #[error("cannot allocate {elements} elements of {size} bytes")]
    Size {
        /// Number of elements.
        elements: usize,
        /// Bytes of one.
        size: usize,
    },
    /// A buffer and a slice differ in length.
    #[error("the buffer has {buffer} elements, the slice {slice}")]
    Length {
        /// Elements of the buffer.
        buffer: usize,
        /// Elements of the slice.
        slice: usize,
    },
    /// A part of a buffer that does not lie within it.
    #[error("the range does not lie within the buffer's {len} elements")]
    Range {
        /// Elements of the buffer.
        len: usize,
    },
    /// A copy between parts of one buffer that overlap.
    #[error("source and target of the copy overlap; copy through a third buffer")]
    Overlap,
    /// An address that an engine cannot start at.
    #[error("address {address:#x} is no multiple of {align} bytes")]
    Alignment {
        /// The address.
        address: u64,
        /// What it must be a multiple of.
        align: u64,
    },
    /// The GPU may access all memory of the process, so no kernel could be run safely.
    #[error("the process has XNACK switched on, with which kernels can write to all of its memory; unset HSA_XNACK")]
    Xnack,
    /// The thread that sleeps for futures cannot be started.
    #[error("cannot start the thread that waits for events: {error}")]
    Thread {
        /// The reason.
        error: std::io::Error,
    },
    /// The CPU cannot see this memory.
    #[error("this memory is not mapped for the CPU; allocate host-visible memory")]
    NotHostVisible,
    /// A code object cannot be used.
    #[error(transparent)]
    Code(#[from] CodeError),
    /// A dispatch was described wrongly.
    #[error("kernel `{kernel}`: {error}")]
    Dispatch {
        /// The kernel.
        kernel: String,
        /// What is wrong.
        error: DispatchError,
    },
}

fn hint(errno: Errno) -> &'static str {
    match errno {
        Errno::NOMEM => " (out of memory of this kind, or a handle the driver does not know)",
        Errno::NODEV => " (the GPU is gone)",
        Errno::BADF => " (the driver was opened by another process)",
        Errno::SRCH => " (the GPU's address space was not acquired)",
        _ => "",
    }
}

/// What a queue's error code means.
fn cause(code: i64) -> &'static str {
    match code {
        code if code & trap::TRAP != 0 => "a kernel has trapped",
        code if code & trap::ILLEGAL_INSTRUCTION != 0 => "a kernel has an illegal instruction",
        code if code & trap::MEMORY_VIOLATION != 0 => "a kernel has accessed memory that it lacks",
        _ => "the packet processor refused a packet",
    }
}

impl Error {
    /// An ioctl's failure, which may mean that the device is gone.
    pub(crate) fn ioctl(name: &'static str, errno: Errno) -> Self {
        match errno {
            Errno::NODEV | Errno::IO => Self::DeviceLost,
            errno => Self::Ioctl { name, errno },
        }
    }
}

/// Why a code object cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq, Clone)]
#[non_exhaustive]
pub enum CodeError {
    /// Not an ELF file, or a damaged one.
    #[error("not a usable code object: {0}")]
    Damaged(String),
    /// Several code objects in a wrapper.
    #[error("this is a bundle of several code objects; compile with --no-gpu-bundle-output or take one out with clang-offload-bundler")]
    Bundle,
    /// An ELF file of another machine.
    #[error("this ELF file is for machine {machine}, not for an AMD GPU (224)")]
    Machine {
        /// `e_machine`.
        machine: u16,
    },
    /// Not for the HSA ABI, or of a version this library does not know.
    #[error("code object ABI {os_abi}.{version} is not supported: HSA (64) versions 2 to 4, which are code objects v4 to v6")]
    Abi {
        /// `EI_OSABI`.
        os_abi: u8,
        /// `EI_ABIVERSION`.
        version: u8,
    },
    /// Compiled for another GPU.
    #[error("the code object is for {code}, the GPU is {gpu}; compile with --offload-arch={gpu}")]
    Target {
        /// What the code object was compiled for.
        code: String,
        /// What the GPU is.
        gpu: String,
    },
    /// A relocation that this library does not know.
    #[error("relocation type {0} is not supported")]
    Relocation(u32),
    /// No such kernel.
    #[error("no kernel `{name}`; the code object has: {}", present.join(", "))]
    NoKernel {
        /// The name asked for.
        name: String,
        /// The kernels there are.
        present: Vec<String>,
    },
    /// Descriptor and metadata of a kernel differ.
    #[error("kernel `{kernel}`: kernarg size is {descriptor} in the descriptor, {metadata} in the metadata")]
    KernargSize {
        /// The kernel.
        kernel: String,
        /// Bytes, by the kernel descriptor.
        descriptor: u32,
        /// Bytes, by the metadata.
        metadata: u32,
    },
}

/// What a kernel takes, for a message.
fn listed(expected: &[String]) -> String {
    match expected {
        [] => String::new(),
        all => format!("; it takes: {}", all.join(", ")),
    }
}

/// Why a dispatch cannot be made.
#[derive(Debug, thiserror::Error, PartialEq, Eq, Clone)]
#[non_exhaustive]
pub enum DispatchError {
    /// Too few or too many arguments.
    #[error("takes {} arguments, {given} given{}", expected.len(), listed(expected))]
    ArgumentCount {
        /// What the kernel takes, in order: each argument's name, if the compiler kept it, and kind.
        expected: Vec<String>,
        /// How many were given.
        given: usize,
    },
    /// An argument of another kind or size.
    #[error("argument {index} is {expected}, {given} given")]
    ArgumentType {
        /// Counted from 0.
        index: usize,
        /// What the kernel takes.
        expected: String,
        /// What was given.
        given: String,
    },
    /// A kind of argument this library cannot give.
    #[error("argument {index} is a `{kind}`, which is not supported")]
    ArgumentKind {
        /// Counted from 0.
        index: usize,
        /// The metadata's word for it.
        kind: String,
    },
    /// No work-items.
    #[error("no grid was given, or one dimension of it is 0")]
    EmptyGrid,
    /// A work-group of no or of too many work-items.
    #[error("a work-group of {size:?} work-items is not possible: 1 to {max} in all")]
    WorkGroup {
        /// The size asked for.
        size: [u32; 3],
        /// The largest product.
        max: u32,
    },
    /// The kernel was compiled for one size of work-group.
    #[error("was compiled for work-groups of {required:?}, given {given:?}")]
    RequiredWorkGroup {
        /// What it was compiled for.
        required: [u32; 3],
        /// What was given.
        given: [u32; 3],
    },
    /// The kernel needs whole work-groups.
    #[error("was compiled for whole work-groups: the grid {grid:?} must be a multiple of the work-group {block:?}")]
    PartialWorkGroup {
        /// Work-items of the grid.
        grid: [u32; 3],
        /// Work-items of a work-group.
        block: [u32; 3],
    },
    /// More work-items than 32 bits count.
    #[error("a grid of {blocks:?} work-groups of {block:?} is more than 2^32-1 work-items in a dimension")]
    GridOverflow {
        /// Work-groups.
        blocks: [u32; 3],
        /// Work-items of one.
        block: [u32; 3],
    },
    /// More LDS than a compute unit has.
    #[error("needs {needed} bytes of LDS, a compute unit has {available}")]
    Lds {
        /// Bytes a work-group needs.
        needed: u64,
        /// Bytes there are.
        available: u32,
    },
    /// A PM4 queue does not give it.
    #[error("needs {what}, which only an AQL queue gives")]
    NeedsAql {
        /// What the kernel needs.
        what: &'static str,
    },
    /// The kernel needs more scratch memory than the GPU can give to a work-item.
    #[error("needs {bytes} bytes of scratch for each work-item, more than the GPU can give")]
    Scratch {
        /// Bytes of one work-item.
        bytes: u32,
    },
}
