// SPDX-License-Identifier: MIT OR Apache-2.0
//! WAIT_EVENTS in one thread: results, auto-reset, ages, addresses.

use super::*;
use crate::fixture::KERNEL;
use crate::row::{row, Answer, Row};
use rkfd_uapi::event::{self as abi, EventData, WaitEventsArgs};
use rkfd_uapi::ioctl as requests;

const COMPLETE: Want = is(0);
const TIMEOUT: Want = is(1);
const FAIL: Want = is(2);

/// What a wait returned.
pub(super) struct Waited {
    pub(super) errno: i32,
    pub(super) result: u32,
    pub(super) timeout: u32,
    pub(super) events: Vec<EventData>,
}

/// Waits for events of these ids and ages.
pub(super) fn wait(c: &Ctx, events: &[(u32, u64)], all: u32, timeout: u32) -> Waited {
    let mut events: Vec<_> = events
        .iter()
        .map(|(id, age)| EventData::wait_for(*id, *age))
        .collect();
    let mut args = WaitEventsArgs {
        events_ptr: sys::address(&mut events[..]),
        num_events: events.len() as u32,
        wait_for_all: all,
        timeout,
        wait_result: 77,
    };
    let errno = c.raw(&requests::WAIT_EVENTS, &mut args);
    Waited {
        errno,
        result: args.wait_result,
        timeout: args.timeout,
        events,
    }
}

/// The result of polling, or 100 + errno.
fn poll(c: &Ctx, events: &[(u32, u64)], all: u32) -> Answer {
    let w = wait(c, events, all, 0);
    Ok(Got::Value(if w.errno == 0 {
        w.result.into()
    } else {
        100 + w.errno as u64
    }))
}

/// A wait for `count` events at an address.
fn at(c: &mut Ctx, address: u64, count: u32) -> (i32, u32) {
    let mut args = WaitEventsArgs {
        events_ptr: address,
        num_events: count,
        wait_result: 77,
        ..Default::default()
    };
    (
        c.call_writing(&requests::WAIT_EVENTS, &mut args),
        args.wait_result,
    )
}

/// Two events at the end of a page, the second of which can't be read.
fn half(c: &mut Ctx, id: u32) -> Result<(i32, u32), String> {
    let map = guarded_page()?;
    map.put(4096 - 48, &sys::bytes(&EventData::wait_for(id, 0)));
    Ok(at(c, map.address + 4096 - 48, 2))
}

/// One event, signalled, on a page that can't be written.
fn read_only(c: &mut Ctx, age: u64) -> Result<(i32, u32), String> {
    let id = c.signal(false)?;
    c.set(id);
    let map = guarded_page()?;
    map.put(0, &sys::bytes(&EventData::wait_for(id, age)));
    map.protect(0, 4096, libc::PROT_READ)
        .map_err(|e| e.to_string())?;
    Ok(at(c, map.address, 1))
}

/// A signal that is set.
fn set(c: &mut Ctx, auto: bool) -> Result<u32, String> {
    let id = c.signal(auto)?;
    c.set(id);
    Ok(id)
}

/// Milliseconds by the clock of the kernel's ticks, which its timeouts go by.
pub(super) fn ticks() -> u64 {
    sys::clock(libc::CLOCK_MONOTONIC_COARSE) / 1_000_000
}

fn took(c: &mut Ctx, timeout: u32) -> Result<u64, String> {
    let id = c.signal(false)?;
    let start = ticks();
    wait(c, &[(id, 0)], 0, timeout);
    Ok(ticks() - start)
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    const W: &str = "WAIT_EVENTS";
    vec![
        row(W, "no events, any", COMPLETE, "kfd_events.c:820", |c| poll(c, &[], 0)).open(),
        row(W, "no events, all", COMPLETE, "kfd_events.c:820", |c| poll(c, &[], 1)).open(),
        row(W, "no events at address 0, for ever", OK, "kfd_events.c:942", |c| Ok(Got::Errno(at(c, 0, 0).0))).open(),
        row(W, "4097 events", ENOMEM, "kfd_events.c:751", |c| { let mut e = vec![EventData::default(); 4097]; Ok(Got::Errno(at(c, sys::address(&mut e[..]), 4097).0)) }),
        row(W, "4097 events: the result", FAIL, "kfd_events.c:1012", |c| Ok(Got::Value(at(c, 0, 4097).1.into()))),
        row(W, "2^32 - 1 events", ENOMEM, "kfd_events.c:751", |c| Ok(Got::Errno(at(c, 0, u32::MAX).0))),
        row(W, "4096 times one event that is set", COMPLETE, "kfd_events.c:751", |c| { let id = set(c, false)?; poll(c, &vec![(id, 0); 4096], 1) }),
        row(W, "address 0", EFAULT, "kfd_events.c:932", |c| Ok(Got::Errno(at(c, 0, 1).0))),
        row(W, "address 0: the result", FAIL, "kfd_events.c:1012", |c| Ok(Got::Value(at(c, 0, 1).1.into()))),
        row(W, "a kernel address", EFAULT, "kfd_events.c:932", |c| Ok(Got::Errno(at(c, KERNEL, 1).0))),
        row(W, "second event beyond the page", EFAULT, "kfd_events.c:932", |c| { let id = c.signal(false)?; Ok(Got::Errno(half(c, id)?.0)) }),
        row(W, "second event beyond the page, the first is set", EFAULT, "kfd_events.c:932", |c| { let id = set(c, false)?; Ok(Got::Errno(half(c, id)?.0)) }),
        row(W, "unknown id before an unreadable event", EINVAL, "kfd_events.c:937", |c| Ok(Got::Errno(half(c, 55)?.0))),
        row(W, "unknown id", EINVAL, "kfd_events.c:770", |c| Ok(Got::Errno(wait(c, &[(55, 0)], 0, 0).errno))),
        row(W, "unknown id: the result", FAIL, "kfd_events.c:1012", |c| Ok(Got::Value(wait(c, &[(55, 0)], 0, 0).result.into()))),
        row(W, "id 0", EINVAL, "kfd_events.c:770", |c| Ok(Got::Errno(wait(c, &[(0, 0)], 0, 0).errno))),
        row(W, "an event that is set and an unknown id, any", EINVAL, "kfd_events.c:937", |c| { let id = set(c, false)?; Ok(Got::Errno(wait(c, &[(id, 0), (55, 0)], 0, 0).errno)) }),
        row(W, "a destroyed event", EINVAL, "kfd_events.c:770", |c| { let id = set(c, false)?; c.destroy_event(id); Ok(Got::Errno(wait(c, &[(id, 0)], 0, 0).errno)) }),
        row(W, "another process' event", EINVAL, "kfd_events.c:770", |c| { let id = set(c, false)?; Ok(Got::Errno(other_process(c, |o| wait(o, &[(id, 0)], 0, 0).errno))) }),
        row(W, "an auto-reset event and an unknown id: its signal is used up", TIMEOUT, "kfd_events.c:775", |c| { let id = set(c, true)?; wait(c, &[(id, 0), (55, 0)], 0, 0); poll(c, &[(id, 0)], 0) }),
        row(W, "not set", TIMEOUT, "kfd_events.c:821", |c| { let id = c.signal(false)?; poll(c, &[(id, 0)], 0) }),
        row(W, "not set: errno", OK, "kfd_events.c:1016", |c| { let id = c.signal(false)?; Ok(Got::Errno(wait(c, &[(id, 0)], 0, 0).errno)) }),
        row(W, "a memory event", TIMEOUT, "kfd_events.c:821", |c| { let id = c.event(abi::EVENT_MEMORY, false)?; poll(c, &[(id, 0)], 0) }),
        row(W, "set", COMPLETE, "kfd_events.c:814", |c| { let id = set(c, false)?; poll(c, &[(id, 0)], 0) }),
        row(W, "set, a second time", COMPLETE, "kfd_events.c:775", |c| { let id = set(c, false)?; poll(c, &[(id, 0)], 0)?; poll(c, &[(id, 0)], 0) }),
        row(W, "set and reset", TIMEOUT, "kfd_events.c:636", |c| { let id = set(c, false)?; c.reset(id); poll(c, &[(id, 0)], 0) }),
        row(W, "set, auto-reset", COMPLETE, "kfd_events.c:774", |c| { let id = set(c, true)?; poll(c, &[(id, 0)], 0) }),
        row(W, "set, auto-reset, a second time", TIMEOUT, "kfd_events.c:775", |c| { let id = set(c, true)?; poll(c, &[(id, 0)], 0)?; poll(c, &[(id, 0)], 0) }),
        row(W, "set twice, auto-reset: one signal", TIMEOUT, "kfd_events.c:595", |c| { let id = set(c, true)?; c.set(id); poll(c, &[(id, 0)], 0)?; poll(c, &[(id, 0)], 0) }),
        row(W, "auto_reset 2 is auto-reset", TIMEOUT, "kfd_chardev.c:921", |c| {
            c.signal_page()?;
            let mut a = abi::CreateEventArgs { auto_reset: 2, ..Default::default() };
            c.raw(&requests::CREATE_EVENT, &mut a);
            c.set(a.event_id);
            poll(c, &[(a.event_id, 0)], 0)?;
            poll(c, &[(a.event_id, 0)], 0)
        }),
        row(W, "one of two, any", COMPLETE, "kfd_events.c:813", |c| { let (a, b) = (c.signal(false)?, set(c, false)?); poll(c, &[(a, 0), (b, 0)], 0) }),
        row(W, "one of two, all", TIMEOUT, "kfd_events.c:820", |c| { let (a, b) = (c.signal(false)?, set(c, false)?); poll(c, &[(a, 0), (b, 0)], 1) }),
        row(W, "one of two, wait_for_all 2", TIMEOUT, "kfd_chardev.c:961", |c| { let (a, b) = (c.signal(false)?, set(c, false)?); poll(c, &[(a, 0), (b, 0)], 2) }),
        row(W, "both of two, all", COMPLETE, "kfd_events.c:820", |c| { let (a, b) = (set(c, false)?, set(c, false)?); poll(c, &[(a, 0), (b, 0)], 1) }),
        row(W, "any of two auto-reset events that are set: both are used up", TIMEOUT, "kfd_events.c:775", |c| { let (a, b) = (set(c, true)?, set(c, true)?); poll(c, &[(a, 0), (b, 0)], 0)?; poll(c, &[(b, 0)], 0) }),
        row(W, "all of two, one auto-reset set, time runs out: it is used up", TIMEOUT, "kfd_events.c:1008", |c| { let (a, b) = (set(c, true)?, c.signal(false)?); poll(c, &[(a, 0), (b, 0)], 1)?; poll(c, &[(a, 0)], 0) }),
        row(W, "one event twice, all", COMPLETE, "kfd_events.c:774", |c| { let id = set(c, false)?; poll(c, &[(id, 0), (id, 0)], 1) }),
        row(W, "an auto-reset event twice, all", TIMEOUT, "kfd_events.c:775", |c| { let id = set(c, true)?; poll(c, &[(id, 0), (id, 0)], 1) }),
        row(W, "time runs out: not before", YES, "kfd_events.c:881", |c| Ok(holds(took(c, 60)? >= 60))),
        row(W, "time runs out: the result", TIMEOUT, "kfd_events.c:990", |c| { let id = c.signal(false)?; Ok(Got::Value(wait(c, &[(id, 0)], 0, 60).result.into())) }),
        row(W, "time 1: at least that", YES, "kfd_events.c:881", |c| Ok(holds(took(c, 1)? >= 1))),
        row(W, "time runs out: the field is as it was", is(30), "kfd_events.c:964", |c| { let id = c.signal(false)?; Ok(Got::Value(wait(c, &[(id, 0)], 0, 30).timeout.into())) }),
        row(W, "set, for ever", COMPLETE, "kfd_events.c:943", |c| { let id = set(c, false)?; Ok(Got::Value(wait(c, &[(id, 0)], 0, u32::MAX).result.into())) }),
        row(W, "set, 2^31 ms", COMPLETE, "kfd_events.c:879", |c| { let id = set(c, false)?; Ok(Got::Value(wait(c, &[(id, 0)], 0, 1 << 31).result.into())) }),
        // Ages start at 1 and grow with each signal; 0 means that the caller knows none.
        row(W, "age 1 of a new event", TIMEOUT, "kfd_events.c:375", |c| { let id = c.signal(false)?; poll(c, &[(id, 1)], 0) }),
        row(W, "age 2 of a new event", COMPLETE, "kfd_events.c:781", |c| { let id = c.signal(false)?; poll(c, &[(id, 2)], 0) }),
        row(W, "age 2 of a new event: the age", is(1), "kfd_events.c:855", |c| { let id = c.signal(false)?; Ok(Got::Value(wait(c, &[(id, 2)], 0, 0).events[0].data[0])) }),
        row(W, "age 1 of a set event: the age", is(2), "kfd_events.c:596", |c| { let id = set(c, false)?; Ok(Got::Value(wait(c, &[(id, 1)], 0, 0).events[0].data[0])) }),
        row(W, "age 2 of a set event: it is set", COMPLETE, "kfd_events.c:774", |c| { let id = set(c, false)?; poll(c, &[(id, 2)], 0) }),
        row(W, "age 2 of a set and reset event", TIMEOUT, "kfd_events.c:636", |c| { let id = set(c, false)?; c.reset(id); poll(c, &[(id, 2)], 0) }),
        row(W, "age 1 of an auto-reset event whose signal is used up", COMPLETE, "kfd_events.c:781", |c| { let id = set(c, true)?; poll(c, &[(id, 0)], 0)?; poll(c, &[(id, 1)], 0) }),
        row(W, "age 2 of an auto-reset event whose signal is used up", TIMEOUT, "kfd_events.c:775", |c| { let id = set(c, true)?; poll(c, &[(id, 0)], 0)?; poll(c, &[(id, 2)], 0) }),
        row(W, "age 0: none is given back", is(0), "kfd_events.c:778", |c| { let id = set(c, false)?; Ok(Got::Value(wait(c, &[(id, 0)], 0, 0).events[0].data[0])) }),
        row(W, "time runs out: no age is given back", is(1), "kfd_events.c:843", |c| { let id = c.signal(false)?; Ok(Got::Value(wait(c, &[(id, 1)], 0, 0).events[0].data[0])) }),
        row(W, "age of a memory event is not looked at", TIMEOUT, "kfd_events.c:778", |c| { let id = c.event(abi::EVENT_MEMORY, false)?; poll(c, &[(id, 9)], 0) }),
        row(W, "age of a debug event is not looked at", TIMEOUT, "kfd_events.c:778", |c| { c.signal_page()?; let id = c.event(abi::EVENT_DEBUG_EVENT, false)?; poll(c, &[(id, 9)], 0) }),
        row(W, "the ages of both events, all", is(2), "kfd_events.c:838", |c| { let (a, b) = (set(c, false)?, set(c, false)?); Ok(Got::Value(wait(c, &[(a, 1), (b, 1)], 1, 0).events[1].data[0])) }),
        row(W, "an age to a page that can't be written", EFAULT, "kfd_events.c:859", |c| Ok(Got::Errno(read_only(c, 1)?.0))),
        row(W, "an age to a page that can't be written: the result", FAIL, "kfd_events.c:1012", |c| Ok(Got::Value(read_only(c, 1)?.1.into()))),
        row(W, "no age, a page that can't be written", OK, "kfd_events.c:858", |c| Ok(Got::Errno(read_only(c, 0)?.0))),
        row(W, "the id and extension fields are as they were", is(7), "kfd_events.c:858", |c| {
            let id = set(c, false)?;
            let mut e = EventData { kfd_event_data_ext: 7, ..EventData::wait_for(id, 1) };
            at(c, sys::address(&mut e), 1);
            Ok(Got::Value(e.kfd_event_data_ext))
        }),
    ]
}
