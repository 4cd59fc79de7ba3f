// SPDX-License-Identifier: GPL-2.0

//! Calls about memory: address spaces, buffer objects, mappings.

use super::gpu_id;
use crate::{
    glue::drm,
    gpu,
    memory::{
        self,
        AllocRequest, //
    },
    process::Process,
    render::Render,
    types::{
        AllocFlags,
        BufferId,
        GpuId,
        GpuVa, //
    },
    uapi::{
        device,
        memory as abi,
        mmap, //
    }, //
};
use kernel::{
    fs::LocalFile,
    prelude::*,
    sync::Arc,
    uaccess::{
        UserPtr,
        UserSlice, //
    }, //
};

/// A handle of ALLOC_MEMORY_OF_GPU taken apart.
pub(super) struct Handle {
    pub(super) gpu_id: GpuId,
    pub(super) id: BufferId,
}

impl Handle {
    /// # Errors
    ///
    /// EINVAL when no GPU can have that name.
    pub(super) fn parse(handle: u64) -> Result<Self> {
        // CAST: The halves.
        Ok(Self {
            gpu_id: gpu_id((handle >> 32) as u32)?,
            id: BufferId::new(handle as u32),
        })
    }

    /// As the program gets it.
    pub(super) fn bits(&self) -> u64 {
        u64::from(self.gpu_id.get()) << 32 | u64::from(self.id.get())
    }
}

/// ACQUIRE_VM.
pub(super) fn acquire_vm(process: &Arc<Process>, args: &mut abi::AcquireVmArgs) -> Result {
    let file = LocalFile::fget(args.drm_fd).map_err(|_| EINVAL)?;
    let gpu_id = gpu_id(args.gpu_id)?;
    match drm::borrow::<Render>(&file) {
        Some(render) => memory::acquire(process, gpu_id, &render.into()),
        // `amdgpu_file_to_fpriv` of another file, unless there is a VM already.
        None => process.with_device(gpu_id, |_, state| {
            Err(if state.bound.is_some() { EBUSY } else { EINVAL })
        }),
    }
}

/// SET_MEMORY_POLICY: nothing depends on the policy since gfx9; it is only checked.
pub(super) fn set_policy(process: &Process, args: &mut device::SetMemoryPolicyArgs) -> Result {
    for policy in [args.default_policy, args.alternate_policy] {
        if !matches!(
            policy,
            device::CACHE_POLICY_COHERENT | device::CACHE_POLICY_NONCOHERENT
        ) {
            return Err(EINVAL);
        }
    }
    process.with_device(gpu_id(args.gpu_id)?, |_, state| {
        state.bound().map(|_| ()).map_err(|_| ESRCH)
    })
}

/// SET_SCRATCH_BACKING_VA: only a driver that assigns VMIDs itself has a use for it.
pub(super) fn set_scratch_backing_va(
    process: &Process,
    args: &mut abi::SetScratchBackingVaArgs,
) -> Result {
    process.with_device(gpu_id(args.gpu_id)?, |_, state| state.bound().map(|_| ()))
}

/// AVAILABLE_MEMORY.
pub(super) fn available(process: &Process, args: &mut abi::GetAvailableMemoryArgs) -> Result {
    const ALIGN: u64 = gpu::VRAM_STEP;
    args.available = process.device(gpu_id(args.gpu_id)?)?.gpu.vram_reported() & !(ALIGN - 1);
    Ok(())
}

/// ALLOC_MEMORY_OF_GPU.
pub(super) fn alloc(process: &Arc<Process>, args: &mut abi::AllocMemoryOfGpuArgs) -> Result {
    if args.size == 0 {
        return Err(EINVAL);
    }
    let request = AllocRequest {
        va: GpuVa::new(args.va_addr),
        size: args.size,
        flags: AllocFlags::new(args.flags),
        user_address: args.mmap_offset,
    };
    let gpu_id = gpu_id(args.gpu_id)?;
    let allocated = memory::alloc(process, gpu_id, &request)?;
    let id = allocated.id;
    args.handle = Handle { gpu_id, id }.bits();
    args.mmap_offset = if request.flags.registers() {
        mmap::Offset {
            kind: mmap::Kind::Mmio,
            gpu_id: gpu_id.get(),
            offset: 0,
        }
        .bits()
    } else {
        allocated.mmap_offset
    };
    Ok(())
}

/// FREE_MEMORY_OF_GPU.
pub(super) fn free(process: &Process, args: &mut abi::FreeMemoryOfGpuArgs) -> Result {
    if process.events.is_page(args.handle) {
        return Err(EPERM);
    }
    let handle = Handle::parse(args.handle)?;
    let freed = process.with_device(handle.gpu_id, |_, state| state.free(handle.id))?;
    drop(freed);
    Ok(())
}

/// The GPU ids of a call.
fn read_ids(address: u64, count: u32) -> Result<KVVec<u32>> {
    /// The largest array that upstream's allocation holds.
    const MAX: usize = 1 << 20;
    let count = count as usize;
    if count > MAX {
        return Err(ENOMEM);
    }
    let mut ids = KVVec::with_capacity(count, GFP_KERNEL_ACCOUNT | __GFP_NOWARN)?;
    let bytes = count.checked_mul(4).ok_or(ENOMEM)?;
    let mut reader = UserSlice::new(UserPtr::from_addr(address as usize), bytes).reader();
    for _ in 0..count {
        ids.push(reader.read::<u32>()?, GFP_KERNEL_ACCOUNT)?;
    }
    Ok(ids)
}

pub(super) fn check_counts(n_devices: u32, n_success: u32) -> Result {
    if n_devices == 0 || n_success > n_devices {
        return Err(EINVAL);
    }
    Ok(())
}

/// Does `f` for each GPU from `done` on, counting what is done.
pub(super) fn for_each_gpu(
    ids: &[u32],
    done: &mut u32,
    mut f: impl FnMut(u32) -> Result,
) -> Result {
    for id in ids.iter().skip(*done as usize) {
        f(*id)?;
        *done = done.saturating_add(1);
    }
    Ok(())
}

/// MAP_MEMORY_TO_GPU.
pub(super) fn map(process: &Process, args: &mut abi::MapMemoryToGpuArgs) -> Result {
    check_counts(args.n_devices, args.n_success)?;
    let ids = read_ids(args.device_ids_array_ptr, args.n_devices)?;
    let handle = Handle::parse(args.handle)?;
    let owner = process.device_index(handle.gpu_id)?;
    process.with(|state| {
        let device = state.devices.get(owner).ok_or(EINVAL)?;
        device.bound()?;
        if device.mem(handle.id).is_none() {
            return Err(ENOMEM);
        }
        for_each_gpu(&ids, &mut args.n_success, |id| {
            if process.device_index(gpu_id(id)?)? != owner {
                // No way from one GPU to another's memory.
                return Err(EINVAL);
            }
            let device = state.devices.get_mut(owner).ok_or(EINVAL)?;
            memory::map(device, handle.id)
        })
    })
}

/// UNMAP_MEMORY_FROM_GPU.
pub(super) fn unmap(process: &Process, args: &mut abi::UnmapMemoryFromGpuArgs) -> Result {
    check_counts(args.n_devices, args.n_success)?;
    let ids = read_ids(args.device_ids_array_ptr, args.n_devices)?;
    let handle = Handle::parse(args.handle)?;
    let owner = process.device_index(handle.gpu_id)?;
    process.with(|state| {
        let device = state.devices.get_mut(owner).ok_or(EINVAL)?;
        if device.mem(handle.id).is_none() {
            return Err(ENOMEM);
        }
        for_each_gpu(&ids, &mut args.n_success, |id| {
            if process.device_index(gpu_id(id)?)? != owner {
                // Never mapped there.
                return Err(EINVAL);
            }
            memory::unmap(device, handle.id)
        })
    })
}

/// Makes a buffer object the signal page of the process (`kfd_kmap_event_page`).
pub(super) fn set_event_page(process: &Process, handle: u64) -> Result {
    let parts = Handle::parse(handle)?;
    process.with_device(parts.gpu_id, |_, state| {
        state.bound()?;
        let bo = state.mem(parts.id).ok_or(EINVAL)?.bo();
        if !bo.has_words() {
            // Neither VRAM nor pages of ours: nothing the kernel could map.
            return Err(EINVAL);
        }
        process.events.set_page(bo.clone(), handle)
    })
}
