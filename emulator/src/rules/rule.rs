// SPDX-License-Identifier: MIT OR Apache-2.0

//! One rule: when, at what, and what becomes of it.

use super::effect::Effect;
use super::event::{Event, Kind};

/// Which of the events that fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// Each.
    Each,
    /// The n-th, from 1.
    At(u64),
    /// The n-th and all behind it.
    From(u64),
    /// Each n-th.
    Every(u64),
}

impl When {
    /// Whether it is the event that fits as number `n`, from 1.
    pub fn is(self, n: u64) -> bool {
        match self {
            Self::Each => true,
            Self::At(at) => n == at,
            Self::From(at) => n >= at,
            Self::Every(step) => n % step.max(1) == 0,
        }
    }
}

/// What a rule is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Point {
    /// Kinds of events.
    pub kinds: Vec<Kind>,
    /// The packet's ring, if it matters.
    pub ring: Option<String>,
    /// The name of the packet or register, if it matters.
    pub name: Option<String>,
    /// What the event must say about itself.
    pub keys: Vec<(&'static str, u64)>,
}

impl Point {
    /// Whether an event fits.
    pub fn fits(&self, event: &Event<'_>) -> bool {
        self.kinds.contains(&event.kind)
            && self.ring.as_ref().is_none_or(|ring| ring == event.ring)
            && self.name.as_ref().is_none_or(|name| name == event.name)
            && self.keys.iter().all(|key| event.keys.contains(key))
    }
}

/// A rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    /// Which of the events.
    pub when: When,
    /// What it is about.
    pub point: Point,
    /// What becomes of them.
    pub effect: Effect,
    /// It does nothing any more once the whole chip was reset.
    pub until_reset: bool,
}
