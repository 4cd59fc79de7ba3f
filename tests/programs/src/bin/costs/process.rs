// SPDX-License-Identifier: MIT OR Apache-2.0

//! This process, as the driver knows it: an address space on the GPU, buffer objects, queues.

use std::fs::{File, OpenOptions};
use std::os::fd::{AsRawFd, OwnedFd};

use rkfd_bare::node::Node;
use rkfd_bare::sys::Map;
use rkfd_programs::raw::{self, call, errno};
use rkfd_programs::Failure;
use rkfd_uapi::abi::Abi;
use rkfd_uapi::ioctl::{self, Request};
use rkfd_uapi::{event, memory, queue};
use rustix::fs::{ftruncate, memfd_create, MemfdFlags};
use rustix::io::Errno;

/// A page.
pub const PAGE: u64 = 4096;
/// Where addresses begin that nothing else has, and how far apart those of large objects are.
const FIRST: u64 = 0x1234_0000_0000;
const APART: u64 = 1 << 30;
/// What a queue's memory is made of.
const SHARED: u32 = memory::ALLOC_GTT | memory::ALLOC_WRITABLE | memory::ALLOC_EXECUTABLE;
/// `PROT_READ | PROT_WRITE`, `MAP_SHARED`.
const READ_WRITE: i32 = 3;
const MAP_SHARED: i32 = 1;

/// A process that has acquired its address space.
pub struct Process {
    /// The driver.
    pub kfd: File,
    /// The GPU.
    pub node: Node,
    /// The render node whose address space it is.
    pub render: File,
}

/// The `n`-th of some addresses with room for a large object each.
pub fn place(n: u64) -> u64 {
    FIRST + n * APART
}

impl Process {
    /// Opens driver and GPU.
    pub fn new() -> Result<Self, Failure> {
        let open = |path: &str| {
            let file = OpenOptions::new().read(true).write(true).open(path);
            file.map_err(|e| Failure::new(format_args!("{path}: {e}")))
        };
        let node = Node::find().map_err(Failure::new)?;
        let process = Self {
            kfd: open("/dev/kfd")?,
            render: open(&node.render)?,
            node,
        };
        process.acquire()?;
        Ok(process)
    }

    /// ACQUIRE_VM, which may be repeated.
    pub fn acquire(&self) -> Result<(), Failure> {
        let mut args = memory::AcquireVmArgs {
            drm_fd: self.render.as_raw_fd() as u32,
            gpu_id: self.node.gpu,
        };
        self.ask(&ioctl::ACQUIRE_VM, &mut args)
    }

    /// A request that must be answered. What `args` points at lives until it returns.
    pub fn ask<T: Abi>(&self, request: &Request<T>, args: &mut T) -> Result<(), Failure> {
        call(&self.kfd, request, args).map_err(errno(request.info.name))
    }

    /// ALLOC_MEMORY_OF_GPU.
    pub fn alloc(&self, va: u64, size: u64, flags: u32) -> Result<u64, Failure> {
        raw::alloc(&self.kfd, self.node.gpu, va, size as usize, 0, flags)
            .map_err(errno("ALLOC_MEMORY_OF_GPU"))
    }

    /// MAP_MEMORY_TO_GPU.
    pub fn map(&self, handle: u64) -> Result<(), Failure> {
        raw::map(&self.kfd, self.node.gpu, handle).map_err(errno("MAP_MEMORY_TO_GPU"))
    }

    /// UNMAP_MEMORY_FROM_GPU.
    pub fn unmap(&self, handle: u64) -> Result<(), Failure> {
        raw::unmap(&self.kfd, self.node.gpu, handle).map_err(errno("UNMAP_MEMORY_FROM_GPU"))
    }

    /// FREE_MEMORY_OF_GPU.
    pub fn free(&self, handle: u64) -> Result<(), Failure> {
        raw::free(&self.kfd, handle).map_err(errno("FREE_MEMORY_OF_GPU"))
    }

    /// An object that is mapped.
    pub fn mapped(&self, va: u64, size: u64, flags: u32) -> Result<u64, Failure> {
        let handle = self.alloc(va, size, flags)?;
        self.map(handle)?;
        Ok(handle)
    }

    /// Gives the process its signal page, at a place of its own: twice as long as the usual one, so that there can be
    /// `SIGNAL_EVENT_LIMIT` events and one more.
    pub fn signal_page(&self, n: u64) -> Result<(), Failure> {
        let size = 2 * event::SIGNAL_PAGE_SIZE as u64;
        let mut args = event::CreateEventArgs {
            event_page_offset: self.mapped(place(n), size, SHARED)?,
            event_type: event::EVENT_MEMORY,
            ..Default::default()
        };
        self.ask(&ioctl::CREATE_EVENT, &mut args)
    }

    /// CREATE_EVENT for a signal. The process has its signal page.
    pub fn signal(&self, auto_reset: bool) -> Result<u32, Failure> {
        let mut args = event::CreateEventArgs {
            event_type: event::EVENT_SIGNAL,
            auto_reset: auto_reset.into(),
            ..Default::default()
        };
        self.ask(&ioctl::CREATE_EVENT, &mut args)?;
        Ok(args.event_id)
    }

    /// SET_EVENT.
    pub fn set(&self, event_id: u32) -> Result<(), Failure> {
        self.ask(
            &ioctl::SET_EVENT,
            &mut event::SetEventArgs { event_id, pad: 0 },
        )
    }

    /// DESTROY_EVENT.
    pub fn destroy_event(&self, event_id: u32) -> Result<(), Failure> {
        self.ask(
            &ioctl::DESTROY_EVENT,
            &mut event::DestroyEventArgs { event_id, pad: 0 },
        )
    }
}

/// Memory for queues to be saved to, which processes share: none of them ever has waves to save.
pub fn save_memory(node: &Node) -> Result<OwnedFd, Failure> {
    // Without CLOEXEC: children have it.
    let fd = memfd_create("save area", MemfdFlags::empty()).map_err(errno("memfd_create"))?;
    ftruncate(&fd, node.cwsr_total).map_err(errno("ftruncate"))?;
    Ok(fd)
}

/// What queues of a process use. All of them use the same, since none ever gets a packet.
pub struct Kit<'a> {
    process: &'a Process,
    ring: u64,
    pointers: u64,
    eop: u64,
    save: Map,
    /// The handle of the save area.
    handle: u64,
}

impl<'a> Kit<'a> {
    /// Takes places from the `n`-th on.
    pub fn new(process: &'a Process, save: &OwnedFd, n: u64) -> Result<Self, Failure> {
        let len = process.node.cwsr_total;
        let save = Map::file(save, 0, len as usize, READ_WRITE, MAP_SHARED)
            .map_err(|e| Failure::new(format_args!("mmap of the save area: errno {e}")))?;
        let flags = memory::ALLOC_USERPTR | memory::ALLOC_WRITABLE | memory::ALLOC_COHERENT;
        let (gpu, at) = (process.node.gpu, save.address);
        let handle = raw::alloc(&process.kfd, gpu, at, len as usize, at, flags)
            .map_err(errno("ALLOC_MEMORY_OF_GPU of the save area"))?;
        process.map(handle)?;
        let [ring, pointers, eop] = [0, 1, 2].map(|page| place(n) + page * PAGE);
        for va in [ring, pointers, eop] {
            process.mapped(va, PAGE, SHARED)?;
        }
        Ok(Self {
            process,
            ring,
            pointers,
            eop,
            save,
            handle,
        })
    }

    /// CREATE_QUEUE with a share of the GPU, 0 for a queue that is off.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn create(&self, percent: u32) -> Result<u32, Errno> {
        let node = &self.process.node;
        let mut args = queue::CreateQueueArgs {
            ring_base_address: self.ring,
            write_pointer_address: self.pointers,
            read_pointer_address: self.pointers + 8,
            ring_size: PAGE as u32,
            gpu_id: node.gpu,
            queue_type: queue::QUEUE_TYPE_COMPUTE_AQL,
            queue_percentage: percent,
            queue_priority: 7,
            eop_buffer_address: self.eop,
            eop_buffer_size: PAGE,
            ctx_save_restore_address: self.save.address,
            ctx_save_restore_size: node.cwsr,
            ctl_stack_size: node.ctl_stack,
            ..Default::default()
        };
        call(&self.process.kfd, &ioctl::CREATE_QUEUE, &mut args)?;
        Ok(args.queue_id)
    }

    /// UPDATE_QUEUE with a share.
    pub fn update(&self, queue_id: u32, percent: u32) -> Result<(), Failure> {
        let mut args = queue::UpdateQueueArgs {
            ring_base_address: self.ring,
            queue_id,
            ring_size: PAGE as u32,
            queue_percentage: percent,
            queue_priority: 7,
        };
        self.process.ask(&ioctl::UPDATE_QUEUE, &mut args)
    }

    /// DESTROY_QUEUE.
    pub fn destroy(&self, queue_id: u32) -> Result<(), Failure> {
        raw::destroy_queue(&self.process.kfd, queue_id).map_err(errno("DESTROY_QUEUE"))
    }
}

impl Drop for Kit<'_> {
    /// Before the memory goes that is the GPU's, too.
    fn drop(&mut self) {
        let _ = self.process.unmap(self.handle);
        let _ = self.process.free(self.handle);
    }
}

/// Objects of a page each, mapped one behind the other.
#[derive(Default)]
pub struct Objects(u64);

impl Objects {
    /// Makes more until there are `n`, or it is late; how many there are.
    pub fn grow(
        &mut self,
        process: &Process,
        n: usize,
        is_late: impl Fn() -> bool,
    ) -> Result<usize, Failure> {
        const FLAGS: u32 = memory::ALLOC_GTT | memory::ALLOC_WRITABLE;
        while self.0 < n as u64 && !is_late() {
            process.mapped(place(64) + self.0 * PAGE, PAGE, FLAGS)?;
            self.0 += 1;
        }
        Ok(self.0 as usize)
    }
}
