// SPDX-License-Identifier: MIT OR Apache-2.0

//! A device that misbehaves by rules (`--rule`, `--control`): a broken device, or a mutation that proves
//! that a test which compares results would notice.
//!
//! ```text
//! at the 3rd ADD_QUEUE: no answer
//! on UNMAP_QUEUES of doorbell 0x1000: late 5 s
//! every 100th IH entry: drop
//! at the 2000th any register access: surprise removal
//! ```
//!
//! Blocks ask what becomes of an event ([`Rules::ask`]) where they handle it. The first rule that
//! fits and whose turn it is decides; each counts the events that fit it from when it was installed.
//! `docs/misbehaviour.md` explains the language.

mod control;
mod effect;
mod event;
mod grammar;
mod holds;
mod rule;

pub use control::answer;
pub use effect::{Damage, Effect};
pub use event::{Event, Kind, POINTS};
pub use holds::{Go, Holds};
use rule::Rule;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Rules at a time.
const MOST: usize = 64;

/// Who carries out what happens to the whole device, and learns at what.
type Sink = Box<dyn Fn(Effect, &str) + Send + Sync>;

/// The rules that are installed.
#[derive(Default)]
pub struct Rules {
    /// A bit for each kind of event that a rule is about: most events are no rule's.
    kinds: AtomicU32,
    /// How often rules were installed or removed.
    changes: AtomicU64,
    installed: Mutex<Vec<Installed>>,
    next: AtomicU64,
    sink: OnceLock<Sink>,
}

/// A rule at work.
struct Installed {
    number: u64,
    text: String,
    rule: Rule,
    /// How many events fitted it, and at how many it did something.
    seen: u64,
    done: u64,
    /// It does nothing any more.
    over: bool,
}

impl Rules {
    /// No rules.
    pub fn none() -> Arc<Self> {
        Arc::default()
    }

    /// These rules.
    ///
    /// # Errors
    /// One of them is none; the text says which, and why.
    pub fn of<T: AsRef<str>>(texts: &[T]) -> Result<Arc<Self>, String> {
        let rules = Self::none();
        for text in texts.iter().map(AsRef::as_ref) {
            let added = rules.add(text);
            added.map_err(|why| format!("rule '{text}': {why}"))?;
        }
        Ok(rules)
    }

    /// Installs a rule behind the others; its number.
    ///
    /// # Errors
    /// It is none, or there are too many.
    pub fn add(&self, text: &str) -> Result<u64, String> {
        let rule = grammar::parse(text)?;
        let mut installed = self.installed();
        if installed.len() >= MOST {
            return Err(format!("there are {MOST} rules already"));
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        installed.push(Installed {
            number,
            text: text.trim().into(),
            rule,
            seen: 0,
            done: 0,
            over: false,
        });
        self.changed(&installed);
        Ok(number)
    }

    /// Removes a rule, or all of them; how many that were.
    pub fn remove(&self, number: Option<u64>) -> usize {
        let mut installed = self.installed();
        let before = installed.len();
        installed.retain(|i| number.is_some_and(|number| i.number != number));
        self.changed(&installed);
        before - installed.len()
    }

    /// Takes power from the device and gives it back. Returns when it has started, as rules say; `false` without
    /// a device.
    pub fn power_cycle(&self) -> bool {
        let sink = self.sink.get();
        sink.map(|sink| sink(Effect::PowerCycle, "")).is_some()
    }

    /// The whole chip was reset: rules that are for the time until then do nothing any more, and are still
    /// listed.
    pub fn chip_was_reset(&self) {
        for i in self.installed().iter_mut() {
            i.over |= i.rule.until_reset;
        }
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// A line for each rule: its number, how many events fitted, at how many it did something, its text.
    pub fn list(&self) -> Vec<String> {
        let line =
            |i: &Installed| format!("{} seen {} done {}: {}", i.number, i.seen, i.done, i.text);
        self.installed().iter().map(line).collect()
    }

    /// What becomes of an event; `None` for what always becomes of it. What happens to the whole device
    /// is passed on, and is nothing that whoever asks has to do.
    pub fn ask(&self, event: &Event<'_>) -> Option<Effect> {
        if !self.is_about(event.kind) {
            return None;
        }
        let mut decided = None;
        for i in self.installed().iter_mut() {
            if i.over || !i.rule.point.fits(event) {
                continue;
            }
            i.seen += 1;
            if decided.is_none() && i.rule.when.is(i.seen) {
                i.done += 1;
                decided = Some(i.rule.effect);
            }
        }
        let wide = decided.filter(|effect| effect.is_device_wide());
        if let (Some(effect), Some(sink)) = (wide, self.sink.get()) {
            sink(effect, &event.to_string());
        }
        decided
    }

    /// Whether a rule is about a kind of event.
    pub fn is_about(&self, kind: Kind) -> bool {
        self.kinds.load(Ordering::Relaxed) & (1 << kind as u32) != 0
    }

    /// A number that changes with the rules: what was decided by them does not hold any more.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Sets who carries out what happens to the whole device. It must not wait for who asks.
    pub fn set_sink(&self, sink: impl Fn(Effect, &str) + Send + Sync + 'static) {
        let _ = self.sink.set(Box::new(sink));
    }

    fn changed(&self, installed: &[Installed]) {
        let kinds = installed.iter().flat_map(|i| &i.rule.point.kinds);
        let bits = kinds.fold(0, |bits, kind| bits | (1u32 << *kind as u32));
        self.kinds.store(bits, Ordering::Relaxed);
        self.changes.fetch_add(1, Ordering::Release);
    }

    fn installed(&self) -> MutexGuard<'_, Vec<Installed>> {
        self.installed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether no firmware runs, as before PSP load.
pub fn is_cold(rules: &Rules) -> bool {
    rules.ask(&Event::of(Kind::PowerOn)) == Some(Effect::Cold)
}

/// Whether another driver has used the device: then registers that are a driver's to set hold what that
/// one left.
pub fn was_used(rules: &Rules) -> bool {
    rules.ask(&Event::of(Kind::PowerOn)) == Some(Effect::Used)
}

/// The revision of the micro engine scheduler's firmware, if it is another than usual.
pub fn mes_revision(rules: &Rules) -> Option<u32> {
    match rules.ask(&Event::of(Kind::PowerOn)) {
        Some(Effect::MesRevision(revision)) => Some(revision),
        _ => None,
    }
}

/// Which node of a hive the device is, if it is in one.
pub fn node(rules: &Rules) -> Option<u8> {
    match rules.ask(&Event::of(Kind::PowerOn)) {
        Some(Effect::Node(id)) => Some(id as u8),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(rules: &Rules, event: Event<'_>, times: usize) -> Vec<bool> {
        let ask = |_| rules.ask(&event).is_some();
        (0..times).map(ask).collect()
    }

    #[test]
    fn rules_count_the_events_that_fit_them() {
        let entry = Event::of(Kind::IhEntry);
        for (rule, expected) in [
            (
                "at the 3rd IH entry: drop",
                [false, false, true, false, false, false],
            ),
            (
                "from the 3rd IH entry: drop",
                [false, false, true, true, true, true],
            ),
            (
                "at the 3rd IH entry: drop from now on",
                [false, false, true, true, true, true],
            ),
            (
                "every 3rd IH entry: drop",
                [false, false, true, false, false, true],
            ),
            ("on IH entry: drop", [true; 6]),
            ("on IH entry of source 181: drop", [false; 6]),
            ("on dispatch: hang", [false; 6]),
        ] {
            let rules = Rules::of(&[rule]).unwrap();
            assert_eq!(asked(&rules, entry, 6), expected, "{rule}");
        }
        let rules = Rules::of(&["at the 2nd IH entry of source 181: drop"]).unwrap();
        let (other, its) = ([("source", 182)], [("source", 181), ("client", 20)]);
        assert_eq!(asked(&rules, entry.with(&its), 1), [false]);
        assert_eq!(asked(&rules, entry.with(&other), 2), [false, false]);
        assert_eq!(asked(&rules, entry.with(&its), 2), [true, false]);
        assert_eq!(
            rules.list(),
            ["1 seen 3 done 1: at the 2nd IH entry of source 181: drop"]
        );
    }

    #[test]
    fn the_first_rule_whose_turn_it_is_decides() {
        let rules = Rules::of(&["at the 2nd dispatch: fail", "on dispatch: hang"]).unwrap();
        let ask = || rules.ask(&Event::of(Kind::Dispatch));
        assert_eq!(
            [ask(), ask(), ask()],
            [
                Some(Effect::Hang),
                Some(Effect::Fail(0xff)),
                Some(Effect::Hang)
            ]
        );
        assert_eq!((rules.remove(Some(2)), rules.remove(Some(2))), (1, 0));
        assert_eq!(ask(), None);
        assert_eq!((rules.remove(None), rules.list().len()), (1, 0));
        assert!(!rules.is_about(Kind::Dispatch));
    }

    #[test]
    fn a_reset_of_the_chip_ends_rules_that_are_until_then() {
        let rules = Rules::of(&["on dispatch: fail until reset", "on dispatch: hang"]).unwrap();
        let ask = || rules.ask(&Event::of(Kind::Dispatch));
        let changes = rules.changes();
        assert_eq!(ask(), Some(Effect::Fail(0xff)));
        rules.chip_was_reset();
        assert_ne!(rules.changes(), changes);
        assert_eq!([ask(), ask()], [Some(Effect::Hang); 2]);
        assert_eq!(
            rules.list()[0],
            "1 seen 1 done 1: on dispatch: fail until reset"
        );
    }

    #[test]
    fn what_happens_to_the_device_is_passed_on() {
        let (rules, heard) = (
            Rules::of(&["on read of X: surprise removal"]).unwrap(),
            Arc::new(AtomicU64::new(0)),
        );
        let its = heard.clone();
        rules.set_sink(move |effect, at| {
            assert_eq!((effect, at), (Effect::SurpriseRemoval, "read of X"));
            its.fetch_add(1, Ordering::Relaxed);
        });
        rules.ask(&Event::named(Kind::Read, "Y"));
        assert_eq!(heard.load(Ordering::Relaxed), 0);
        rules.ask(&Event::named(Kind::Read, "X"));
        assert_eq!(heard.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_flood_of_rules_is_refused() {
        let rules = Rules::none();
        let added = |_| rules.add("on dispatch: hang").is_ok();
        assert_eq!((0..MOST + 1).map(added).filter(|ok| *ok).count(), MOST);
        assert!(Rules::of(&["on dispatch: sing"])
            .err()
            .unwrap()
            .starts_with("rule 'on dispatch: sing': expected"));
    }
}
