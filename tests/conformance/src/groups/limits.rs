// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many queues, events and files there can be, and that one that was given back can be had again.

use super::*;
use crate::fixture::{must, GTT};
use crate::row::{row, Answer, Row};
use rkfd_uapi::event::{self as abi, CreateEventArgs};
use rkfd_uapi::ioctl as requests;

/// Makes queues with a share of 0 until one is refused; returns how many were made.
fn fill_queues(c: &mut Ctx) -> u32 {
    (0..2000)
        .find(|_| c.new_queue(|a| a.queue_percentage = 0).is_err())
        .unwrap_or(2000)
}

/// Makes signals until one is refused; returns how many were made.
fn fill_events(c: &mut Ctx) -> u32 {
    (0..20_000)
        .find(|_| c.signal(false).is_err())
        .unwrap_or(20_000)
}

/// The same with a signal page that the process has brought.
fn own_page(c: &mut Ctx, size: u64) -> Result<(), String> {
    let bo = c.bo(size, GTT)?;
    must(
        "CREATE_EVENT",
        c.create_event(abi::EVENT_MEMORY, false, bo.handle).0,
    )?;
    c.has_page = true;
    Ok(())
}

fn one_more_event(c: &mut Ctx, kind: u32) -> Answer {
    let mut args = CreateEventArgs {
        event_type: kind,
        ..Default::default()
    };
    Ok(c.call(&requests::CREATE_EVENT, &mut args))
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    const Q: &str = "CREATE_QUEUE";
    const E: &str = "CREATE_EVENT";
    vec![
        row(Q, "as many as there can be", Want::Computed, "kfd_process_queue_manager.c:349", |c| { let n = fill_queues(c); Ok(Got::Pair(n.into(), c.node.max_queues.into())) }).buffers(),
        row(Q, "one more", ENOSPC, "kfd_process_queue_manager.c:369", |c| { fill_queues(c); c.create(|a| a.queue_percentage = 0) }).buffers(),
        row(Q, "one more, wrong buffers", EINVAL, "kfd_chardev.c:436", |c| { fill_queues(c); c.create(|a| a.ring_base_address = 0x1000) }).buffers(),
        row(Q, "one more, copy queue on engine 99", EINVAL, "kfd_chardev.c:422", |c| { fill_queues(c); c.create(|a| { a.queue_type = 4; a.sdma_engine_id = 99; a.queue_percentage = 0 }) }).buffers(),
        row(Q, "one more after one was destroyed", OK, "kfd_process_queue_manager.c:369", |c| { fill_queues(c); c.destroy_queue(7); c.create(|a| a.queue_percentage = 0) }).buffers(),
        row(Q, "the id and doorbell of that one", is(7 * 8), "kfd_process_queue_manager.c:67", |c| { fill_queues(c); c.destroy_queue(7); let q = c.new_queue(|a| a.queue_percentage = 0)?; must("id 7", (q.queue_id != 7).into())?; Ok(Got::Value(q.doorbell_offset & 0xffff)) }).buffers(),
        row(Q, "every doorbell once", Want::Computed, "kfd_device_queue_manager.c: allocate_doorbell", |c| {
            let mut seen = std::collections::BTreeSet::new();
            while let Ok(q) = c.new_queue(|a| a.queue_percentage = 0) { seen.insert(q.doorbell_offset); }
            Ok(Got::Pair(seen.len() as u64, c.node.max_queues.into()))
        }).buffers(),
        row(Q, "all destroyed: the buffers are free", OK, "kfd_process_queue_manager.c:559", |c| { let n = fill_queues(c); (0..n).for_each(|q| { c.destroy_queue(q); }); Ok(Got::Errno(c.unmap(c.b().ring.handle))) }).buffers(),
        row(Q, "another process has its own", OK, "kfd_process_queue_manager.c:369", |c| {
            fill_queues(c);
            let node = c.node.clone();
            Ok(Got::Errno(forked(|| match Ctx::new(&node, crate::row::Needs::Buffers) {
                Ok(o) => o.new_queue(|_| {}).map_or(1, |_| 0),
                Err(_) => 254,
            })))
        }).buffers(),
        row(E, "a page of 32 KiB: 4095 signals", is(4095), "kfd_events.c:154", |c| { own_page(c, 32768)?; Ok(Got::Value(fill_events(c).into())) }),
        row(E, "a page of 32 KiB: one more", ENOSPC, "kfd_events.c:159", |c| { own_page(c, 32768)?; fill_events(c); one_more_event(c, abi::EVENT_SIGNAL) }),
        row(E, "a page of 32 KiB: one more debug event", ENOSPC, "kfd_events.c:357", |c| { own_page(c, 32768)?; fill_events(c); one_more_event(c, abi::EVENT_DEBUG_EVENT) }),
        row(E, "a page of 32 KiB: one more memory event", OK, "kfd_events.c:365", |c| { own_page(c, 32768)?; fill_events(c); one_more_event(c, abi::EVENT_MEMORY) }),
        row(E, "a page of 32 KiB: the last slot", is(4095), "kfd_events.c:76", |c| { own_page(c, 32768)?; let mut last = 0; while let Ok(id) = c.signal(false) { last = id; } Ok(Got::Value(last.into())) }),
        row(E, "a page of 32 KiB: one more after one was destroyed", OK, "kfd_events.c:233", |c| { own_page(c, 32768)?; fill_events(c); c.destroy_event(100); one_more_event(c, abi::EVENT_SIGNAL) }),
        row(E, "a page of 36 KiB: 4607 signals", is(4607), "kfd_events.c:284", |c| { own_page(c, 36864)?; Ok(Got::Value(fill_events(c).into())) }),
        row(E, "refused: the page offset given back", is(0), "kfd_events.c:354", |c| { fill_events(c); Ok(Got::Value(c.create_event(abi::EVENT_SIGNAL, false, 0).1.event_page_offset)) }),
        row("ALLOC_MEMORY_OF_GPU", "1000 buffers", is(1000), "kfd_process.c:1951", |c| { let mut n = 0; for _ in 0..1000 { c.unmapped_bo(4096, GTT)?; n += 1; } Ok(Got::Value(n)) }),
        row("open", "200 times, one process", is(1), "kfd_process.c:1001", |c| {
            let a = c.signal(false)?;
            let files: Vec<_> = (0..200).filter_map(|_| sys::open("/dev/kfd").ok()).collect();
            c.kfd = sys::dup(files.last().ok_or("no file")?).map_err(|e| e.to_string())?;
            drop(files);
            Ok(holds(c.set(a) == 0))
        }),
    ]
}
