// SPDX-License-Identifier: GPL-2.0

//! Signals that come from the GPU: ends of work, faults, hangs.
//!
//! Called by the interrupts' work item, which doesn't wait for the events' mutex, and by those that
//! may wait.

use super::{
    abi,
    Data,
    EventId,
    Events,
    State, //
};

impl Events {
    /// The GPU raised a signal of which the low `bits` bits of the event's id are known
    /// (`kfd_signal_event_interrupt`).
    pub(crate) fn signal(&self, id: EventId, bits: u32) {
        self.state.lock().signal(id, bits);
    }

    /// As [`signal`](Self::signal), but doesn't wait: false when the program, or another signal, has
    /// the mutex, and nothing was done. Calls `trace` before anyone wakes, so that a trace shows the
    /// signal before what follows from it.
    pub(crate) fn try_signal(&self, id: EventId, bits: u32, trace: impl FnOnce()) -> bool {
        match self.state.try_lock() {
            Some(mut state) => {
                trace();
                state.signal(id, bits);
                true
            }
            None => false,
        }
    }

    /// The GPU faulted in this process.
    pub(crate) fn memory_exception(&self, data: abi::MemoryExceptionData) {
        self.report(abi::EVENT_MEMORY, Data::Memory(data));
    }

    /// A queue or the GPU hung.
    pub(crate) fn hw_exception(&self, data: abi::HwExceptionData) {
        self.report(abi::EVENT_HW_EXCEPTION, Data::HwException(data));
    }

    fn report(&self, kind: u32, data: Data) {
        let mut guard = self.state.lock();
        let state = &mut *guard;
        for (_, event) in state
            .others
            .iter_mut()
            .filter(|(_, event)| event.kind == kind)
        {
            event.data = data;
            event.set(&mut state.sleepers);
        }
    }

    /// The device went: everyone who waits fails, now and later.
    pub(crate) fn device_lost(&self) {
        let mut state = self.state.lock();
        state.lost = true;
        state.sleepers.wake_all();
    }
}

impl State {
    fn signal(&mut self, id: EventId, bits: u32) {
        if bits != 0 {
            if let Some(id) = self.signaled_by_partial_id(id.get(), bits) {
                self.acknowledge_and_set(id);
                return;
            }
        }
        // The id was none, or its slot wasn't written: look at every slot.
        self.scan();
    }

    fn slot(&self, id: u32) -> Option<u64> {
        self.page.as_ref()?.bo.read_u64(id as usize).ok()
    }

    fn is_signaled(&self, id: u32) -> bool {
        self.slot(id)
            .is_some_and(|slot| slot != abi::SLOT_UNSIGNALED)
    }

    /// The first event with these low bits whose slot was written.
    fn signaled_by_partial_id(&self, id: u32, bits: u32) -> Option<u32> {
        let limit = abi::SIGNAL_EVENT_LIMIT;
        let step = 1u32
            .checked_shl(bits)
            .filter(|step| *step < limit)
            .unwrap_or(limit);
        (id..limit)
            .step_by(step as usize)
            .find(|id| self.is_signaled(*id) && self.signals.get(*id).is_some())
    }

    /// Puts the slot back, then signals the event.
    fn acknowledge_and_set(&mut self, id: u32) {
        if let Some(event) = self.signals.get_mut(id) {
            if let Some(page) = &self.page {
                // Fails only when the device is gone, and its slots with it.
                let _ = page.bo.write_u64(id as usize, abi::SLOT_UNSIGNALED);
            }
            event.set(&mut self.sleepers);
        }
    }

    /// Signals every event whose slot was written.
    fn scan(&mut self) {
        if self.page.is_none() || self.signals.is_empty() {
            return;
        }
        for id in 1..abi::SIGNAL_EVENT_LIMIT {
            if self.signals.get(id).is_some() && self.is_signaled(id) {
                self.acknowledge_and_set(id);
            }
        }
    }
}
