// SPDX-License-Identifier: MIT OR Apache-2.0

//! The report: what the guest did that the hardware does not define.
//!
//! A violation is a sentence that names the register, address or packet. Equal sentences are
//! counted together, in the order of their first appearance, so no number that changes from call
//! to call (a time, a ring position) belongs into one.
//!
//! A user program's fault (an access that does not translate, an illegal instruction, a malformed
//! packet) is defined behaviour for the driver, which has to cope with it; it is recorded as a
//! violation all the same, since programs that are right have none, unless faults are expected.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Different violations kept; a flood of further ones is counted as one line.
const KEPT: usize = 1000;

/// The collected violations of a run.
#[derive(Default)]
pub struct Report {
    path: Option<PathBuf>,
    expect_faults: bool,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    lines: Vec<(String, u64)>,
    /// Faults of programs that were expected.
    faults: BTreeMap<String, u64>,
    index: HashMap<String, usize>,
    further: u64,
}

impl Report {
    /// A report that [`Report::write`] puts into `path`, if given.
    pub fn new(path: Option<PathBuf>) -> Arc<Self> {
        Self::with(path, false)
    }

    /// A report that counts faults of user programs apart from violations, if they are expected.
    pub fn with(path: Option<PathBuf>, expect_faults: bool) -> Arc<Self> {
        Arc::new(Self {
            path,
            expect_faults,
            inner: Mutex::default(),
        })
    }

    /// Records a fault of a user program.
    pub fn fault(&self, what: fmt::Arguments<'_>) {
        if !self.expect_faults {
            return self.violation(what);
        }
        let text = what.to_string().replace('\n', " ");
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let key = match inner.faults.len() < KEPT || inner.faults.contains_key(&text) {
            true => text,
            false => "more kinds of faults than are kept".into(),
        };
        *inner.faults.entry(key).or_default() += 1;
    }

    /// How many expected faults of user programs there were.
    pub fn faults(&self) -> u64 {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.faults.values().sum()
    }

    /// Records a violation: `report.violation(format_args!("..."))`.
    pub fn violation(&self, what: fmt::Arguments<'_>) {
        let text = what.to_string().replace('\n', " ");
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&i) = inner.index.get(&text) {
            if let Some((_, count)) = inner.lines.get_mut(i) {
                *count += 1;
            }
        } else if inner.lines.len() < KEPT {
            eprintln!("violation: {text}");
            let i = inner.lines.len();
            inner.index.insert(text.clone(), i);
            inner.lines.push((text, 1));
        } else {
            inner.further += 1;
        }
    }

    /// How many violations there were, repetitions included.
    pub fn count(&self) -> u64 {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.lines.iter().map(|(_, n)| n).sum::<u64>() + inner.further
    }

    /// The violations and their counts, in the order of their first appearance.
    pub fn lines(&self) -> Vec<(String, u64)> {
        self.inner
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .lines
            .clone()
    }

    /// Writes the report file: `violation COUNT TEXT` lines, `fault COUNT TEXT` lines for expected
    /// faults, then `end violations=N`.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn write(&self) -> io::Result<()> {
        let Some(path) = &self.path else {
            return Ok(());
        };
        let mut out = Vec::new();
        for (text, count) in self.lines() {
            writeln!(out, "violation {count} {text}")?;
        }
        let further = self
            .inner
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .further;
        if further != 0 {
            writeln!(
                out,
                "violation {further} more kinds of violations than are kept"
            )?;
        }
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        for (text, count) in &inner.faults {
            writeln!(out, "fault {count} {text}")?;
        }
        drop(inner);
        writeln!(out, "end violations={}", self.count())?;
        std::fs::write(path, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_equal_lines_and_ends_with_the_sum() {
        let path = std::env::temp_dir().join(format!("rkfd-report-{}", std::process::id()));
        let report = Report::new(Some(path.clone()));
        for i in [1, 2, 1] {
            report.violation(format_args!("read of register {i:#x}"));
        }
        assert_eq!(report.count(), 3);
        report.write().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(
            text,
            "violation 2 read of register 0x1\nviolation 1 read of register 0x2\nend violations=3\n"
        );
    }

    #[test]
    fn expected_faults_are_counted_apart() {
        let path = std::env::temp_dir().join(format!("rkfd-faults-{}", std::process::id()));
        let report = Report::with(Some(path.clone()), true);
        report.fault(format_args!("shader: illegal"));
        report.fault(format_args!("shader: illegal"));
        assert_eq!((report.count(), report.faults()), (0, 2));
        report.write().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(text, "fault 2 shader: illegal\nend violations=0\n");
        let strict = Report::new(None);
        strict.fault(format_args!("shader: illegal"));
        assert_eq!((strict.count(), strict.faults()), (1, 0));
    }

    #[test]
    fn a_flood_is_bounded_but_counted() {
        let report = Report::new(None);
        for i in 0..KEPT as u64 + 10 {
            report.violation(format_args!("v {i}"));
        }
        assert_eq!(report.lines().len(), KEPT);
        assert_eq!(report.count(), KEPT as u64 + 10);
    }
}
