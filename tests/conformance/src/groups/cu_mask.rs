// SPDX-License-Identifier: MIT OR Apache-2.0
//! SET_CU_MASK, GET_QUEUE_WAVE_STATE, ALLOC_QUEUE_GWS. Every row has a queue that is mapped.

use super::*;
use crate::fixture::KERNEL;
use crate::row::{row, Answer, Row};
use rkfd_uapi::ioctl as requests;
use rkfd_uapi::queue::{AllocQueueGwsArgs, GetQueueWaveStateArgs, SetCuMaskArgs};

/// SET_CU_MASK of this queue with this many bits at this address, or at a mask of all ones.
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

/// A mask of which only the first `bytes` can be read.
fn short(c: &mut Ctx, bits: u32, bytes: usize) -> Answer {
    let map = guarded_page()?;
    map.put(sys::PAGE - bytes, &vec![0xff; bytes]);
    own(c, bits, Some(map.address + (sys::PAGE - bytes) as u64))
}

fn wave_state(c: &mut Ctx, queue_id: u32) -> Answer {
    let map = guarded_page()?;
    let mut args = GetQueueWaveStateArgs {
        ctl_stack_address: map.address,
        queue_id,
        ..Default::default()
    };
    Ok(c.call(&requests::GET_QUEUE_WAVE_STATE, &mut args))
}

fn gws(c: &mut Ctx, queue_id: u32, num_gws: u32) -> Answer {
    let mut args = AllocQueueGwsArgs {
        queue_id,
        num_gws,
        ..Default::default()
    };
    Ok(c.call(&requests::ALLOC_QUEUE_GWS, &mut args))
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    const S: &str = "SET_CU_MASK";
    const W: &str = "GET_QUEUE_WAVE_STATE";
    const G: &str = "ALLOC_QUEUE_GWS";
    vec![
        row(S, "32 bits", OK, "kfd_process_queue_manager.c:666", |c| own(c, 32, None)),
        row(S, "1024 bits", OK, "kfd_process_queue_manager.c:666", |c| own(c, 1024, None)),
        row(S, "2048 bits: the first 1024 count", OK, "kfd_chardev.c:594", |c| own(c, 2048, None)),
        row(S, "2048 bits of which 1024 can be read", OK, "kfd_chardev.c:597", |c| short(c, 2048, 128)),
        row(S, "0 bits", EINVAL, "kfd_chardev.c:585", |c| own(c, 0, None)),
        row(S, "1 bit", EINVAL, "kfd_chardev.c:578", |c| own(c, 1, None)),
        row(S, "31 bits", EINVAL, "kfd_chardev.c:578", |c| own(c, 31, None)),
        row(S, "33 bits", EINVAL, "kfd_chardev.c:578", |c| own(c, 33, None)),
        row(S, "2^32 - 1 bits", EINVAL, "kfd_chardev.c:578", |c| own(c, u32::MAX, None)),
        row(S, "2^32 - 32 bits: the first 1024 count", OK, "kfd_chardev.c:594", |c| own(c, u32::MAX - 31, None)),
        row(S, "address 0", EFAULT, "kfd_chardev.c:601", |c| own(c, 32, Some(0))),
        row(S, "a kernel address", EFAULT, "kfd_chardev.c:601", |c| own(c, 32, Some(KERNEL))),
        row(S, "64 bits of which 32 can be read", EFAULT, "kfd_chardev.c:601", |c| short(c, 64, 4)),
        row(S, "64 bits up to the end of a page", OK, "kfd_chardev.c:600", |c| short(c, 64, 8)),
        row(S, "unknown queue", EFAULT, "kfd_process_queue_manager.c:634", |c| mask(c, 77, 32, None)),
        row(S, "unknown queue and 0 bits", EINVAL, "kfd_chardev.c:585", |c| mask(c, 77, 0, None)),
        row(S, "unknown queue and 33 bits", EINVAL, "kfd_chardev.c:578", |c| mask(c, 77, 33, None)),
        row(S, "0 bits at address 0", EINVAL, "kfd_chardev.c:585", |c| own(c, 0, Some(0))),
        row(S, "a queue that is gone", EFAULT, "kfd_process_queue_manager.c:634", |c| { c.destroy_queue(c.queue); own(c, 32, None) }),
        row(S, "a disabled queue", OK, "kfd_process_queue_manager.c:666", |c| { c.update(|a| a.queue_percentage = 0)?; own(c, 32, None) }),
        row(W, "unknown queue", EFAULT, "kfd_process_queue_manager.c:690", |c| wave_state(c, 77)),
        row(W, "queue 2^32 - 1", EFAULT, "kfd_process_queue_manager.c:690", |c| wave_state(c, u32::MAX)),
        row(W, "an active queue", EINVAL, "kfd_device_queue_manager.c:2929", |c| { let q = c.queue; wave_state(c, q) }),
        row(W, "a disabled queue", Want::Unsupported(libc::EINVAL, 0), "kfd_device_queue_manager.c:2929", |c| { c.update(|a| a.queue_percentage = 0)?; let q = c.queue; wave_state(c, q) }),
        row(G, "unknown queue", EINVAL, "kfd_chardev.c:1543", |c| gws(c, 77, 64)),
        row(G, "unknown queue, to free", EINVAL, "kfd_chardev.c:1543", |c| gws(c, 77, 0)),
        row(G, "a queue", Want::Unsupported(libc::ENODEV, 0), "kfd_chardev.c:1547", |c| { let q = c.queue; gws(c, q, 64) }),
        row(G, "a queue, to free", Want::Unsupported(libc::ENODEV, libc::EINVAL), "kfd_chardev.c:1547", |c| { let q = c.queue; gws(c, q, 0) }),
    ].into_iter().map(Row::queue).collect()
}
