// SPDX-License-Identifier: GPL-2.0

//! Making GEM objects: of memory of our own (GEM_CREATE), and of somebody else's DMA-buf.
//!
//! Source: Linux, `amdgpu_gem_create_ioctl`, `amdgpu_bo_create`.

use super::{
    object::Kind,
    Created,
    MovableHandle,
    Object,
    UserHandle,
    UserRequest, //
};
use crate::{
    bo::Bo,
    counts::Counts,
    glue::{
        dma_buf::DmaBuf,
        drm::Gem, //
    },
    limit::{
        Pages,
        SystemMemory, //
    },
    mmap::Offsets,
    process::{
        Memory,
        Processes, //
    },
    types::{
        AllocFlags,
        PageRange, //
    },
    uapi::gem as abi,
    vram::Uncleared, //
};
use kernel::{
    current,
    prelude::*,
    sync::Arc, //
};

/// What GEM_CREATE asks for.
pub(crate) struct CreateRequest {
    pub(crate) size: u64,
    pub(crate) created: Created,
}

impl CreateRequest {
    fn wants(&self, domain: u32) -> bool {
        self.created.domains & u64::from(domain) != 0
    }

    /// What it is as an allocation of KFD's, which has the same kinds of caching.
    fn flags(&self, kind: AllocFlags) -> AllocFlags {
        let caching = [
            (abi::CREATE_COHERENT, AllocFlags::COHERENT),
            (abi::CREATE_UNCACHED, AllocFlags::UNCACHED),
            (abi::CREATE_EXT_COHERENT, AllocFlags::EXT_COHERENT),
        ];
        let chosen = caching
            .into_iter()
            .filter(|(flag, _)| self.created.flags & flag != 0);
        chosen.fold(kind, |all, (_, one)| all.and(one))
    }
}

/// Makes an object. Clearing may take long: no lock is held.
///
/// # Errors
///
/// ENOSPC for no size, ENOMEM when a limit is reached or there is no such memory, ENODEV; for VRAM,
/// those of [`Copier::clear`](crate::sdma::Copier::clear).
pub(crate) fn create(
    offsets: &Arc<Offsets>,
    processes: &Arc<Processes>,
    request: &CreateRequest,
) -> Result<Gem<Object>> {
    let (counts, system) = (&processes.shared().counts, &processes.shared().memory);
    let size = request.size.checked_next_multiple_of(PageRange::PAGE);
    let size = size.ok_or(ENOMEM)?;
    if size == 0 {
        // No place among the offsets has no pages (`drm_mm_insert_node_in_range`).
        return Err(ENOSPC);
    }
    let mut created = request.created;
    if request.wants(abi::DOMAIN_VRAM) {
        match vram(offsets, processes, size, request) {
            // What finds no room goes to system memory, and may from then on (`amdgpu_gem_create_ioctl`).
            Err(e) if e == ENOMEM => created.domains |= u64::from(abi::DOMAIN_GTT),
            result => {
                let (memory, movable) = result?;
                return Object::of_memory(
                    offsets,
                    counts,
                    &memory,
                    created,
                    Kind::Movable(movable),
                );
            }
        }
    }
    let memory = gtt(offsets, system, size, request)?;
    Object::of_memory(offsets, counts, &memory, created, Kind::Fixed)
}

fn vram(
    offsets: &Offsets,
    processes: &Arc<Processes>,
    size: u64,
    request: &CreateRequest,
) -> Result<(Arc<Memory>, MovableHandle)> {
    let gpu = offsets.gpu();
    let memory = gpu.memory();
    let cleared = gpu.copier().clear(Uncleared::take(&memory.vram, size)?)?;
    let bo = Bo::movable(memory, cleared)?;
    let movable = MovableHandle::new(gpu, processes, &bo)?;
    let memory = Memory::movable(bo, movable.keeper(), request.flags(AllocFlags::VRAM))?;
    Ok((memory, movable))
}

fn gtt(
    offsets: &Offsets,
    system: &Arc<SystemMemory>,
    size: u64,
    request: &CreateRequest,
) -> Result<Arc<Memory>> {
    let share = system.take(size, Pages::Own)?;
    let bo = Bo::gtt(offsets.gpu().memory(), size)?;
    Memory::new(bo, Some(share.into()), request.flags(AllocFlags::GTT))
}

/// Makes an object of the caller's own memory, which is pinned now if `validate`.
///
/// # Errors
///
/// ENOSPC for no size, ENOMEM when a limit is reached, EOVERFLOW, ENODEV; with `validate` those of
/// [`UserHandle::fill`].
pub(crate) fn create_user(
    offsets: &Arc<Offsets>,
    processes: &Arc<Processes>,
    request: &UserRequest,
    validate: bool,
) -> Result<Gem<Object>> {
    let shared = processes.shared();
    if request.size == 0 {
        return Err(ENOSPC);
    }
    let (gpu, task) = (offsets.gpu(), current!());
    let mm = task.mm().ok_or(EINVAL)?;
    let share = shared.memory.take(request.size, Pages::Lent)?;
    let bo = Bo::for_user(gpu.memory(), request.size)?;
    let user = UserHandle::new(gpu, processes, mm, &bo, request)?;
    if validate {
        user.fill()?;
    }
    let memory = Memory::new(bo, Some(share.into()), AllocFlags::GTT)?;
    let created = Created {
        alignment: 0,
        domains: abi::DOMAIN_GTT.into(),
        flags: 0,
    };
    Object::of_memory(offsets, &shared.counts, &memory, created, Kind::User(user))
}

/// Makes an object of somebody else's memory.
///
/// # Errors
///
/// The exporter's error, EINVAL when it isn't whole pages, ENODEV when the device is gone.
pub(crate) fn of_foreign(
    offsets: &Arc<Offsets>,
    counts: &Arc<Counts>,
    buf: DmaBuf,
) -> Result<Gem<Object>> {
    let bo = Bo::foreign(offsets.gpu().memory(), buf)?;
    let memory = Memory::new(bo, None, AllocFlags::GTT)?;
    Object::of_memory(offsets, counts, &memory, Created::of(&memory), Kind::Fixed)
}
