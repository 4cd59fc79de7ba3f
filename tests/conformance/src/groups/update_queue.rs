// SPDX-License-Identifier: MIT OR Apache-2.0
//! UPDATE_QUEUE. Every row has a queue that is mapped.

use super::*;
use crate::fixture::{Bo, GTT, KERNEL};
use crate::row::{row, Answer, Row};

/// UPDATE_QUEUE to another ring that is mapped.
fn to_other_ring(c: &mut Ctx, size: u64, ring_size: u32) -> Result<(Answer, Bo), String> {
    let bo = c.bo(size, GTT)?;
    let answer = c.update(|a| {
        a.ring_base_address = bo.va;
        a.ring_size = ring_size;
    });
    Ok((answer, bo))
}

/// Makes an update that fails, then checks whether the queue still holds its ring.
fn still_held(c: &mut Ctx, change: fn(&mut rkfd_uapi::queue::UpdateQueueArgs)) -> Answer {
    c.update(change)?;
    c.changed = None;
    Ok(Got::Errno(c.unmap(c.b().ring.handle)))
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    const U: &str = "UPDATE_QUEUE";
    vec![
        row(U, "nothing changed", OK, "kfd_process_queue_manager.c:646", |c| c.update(|_| {})),
        row(U, "share 101", EINVAL, "kfd_chardev.c:520", |c| c.update(|a| a.queue_percentage = 101)),
        row(U, "share 255", EINVAL, "kfd_chardev.c:520", |c| c.update(|a| a.queue_percentage = 255)),
        row(U, "share 0: disabled", OK, "kfd_chardev.c:549", |c| c.update(|a| a.queue_percentage = 0)),
        row(U, "share 50", OK, "kfd_chardev.c:549", |c| c.update(|a| a.queue_percentage = 50)),
        row(U, "share 100 on XCC 1", OK, "kfd_chardev.c:551", |c| c.update(|a| a.queue_percentage = 0x164)),
        row(U, "a disabled PM4 queue, to XCC 1", OK, "kfd_mqd_manager_v9.c: update_mqd_v9_4_3", |c| {
            c.queue = c.new_queue(|a| { a.queue_percentage = 0; a.queue_type = rkfd_uapi::queue::QUEUE_TYPE_COMPUTE })?.queue_id;
            c.update(|a| a.queue_percentage = 0x100)
        }),
        row(U, "share 0, then 100 again", OK, "kfd_chardev.c:549", |c| { c.update(|a| a.queue_percentage = 0)?; c.update(|_| {}) }),
        row(U, "priority 16", EINVAL, "kfd_chardev.c:525", |c| c.update(|a| a.queue_priority = 16)),
        row(U, "priority 2^32 - 1", EINVAL, "kfd_chardev.c:525", |c| c.update(|a| a.queue_priority = u32::MAX)),
        row(U, "each of the 16 priorities", is(16), "kfd_chardev.c:525", |c| Ok(Got::Value((0..16).filter(|p| matches!(c.update(|a| a.queue_priority = *p), Ok(Got::Errno(0)))).count() as u64))),
        row(U, "ring at a kernel address", EFAULT, "kfd_chardev.c:530", |c| c.update(|a| a.ring_base_address = KERNEL)),
        row(U, "ring at 2^63", EFAULT, "kfd_chardev.c:530", |c| c.update(|a| a.ring_base_address = 1 << 63)),
        row(U, "ring size 3000", EINVAL, "kfd_chardev.c:537", |c| c.update(|a| a.ring_size = 3000)),
        row(U, "ring size 2^32 - 1", EINVAL, "kfd_chardev.c:537", |c| c.update(|a| a.ring_size = u32::MAX)),
        row(U, "ring size 0: 1024, which fits any mapping", OK, "kfd_chardev.c:542", |c| c.update(|a| a.ring_size = 0)),
        row(U, "ring size 1024", OK, "kfd_queue.c:211", |c| c.update(|a| a.ring_size = 1024)),
        row(U, "ring size 512: the argument is only read", is(512), "kfd_chardev.c:3729", |c| {
            let mut args = c.update_args();
            args.ring_size = 512;
            c.raw(&rkfd_uapi::ioctl::UPDATE_QUEUE, &mut args);
            Ok(Got::Value(args.ring_size.into()))
        }),
        row(U, "ring 0: disabled", OK, "kfd_process_queue_manager.c:605", |c| c.update(|a| a.ring_base_address = 0)),
        row(U, "ring 0, then the ring again", OK, "kfd_process_queue_manager.c:605", |c| { c.update(|a| a.ring_base_address = 0)?; c.update(|_| {}) }),
        row(U, "ring 0: the old ring is still held", EBUSY, "kfd_process_queue_manager.c:605", |c| { c.update(|a| a.ring_base_address = 0)?; Ok(Got::Errno(c.unmap(c.b().ring.handle))) }),
        row(U, "ring not mapped", EFAULT, "kfd_process_queue_manager.c:625", |c| c.update(|a| a.ring_base_address = 0x1000)),
        row(U, "ring larger than its mapping", EFAULT, "kfd_process_queue_manager.c:625", |c| c.update(|a| a.ring_size = 8192)),
        row(U, "ring smaller than its mapping", EFAULT, "kfd_process_queue_manager.c:625", |c| to_other_ring(c, 8192, 4096)?.0),
        row(U, "ring in the middle of a mapping", EFAULT, "kfd_process_queue_manager.c:625", |c| { let b = c.bo(8192, GTT)?; c.update(|a| a.ring_base_address = b.va + 4096) }),
        row(U, "ring in a buffer that is not mapped", EFAULT, "kfd_process_queue_manager.c:625", |c| { let b = c.unmapped_bo(4096, GTT)?; c.update(|a| a.ring_base_address = b.va) }),
        row(U, "another ring", OK, "kfd_process_queue_manager.c:632", |c| to_other_ring(c, 4096, 4096)?.0),
        row(U, "a larger ring", OK, "kfd_process_queue_manager.c:632", |c| to_other_ring(c, 65536, 65536)?.0),
        row(U, "another ring: the old one is free", OK, "kfd_process_queue_manager.c:628", |c| { to_other_ring(c, 4096, 4096)?.0?; Ok(Got::Errno(c.unmap(c.b().ring.handle))) }),
        row(U, "another ring: it is held", EBUSY, "kfd_process_queue_manager.c:619", |c| { let b = to_other_ring(c, 4096, 4096)?.1; Ok(Got::Errno(c.unmap(b.handle))) }),
        row(U, "unknown queue", EFAULT, "kfd_process_queue_manager.c:599", |c| c.update(|a| a.queue_id = 77)),
        row(U, "queue 2^32 - 1", EFAULT, "kfd_process_queue_manager.c:599", |c| c.update(|a| a.queue_id = u32::MAX)),
        row(U, "a queue that is gone", EFAULT, "kfd_process_queue_manager.c:599", |c| { c.destroy_queue(c.queue); c.update(|_| {}) }),
        row(U, "another process' queue", EFAULT, "kfd_process_queue_manager.c:599", |c| {
            let args = c.update_args();
            Ok(Got::Errno(other_process(c, |o| o.raw(&rkfd_uapi::ioctl::UPDATE_QUEUE, &mut args.clone()))))
        }),
        row(U, "share 101 and unknown queue", EINVAL, "kfd_chardev.c:520", |c| c.update(|a| { a.queue_percentage = 101; a.queue_id = 77 })),
        row(U, "ring size 3000 and unknown queue", EINVAL, "kfd_chardev.c:537", |c| c.update(|a| { a.ring_size = 3000; a.queue_id = 77 })),
        row(U, "ring at a kernel address and ring size 3000", EFAULT, "kfd_chardev.c:530", |c| c.update(|a| { a.ring_base_address = KERNEL; a.ring_size = 3000 })),
        row(U, "priority 16 and ring at a kernel address", EINVAL, "kfd_chardev.c:525", |c| c.update(|a| { a.queue_priority = 16; a.ring_base_address = KERNEL })),
        row(U, "refused ring: the old one is still held", EBUSY, "kfd_process_queue_manager.c:625", |c| still_held(c, |a| a.ring_base_address = 0x1000)),
        row(U, "refused share: the ring is still held", EBUSY, "kfd_chardev.c:520", |c| still_held(c, |a| a.queue_percentage = 101)),
        row(U, "a queue without a ring can be destroyed", OK, "kfd_process_queue_manager.c:559", |c| { c.update(|a| a.ring_base_address = 0)?; Ok(Got::Errno(c.destroy_queue(c.queue))) }),
    ].into_iter().map(Row::queue).collect()
}
