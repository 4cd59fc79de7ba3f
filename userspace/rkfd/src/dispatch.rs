// SPDX-License-Identifier: MIT OR Apache-2.0

//! Dispatches: described, checked, submitted, waited for.

mod argument;
mod barrier;
mod geometry;
mod graph;
mod kernarg;
mod producer;
mod submission;
mod target;

use std::sync::Arc;

use rkfd_hw::aql::{self, Header, KernelDispatch};

use crate::code::KernelMetadata;
use crate::command::CommandQueue;
use crate::error::{DispatchError, Error, Result};
use crate::memory::{Bo, Piece};
use crate::module::Kernel;
use crate::queue::Queue;

use argument::Given;
pub use argument::{Argument, Bytes, IntoArgument, Lds};
pub use geometry::Size;
use geometry::{geometry, Geometry, Grid};
pub use graph::Graph;
use kernarg::Context;
pub use producer::Producer;
use submission::Resources;
pub use submission::Submission;
use target::Target;

/// Stack of a work-item when none is asked for, as HIP's `hipLimitStackSize`.
const STACK: u32 = 1024;

/// Who sees what was written before a fence, or whose writings are seen behind it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum FenceScope {
    /// Nobody: caches are left alone.
    None,
    /// The GPU's own compute units.
    Agent,
    /// CPUs and other devices too.
    #[default]
    System,
}

impl FenceScope {
    fn bits(self) -> u8 {
        match self {
            Self::None => aql::FENCE_NONE,
            Self::Agent => aql::FENCE_AGENT,
            Self::System => aql::FENCE_SYSTEM,
        }
    }
}

/// A dispatch being described. Nothing happens before [`submit`](Self::submit).
///
/// ```
/// use rkfd::{FenceScope, QueueOptions};
///
/// let (gpu, _driver) = rkfd::fake::open();
/// let kernel = gpu.load(rkfd::fake::VADD)?.kernel("vadd")?;
/// let queue = gpu.queue(QueueOptions::default())?;
/// let (a, b, c) = (gpu.upload(&[1.0f32; 64])?, gpu.upload(&[2.0f32; 64])?, gpu.alloc::<f32>(64)?);
/// let add = queue.dispatch(&kernel).grid(64).block(64).arg(&a).arg(&b).arg(&c).arg(64i32);
/// add.fences(FenceScope::System, FenceScope::System).polled().submit()?.spin()?;
///
/// // What the compiler recorded about the kernel is checked first.
/// let error = queue.dispatch(&kernel).grid(64).block(64).arg(&a).submit().unwrap_err();
/// assert!(error.to_string().contains("takes 4 arguments, 1 given; it takes: `a`, a buffer"));
/// # Ok::<(), rkfd::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a dispatch does nothing until it is submitted"]
pub struct Dispatch {
    queue: Target,
    kernel: Kernel,
    grid: Grid,
    block: Size,
    args: Vec<Argument>,
    barrier: bool,
    fences: (FenceScope, FenceScope),
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

impl Queue {
    /// Begins a dispatch of a kernel.
    pub fn dispatch(&self, kernel: &Kernel) -> Dispatch {
        Dispatch::new(self.clone(), kernel)
    }
}

impl CommandQueue {
    /// Begins a dispatch of a kernel. It always waits for those before it in the queue.
    pub fn dispatch(&self, kernel: &Kernel) -> Dispatch {
        Dispatch::new(self.clone(), kernel)
    }
}

impl Dispatch {
    fn new(queue: impl Into<Target>, kernel: &Kernel) -> Self {
        Self {
            queue: queue.into(),
            kernel: kernel.clone(),
            grid: Grid::None,
            block: 256.into(),
            args: Vec::new(),
            barrier: true,
            fences: (FenceScope::System, FenceScope::System),
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

    /// Scopes of the fences before and after it; both are the whole system's when not given.
    pub fn fences(mut self, acquire: FenceScope, release: FenceScope) -> Self {
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
    ///
    /// # Errors
    ///
    /// [`Error::Dispatch`] when the shape or the arguments are not what the kernel takes,
    /// [`Error::OtherGpu`] for memory or a kernel of another GPU's, [`Error::Ioctl`] when there is
    /// no memory left for scratch or arguments.
    pub fn prepare(self) -> Result<Submission> {
        let signal = self.queue.gpu().signal_of(0, self.sleep)?;
        let (packet, resources) = self.describe(signal.address())?;
        let work = self.queue.work(&packet, &self.kernel, &signal);
        let work = work.map_err(|error| Error::Dispatch {
            kernel: self.kernel.metadata().name.clone(),
            error,
        })?;
        Ok(Submission::new(work, signal, resources))
    }

    /// Checks the dispatch and puts the arguments into memory: the packet, with the address of a completion
    /// signal, and what it uses.
    fn describe(&self, signal: u64) -> Result<(KernelDispatch, Resources)> {
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
            queue: self.queue.structure(),
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
        let header = Header {
            packet_type: aql::TYPE_KERNEL_DISPATCH,
            barrier: self.barrier,
            acquire: self.fences.0.bits(),
            release: self.fences.1.bits(),
        };
        let packet = packet(
            header,
            &shape,
            (private, needed as u32),
            self.kernel.address(),
            kernarg.as_ref().map_or(0, Piece::address),
            signal,
        );
        let resources = Resources {
            kernarg,
            _code: Some(self.kernel.loaded().clone()),
            _buffers: buffers,
            _signals: Vec::new(),
        };
        Ok((packet, resources))
    }

    /// Submits it: waits for a free slot of the ring, writes the packet, rings the doorbell.
    ///
    /// # Errors
    ///
    /// As [`prepare`](Self::prepare) and [`Submission::submit`].
    pub fn submit(self) -> Result<Submission> {
        let mut submission = self.prepare()?;
        submission.submit()?;
        Ok(submission)
    }

    /// What the kernel takes, in order, for messages: each argument's name, if the compiler kept it,
    /// and kind.
    pub fn expected(&self) -> Vec<String> {
        kernarg::expected(self.kernel.metadata())
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
    let [gx, gy, gz] = shape.grid;
    // At most 1,024, as was checked.
    let [bx, by, bz] = shape.block.map(|size| size as u16);
    KernelDispatch::zeroed()
        .with(KernelDispatch::HEADER, header.bits())
        .with(KernelDispatch::SETUP, shape.dims.into())
        .with(KernelDispatch::WORKGROUP_SIZE_X, bx)
        .with(KernelDispatch::WORKGROUP_SIZE_Y, by)
        .with(KernelDispatch::WORKGROUP_SIZE_Z, bz)
        .with(KernelDispatch::GRID_SIZE_X, gx)
        .with(KernelDispatch::GRID_SIZE_Y, gy)
        .with(KernelDispatch::GRID_SIZE_Z, gz)
        .with(KernelDispatch::PRIVATE_SEGMENT_SIZE, private_size)
        .with(KernelDispatch::GROUP_SEGMENT_SIZE, group_size)
        .with(KernelDispatch::KERNEL_OBJECT, kernel)
        .with(KernelDispatch::KERNARG_ADDRESS, kernarg)
        .with(KernelDispatch::COMPLETION_SIGNAL, signal)
}

#[cfg(test)]
mod tests;
