// SPDX-License-Identifier: GPL-2.0

//! Buffer objects as DMA-bufs: given to others, and taken from them.
//!
//! What goes out is a GEM object ([`Object`]): held by its descriptors, whatever becomes of the handle, and with it what it
//! takes of the limits. Memory of our own that comes back on the same GPU is the same memory under
//! another handle; everything else is reached through an attachment. VRAM can't be attached to:
//! other devices have no way to it, and it isn't moved to system memory for them.
//!
//! Source: Linux, `amdgpu/amdgpu_dma_buf.c`; `import_obj_create` of `amdgpu_amdkfd_gpuvm.c`.

use super::{
    object::Kind,
    Created,
    Metadata,
    Object, //
};
use crate::{
    bo::Bo,
    counts::Thing,
    glue::{
        dma_buf::DmaBuf,
        drm::Gem, //
    },
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
    },
    uapi::gem as abi, //
};
use kernel::prelude::*;

/// What GET_DMABUF_INFO reports.
pub(crate) struct Info {
    /// Bytes.
    pub(crate) size: u64,
    /// VRAM or GTT, by where it is to lie; PUBLIC if a program touched it.
    pub(crate) flags: AllocFlags,
    pub(crate) gpu_id: GpuId,
    pub(crate) metadata: Metadata,
}

/// Describes a DMA-buf of ours, as `amdgpu_amdkfd_get_dmabuf_info`.
///
/// # Errors
///
/// EINVAL when it is somebody else's, or is to lie neither in VRAM nor in GTT.
pub(crate) fn info(dmabuf: &DmaBuf) -> Result<Info> {
    let object = Gem::<Object>::of_dma_buf(dmabuf).ok_or(EINVAL)?;
    let created = object.created();
    let may_lie = |domain: u32| created.domains & u64::from(domain) != 0;
    let kind = match (may_lie(abi::DOMAIN_VRAM), may_lie(abi::DOMAIN_GTT)) {
        (true, _) => AllocFlags::VRAM,
        (false, true) => AllocFlags::GTT,
        (false, false) => return Err(EINVAL),
    };
    let metadata = *object.metadata().lock();
    Ok(Info {
        size: object.memory().bo().size(),
        flags: match created.flags & abi::CREATE_CPU_ACCESS_REQUIRED {
            0 => kind,
            _ => kind.and(AllocFlags::PUBLIC),
        },
        gpu_id: object.gpu().id(),
        metadata,
    })
}

/// The DMA-buf of a buffer object: the same one each time.
///
/// # Errors
///
/// EINVAL when there is no such handle, EPERM for memory of a program's own, ENOMEM.
pub(crate) fn export(process: &Process, gpu_id: GpuId, id: BufferId) -> Result<DmaBuf> {
    process.with_device(gpu_id, |_, state| {
        let handle = state.handles.get(id.get()).ok_or(EINVAL)?;
        let mem = &handle.mem;
        if let Some(dmabuf) = mem.dmabuf.as_ref() {
            return Ok(dmabuf.clone());
        }
        let memory = mem.memory();
        if memory.bo().is_user() {
            return Err(EPERM);
        }
        let (offsets, counts) = (state.bound()?.file.offsets(), &process.shared().counts);
        let object = Object::of_memory(offsets, counts, memory, Created::of(memory), Kind::Fixed)?;
        let dmabuf = object.export(mem.is_writable())?;
        // Nobody else sets it: the process' state is held.
        mem.dmabuf.populate(dmabuf.clone());
        handle.share();
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
    let own = Gem::<Object>::of_dma_buf(&dmabuf)
        .filter(|object| object.memory().bo().belongs_to(gpu.memory()));
    let memory = match own {
        Some(object) => {
            if let Some(movable) = object.movable() {
                movable.stay()?;
            }
            object.memory().clone()
        }
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
