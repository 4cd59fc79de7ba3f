// SPDX-License-Identifier: GPL-2.0

//! Making buffer objects (ALLOC_MEMORY_OF_GPU): VRAM, system memory, doorbells, registers, and the
//! program's own memory.

use super::eviction;
use crate::{
    bo::Bo,
    counts::Thing,
    doorbell::{
        Slice,
        SLICE_SIZE, //
    },
    gpu::Gpu,
    limit::{
        GttShare,
        Pages,
        Share,
        VramShare, //
    },
    mmap::Mapping,
    process::{
        user::{
            Status,
            UserRange, //
        },
        DeviceState,
        Mem,
        Memory,
        Process,
        ProcessDevice,
        Shared, //
    },
    types::{
        AllocFlags,
        BufferId,
        GpuId,
        GpuVa, //
    }, //
};
use kernel::{
    current,
    page::PAGE_SIZE,
    prelude::*,
    sync::Arc, //
};

/// What ALLOC_MEMORY_OF_GPU asks for.
pub(crate) struct AllocRequest {
    pub(crate) va: GpuVa,
    pub(crate) size: u64,
    pub(crate) flags: AllocFlags,
    /// CPU address of USERPTR memory.
    pub(crate) user_address: u64,
}

impl AllocRequest {
    /// Whether the program's memory is meant: other kinds go first.
    pub(crate) fn is_user(&self) -> bool {
        !self.flags.vram() && !self.flags.gtt() && self.flags.user()
    }

    /// Bytes of the object: half of what was asked for when it is to be mapped twice.
    ///
    /// # Errors
    ///
    /// EINVAL when nothing is left of it.
    fn bo_size(&self) -> Result<u64> {
        let size = if self.flags.double() {
            self.size >> 1
        } else {
            self.size
        };
        page_align(size).filter(|size| *size > 0).ok_or(EINVAL)
    }
}

/// What it gives.
pub(crate) struct Allocated {
    pub(crate) id: BufferId,
    pub(crate) mmap_offset: u64,
}

fn page_align(size: u64) -> Option<u64> {
    size.checked_next_multiple_of(PAGE_SIZE as u64)
}

/// Makes a buffer object (ALLOC_MEMORY_OF_GPU).
///
/// # Errors
///
/// EINVAL when there is no such GPU or the request makes no sense, ENODEV before ACQUIRE_VM, ENOMEM
/// when a limit is reached; for VRAM, those of [`Copier::clear`](crate::sdma::Copier::clear); for the
/// program's memory, those of `init_user_pages`.
pub(crate) fn alloc(
    process: &Arc<Process>,
    gpu_id: GpuId,
    request: &AllocRequest,
) -> Result<Allocated> {
    match request.is_user() {
        true => alloc_user(process, gpu_id, request),
        false => alloc_own(process, gpu_id, request),
    }
}

/// What is checked whatever kind of memory it then is. Gives the doorbells, if they are asked
/// for.
fn check(
    device: &ProcessDevice,
    state: &DeviceState,
    r: &AllocRequest,
) -> Result<Option<Arc<Slice>>> {
    let flags = r.flags;
    let chip = device.gpu.chip();
    let large_bar = chip.visible_vram_size >= chip.vram_size;
    if flags.public() && flags.vram() && !large_bar {
        return Err(EINVAL);
    }
    state.bound()?;
    let slice = if flags.doorbell() {
        if r.size != SLICE_SIZE as u64 {
            return Err(EINVAL);
        }
        Some(device.slice().map_err(|_| ENOMEM)?)
    } else {
        None
    };
    if slice.is_none() && flags.registers() && r.size != PAGE_SIZE as u64 {
        return Err(EINVAL);
    }
    Ok(slice)
}

/// What a buffer object is to be made of.
enum Material {
    Vram { size: u64 },
    Gtt { size: u64, share: GttShare },
    Doorbells(Arc<Slice>),
    Registers,
}

impl Material {
    /// Checks the request, and takes what counts against limits.
    fn find(
        shared: &Shared,
        device: &ProcessDevice,
        state: &DeviceState,
        r: &AllocRequest,
    ) -> Result<Self> {
        let slice = check(device, state, r)?;
        if r.flags.vram() {
            let size = r.bo_size()?;
            if size > device.gpu.vram_available() {
                return Err(ENOMEM);
            }
            Ok(Self::Vram { size })
        } else if r.flags.gtt() {
            let size = r.bo_size()?;
            let share = shared.memory.take(size, Pages::Own)?;
            Ok(Self::Gtt { size, share })
        } else if let Some(slice) = slice {
            Ok(Self::Doorbells(slice))
        } else if r.flags.registers() {
            Ok(Self::Registers)
        } else {
            Err(EINVAL)
        }
    }

    /// Makes the object. Clearing may take long: no lock is held.
    fn make(self, gpu: &Arc<Gpu>) -> Result<(Arc<Bo>, Option<Share>)> {
        let memory = gpu.memory();
        Ok(match self {
            Self::Vram { size } => {
                gpu.alive()?;
                let vram = gpu.copier().clear(eviction::take(gpu, size)?)?;
                let bo = Bo::of_vram(memory, vram)?;
                (bo, Some(VramShare::new(gpu, size).into()))
            }
            Self::Gtt { size, share } => (Bo::gtt(memory, size)?, Some(share.into())),
            Self::Doorbells(slice) => (Bo::of_doorbells(memory, slice)?, None),
            Self::Registers => (Bo::mmio_remap(memory).map_err(|_| ENOMEM)?, None),
        })
    }
}

/// Makes a buffer object that is not of the program's memory.
fn alloc_own(process: &Arc<Process>, gpu_id: GpuId, r: &AllocRequest) -> Result<Allocated> {
    let shared = process.shared();
    let (gpu, file, material) = process.with_device(gpu_id, |device, state| {
        let material = Material::find(shared, device, state, r)?;
        let file = state.bound()?.file.clone();
        Ok((device.gpu.clone(), file, material))
    })?;
    let (bo, share) = material.make(&gpu)?;
    let mapping = Mapping::new(&file, &bo)?;
    let mmap_offset = mapping.offset();
    // Kept here, so that on an error it isn't dropped with the process' state.
    let memory = Memory::new(bo, share, r.flags)?;
    let count = shared.counts.count(Thing::Buffer);
    let mem = Mem::new(Some(mapping), memory, None, r.va, r.flags, count)?;
    let id = process.with_device(gpu_id, |_, state| state.insert(mem.clone()))?;
    Ok(Allocated { id, mmap_offset })
}

/// Makes a buffer object of the caller's memory.
///
/// # Errors
///
/// As `init_user_pages`: EOVERFLOW when the range isn't one, EFAULT when it isn't all mapped,
/// EPERM when it can't be written, ENOMEM.
fn alloc_user(process: &Arc<Process>, gpu_id: GpuId, r: &AllocRequest) -> Result<Allocated> {
    let shared = process.shared();
    let (gpu, file, size, share) = process.with_device(gpu_id, |device, state| {
        check(device, state, r)?;
        if r.user_address == 0 {
            return Err(EINVAL);
        }
        let size = r.bo_size()?;
        let file = state.bound()?.file.clone();
        Ok((
            device.gpu.clone(),
            file,
            size,
            shared.memory.take(size, Pages::Lent)?,
        ))
    })?;
    let task = current!();
    let mm = task.mm().ok_or(EINVAL)?;
    let bo = Bo::for_user(gpu.memory(), size)?;
    let address = usize::try_from(r.user_address)?;
    let range = UserRange::watch(process, mm, address, usize::try_from(size)?, true)?;
    loop {
        let since = range.begin();
        bo.swap_user(&mut Some(range.pin(mm, &gpu, &bo)?));
        if range.settle(since, Status::Valid) {
            break;
        }
    }
    let mapping = Mapping::new(&file, &bo)?;
    let offset = mapping.offset();
    // Kept here, so that on an error it isn't dropped with the process' state.
    let memory = Memory::new(bo, Some(share.into()), r.flags)?;
    let count = shared.counts.count(Thing::Buffer);
    let mem = Mem::new(Some(mapping), memory, Some(range), r.va, r.flags, count)?;
    let id = process.with_device(gpu_id, |_, state| state.insert(mem.clone()))?;
    if mem.range().is_some_and(|range| !range.is_valid()) {
        // It changed before *stop* could find it.
        process.ask_stop();
    }
    Ok(Allocated {
        id,
        mmap_offset: offset,
    })
}
