// SPDX-License-Identifier: GPL-2.0

//! What a process has on one GPU.

use super::{
    Handle,
    Mem,
    Pin,
    ProcessDevice,
    UserQueue, //
};
use crate::{
    bo::Bo,
    counts::Usage,
    gfx::WatchPoints,
    gpu::Gpu,
    ids::IdTable,
    mmap::VmFile,
    profiler::Profiling,
    sched::{
        ProcessConfig,
        SchedProcess, //
    },
    sdma::Counts,
    trap::TrapPages,
    types::{
        BufferId,
        GpuVa,
        PageRange, //
    },
    vm::Vm, //
};
use kernel::{
    page::PAGE_SHIFT,
    prelude::*,
    rbtree::RBTree,
    sync::Arc, //
};

/// Handles that a process can have on a GPU. Upstream has no limit but memory; a program can map 65,530
/// areas by default.
const MAX_HANDLES: u32 = 1 << 20;

/// The address space that ACQUIRE_VM took.
pub(crate) struct Bound {
    /// The render node's file it came with.
    pub(crate) file: Arc<VmFile>,
    pub(crate) vm: Arc<Vm>,
    pub(crate) trap: TrapPages,
}

/// A process' state on a GPU.
pub(crate) struct DeviceState {
    pub(crate) bound: Option<Bound>,
    /// By the lower half of the handle.
    pub(crate) handles: IdTable<Handle>,
    /// Mapped buffer objects by the address of each mapping.
    pub(crate) by_va: RBTree<GpuVa, Arc<Mem>>,
    /// There while the process has queues on the GPU.
    pub(crate) sched: Option<Arc<SchedProcess>>,
    pub(crate) queue_count: u32,
    /// A queue of this process was reset or hangs: its other queues can't be changed any more.
    pub(crate) has_reset_queue: bool,
    /// The hardware didn't let go of a queue that was destroyed, and so still knows the process.
    pub(crate) is_held: bool,
    /// A queue of this process has the global wave sync resources.
    pub(crate) gws: bool,
    /// The GPU was reset under it: its queues never run again.
    pub(crate) lost: bool,
    /// Queues are evicted, because memory of the program's changes.
    pub(crate) paused: bool,
    /// GEM objects of the program's memory that changed. The queues are evicted once for them all.
    pub(crate) waiting: u32,
    pub(crate) config: ProcessConfig,
    /// What a debugger watches.
    pub(crate) watches: WatchPoints,
    /// It has the GPU's performance counters to itself.
    pub(crate) profiling: Option<Profiling>,
    pub(crate) usage: Arc<Usage>,
}

impl DeviceState {
    pub(super) fn new(gpu: &Gpu, usage: &Arc<Usage>) -> Self {
        Self {
            bound: None,
            handles: IdTable::new(0),
            by_va: RBTree::new(),
            sched: None,
            queue_count: 0,
            has_reset_queue: false,
            is_held: false,
            gws: false,
            lost: false,
            paused: false,
            waiting: 0,
            config: ProcessConfig::for_chip(gpu.chip()),
            watches: Default::default(),
            profiling: None,
            usage: usage.clone(),
        }
    }

    /// The VM.
    ///
    /// # Errors
    ///
    /// ENODEV before ACQUIRE_VM (`kfd_bind_process_to_device`).
    pub(crate) fn bound(&self) -> Result<&Bound> {
        self.bound.as_ref().ok_or(ENODEV)
    }

    /// The process as the scheduler knows it; introduced the first time, evicted for all that lasts.
    pub(crate) fn sched(&mut self, device: &ProcessDevice) -> Result<Arc<SchedProcess>> {
        let gpu = &device.gpu;
        if let Some(sched) = &self.sched {
            return Ok(sched.clone());
        }
        let vm = &self.bound()?.vm;
        let sched = gpu.scheduler().add_process(vm, self.config)?;
        // Looked at once the scheduler knows the process: a fault that comes later evicts it there.
        let faulted = device.first_fault().is_some();
        let reasons = [self.paused, self.waiting > 0, self.lost, faulted];
        for _ in reasons.into_iter().filter(|evicted| *evicted) {
            if let Err(e) = gpu.scheduler().evict(&sched) {
                let _ = gpu.scheduler().remove_process(&sched);
                return Err(e);
            }
        }
        self.sched = Some(sched.clone());
        Ok(sched)
    }

    /// Takes the process off the scheduler when it has no queue left. One that the hardware still knows stays: MES would
    /// refuse its next queue with another context.
    pub(crate) fn drop_sched_if_idle(&mut self, gpu: &Gpu) {
        if self.queue_count == 0 && !self.is_held {
            self.drop_sched(gpu);
        }
    }

    /// Takes the process off the scheduler. It has no queues.
    pub(crate) fn drop_sched(&mut self, gpu: &Gpu) {
        if let Some(sched) = self.sched.take() {
            self.has_reset_queue |= sched.has_reset_queue();
            self.lost |= sched.is_lost();
            // What the hardware has of it in spite of that, the scheduler keeps.
            let _ = gpu.scheduler().remove_process(&sched);
        }
    }

    /// Whether a queue of it had to be reset, or hangs (`has_reset_queue`).
    pub(crate) fn lost_a_queue(&self) -> bool {
        let known = |sched: &Arc<SchedProcess>| sched.has_reset_queue();
        self.has_reset_queue || self.sched.as_ref().is_some_and(known)
    }

    /// Sets what the scheduler needs to know of the process.
    pub(crate) fn configure(&mut self, gpu: &Gpu, config: ProcessConfig) -> Result {
        self.config = config;
        match &self.sched {
            Some(sched) => gpu.scheduler().configure(sched, config),
            None => Ok(()),
        }
    }
}

impl DeviceState {
    /// Gives an object a handle.
    pub(crate) fn insert(&mut self, mem: Arc<Mem>) -> Result<BufferId> {
        self.handles
            .insert(MAX_HANDLES, Handle::new(mem, &self.usage))
            .map(BufferId::new)
            .map_err(|_| EFAULT)
    }

    /// The object with this handle.
    pub(crate) fn mem(&self, id: BufferId) -> Option<&Arc<Mem>> {
        Some(&self.handles.get(id.get())?.mem)
    }

    /// Takes an object's handle. What is returned is to be dropped without the process' state.
    ///
    /// # Errors
    ///
    /// EINVAL when there is none, EBUSY when it is mapped.
    pub(crate) fn free(&mut self, id: BufferId) -> Result<Handle> {
        let handle = self.handles.get(id.get()).ok_or(EINVAL)?;
        if handle.mapped {
            return Err(EBUSY);
        }
        self.handles.remove(id.get()).ok_or(EINVAL)
    }

    /// Loads a word of 64 bits that is mapped at an address, for people to look at. `None` where nothing is
    /// mapped that the kernel can load.
    pub(crate) fn peek(&self, va: GpuVa) -> Option<u64> {
        let (bo, index) = self.word(va)?;
        bo.peek_u64(index)
    }

    /// Stores words of 32 bits at a multiple of 4 bytes, as far as something is mapped there that the kernel can
    /// store to.
    pub(crate) fn poke(&self, va: GpuVa, words: impl IntoIterator<Item = u32>) {
        let mut at = va;
        for word in words {
            // Half of a word of 64 bits, whose other half stays.
            let is_high = at.get() & 4 != 0;
            let both = GpuVa::new(at.get() & !7);
            let Some((bo, index)) = self.word(both) else {
                return;
            };
            let Some(old) = bo.peek_u64(index) else {
                return;
            };
            let new = match is_high {
                true => old & 0xffff_ffff | u64::from(word) << 32,
                false => old & !0xffff_ffff | u64::from(word),
            };
            let (true, Some(next)) = (bo.poke_u64(index, new), at.checked_add(4)) else {
                return;
            };
            at = next;
        }
    }

    /// The object that is mapped at an address, a multiple of 8 bytes, and the number of the word there.
    fn word(&self, va: GpuVa) -> Option<(&Bo, usize)> {
        let start = match self.by_va.cursor_lower_bound(&va) {
            Some(cursor) => match *cursor.current().0 {
                start if start == va => start,
                _ => *cursor.peek_prev()?.0,
            },
            None => *self.by_va.cursor_back()?.current().0,
        };
        let offset = va.get().checked_sub(start.get())?;
        let bo = self.by_va.get(&start)?.bo();
        let inside = offset < bo.size() && offset % 8 == 0;
        inside.then_some((&**bo, (offset / 8) as usize))
    }

    /// What a copy queue's counter has: behind its read pointer in memory (`read_sdma_queue_counter`), in registers, or
    /// in its MQD. `None` for other queues, and where nothing is counted.
    pub(crate) fn count_of_copies(&self, gpu: &Gpu, queue: &UserQueue) -> Option<u64> {
        let shown = queue.hw.try_show()?;
        let place = shown.sdma?;
        match gpu.copier().counts(gpu.chip().mec_fw_version) {
            Counts::Memory => self.peek(shown.read.checked_add(8)?),
            Counts::Registers => {
                let running = gpu.copier().count(place);
                running.or_else(|| queue.hw.kept_count())
            }
            Counts::Nowhere => None,
        }
    }

    /// Pins the object of which a mapping starts at the page of `va` and has exactly as many pages
    /// as `size` has whole ones; less than one isn't compared.
    ///
    /// # Errors
    ///
    /// EINVAL when there is none.
    pub(crate) fn pin_exact(&self, va: GpuVa, size: u64) -> Result<Pin> {
        let page = PageRange::page_of(va)?.start();
        let mem = self.by_va.get(&page).ok_or(EINVAL)?;
        let pages = size >> PAGE_SHIFT;
        if pages != 0 && mem.bo().size() >> PAGE_SHIFT != pages {
            return Err(EINVAL);
        }
        Ok(Pin::new(mem))
    }
}
