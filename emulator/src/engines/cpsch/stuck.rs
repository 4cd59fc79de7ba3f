// SPDX-License-Identifier: MIT OR Apache-2.0

//! User queues that don't let go, by rules about `queue stop`: as long as waves of one run, until it is
//! reset ([`Effect::Hang`]), or until its pipe is ([`Effect::Wedge`]).

use crate::engines::cp::front::hqd::Role;
use crate::engines::cp::front::slot::Slot;
use crate::engines::cp::mec::{Mec, Stop};
use crate::rules::{Effect, Event, Kind};

/// The queues, each by the address of its MQD.
#[derive(Default)]
pub(crate) struct BadQueues {
    /// All that were connected while a rule was about them: a queue's number is its place.
    seen: Vec<u64>,
    /// Those that were asked to leave and have not yet; the rules are asked once for each time.
    asked: Vec<u64>,
    bad: Vec<(u64, Effect)>,
}

impl BadQueues {
    /// Whether the queue of this HQD must stay, though it was asked to leave.
    pub fn stays(&mut self, mec: &mut Mec, slot: Slot) -> bool {
        let env = mec.env.clone();
        if !env.rules().is_about(Kind::Stop) && self.bad.is_empty() {
            return false;
        }
        let Some(h) = mec.hqd(slot).filter(|h| h.role == Role::User) else {
            return false;
        };
        let mqd = h.q.mqd;
        if !self.seen.contains(&mqd) {
            self.seen.push(mqd);
        }
        let stops = h.stop.is_some_and(|stop| stop != Stop::Reset) && h.launched.has_waves();
        if !stops {
            self.asked.retain(|asked| *asked != mqd);
            return false;
        }
        if !self.asked.contains(&mqd) {
            self.asked.push(mqd);
            let number = self.seen.iter().position(|seen| *seen == mqd);
            let keys = [
                ("queue", number.map_or(0, |at| at as u64 + 1)),
                ("doorbell", h.q.doorbell.into()),
                ("pasid", h.owner.pasid.into()),
            ];
            let stop = Event::of(Kind::Stop).with(&keys);
            if let Some(effect) = env.rules().ask(&stop) {
                self.bad.retain(|(bad, _)| *bad != mqd);
                self.bad.push((mqd, effect));
            }
        }
        self.effect(mqd).is_some()
    }

    /// Whether a reset of this HQD's queue does nothing.
    pub fn is_wedged(&self, mec: &mut Mec, slot: Slot) -> bool {
        let mqd = mec.hqd(slot).map(|h| h.q.mqd);
        mqd.and_then(|mqd| self.effect(mqd)) == Some(Effect::Wedge)
    }

    /// The queue of this HQD is taken off by force: if it is a bad one, it is no more.
    pub fn ends(&mut self, mec: &mut Mec, slot: Slot) {
        let mqd = mec.hqd(slot).map(|h| h.q.mqd);
        self.bad.retain(|(bad, _)| Some(*bad) != mqd);
    }

    fn effect(&self, mqd: u64) -> Option<Effect> {
        let found = self.bad.iter().find(|(bad, _)| *bad == mqd);
        found.map(|(_, effect)| *effect)
    }
}
