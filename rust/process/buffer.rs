// SPDX-License-Identifier: GPL-2.0

//! A process' buffer objects: what there is, under which handle, and what queues hold of it.
//!
//! A handle is in one of two states, mapped or not. What a queue uses is pinned: it can't be
//! unmapped. Allocating, mapping and freeing are operations of the room `memory`.
//!
//! A handle is one process' view of [`Memory`]. Memory that went out as a DMA-buf may have handles in
//! other processes, and lives on until the last of them and the last descriptor are gone.

use super::user::UserRange;
use crate::{
    bo::{
        yielding::Yields,
        Bo,
        Placement, //
    },
    counts::{
        Count,
        Usage,
        VramUse, //
    },
    glue::dma_buf::DmaBuf,
    limit::Share,
    mmap::{
        FileMemory,
        Mapping,
        MemoryUse, //
    },
    types::{
        AllocFlags,
        GpuVa,
        PageRange, //
    },
    vm::MapFlags, //
};
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        SetOnce, //
    }, //
};

/// A buffer object under its handle.
pub(crate) struct Handle {
    pub(crate) mem: Arc<Mem>,
    pub(crate) mapped: bool,
    /// Since it was mapped the first time.
    counted: Option<MemoryUse>,
    _vram: Option<VramUse>,
}

impl Handle {
    /// Of an object that isn't mapped. VRAM counts for whoever allocated it, as upstream, not for who imported
    /// it.
    pub(super) fn new(mem: Arc<Mem>, usage: &Arc<Usage>) -> Self {
        let own = mem._mapping.is_some() && mem.flags.vram();
        let vram = own.then(|| usage.take_vram(mem.bo().size()));
        Self {
            mem,
            mapped: false,
            counted: None,
            _vram: vram,
        }
    }

    /// It is mapped in the address space of a file, which has these counts.
    pub(crate) fn set_mapped(&mut self, memory: &Arc<FileMemory>) {
        self.mapped = true;
        let mem = &self.mem;
        self.counted.get_or_insert_with(|| {
            let vram = mem.memory.kind().vram();
            memory.count(vram, mem.bo().size(), mem.dmabuf.as_ref().is_some())
        });
    }

    /// It went out as a DMA-buf.
    pub(crate) fn share(&self) {
        if let Some(counted) = &self.counted {
            counted.share();
        }
    }
}

/// A buffer object and what it takes of the limits.
pub(crate) struct Memory {
    bo: Arc<Bo>,
    _share: Option<Share>,
    /// What takes of the limits if it may be moved.
    _keeper: Option<Arc<dyn Yields>>,
    /// As ALLOC_MEMORY_OF_GPU asked for it.
    flags: AllocFlags,
}

impl Memory {
    pub(crate) fn new(bo: Arc<Bo>, share: Option<Share>, flags: AllocFlags) -> Result<Arc<Self>> {
        Ok(Arc::new(
            Self {
                bo,
                _share: share,
                _keeper: None,
                flags,
            },
            GFP_KERNEL_ACCOUNT,
        )?)
    }

    /// Memory that may be moved, and what knows how much of which limit it takes.
    pub(crate) fn movable(
        bo: Arc<Bo>,
        keeper: Arc<dyn Yields>,
        flags: AllocFlags,
    ) -> Result<Arc<Self>> {
        Ok(Arc::new(
            Self {
                bo,
                _share: None,
                _keeper: Some(keeper),
                flags,
            },
            GFP_KERNEL_ACCOUNT,
        )?)
    }

    pub(crate) fn bo(&self) -> &Arc<Bo> {
        &self.bo
    }

    /// The kind of memory, as a DMA-buf reports it.
    pub(crate) fn kind(&self) -> AllocFlags {
        match self.bo.placement() {
            Some(Placement::Vram) => AllocFlags::VRAM,
            _ => AllocFlags::GTT,
        }
    }

    /// As it was asked for.
    pub(crate) fn flags(&self) -> AllocFlags {
        self.flags
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
    pub(crate) dmabuf: SetOnce<DmaBuf>,
    va: GpuVa,
    flags: AllocFlags,
    /// Queues that use it.
    queues: Atomic<i32>,
    _count: Count,
}

impl Mem {
    pub(crate) fn new(
        mapping: Option<Mapping>,
        memory: Arc<Memory>,
        range: Option<UserRange>,
        va: GpuVa,
        flags: AllocFlags,
        count: Count,
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
                _count: count,
            },
            GFP_KERNEL_ACCOUNT,
        )?)
    }

    /// The program's memory that it is made of.
    pub(crate) fn range(&self) -> Option<&UserRange> {
        self.range.as_ref()
    }

    pub(crate) fn bo(&self) -> &Arc<Bo> {
        &self.memory.bo
    }

    pub(crate) fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    /// Whether the GPU may write it through this handle.
    pub(crate) fn is_writable(&self) -> bool {
        self.flags.writable()
    }

    /// Where the program wants it; 0 when it can't be mapped.
    pub(crate) fn va(&self) -> GpuVa {
        self.va
    }

    /// Whether a queue uses it.
    pub(crate) fn is_pinned(&self) -> bool {
        self.queues.load(Relaxed) > 0
    }

    fn is_double(&self) -> bool {
        self.flags.double()
    }

    /// Where it is mapped: once, or twice back to back.
    ///
    /// # Errors
    ///
    /// EINVAL when that is no place in an address space. It allocates nothing, so that memory can be
    /// taken out of an address space when there is no memory left.
    pub(crate) fn places(&self) -> Result<impl Iterator<Item = PageRange> + Clone> {
        let first = PageRange::new(self.va, self.bo().size())?;
        let second = match self.is_double() {
            true => Some(PageRange::new(first.end(), first.bytes())?),
            false => None,
        };
        Ok([Some(first), second].into_iter().flatten())
    }

    pub(crate) fn map_flags(&self) -> MapFlags {
        // Access is the handle's, caching the memory's: all who share it see it in one way.
        let memory = self.memory.flags;
        MapFlags {
            writable: self.is_writable(),
            executable: self.flags.executable(),
            coherent: memory.coherent(),
            uncached: memory.uncached(),
            ext_coherent: memory.ext_coherent(),
        }
    }
}

/// A buffer object that a queue uses; it stays mapped as long.
pub(crate) struct Pin(Arc<Mem>);

impl Pin {
    pub(super) fn new(mem: &Arc<Mem>) -> Self {
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
