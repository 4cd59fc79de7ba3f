// SPDX-License-Identifier: MIT OR Apache-2.0
//! CREATE_EVENT, DESTROY_EVENT, SET_EVENT, RESET_EVENT.

use super::*;
use crate::fixture::{must, Bo, GTT};
use crate::row::{row, Answer, Row};
use rkfd_uapi::event::{
    self as abi, CreateEventArgs, DestroyEventArgs, ResetEventArgs, SetEventArgs,
};
use rkfd_uapi::ioctl as requests;

const FIRST_OTHER: u64 = 0x4000_0000;

fn create(c: &mut Ctx, event_type: u32, page: u64) -> Answer {
    let mut args = CreateEventArgs {
        event_type,
        event_page_offset: page,
        ..Default::default()
    };
    Ok(c.call(&requests::CREATE_EVENT, &mut args))
}

fn made(c: &mut Ctx, kind: u32) -> Result<CreateEventArgs, String> {
    let mut args = CreateEventArgs {
        event_type: kind,
        event_slot_index: 99,
        ..Default::default()
    };
    must("CREATE_EVENT", c.raw(&requests::CREATE_EVENT, &mut args))?;
    Ok(args)
}

fn set(c: &mut Ctx, event_id: u32) -> Answer {
    Ok(c.call(&requests::SET_EVENT, &mut SetEventArgs { event_id, pad: 0 }))
}

fn reset(c: &mut Ctx, event_id: u32) -> Answer {
    Ok(c.call(
        &requests::RESET_EVENT,
        &mut ResetEventArgs { event_id, pad: 0 },
    ))
}

fn destroy(c: &mut Ctx, event_id: u32) -> Answer {
    Ok(c.call(
        &requests::DESTROY_EVENT,
        &mut DestroyEventArgs { event_id, pad: 0 },
    ))
}

/// A signal page of our own.
fn page(c: &mut Ctx, size: u64) -> Result<Bo, String> {
    let bo = c.bo(size, GTT)?;
    must(
        "CREATE_EVENT",
        c.create_event(abi::EVENT_SIGNAL, false, bo.handle).0,
    )?;
    c.has_page = true;
    Ok(bo)
}

/// A signal page, mapped.
fn mapped_page(c: &mut Ctx) -> Result<sys::Map, String> {
    let bo = c.bo(32768, GTT)?;
    let rw = libc::PROT_READ | libc::PROT_WRITE;
    let map = sys::Map::file(c.render()?, bo.offset, 32768, rw, libc::MAP_SHARED);
    let map = map.map_err(|e| format!("mmap: {}", rkfd_bare::errno::name(e)))?;
    map.write(8, 5);
    must(
        "CREATE_EVENT",
        c.create_event(abi::EVENT_SIGNAL, false, bo.handle).0,
    )?;
    c.has_page = true;
    Ok(map)
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    const C: &str = "CREATE_EVENT";
    vec![
        row(C, "a signal without a page", ENOMEM, "kfd_events.c:60", |c| create(c, abi::EVENT_SIGNAL, 0)),
        row(C, "a signal without a page, no VM", ENOMEM, "kfd_events.c:60", |c| create(c, abi::EVENT_SIGNAL, 0)).open(),
        row(C, "a debug event without a page", ENOMEM, "kfd_events.c:60", |c| create(c, abi::EVENT_DEBUG_EVENT, 0)),
        row(C, "a memory event without a page", OK, "kfd_events.c:365", |c| create(c, abi::EVENT_MEMORY, 0)),
        row(C, "a memory event, no VM", OK, "kfd_events.c:368", |c| create(c, abi::EVENT_MEMORY, 0)).open(),
        row(C, "the first signal's id", is(1), "kfd_events.c:211", |c| Ok(Got::Value(c.signal(false)?.into()))),
        row(C, "the second signal's id", is(2), "kfd_events.c:76", |c| { c.signal(false)?; Ok(Got::Value(c.signal(true)?.into())) }),
        row(C, "the lowest free id", is(1), "kfd_events.c:76", |c| { c.signal(false)?; c.signal(false)?; c.destroy_event(1); Ok(Got::Value(c.signal(true)?.into())) }),
        row(C, "a signal's slot is its id", is(1), "kfd_events.c:364", |c| { c.signal_page()?; Ok(Got::Value(made(c, 0)?.event_slot_index.into())) }),
        row(C, "a signal's trigger data is its id", is(1), "kfd_events.c:374", |c| { c.signal_page()?; Ok(Got::Value(made(c, 0)?.event_trigger_data.into())) }),
        row(C, "a signal's page offset", is(2 << 62), "kfd_events.c:363", |c| { c.signal_page()?; Ok(Got::Value(made(c, 0)?.event_page_offset)) }),
        row(C, "the first id of another kind", is(FIRST_OTHER), "kfd_events.h:40", |c| Ok(Got::Value(c.event(abi::EVENT_MEMORY, false)?.into()))),
        row(C, "the second id of another kind", is(FIRST_OTHER + 1), "kfd_events.c:189", |c| { c.event(abi::EVENT_MEMORY, false)?; Ok(Got::Value(c.event(abi::EVENT_HW_EXCEPTION, false)?.into())) }),
        row(C, "another kind: trigger data", is(FIRST_OTHER), "kfd_events.c:374", |c| Ok(Got::Value(made(c, abi::EVENT_MEMORY)?.event_trigger_data.into()))),
        row(C, "another kind: no page offset", is(0), "kfd_events.c:354", |c| Ok(Got::Value(made(c, abi::EVENT_MEMORY)?.event_page_offset))),
        row(C, "another kind: the slot is left alone", is(99), "kfd_events.c:368", |c| Ok(Got::Value(made(c, abi::EVENT_MEMORY)?.event_slot_index.into()))),
        row(C, "a debug event has a slot", is(1), "kfd_events.c:360", |c| { c.signal_page()?; Ok(Got::Value(made(c, abi::EVENT_DEBUG_EVENT)?.event_slot_index.into())) }),
        row(C, "a kind that nobody knows", OK, "kfd_events.c:367", |c| create(c, 77, 0)),
        row(C, "a kind that nobody knows: its id", is(FIRST_OTHER), "kfd_events.c:368", |c| Ok(Got::Value(c.event(u32::MAX, false)?.into()))),
        row(C, "node_id is not looked at", OK, "kfd_events.c:337", |c| { c.signal_page()?; let mut a = CreateEventArgs { node_id: u32::MAX, ..Default::default() }; Ok(c.call(&requests::CREATE_EVENT, &mut a)) }),
        row(C, "a page of 32 KiB", OK, "kfd_events.c:286", |c| { let b = c.bo(32768, GTT)?; create(c, 0, b.handle) }),
        row(C, "a page with a memory event", OK, "kfd_events.c:286", |c| { let b = c.bo(32768, GTT)?; create(c, abi::EVENT_MEMORY, b.handle) }),
        row(C, "a page that is mapped nowhere", OK, "kfd_events.c:320", |c| { let b = c.unmapped_bo(32768, GTT)?; create(c, 0, b.handle) }),
        row(C, "a page of unknown GPU", EINVAL, "kfd_events.c:303", |c| create(c, 0, 0xdead << 32)),
        row(C, "a page of GPU 0", EINVAL, "kfd_events.c:303", |c| create(c, 0, 5)),
        row(C, "a page of unknown handle", EINVAL, "kfd_events.c:315", |c| { let h = (u64::from(c.gpu) << 32) | 77; create(c, 0, h) }),
        row(C, "a page, no VM", ENODEV, "kfd_events.c:310", |c| { let h = u64::from(c.gpu) << 32; create(c, 0, h) }).open(),
        row(C, "a page, no VM, unknown GPU", EINVAL, "kfd_events.c:303", |c| create(c, 0, 0xdead << 32)).open(),
        row(C, "a page of 4 KiB", EINVAL, "kfd_events.c:273", |c| { let b = c.bo(4096, GTT)?; create(c, 0, b.handle) }),
        row(C, "a page of 28 KiB", EINVAL, "kfd_events.c:273", |c| { let b = c.bo(28672, GTT)?; create(c, 0, b.handle) }),
        row(C, "a page of 32 KiB after a small one", OK, "kfd_events.c:328", |c| { let s = c.bo(4096, GTT)?; create(c, 0, s.handle)?; let b = c.bo(32768, GTT)?; create(c, 0, b.handle) }),
        row(C, "a small page can be freed", OK, "kfd_events.c:330", |c| { let b = c.unmapped_bo(4096, GTT)?; create(c, 0, b.handle)?; c.changed = None; Ok(Got::Errno(c.free(b.handle))) }),
        row(C, "a second page", EINVAL, "kfd_events.c:297", |c| { page(c, 32768)?; let b = c.bo(32768, GTT)?; create(c, 0, b.handle) }),
        row(C, "the same page again", EINVAL, "kfd_events.c:297", |c| { let b = page(c, 32768)?; create(c, 0, b.handle) }),
        row(C, "a page when only other kinds were made", OK, "kfd_events.c:297", |c| { c.event(abi::EVENT_MEMORY, false)?; let b = c.bo(32768, GTT)?; create(c, 0, b.handle) }),
        row(C, "another process' page", EINVAL, "kfd_events.c:315", |c| { let b = c.bo(32768, GTT)?; Ok(Got::Errno(other_process(c, |o| o.create_event(0, false, b.handle).0))) }),
        row(C, "a refused page: the argument is as it was", Want::Computed, "kfd_chardev.c:917", |c| { let h = (u64::from(c.gpu) << 32) | 77; let (_, a) = c.create_event(0, false, h); Ok(Got::Pair(a.event_page_offset, h)) }),
        row(C, "the page's first slot is unsignalled", is(u64::MAX), "kfd_events.c:280", |c| Ok(Got::Value(mapped_page(c)?.read(0)))),
        row(C, "the page's last slot is unsignalled", is(u64::MAX), "kfd_events.c:280", |c| Ok(Got::Value(mapped_page(c)?.read(32760)))),
        row(C, "a new signal's slot is unsignalled", is(u64::MAX), "kfd_events.c:83", |c| {
            let map = mapped_page(c)?;
            map.write(16, 7);
            must("id 2", (c.signal(false)? != 2).into())?;
            Ok(Got::Value(map.read(16)))
        }),
        row(C, "a new signal leaves the other slots alone", is(7), "kfd_events.c:83", |c| { let map = mapped_page(c)?; map.write(24, 7); c.signal(false)?; Ok(Got::Value(map.read(24))) }),

        row("SET_EVENT", "a signal", OK, "kfd_events.c:624", |c| { let id = c.signal(false)?; set(c, id) }),
        row("SET_EVENT", "a signal twice", OK, "kfd_events.c:624", |c| { let id = c.signal(true)?; c.set(id); set(c, id) }),
        row("SET_EVENT", "id 0", EINVAL, "kfd_events.c:617", |c| set(c, 0)),
        row("SET_EVENT", "unknown id", EINVAL, "kfd_events.c:617", |c| set(c, 5)),
        row("SET_EVENT", "unknown id of another kind", EINVAL, "kfd_events.c:617", |c| set(c, 0x4000_0005)),
        row("SET_EVENT", "id 2^32 - 1", EINVAL, "kfd_events.c:617", |c| set(c, u32::MAX)),
        row("SET_EVENT", "a memory event", EINVAL, "kfd_events.c:626", |c| { let id = c.event(abi::EVENT_MEMORY, false)?; set(c, id) }),
        row("SET_EVENT", "a hardware exception event", EINVAL, "kfd_events.c:626", |c| { let id = c.event(abi::EVENT_HW_EXCEPTION, false)?; set(c, id) }),
        row("SET_EVENT", "a debug event", EINVAL, "kfd_events.c:264", |c| { c.signal_page()?; let id = c.event(abi::EVENT_DEBUG_EVENT, false)?; set(c, id) }),
        row("SET_EVENT", "a destroyed event", EINVAL, "kfd_events.c:617", |c| { let id = c.signal(false)?; c.destroy_event(id); set(c, id) }),
        row("SET_EVENT", "another process' event", EINVAL, "kfd_events.c:617", |c| { let id = c.signal(false)?; Ok(Got::Errno(other_process(c, |o| o.set(id)))) }),
        row("RESET_EVENT", "a signal", OK, "kfd_events.c:655", |c| { let id = c.signal(false)?; c.set(id); reset(c, id) }),
        row("RESET_EVENT", "a signal that was not set", OK, "kfd_events.c:655", |c| { let id = c.signal(false)?; reset(c, id) }),
        row("RESET_EVENT", "id 0", EINVAL, "kfd_events.c:648", |c| reset(c, 0)),
        row("RESET_EVENT", "unknown id", EINVAL, "kfd_events.c:648", |c| reset(c, 5)),
        row("RESET_EVENT", "a memory event", EINVAL, "kfd_events.c:657", |c| { let id = c.event(abi::EVENT_MEMORY, false)?; reset(c, id) }),
        row("RESET_EVENT", "a debug event", EINVAL, "kfd_events.c:264", |c| { c.signal_page()?; let id = c.event(abi::EVENT_DEBUG_EVENT, false)?; reset(c, id) }),
        row("RESET_EVENT", "another process' event", EINVAL, "kfd_events.c:648", |c| { let id = c.signal(false)?; Ok(Got::Errno(other_process(c, |o| o.reset(id)))) }),
        row("DESTROY_EVENT", "a signal", OK, "kfd_events.c:578", |c| { let id = c.signal(false)?; destroy(c, id) }),
        row("DESTROY_EVENT", "a memory event", OK, "kfd_events.c:578", |c| { let id = c.event(abi::EVENT_MEMORY, false)?; destroy(c, id) }),
        row("DESTROY_EVENT", "a signal twice", EINVAL, "kfd_events.c:580", |c| { let id = c.signal(false)?; c.destroy_event(id); destroy(c, id) }),
        row("DESTROY_EVENT", "id 0", EINVAL, "kfd_events.c:580", |c| destroy(c, 0)),
        row("DESTROY_EVENT", "id 0 when there are events", EINVAL, "kfd_events.c:580", |c| { c.signal(false)?; destroy(c, 0) }),
        row("DESTROY_EVENT", "id 4096", EINVAL, "kfd_events.c:580", |c| destroy(c, 4096)),
        row("DESTROY_EVENT", "id 2^32 - 1", EINVAL, "kfd_events.c:580", |c| destroy(c, u32::MAX)),
        row("DESTROY_EVENT", "another process' event", EINVAL, "kfd_events.c:580", |c| { let id = c.signal(false)?; Ok(Got::Errno(other_process(c, |o| o.destroy_event(id)))) }),
    ]
}
