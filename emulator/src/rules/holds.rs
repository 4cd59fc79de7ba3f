// SPDX-License-Identifier: MIT OR Apache-2.0

//! What was decided about things that are looked at again and again until they go on, such as the
//! packet at a ring's read pointer: the rules count each once.

use super::{Effect, Event, Rules};
use std::collections::HashMap;
use std::time::Instant;

/// How a thing goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Go {
    /// Not now.
    Wait,
    /// It goes on, and this becomes of it; it is the first look at it.
    First(Effect),
    /// It goes on. This was decided when it was looked at before.
    On(Option<Effect>),
}

/// Decisions, one for each place where things wait. Of more than [`MOST`], those that went on are forgotten.
#[derive(Default)]
pub struct Holds(HashMap<u64, Held>);

const MOST: usize = 4096;

struct Held {
    /// Which of the place's things.
    which: u64,
    effect: Option<Effect>,
    since: Instant,
    /// [`Rules::changes`] then.
    changes: u64,
}

impl Holds {
    /// What becomes of a thing at a place. One that hangs does so until rules are changed.
    pub fn ask(&mut self, rules: &Rules, place: u64, which: u64, event: &Event<'_>) -> Go {
        let known = self.0.get(&place).filter(|held| held.which == which);
        if let Some(held) = known {
            return match held.effect {
                Some(Effect::Hang) if held.changes == rules.changes() => Go::Wait,
                Some(Effect::Late(time)) if held.since.elapsed() < time => Go::Wait,
                Some(Effect::Hang | Effect::Late(_)) => Go::On(None),
                effect => Go::On(effect),
            };
        }
        let effect = rules.ask(event);
        let held = Held {
            which,
            effect,
            since: Instant::now(),
            changes: rules.changes(),
        };
        if self.0.len() >= MOST {
            let waits = |held: &Held| matches!(held.effect, Some(Effect::Hang | Effect::Late(_)));
            self.0.retain(|_, held| waits(held));
        }
        self.0.insert(place, held);
        match effect {
            Some(Effect::Hang | Effect::Late(_)) => Go::Wait,
            Some(effect) => Go::First(effect),
            None => Go::On(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Kind;
    use std::time::Duration;

    #[test]
    fn a_thing_is_decided_once() {
        let rules = Rules::of(&["at the 2nd dispatch: fail"]).unwrap();
        let event = Event::of(Kind::Dispatch);
        let mut holds = Holds::default();
        let mut ask = |place, which| holds.ask(&rules, place, which, &event);
        assert_eq!([ask(0, 10), ask(0, 10), ask(0, 10)], [Go::On(None); 3]);
        assert_eq!(ask(1, 10), Go::First(Effect::Fail(0xff)));
        assert_eq!(ask(1, 10), Go::On(Some(Effect::Fail(0xff))));
        assert_eq!(ask(0, 11), Go::On(None));
    }

    #[test]
    fn what_hangs_goes_on_when_the_rules_change() {
        let rules = Rules::of(&[
            "at the 1st dispatch: hang",
            "at the 2nd dispatch: late 1 ms",
        ])
        .unwrap();
        let event = Event::of(Kind::Dispatch);
        let mut holds = Holds::default();
        let mut ask = |which| holds.ask(&rules, 0, which, &event);
        assert_eq!([ask(0), ask(0)], [Go::Wait; 2]);
        rules.remove(Some(1));
        assert_eq!(ask(0), Go::On(None));
        assert_eq!(ask(1), Go::Wait);
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(ask(1), Go::On(None));
    }
}
