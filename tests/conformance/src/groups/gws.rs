// SPDX-License-Identifier: MIT OR Apache-2.0
//! ALLOC_QUEUE_GWS: the global wave sync resources, which one queue of a process can have. Every row
//! has a queue that is mapped.

use super::*;
use crate::row::{row, Answer, Needs, Row};
use rkfd_uapi::ioctl as requests;
use rkfd_uapi::queue::AllocQueueGwsArgs;

/// The value of `first_gws` before the call.
const BEFORE: u32 = 77;

fn args(queue_id: u32, num_gws: u32) -> AllocQueueGwsArgs {
    AllocQueueGwsArgs {
        queue_id,
        num_gws,
        first_gws: BEFORE,
        ..Default::default()
    }
}

/// The call for this queue; returns the errno. It writes `first_gws` even when it fails.
fn gws(c: &mut Ctx, queue_id: u32, num_gws: u32) -> Answer {
    let mut args = args(queue_id, num_gws);
    Ok(Got::Errno(
        c.call_writing(&requests::ALLOC_QUEUE_GWS, &mut args),
    ))
}

/// The same with the row's queue.
fn own(c: &mut Ctx, num_gws: u32) -> Answer {
    let queue = c.queue;
    gws(c, queue, num_gws)
}

/// The value of `first_gws` after the call.
fn first(c: &mut Ctx, queue_id: u32, num_gws: u32) -> Answer {
    let mut args = args(queue_id, num_gws);
    c.raw(&requests::ALLOC_QUEUE_GWS, &mut args);
    Ok(Got::Value(args.first_gws.into()))
}

fn another(c: &Ctx) -> Result<u32, String> {
    Ok(c.new_queue(|a| a.queue_percentage = 0)?.queue_id)
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    const G: &str = "ALLOC_QUEUE_GWS";
    const CALL: &str = "kfd_chardev.c: kfd_ioctl_alloc_queue_gws";
    const SET: &str = "kfd_process_queue_manager.c: pqm_set_gws";
    const CLEAN: &str = "kfd_process_queue_manager.c: pqm_clean_queue_resource";
    vec![
        row(G, "unknown queue", EINVAL, CALL, |c| gws(c, 77, 64)),
        row(G, "unknown queue, to free", EINVAL, CALL, |c| gws(c, 77, 0)),
        row(G, "queue 2^32 - 1", EINVAL, CALL, |c| gws(c, u32::MAX, 64)),
        row(G, "another process' queue", EINVAL, CALL, |c| { let q = c.queue; Ok(Got::Errno(other_process(c, |o| o.raw(&requests::ALLOC_QUEUE_GWS, &mut args(q, 64))))) }),
        row(G, "a queue", OK, SET, |c| own(c, 64)),
        row(G, "a queue, one: it gets all", OK, SET, |c| own(c, 1)),
        row(G, "a queue, 2^32 - 1: the number only counts if it is 0", OK, CALL, |c| own(c, u32::MAX)),
        row(G, "a disabled queue", OK, SET, |c| { let q = another(c)?; gws(c, q, 64) }),
        row(G, "a queue twice", EBUSY, SET, |c| { own(c, 64)?; own(c, 64) }),
        row(G, "another queue of the process", EBUSY, SET, |c| { own(c, 64)?; let q = another(c)?; gws(c, q, 64) }),
        row(G, "a queue, when the one that had them is gone", OK, CLEAN, |c| { let q = another(c)?; gws(c, q, 64)?; c.destroy_queue(q); own(c, 64) }),
        row(G, "a queue of another process", OK, SET, |c| {
            own(c, 64)?;
            let node = c.node.clone();
            Ok(Got::Errno(forked(|| match Ctx::new(&node, Needs::Queue) { Ok(o) => o.raw(&requests::ALLOC_QUEUE_GWS, &mut args(o.queue, 64)), Err(_) => 254 })))
        }),
        row(G, "a queue, to free", EINVAL, SET, |c| own(c, 0)),
        row(G, "a queue that has them, to free", OK, SET, |c| { own(c, 64)?; own(c, 0) }),
        row(G, "another queue than the one that has them, to free", OK, SET, |c| { own(c, 64)?; let q = another(c)?; gws(c, q, 0) }),
        row(G, "freed twice", EINVAL, SET, |c| { own(c, 64)?; own(c, 0)?; own(c, 0) }),
        row(G, "freed, and allocated again", OK, SET, |c| { own(c, 64)?; own(c, 0)?; own(c, 64) }),
        row(G, "the first one", is(0), CALL, |c| { let q = c.queue; first(c, q, 64) }),
        row(G, "the first one, when they are not to be had", is(0), CALL, |c| { own(c, 64)?; let q = c.queue; first(c, q, 64) }),
        row(G, "the first one, unknown queue: not written", is(BEFORE as u64), CALL, |c| first(c, 77, 64)),
        row(G, "a queue that has them can be updated", OK, "kfd_device_queue_manager.c: update_queue", |c| { own(c, 64)?; c.update(|a| a.queue_priority = 1) }),
        row(G, "a queue that has them can be disabled and enabled", OK, "kfd_device_queue_manager.c: update_queue", |c| { own(c, 64)?; c.update(|a| a.queue_percentage = 0)?; c.update(|_| {}) }),
        row(G, "a queue that has them can be destroyed", OK, CLEAN, |c| { own(c, 64)?; Ok(Got::Errno(c.destroy_queue(c.queue))) }),
        row("topology", "num_gws", is(64), "kfd_device.c: kfd_gws_init", |c| Ok(Got::Value(c.node.gws.into()))),
    ].into_iter().map(Row::queue).collect()
}
