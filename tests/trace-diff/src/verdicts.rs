// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of verdicts: which differences are known, and why each is as it is.

use anyhow::{bail, ensure, Context, Result};
use std::fmt;

/// What differs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Only amdgpu does it.
    Amdgpu,
    /// Only the module does it.
    Rkfd,
    /// Both do, with other values.
    Value,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Amdgpu => "amdgpu",
            Self::Rkfd => "rkfd",
            Self::Value => "value",
        })
    }
}

/// What a difference means.
const MEANINGS: [&str; 5] = [
    // Where something lies in memory: each driver has its own places.
    "address",  // It changes nothing for what the module does.
    "harmless", // The same, and it depends on time whether it is there.
    TIMING,     // The other driver has it for something that the module does not have.
    "unused",   // It is to be mended.
    "missing",
];
const TIMING: &str = "timing";

/// One line.
pub struct Verdict {
    /// What differs.
    pub kind: Kind,
    place: String,
    name: String,
    /// What that means.
    pub meaning: String,
    /// Why.
    pub why: String,
    /// Its line in the file.
    pub line: usize,
}

impl Verdict {
    /// Whether it is about this.
    pub fn is_about(&self, kind: Kind, place: &str, name: &str) -> bool {
        self.kind == kind && self.is_about_any(place, name)
    }

    /// Whether it is about this in whichever way it differs.
    pub fn is_about_any(&self, place: &str, name: &str) -> bool {
        fits(&self.place, place) && fits(&self.name, name)
    }

    /// Whether there may be no such difference in a run.
    pub fn may_be_absent(&self) -> bool {
        self.meaning == TIMING
    }
}

/// The table.
pub struct Verdicts(pub Vec<Verdict>);

impl Verdicts {
    /// Reads lines of `KIND PLACE NAME MEANING WHY...`; in place and name a star stands for anything.
    ///
    /// # Errors
    ///
    /// A line that is none, by its number.
    pub fn parse(text: &str) -> Result<Self> {
        let lines = text.lines().enumerate();
        let lines = lines.filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
        let verdict = |(n, line)| verdict(n + 1, line).with_context(|| format!("line {}", n + 1));
        Ok(Self(lines.map(verdict).collect::<Result<_>>()?))
    }
}

fn verdict(line: usize, text: &str) -> Result<Verdict> {
    let mut words = text.split_whitespace();
    let mut next = || words.next().context("it has too few words");
    let [kind, place, name, meaning] = [next()?, next()?, next()?, next()?].map(String::from);
    let why: Vec<&str> = words.collect();
    ensure!(!why.is_empty(), "it gives no reason");
    ensure!(
        MEANINGS.contains(&&meaning[..]),
        "'{meaning}' is no verdict"
    );
    let kind = match &kind[..] {
        "amdgpu" => Kind::Amdgpu,
        "rkfd" => Kind::Rkfd,
        "value" => Kind::Value,
        other => bail!("'{other}' is no kind of difference"),
    };
    Ok(Verdict {
        kind,
        place,
        name,
        meaning,
        why: why.join(" "),
        line,
    })
}

/// Whether a text fits a pattern with at most one star.
fn fits(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, end)) => {
            text.len() >= start.len() + end.len() && text.starts_with(start) && text.ends_with(end)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_have_one_star() {
        for (pattern, text, fit) in [
            ("AB", "AB", true),
            ("AB", "ABC", false),
            ("A*C", "ABBC", true),
            ("A*C", "AC", true),
            ("AB*BC", "ABC", false),
            ("*", "", true),
        ] {
            assert_eq!(fits(pattern, text), fit, "{pattern} {text}");
        }
    }

    #[test]
    fn a_line_needs_a_kind_a_verdict_and_a_reason() {
        let of = |line| Verdicts::parse(line).map(|v| v.0.len());
        assert_eq!(
            of("# a comment\n\nvalue Gc A address each has its own\n").unwrap(),
            1
        );
        for bad in [
            "value Gc A address",
            "value Gc A good so it is",
            "both Gc A address so",
        ] {
            assert!(of(bad).is_err(), "{bad}");
        }
    }
}
