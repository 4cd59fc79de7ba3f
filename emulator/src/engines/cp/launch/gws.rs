// SPDX-License-Identifier: MIT OR Apache-2.0

//! Global wave sync: the semaphores and barriers that a queue has on an XCC.
//!
//! Sources: AMD's CDNA3 ISA manual, DS_GWS_*: a barrier's counter is set to the number of its waves
//! less one; each that comes finds it above 0, takes one off and waits, but for the last, which sets
//! it anew to the value that it brings and turns the flag, by which the others go on. ROCm's device
//! libraries, `ockl/src/cg.cl` (`__ockl_gws_init`, `__ockl_gws_barrier`): both values are `nwm1`, the
//! number of waves less one. LLVM, `SIISelLowering.cpp` (`emitGWSMemViolTestLoop`): what is not the
//! wave's is a memory violation.
//!
//! Each XCC has 64 of its own: Linux sets GDS_GWS_VMID* on each (`amdgpu/gfx_v9_4_3.c`,
//! `gfx_v9_4_3_xcc_init_gds_vmid`), so waves on different XCCs do not meet. `cg.cl` avoids them on
//! gfx942 (`AVOID_GWS`), HIP does not set them up there (`rocsettings.cpp`, `gwsInitSupported_`), and
//! amdkfd's comment calls giving them a formality (`pqm_set_gws`).
//!
//! Nobody can see which of the 64 a queue has, since its waves count from its first one. Here each
//! queue has resources of its own, and the scheduler ensures that all connected queues together have no
//! more than 64. Their state is saved and restored with the queue, as the firmware does according to the
//! comment in Linux's function above, and waves that stand in line are saved with their tickets. The
//! state is kept in the queue's save area: a queue without one starts with new resources.

use rkfd_isa::{Gws as Operation, GwsAnswer, GwsRequest};
use std::num::NonZeroU32;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The semaphores and barriers of a queue on one XCC.
#[derive(Debug)]
pub(crate) struct Gws(Mutex<Vec<Resource>>);

/// Words of a saved resource.
const WORDS: usize = 4;
/// Words of all that a queue can have.
pub(crate) const MOST: u64 = 64 * WORDS as u64;

/// A semaphore or barrier.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Resource {
    counter: u32,
    /// How often the barrier opened; the manual's flag is its lowest bit.
    opened: u32,
    /// Waves that stood in the semaphore's line, and how many of them were let go.
    came: u32,
    went: u32,
}

/// Marks a number as a ticket; the numbers wrap below it.
const TICKET: u32 = 1 << 31;

/// A number as a ticket.
fn ticket(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number | TICKET).unwrap_or(NonZeroU32::MIN)
}

impl Resource {
    /// The words, as they are saved.
    fn words(self) -> [u32; WORDS] {
        [self.counter, self.opened, self.came, self.went]
    }

    fn ask(&mut self, request: &GwsRequest) -> GwsAnswer {
        match request.operation {
            Operation::Init => {
                self.counter = request.value;
                // The flag is 0 then.
                self.opened = self.opened.next_multiple_of(2) & !TICKET;
            }
            Operation::Barrier => return self.meet(request),
            Operation::Acquire => return self.acquire(request.ticket),
            Operation::Release => self.counter = self.counter.saturating_add(1),
            Operation::ReleaseMany => self.counter = self.counter.saturating_add(request.value),
            // The counter becomes the number of waves in line, which `serve` then releases. With no wave
            // in line there is "no effect", as the manual puts it.
            Operation::ReleaseAll => self.counter = self.counter.max(self.in_line()),
        }
        self.serve();
        GwsAnswer::Go
    }

    fn meet(&mut self, request: &GwsRequest) -> GwsAnswer {
        let line = ticket(self.opened);
        match (request.ticket, self.counter.checked_sub(1)) {
            (Some(mine), _) if mine != line => return GwsAnswer::Go,
            (Some(_), _) => {}
            (None, Some(less)) => self.counter = less,
            (None, None) => {
                self.counter = request.value;
                self.opened = self.opened.wrapping_add(1) & !TICKET;
                return GwsAnswer::Go;
            }
        }
        GwsAnswer::Wait(line)
    }

    fn acquire(&mut self, mine: Option<NonZeroU32>) -> GwsAnswer {
        let mine = mine.unwrap_or_else(|| {
            self.came = self.came.wrapping_add(1) & !TICKET;
            ticket(self.came)
        });
        self.serve();
        // All up to `went` are let go; numbers go round in a circle.
        match self.went.wrapping_sub(mine.get()) & !TICKET < TICKET / 2 {
            true => GwsAnswer::Go,
            false => GwsAnswer::Wait(mine),
        }
    }

    /// Waves in the semaphore's line.
    fn in_line(&self) -> u32 {
        self.came.wrapping_sub(self.went) & !TICKET
    }

    /// Releases as many waves from the semaphore's line as the counter allows.
    fn serve(&mut self) {
        let go = self.counter.min(self.in_line());
        self.counter -= go;
        self.went = self.went.wrapping_add(go) & !TICKET;
    }
}

impl Gws {
    /// So many resources that nobody has used.
    pub fn new(count: u32) -> Self {
        Self(Mutex::new(vec![Resource::default(); count as usize]))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Resource>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer to a wave.
    pub fn ask(&self, request: &GwsRequest) -> GwsAnswer {
        match self.lock().get_mut(request.resource as usize) {
            Some(resource) => resource.ask(request),
            None => GwsAnswer::Refused,
        }
    }

    /// Whether there is anything to save.
    pub fn is_used(&self) -> bool {
        self.lock().iter().any(|r| *r != Resource::default())
    }

    /// All of them as words.
    pub fn save(&self) -> Vec<u32> {
        self.lock().iter().flat_map(|r| r.words()).collect()
    }

    /// Puts them where others were; false if the words are not those of so many.
    pub fn restore(&self, words: &[u32]) -> bool {
        let mut resources = self.lock();
        if words.len() != resources.len() * WORDS {
            return false;
        }
        for (resource, words) in resources.iter_mut().zip(words.chunks_exact(WORDS)) {
            if let &[counter, opened, came, went] = words {
                *resource = Resource {
                    counter,
                    opened: opened & !TICKET,
                    came: came & !TICKET,
                    went: went & !TICKET,
                };
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn request(operation: Operation, value: u32, ticket: Option<NonZeroU32>) -> GwsRequest {
        GwsRequest {
            operation,
            resource: 1,
            value,
            ticket,
        }
    }

    fn ask(gws: &Gws, operation: Operation, value: u32) -> GwsAnswer {
        gws.ask(&request(operation, value, None))
    }

    fn waits(gws: &Gws, operation: Operation) -> NonZeroU32 {
        match ask(gws, operation, 0) {
            GwsAnswer::Wait(ticket) => ticket,
            other => panic!("{operation:?}: {other:?}"),
        }
    }

    fn again(gws: &Gws, operation: Operation, ticket: NonZeroU32) -> bool {
        gws.ask(&request(operation, 0, Some(ticket))) == GwsAnswer::Go
    }

    #[test]
    fn the_last_wave_opens_a_barrier_and_sets_up_the_next_one() {
        let gws = Gws::new(2);
        assert_eq!(ask(&gws, Operation::Init, 2), GwsAnswer::Go);
        let first = [(); 2].map(|()| waits(&gws, Operation::Barrier));
        // Who asks again is not counted again.
        assert!((0..5).all(|_| !again(&gws, Operation::Barrier, first[0])));
        // The third; the next barrier is of two.
        assert_eq!(ask(&gws, Operation::Barrier, 1), GwsAnswer::Go);
        let second = waits(&gws, Operation::Barrier);
        assert!(again(&gws, Operation::Barrier, first[0]));
        assert!(!again(&gws, Operation::Barrier, second));
        assert_eq!(ask(&gws, Operation::Barrier, 1), GwsAnswer::Go);
        // The barrier has opened twice since this wave came, so its flag alone would not show it.
        assert!(again(&gws, Operation::Barrier, first[1]));
        assert!(again(&gws, Operation::Barrier, second));
    }

    #[test]
    fn a_barrier_of_one_wave_is_open() {
        let gws = Gws::new(2);
        for _ in 0..3 {
            assert_eq!(ask(&gws, Operation::Barrier, 0), GwsAnswer::Go);
        }
    }

    #[test]
    fn a_semaphore_lets_as_many_go_as_it_counts_in_their_order() {
        let gws = Gws::new(2);
        ask(&gws, Operation::Init, 1);
        assert_eq!(ask(&gws, Operation::Acquire, 0), GwsAnswer::Go);
        let line = [(); 6].map(|()| waits(&gws, Operation::Acquire));
        let gone = |n: usize| {
            for (at, &ticket) in line.iter().enumerate() {
                assert_eq!(again(&gws, Operation::Acquire, ticket), at < n, "{at}");
            }
        };
        gone(0);
        ask(&gws, Operation::Release, 0);
        gone(1);
        ask(&gws, Operation::ReleaseMany, 2);
        gone(3);
        ask(&gws, Operation::ReleaseAll, 0);
        gone(6);
        // Of that nothing is left; of these one.
        let late = waits(&gws, Operation::Acquire);
        ask(&gws, Operation::ReleaseMany, 2);
        assert!(again(&gws, Operation::Acquire, late));
        ask(&gws, Operation::ReleaseAll, 0);
        assert_eq!(ask(&gws, Operation::Acquire, 0), GwsAnswer::Go);
        waits(&gws, Operation::Acquire);
    }

    #[test]
    fn nobody_reaches_beyond_the_last_resource() {
        let gws = Gws::new(1);
        assert_eq!(ask(&gws, Operation::Init, 0), GwsAnswer::Refused);
        assert_eq!(
            Gws::new(0).ask(&request(Operation::Release, 0, None)),
            GwsAnswer::Refused
        );
        assert!(!gws.is_used());
    }

    #[test]
    fn what_is_saved_goes_on_and_the_resources_do_not_mix() {
        let (gws, other) = (Gws::new(2), Gws::new(2));
        ask(&gws, Operation::Init, 1);
        let ticket = waits(&gws, Operation::Barrier);
        let words = gws.save();
        assert_eq!(words.len(), 8);
        assert_eq!(words[..4], [0; 4], "resource 0 was not named");
        assert!(other.restore(&words) && !other.restore(&words[1..]));
        assert!(!again(&other, Operation::Barrier, ticket));
        assert_eq!(ask(&other, Operation::Barrier, 1), GwsAnswer::Go);
        assert!(again(&other, Operation::Barrier, ticket));
        assert!(
            !again(&gws, Operation::Barrier, ticket),
            "the one it was saved from"
        );
    }

    #[test]
    fn a_line_and_a_barrier_that_has_opened_are_saved() {
        let (gws, other) = (Gws::new(2), Gws::new(2));
        // A barrier that opened once, at which one waits again; and a line of which one was let go.
        assert_eq!(ask(&gws, Operation::Barrier, 1), GwsAnswer::Go);
        let barrier = waits(&gws, Operation::Barrier);
        let line = [(); 2].map(|()| waits(&gws, Operation::Acquire));
        ask(&gws, Operation::Release, 0);
        assert!(other.restore(&gws.save()));
        assert!(!again(&other, Operation::Barrier, barrier));
        let gone = |n: usize| {
            line.map(|ticket| again(&other, Operation::Acquire, ticket)) == [n > 0, n > 1]
        };
        assert!(gone(1));
        ask(&other, Operation::Release, 0);
        assert!(gone(2));
        assert_eq!(ask(&other, Operation::Barrier, 0), GwsAnswer::Go);
        assert!(again(&other, Operation::Barrier, barrier));
    }

    /// A wave waits as long as the flag is what it was when it came, and is 0 after Init.
    #[test]
    fn a_barrier_that_is_set_up_anew_has_its_flag_at_zero() {
        let gws = Gws::new(2);
        for (flag, goes) in [(0, false), (1, true)] {
            ask(&gws, Operation::Init, 0);
            for _ in 0..flag {
                assert_eq!(ask(&gws, Operation::Barrier, 1), GwsAnswer::Go);
            }
            ask(&gws, Operation::ReleaseMany, 2);
            let ticket = waits(&gws, Operation::Barrier);
            ask(&gws, Operation::Init, 1);
            assert_eq!(again(&gws, Operation::Barrier, ticket), goes, "{flag}");
        }
    }

    #[test]
    fn numbers_wrap() {
        let gws = Gws::new(2);
        let edge = [0, TICKET - 1, TICKET - 1, TICKET - 1];
        assert!(gws.restore(&[[0; WORDS], edge].concat()));
        let first = waits(&gws, Operation::Acquire);
        let second = waits(&gws, Operation::Acquire);
        ask(&gws, Operation::Release, 0);
        assert!(again(&gws, Operation::Acquire, first));
        assert!(!again(&gws, Operation::Acquire, second));
        ask(&gws, Operation::ReleaseAll, 0);
        assert!(again(&gws, Operation::Acquire, second));
        ask(&gws, Operation::Init, 1);
        let ticket = waits(&gws, Operation::Barrier);
        ask(&gws, Operation::Barrier, 1);
        assert!(again(&gws, Operation::Barrier, ticket));
    }

    #[test]
    fn threads_leave_every_barrier_together() {
        const THREADS: u32 = 8;
        let (gws, arrived) = (Gws::new(2), AtomicU32::new(0));
        ask(&gws, Operation::Init, THREADS - 1);
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for round in 1..=200 {
                        arrived.fetch_add(1, Ordering::SeqCst);
                        let mut ticket = None;
                        while let GwsAnswer::Wait(mine) =
                            gws.ask(&request(Operation::Barrier, THREADS - 1, ticket))
                        {
                            ticket = Some(mine);
                            std::thread::yield_now();
                        }
                        assert!(arrived.load(Ordering::SeqCst) >= round * THREADS);
                    }
                });
            }
        });
        assert_eq!(arrived.into_inner(), 200 * THREADS);
    }
}
