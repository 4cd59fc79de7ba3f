// SPDX-License-Identifier: MIT OR Apache-2.0

//! The report: what the guest did that the hardware does not define, and whose doing it was.
//!
//! A finding is a sentence that names the register, address or packet. Equal sentences are counted
//! together, in the order of their first appearance, so no number that changes from call to call (a
//! time, a ring position) belongs into one.
//!
//! There are two kinds ([`Whose`]). A *violation* is the driver's: it owns registers, the schedulers'
//! packets, MQDs and page tables; one of them fails the run. A *fault* is a user program's: an access
//! that does not translate, an illegal instruction, a malformed packet, a write pointer in memory or
//! a doorbell that is beyond the ring. Hardware defines what becomes of it, for that program's queue
//! only, and a driver is right that lets the program do it. Which programs may fault is for whoever
//! runs them to say.

mod wrong;

use crate::trace::{Trace, Value};
use std::collections::HashMap;
use std::fmt;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
pub use wrong::{Whose, Wrong};

/// Different findings of a kind that are kept; a flood of further ones is counted as one line.
const KEPT: usize = 1000;

/// The findings of a run.
#[derive(Default)]
pub struct Report {
    path: Option<PathBuf>,
    trace: OnceLock<Arc<Trace>>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// Nothing is judged any more.
    closed: bool,
    findings: Vec<Finding>,
    index: HashMap<(Whose, String), usize>,
    /// How many further ones there were, of both kinds.
    further: [u64; 2],
}

/// A sentence, and how often it was said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// Whose doing it was.
    pub whose: Whose,
    /// The sentence.
    pub text: String,
    /// How often.
    pub count: u64,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.whose.word(), self.text)
    }
}

impl Report {
    /// A report that [`Report::write`] puts into `path`, if given.
    pub fn new(path: Option<PathBuf>) -> Arc<Self> {
        Arc::new(Self {
            path,
            ..Self::default()
        })
    }

    /// Shows findings in a trace, too, when they are made for the first time.
    pub fn show_in(&self, trace: &Arc<Trace>) {
        let _ = self.trace.set(trace.clone());
    }

    /// That trace, if it is on.
    pub fn shown_in(&self) -> Option<&Trace> {
        self.trace.get().map(Arc::as_ref).filter(|t| t.is_on())
    }

    /// Records what the driver did wrong: `report.violation(format_args!("..."))`.
    pub fn violation(&self, what: fmt::Arguments<'_>) {
        self.record(Whose::Driver, what);
    }

    /// Records what a user program did wrong.
    pub fn fault(&self, what: fmt::Arguments<'_>) {
        self.record(Whose::Program, what);
    }

    /// Records what somebody did wrong.
    pub fn record(&self, whose: Whose, what: fmt::Arguments<'_>) {
        let text = what.to_string().replace('\n', " ");
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.closed {
            return;
        }
        let key = (whose, text);
        if let Some(&i) = inner.index.get(&key) {
            if let Some(finding) = inner.findings.get_mut(i) {
                finding.count += 1;
            }
            return;
        }
        if inner.of(whose).count() >= KEPT {
            inner.further[usize::from(whose == Whose::Program)] += 1;
            return;
        }
        let text = key.1.clone();
        if let Some(trace) = self.trace.get() {
            trace.event(whose.word(), &[("text", Value::Text(&text))]);
        }
        let (i, count) = (inner.findings.len(), 1);
        let finding = Finding { whose, text, count };
        eprintln!("{finding}");
        inner.index.insert(key, i);
        inner.findings.push(finding);
    }

    /// The device is off the bus: it can't reach what its engines still look for before they stop, so
    /// nothing of that is anybody's doing.
    pub fn close(&self) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.closed = true;
    }

    /// How many violations there were, repetitions included.
    pub fn violations(&self) -> u64 {
        self.count(Whose::Driver)
    }

    /// How many faults of user programs there were.
    pub fn faults(&self) -> u64 {
        self.count(Whose::Program)
    }

    fn count(&self, whose: Whose) -> u64 {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let further = inner.further[usize::from(whose == Whose::Program)];
        inner.of(whose).map(|f| f.count).sum::<u64>() + further
    }

    /// The findings of both kinds, in the order of their first appearance.
    pub fn findings(&self) -> Vec<Finding> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.findings.clone()
    }

    /// Writes the report file: `violation COUNT TEXT` and `fault COUNT TEXT` lines, then
    /// `end violations=N faults=M`.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn write(&self) -> io::Result<()> {
        let Some(path) = &self.path else {
            return Ok(());
        };
        let mut out = Vec::new();
        for whose in [Whose::Driver, Whose::Program] {
            let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            let word = whose.word();
            for Finding { text, count, .. } in inner.of(whose) {
                writeln!(out, "{word} {count} {text}")?;
            }
            let further = inner.further[usize::from(whose == Whose::Program)];
            if further != 0 {
                writeln!(out, "{word} {further} more kinds of {word}s than are kept")?;
            }
        }
        let (violations, faults) = (self.violations(), self.faults());
        writeln!(out, "end violations={violations} faults={faults}")?;
        std::fs::write(path, out)
    }
}

impl Inner {
    fn of(&self, whose: Whose) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |f| f.whose == whose)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(name: &str, fill: impl FnOnce(&Report)) -> String {
        let name = format!("rkfd-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let report = Report::new(Some(path.clone()));
        fill(&report);
        report.write().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        text
    }

    #[test]
    fn a_device_off_the_bus_judges_nobody() {
        let text = written("closed", |report| {
            report.violation(format_args!("before"));
            report.close();
            report.violation(format_args!("after"));
        });
        assert_eq!(text, "violation 1 before\nend violations=1 faults=0\n");
    }

    #[test]
    fn counts_equal_lines_and_ends_with_the_sum() {
        let text = written("report", |report| {
            for i in [1, 2, 1] {
                report.violation(format_args!("read of register {i:#x}"));
            }
            assert_eq!((report.violations(), report.faults()), (3, 0));
        });
        assert_eq!(
            text,
            "violation 2 read of register 0x1\nviolation 1 read of register 0x2\n\
             end violations=3 faults=0\n"
        );
    }

    #[test]
    fn a_programs_fault_is_never_a_violation() {
        let text = written("faults", |report| {
            report.fault(format_args!("shader: illegal"));
            report.violation(format_args!("shader: illegal"));
            report.fault(format_args!("shader: illegal"));
            assert_eq!((report.violations(), report.faults()), (1, 2));
        });
        assert_eq!(
            text,
            "violation 1 shader: illegal\nfault 2 shader: illegal\nend violations=1 faults=2\n"
        );
    }

    #[test]
    fn a_flood_is_bounded_but_counted() {
        let report = Report::new(None);
        for i in 0..KEPT as u64 + 10 {
            report.fault(format_args!("v {i}"));
        }
        // A flood of one kind hides nothing of the other.
        report.violation(format_args!("v"));
        assert_eq!(report.findings().len(), KEPT + 1);
        assert_eq!(
            (report.violations(), report.faults()),
            (1, KEPT as u64 + 10)
        );
    }
}
