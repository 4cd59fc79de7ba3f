// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compute queues that take PM4 packets, while they are mapped: what differs from AQL queues, and what
//! must not differ.

use super::*;
use crate::fixture::GTT;
use crate::row::{row, Answer, Row};
use rkfd_uapi::ioctl as requests;
use rkfd_uapi::queue::{CreateQueueArgs, SetCuMaskArgs, QUEUE_TYPE_COMPUTE};

/// CREATE_QUEUE of type COMPUTE with one thing changed.
fn create(c: &mut Ctx, change: impl FnOnce(&mut CreateQueueArgs)) -> Answer {
    c.create(|a| {
        a.queue_type = QUEUE_TYPE_COMPUTE;
        change(a);
    })
}

/// Makes such a queue, which must succeed, and lets the calls that follow use it; returns its id.
fn made(c: &mut Ctx) -> Result<u32, String> {
    c.queue = c.new_queue(|a| a.queue_type = QUEUE_TYPE_COMPUTE)?.queue_id;
    Ok(c.queue)
}

/// SET_CU_MASK of the first 32 compute units.
fn mask(c: &mut Ctx) -> Answer {
    let units = u32::MAX;
    let mut args = SetCuMaskArgs {
        queue_id: made(c)?,
        num_cu_mask: 32,
        cu_mask_ptr: (&raw const units).addr() as u64,
    };
    Ok(c.call(&requests::SET_CU_MASK, &mut args))
}

/// UPDATE_QUEUE to another ring.
fn moved(c: &mut Ctx) -> Result<(Answer, u64), String> {
    let bo = c.bo(65536, GTT)?;
    let answer = c.update(|a| {
        a.ring_base_address = bo.va;
        a.ring_size = 65536;
    });
    Ok((answer, bo.handle))
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    const C: &str = "CREATE_QUEUE";
    const U: &str = "UPDATE_QUEUE";
    const FORMAT: &str = "kfd_chardev.c: set_queue_properties_from_user";
    const BUFFERS: &str = "kfd_queue.c: kfd_queue_acquire_buffers";
    const UPDATE: &str = "kfd_process_queue_manager.c: pqm_update_queue_properties";
    vec![
        row(C, "PM4", OK, FORMAT, |c| create(c, |_| {})),
        row(C, "PM4 beside AQL", OK, FORMAT, |c| { c.new_queue(|_| {})?; create(c, |_| {}) }),
        row(C, "PM4, share 1", OK, FORMAT, |c| create(c, |a| a.queue_percentage = 1)),
        row(C, "PM4, share 101", EINVAL, FORMAT, |c| create(c, |a| a.queue_percentage = 101)),
        row(C, "PM4, priority 16", EINVAL, FORMAT, |c| create(c, |a| a.queue_priority = 16)),
        row(C, "PM4, each of the 16 priorities", is(16), FORMAT, |c| Ok(Got::Value((0..16).filter(|p| c.new_queue(|a| { a.queue_type = QUEUE_TYPE_COMPUTE; a.queue_priority = *p }).is_ok()).count() as u64))),
        row(C, "PM4, ring size 3000", EINVAL, FORMAT, |c| create(c, |a| a.ring_size = 3000)),
        row(C, "PM4, ring of 64 KiB", OK, BUFFERS, |c| { let b = c.bo(65536, GTT)?; create(c, |a| { a.ring_base_address = b.va; a.ring_size = 65536 }) }),
        row(C, "PM4, metadata behind the ring is not counted", EINVAL, BUFFERS, |c| { let b = c.bo(8192, GTT)?; create(c, |a| { a.ring_base_address = b.va; a.metadata_ring_size = 4096 }) }),
        row(C, "PM4, ring not mapped", EINVAL, BUFFERS, |c| create(c, |a| a.ring_base_address = 0x1000)),
        row(C, "PM4, no EOP buffer", OK, BUFFERS, |c| create(c, |a| { a.eop_buffer_address = 0; a.eop_buffer_size = 0 })),
        row(C, "PM4, EOP buffer size 4095", EINVAL, BUFFERS, |c| create(c, |a| a.eop_buffer_size = 4095)),
        row(C, "PM4, control stack one page too large", EINVAL, BUFFERS, |c| create(c, |a| a.ctl_stack_size += 4096)),
        row(C, "PM4, save area one byte too small", EINVAL, BUFFERS, |c| create(c, |a| a.ctx_save_restore_size -= 1)),
        row(C, "PM4: its ring is held", EBUSY, BUFFERS, |c| { made(c)?; Ok(Got::Errno(c.unmap(c.b().ring.handle))) }),
        row("DESTROY_QUEUE", "PM4", OK, "kfd_process_queue_manager.c: pqm_destroy_queue", |c| { let q = made(c)?; Ok(Got::Errno(c.destroy_queue(q))) }),
        row("DESTROY_QUEUE", "PM4: its ring is free", OK, "kfd_process_queue_manager.c: pqm_destroy_queue", |c| { let q = made(c)?; c.destroy_queue(q); Ok(Got::Errno(c.unmap(c.b().ring.handle))) }),
        row(U, "PM4, nothing changed", OK, UPDATE, |c| { made(c)?; c.update(|_| {}) }),
        row(U, "PM4, off and on again", OK, UPDATE, |c| { made(c)?; c.update(|a| a.queue_percentage = 0)?; c.update(|_| {}) }),
        row(U, "PM4, each of the 16 priorities", is(16), UPDATE, |c| { made(c)?; Ok(Got::Value((0..16).filter(|p| matches!(c.update(|a| a.queue_priority = *p), Ok(Got::Errno(0)))).count() as u64)) }),
        row(U, "PM4, another ring", OK, UPDATE, |c| { made(c)?; moved(c)?.0 }),
        row(U, "PM4, another ring: it is held", EBUSY, UPDATE, |c| { made(c)?; let ring = moved(c)?.1; Ok(Got::Errno(c.unmap(ring))) }),
        row("SET_CU_MASK", "PM4", OK, "kfd_mqd_manager_v9.c: update_mqd_v9_4_3", mask),
        row("GET_QUEUE_WAVE_STATE", "PM4, on", EINVAL, "kfd_device_queue_manager.c: get_wave_state", |c| { let queue_id = made(c)?; let map = guarded_page()?; let mut args = rkfd_uapi::queue::GetQueueWaveStateArgs { ctl_stack_address: map.address, queue_id, ..Default::default() }; Ok(c.call(&requests::GET_QUEUE_WAVE_STATE, &mut args)) }),
        row("ALLOC_QUEUE_GWS", "PM4", OK, "kfd_process_queue_manager.c: pqm_set_gws", |c| { let queue_id = made(c)?; let mut args = rkfd_uapi::queue::AllocQueueGwsArgs { queue_id, num_gws: 64, ..Default::default() }; Ok(Got::Errno(c.call_writing(&requests::ALLOC_QUEUE_GWS, &mut args))) }),
    ].into_iter().map(Row::buffers).collect()
}
