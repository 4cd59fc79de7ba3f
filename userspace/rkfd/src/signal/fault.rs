// SPDX-License-Identifier: MIT OR Apache-2.0

//! Faults of the GPU, as the driver's events report them.

use rkfd_uapi::event::{EventData, EVENT_HW_EXCEPTION, EVENT_MEMORY};

use crate::error::{Error, Result};

/// Whether one of the fault events was signalled.
pub(super) fn check(faults: &[(u32, u32)], events: &[EventData]) -> Result<()> {
    let mut both = faults.iter().zip(events);
    both.try_for_each(|(&(kind, _), event)| fault(kind, event))
}

/// The fault that an event reports, if it was signalled: then its GPU's id is not 0.
fn fault(kind: u32, event: &EventData) -> Result<()> {
    let exception = event.memory_exception();
    if kind == EVENT_MEMORY && exception.gpu_id != 0 {
        let failure = exception.failure;
        let reason = match (failure.not_present, failure.read_only, failure.no_execute) {
            (_, _, 1..) => "not executable",
            (_, 1.., _) => "read-only",
            (1.., _, _) => "not mapped",
            _ => "no reason given",
        };
        return Err(Error::MemoryFault {
            gpu_id: exception.gpu_id,
            address: exception.va,
            reason,
        });
    }
    match kind == EVENT_HW_EXCEPTION && event.hw_exception().gpu_id != 0 {
        true => Err(Error::DeviceLost),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use rkfd_uapi::event::{HwExceptionData, MemoryExceptionData, MemoryExceptionFailure};

    use super::*;

    #[test]
    fn faults_are_distinguished() {
        let mut event = EventData::wait_for(1, 0);
        assert!(fault(EVENT_MEMORY, &event).is_ok() && fault(EVENT_HW_EXCEPTION, &event).is_ok());
        event.set_memory_exception(MemoryExceptionData {
            failure: MemoryExceptionFailure {
                not_present: 1,
                ..Default::default()
            },
            va: 0x7000,
            gpu_id: 5,
            error_type: 0,
        });
        assert!(matches!(
            fault(EVENT_MEMORY, &event),
            Err(Error::MemoryFault {
                address: 0x7000,
                reason: "not mapped",
                ..
            })
        ));
        event = EventData::wait_for(1, 0);
        event.set_hw_exception(HwExceptionData {
            gpu_id: 5,
            ..Default::default()
        });
        assert!(matches!(
            fault(EVENT_HW_EXCEPTION, &event),
            Err(Error::DeviceLost)
        ));
    }
}
