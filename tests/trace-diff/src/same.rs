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
