// SPDX-License-Identifier: MIT OR Apache-2.0
//! CREATE_QUEUE: each address must be the start of a buffer of exactly the stated size
//! (`kfd_queue_acquire_buffers`).

use super::*;
use crate::fixture::{Bo, GTT};
use crate::row::{row, Answer, Row};
use rkfd_uapi::memory::ALLOC_AQL_QUEUE_MEM;
use rkfd_uapi::queue::CreateQueueArgs;

/// An address at which nothing is mapped.
const NOWHERE: u64 = 0x1000;

/// CREATE_QUEUE with one address in a buffer of its own, `offset` bytes into it.
fn with_bo(
    c: &mut Ctx,
    size: u64,
    offset: u64,
    change: impl FnOnce(&mut CreateQueueArgs, u64),
) -> Answer {
    let bo = c.bo(size, GTT)?;
    c.create(|a| change(a, bo.va + offset))
}

/// Whether this buffer can be unmapped after CREATE_QUEUE has failed.
fn released(c: &mut Ctx, bo: fn(&Ctx) -> Bo, change: fn(&mut CreateQueueArgs)) -> Answer {
    c.create(change)?;
    c.changed = None;
    let handle = bo(c).handle;
    Ok(Got::Errno(c.unmap(handle)))
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    const C: &str = "CREATE_QUEUE";
    vec![
        row(C, "write pointer not mapped", EINVAL, "kfd_queue.c:271", |c| c.create(|a| a.write_pointer_address = NOWHERE)),
        row(C, "write pointer 0", EINVAL, "kfd_queue.c:271", |c| c.create(|a| a.write_pointer_address = 0)),
        row(C, "write pointer in a buffer of two pages", EINVAL, "kfd_queue.c:211", |c| with_bo(c, 8192, 0, |a, va| a.write_pointer_address = va)),
        row(C, "write pointer in the second page of a buffer", EINVAL, "kfd_queue.c:210", |c| with_bo(c, 8192, 4096, |a, va| a.write_pointer_address = va)),
        row(C, "write pointer within its page", OK, "kfd_queue.c:203", |c| with_bo(c, 4096, 0x80, |a, va| a.write_pointer_address = va)),
        row(C, "write pointer in a buffer that is not mapped", EINVAL, "kfd_queue.c:207", |c| { let b = c.unmapped_bo(4096, GTT)?; c.create(|a| a.write_pointer_address = b.va) }),
        row(C, "read pointer not mapped", EINVAL, "kfd_queue.c:275", |c| c.create(|a| a.read_pointer_address = NOWHERE)),
        row(C, "read pointer 0", EINVAL, "kfd_queue.c:275", |c| c.create(|a| a.read_pointer_address = 0)),
        row(C, "read pointer in a buffer of two pages", EINVAL, "kfd_queue.c:211", |c| with_bo(c, 8192, 0, |a, va| a.read_pointer_address = va)),
        row(C, "both pointers in one page", OK, "kfd_queue.c:219", |c| with_bo(c, 4096, 0, |a, va| { a.read_pointer_address = va; a.write_pointer_address = va + 0x40 })),
        row(C, "ring not mapped", EINVAL, "kfd_queue.c:279", |c| c.create(|a| a.ring_base_address = NOWHERE)),
        row(C, "ring 0", EINVAL, "kfd_queue.c:279", |c| c.create(|a| a.ring_base_address = 0)),
        row(C, "ring smaller than its buffer", EINVAL, "kfd_queue.c:211", |c| with_bo(c, 8192, 0, |a, va| a.ring_base_address = va)),
        row(C, "ring larger than its buffer", EINVAL, "kfd_queue.c:211", |c| c.create(|a| a.ring_size = 8192)),
        row(C, "ring in the middle of a buffer", EINVAL, "kfd_queue.c:210", |c| with_bo(c, 8192, 4096, |a, va| a.ring_base_address = va)),
        row(C, "ring of 2 KiB in one page", OK, "kfd_queue.c:264", |c| c.create(|a| a.ring_size = 2048)),
        row(C, "ring of 64 KiB", OK, "kfd_queue.c:264", |c| with_bo(c, 65536, 0, |a, va| { a.ring_base_address = va; a.ring_size = 65536 })),
        row(C, "ring size 2^31", EINVAL, "kfd_queue.c:211", |c| c.create(|a| a.ring_size = 1 << 31)),
        row(C, "ring of which the memory is mapped twice", OK, "kfd_queue.c:206", |c| { let b = c.bo(8192, GTT | ALLOC_AQL_QUEUE_MEM)?; c.create(|a| a.ring_base_address = b.va) }),
        row(C, "the second mapping of such memory", OK, "kfd_queue.c:206", |c| { let b = c.bo(8192, GTT | ALLOC_AQL_QUEUE_MEM)?; c.create(|a| a.ring_base_address = b.va + 4096) }),
        row(C, "ring as large as both mappings", EINVAL, "kfd_queue.c:211", |c| { let b = c.bo(8192, GTT | ALLOC_AQL_QUEUE_MEM)?; c.create(|a| { a.ring_base_address = b.va; a.ring_size = 8192 }) }),
        row(C, "metadata behind the ring", OK, "kfd_queue.c:264", |c| with_bo(c, 8192, 0, |a, va| { a.ring_base_address = va; a.metadata_ring_size = 4096 })),
        row(C, "metadata without room for it", EINVAL, "kfd_queue.c:264", |c| c.create(|a| a.metadata_ring_size = 4096)),
        row(C, "metadata of a PM4 queue is not counted", OK, "kfd_chardev.c:326", |c| c.create(|a| { a.metadata_ring_size = 4096; a.queue_type = 0; a.queue_percentage = 0 })),
        row(C, "EOP buffer not mapped", EINVAL, "kfd_queue.c:297", |c| c.create(|a| a.eop_buffer_address = NOWHERE)),
        row(C, "EOP buffer size 0", EINVAL, "kfd_queue.c:290", |c| c.create(|a| a.eop_buffer_size = 0)),
        row(C, "EOP buffer size 4095", EINVAL, "kfd_queue.c:290", |c| c.create(|a| a.eop_buffer_size = 4095)),
        row(C, "EOP buffer larger than its mapping", EINVAL, "kfd_queue.c:211", |c| c.create(|a| a.eop_buffer_size = 4097)),
        row(C, "EOP buffer smaller than its mapping", EINVAL, "kfd_queue.c:211", |c| with_bo(c, 8192, 0, |a, va| a.eop_buffer_address = va)),
        row(C, "EOP buffer of two pages", OK, "kfd_queue.c:299", |c| with_bo(c, 8192, 0, |a, va| { a.eop_buffer_address = va; a.eop_buffer_size = 8192 })),
        row(C, "control stack of another size", EINVAL, "kfd_queue.c:304", |c| c.create(|a| a.ctl_stack_size += 4096)),
        row(C, "control stack smaller", EINVAL, "kfd_queue.c:304", |c| c.create(|a| a.ctl_stack_size -= 1)),
        row(C, "control stack 0", EINVAL, "kfd_queue.c:304", |c| c.create(|a| a.ctl_stack_size = 0)),
        row(C, "save area one byte too small", EINVAL, "kfd_queue.c:312", |c| c.create(|a| a.ctx_save_restore_size -= 1)),
        row(C, "save area size 0", EINVAL, "kfd_queue.c:312", |c| c.create(|a| a.ctx_save_restore_size = 0)),
        row(C, "save area larger than its mapping", EINVAL, "kfd_queue.c:330", |c| c.create(|a| a.ctx_save_restore_size += 4096)),
        row(C, "save area of 2^32 - 1 bytes", EINVAL, "kfd_queue.c:330", |c| c.create(|a| a.ctx_save_restore_size = u32::MAX)),
        row(C, "save area not mapped", EINVAL, "kfd_queue.c:339", |c| c.create(|a| a.ctx_save_restore_address = NOWHERE)),
        row(C, "save area 0", EINVAL, "kfd_queue.c:339", |c| c.create(|a| a.ctx_save_restore_address = 0)),
        row(C, "save area one page into its buffer", EINVAL, "kfd_queue.c:210", |c| c.create(|a| a.ctx_save_restore_address += 4096)),
        row(C, "save area within its first page, disabled", OK, "kfd_queue.c:203", |c| c.create(|a| { a.ctx_save_restore_address += 64; a.queue_percentage = 0 })),
        row(C, "refused for the read pointer: the write pointer's page is free", OK, "kfd_queue.c:354", |c| released(c, |c| c.b().wptr, |a| a.read_pointer_address = NOWHERE)),
        row(C, "refused for the save area: the ring is free", OK, "kfd_queue.c:354", |c| released(c, |c| c.b().ring, |a| a.ctx_save_restore_address = NOWHERE)),
        row(C, "refused for the save area: the EOP buffer is free", OK, "kfd_queue.c:354", |c| released(c, |c| c.b().eop, |a| a.ctx_save_restore_address = NOWHERE)),
        row(C, "refused for the control stack: the ring is free", OK, "kfd_queue.c:354", |c| released(c, |c| c.b().ring, |a| a.ctl_stack_size = 0)),
        row(C, "two queues on the same buffers", OK, "kfd_queue.c:219", |c| { c.new_queue(|_| {})?; c.create(|_| {}) }),
    ].into_iter().map(Row::buffers).collect()
}
