// SPDX-License-Identifier: MIT OR Apache-2.0
//! GET_QUEUE_WAVE_STATE. Every row has a queue that is mapped.
//!
//! The request writes the control stacks of all XCCs, each as far behind the one before as a save area
//! is long, and returns the first one's sizes (`kfd_mqd_manager_v9.c: get_wave_state_v9_4_3`).

use super::*;
use crate::fixture::KERNEL;
use crate::row::{row, Answer, Row};
use rkfd_uapi::ioctl as requests;
use rkfd_uapi::queue::{self as abi, GetQueueWaveStateArgs};

/// Bytes of `wave_state` in `struct kfd_context_save_area_header`.
const HEADER: usize = 16;

fn args(queue_id: u32, ctl_stack_address: u64) -> GetQueueWaveStateArgs {
    GetQueueWaveStateArgs {
        ctl_stack_address,
        ctl_stack_used_size: 0x5555,
        save_area_used_size: 0x6666,
        queue_id,
        ..Default::default()
    }
}

/// The call with a control stack at this address.
fn at(c: &mut Ctx, queue_id: u32, address: u64) -> Answer {
    Ok(c.call(
        &requests::GET_QUEUE_WAVE_STATE,
        &mut args(queue_id, address),
    ))
}

/// Memory for the control stacks: room for all but the last XCC's, and one page for that one.
fn stacks(c: &Ctx) -> Result<sys::Map, String> {
    guarded((c.node.xccs as usize - 1) * c.node.cwsr as usize + sys::PAGE)
}

/// The call with control stacks of which the last one has this many writable bytes.
fn room(c: &mut Ctx, queue_id: u32, bytes: usize) -> Answer {
    let map = stacks(c)?;
    at(c, queue_id, map.address + (sys::PAGE - bytes) as u64)
}

/// The row's queue, disabled.
fn disabled(c: &mut Ctx) -> Result<u32, String> {
    match c.update(|a| a.queue_percentage = 0)? {
        Got::Errno(0) => Ok(c.queue),
        other => Err(format!("UPDATE_QUEUE: {other}")),
    }
}

/// The argument and the header that the call writes for a disabled queue that never had work.
fn idle(c: &mut Ctx) -> Result<(GetQueueWaveStateArgs, [u32; 4]), String> {
    let queue = disabled(c)?;
    let map = stacks(c)?;
    let mut args = args(queue, map.address);
    crate::fixture::must(
        "GET_QUEUE_WAVE_STATE",
        c.raw(&requests::GET_QUEUE_WAVE_STATE, &mut args),
    )?;
    let word = |i: usize| (map.read(i / 2 * 8) >> (i % 2 * 32)) as u32;
    Ok((args, [word(0), word(1), word(2), word(3)]))
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    const W: &str = "GET_QUEUE_WAVE_STATE";
    const FIND: &str = "kfd_process_queue_manager.c: pqm_get_wave_state";
    const CHECK: &str = "kfd_device_queue_manager.c: get_wave_state";
    const COPY: &str = "kfd_mqd_manager_v9.c: get_wave_state";
    vec![
        row(W, "unknown queue", EFAULT, FIND, |c| room(c, 77, HEADER)),
        row(W, "queue 2^32 - 1", EFAULT, FIND, |c| room(c, u32::MAX, HEADER)),
        row(W, "a queue that is gone", EFAULT, FIND, |c| { let q = c.queue; c.destroy_queue(q); room(c, q, HEADER) }),
        row(W, "another process' queue", EFAULT, FIND, |c| { let q = c.queue; let map = guarded_page()?; Ok(Got::Errno(other_process(c, |o| o.raw(&requests::GET_QUEUE_WAVE_STATE, &mut args(q, map.address))))) }),
        row(W, "an active queue", EINVAL, CHECK, |c| { let q = c.queue; room(c, q, HEADER) }),
        row(W, "an active queue, address 0", EINVAL, CHECK, |c| { let q = c.queue; at(c, q, 0) }),
        row(W, "a disabled queue", OK, COPY, |c| { let q = disabled(c)?; room(c, q, HEADER) }),
        row(W, "a queue that was made disabled", OK, COPY, |c| { let q = c.new_queue(|a| a.queue_percentage = 0)?.queue_id; room(c, q, HEADER) }),
        row(W, "a queue without a ring", OK, COPY, |c| { c.update(|a| a.ring_base_address = 0)?; let q = c.queue; room(c, q, HEADER) }),
        row(W, "a disabled PM4 queue", OK, COPY, |c| { let q = c.new_queue(|a| { a.queue_percentage = 0; a.queue_type = abi::QUEUE_TYPE_COMPUTE })?.queue_id; room(c, q, HEADER) }),
        row(W, "a queue that was disabled and runs again", EINVAL, CHECK, |c| { let q = disabled(c)?; c.update(|_| {})?; room(c, q, HEADER) }),
        row(W, "a disabled queue, address 0", EFAULT, COPY, |c| { let q = disabled(c)?; at(c, q, 0) }),
        row(W, "a disabled queue, a kernel address", EFAULT, COPY, |c| { let q = disabled(c)?; at(c, q, KERNEL) }),
        row(W, "a disabled queue, room for part of the header", EFAULT, COPY, |c| { let q = disabled(c)?; room(c, q, HEADER - 4) }),
        row(W, "no wave was saved: bytes of the control stack", is(0), COPY, |c| Ok(Got::Value(idle(c)?.0.ctl_stack_used_size.into()))),
        row(W, "no wave was saved: bytes of waves", is(0), COPY, |c| Ok(Got::Value(idle(c)?.0.save_area_used_size.into()))),
        row(W, "no wave was saved: the control stack begins at its end", Want::Computed, "kfd_mqd_manager_v9.c: init_mqd", |c| Ok(Got::Pair(idle(c)?.1[0].into(), c.node.ctl_stack.into()))),
        row(W, "no wave was saved: waves would begin there, too", Want::Computed, "kfd_mqd_manager_v9.c: init_mqd", |c| Ok(Got::Pair(idle(c)?.1[2].into(), c.node.ctl_stack.into()))),
        row(W, "no wave was saved: sizes in the header", is(0), COPY, |c| { let header = idle(c)?.1; Ok(Got::Value((header[1] | header[3]).into())) }),
    ].into_iter().map(Row::queue).collect()
}
