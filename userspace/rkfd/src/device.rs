// SPDX-License-Identifier: MIT OR Apache-2.0

//! GPUs: found by the driver's topology, opened through `/dev/kfd` and the render node.

use std::path::Path;
use std::sync::Arc;

use rkfd_uapi::device::GetClockCountersArgs;

use crate::code::{target, CodeObject};
use crate::command::CommandQueue;
use crate::copy::CopyQueue;
use crate::error::{Error, Result};
use crate::kernel::Module;
use crate::memory::{flags, Buffer, Memory, Number};
use crate::pool::{Piece, Pool};
use crate::process::{Link, Process};
use crate::queue::{Queue, QueueOptions};
use crate::signal::{self, Signal};
use crate::sys::kfd::open_device;
use crate::topology::{self, Node};

/// Bytes of the kernel argument blocks that are kept ready.
const KERNARG_PIECES: [usize; 2] = [512, 4096];

/// A GPU. Clones are the same.
#[derive(Clone, Debug)]
pub struct Gpu {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    link: Arc<Link>,
    node: Node,
    signals: Arc<Pool>,
    kernargs: [Arc<Pool>; 2],
}

impl Gpu {
    /// The GPUs' nodes in the topology, without opening any.
    pub fn nodes() -> Result<Vec<Node>> {
        // The driver first: without it, it is what to tell of.
        Process::get()?;
        let mut nodes = topology::nodes(Path::new(topology::ROOT))?;
        nodes.retain(Node::is_gpu);
        Ok(nodes)
    }

    /// Opens the first GPU.
    pub fn open() -> Result<Self> {
        Self::open_index(0)
    }

    /// Opens a GPU by its number, counted from 0 in the order of the topology.
    pub fn open_index(index: usize) -> Result<Self> {
        let mut nodes = Self::nodes()?;
        match nodes.len() {
            0 => Err(Error::NoGpu),
            count if index >= count => Err(Error::NoSuchGpu { index, count }),
            _ => Self::of_node(nodes.swap_remove(index)),
        }
    }

    /// Opens the GPU of a node.
    pub fn of_node(node: Node) -> Result<Self> {
        let process = Process::get()?;
        let path = node.render_node()?;
        let link = process.link(node.gpu_id, || {
            open_device(&path).map_err(|error| match error {
                Error::NoDriver { path } => Error::NoRenderNode { path },
                error => error,
            })
        })?;
        Ok(Self::of_link(link, node))
    }

    /// The GPU that a link holds.
    pub(crate) fn of_link(link: Arc<Link>, node: Node) -> Self {
        let inner = Inner {
            signals: Pool::new(&link, signal::SIZE),
            kernargs: KERNARG_PIECES.map(|size| Pool::new(&link, size)),
            link,
            node,
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// The version of the driver's interface.
    pub fn driver_version(&self) -> (u32, u32) {
        self.inner.link.process.version
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

    pub(crate) fn link(&self) -> &Arc<Link> {
        &self.inner.link
    }

    /// Bytes of device memory that can still be had.
    pub fn available_memory(&self) -> Result<u64> {
        self.inner.link.process.kfd.available_memory(self.id())
    }

    /// The clocks of GPU and system, read together.
    pub fn clocks(&self) -> Result<GetClockCountersArgs> {
        self.inner.link.process.kfd.clocks(self.id())
    }

    /// Memory for `len` numbers, in device memory if the CPU can see that. Its contents are
    /// whatever the driver gives; current ones clear it.
    pub fn alloc<T: Number>(&self, len: usize) -> Result<Buffer<T>> {
        self.alloc_in(Memory::Auto, len)
    }

    /// Memory of a kind.
    pub fn alloc_in<T: Number>(&self, memory: Memory, len: usize) -> Result<Buffer<T>> {
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

    /// Memory with the contents of a slice.
    pub fn upload<T: Number>(&self, data: &[T]) -> Result<Buffer<T>> {
        let buffer = self.alloc(data.len())?;
        buffer.write(data)?;
        Ok(buffer)
    }

    /// Loads a code object.
    ///
    /// # Errors
    ///
    /// [`Error::Code`] when it is damaged or was compiled for another GPU.
    pub fn load(&self, bytes: &[u8]) -> Result<Module> {
        let code = CodeObject::parse(bytes)?;
        code.check_target(&self.target())?;
        Module::load(self.link(), code, self.inner.node.large_bar())
    }

    /// Makes a queue.
    pub fn queue(&self, options: QueueOptions) -> Result<Queue> {
        Queue::new(self, options)
    }

    /// Makes a queue of PM4 commands.
    pub fn command_queue(&self) -> Result<CommandQueue> {
        CommandQueue::new(self)
    }

    /// Makes a queue of an SDMA engine, any of those for the bus.
    ///
    /// # Errors
    ///
    /// [`Error::NoCopyEngine`] when the GPU has none, or none of their queues is free.
    pub fn copy_queue(&self) -> Result<CopyQueue> {
        CopyQueue::new(self, None)
    }

    /// Makes a queue of one SDMA engine, counted from 0.
    ///
    /// # Errors
    ///
    /// As [`Gpu::copy_queue`]; [`Error::Ioctl`] with EINVAL for an engine that is not there.
    pub fn copy_queue_on(&self, engine: u32) -> Result<CopyQueue> {
        CopyQueue::new(self, Some(engine))
    }

    /// Makes a signal with a value. Waiters of it sleep on an event.
    pub fn signal(&self, value: i64) -> Result<Signal> {
        self.signal_of(value, true)
    }

    pub(crate) fn signal_of(&self, value: i64, with_event: bool) -> Result<Signal> {
        Signal::new(&self.inner.signals, value, with_event)
    }

    /// Memory for an argument block.
    pub(crate) fn kernarg(&self, size: usize) -> Result<Piece> {
        let pools = KERNARG_PIECES.iter().zip(&self.inner.kernargs);
        match pools.into_iter().find(|(piece, _)| size <= **piece) {
            Some((_, pool)) => pool.take(),
            None => Piece::alone(self.link(), size),
        }
    }
}
