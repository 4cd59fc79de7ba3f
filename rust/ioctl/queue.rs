// SPDX-License-Identifier: GPL-2.0

//! Calls about queues.

use super::gpu_id;
use crate::{
    process::Process,
    queue::{
        self,
        QueueParams, //
    },
    types::{
        GpuVa,
        QueueId, //
    },
    uapi::{
        device,
        mmap,
        queue as abi, //
    }, //
};
use kernel::{
    alloc::KVec,
    prelude::*,
    uaccess::{
        UserPtr,
        UserSlice, //
    }, //
};

/// CREATE_QUEUE.
pub(super) fn create(process: &Process, args: &mut abi::CreateQueueArgs) -> Result {
    let params = QueueParams::new(args)?;
    let created = queue::create(process, gpu_id(args.gpu_id)?, &params)?;
    args.queue_id = created.id.get();
    args.doorbell_offset = mmap::doorbell(args.gpu_id, created.doorbell);
    Ok(())
}

/// DESTROY_QUEUE.
pub(super) fn destroy(process: &Process, args: &mut abi::DestroyQueueArgs) -> Result {
    queue::destroy(process, QueueId::new(args.queue_id))
}

/// UPDATE_QUEUE.
pub(super) fn update(process: &Process, args: &mut abi::UpdateQueueArgs) -> Result {
    let ring = queue::ring_params(
        args.ring_base_address,
        args.ring_size,
        args.queue_percentage,
        args.queue_priority,
    )?;
    args.ring_size = ring.size.raw();
    queue::update(process, QueueId::new(args.queue_id), &ring)
}

/// SET_CU_MASK.
pub(super) fn set_cu_mask(process: &Process, args: &mut abi::SetCuMaskArgs) -> Result {
    /// Bits beyond are dropped.
    const MAX_BITS: u32 = 1024;
    if args.num_cu_mask % 32 != 0 || args.num_cu_mask == 0 {
        return Err(EINVAL);
    }
    let words = (args.num_cu_mask.min(MAX_BITS) / 32) as usize;
    let mut mask = KVec::with_capacity(words, GFP_KERNEL_ACCOUNT)?;
    let address = UserPtr::from_addr(args.cu_mask_ptr as usize);
    let bytes = words.checked_mul(4).ok_or(EINVAL)?;
    let mut reader = UserSlice::new(address, bytes).reader();
    for _ in 0..words {
        mask.push(reader.read::<u32>()?, GFP_KERNEL_ACCOUNT)?;
    }
    queue::set_cu_mask(process, QueueId::new(args.queue_id), mask)
}

/// GET_QUEUE_WAVE_STATE. The program's memory is written after the process was let go of: it may
/// have to be brought in, or be memory that its queues use.
pub(super) fn wave_state(process: &Process, args: &mut abi::GetQueueWaveStateArgs) -> Result {
    let areas = queue::saved_waves(process, QueueId::new(args.queue_id))?;
    let base = UserPtr::from_addr(args.ctl_stack_address as usize);
    for area in &areas {
        let base = base.wrapping_byte_add(area.offset as usize);
        let mut header = UserSlice::new(base, size_of_val(&area.header)).writer();
        for word in area.header {
            header.write(&word)?;
        }
        let stack = base.wrapping_byte_add(area.stack_offset as usize);
        UserSlice::new(stack, area.stack.len())
            .writer()
            .write_slice(&area.stack)?;
    }
    if let Some(first) = areas.first() {
        args.ctl_stack_used_size = first.stack_used;
        args.save_area_used_size = first.waves_used;
    }
    Ok(())
}

/// ALLOC_QUEUE_GWS: all of them for the queue, or with a number of 0 none.
pub(super) fn alloc_gws(process: &Process, args: &mut abi::AllocQueueGwsArgs) -> Result {
    let on = args.num_gws != 0;
    queue::set_gws(
        process,
        QueueId::new(args.queue_id),
        on,
        &mut args.first_gws,
    )
}

/// SET_TRAP_HANDLER.
pub(super) fn set_trap_handler(process: &Process, args: &mut device::SetTrapHandlerArgs) -> Result {
    process.with_device(gpu_id(args.gpu_id)?, |_, state| {
        let bound = state.bound().map_err(|_| ESRCH)?;
        let [code, memory] = [args.tba_addr, args.tma_addr].map(GpuVa::new);
        bound.trap.set_program(code, memory)
    })
}
