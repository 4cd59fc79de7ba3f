// SPDX-License-Identifier: MIT OR Apache-2.0

//! A user queue that doesn't let go, on request: the first one that is connected, as long as waves of
//! it run, until it is reset ([`Fault::HangQueue`]), or until its pipe is ([`Fault::WedgeQueue`]).

use crate::engines::cp::front::hqd::Role;
use crate::engines::cp::front::slot::Slot;
use crate::engines::cp::mec::{Mec, Stop};
use crate::inject::Fault;

/// The queue, by the address of its MQD.
#[derive(Default)]
pub(crate) struct BadQueue {
    mqd: Option<u64>,
    over: bool,
}

impl BadQueue {
    /// Whether the queue of this HQD must stay, though it was asked to leave.
    pub fn stays(&mut self, mec: &mut Mec, slot: Slot) -> bool {
        let faults = &mec.env.faults();
        if self.over || !faults.has(Fault::HangQueue) && !faults.has(Fault::WedgeQueue) {
            return false;
        }
        let Some(h) = mec.hqd(slot).filter(|h| h.role == Role::User) else {
            return false;
        };
        let bad = *self.mqd.get_or_insert(h.q.mqd);
        bad == h.q.mqd && h.stop.is_some_and(|stop| stop != Stop::Reset) && h.launched.has_waves()
    }

    /// Whether a reset of this HQD's queue does nothing.
    pub fn is_wedged(&self, mec: &mut Mec, slot: Slot) -> bool {
        mec.env.faults().has(Fault::WedgeQueue) && self.is(mec, slot)
    }

    /// The queue of this HQD is taken off by force: if it is the bad one, no other is bad.
    pub fn ends(&mut self, mec: &mut Mec, slot: Slot) {
        self.over |= self.is(mec, slot);
    }

    fn is(&self, mec: &mut Mec, slot: Slot) -> bool {
        let queue = mec.hqd(slot).map(|h| h.q.mqd);
        !self.over && self.mqd.is_some() && self.mqd == queue
    }
}
