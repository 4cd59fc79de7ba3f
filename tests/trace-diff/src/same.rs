// SPDX-License-Identifier: MIT OR Apache-2.0
//! What stock amdgpu and the module do alike, as it is noted: a line has a place, a name and a value.

use crate::seen::{Key, Seen};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fmt;

/// Where the security processor's orders are.
const PSP: &str = "PSP";
/// What stands in front of the place of what is done when the driver goes.
const END: &str = "End.";
/// What both do.
#[derive(Default, PartialEq, Eq, Debug)]
pub struct Same {
    /// By place and name.
    pub done: BTreeMap<Key, String>,
    /// What both ask of the security processor, in order.
    pub asked: Vec<String>,
    /// What both write when they go.
    pub ended: BTreeMap<Key, String>,
}

impl Same {
    /// Reads a note.
    ///
    /// # Errors
    ///
    /// A line that is none, by its number.
    pub fn parse(text: &str) -> Result<Self> {
        let mut same = Self::default();
        let lines = text.lines().enumerate();
        for (n, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
            let mut words = line.split_whitespace().map(String::from);
            let mut next = || words.next().with_context(|| format!("line {}", n + 1));
            match (next()?, next()?, next()?) {
                (place, order, _) if place == PSP => same.asked.push(order),
                (place, name, value) => {
                    let (all, place) = match place.strip_prefix(END) {
                        Some(place) => (&mut same.ended, place.to_owned()),
                        None => (&mut same.done, place),
                    };
                    all.insert((place, name), value);
                }
            }
        }
        Ok(same)
    }

    /// What isn't so in a run of the module.
    pub fn missing_in(&self, seen: &Seen) -> Vec<String> {
        let start = lacking("", &self.done, &seen.done);
        let mut all: Vec<_> = start
            .chain(lacking(END, &self.ended, &seen.ended))
            .collect();
        let mut asked = seen.asked.iter();
        // Each behind the one before.
        let missing = self
            .asked
            .iter()
            .find(|order| !asked.any(|got| got == *order));
        all.extend(missing.map(|order| format!("{PSP} isn't asked {order}, or too early")));
        all
    }

    /// Lines that only one of them has.
    pub fn differences(&self, noted: &Self) -> Vec<String> {
        let lines = |same: &Self| {
            same.to_string()
                .lines()
                .map(String::from)
                .collect::<Vec<_>>()
        };
        let (now, before) = (lines(self), lines(noted));
        let new = now.iter().filter(|line| !before.contains(line));
        let old = before.iter().filter(|line| !now.contains(line));
        let new = new.map(|line| format!("'{line}' isn't noted"));
        let mut all: Vec<_> = new
            .chain(old.map(|line| format!("'{line}' isn't so")))
            .collect();
        if all.is_empty() && now != before {
            all.push("the security processor is asked in another order".into());
        }
        all
    }
}

/// What isn't as noted.
fn lacking<'a>(
    front: &'a str,
    noted: &'a BTreeMap<Key, String>,
    seen: &'a BTreeMap<Key, String>,
) -> impl Iterator<Item = String> + 'a {
    noted
        .iter()
        .filter_map(move |(key @ (place, name), value)| {
            let got = seen.get(key).map_or("nothing", |got| got.as_str());
            let differs = got != value;
            differs.then(|| format!("{front}{place} {name}: amdgpu has {value}, this run {got}"))
        })
}

impl fmt::Display for Same {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "# What stock amdgpu and the module do alike up to the first dispatch, and after the last ({END}): place, name,\n\
             # last value. Written by tests/trace-diff/run --note."
        )?;
        for (front, all) in [("", &self.done), (END, &self.ended)] {
            for ((place, name), value) in all {
                writeln!(f, "{front}{place} {name} {value}")?;
            }
        }
        for order in &self.asked {
            writeln!(f, "{PSP} {order} asked")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTE: &str = "Gc A 0x1\nGc B 0x2\nEnd.Gc A 0x0\nPSP x asked\nPSP y asked\n";

    fn seen(done: &[(&str, &str)], asked: &[&str]) -> Seen {
        let all = |done: &[(&str, &str)]| {
            let done = done.iter();
            done.map(|(name, value)| (("Gc".into(), name.to_string()), value.to_string()))
                .collect()
        };
        Seen {
            done: all(done),
            asked: asked.iter().map(|order| order.to_string()).collect(),
            ended: all(&[("A", "0x0")]),
        }
    }

    #[test]
    fn a_run_has_what_is_noted_and_may_have_more() {
        let same = Same::parse(NOTE).unwrap();
        let all = [("A", "0x1"), ("B", "0x2"), ("C", "0x3")];
        let missing = |done: &[(&str, &str)], asked: &[&str]| same.missing_in(&seen(done, asked));
        assert!(missing(&all, &["w", "x", "y"]).is_empty());
        assert_eq!(missing(&all[1..], &["x", "y"]).len(), 1);
        assert_eq!(missing(&[("A", "0x0"), ("B", "0x2")], &["x", "y"]).len(), 1);
        assert_eq!(missing(&all, &["y", "x"]).len(), 1);
        let kept = Seen {
            ended: BTreeMap::new(),
            ..seen(&all, &["x", "y"])
        };
        assert_eq!(same.missing_in(&kept).len(), 1);
    }

    #[test]
    fn what_is_written_is_read() {
        let same = Same::parse(NOTE).unwrap();
        assert_eq!(Same::parse(&same.to_string()).unwrap(), same);
        assert!(same.differences(&same).is_empty());
        let other =
            Same::parse("Gc A 0x1\nGc B 0x3\nEnd.Gc A 0x0\nPSP x asked\nPSP y asked\n").unwrap();
        assert_eq!(same.differences(&other).len(), 2);
        let turned =
            Same::parse("Gc A 0x1\nGc B 0x2\nEnd.Gc A 0x0\nPSP y asked\nPSP x asked\n").unwrap();
        assert_eq!(same.differences(&turned).len(), 1);
        assert!(Same::parse("Gc A\n").is_err());
    }

    #[test]
    fn both_chips_have_a_note() {
        for text in [
            include_str!("../mi308x.same"),
            include_str!("../navi48.same"),
        ] {
            let same = Same::parse(text).unwrap();
            assert!(!same.done.is_empty() && !same.asked.is_empty() && !same.ended.is_empty());
        }
    }
}
