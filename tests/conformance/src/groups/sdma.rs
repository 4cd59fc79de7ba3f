// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queues of copy engines (SDMA): which engine and queue they get, their doorbells, and what the
//! other requests answer for them. Every row has buffers for a queue.

use super::*;
use crate::row::{row, Answer, Needs, Row};
use rkfd_uapi::ioctl as requests;
use rkfd_uapi::queue::{
    self as abi, AllocQueueGwsArgs, CreateQueueArgs, GetQueueWaveStateArgs, SetCuMaskArgs,
};

/// Doorbells in a page; a queue with an odd number has its own in the second (`KFD_QUEUE_DOORBELL_MIRROR_OFFSET`).
const MIRROR: u64 = 512;
/// Doorbell of engine 0, and doorbells of an engine (`amdgpu_doorbell.h`, `sdma_doorbell_range`).
const FIRST: u64 = 0x100;
const RANGE: u64 = 10;

/// A copy queue of this type on this engine, which does not run.
fn still(args: &mut CreateQueueArgs, queue_type: u32, engine: u32) {
    args.queue_type = queue_type;
    args.sdma_engine_id = engine;
    args.queue_percentage = 0;
}

fn create(c: &mut Ctx, queue_type: u32, engine: u32) -> Answer {
    c.create(|a| still(a, queue_type, engine))
}

/// Makes queues until one is refused; returns how many were made, at most 200.
fn exhaust(c: &mut Ctx, queue_type: u32, engine: u32) -> u64 {
    let more = |_: &u64| c.new_queue(|a| still(a, queue_type, engine)).is_ok();
    (0..200).take_while(more).count() as u64
}

/// The doorbell that a queue of an engine must have, as a byte in the process' slice.
fn doorbell(c: &Ctx, engine: u64, nth: u64) -> u64 {
    // The first queues of an engine are not for programs.
    let queue = nth + 8 - u64::from(c.node.sdma_queues);
    let align = if c.node.gfx942() { 4 } else { 1 };
    let first = (FIRST + engine * RANGE).next_multiple_of(align);
    (first + (queue & 1) * MIRROR + (queue >> 1)) * 8
}

/// The doorbell of the `nth` queue that is made on an engine, and what it must be.
fn nth_doorbell(c: &mut Ctx, engine: u32, nth: u32) -> Answer {
    let mut made = CreateQueueArgs::default();
    for _ in 0..=nth {
        made = c.new_queue(|a| still(a, abi::QUEUE_TYPE_SDMA_BY_ENG_ID, engine))?;
    }
    let want = doorbell(c, engine.into(), nth.into());
    Ok(Got::Pair(made.doorbell_offset & 0x1fff, want))
}

/// Success if there are such engines, ENOMEM if there are none.
fn if_any(engines: u32, answer: Answer) -> Answer {
    let want = if engines > 0 { 0 } else { libc::ENOMEM };
    match answer? {
        Got::Errno(got) => Ok(Got::Pair(got as u64, want as u64)),
        other => Ok(other),
    }
}

fn engines(c: &Ctx) -> u32 {
    c.node.sdma_engines + c.node.sdma_link_engines
}

/// What UPDATE_QUEUE returns for a copy queue that doesn't run.
fn update(c: &mut Ctx, change: fn(&mut abi::UpdateQueueArgs)) -> Answer {
    c.queue = c.new_queue(|a| still(a, abi::QUEUE_TYPE_SDMA, 0))?.queue_id;
    c.update(|a| {
        a.queue_percentage = 0;
        change(a);
    })
}

fn cu_mask(c: &mut Ctx) -> Answer {
    let queue_id = c.new_queue(|a| still(a, abi::QUEUE_TYPE_SDMA, 0))?.queue_id;
    let mut mask = 1u32;
    Ok(c.call(
        &requests::SET_CU_MASK,
        &mut SetCuMaskArgs {
            queue_id,
            num_cu_mask: 32,
            cu_mask_ptr: sys::address(&mut mask),
        },
    ))
}

fn wave_state(c: &mut Ctx) -> Answer {
    let queue_id = c.new_queue(|a| still(a, abi::QUEUE_TYPE_SDMA, 0))?.queue_id;
    let map = guarded_page()?;
    let mut args = GetQueueWaveStateArgs {
        ctl_stack_address: map.address,
        queue_id,
        ..Default::default()
    };
    Ok(c.call(&requests::GET_QUEUE_WAVE_STATE, &mut args))
}

fn gws(c: &mut Ctx) -> Answer {
    let queue_id = c.new_queue(|a| still(a, abi::QUEUE_TYPE_SDMA, 0))?.queue_id;
    let mut args = AllocQueueGwsArgs {
        queue_id,
        num_gws: 64,
        ..Default::default()
    };
    Ok(c.call(&requests::ALLOC_QUEUE_GWS, &mut args))
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    const C: &str = "CREATE_QUEUE";
    const ANY: u32 = abi::QUEUE_TYPE_SDMA;
    const LINK: u32 = abi::QUEUE_TYPE_SDMA_XGMI;
    const ON: u32 = abi::QUEUE_TYPE_SDMA_BY_ENG_ID;
    const ALLOC: &str = "kfd_device_queue_manager.c: allocate_sdma_queue";
    const BELL: &str = "kfd_device_queue_manager.c: allocate_doorbell";
    const ENGINE: &str = "kfd_chardev.c: kfd_ioctl_create_queue, max_sdma_eng_id";
    const BUFFERS: &str = "kfd_queue.c: kfd_queue_acquire_buffers";
    let rows = vec![
        row(C, "copy queue", OK, ALLOC, |c| c.create(|a| a.queue_type = ANY)),
        row(C, "copy queue on engine 0", OK, ALLOC, |c| c.create(|a| a.queue_type = ON)),
        row(C, "copy queue, disabled", OK, ALLOC, |c| create(c, ANY, 0)),
        row(C, "copy queue for links, if there are such engines", Want::Computed, ALLOC, |c| { let n = c.node.sdma_link_engines; let got = create(c, LINK, 0); if_any(n, got) }),
        row(C, "copy queue on the last engine", OK, ENGINE, |c| { let last = engines(c) - 1; create(c, ON, last) }),
        row(C, "copy queue on the engine after the last", EINVAL, ENGINE, |c| { let n = engines(c); create(c, ON, n) }),
        row(C, "copy queue on engine 2^32 - 1", EINVAL, ENGINE, |c| create(c, ON, u32::MAX)),
        row(C, "copy queue on any engine: the field is not read", OK, ENGINE, |c| create(c, ANY, u32::MAX)),
        row(C, "share 101, and an engine after the last", EINVAL, "kfd_chardev.c: set_queue_properties_from_user", |c| c.create(|a| { still(a, ON, u32::MAX); a.queue_percentage = 101 })),
        row(C, "all copy queues", Want::Computed, ALLOC, |c| Ok(Got::Pair(exhaust(c, ANY, 0), (c.node.sdma_engines * c.node.sdma_queues).into()))),
        row(C, "all copy queues for links", Want::Computed, ALLOC, |c| Ok(Got::Pair(exhaust(c, LINK, 0), (c.node.sdma_link_engines * c.node.sdma_queues).into()))),
        row(C, "all copy queues of engine 0", Want::Computed, ALLOC, |c| Ok(Got::Pair(exhaust(c, ON, 0), c.node.sdma_queues.into()))),
        row(C, "one copy queue too many", ENOMEM, ALLOC, |c| { exhaust(c, ANY, 0); create(c, ANY, 0) }),
        row(C, "one copy queue of engine 0 too many", ENOMEM, ALLOC, |c| { exhaust(c, ON, 0); create(c, ON, 0) }),
        row(C, "one too many on engine 0, one on any other for the bus", Want::Computed, ALLOC, |c| { exhaust(c, ON, 0); let n = c.node.sdma_engines - 1; let got = create(c, ANY, 0); if_any(n, got) }),
        row(C, "links have queues left when the bus has none", Want::Computed, ALLOC, |c| { exhaust(c, ANY, 0); let n = c.node.sdma_link_engines; let got = create(c, LINK, 0); if_any(n, got) }),
        row(C, "one too many, another process' make it so", ENOMEM, ALLOC, |c| {
            exhaust(c, ANY, 0);
            let node = c.node.clone();
            Ok(Got::Errno(forked(|| match Ctx::new(&node, Needs::Buffers) {
                Ok(o) => { let mut args = o.queue_args(); still(&mut args, ANY, 0); o.raw(&requests::CREATE_QUEUE, &mut args) }
                Err(_) => 254,
            })))
        }),
        row(C, "a copy queue when all were there and one is gone", OK, "kfd_device_queue_manager.c: deallocate_sdma_queue", |c| { exhaust(c, ANY, 0); c.destroy_queue(0); create(c, ANY, 0) }),
        row(C, "the one that is gone is given again", Want::Computed, "kfd_device_queue_manager.c: deallocate_sdma_queue", |c| {
            let first = c.new_queue(|a| still(a, ANY, 0))?;
            exhaust(c, ANY, 0);
            c.destroy_queue(first.queue_id);
            Ok(Got::Pair(c.new_queue(|a| still(a, ANY, 0))?.doorbell_offset, first.doorbell_offset))
        }),
        row(C, "a copy queue that is refused for its buffers takes none", Want::Computed, BUFFERS, |c| {
            c.create(|a| { still(a, ANY, 0); a.ring_base_address = 0x1000 })?;
            c.changed = None;
            Ok(Got::Pair(exhaust(c, ANY, 0), (c.node.sdma_engines * c.node.sdma_queues).into()))
        }),
        row(C, "copy queue, doorbell of the first on engine 0", Want::Computed, BELL, |c| nth_doorbell(c, 0, 0)),
        row(C, "copy queue, doorbell of the second on engine 0", Want::Computed, BELL, |c| nth_doorbell(c, 0, 1)),
        row(C, "copy queue, doorbell of the third on engine 0", Want::Computed, BELL, |c| nth_doorbell(c, 0, 2)),
        row(C, "copy queue, doorbell of the first on the last engine", Want::Computed, BELL, |c| { let last = engines(c) - 1; nth_doorbell(c, last, 0) }),
        row(C, "copy queues of any engine go round the engines", Want::Computed, ALLOC, |c| {
            c.new_queue(|a| still(a, ANY, 0))?;
            let second = c.new_queue(|a| still(a, ANY, 0))?.doorbell_offset & 0x1fff;
            let want = if c.node.sdma_engines > 1 { doorbell(c, 1, 0) } else { doorbell(c, 0, 1) };
            Ok(Got::Pair(second, want))
        }),
        row(C, "a compute queue's doorbell after a copy queue's", is(0), BELL, |c| { c.new_queue(|a| still(a, ANY, 0))?; Ok(Got::Value(c.new_queue(|a| a.queue_percentage = 0)?.doorbell_offset & 0x1fff)) }),
        row(C, "copy queue, neither EOP buffer nor save area", OK, BUFFERS, |c| c.create(|a| { still(a, ANY, 0); a.eop_buffer_address = 0; a.eop_buffer_size = 0; a.ctx_save_restore_address = 0; a.ctx_save_restore_size = 0; a.ctl_stack_size = 0 })),
        row(C, "copy queue, write pointer not mapped", EINVAL, BUFFERS, |c| c.create(|a| { still(a, ANY, 0); a.write_pointer_address = 0x1000 })),
        row(C, "copy queue, read pointer not mapped", EINVAL, BUFFERS, |c| c.create(|a| { still(a, ANY, 0); a.read_pointer_address = 0x1000 })),
        row(C, "copy queue, ring not mapped", EINVAL, BUFFERS, |c| c.create(|a| { still(a, ANY, 0); a.ring_base_address = 0x1000 })),
        row(C, "copy queue, ring larger than its mapping", EINVAL, BUFFERS, |c| c.create(|a| { still(a, ANY, 0); a.ring_size = 8192 })),
        row(C, "copy queue, its ring is held", EBUSY, BUFFERS, |c| { c.new_queue(|a| still(a, ANY, 0))?; Ok(Got::Errno(c.unmap(c.b().ring.handle))) }),
        row(C, "copy queue, the EOP buffer is not held", OK, BUFFERS, |c| { c.new_queue(|a| still(a, ANY, 0))?; Ok(Got::Errno(c.unmap(c.b().eop.handle))) }),
        row("UPDATE_QUEUE", "a copy queue", OK, "kfd_mqd_manager_v9.c: update_mqd_sdma", |c| update(c, |_| {})),
        row("UPDATE_QUEUE", "a copy queue, to run", OK, "kfd_mqd_manager_v9.c: update_mqd_sdma", |c| update(c, |a| a.queue_percentage = 100)),
        row("UPDATE_QUEUE", "a copy queue, ring not mapped", EFAULT, "kfd_process_queue_manager.c: pqm_update_queue_properties", |c| update(c, |a| a.ring_base_address = 0x1000)),
        row("UPDATE_QUEUE", "a copy queue, share 101", EINVAL, "kfd_chardev.c: kfd_ioctl_update_queue", |c| update(c, |a| a.queue_percentage = 101)),
        row("SET_CU_MASK", "a copy queue: of no effect", OK, "kfd_mqd_manager_v9.c: update_mqd_sdma", cu_mask),
        row("GET_QUEUE_WAVE_STATE", "a disabled copy queue", EINVAL, "kfd_device_queue_manager.c: get_wave_state", wave_state),
        row("ALLOC_QUEUE_GWS", "a disabled copy queue: its type is not looked at", OK, "kfd_process_queue_manager.c: pqm_set_gws", gws),
        row("DESTROY_QUEUE", "a copy queue", OK, "kfd_device_queue_manager.c: destroy_queue_cpsch", |c| { let q = c.new_queue(|a| a.queue_type = ANY)?.queue_id; Ok(Got::Errno(c.destroy_queue(q))) }),
        row("DESTROY_QUEUE", "a disabled copy queue", OK, "kfd_device_queue_manager.c: destroy_queue_cpsch", |c| { let q = c.new_queue(|a| still(a, ANY, 0))?.queue_id; Ok(Got::Errno(c.destroy_queue(q))) }),
        row("topology", "num_sdma_queues_per_engine", Want::Computed, "kfd_device.c: kfd_device_info_set_sdma_info", |c| Ok(Got::Pair(c.node.sdma_queues.into(), if c.node.gfx942() { 8 } else { 6 }))),
        row("topology", "num_sdma_engines: two for the bus, or all without links", YES, "kfd_device.c: kfd_get_num_sdma_engines", |c| Ok(holds(if c.node.gfx942() { c.node.sdma_engines == engines(c).min(2) } else { c.node.sdma_link_engines == 0 && c.node.sdma_engines > 0 }))),
    ];
    rows.into_iter().map(Row::buffers).collect()
}
