// SPDX-License-Identifier: GPL-2.0

//! Calls about events.

use crate::{
    event::{
        Awaited,
        Wait, //
    },
    glue::user,
    process::Process,
    types::EventId,
    uapi::{
        event as abi,
        mmap, //
    }, //
};
use kernel::{
    alloc::KVVec,
    prelude::*,
    uaccess::{
        UserPtr,
        UserSlice, //
    }, //
};

/// CREATE_EVENT. The first call brings the signal page; without it no signal can be made.
pub(super) fn create(process: &Process, args: &mut abi::CreateEventArgs) -> Result {
    if args.event_page_offset != 0 {
        super::memory::set_event_page(process, args.event_page_offset)?;
    }
    let created = process.events.create(
        args.event_type,
        args.auto_reset != 0,
        &mut args.event_page_offset,
    )?;
    if let Some(slot) = created.slot {
        args.event_page_offset = mmap::Offset {
            kind: mmap::Kind::Events,
            gpu_id: 0,
            offset: 0,
        }
        .bits();
        args.event_slot_index = slot;
    }
    args.event_id = created.id.get();
    args.event_trigger_data = created.id.get();
    Ok(())
}

/// DESTROY_EVENT.
pub(super) fn destroy(process: &Process, args: &mut abi::DestroyEventArgs) -> Result {
    process.events.destroy(EventId::new(args.event_id))
}

/// SET_EVENT.
pub(super) fn set(process: &Process, args: &mut abi::SetEventArgs) -> Result {
    process.events.set(EventId::new(args.event_id))
}

/// RESET_EVENT.
pub(super) fn reset(process: &Process, args: &mut abi::ResetEventArgs) -> Result {
    process.events.reset(EventId::new(args.event_id))
}

/// WAIT_EVENTS. Every error makes the result FAIL.
pub(super) fn wait(process: &Process, args: &mut abi::WaitEventsArgs) -> Result {
    let result = wait_inner(process, args);
    match result {
        Ok(wait_result) => {
            args.wait_result = wait_result;
            Ok(())
        }
        Err(e) => {
            args.wait_result = abi::WAIT_RESULT_FAIL;
            Err(e)
        }
    }
}

fn wait_inner(process: &Process, args: &mut abi::WaitEventsArgs) -> Result<u32> {
    const SIZE: usize = core::mem::size_of::<abi::EventData>();
    if args.num_events > abi::SIGNAL_EVENT_LIMIT {
        return Err(ENOMEM);
    }
    let count = args.num_events as usize;
    let address = args.events_ptr as usize;
    let mut events = KVVec::with_capacity(count, GFP_KERNEL_ACCOUNT)?;
    let bytes = count.checked_mul(SIZE).ok_or(ENOMEM)?;
    let mut reader = UserSlice::new(UserPtr::from_addr(address), bytes).reader();
    for _ in 0..count {
        let mut bytes = [0u8; SIZE];
        if reader.read_slice(&mut bytes).is_err() {
            break;
        }
        let data: abi::EventData = user::read_abi(&bytes)?;
        let event = Awaited {
            id: EventId::new(data.event_id),
            seen: data.signal().last_event_age,
        };
        events.push(event, GFP_KERNEL_ACCOUNT)?;
    }
    let outcome = process.events.wait(&Wait {
        unreadable: events.len() < count,
        events: &events,
        all: args.wait_for_all != 0,
        timeout: args.timeout,
    });
    args.timeout = outcome.timeout;
    let result = outcome.result?;
    for report in &outcome.reports {
        let data = [abi::EventData {
            data: report.data,
            ..Default::default()
        }];
        let bytes = user::abi_bytes(&data).get(..report.len).ok_or(EFAULT)?;
        let at = report.index.checked_mul(SIZE).ok_or(EFAULT)?;
        let at = UserPtr::from_addr(address).wrapping_byte_add(at);
        UserSlice::new(at, bytes.len())
            .writer()
            .write_slice(bytes)?;
    }
    Ok(result)
}
