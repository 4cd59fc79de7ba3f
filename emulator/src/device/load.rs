// SPDX-License-Identifier: MIT OR Apache-2.0

//! How busy the device is: what its management unit measures.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// XCCs that a package can have.
pub const XCCS: usize = 8;

/// How long something has worked in all.
pub struct Meter(Mutex<State>);

struct State {
    /// How many work now, and since when anybody does.
    active: u32,
    since: Instant,
    /// When the last one ended.
    ended: Instant,
    total: Duration,
}

impl Default for Meter {
    fn default() -> Self {
        Self(Mutex::new(State {
            active: 0,
            since: Instant::now(),
            ended: Instant::now(),
            total: Duration::ZERO,
        }))
    }
}

impl Meter {
    /// Counts as work as long as the result is there.
    pub fn work(&self) -> Work<'_> {
        self.begin();
        Work(self)
    }

    /// One more works, until [`Meter::end`].
    pub fn begin(&self) {
        let mut state = self.state();
        if state.active == 0 {
            state.since = Instant::now();
        }
        state.active += 1;
    }

    /// One that has begun works no more.
    pub fn end(&self) {
        let mut state = self.state();
        state.active -= 1;
        if state.active == 0 {
            let worked = state.since.elapsed();
            state.ended = Instant::now();
            state.total += worked;
        }
    }

    /// The time in which at least one worked, up to now.
    pub fn total(&self) -> Duration {
        let state = self.state();
        match state.active {
            0 => state.total,
            _ => state.total + state.since.elapsed(),
        }
    }

    /// Whether nobody has worked for so long.
    fn is_idle_for(&self, time: Duration) -> bool {
        let state = self.state();
        state.active == 0 && state.ended.elapsed() >= time
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Work that is counted.
pub struct Work<'a>(&'a Meter);

impl Drop for Work<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// What works.
#[derive(Default)]
pub struct Load {
    /// Any compute unit.
    pub compute: Meter,
    /// Those of each XCC.
    pub xccs: [Meter; XCCS],
    /// Any copy engine.
    pub copies: Meter,
    /// The graphics core may be switched off while it is idle (GFXOFF).
    pub may_be_off: AtomicBool,
    /// What takes power without work since nobody gates it: a bit of [`awake`] for each.
    awake: AtomicU32,
}

/// What a driver gates around memory, as bits of what isn't gated.
pub mod awake {
    /// The clock of the address translation hub, and its memories.
    pub const TRANSLATION: u32 = 1;
    /// The memories of the host data path.
    pub const HOST: u32 = 2;
}

/// How long the graphics core is idle before it is switched off. Firmware's own time isn't public.
const BEFORE_OFF: Duration = Duration::from_millis(20);

impl Load {
    /// Something is gated while it is idle, or isn't.
    pub fn set_awake(&self, what: u32, on: bool) {
        match on {
            true => self.awake.fetch_or(what, Ordering::AcqRel),
            false => self.awake.fetch_and(!what, Ordering::AcqRel),
        };
    }

    /// How much isn't gated.
    pub fn awake(&self) -> u32 {
        self.awake.load(Ordering::Acquire).count_ones()
    }

    /// Whether the graphics core is switched off: it is woken by doorbells, and not by accesses to its registers.
    pub fn is_graphics_off(&self) -> bool {
        self.may_be_off.load(Ordering::Acquire)
            && self.compute.is_idle_for(BEFORE_OFF)
            && self.copies.is_idle_for(BEFORE_OFF)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_counts_once_while_several_work() {
        let meter = Meter::default();
        let start = Instant::now();
        let (first, second) = (meter.work(), meter.work());
        std::thread::sleep(Duration::from_millis(20));
        drop(first);
        std::thread::sleep(Duration::from_millis(20));
        assert!(meter.total() >= Duration::from_millis(40));
        drop(second);
        let total = meter.total();
        assert!(total <= start.elapsed(), "not twice");
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(meter.total(), total, "nobody works");
    }
}
