// SPDX-License-Identifier: MIT OR Apache-2.0

//! One round over a user queue, whichever kind of packets it takes.

use crate::engines::cp::front::slot::Slot;
use crate::engines::cp::mec::{Hqd, Mec};

impl Mec {
    /// Completes and launches packets of a user queue; whether anything happened.
    pub(crate) fn step_user(&mut self, slot: Slot) -> bool {
        let Some(mut h) = self.hqds.get_mut(slot.place()).and_then(Option::take) else {
            return false;
        };
        if h.broken {
            // Its packets stand still; what the waves send that they have launched arrives all the same.
            self.pass_all_on(&h);
        }
        let worked = match h.q.aql {
            true => self.step_aql(&mut h),
            false => self.step_commands(&mut h),
        };
        if let Some(place) = self.hqds.get_mut(slot.place()) {
            *place = Some(h);
        }
        worked
    }

    /// Completes what is done.
    pub(crate) fn complete(&mut self, h: &mut Hqd) -> bool {
        match h.q.aql {
            true => self.complete_aql(h),
            false => self.complete_commands(h),
        }
    }
}
