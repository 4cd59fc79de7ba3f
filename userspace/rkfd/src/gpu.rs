// SPDX-License-Identifier: MIT OR Apache-2.0

//! GPUs: found by the driver's topology, opened through `/dev/kfd` and the render node. What is
//! made of a GPU, such as queues and modules, adds methods to [`Gpu`] in its own room.

mod clock;
mod process;

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::code::target;
use crate::driver::Link;
use crate::error::{Error, Result};
use crate::memory::{flags, Buffer, Element, Memory, Piece, Pool};
use crate::signal::{self, Signal};
use crate::sys::kfd::open_device;
use crate::topology::{self, Node};

pub use clock::{Clocks, Times};
pub(crate) use process::{Hold, Process};

/// Bytes of the kernel argument blocks that are kept ready.
const KERNARG_PIECES: [usize; 2] = [512, 4096];

/// A GPU. Clones are the same.
///
/// ```no_run
/// let gpu = rkfd::Gpu::open()?;
/// println!("{}, {} compute units", gpu.target(), gpu.node().compute_units());
/// let numbers = gpu.upload(&[1.0f32, 2.0, 3.0])?;
/// assert_eq!(numbers.to_vec()?, [1.0, 2.0, 3.0]);
/// # Ok::<(), rkfd::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Gpu {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    hold: Arc<Hold>,
    node: Node,
    /// The clocks when the first queue with timestamps was made.
    clocks: OnceLock<Clocks>,
    signals: Arc<Pool>,
    kernargs: [Arc<Pool>; 2],
}

impl Gpu {
    /// The GPUs' nodes in the topology, without opening any.
    ///
    /// # Errors
    ///
    /// [`Error::NoDriver`], [`Error::Permission`] and the like when the driver can't be opened,
    /// [`Error::Topology`] when what it publishes is damaged.
    pub fn nodes() -> Result<Vec<Node>> {
        // The driver first: an error of its absence explains a missing topology.
        Process::get()?;
        let mut nodes = topology::nodes(Path::new(topology::ROOT))?;
        nodes.retain(Node::is_gpu);
        Ok(nodes)
    }

    /// Opens the first GPU.
    ///
    /// # Errors
    ///
    /// [`Error::NoGpu`], and as [`Gpu::nodes`] and [`Gpu::of_node`].
    pub fn open() -> Result<Self> {
        Self::open_index(0)
    }

    /// Opens a GPU by its number, counted from 0 in the order of the topology.
    ///
    /// A process that uses several waits for all of them by one page of events, in memory of the first. Where the driver
    /// doesn't map that on the others, the ends of their work are polled.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchGpu`], and as [`Gpu::open`].
    pub fn open_index(index: usize) -> Result<Self> {
        let mut nodes = Self::nodes()?;
        match nodes.len() {
            0 => Err(Error::NoGpu),
            count if index >= count => Err(Error::NoSuchGpu { index, count }),
            _ => Self::of_node(nodes.swap_remove(index)),
        }
    }

    /// Opens the GPU of a node.
    ///
    /// # Errors
    ///
    /// [`Error::NoRenderNode`] or [`Error::Permission`] when the render node can't be opened,
    /// [`Error::Forked`] when the driver was opened before this process was forked.
    pub fn of_node(node: Node) -> Result<Self> {
        let process = Process::get()?;
        let path = node.render_node()?;
        let hold = process.hold(node.gpu_id, || {
            open_device(&path).map_err(|error| match error {
                Error::NoDriver { path } => Error::NoRenderNode { path },
                error => error,
            })
        })?;
        Ok(Self::of_hold(hold, node))
    }

    /// The GPU that a hold is of.
    pub(crate) fn of_hold(hold: Arc<Hold>, node: Node) -> Self {
        let link = &hold.link;
        let inner = Inner {
            signals: Pool::new(link, signal::SIZE),
            kernargs: KERNARG_PIECES.map(|size| Pool::new(link, size)),
            clocks: OnceLock::new(),
            hold,
            node,
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// The version of the driver's interface.
    pub fn driver_version(&self) -> (u32, u32) {
        self.link().driver.version
    }

    /// The GPU's id.
    pub fn id(&self) -> u32 {
        self.inner.node.gpu_id
    }

    /// Its instruction set, such as `gfx942`.
    pub fn target(&self) -> String {
        target::of_version(self.inner.node.gfx_target_version())
    }

    /// Its node in the topology.
    pub fn node(&self) -> &Node {
        &self.inner.node
    }

    pub(crate) fn hold(&self) -> &Arc<Hold> {
        &self.inner.hold
    }

    pub(crate) fn link(&self) -> &Arc<Link> {
        &self.inner.hold.link
    }

    /// Bytes of device memory that can still be had.
    ///
    /// # Errors
    ///
    /// [`Error::Ioctl`] when the driver is too old to report it, [`Error::DeviceLost`].
    pub fn available_memory(&self) -> Result<u64> {
        self.link().driver.kfd.available_memory(self.id())
    }

    /// The clocks of GPU and host, read together.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceLost`].
    pub fn clocks(&self) -> Result<Clocks> {
        let read = self.link().driver.kfd.clocks(self.id())?;
        Ok(Clocks {
            gpu: read.gpu_clock_counter,
            host: Duration::from_nanos(read.system_clock_counter),
            raw: Duration::from_nanos(read.cpu_clock_counter),
        })
    }

    /// Reads the clocks for the first time, so that ticks can be converted from then on.
    pub(crate) fn start_clock(&self) -> Result<()> {
        if self.inner.clocks.get().is_none() {
            let clocks = self.clocks()?;
            // Another thread may have been faster.
            let _ = self.inner.clocks.set(clocks);
        }
        Ok(())
    }

    /// When a packet ran, from the ticks at its start and end.
    pub(crate) fn times(&self, [start, end]: [u64; 2]) -> Result<Option<Times>> {
        let Some(first) = self.inner.clocks.get() else {
            return Ok(None);
        };
        let last = self.clocks()?;
        let host = |tick| clock::host_time(first, &last, tick);
        Ok(host(start)
            .zip(host(end))
            .map(|(start, end)| Times { start, end }))
    }

    /// Allocates memory for `len` elements, in device memory if the CPU can see that. Its contents
    /// are whatever the driver gives; current ones clear it.
    ///
    /// # Errors
    ///
    /// [`Error::Size`] for no elements or too many, [`Error::Ioctl`] when there is not enough
    /// memory.
    pub fn alloc<T: Element>(&self, len: usize) -> Result<Buffer<T>> {
        self.alloc_in(Memory::Auto, len)
    }

    /// Allocates memory of a kind.
    ///
    /// # Errors
    ///
    /// As [`Gpu::alloc`].
    pub fn alloc_in<T: Element>(&self, memory: Memory, len: usize) -> Result<Buffer<T>> {
        let vram = match memory {
            Memory::Auto => self.inner.node.large_bar(),
            Memory::Vram => true,
            Memory::Gtt => false,
        };
        Buffer::new(
            self.link(),
            len,
            if vram { flags::VRAM } else { flags::GTT },
        )
    }

    /// Allocates memory with the contents of a slice.
    ///
    /// # Errors
    ///
    /// As [`Gpu::alloc`].
    pub fn upload<T: Element>(&self, data: &[T]) -> Result<Buffer<T>> {
        let buffer = self.alloc(data.len())?;
        buffer.write(data)?;
        Ok(buffer)
    }

    /// Makes a signal with a value. Waiters of it sleep on an event.
    ///
    /// # Errors
    ///
    /// [`Error::Ioctl`] when the process has no event or memory left.
    pub fn signal(&self, value: i64) -> Result<Signal> {
        self.signal_of(value, true)
    }

    pub(crate) fn signal_of(&self, value: i64, with_event: bool) -> Result<Signal> {
        let events = with_event.then_some(&self.hold().events);
        Signal::new(&self.inner.signals, value, events)
    }

    /// Takes memory for an argument block.
    pub(crate) fn kernarg(&self, size: usize) -> Result<Piece> {
        let pools = KERNARG_PIECES.iter().zip(&self.inner.kernargs);
        match pools.into_iter().find(|(piece, _)| size <= **piece) {
            Some((_, pool)) => pool.take(),
            None => Piece::alone(self.link(), size),
        }
    }
}
