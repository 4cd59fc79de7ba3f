// SPDX-License-Identifier: GPL-2.0

//! A process' buffer objects: handles, mappings, and what queues hold of them.
//!
//! A handle is in one of two states, mapped or not. Mapping puts the object at its address into
//! the VM (twice, back to back, for AQL ring memory); unmapping flushes the TLB before the
//! mapping's reference to the memory goes. What a queue uses is pinned: it can't be unmapped.
//!
//! A handle is one process' view of [`Memory`]. Memory that went out as a DMA-buf may have handles in
//! other processes, and lives on until the last of them and the last descriptor are gone.
//!
//! Source: Linux, `amdgpu/amdgpu_amdkfd_gpuvm.c`. Called with the process' state.

use super::{
    device::{
        DeviceState,
        Handle, //
    },
    limit::{
        GttShare,
        Share,
        VramShare, //
    },
    userptr::UserRange, //
};
use crate::{
    bo::{
        Bo,
        Placement, //
    },
    debugfs::{Count, BUFFERS},
    doorbell::Slice,
    glue::dma_buf::DmaBuf,
    process::ProcessDevice,
    render::Mapping,
    uapi::memory as abi,
    vm::{
        MapFlags,
        Vm, //
    },
};
use kernel::{
    page::{
        PAGE_SHIFT,
        PAGE_SIZE, //
    },
    prelude::*,
    rbtree::RBTreeNode,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        SetOnce, //
    },
};

/// One past the last handle.
const END: u32 = i32::MAX as u32;

/// A buffer object and what it takes of the limits.
pub(crate) struct Memory {
    bo: Arc<Bo>,
    _share: Option<Share>,
    /// As ALLOC_MEMORY_OF_GPU asked for it.
    flags: u32,
}

impl Memory {
    pub(super) fn new(
        bo: Arc<Bo>,
        share: Option<impl Into<Share>>,
        flags: u32,
    ) -> Result<Arc<Self>> {
        let share = share.map(Into::into);
        Ok(Arc::new(
            Self {
                bo,
                _share: share,
                flags,
            },
            GFP_KERNEL,
        )?)
    }

    pub(super) fn bo(&self) -> &Arc<Bo> {
        &self.bo
    }

    /// The `ALLOC_` bits of the kind of memory, as DMA-bufs are told of.
    pub(super) fn kind(&self) -> u32 {
        match self.bo.placement() {
            Some(Placement::Vram) => abi::ALLOC_VRAM,
            _ => abi::ALLOC_GTT,
        }
    }

    /// Whether VRAM was asked for that programs can map.
    pub(super) fn is_public(&self) -> bool {
        self.flags & abi::ALLOC_VRAM != 0 && self.flags & abi::ALLOC_PUBLIC != 0
    }
}

/// A buffer object of a process.
pub(crate) struct Mem {
    /// Where programs map it; taken from them before the memory goes. Nowhere, if it was imported.
    _mapping: Option<Mapping>,
    /// What it is made of, if it is the program's memory. No longer watched when the object goes.
    range: Option<UserRange>,
    memory: Arc<Memory>,
    /// The DMA-buf that it was imported from, or exported as the first time.
    pub(super) dmabuf: SetOnce<DmaBuf>,
    va: u64,
    flags: u32,
    /// Queues that use it.
    queues: Atomic<i32>,
    _count: Count,
}

impl Mem {
    pub(super) fn new(
        mapping: Option<Mapping>,
        memory: Arc<Memory>,
        range: Option<UserRange>,
        va: u64,
        flags: u32,
    ) -> Result<Arc<Self>> {
        Ok(Arc::new(
            Self {
                _mapping: mapping,
                range,
                memory,
                dmabuf: SetOnce::new(),
                va,
                flags,
                queues: Atomic::new(0),
                _count: Count::new(&BUFFERS),
            },
            GFP_KERNEL,
        )?)
    }

    /// The program's memory that it is made of.
    pub(super) fn range(&self) -> Option<&UserRange> {
        self.range.as_ref()
    }

    /// Maps it at all of its addresses. On an error some may be mapped.
    pub(super) fn map_into(&self, vm: &Vm) -> Result {
        for va in &self.addresses()? {
            vm.map(*va, self.bo(), 0, self.bo().size(), self.map_flags())?;
        }
        Ok(())
    }

    /// Takes it out of the VM and flushes. What the hardware doesn't acknowledge is kept.
    pub(super) fn unmap_from(&self, vm: &Vm) -> Result {
        let mut result = Ok(());
        for va in &self.addresses()? {
            let unmapped = vm
                .unmap(*va, self.bo().size())
                .and_then(|unmapped| unmapped.flush());
            match unmapped {
                Ok(()) => {}
                // The program took it away, and so it isn't in the VM.
                Err(e) if e == EINVAL && self.range.is_some() => {}
                Err(e) => result = Err(e),
            }
        }
        result
    }

    pub(crate) fn bo(&self) -> &Arc<Bo> {
        &self.memory.bo
    }

    pub(super) fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    /// Whether the GPU may write it through this handle.
    pub(super) fn is_writable(&self) -> bool {
        self.flags & abi::ALLOC_WRITABLE != 0
    }

    fn is_double(&self) -> bool {
        self.flags & abi::ALLOC_AQL_QUEUE_MEM != 0
    }

    /// The addresses it is mapped at.
    fn addresses(&self) -> Result<KVec<u64>> {
        let mut addresses = KVec::with_capacity(2, GFP_KERNEL)?;
        addresses.push(self.va, GFP_KERNEL)?;
        if self.is_double() {
            addresses.push(
                self.va.checked_add(self.bo().size()).ok_or(EINVAL)?,
                GFP_KERNEL,
            )?;
        }
        Ok(addresses)
    }

    fn map_flags(&self) -> MapFlags {
        // Access is the handle's, caching the memory's: all who share it see it in one way.
        let has = |flag| self.memory.flags & flag != 0;
        MapFlags {
            writable: self.is_writable(),
            executable: self.flags & abi::ALLOC_EXECUTABLE != 0,
            coherent: has(abi::ALLOC_COHERENT),
            uncached: has(abi::ALLOC_UNCACHED),
            ext_coherent: has(abi::ALLOC_EXT_COHERENT),
        }
    }
}

/// A buffer object that a queue uses; it stays mapped as long.
pub(crate) struct Pin(Arc<Mem>);

impl Pin {
    fn new(mem: &Arc<Mem>) -> Self {
        mem.queues.fetch_add(1, Relaxed);
        Self(mem.clone())
    }

    pub(crate) fn bo(&self) -> &Arc<Bo> {
        self.0.bo()
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.0.queues.fetch_sub(1, Relaxed);
    }
}

/// What ALLOC_MEMORY_OF_GPU asks for.
pub(crate) struct AllocRequest {
    pub(crate) va: u64,
    pub(crate) size: u64,
    pub(crate) flags: u32,
    /// CPU address of USERPTR memory.
    pub(crate) user_address: u64,
}

impl AllocRequest {
    /// Whether the program's memory is meant: other kinds go first.
    pub(crate) fn is_user(&self) -> bool {
        self.flags & (abi::ALLOC_VRAM | abi::ALLOC_GTT) == 0 && self.flags & abi::ALLOC_USERPTR != 0
    }

    /// Bytes of the object: half of what was asked for when it is to be mapped twice.
    ///
    /// # Errors
    ///
    /// EINVAL when nothing is left of it.
    pub(super) fn bo_size(&self) -> Result<u64> {
        let double = self.flags & abi::ALLOC_AQL_QUEUE_MEM != 0;
        let size = if double { self.size >> 1 } else { self.size };
        page_align(size).filter(|size| *size > 0).ok_or(EINVAL)
    }
}

/// What it gives.
pub(crate) struct Allocated {
    /// The lower half of the handle.
    pub(crate) index: u32,
    pub(crate) mmap_offset: u64,
}

fn page_align(size: u64) -> Option<u64> {
    size.checked_next_multiple_of(PAGE_SIZE as u64)
}

impl DeviceState {
    /// What is checked whatever kind of memory it then is. Gives the doorbells, if they are asked
    /// for.
    pub(super) fn check_alloc(
        &self,
        device: &ProcessDevice,
        r: &AllocRequest,
    ) -> Result<Option<Arc<Slice>>> {
        let has = |flag| r.flags & flag != 0;
        let chip = device.gpu.chip();
        let large_bar = chip.visible_vram_size >= chip.vram_size;
        if has(abi::ALLOC_PUBLIC) && has(abi::ALLOC_VRAM) && !large_bar {
            return Err(EINVAL);
        }
        self.bound()?;
        let slice = if has(abi::ALLOC_DOORBELL) {
            if r.size != crate::doorbell::SLICE_SIZE as u64 {
                return Err(EINVAL);
            }
            Some(device.slice().map_err(|_| ENOMEM)?)
        } else {
            None
        };
        if slice.is_none() && has(abi::ALLOC_MMIO_REMAP) && r.size != PAGE_SIZE as u64 {
            return Err(EINVAL);
        }
        Ok(slice)
    }

    /// Makes a buffer object; not of the program's memory, see [`Process::alloc_user`].
    ///
    /// [`Process::alloc_user`]: super::Process::alloc_user
    pub(crate) fn alloc(&mut self, device: &ProcessDevice, r: &AllocRequest) -> Result<Allocated> {
        let has = |flag| r.flags & flag != 0;
        let gpu = &device.gpu;
        let slice = self.check_alloc(device, r)?;
        let (bo, share) = if has(abi::ALLOC_VRAM) {
            let size = r.bo_size()?;
            if size > gpu.vram_available() {
                return Err(ENOMEM);
            }
            let bo = Bo::new(gpu, Placement::Vram, size)?;
            (bo, Some(Share::from(VramShare::new(gpu, size))))
        } else if has(abi::ALLOC_GTT) {
            let size = r.bo_size()?;
            let share = GttShare::new(size)?;
            (Bo::new(gpu, Placement::Gtt, size)?, Some(share.into()))
        } else if let Some(slice) = slice {
            (slice.bo()?, None)
        } else if has(abi::ALLOC_MMIO_REMAP) {
            (Bo::mmio_remap(gpu).map_err(|_| ENOMEM)?, None)
        } else {
            return Err(EINVAL);
        };
        self.add(bo, share, r)
    }

    fn add(&mut self, bo: Arc<Bo>, share: Option<Share>, r: &AllocRequest) -> Result<Allocated> {
        let mapping = Mapping::new(&self.bound()?.file, &bo)?;
        let mmap_offset = mapping.offset();
        let memory = Memory::new(bo, share, r.flags)?;
        let mem = Mem::new(Some(mapping), memory, None, r.va, r.flags)?;
        let index = self.insert(mem)?;
        Ok(Allocated { index, mmap_offset })
    }

    /// Gives an object a handle.
    pub(super) fn insert(&mut self, mem: Arc<Mem>) -> Result<u32> {
        self.handles
            .insert(END, Handle { mem, mapped: false })
            .map_err(|_| EFAULT)
    }

    /// The object with this handle.
    pub(crate) fn mem(&self, index: u32) -> Option<&Arc<Mem>> {
        Some(&self.handles.get(index)?.mem)
    }

    /// Takes an object's handle. What is returned is to be dropped without the process' state.
    ///
    /// # Errors
    ///
    /// EINVAL when there is none, EBUSY when it is mapped.
    pub(crate) fn free(&mut self, index: u32) -> Result<Handle> {
        let handle = self.handles.get(index).ok_or(EINVAL)?;
        if handle.mapped {
            return Err(EBUSY);
        }
        self.handles.remove(index).ok_or(EINVAL)
    }

    /// Maps an object into the VM; does nothing if it is.
    pub(crate) fn map(&mut self, index: u32) -> Result {
        let vm = self.bound()?.vm.clone();
        let handle = self.handles.get_mut(index).ok_or(ENOMEM)?;
        if handle.mapped {
            return Ok(());
        }
        let mem = handle.mem.clone();
        if mem.va == 0 {
            return Err(EINVAL);
        }
        let addresses = mem.addresses()?;
        for (done, va) in addresses.iter().enumerate() {
            if let Err(e) = self.map_at(&vm, *va, &mem) {
                for va in addresses.iter().take(done) {
                    let _ = vm
                        .unmap(*va, mem.bo().size())
                        .and_then(|unmapped| unmapped.flush());
                    self.by_va.remove(va);
                }
                // Upstream has one errno for addresses that are taken or make no sense.
                return Err(if e == EEXIST { EINVAL } else { e });
            }
        }
        if let Some(handle) = self.handles.get_mut(index) {
            handle.mapped = true;
        }
        Ok(())
    }

    fn map_at(&mut self, vm: &Vm, va: u64, mem: &Arc<Mem>) -> Result {
        if self.by_va.get(&va).is_some() {
            return Err(EEXIST);
        }
        let node = RBTreeNode::new(va, mem.clone(), GFP_KERNEL)?;
        // Memory that the program took away is mapped when it is there again.
        if mem.range.as_ref().is_none_or(UserRange::is_valid) {
            vm.map(va, mem.bo(), 0, mem.bo().size(), mem.map_flags())?;
        }
        self.by_va.insert(node);
        Ok(())
    }

    /// Takes an object out of the VM.
    ///
    /// # Errors
    ///
    /// ENOMEM when there is none, EINVAL when it isn't mapped, EBUSY when a queue uses it.
    pub(crate) fn unmap(&mut self, index: u32) -> Result {
        let handle = self.handles.get(index).ok_or(ENOMEM)?;
        if !handle.mapped {
            return Err(EINVAL);
        }
        if handle.mem.queues.load(Relaxed) > 0 {
            return Err(EBUSY);
        }
        self.unmap_now(index)
    }

    /// Takes an object out of the VM, whoever uses it.
    fn unmap_now(&mut self, index: u32) -> Result {
        let vm = self.bound()?.vm.clone();
        let handle = self.handles.get_mut(index).ok_or(ENOMEM)?;
        let mem = handle.mem.clone();
        handle.mapped = false;
        for va in &mem.addresses()? {
            self.by_va.remove(va);
        }
        // The flush keeps the memory if the hardware doesn't answer.
        mem.unmap_from(&vm)
    }

    /// Pins the object of which a mapping starts at the page of `va` and has exactly as many pages
    /// as `size` has whole ones; less than one isn't compared.
    ///
    /// # Errors
    ///
    /// EINVAL when there is none.
    pub(crate) fn pin_exact(&self, va: u64, size: u64) -> Result<Pin> {
        let mem = self
            .by_va
            .get(&(va & !(PAGE_SIZE as u64 - 1)))
            .ok_or(EINVAL)?;
        let pages = size >> PAGE_SHIFT;
        if pages != 0 && mem.bo().size() >> PAGE_SHIFT != pages {
            return Err(EINVAL);
        }
        Ok(Pin::new(mem))
    }

    /// Takes everything out of the VM.
    pub(super) fn unmap_all(&mut self) {
        let mut next = self.handles.last_id();
        while let Some(index) = next {
            if self.handles.get(index).is_some_and(|handle| handle.mapped) {
                // If the hardware doesn't answer, the flush keeps the memory.
                let _ = self.unmap_now(index);
            }
            next = index.checked_sub(1);
        }
    }
}
