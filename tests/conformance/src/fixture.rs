// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is prepared before a row runs: open files, a VM, buffers, a queue. Every row gets new ones, in
//! a process of its own.

use crate::row::{Answer, Got, Needs};
use crate::snapshot::Snapshot;
use crate::sweep::Points;
use rkfd_bare::node::Node;
use rkfd_bare::sys;
use rkfd_uapi::abi::Abi;
use rkfd_uapi::ioctl::{self as requests, Request};
use rkfd_uapi::{event, memory, queue};
use std::os::fd::{AsRawFd, OwnedFd};

/// Flags of GTT memory that can be the memory of any buffer here.
pub const GTT: u32 = memory::ALLOC_GTT | memory::ALLOC_WRITABLE | memory::ALLOC_EXECUTABLE;
/// VRAM that the GPU may write.
pub const VRAM: u32 = memory::ALLOC_VRAM | memory::ALLOC_WRITABLE;
/// An address of the kernel's half, which no user program has.
pub const KERNEL: u64 = 0xffff_8800_0000_0000;
/// The first GPU address that rows use.
const FIRST_VA: u64 = 0x10_0000_0000;
/// Every buffer starts at a multiple of this.
const STRIDE: u64 = 1 << 21;

/// A buffer object.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bo {
    /// Its handle.
    pub handle: u64,
    /// Its GPU address.
    pub va: u64,
    /// Bytes that were asked for.
    pub size: u64,
    /// Where to map it on the render node.
    pub offset: u64,
}

/// The buffer objects of a queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Buffers {
    /// One page.
    pub ring: Bo,
    /// One page.
    pub wptr: Bo,
    /// One page.
    pub rptr: Bo,
    /// One page.
    pub eop: Bo,
    /// The save area.
    pub cwsr: Bo,
}

/// What a row works with.
pub struct Ctx {
    /// `/dev/kfd`.
    pub kfd: OwnedFd,
    /// The render node, when the VM is acquired.
    pub render: Option<OwnedFd>,
    /// The GPU.
    pub node: Node,
    /// Its id.
    pub gpu: u32,
    /// A queue's buffers.
    pub buffers: Option<Buffers>,
    /// The queue that was made before the row.
    pub queue: u32,
    /// The last handle or id that was made, for cases that repeat a request.
    pub scratch: u64,
    /// What the last checked call that failed has changed, though it must not.
    pub changed: Option<String>,
    /// What fails in the calls that rows test; nothing but in a sweep.
    pub points: Points,
    next_va: u64,
    /// Whether the process has a signal page.
    pub has_page: bool,
}

/// Fails, naming `what`, unless `errno` is 0.
pub fn must(what: &str, errno: i32) -> Result<(), String> {
    match errno {
        0 => Ok(()),
        e => Err(format!("{what}: {}", rkfd_bare::errno::name(e))),
    }
}

impl Ctx {
    /// Prepares what `needs` names.
    pub fn new(node: &Node, needs: Needs) -> Result<Self, String> {
        let open = |path: &str| sys::open(path).map_err(|e| format!("open {path}: errno {e}"));
        let mut c = Self {
            kfd: open("/dev/kfd")?,
            render: None,
            gpu: node.gpu,
            node: node.clone(),
            buffers: None,
            queue: u32::MAX,
            scratch: 0,
            changed: None,
            points: Points::default(),
            next_va: FIRST_VA,
            has_page: false,
        };
        if needs >= Needs::Vm {
            let render = open(&node.render)?;
            must("ACQUIRE_VM", c.acquire(render.as_raw_fd() as u32, c.gpu))?;
            c.render = Some(render);
        }
        if needs >= Needs::Buffers {
            c.buffers = Some(Buffers {
                ring: c.bo(4096, GTT)?,
                wptr: c.bo(4096, GTT)?,
                rptr: c.bo(4096, GTT)?,
                eop: c.bo(4096, GTT)?,
                cwsr: c.bo(node.cwsr_total, VRAM)?,
            });
        }
        if needs >= Needs::Queue {
            c.queue = c.new_queue(|_| {})?.queue_id;
        }
        Ok(c)
    }

    /// The same request without any check; returns the errno.
    pub fn raw<T: Abi>(&self, request: &Request<T>, args: &mut T) -> i32 {
        sys::ioctl(&self.kfd, request.command(), sys::address(args))
    }

    /// The call that a row tests. If it fails it must have changed neither what the driver holds nor
    /// its argument.
    pub fn call<T: Abi>(&mut self, request: &Request<T>, args: &mut T) -> Got {
        let before_args = sys::bytes(args);
        let original = *args;
        let errno = self.watched(|c| c.tested(request, args));
        if errno != 0 && self.changed.is_none() && sys::bytes(args) != before_args {
            self.changed = Some(format!("its argument changed to {:x?}", sys::bytes(args)));
        }
        Got::Errno(self.repeated(errno, request, original, args))
    }

    /// Like [`Ctx::call`], for a request that writes its argument even when it fails.
    pub fn call_writing<T: Abi>(&mut self, request: &Request<T>, args: &mut T) -> i32 {
        let original = *args;
        let errno = self.watched(|c| c.tested(request, args));
        self.repeated(errno, request, original, args)
    }

    /// A request in which, in a sweep, a call of the driver's fails.
    fn tested<T: Abi>(&mut self, request: &Request<T>, args: &mut T) -> i32 {
        let mut points = std::mem::take(&mut self.points);
        let errno = points.around(|| self.raw(request, args));
        self.points = points;
        errno
    }

    /// The request once more if, in a sweep, it failed for what was made to fail.
    fn repeated<T: Abi>(&self, errno: i32, request: &Request<T>, original: T, args: &mut T) -> i32 {
        match &self.points.failure {
            Some(failure) if failure.can_be_repeated(errno) => {
                *args = original;
                self.raw(request, args)
            }
            _ => errno,
        }
    }

    /// Runs `f`. If it fails, nothing that the driver holds may have changed.
    pub fn watched(&mut self, f: impl FnOnce(&mut Self) -> i32) -> i32 {
        let before = Snapshot::take(self);
        let errno = f(self);
        self.changed = match errno {
            0 => None,
            _ => before.difference(&Snapshot::take(self)),
        };
        errno
    }

    /// ACQUIRE_VM.
    pub fn acquire(&self, drm_fd: u32, gpu_id: u32) -> i32 {
        let mut args = memory::AcquireVmArgs { drm_fd, gpu_id };
        self.raw(&requests::ACQUIRE_VM, &mut args)
    }

    /// A GPU address that nothing uses yet, with room for `size` bytes.
    pub fn fresh_va(&mut self, size: u64) -> u64 {
        let va = self.next_va;
        self.next_va += size.next_multiple_of(STRIDE) + STRIDE;
        va
    }

    /// The argument of ALLOC_MEMORY_OF_GPU at a fresh address.
    pub fn alloc_args(&mut self, size: u64, flags: u32) -> memory::AllocMemoryOfGpuArgs {
        memory::AllocMemoryOfGpuArgs {
            va_addr: self.fresh_va(size.min(1 << 32)),
            size,
            gpu_id: self.gpu,
            flags,
            ..Default::default()
        }
    }

    /// Makes a buffer object that isn't mapped on the GPU.
    pub fn unmapped_bo(&mut self, size: u64, flags: u32) -> Result<Bo, String> {
        let args = self.alloc_args(size, flags);
        self.bo_from(args)
    }

    /// Makes a buffer object by this argument; it isn't mapped on the GPU.
    pub fn bo_from(&mut self, mut args: memory::AllocMemoryOfGpuArgs) -> Result<Bo, String> {
        let errno = self.raw(&requests::ALLOC_MEMORY_OF_GPU, &mut args);
        must("ALLOC_MEMORY_OF_GPU", errno)?;
        Ok(Bo {
            handle: args.handle,
            va: args.va_addr,
            size: args.size,
            offset: args.mmap_offset,
        })
    }

    /// Makes a buffer object and maps it into the VM.
    pub fn bo(&mut self, size: u64, flags: u32) -> Result<Bo, String> {
        let bo = self.unmapped_bo(size, flags)?;
        must("MAP_MEMORY_TO_GPU", self.map(bo.handle))?;
        Ok(bo)
    }

    /// MAP_MEMORY_TO_GPU on the GPU.
    pub fn map(&self, handle: u64) -> i32 {
        let mut ids = [self.gpu];
        let mut args = memory::MapMemoryToGpuArgs {
            handle,
            device_ids_array_ptr: sys::address(&mut ids),
            n_devices: 1,
            n_success: 0,
        };
        self.raw(&requests::MAP_MEMORY_TO_GPU, &mut args)
    }

    /// UNMAP_MEMORY_FROM_GPU.
    pub fn unmap(&self, handle: u64) -> i32 {
        let mut ids = [self.gpu];
        let mut args = memory::UnmapMemoryFromGpuArgs {
            handle,
            device_ids_array_ptr: sys::address(&mut ids),
            n_devices: 1,
            n_success: 0,
        };
        self.raw(&requests::UNMAP_MEMORY_FROM_GPU, &mut args)
    }

    /// FREE_MEMORY_OF_GPU.
    pub fn free(&self, handle: u64) -> i32 {
        self.raw(
            &requests::FREE_MEMORY_OF_GPU,
            &mut memory::FreeMemoryOfGpuArgs { handle },
        )
    }

    /// AVAILABLE_MEMORY; returns 0 if it fails.
    pub fn available(&self) -> u64 {
        let mut args = memory::GetAvailableMemoryArgs {
            gpu_id: self.gpu,
            ..Default::default()
        };
        match self.raw(&requests::AVAILABLE_MEMORY, &mut args) {
            0 => args.available,
            _ => 0,
        }
    }

    /// The buffers for a queue.
    pub fn b(&self) -> Buffers {
        self.buffers.unwrap_or_default()
    }

    /// A valid argument of CREATE_QUEUE for the buffers.
    pub fn queue_args(&self) -> queue::CreateQueueArgs {
        let b = self.b();
        queue::CreateQueueArgs {
            ring_base_address: b.ring.va,
            write_pointer_address: b.wptr.va,
            read_pointer_address: b.rptr.va,
            ring_size: 4096,
            gpu_id: self.gpu,
            queue_type: queue::QUEUE_TYPE_COMPUTE_AQL,
            queue_percentage: 100,
            queue_priority: 7,
            eop_buffer_address: b.eop.va,
            eop_buffer_size: b.eop.size,
            ctx_save_restore_address: b.cwsr.va,
            ctx_save_restore_size: self.node.cwsr,
            ctl_stack_size: self.node.ctl_stack,
            ..Default::default()
        }
    }

    /// CREATE_QUEUE with one thing changed, as the call that a row tests.
    pub fn create(&mut self, change: impl FnOnce(&mut queue::CreateQueueArgs)) -> Answer {
        let mut args = self.queue_args();
        change(&mut args);
        // Such a size comes back as 1024, even from a call that fails later (kfd_chardev.c:283).
        if args.ring_size < 1024 {
            let errno = self.call_writing(&requests::CREATE_QUEUE, &mut args);
            return Ok(Got::Errno(errno));
        }
        Ok(self.call(&requests::CREATE_QUEUE, &mut args))
    }

    /// CREATE_QUEUE that must work.
    pub fn new_queue(
        &self,
        change: impl FnOnce(&mut queue::CreateQueueArgs),
    ) -> Result<queue::CreateQueueArgs, String> {
        let mut args = self.queue_args();
        change(&mut args);
        must("CREATE_QUEUE", self.raw(&requests::CREATE_QUEUE, &mut args))?;
        Ok(args)
    }

    /// DESTROY_QUEUE.
    pub fn destroy_queue(&self, queue_id: u32) -> i32 {
        self.raw(
            &requests::DESTROY_QUEUE,
            &mut queue::DestroyQueueArgs { queue_id, pad: 0 },
        )
    }

    /// UPDATE_QUEUE of the queue with one thing changed, as the call that a row tests.
    pub fn update(&mut self, change: impl FnOnce(&mut queue::UpdateQueueArgs)) -> Answer {
        let mut args = self.update_args();
        change(&mut args);
        Ok(self.call(&requests::UPDATE_QUEUE, &mut args))
    }

    /// The argument of UPDATE_QUEUE that changes nothing.
    pub fn update_args(&self) -> queue::UpdateQueueArgs {
        queue::UpdateQueueArgs {
            ring_base_address: self.b().ring.va,
            queue_id: self.queue,
            ring_size: 4096,
            queue_percentage: 100,
            queue_priority: 7,
        }
    }

    /// CREATE_EVENT; returns the errno and the argument.
    pub fn create_event(&self, kind: u32, auto: bool, page: u64) -> (i32, event::CreateEventArgs) {
        let mut args = event::CreateEventArgs {
            event_page_offset: page,
            event_type: kind,
            auto_reset: auto.into(),
            ..Default::default()
        };
        (self.raw(&requests::CREATE_EVENT, &mut args), args)
    }

    /// Gives the process a signal page of 32 KiB, once.
    pub fn signal_page(&mut self) -> Result<(), String> {
        if !self.has_page {
            let bo = self.bo(event::SIGNAL_PAGE_SIZE as u64, GTT)?;
            let (errno, _) = self.create_event(event::EVENT_MEMORY, false, bo.handle);
            must("CREATE_EVENT with a page", errno)?;
            self.has_page = true;
        }
        Ok(())
    }

    /// Creates an event, which must succeed; returns its id.
    pub fn event(&self, kind: u32, auto: bool) -> Result<u32, String> {
        let (errno, args) = self.create_event(kind, auto, 0);
        must("CREATE_EVENT", errno)?;
        Ok(args.event_id)
    }

    /// Creates a signal event.
    pub fn signal(&mut self, auto: bool) -> Result<u32, String> {
        self.signal_page()?;
        self.event(event::EVENT_SIGNAL, auto)
    }

    /// SET_EVENT.
    pub fn set(&self, event_id: u32) -> i32 {
        self.raw(
            &requests::SET_EVENT,
            &mut event::SetEventArgs { event_id, pad: 0 },
        )
    }

    /// RESET_EVENT.
    pub fn reset(&self, event_id: u32) -> i32 {
        self.raw(
            &requests::RESET_EVENT,
            &mut event::ResetEventArgs { event_id, pad: 0 },
        )
    }

    /// DESTROY_EVENT.
    pub fn destroy_event(&self, event_id: u32) -> i32 {
        self.raw(
            &requests::DESTROY_EVENT,
            &mut event::DestroyEventArgs { event_id, pad: 0 },
        )
    }

    /// The render node of the VM.
    pub fn render(&self) -> Result<&OwnedFd, String> {
        self.render
            .as_ref()
            .ok_or_else(|| "no VM was acquired".into())
    }
}
