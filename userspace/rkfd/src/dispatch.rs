// SPDX-License-Identifier: MIT OR Apache-2.0

//! Dispatches: described, checked, submitted, waited for.

use std::sync::Arc;
use std::time::Duration;

use rkfd_hw::aql::{self, Header, KernelDispatch, FENCE_SYSTEM};

use crate::code::{ArgKind, KernelMetadata};
use crate::command::CommandQueue;
use crate::device::Gpu;
use crate::error::{DispatchError, Error, Result};
use crate::kernarg::{self, Argument, Context, Given, IntoArgument};
use crate::kernel::{Kernel, Loaded};
use crate::memory::Bo;
use crate::pool::Piece;
use crate::queue::ring::WORDS;
use crate::queue::Queue;
use crate::signal::Signal;

/// Stack of a work-item when none is asked for, as HIP's `hipLimitStackSize`.
const STACK: u32 = 1024;

/// A size in up to three dimensions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    /// x, y and z; dimensions not given are 1.
    pub xyz: [u32; 3],
    /// How many were given.
    pub dims: u8,
}

impl From<u32> for Size {
    fn from(x: u32) -> Self {
        Self {
            xyz: [x, 1, 1],
            dims: 1,
        }
    }
}

impl From<(u32, u32)> for Size {
    fn from((x, y): (u32, u32)) -> Self {
        Self {
            xyz: [x, y, 1],
            dims: 2,
        }
    }
}

impl From<(u32, u32, u32)> for Size {
    fn from((x, y, z): (u32, u32, u32)) -> Self {
        Self {
            xyz: [x, y, z],
            dims: 3,
        }
    }
}

/// A dispatch's shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Geometry {
    /// Work-items of the grid.
    pub(crate) grid: [u32; 3],
    /// Work-items of a work-group.
    pub(crate) block: [u32; 3],
    pub(crate) dims: u8,
}

/// The queue that a dispatch is for.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    Aql(Queue),
    Commands(CommandQueue),
}

impl From<Queue> for Target {
    fn from(queue: Queue) -> Self {
        Self::Aql(queue)
    }
}

impl From<CommandQueue> for Target {
    fn from(queue: CommandQueue) -> Self {
        Self::Commands(queue)
    }
}

impl Target {
    fn gpu(&self) -> &Gpu {
        match self {
            Self::Aql(queue) => queue.gpu(),
            Self::Commands(queue) => queue.gpu(),
        }
    }

    /// Makes sure that a kernel's work-items have so many bytes of scratch.
    fn reserve_scratch(&self, kernel: &KernelMetadata, bytes: u32) -> Result<()> {
        match self {
            Self::Aql(queue) => queue.reserve_scratch(kernel, bytes),
            Self::Commands(queue) => queue.reserve_scratch(kernel, bytes),
        }
    }

    /// What goes into the ring for a packet.
    fn words(
        &self,
        packet: &KernelDispatch,
        kernel: &Kernel,
        signal: &Signal,
    ) -> Result<Vec<u32>, DispatchError> {
        match self {
            Self::Aql(_) => Ok(packet.0.to_vec()),
            Self::Commands(queue) => queue.commands(packet, kernel, signal),
        }
    }

    fn push(&self, words: &[u32], wait: bool) -> Result<u64> {
        match self {
            Self::Aql(queue) => {
                let packet = words.try_into().map_err(|_| Error::Length {
                    buffer: WORDS,
                    slice: words.len(),
                })?;
                queue.push(packet, wait)
            }
            Self::Commands(queue) => queue.push(words, wait),
        }
    }

    /// What is signalled when the queue stops, where it can be.
    fn stopped(&self) -> Option<&Signal> {
        match self {
            Self::Aql(queue) => queue.stopped(),
            Self::Commands(_) => None,
        }
    }

    /// Whether the packet processor or a wave reported an error, where that can be.
    fn check(&self) -> Result<()> {
        match self {
            Self::Aql(queue) => queue.check(),
            Self::Commands(_) => Ok(()),
        }
    }

    fn keep(&self, resources: Resources) {
        match self {
            Self::Aql(queue) => queue.keep(resources),
            Self::Commands(queue) => queue.keep(resources),
        }
    }
}

/// What is known of the grid: work-items or work-groups.
#[derive(Clone, Copy, Debug)]
enum Grid {
    None,
    Items(Size),
    Blocks(Size),
}

/// A dispatch being described. Nothing happens before [`submit`](Self::submit).
#[derive(Clone, Debug)]
#[must_use = "a dispatch does nothing until it is submitted"]
pub struct Dispatch {
    queue: Target,
    kernel: Kernel,
    grid: Grid,
    block: Size,
    args: Vec<Argument>,
    barrier: bool,
    fences: (u8, u8),
    sleep: bool,
    stack: u32,
}

/// Scratch of a work-item: what the compiler counted, and room for a stack where it can't count.
fn private_bytes(kernel: &KernelMetadata, stack: u32) -> u32 {
    match kernel.dynamic_stack {
        true => kernel.private_size.saturating_add(stack),
        false => kernel.private_size,
    }
}

/// Checks a shape against what the kernel can do.
fn geometry(kernel: &KernelMetadata, grid: Grid, block: Size) -> Result<Geometry, DispatchError> {
    let b = block.xyz;
    let max = kernel.max_flat_workgroup_size.clamp(1, 1024);
    let product = b
        .iter()
        .try_fold(1u32, |product, &n| product.checked_mul(n));
    if product.is_none_or(|product| product == 0 || product > max) {
        return Err(DispatchError::WorkGroup { size: b, max });
    }
    if let Some(required) = kernel
        .required_workgroup_size
        .filter(|&required| required != b)
    {
        return Err(DispatchError::RequiredWorkGroup { required, given: b });
    }
    let (g, dims) = match grid {
        Grid::None => return Err(DispatchError::EmptyGrid),
        Grid::Items(size) => (size.xyz, size.dims),
        Grid::Blocks(size) => {
            let overflow = DispatchError::GridOverflow {
                blocks: size.xyz,
                block: b,
            };
            let mut items = [0; 3];
            for (item, (n, b)) in items.iter_mut().zip(size.xyz.into_iter().zip(b)) {
                *item = n.checked_mul(b).ok_or_else(|| overflow.clone())?;
            }
            (items, size.dims)
        }
    };
    if g.contains(&0) {
        return Err(DispatchError::EmptyGrid);
    }
    if kernel.uniform_workgroups && g.iter().zip(b).any(|(g, b)| g % b != 0) {
        return Err(DispatchError::PartialWorkGroup { grid: g, block: b });
    }
    Ok(Geometry {
        grid: g,
        block: b,
        dims: dims.max(block.dims),
    })
}

impl Dispatch {
    pub(crate) fn new(queue: Target, kernel: &Kernel) -> Self {
        Self {
            queue,
            kernel: kernel.clone(),
            grid: Grid::None,
            block: 256.into(),
            args: Vec::new(),
            barrier: true,
            fences: (FENCE_SYSTEM, FENCE_SYSTEM),
            sleep: true,
            stack: STACK,
        }
    }

    /// Work-items of the whole grid.
    pub fn grid(mut self, items: impl Into<Size>) -> Self {
        self.grid = Grid::Items(items.into());
        self
    }

    /// Work-groups of the whole grid, instead of work-items.
    pub fn blocks(mut self, blocks: impl Into<Size>) -> Self {
        self.grid = Grid::Blocks(blocks.into());
        self
    }

    /// Work-items of a work-group; 256 when not given.
    pub fn block(mut self, items: impl Into<Size>) -> Self {
        self.block = items.into();
        self
    }

    /// The next argument.
    pub fn arg(mut self, value: impl IntoArgument) -> Self {
        self.args.push(value.into_argument());
        self
    }

    /// Does not wait for the packets before it in the queue: dispatches may then run at the same
    /// time.
    pub fn concurrent(mut self) -> Self {
        self.barrier = false;
        self
    }

    /// Scopes of the fences before and after it: `rkfd_hw::aql::FENCE_` constants, 0 to 2.
    pub fn fences(mut self, acquire: u8, release: u8) -> Self {
        self.fences = (acquire, release);
        self
    }

    /// Bytes of stack for each work-item of a kernel whose calls the compiler can't follow; 1024
    /// when not given.
    pub fn stack(mut self, bytes: u32) -> Self {
        self.stack = bytes;
        self
    }

    /// Completes without an interrupt. Waiting polls; the GPU wakes nobody.
    pub fn polled(mut self) -> Self {
        self.sleep = false;
        self
    }

    /// Checks the dispatch and puts the arguments into memory. What comes back can be submitted
    /// any number of times, without system calls.
    pub fn prepare(self) -> Result<Submission> {
        let metadata = self.kernel.metadata();
        let wrong = |error| Error::Dispatch {
            kernel: metadata.name.clone(),
            error,
        };
        let gpu = self.queue.gpu();
        let shape = geometry(metadata, self.grid, self.block).map_err(wrong)?;

        let dynamic_lds = self
            .args
            .iter()
            .fold(0u64, |sum, Argument(given)| match given {
                Given::DynamicLds(bytes) => sum + u64::from(*bytes),
                _ => sum,
            });
        let needed = u64::from(metadata.group_size) + dynamic_lds;
        let available = gpu.node().lds_size();
        if needed > u64::from(available) {
            return Err(wrong(DispatchError::Lds { needed, available }));
        }
        let private = private_bytes(metadata, self.stack);
        if private > 0 {
            self.queue.reserve_scratch(metadata, private)?;
        }
        let own = gpu.link().gpu_id;
        let foreign = |bo: &Arc<Bo>| bo.link().gpu_id != own;
        let buffers = self.args.iter().filter_map(|Argument(given)| match given {
            Given::Buffer { bo, .. } => bo.clone(),
            _ => None,
        });
        let buffers: Vec<Arc<Bo>> = buffers.collect();
        if buffers.iter().any(foreign) {
            return Err(Error::OtherGpu { what: "a buffer" });
        }
        if self.kernel.loaded().bo.link().gpu_id != own {
            return Err(Error::OtherGpu { what: "the kernel" });
        }

        let apertures = gpu.link().apertures;
        let context = Context {
            geometry: shape,
            lds_aperture: apertures.lds_base,
            scratch_aperture: apertures.scratch_base,
            queue: match &self.queue {
                Target::Aql(queue) => queue.control_address(),
                Target::Commands(_) => 0,
            },
            dynamic_lds: dynamic_lds as u32,
        };
        let block = kernarg::pack(metadata, &self.args, &context).map_err(wrong)?;
        let kernarg = match block.is_empty() {
            true => None,
            false => {
                let piece = gpu.kernarg(block.len())?;
                piece.write(&block)?;
                Some(piece)
            }
        };
        let signal = gpu.signal_of(0, self.sleep)?;
        let header = Header {
            packet_type: aql::TYPE_KERNEL_DISPATCH,
            barrier: self.barrier,
            acquire: self.fences.0.min(FENCE_SYSTEM),
            release: self.fences.1.min(FENCE_SYSTEM),
        };
        let packet = packet(
            header,
            &shape,
            (private, needed as u32),
            self.kernel.address(),
            kernarg.as_ref().map_or(0, Piece::address),
            signal.address(),
        );
        let words = self.queue.words(&packet, &self.kernel, &signal);
        let words = words.map_err(wrong)?;
        let resources = Resources {
            signal,
            kernarg,
            _code: Some(self.kernel.loaded().clone()),
            _buffers: buffers,
        };
        Ok(Submission::new(self.queue, &words, resources))
    }

    /// Submits it: waits for a free slot of the ring, writes the packet, rings the doorbell.
    pub fn submit(self) -> Result<Submission> {
        let mut submission = self.prepare()?;
        submission.submit()?;
        Ok(submission)
    }

    /// What the kernel takes, in order, for messages.
    pub fn expected(&self) -> Vec<String> {
        let args = self.kernel.metadata().args.iter();
        args.filter_map(|arg| match &arg.kind {
            ArgKind::Hidden(_) => None,
            ArgKind::Value => Some(format!("{}-byte value", arg.size)),
            ArgKind::Buffer => Some("buffer".into()),
            ArgKind::DynamicLds => Some("LDS".into()),
            ArgKind::Other(kind) => Some(kind.clone()),
        })
        .collect()
    }
}

fn packet(
    header: Header,
    shape: &Geometry,
    (private_size, group_size): (u32, u32),
    kernel: u64,
    kernarg: u64,
    signal: u64,
) -> KernelDispatch {
    let [gx, gy, gz] = shape.grid.map(u64::from);
    let [bx, by, bz] = shape.block.map(u64::from);
    KernelDispatch::zeroed()
        .with(KernelDispatch::HEADER, header.bits().into())
        .with(KernelDispatch::SETUP, shape.dims.into())
        .with(KernelDispatch::WORKGROUP_SIZE_X, bx)
        .with(KernelDispatch::WORKGROUP_SIZE_Y, by)
        .with(KernelDispatch::WORKGROUP_SIZE_Z, bz)
        .with(KernelDispatch::GRID_SIZE_X, gx)
        .with(KernelDispatch::GRID_SIZE_Y, gy)
        .with(KernelDispatch::GRID_SIZE_Z, gz)
        .with(KernelDispatch::PRIVATE_SEGMENT_SIZE, private_size.into())
        .with(KernelDispatch::GROUP_SEGMENT_SIZE, group_size.into())
        .with(KernelDispatch::KERNEL_OBJECT, kernel)
        .with(KernelDispatch::KERNARG_ADDRESS, kernarg)
        .with(KernelDispatch::COMPLETION_SIGNAL, signal)
}

/// What the GPU uses while a packet runs.
#[derive(Debug)]
pub(crate) struct Resources {
    signal: Signal,
    kernarg: Option<Piece>,
    _code: Option<Arc<Loaded>>,
    _buffers: Vec<Arc<Bo>>,
}

impl Resources {
    pub(crate) fn of_signal(signal: Signal) -> Self {
        Self {
            signal,
            kernarg: None,
            _code: None,
            _buffers: Vec::new(),
        }
    }

    pub(crate) fn done(&self) -> bool {
        self.signal.value() <= 0
    }
}

/// A packet that was, or can be, submitted. Dropping one that still runs is safe: what it uses is
/// kept until it is done.
#[derive(Debug)]
pub struct Submission {
    queue: Target,
    packet: Vec<u32>,
    resources: Option<Resources>,
    index: Option<u64>,
}

impl Submission {
    pub(crate) fn new(queue: Target, packet: &[u32], resources: Resources) -> Self {
        Self {
            queue,
            packet: packet.to_vec(),
            resources: Some(resources),
            index: None,
        }
    }

    fn start(&mut self, wait: bool) -> Result<u64> {
        if !self.is_done() {
            return Err(Error::Busy);
        }
        let Some(resources) = &self.resources else {
            return Err(Error::Busy);
        };
        resources.signal.set(1);
        let result = self.queue.push(&self.packet, wait);
        match result {
            Ok(index) => self.index = Some(index),
            Err(_) => resources.signal.set(0),
        }
        result
    }

    /// Submits it, again if it was submitted before and is done: the packet's number in the queue,
    /// or that of its first word in a PM4 queue.
    /// Waits for a free slot. Makes no system call.
    pub fn submit(&mut self) -> Result<u64> {
        self.start(true)
    }

    /// Like [`submit`](Self::submit), but fails with [`Error::QueueFull`] instead of waiting.
    pub fn try_submit(&mut self) -> Result<u64> {
        self.start(false)
    }

    /// Whether it is not running.
    pub fn is_done(&self) -> bool {
        self.resources.as_ref().is_none_or(Resources::done)
    }

    /// Waits until it is done: spins a little, then sleeps.
    pub fn wait(&self) -> Result<()> {
        self.wait_for(None)
    }

    /// Like [`wait`](Self::wait), with an end: then [`Error::Timeout`], and the work goes on.
    pub fn wait_timeout(&self, timeout: Duration) -> Result<()> {
        self.wait_for(Some(timeout))
    }

    fn wait_for(&self, timeout: Option<Duration>) -> Result<()> {
        match &self.resources {
            Some(resources) => {
                let signal = &resources.signal;
                signal.wait(timeout, self.queue.stopped(), || self.queue.check())
            }
            None => Ok(()),
        }
    }

    /// Spins until it is done. Makes no system call.
    pub fn spin(&self) -> Result<()> {
        while !self.is_done() {
            self.queue.check()?;
            std::hint::spin_loop();
        }
        Ok(())
    }

    /// The packet's 16 words, or the words of its commands.
    pub fn packet(&self) -> &[u32] {
        &self.packet
    }

    /// Number of the packet in the queue, when it was submitted.
    pub fn index(&self) -> Option<u64> {
        self.index
    }

    /// The completion signal.
    pub fn signal(&self) -> Option<&Signal> {
        self.resources.as_ref().map(|resources| &resources.signal)
    }

    /// Address of the argument block.
    pub fn kernarg_address(&self) -> Option<u64> {
        self.resources
            .as_ref()?
            .kernarg
            .as_ref()
            .map(Piece::address)
    }
}

impl Drop for Submission {
    fn drop(&mut self) {
        if let Some(resources) = self.resources.take().filter(|resources| !resources.done()) {
            self.queue.keep(resources);
        }
    }
}

#[cfg(test)]
mod tests;
