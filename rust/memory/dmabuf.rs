// SPDX-License-Identifier: GPL-2.0

//! Buffer objects as DMA-bufs: given to others, and taken from them.
//!
//! What went out is held by its descriptors, whatever becomes of the handle, and with it what it
//! takes of the limits. Memory of our own that comes back on the same GPU is the same memory under
//! another handle; everything else is reached through an attachment. VRAM can't be attached to:
//! it doesn't move to system memory here, and other devices have no way to it.
//!
//! Source: Linux, `amdgpu/amdgpu_dma_buf.c`; `import_obj_create` of `amdgpu_amdkfd_gpuvm.c`.

use crate::{
    bo::Bo,
    counts::{
        Count,
        Thing, //
    },
    glue::{
        dma_buf::{
            self,
            DmaBuf,
            Exporter,
            Ops, //
        },
        vma::{
            Area,
            Fault,
            VmOps, //
        }, //
    },
    gpu::Gpu,
    mmap::Mapping,
    process::{
        Mem,
        Memory,
        Process, //
    },
    types::{
        AllocFlags,
        BufferId,
        GpuId,
        GpuVa, //
    }, //
};
use kernel::{
    page::Page,
    prelude::*,
    sync::Arc, //
};

/// What stands behind a DMA-buf of ours.
pub(crate) struct Export {
    /// Taken from programs before the memory goes: fields are dropped in order.
    mapping: Mapping,
    memory: Arc<Memory>,
    gpu: Arc<Gpu>,
    _count: Count,
}

static OPS: Ops = Ops::new::<Export>();
static VM_OPS: VmOps = dma_buf::vm_ops::<Export>();

impl Exporter for Export {
    fn ops() -> &'static Ops {
        &OPS
    }

    fn vm_ops() -> &'static VmOps {
        &VM_OPS
    }

    fn pages(&self) -> Result<&[Page]> {
        self.memory.bo().pages()
    }

    fn mmap(&self, area: &Area<'_>) -> Result {
        self.mapping.map(area)
    }

    fn fault(&self, fault: &Fault<'_>) -> Result {
        self.mapping.fault(fault)
    }
}

/// What GET_DMABUF_INFO reports.
pub(crate) struct Info {
    /// Bytes.
    pub(crate) size: u64,
    pub(crate) flags: AllocFlags,
    pub(crate) gpu_id: GpuId,
}

/// Describes a DMA-buf of ours.
///
/// # Errors
///
/// EINVAL when it is somebody else's.
pub(crate) fn info(dmabuf: &DmaBuf) -> Result<Info> {
    let export = dmabuf.exporter::<Export>().ok_or(EINVAL)?;
    let memory = &export.memory;
    Ok(Info {
        size: memory.bo().size(),
        flags: match memory.is_public() {
            true => memory.kind().and(AllocFlags::PUBLIC),
            false => memory.kind(),
        },
        gpu_id: export.gpu.id(),
    })
}

/// The DMA-buf of a buffer object: the same one each time.
///
/// # Errors
///
/// EINVAL when there is no such handle, EPERM for memory of a program's own, ENOMEM.
pub(crate) fn export(process: &Process, gpu_id: GpuId, id: BufferId) -> Result<DmaBuf> {
    process.with_device(gpu_id, |device, state| {
        let mem = state.mem(id).ok_or(EINVAL)?;
        if let Some(dmabuf) = mem.dmabuf.as_ref() {
            return Ok(dmabuf.clone());
        }
        let memory = mem.memory();
        if memory.bo().is_user() {
            return Err(EPERM);
        }
        let export = Export {
            mapping: Mapping::shared(&state.bound()?.file, memory.bo())?,
            memory: memory.clone(),
            gpu: device.gpu.clone(),
            _count: process.shared().counts.count(Thing::DmaBuf),
        };
        let export = Arc::new(export, GFP_KERNEL_ACCOUNT)?;
        let inode = export.clone();
        let size = usize::try_from(memory.bo().size())?;
        let dmabuf = DmaBuf::export(export, size, mem.is_writable(), inode.mapping.inode())?;
        // Nobody else sets it: the process' state is held.
        mem.dmabuf.populate(dmabuf.clone());
        Ok(dmabuf)
    })
}

/// Gives a DMA-buf a handle on a GPU, to be mapped at `va`.
///
/// # Errors
///
/// EINVAL when there is no such GPU or the DMA-buf's memory can't be reached, ENODEV before
/// ACQUIRE_VM, ENOMEM, and the exporter's errors.
pub(crate) fn import(
    process: &Process,
    gpu_id: GpuId,
    dmabuf: DmaBuf,
    va: GpuVa,
) -> Result<BufferId> {
    // Without the process' state: the exporter may be anybody.
    let gpu = process.with_device(gpu_id, |device, _| Ok(device.gpu.clone()))?;
    let own = dmabuf
        .exporter::<Export>()
        .map(|export| export.memory.clone())
        .filter(|memory| memory.bo().belongs_to(gpu.memory()));
    let memory = match own {
        Some(memory) => memory,
        None => {
            let bo = Bo::foreign(gpu.memory(), dmabuf.clone())?;
            Memory::new(bo, None, AllocFlags::GTT)?
        }
    };
    let access = AllocFlags::WRITABLE.and(AllocFlags::EXECUTABLE);
    let flags = memory.kind().and(access);
    let count = process.shared().counts.count(Thing::Buffer);
    let mem = Mem::new(None, memory, None, va, flags, count)?;
    mem.dmabuf.populate(dmabuf);
    // Kept here, so that on an error it isn't dropped with the process' state.
    process.with_device(gpu_id, |_, state| {
        state.bound()?;
        state.insert(mem.clone())
    })
}
