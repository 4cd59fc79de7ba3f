// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rkfd-vm demo`: one dispatch, step by step, with the values of both sides of one run.
//!
//! What the program and the driver did comes from the program's output; what the device saw comes
//! from its trace. Where both sides name the same thing the values are compared, and a difference
//! makes the demo fail.

mod device;
mod handover;
mod meanings;
mod program;
mod steps;

use crate::trace::Trace;
use crate::verdict::Outcome;
use device::Device;
use program::Program;
use std::fmt;

/// One thing, as each side has it.
struct Row {
    what: &'static str,
    ours: String,
    device: String,
    /// Whether both are the same; `None` if only one side can know.
    agree: Option<bool>,
}

/// One step of the dispatch.
struct Step {
    name: &'static str,
    title: &'static str,
    why: &'static str,
    rows: Vec<Row>,
}

/// All steps of a run.
pub struct Story {
    steps: Vec<Step>,
}

impl Story {
    /// Make the story of a finished run.
    pub fn of(outcome: &Outcome) -> Result<Self, String> {
        let trace = Trace::read(&outcome.logs)?;
        let program = Program::read(&outcome.output);
        let steps = steps::all(&program, &Device::of(&trace)?, outcome.chip)?;
        Ok(Story { steps })
    }

    /// What the two sides disagree about.
    pub fn differences(&self) -> Vec<String> {
        let rows = self.steps.iter().zip(1..).flat_map(|(step, n)| {
            let differ = step.rows.iter().filter(|r| r.agree == Some(false));
            differ.map(move |r| {
                let (what, ours, device) = (r.what, &r.ours, &r.device);
                format!("step {n}, {what}: {ours} here, {device} on the device")
            })
        });
        rows.collect()
    }

    /// Steps that are not those of the document, and rows that nothing explains.
    fn unexplained(&self) -> Vec<String> {
        let mut found = Vec::new();
        let names: Vec<&str> = self.steps.iter().map(|s| s.name).collect();
        if names != steps::NAMES {
            found.push(format!("the steps are {names:?}"));
        }
        for step in &self.steps {
            let rows = step.rows.iter().filter(|r| !r.what.is_empty());
            let rows = rows.filter(|r| meanings::of(step.name, r.what).is_none());
            found.extend(rows.map(|r| format!("step {}: {} has no meaning", step.name, r.what)));
        }
        found
    }

    /// How many values were compared.
    pub fn compared(&self) -> usize {
        let rows = self.steps.iter().flat_map(|s| &s.rows);
        rows.filter(|r| r.agree.is_some()).count()
    }
}

/// For scenarios: the values of both sides must be the same.
pub fn check(outcome: &Outcome) -> Result<(), String> {
    let story = Story::of(outcome)?;
    let unexplained = story.unexplained();
    if !unexplained.is_empty() {
        return Err(unexplained.join("\n"));
    }
    match story.differences() {
        differences if !differences.is_empty() => Err(differences.join("\n")),
        _ if story.compared() < steps::COMPARED => Err(format!(
            "only {} values were compared, wanted {}",
            story.compared(),
            steps::COMPARED
        )),
        _ => Ok(()),
    }
}

impl fmt::Display for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (step, n) in self.steps.iter().zip(1..) {
            writeln!(f, "\n{n:2}  {}: {}", step.name, step.title)?;
            for line in step.why.lines() {
                writeln!(f, "    {line}")?;
            }
            let two = step.rows.iter().any(|r| r.agree.is_some());
            if two {
                writeln!(f, "    {:26}{:28}  device", "", "program, driver")?;
            }
            for row in &step.rows {
                let mark = match row.agree {
                    Some(true) => "=",
                    Some(false) => "#",
                    None => " ",
                };
                let line = format!("    {:<26}{:<28}{mark} {}", row.what, row.ours, row.device);
                writeln!(f, "{}", line.trim_end())?;
                if let Some(meaning) = meanings::of(step.name, row.what) {
                    writeln!(f, "        {meaning}")?;
                }
            }
        }
        Ok(())
    }
}

/// A row of two values that must be the same.
fn same(what: &'static str, ours: u64, name: &str, device: u64) -> Row {
    Row {
        what,
        ours: format!("{ours:#x}"),
        device: format!("{device:#x} {name}").trim_end().into(),
        agree: Some(ours == device),
    }
}

/// As [`same`], for counts.
fn count(what: &'static str, ours: u64, name: &str, device: u64) -> Row {
    Row {
        ours: ours.to_string(),
        device: format!("{device} {name}").trim_end().into(),
        ..same(what, ours, name, device)
    }
}

/// A row that the program and the driver know alone.
fn ours(what: &'static str, value: impl fmt::Display) -> Row {
    Row {
        what,
        ours: value.to_string(),
        device: String::new(),
        agree: None,
    }
}

/// A row that the device knows alone.
fn device(what: &'static str, value: impl fmt::Display) -> Row {
    Row {
        what,
        ours: String::new(),
        device: value.to_string(),
        agree: None,
    }
}
