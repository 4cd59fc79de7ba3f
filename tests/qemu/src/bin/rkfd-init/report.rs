// SPDX-License-Identifier: MIT OR Apache-2.0
//! What goes out of the second serial port.

use rkfd_vm::protocol::Line;
use std::fs::File;
use std::io::Write;

/// A test's result; the error is its detail.
pub type Outcome = Result<(), String>;

/// The second serial port, and the counts that go into the last line.
pub struct Report {
    pub out: Option<File>,
    pub passed: u64,
    pub failed: u64,
    /// The scenario that runs, if the plan names several.
    pub scenario: Option<String>,
}

impl Report {
    /// A line as it is.
    pub fn line(&mut self, text: &str) {
        if let Some(out) = &mut self.out {
            let _ = out.write_all(format!("{text}\n").as_bytes());
        }
    }

    /// How many test lines passed and failed; the next scenario's are counted from 0.
    pub fn take_counts(&mut self) -> (u64, u64) {
        (
            std::mem::take(&mut self.passed),
            std::mem::take(&mut self.failed),
        )
    }

    /// A line of the protocol; test lines are counted.
    pub fn send(&mut self, line: &Line) {
        if let Line::Test { result, .. } = line {
            *(if result.is_ok() {
                &mut self.passed
            } else {
                &mut self.failed
            }) += 1;
        }
        self.line(&line.to_string());
    }

    /// A test line.
    pub fn test(&mut self, name: &str, result: Outcome) {
        self.send(&Line::test(name, result));
    }

    /// Passes on a line that a program printed. Its test lines count; it may not print other marked lines.
    pub fn program(&mut self, name: &str, text: &str) {
        match Line::parse(text) {
            None => self.line(text),
            Some(Ok(line @ Line::Test { .. })) => self.send(&line),
            Some(_) => self.test(
                name,
                Err(format!("printed a line that is not a test line: {text}")),
            ),
        }
    }
}
