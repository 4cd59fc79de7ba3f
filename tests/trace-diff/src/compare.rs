// SPDX-License-Identifier: MIT OR Apache-2.0
//! The comparison, and its report.

use crate::same::Same;
use crate::seen::{Key, Seen};
use crate::verdicts::{Kind, Verdicts};
use std::collections::BTreeMap;
use std::fmt;

/// Where the security processor's orders are among the differences.
const PSP: &str = "PSP";

/// Something that only one driver does, or both in another way.
struct Difference {
    kind: Kind,
    place: String,
    name: String,
    /// Values of both, as far as there are any.
    values: String,
    /// The verdict on it, by its number in the table.
    verdict: Option<usize>,
}

/// What came out.
pub struct Report<'a> {
    /// What both did alike.
    same: BTreeMap<Key, String>,
    /// What both asked of the security processor, in order.
    asked: Vec<String>,
    /// What both did alike when they went.
    ended: BTreeMap<Key, String>,
    differences: Vec<Difference>,
    verdicts: &'a Verdicts,
}

/// Compares what two drivers did.
pub fn compare<'a>(amdgpu: &Seen, rkfd: &Seen, verdicts: &'a Verdicts) -> Report<'a> {
    let mut report = Report {
        same: BTreeMap::new(),
        asked: Vec::new(),
        ended: BTreeMap::new(),
        differences: Vec::new(),
        verdicts,
    };
    for ((place, name), theirs) in &amdgpu.done {
        match rkfd.done.get(&(place.clone(), name.clone())) {
            None => report.differ(Kind::Amdgpu, place, name, theirs.clone()),
            Some(ours) if ours != theirs => {
                report.differ(Kind::Value, place, name, format!("{theirs} {ours}"));
            }
            Some(_) => {
                let key = (place.clone(), name.clone());
                report.same.insert(key, theirs.clone());
            }
        }
    }
    for ((place, name), ours) in &rkfd.done {
        if !amdgpu.done.contains_key(&(place.clone(), name.clone())) {
            report.differ(Kind::Rkfd, place, name, ours.clone());
        }
    }
    report.orders(&amdgpu.asked, &rkfd.asked);
    let ended = rkfd.ended.iter();
    let ended = ended.filter(|(key, value)| amdgpu.ended.get(*key) == Some(*value));
    report.ended = ended
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    report
}

impl Report<'_> {
    fn differ(&mut self, kind: Kind, place: &str, name: &str, values: String) {
        let verdicts = &self.verdicts.0;
        let verdict = verdicts.iter().position(|v| v.is_about(kind, place, name));
        self.differences.push(Difference {
            kind,
            place: place.into(),
            name: name.into(),
            values,
            verdict,
        });
    }

    /// What both ask of the security processor must come in the same order.
    fn orders(&mut self, amdgpu: &[String], rkfd: &[String]) {
        for (kind, these, others) in [(Kind::Amdgpu, amdgpu, rkfd), (Kind::Rkfd, rkfd, amdgpu)] {
            for order in these.iter().filter(|order| !others.contains(order)) {
                self.differ(kind, PSP, order, "asked".into());
            }
        }
        let both = |these: &[String], others: &[String]| -> Vec<String> {
            let shared = these.iter().filter(|order| others.contains(order));
            shared.cloned().collect()
        };
        let (theirs, ours) = (both(amdgpu, rkfd), both(rkfd, amdgpu));
        if theirs == ours {
            self.asked = theirs;
        } else {
            self.differ(Kind::Value, PSP, "order", format!("{theirs:?} {ours:?}"));
        }
    }

    /// Verdicts that no difference needs, but for those on what depends on time.
    fn stale(&self) -> impl Iterator<Item = &crate::verdicts::Verdict> {
        let used = |n: usize| self.differences.iter().any(|d| d.verdict == Some(n));
        let verdicts = self.verdicts.0.iter().enumerate();
        let stale = move |(n, verdict): &(usize, &crate::verdicts::Verdict)| {
            !used(*n) && !verdict.may_be_absent()
        };
        verdicts.filter(stale).map(|(_, v)| v)
    }

    /// What is the same, or differs with a verdict.
    pub fn passed(&self) -> usize {
        let known = self.differences.iter().filter(|d| d.verdict.is_some());
        self.alike() + known.count()
    }

    fn alike(&self) -> usize {
        self.same.len() + self.asked.len()
    }

    /// What is the same, but for what a verdict says isn't always.
    pub fn same(&self) -> Same {
        let is_known = |(place, name): &Key| {
            let verdicts = self.verdicts.0.iter();
            verdicts
                .filter(|verdict| verdict.may_be_absent())
                .any(|verdict| verdict.is_about_any(place, name))
        };
        // A program's memory is elsewhere in each run.
        let is_place = |(place, name): &Key| {
            place == "MQD.User" && ["_ADDR", "_BASE"].iter().any(|word| name.contains(word))
        };
        let same = (self.same.iter()).filter(|(key, _)| !is_known(key) && !is_place(key));
        let same = same.map(|(key, value)| (key.clone(), value.clone()));
        Same {
            done: same.collect(),
            asked: self.asked.clone(),
            ended: self.ended.clone(),
        }
    }

    /// Differences without a verdict, and verdicts without a difference.
    pub fn failed(&self) -> usize {
        let unknown = self.differences.iter().filter(|d| d.verdict.is_none());
        unknown.count() + self.stale().count()
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut by_place: BTreeMap<&str, Vec<&Difference>> = BTreeMap::new();
        for d in &self.differences {
            by_place.entry(&d.place).or_default().push(d);
        }
        for (place, all) in by_place {
            writeln!(f, "{place}: {} differences", all.len())?;
            for d in all {
                let (meaning, why) = match d.verdict.and_then(|n| self.verdicts.0.get(n)) {
                    Some(verdict) => (&verdict.meaning[..], &verdict.why[..]),
                    None => ("UNEXPLAINED", ""),
                };
                let Difference {
                    kind, name, values, ..
                } = d;
                writeln!(f, "  {meaning:<11} {kind:<6} {name} {values} {why}")?;
            }
        }
        for verdict in self.stale() {
            writeln!(
                f,
                "line {} of the verdicts: no such difference any more",
                verdict.line
            )?;
        }
        writeln!(f, "{} the same in both", self.alike())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(done: &[(&str, &str, &str)], asked: &[&str]) -> Seen {
        let done = done.iter();
        Seen {
            done: done
                .map(|(place, name, value)| {
                    ((place.to_string(), name.to_string()), value.to_string())
                })
                .collect(),
            asked: asked.iter().map(|order| order.to_string()).collect(),
            ended: BTreeMap::new(),
        }
    }

    fn counts(a: &Seen, b: &Seen, verdicts: &str) -> (usize, usize) {
        let verdicts = Verdicts::parse(verdicts).unwrap();
        let report = compare(a, b, &verdicts);
        (report.passed(), report.failed())
    }

    #[test]
    fn a_difference_needs_a_verdict_and_a_verdict_a_difference() {
        let a = seen(
            &[("Gc", "A", "1"), ("Gc", "B", "1"), ("Gc", "C", "1")],
            &["x", "y"],
        );
        let b = seen(
            &[("Gc", "A", "1"), ("Gc", "B", "2"), ("Gc", "D", "1")],
            &["x", "y"],
        );
        assert_eq!(counts(&a, &b, ""), (3, 3));
        let all = "value Gc B address so\namdgpu Gc C unused so\nrkfd Gc * harmless so\n";
        assert_eq!(counts(&a, &b, all), (6, 0));
        let one_more = format!("{all}amdgpu Gc E missing so\n");
        assert_eq!(counts(&a, &b, &one_more), (6, 1));
        let maybe = format!("{all}amdgpu Gc E timing so\n");
        assert_eq!(counts(&a, &b, &maybe), (6, 0));
    }

    #[test]
    fn another_order_is_a_difference() {
        let (a, b) = (seen(&[], &["x", "y", "z"]), seen(&[], &["y", "x"]));
        assert_eq!(counts(&a, &b, "amdgpu PSP z unused so"), (1, 1));
    }
}
