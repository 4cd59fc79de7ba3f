// SPDX-License-Identifier: MIT OR Apache-2.0
//! SET_CU_MASK. Every row has a queue that is mapped.

use super::*;
use crate::fixture::KERNEL;
use crate::row::{row, Answer, Row};
use rkfd_uapi::ioctl as requests;
use rkfd_uapi::queue::{self as abi, SetCuMaskArgs};

/// SET_CU_MASK of this queue with this many bits at this address; without one, with a mask of all ones.
fn mask(c: &mut Ctx, queue_id: u32, num_cu_mask: u32, address: Option<u64>) -> Answer {
    let mut words = [u32::MAX; 64];
    let cu_mask_ptr = address.unwrap_or_else(|| sys::address(&mut words));
    Ok(c.call(
        &requests::SET_CU_MASK,
        &mut SetCuMaskArgs {
            queue_id,
            num_cu_mask,
            cu_mask_ptr,
        },
    ))
}

fn own(c: &mut Ctx, bits: u32, address: Option<u64>) -> Answer {
    let queue = c.queue;
    mask(c, queue, bits, address)
}

/// The same with a mask of which only the first `bytes` can be read.
fn short(c: &mut Ctx, bits: u32, bytes: usize) -> Answer {
    let map = guarded_page()?;
    map.put(sys::PAGE - bytes, &vec![0xff; bytes]);
    own(c, bits, Some(map.address + (sys::PAGE - bytes) as u64))
}

/// Another process' mask for this one's queue.
fn others(c: &mut Ctx) -> Answer {
    let queue_id = c.queue;
    Ok(Got::Errno(other_process(c, |o| {
        let mut words = [u32::MAX];
        let mut args = SetCuMaskArgs {
            queue_id,
            num_cu_mask: 32,
            cu_mask_ptr: sys::address(&mut words),
        };
        o.raw(&requests::SET_CU_MASK, &mut args)
    })))
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    const S: &str = "SET_CU_MASK";
    vec![
        row(S, "32 bits", OK, "kfd_process_queue_manager.c:688", |c| own(c, 32, None)),
        row(S, "1024 bits", OK, "kfd_process_queue_manager.c:688", |c| own(c, 1024, None)),
        row(S, "2048 bits: the first 1024 count", OK, "kfd_chardev.c:592", |c| own(c, 2048, None)),
        row(S, "2048 bits of which 1024 can be read", OK, "kfd_chardev.c:595", |c| short(c, 2048, 128)),
        row(S, "0 bits", EINVAL, "kfd_chardev.c:583", |c| own(c, 0, None)),
        row(S, "1 bit", EINVAL, "kfd_chardev.c:576", |c| own(c, 1, None)),
        row(S, "31 bits", EINVAL, "kfd_chardev.c:576", |c| own(c, 31, None)),
        row(S, "33 bits", EINVAL, "kfd_chardev.c:576", |c| own(c, 33, None)),
        row(S, "2^32 - 1 bits", EINVAL, "kfd_chardev.c:576", |c| own(c, u32::MAX, None)),
        row(S, "2^32 - 32 bits: the first 1024 count", OK, "kfd_chardev.c:592", |c| own(c, u32::MAX - 31, None)),
        row(S, "address 0", EFAULT, "kfd_chardev.c:599", |c| own(c, 32, Some(0))),
        row(S, "a kernel address", EFAULT, "kfd_chardev.c:599", |c| own(c, 32, Some(KERNEL))),
        row(S, "64 bits of which 32 can be read", EFAULT, "kfd_chardev.c:599", |c| short(c, 64, 4)),
        row(S, "64 bits up to the end of a page", OK, "kfd_chardev.c:598", |c| short(c, 64, 8)),
        row(S, "unknown queue", EFAULT, "kfd_process_queue_manager.c:656", |c| mask(c, 77, 32, None)),
        row(S, "another process' queue", EFAULT, "kfd_process_queue_manager.c:656", others),
        row(S, "unknown queue and 0 bits", EINVAL, "kfd_chardev.c:583", |c| mask(c, 77, 0, None)),
        row(S, "unknown queue and 33 bits", EINVAL, "kfd_chardev.c:576", |c| mask(c, 77, 33, None)),
        row(S, "0 bits at address 0", EINVAL, "kfd_chardev.c:583", |c| own(c, 0, Some(0))),
        row(S, "a queue that is gone", EFAULT, "kfd_process_queue_manager.c:656", |c| { c.destroy_queue(c.queue); own(c, 32, None) }),
        row(S, "a disabled queue", OK, "kfd_process_queue_manager.c:688", |c| { c.update(|a| a.queue_percentage = 0)?; own(c, 32, None) }),
        row(S, "a disabled PM4 queue", OK, "kfd_mqd_manager_v9.c: update_mqd_v9_4_3", |c| { let q = c.new_queue(|a| { a.queue_percentage = 0; a.queue_type = abi::QUEUE_TYPE_COMPUTE })?.queue_id; mask(c, q, 32, None) }),
    ].into_iter().map(Row::queue).collect()
}
