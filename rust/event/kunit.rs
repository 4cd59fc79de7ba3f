// SPDX-License-Identifier: GPL-2.0

//! Events without a GPU: what a wait sees, takes and gives back (`kfd_wait_on_events`).

use super::{
    abi,
    Awaited,
    Data,
    Event,
    EventId,
    Events,
    State,
    Wait,
    FIRST_OTHER, //
};
use crate::counts::{
    Counts,
    Thing, //
};
use kernel::{
    prelude::*,
    sync::Arc,
    time::{
        delay::fsleep,
        Delta,
        Instant,
        Monotonic, //
    },
    workqueue, //
};

fn events() -> Result<Arc<Events>> {
    Arc::pin_init(Events::new(Counts::new()?), GFP_KERNEL)
}

fn awaited(id: u32, seen: u64) -> Awaited {
    let id = EventId::new(id);
    Awaited { id, seen }
}

impl State {
    fn add(&mut self, kind: u32, auto_reset: bool) -> Result<u32> {
        let event = Event {
            kind,
            auto_reset,
            signaled: false,
            age: 1,
            serial: self.next_serial(),
            data: Data::None,
            _count: Counts::new()?.count(Thing::Event),
        };
        let signal = kind == abi::EVENT_SIGNAL;
        let table = if signal {
            &mut self.signals
        } else {
            &mut self.others
        };
        table.insert(u32::MAX, event)
    }
}

impl Events {
    fn add(&self, kind: u32, auto_reset: bool) -> Result<u32> {
        self.state.lock().add(kind, auto_reset)
    }

    fn signal_event(&self, auto_reset: bool) -> Result<u32> {
        self.add(abi::EVENT_SIGNAL, auto_reset)
    }

    /// Waits for events, each given with the age that was seen last; 0 to not compare.
    fn wait_for(&self, list: &[(u32, u64)], all: bool, timeout: u32) -> Result<u32> {
        let mut data = KVec::new();
        for (id, age) in list {
            data.push(awaited(*id, *age), GFP_KERNEL)?;
        }
        let wait = Wait {
            events: &data,
            unreadable: false,
            all,
            timeout,
        };
        self.wait(&wait).result
    }

    fn sleepers(&self, id: u32) -> Option<usize> {
        let mut state = self.state.lock();
        let (event, sleepers) = state.event(id)?;
        Some(usize::from(sleepers.any(event.serial)))
    }
}

const COMPLETE: Result<u32> = Ok(abi::WAIT_RESULT_COMPLETE);
const TIMEOUT: Result<u32> = Ok(abi::WAIT_RESULT_TIMEOUT);

/// Does `f` on the events some milliseconds later, on another thread.
fn later(events: &Arc<Events>, f: impl FnOnce(&Events) + Send + 'static) -> Result {
    let events = events.clone();
    let work = move || {
        fsleep(Delta::from_millis(30));
        f(&events);
    };
    workqueue::system()
        .try_spawn(GFP_KERNEL, work)
        .map_err(|_| ENOMEM)
}

#[kunit_tests(rkfd_event)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_seen_once_or_until_it_is_reset() -> Result {
        let events = events()?;
        let (auto, manual) = (events.signal_event(true)?, events.signal_event(false)?);
        for id in [auto, manual] {
            assert_eq!(events.wait_for(&[(id, 0)], false, 0), TIMEOUT);
            events.set(EventId::new(id))?;
            assert_eq!(events.wait_for(&[(id, 0)], false, 0), COMPLETE);
        }
        assert_eq!(events.wait_for(&[(auto, 0)], false, 0), TIMEOUT);
        assert_eq!(events.wait_for(&[(manual, 0)], false, 0), COMPLETE);
        events.reset(EventId::new(manual))?;
        assert_eq!(events.wait_for(&[(manual, 0)], false, 0), TIMEOUT);
        Ok(())
    }

    /// Signals that came between two waits are seen by the age, though the first took them all.
    #[test]
    fn an_age_tells_of_signals_in_between() -> Result {
        let events = events()?;
        let id = events.signal_event(true)?;
        // Ages start at 1.
        assert_eq!(events.wait_for(&[(id, 1)], false, 0), TIMEOUT);
        events.set(EventId::new(id))?;
        events.set(EventId::new(id))?;
        assert_eq!(events.wait_for(&[(id, 1)], false, 0), COMPLETE);
        assert_eq!(events.wait_for(&[(id, 2)], false, 0), COMPLETE);
        assert_eq!(events.wait_for(&[(id, 3)], false, 0), TIMEOUT);
        let data = [awaited(id, 1)];
        let wait = Wait {
            events: &data,
            unreadable: false,
            all: false,
            timeout: 0,
        };
        let outcome = events.wait(&wait);
        assert_eq!(outcome.result, COMPLETE);
        assert!(outcome
            .reports
            .iter()
            .map(|r| (r.index, r.data[0], r.len))
            .eq([(0, 3, 8)]));
        Ok(())
    }

    #[test]
    fn any_and_all() -> Result {
        let events = events()?;
        let (a, b) = (events.signal_event(false)?, events.signal_event(false)?);
        events.set(EventId::new(b))?;
        assert_eq!(events.wait_for(&[(a, 0), (b, 0)], false, 0), COMPLETE);
        assert_eq!(events.wait_for(&[(a, 0), (b, 0)], true, 0), TIMEOUT);
        events.set(EventId::new(a))?;
        assert_eq!(
            events.wait_for(&[(a, 0), (b, 0), (a, 0)], true, 0),
            COMPLETE
        );
        // Of no events all are signalled, but none is.
        assert_eq!(events.wait_for(&[], true, 0), COMPLETE);
        Ok(())
    }

    /// A failing wait leaves no sleeper behind, and an id that is none is EINVAL.
    #[test]
    fn a_wait_that_fails_leaves_nothing() -> Result {
        let events = events()?;
        let id = events.signal_event(true)?;
        assert_eq!(
            events.wait_for(&[(id, 0), (id, 0), (id + 1, 0)], true, 10),
            Err(EINVAL)
        );
        assert_eq!(events.sleepers(id), Some(0));
        assert_eq!(events.wait_for(&[(id, 0), (id, 0)], true, 1), TIMEOUT);
        assert_eq!(events.sleepers(id), Some(0));
        Ok(())
    }

    #[test]
    fn only_signal_events_can_be_set() -> Result {
        let events = events()?;
        let memory = events.add(abi::EVENT_MEMORY, false)?;
        assert!(memory >= FIRST_OTHER);
        for id in [memory, 0, 1, FIRST_OTHER - 1, FIRST_OTHER + 1, u32::MAX] {
            assert_eq!(
                (events.set(EventId::new(id)), events.reset(EventId::new(id))),
                (Err(EINVAL), Err(EINVAL))
            );
        }
        Ok(())
    }

    #[test]
    fn a_sleeper_is_woken() -> Result {
        let events = events()?;
        let id = events.signal_event(true)?;
        later(&events, move |events| {
            // However late it comes to sleep; as long as it waits at most.
            for _ in 0..60_000 {
                if events.sleepers(id) != Some(0) {
                    break;
                }
                fsleep(Delta::from_millis(1));
            }
            let _ = events.set(EventId::new(id));
        })?;
        assert_eq!(events.wait_for(&[(id, 1)], false, 60_000), COMPLETE);
        // The signal woke somebody, so it is used up.
        assert_eq!(events.wait_for(&[(id, 0)], false, 0), TIMEOUT);
        assert_eq!(events.sleepers(id), Some(0));
        Ok(())
    }

    #[test]
    fn a_fault_is_told_to_who_waits_for_it() -> Result {
        let events = events()?;
        let memory = events.add(abi::EVENT_MEMORY, false)?;
        let other = events.add(abi::EVENT_HW_EXCEPTION, false)?;
        let fault = abi::MemoryExceptionData {
            va: 0x7000,
            gpu_id: 5,
            ..Default::default()
        };
        later(&events, move |events| events.memory_exception(fault))?;
        let data = [awaited(other, 0), awaited(memory, 0)];
        let wait = Wait {
            events: &data,
            unreadable: false,
            all: false,
            timeout: 60_000,
        };
        let outcome = events.wait(&wait);
        assert_eq!(outcome.result, COMPLETE);
        assert_eq!(outcome.reports.len(), 1);
        let report = outcome.reports.first().ok_or(EINVAL)?;
        assert_eq!((report.index, report.len), (1, 32));
        let reported = abi::EventData {
            data: report.data,
            ..Default::default()
        };
        assert!(reported.memory_exception() == fault);
        Ok(())
    }

    /// An event that takes the place of one that is waited for is another event.
    #[test]
    fn an_event_that_goes_fails_its_waiters() -> Result {
        let events = events()?;
        let id = events.signal_event(true)?;
        later(&events, move |events| {
            let mut state = events.state.lock();
            let gone = state.signals.remove(id);
            // Takes the same id.
            let _ = state.add(abi::EVENT_SIGNAL, true);
            if let Some(gone) = gone {
                state.sleepers.wake(gone.serial);
            }
        })?;
        assert_eq!(events.wait_for(&[(id, 0)], false, 60_000), Err(EIO));
        assert_eq!(events.sleepers(id), Some(0));
        Ok(())
    }

    #[test]
    fn a_lost_device_ends_all_waits() -> Result {
        let events = events()?;
        let id = events.signal_event(true)?;
        later(&events, Events::device_lost)?;
        assert_eq!(events.wait_for(&[(id, 0)], false, u32::MAX), Err(ENODEV));
        assert_eq!(events.wait_for(&[(id, 0)], false, 0), Err(ENODEV));
        Ok(())
    }

    #[test]
    fn a_wait_takes_as_long_as_was_asked() -> Result {
        let events = events()?;
        let id = events.signal_event(true)?;
        let start = Instant::<Monotonic>::now();
        assert_eq!(events.wait_for(&[(id, 0)], false, 40), TIMEOUT);
        assert!(start.elapsed() >= Delta::from_millis(40));
        Ok(())
    }
}
