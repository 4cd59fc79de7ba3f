// SPDX-License-Identifier: MIT OR Apache-2.0

//! The compute units: host threads that give dispatches turns.
//!
//! Those of queues with a higher CP_HQD_PIPE_PRIORITY come first, else whoever came first; now and
//! then it is whoever waits longest, so that nobody starves. Source: Linux,
//! `amdkfd/kfd_mqd_manager.c` (`pipe_priority_map`, low to high); how much more a higher priority
//! gets is the model's own.

use super::cleaning::{Cleaning, Cleanings};
use super::dispatch::Dispatch;
use crate::device::facts::Facts;
use crate::device::load::{Load, Meter};
use crate::device::Env;
use crate::engines::Wake;
use rkfd_isa::decode::Scope;
use rkfd_isa::{ComputeUnit, SecondLevel, Target};
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

/// The workers.
pub struct Units {
    line: Arc<Line>,
    /// The XCCs' second-level caches, which are used while caches are modelled or counted.
    second: Arc<[Arc<SecondLevel>]>,
    threads: Vec<JoinHandle<()>>,
}

struct Line {
    waiting: Mutex<Waiting>,
    bell: Condvar,
    /// Grows with every acquire fence: instruction caches are older than the code then.
    code: AtomicU64,
    /// The same for the vector and the scalar data caches.
    data: [AtomicU64; 2],
    cleanings: Cleanings,
}

#[derive(Default)]
struct Waiting {
    dispatches: VecDeque<Arc<Dispatch>>,
    /// Turns that were given.
    turns: u64,
    stop: bool,
}

/// One in so many turns is that of who waits longest, whatever its priority.
const FAIR: u64 = 8;

impl Waiting {
    fn pick(&mut self) -> Option<Arc<Dispatch>> {
        self.turns = self.turns.wrapping_add(1);
        if self.turns % FAIR == 0 {
            return self.dispatches.pop_front();
        }
        let all = self.dispatches.iter().enumerate();
        let first = all.max_by_key(|(n, dispatch)| (dispatch.priority, Reverse(*n)));
        let at = first.map(|(n, _)| n)?;
        self.dispatches.remove(at)
    }
}

impl Units {
    /// One worker for each host processor but one, at least one.
    pub fn new(env: &dyn Env, facts: &Facts, isa: &'static Target, wake: &Arc<Wake>) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let (xccs, checks) = (usize::from(facts.xccs), facts.checks);
        let line = Arc::new(Line {
            waiting: Mutex::default(),
            bell: Condvar::new(),
            code: AtomicU64::new(0),
            data: Default::default(),
            cleanings: Cleanings::new(xccs),
        });
        let channels = facts.gc.cache_channels as usize;
        let second: Arc<[_]> = (0..xccs)
            .map(|_| Arc::new(SecondLevel::new(xccs > 1, channels)))
            .collect();
        let threads = (0..processors.saturating_sub(1).max(1)).filter_map(|n| {
            let (line, wake, second) = (line.clone(), wake.clone(), second.clone());
            let load = env.load().clone();
            let name = format!("rkfd-cu{n}");
            std::thread::Builder::new()
                .name(name)
                .spawn(move || {
                    let unit = |xcc| {
                        let second = second.get(xcc).cloned();
                        ComputeUnit::with_checks(isa, checks).above(second)
                    };
                    // Caches are an XCC's own: one's translations are not the other's.
                    line.work(n, (0..xccs).map(unit).collect(), &wake, &load);
                })
                .ok()
        });
        let threads: Vec<_> = threads.collect();
        if threads.is_empty() {
            env.report()
                .violation(format_args!("the host refuses threads for compute units"));
        }
        Self {
            line,
            second,
            threads,
        }
    }

    /// Puts a dispatch in line, once for each worker that it can use.
    pub fn submit(&self, dispatch: &Arc<Dispatch>) {
        let n = (self.threads.len() as u64).min(dispatch.total).max(1);
        dispatch.add_tickets(n as u32);
        dispatch.show();
        let mut waiting = self
            .line
            .waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for _ in 0..n {
            waiting.dispatches.push_back(dispatch.clone());
        }
        self.line.bell.notify_all();
    }

    /// An acquire of all: data and code may have changed.
    pub fn acquire(&self) {
        self.invalidate_data([true; 2]);
        self.invalidate_code();
    }

    /// The vector or the scalar data caches of the first level, or both, are invalidated.
    pub fn invalidate_data(&self, which: [bool; 2]) {
        for (count, _) in self.line.data.iter().zip(which).filter(|(_, which)| *which) {
            count.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// A release of the device or of the whole system: second-level caches beyond which it reaches are written back.
    pub fn release(&self, system: bool) {
        let scope = if system { Scope::System } else { Scope::Device };
        self.second.iter().for_each(|second| second.release(scope));
    }

    /// Writes all second-level caches back.
    pub fn write_back(&self) {
        self.second.iter().for_each(|second| second.write_back());
    }

    /// All second-level caches lose what memory does not have yet, as in a reset of the device.
    pub fn lose(&self) {
        self.second.iter().for_each(|second| second.lose());
    }

    /// Writes the second-level cache of an XCC back.
    pub fn write_back_of(&self, xcc: u8) {
        if let Some(second) = self.second.get(usize::from(xcc)) {
            second.write_back();
        }
    }

    /// Clears registers and LDS of an XCC's compute units before they run anything more.
    pub(crate) fn clean(&self, xcc: u8, cleaning: Cleaning) {
        self.line.cleanings.add(xcc, cleaning);
    }

    /// An acquire fence: code may have changed.
    pub fn invalidate_code(&self) {
        self.line.code.fetch_add(1, Ordering::AcqRel);
    }
}

impl Drop for Units {
    fn drop(&mut self) {
        self.line
            .waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .stop = true;
        self.line.bell.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Line {
    /// Works with one compute unit of each XCC, all of this number.
    fn work(&self, number: usize, mut units: Vec<ComputeUnit>, wake: &Wake, load: &Load) {
        let mut code = 0;
        let mut cleaned = vec![0; units.len()];
        while let Some(dispatch) = self.next() {
            let now = self.code.load(Ordering::Acquire);
            if now != code {
                code = now;
                units.iter_mut().for_each(ComputeUnit::invalidate_code);
            }
            let acquires = self.data.each_ref().map(|n| n.load(Ordering::Acquire));
            let xcc = usize::from(dispatch.xcc());
            let _busy = (load.compute.work(), load.xccs.get(xcc).map(Meter::work));
            let unit = units.get_mut(xcc).zip(cleaned.get_mut(xcc));
            let turn = |(unit, cleaned): (&mut ComputeUnit, &mut u64)| {
                unit.acquired(acquires);
                self.cleanings.follow(cleaned, dispatch.xcc(), unit);
                dispatch.turn(number, unit)
            };
            if unit.is_some_and(turn) {
                if dispatch.is_stalled() {
                    wake.ring();
                }
                self.waiting
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .dispatches
                    .push_back(dispatch);
            } else if dispatch.drop_ticket() {
                wake.ring();
            }
        }
    }

    fn next(&self) -> Option<Arc<Dispatch>> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if waiting.stop {
                return None;
            }
            if let Some(dispatch) = waiting.pick() {
                return Some(dispatch);
            }
            waiting = self
                .bell
                .wait(waiting)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}
