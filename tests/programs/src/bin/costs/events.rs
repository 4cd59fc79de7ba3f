// SPDX-License-Identifier: MIT OR Apache-2.0

//! WAIT_EVENTS for one of many events, for one event among many, and beside threads that wait.

use crate::measure::{step, Meter, Pace};
use crate::process::Process;
use rkfd_bare::sys;
use rkfd_programs::raw::{self, errno};
use rkfd_programs::Failure;
use rkfd_uapi::{event, ioctl};
use std::thread;
use std::time::Duration;

/// Events besides the measured one; the last is as many as a usual signal page has (`KFD_SIGNAL_EVENT_LIMIT`).
const EVENTS: [usize; 7] = [1, 4, 16, 64, 256, 1024, 4096];
const WAITERS: [usize; 5] = [1, 8, 32, 128, 512];
/// Requests in a row.
const ROW: usize = 8;

/// Measures all three.
pub fn run(pace: Pace) -> Result<(), Failure> {
    let process = Process::new()?;
    let meter = Meter::new(&process.kfd, pace)?;
    process.signal_page(0)?;
    let own = process.signal(true)?;
    let mut events = Vec::new();
    for &n in EVENTS.iter().take(pace.pick(EVENTS.len(), 2)) {
        while events.len() < n {
            events.push(process.signal(false)?);
        }
        one(&process, &meter, own, "events", n)?;
        many(&process, &meter, &events)?;
    }
    for &n in WAITERS.iter().take(pace.pick(WAITERS.len(), 2)) {
        beside_waiters(&process, &meter, own, &events, n)?;
    }
    Ok(())
}

/// Sets the process' own event and waits for it.
fn one(
    process: &Process,
    meter: &Meter<'_>,
    own: u32,
    beside: &str,
    n: usize,
) -> Result<(), Failure> {
    let steps = vec![step("SET_EVENT+WAIT_EVENTS", ROW, |_: &mut (), _| {
        process.set(own)?;
        match raw::wait(&process.kfd, own, 0).map_err(errno("WAIT_EVENTS"))? {
            Some(_) => Ok(()),
            None => Err(Failure::new("a wait didn't end for an event that was set")),
        }
    })];
    let costs = meter.cycle(&mut (), steps)?;
    costs.iter().for_each(|cost| cost.print_at(beside, n));
    Ok(())
}

/// Waits for any of these, the last of which is set.
fn many(process: &Process, meter: &Meter<'_>, events: &[u32]) -> Result<(), Failure> {
    let Some(&last) = events.last() else {
        return Ok(());
    };
    process.set(last)?;
    let ids = events.iter().copied();
    let mut data: Vec<_> = ids.map(|id| event::EventData::wait_for(id, 0)).collect();
    let num_events = data.len() as u32;
    let steps = vec![step("WAIT_EVENTS", 1, |_: &mut (), _| {
        let mut args = event::WaitEventsArgs {
            events_ptr: sys::address(data.as_mut_slice()),
            num_events,
            wait_for_all: 0,
            timeout: 0,
            wait_result: event::WAIT_RESULT_FAIL,
        };
        process.ask(&ioctl::WAIT_EVENTS, &mut args)?;
        match args.wait_result {
            event::WAIT_RESULT_COMPLETE => Ok(()),
            other => Err(Failure::new(format_args!(
                "a wait for many ended with {other}"
            ))),
        }
    })];
    let costs = meter.cycle(&mut (), steps)?;
    costs
        .iter()
        .for_each(|cost| cost.print_at("events-asked-for", events.len()));
    let mut args = event::ResetEventArgs {
        event_id: last,
        pad: 0,
    };
    process.ask(&ioctl::RESET_EVENT, &mut args)
}

/// As [`one`], while `n` threads sleep for an event each.
fn beside_waiters(
    process: &Process,
    meter: &Meter<'_>,
    own: u32,
    events: &[u32],
    n: usize,
) -> Result<(), Failure> {
    const STACK: usize = 64 << 10;
    thread::scope(|scope| {
        // A few events have several waiters if there are more of these.
        let waited: Vec<u32> = events.iter().cycle().take(n).copied().collect();
        let started = waited.iter().try_for_each(|&id| {
            let wait = move || raw::wait(&process.kfd, id, event::TIMEOUT_INFINITE).map(drop);
            let thread = thread::Builder::new().stack_size(STACK);
            let thread = thread.spawn_scoped(scope, wait);
            thread.map(drop).map_err(Failure::new)
        });
        let result = started.and_then(|()| {
            // Until all of them sleep: nothing tells.
            thread::sleep(Duration::from_millis(100 + n as u64));
            one(process, meter, own, "threads-that-wait", n)
        });
        // An event that stays set wakes whoever comes late, too.
        waited.iter().try_for_each(|&id| process.set(id))?;
        result
    })?;
    events.iter().try_for_each(|&event_id| {
        let mut args = event::ResetEventArgs { event_id, pad: 0 };
        process.ask(&ioctl::RESET_EVENT, &mut args)
    })
}
