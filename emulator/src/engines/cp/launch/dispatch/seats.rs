// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where the waves of a dispatch are, and whether performance counters count them there.

use super::Dispatch;
use crate::engines::cp::front::counters::event::Waves;
use crate::engines::cp::front::waves::Occupant;
use crate::engines::cp::launch::group::Group;
use crate::engines::cp::launch::window::Seat;
use rkfd_isa::ComputeUnit;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

impl Dispatch {
    /// A worker begins a work-group: its waves are in slots from now on, if there are any.
    pub(super) fn seat(self: &Arc<Self>, group: &Group, place: u32) {
        let who: Weak<dyn Occupant> = Arc::downgrade(self) as _;
        let allowed = self.lock().allowed;
        let taken = self
            .slots
            .take(self.share.xcc, group.numbers(), (who, place), allowed);
        if let Some(taken) = taken.as_ref().filter(|_| self.is_counted()) {
            let waves = Waves {
                count: group.waves(),
                lanes: self.kernel.lanes,
            };
            self.counters.begun(self.share.xcc, taken.unit(), waves);
        }
        let mut inner = self.lock();
        inner
            .slots
            .extend(taken.map(|taken| (place, Arc::new(taken))));
        inner.runs(group, place, self.vmid.load(Ordering::Acquire));
    }

    /// Whether performance counters count what its waves do at the moment.
    pub(super) fn is_counted(&self) -> bool {
        let vmid = self.vmid.load(Ordering::Acquire);
        let (counters, xcc) = (&self.counters, self.share.xcc);
        counters.are_on(xcc) && counters.count(xcc, self.slot(), vmid, self.counted)
    }

    /// A work-group is about to run: what it does is counted if somebody wants to know. While somebody counts look-ups,
    /// all waves of the XCC have caches.
    pub(super) fn begin_count(&self, cu: &mut ComputeUnit) {
        if self.is_counted() {
            cu.begin_tally();
        }
        if self.counters.count_lookups(self.share.xcc) {
            cu.begin_traffic();
        }
    }

    /// It has run.
    pub(super) fn end_count(&self, cu: &mut ComputeUnit, seat: Option<&Seat>) {
        let (tally, traffic) = (cu.end_tally(), cu.end_traffic());
        let Some((tally, seat)) = tally.zip(seat) else {
            return;
        };
        let place = seat.taken.unit();
        self.counters.executed(self.share.xcc, place, &tally);
        if let Some(traffic) = traffic {
            self.counters.asked(self.share.xcc, place, &traffic);
        }
    }

    /// Where the waves of a work-group are.
    pub(super) fn seat_of(&self, place: u32) -> Option<Seat> {
        let inner = self.lock();
        let taken = inner.slots.get(&place)?.clone();
        Some(Seat {
            taken,
            hqd: inner.slot,
            ids: self.registers.ids,
        })
    }
}
