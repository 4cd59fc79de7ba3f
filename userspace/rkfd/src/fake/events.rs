// SPDX-License-Identifier: MIT OR Apache-2.0

//! Events: who waits for them, and what signals them.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rkfd_uapi::event::*;
use rustix::io::Errno;

use super::{argument, Inner, GPU_ID};
use crate::driver::lock;

#[derive(Debug)]
pub(super) struct Event {
    kind: u32,
    auto_reset: bool,
    pub(super) signalled: bool,
    /// The address of a fault.
    fault: Option<u64>,
}

impl Inner {
    pub(super) fn create_event(&self, args: &mut CreateEventArgs) -> Result<(), Errno> {
        let mut state = lock(&self.state);
        if args.event_page_offset != 0 {
            let object = state
                .objects
                .get(&args.event_page_offset)
                .ok_or(Errno::INVAL)?;
            if state.page.is_some() || object.size < SIGNAL_PAGE_SIZE as u64 {
                return Err(Errno::INVAL);
            }
            let page = object.memory.clone();
            (0..SIGNAL_EVENT_LIMIT as usize)
                .filter_map(|i| page.word64(i * 8))
                .for_each(|slot| slot.store(SLOT_UNSIGNALED, Ordering::Relaxed));
            state.page = Some(page);
        } else if args.event_type == EVENT_SIGNAL && state.page.is_none() {
            return Err(Errno::NOMEM);
        }
        state.last_event += 1;
        args.event_id = state.last_event;
        args.event_slot_index = args.event_id;
        let event = Event {
            kind: args.event_type,
            auto_reset: args.auto_reset != 0,
            signalled: false,
            fault: None,
        };
        state.events.insert(args.event_id, event);
        Ok(())
    }

    pub(super) fn wait(&self, args: &mut WaitEventsArgs) -> Result<(), Errno> {
        self.waits.fetch_add(1, Ordering::Relaxed);
        if args.num_events > SIGNAL_EVENT_LIMIT {
            return Err(Errno::NOMEM);
        }
        let end = Instant::now() + Duration::from_millis(args.timeout.into());
        let entry = |i: usize| (args.events_ptr + i as u64 * 48) as *mut u8;
        let ids: Vec<u32> = (0..args.num_events as usize)
            .map(|i| argument::<EventData>(entry(i)).event_id)
            .collect();
        let mut state = lock(&self.state);
        loop {
            for (i, id) in ids.iter().enumerate() {
                let event = state.events.get_mut(id).ok_or(Errno::INVAL)?;
                if !event.signalled {
                    continue;
                }
                event.signalled = !event.auto_reset;
                if let Some(va) = event.fault {
                    let failure = MemoryExceptionFailure {
                        not_present: 1,
                        ..Default::default()
                    };
                    let exception = MemoryExceptionData {
                        failure,
                        va,
                        gpu_id: GPU_ID,
                        error_type: 0,
                    };
                    argument::<EventData>(entry(i)).set_memory_exception(exception);
                }
                args.wait_result = WAIT_RESULT_COMPLETE;
                return Ok(());
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                args.wait_result = WAIT_RESULT_TIMEOUT;
                return Ok(());
            }
            state = match self.signalled.wait_timeout(state, left) {
                Ok((state, _)) => state,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }

    /// The end-of-pipe interrupt: looks at the slot, as the driver does.
    pub(super) fn interrupt(&self, id: u32) {
        let mut state = lock(&self.state);
        let page = state.page.as_ref();
        let slot = page.and_then(|page| page.word64(id as usize * 8));
        let told = slot.map(|slot| slot.swap(SLOT_UNSIGNALED, Ordering::AcqRel));
        if told == Some(u64::from(id)) {
            if let Some(event) = state.events.get_mut(&id) {
                event.signalled = true;
            }
            self.signalled.notify_all();
        }
    }

    /// Takes all queues off, and tells those who wait for faults of this one.
    pub(super) fn fault(&self, address: u64) {
        self.faulted.store(true, Ordering::Relaxed);
        let mut state = lock(&self.state);
        let events = state.events.values_mut();
        for event in events.filter(|event| event.kind == EVENT_MEMORY) {
            event.signalled = true;
            event.fault = Some(address);
        }
        self.signalled.notify_all();
    }
}
