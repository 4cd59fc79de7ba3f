// SPDX-License-Identifier: MIT OR Apache-2.0

//! Events: what a program sleeps on.
//!
//! A signal event has a 64-bit slot in the signal page: all ones while unsignalled. The GPU writes
//! the slot and raises an interrupt that carries the event's id; the driver puts the slot back and
//! wakes the waiters.

structs! {
    /// Argument of [`CREATE_EVENT`](super::ioctl::CREATE_EVENT).
    pub struct CreateEventArgs = "struct kfd_ioctl_create_event_args" {
        /// In, first call only: handle of the buffer object that becomes the signal page, at least
        /// 32 KiB, mapped to a GPU; 0 in later calls. Out: [`super::mmap::Kind::Events`] in bits
        /// 63:62 for signal and debug events, 0 for others.
        event_page_offset: u64,
        /// Out: what the interrupt carries (signal events).
        event_trigger_data: u32,
        /// In: one of the `EVENT_` constants.
        event_type: u32,
        /// In: a wait that ends by this event makes it unsignalled again.
        auto_reset: u32,
        node_id: u32,
        /// Out: id, unique in the process, never 0.
        event_id: u32,
        /// Out: index in the signal page, in units of 8 bytes.
        event_slot_index: u32,
    }

    /// Argument of [`DESTROY_EVENT`](super::ioctl::DESTROY_EVENT).
    pub struct DestroyEventArgs = "struct kfd_ioctl_destroy_event_args" {
        event_id: u32,
        pad: u32,
    }

    /// Argument of [`SET_EVENT`](super::ioctl::SET_EVENT).
    pub struct SetEventArgs = "struct kfd_ioctl_set_event_args" {
        event_id: u32,
        pad: u32,
    }

    /// Argument of [`RESET_EVENT`](super::ioctl::RESET_EVENT).
    pub struct ResetEventArgs = "struct kfd_ioctl_reset_event_args" {
        event_id: u32,
        pad: u32,
    }

    /// Why a memory access failed; each is 0 or 1.
    pub struct MemoryExceptionFailure = "struct kfd_memory_exception_failure" {
        not_present: u32 = "NotPresent",
        read_only: u32 = "ReadOnly",
        no_execute: u32 = "NoExecute",
        /// The address is not exact.
        imprecise: u32,
    }

    /// The data of an [`EVENT_MEMORY`].
    pub struct MemoryExceptionData = "struct kfd_hsa_memory_exception_data" {
        failure: MemoryExceptionFailure,
        va: u64,
        gpu_id: u32,
        /// One of the `MEM_ERR_` constants.
        error_type: u32 = "ErrorType",
    }

    /// The data of an [`EVENT_HW_EXCEPTION`].
    pub struct HwExceptionData = "struct kfd_hsa_hw_exception_data" {
        /// One of the `RESET_` constants.
        reset_type: u32,
        /// One of the `CAUSE_` constants.
        reset_cause: u32,
        memory_lost: u32,
        gpu_id: u32,
    }

    /// The data of an [`EVENT_SIGNAL`].
    pub struct SignalEventData = "struct kfd_hsa_signal_event_data" {
        /// In: the age last seen, 0 to not compare. Out: the age now. A wait ends at once when the
        /// event is older than the age that was given.
        last_event_age: u64,
    }

    /// One event of a wait.
    pub struct EventData = "struct kfd_event_data" {
        /// The union of the three kinds of data: see [`EventData::memory_exception`],
        /// [`EventData::hw_exception`] and [`EventData::signal`].
        data: [u64; 4] = "memory_exception_data",
        kfd_event_data_ext: u64,
        event_id: u32,
        pad: u32,
    }

    /// Argument of [`WAIT_EVENTS`](super::ioctl::WAIT_EVENTS).
    pub struct WaitEventsArgs = "struct kfd_ioctl_wait_events_args" {
        /// In: address of an array of [`EventData`].
        events_ptr: u64,
        num_events: u32,
        wait_for_all: u32,
        /// In: milliseconds; 0 polls, [`TIMEOUT_INFINITE`] never ends.
        timeout: u32,
        /// Out: one of the `WAIT_RESULT_` constants.
        wait_result: u32,
    }
}

impl EventData {
    /// An event to wait for. `last_event_age` is meant for signal events; 0 for others.
    pub const fn wait_for(event_id: u32, last_event_age: u64) -> Self {
        Self {
            data: [last_event_age, 0, 0, 0],
            kfd_event_data_ext: 0,
            event_id,
            pad: 0,
        }
    }

    /// The data as that of an [`EVENT_MEMORY`].
    pub const fn memory_exception(&self) -> MemoryExceptionData {
        let [a, b, va, d] = self.data;
        MemoryExceptionData {
            failure: MemoryExceptionFailure {
                not_present: a as u32,
                read_only: (a >> 32) as u32,
                no_execute: b as u32,
                imprecise: (b >> 32) as u32,
            },
            va,
            gpu_id: d as u32,
            error_type: (d >> 32) as u32,
        }
    }

    /// Sets the data to that of an [`EVENT_MEMORY`].
    pub const fn set_memory_exception(&mut self, e: MemoryExceptionData) {
        self.data = [
            e.failure.not_present as u64 | ((e.failure.read_only as u64) << 32),
            e.failure.no_execute as u64 | ((e.failure.imprecise as u64) << 32),
            e.va,
            e.gpu_id as u64 | ((e.error_type as u64) << 32),
        ];
    }

    /// The data as that of an [`EVENT_HW_EXCEPTION`].
    pub const fn hw_exception(&self) -> HwExceptionData {
        let [a, b, _, _] = self.data;
        HwExceptionData {
            reset_type: a as u32,
            reset_cause: (a >> 32) as u32,
            memory_lost: b as u32,
            gpu_id: (b >> 32) as u32,
        }
    }

    /// Sets the data to that of an [`EVENT_HW_EXCEPTION`].
    pub const fn set_hw_exception(&mut self, e: HwExceptionData) {
        self.data[0] = e.reset_type as u64 | ((e.reset_cause as u64) << 32);
        self.data[1] = e.memory_lost as u64 | ((e.gpu_id as u64) << 32);
    }

    /// The data as that of an [`EVENT_SIGNAL`].
    pub const fn signal(&self) -> SignalEventData {
        SignalEventData {
            last_event_age: self.data[0],
        }
    }

    /// Sets the data to that of an [`EVENT_SIGNAL`].
    pub const fn set_signal(&mut self, e: SignalEventData) {
        self.data[0] = e.last_event_age;
    }
}

/// A wait without end.
pub const TIMEOUT_INFINITE: u32 = u32::MAX;
/// A slot of the signal page that nobody signalled.
pub const SLOT_UNSIGNALED: u64 = u64::MAX;
/// Bytes of the signal page with a slot for every event.
pub const SIGNAL_PAGE_SIZE: usize = SIGNAL_EVENT_LIMIT as usize * 8;

constants! {
    EVENT_SIGNAL: u32 = 0, "KFD_IOC_EVENT_SIGNAL";
    EVENT_NODECHANGE: u32 = 1, "KFD_IOC_EVENT_NODECHANGE";
    EVENT_DEVICESTATECHANGE: u32 = 2, "KFD_IOC_EVENT_DEVICESTATECHANGE";
    EVENT_HW_EXCEPTION: u32 = 3, "KFD_IOC_EVENT_HW_EXCEPTION";
    EVENT_SYSTEM_EVENT: u32 = 4, "KFD_IOC_EVENT_SYSTEM_EVENT";
    EVENT_DEBUG_EVENT: u32 = 5, "KFD_IOC_EVENT_DEBUG_EVENT";
    EVENT_PROFILE_EVENT: u32 = 6, "KFD_IOC_EVENT_PROFILE_EVENT";
    EVENT_QUEUE_EVENT: u32 = 7, "KFD_IOC_EVENT_QUEUE_EVENT";
    EVENT_MEMORY: u32 = 8, "KFD_IOC_EVENT_MEMORY";
    /// The condition was met.
    WAIT_RESULT_COMPLETE: u32 = 0, "KFD_IOC_WAIT_RESULT_COMPLETE";
    /// The time ran out; the call itself returns 0.
    WAIT_RESULT_TIMEOUT: u32 = 1, "KFD_IOC_WAIT_RESULT_TIMEOUT";
    /// The call failed.
    WAIT_RESULT_FAIL: u32 = 2, "KFD_IOC_WAIT_RESULT_FAIL";
    /// Signal events a process can have, with id 0, which is not used.
    SIGNAL_EVENT_LIMIT: u32 = 4096, "KFD_SIGNAL_EVENT_LIMIT";
    RESET_WHOLE_GPU: u32 = 0, "KFD_HW_EXCEPTION_WHOLE_GPU_RESET";
    RESET_PER_ENGINE: u32 = 1, "KFD_HW_EXCEPTION_PER_ENGINE_RESET";
    CAUSE_GPU_HANG: u32 = 0, "KFD_HW_EXCEPTION_GPU_HANG";
    CAUSE_ECC: u32 = 1, "KFD_HW_EXCEPTION_ECC";
    MEM_ERR_NO_RAS: u32 = 0, "KFD_MEM_ERR_NO_RAS";
    MEM_ERR_SRAM_ECC: u32 = 1, "KFD_MEM_ERR_SRAM_ECC";
    MEM_ERR_POISON_CONSUMED: u32 = 2, "KFD_MEM_ERR_POISON_CONSUMED";
    MEM_ERR_GPU_HANG: u32 = 3, "KFD_MEM_ERR_GPU_HANG";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_union_s_views_round_trip() {
        let mut event = EventData::wait_for(7, 3);
        assert_eq!(event.signal().last_event_age, 3);
        let memory = MemoryExceptionData {
            failure: MemoryExceptionFailure {
                not_present: 1,
                read_only: 2,
                no_execute: 3,
                imprecise: 4,
            },
            va: 0x1234_5678_9abc,
            gpu_id: 5,
            error_type: 6,
        };
        event.set_memory_exception(memory);
        assert_eq!(event.memory_exception(), memory);
        let hw = HwExceptionData {
            reset_type: 1,
            reset_cause: 2,
            memory_lost: 3,
            gpu_id: 4,
        };
        event.set_hw_exception(hw);
        assert_eq!(event.hw_exception(), hw);
        assert_eq!(event.event_id, 7);
    }
}
