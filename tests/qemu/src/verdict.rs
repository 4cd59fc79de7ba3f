// SPDX-License-Identifier: MIT OR Apache-2.0
//! From what was seen of a run to one verdict.

use crate::chip::Chip;
use crate::protocol::Line;
use crate::scenario::{Expect, Scenario};
use crate::splat;
use std::path::PathBuf;
use std::time::Duration;

/// Everything that was seen of a run.
#[derive(Debug)]
pub struct Outcome {
    /// Which GPU it had, if it had one.
    pub chip: &'static Chip,
    /// The test lines in order; the error is the detail.
    pub tests: Vec<(String, Result<(), String>)>,
    /// Free memory in KiB, by label.
    pub meminfo: Vec<(String, u64)>,
    /// What programs printed.
    pub output: Vec<String>,
    /// Why the run as a whole is bad.
    pub wrong: Vec<String>,
    /// Where its logs are.
    pub logs: PathBuf,
    /// How long it took.
    pub took: Duration,
    started: bool,
    end: Option<(u64, u64)>,
    messages: splat::Messages,
}

impl Outcome {
    /// Nothing was seen yet.
    pub fn new(chip: &'static Chip) -> Self {
        Outcome {
            chip,
            tests: Vec::new(),
            meminfo: Vec::new(),
            output: Vec::new(),
            wrong: Vec::new(),
            logs: PathBuf::new(),
            took: Duration::ZERO,
            started: false,
            end: None,
            messages: splat::Messages::default(),
        }
    }

    /// Process 1 runs already: the scenario is not its machine's first.
    pub fn begin(&mut self) {
        self.started = true;
    }

    /// A line of the kernel's console.
    pub fn console(&mut self, line: &str) {
        let message = splat::console_message(line);
        if let Some(message) = message.filter(|m| self.messages.is_splat(m)) {
            self.kernel(message);
        }
    }

    /// A line of the second serial port.
    pub fn guest(&mut self, line: &str) {
        match Line::parse(line) {
            None => self.output.push(line.into()),
            Some(Err(why)) => self.wrong.push(format!("guest: {why}")),
            Some(Ok(_)) if self.end.is_some() => {
                self.wrong
                    .push(format!("guest: a line after the end: {line}"));
            }
            Some(Ok(Line::Start)) if self.started => {
                self.wrong.push("guest: it started twice".into())
            }
            Some(Ok(Line::Start)) => self.started = true,
            // What runs is known before: `Parts` has compared it.
            Some(Ok(Line::Scenario(_))) => {}
            Some(Ok(Line::Test { name, result })) => self.tests.push((name, result)),
            Some(Ok(Line::Meminfo { label, kib })) => self.meminfo.push((label, kib)),
            Some(Ok(Line::Kernel(text))) => self.kernel(&text),
            Some(Ok(Line::End { passed, failed })) => self.end = Some((passed, failed)),
        }
    }

    /// The tests of a session in which somebody typed, in place of the guest's.
    pub fn typed(&mut self, tests: Vec<Line>) {
        self.started = true;
        tests.iter().for_each(|line| self.guest(&line.to_string()));
        let failed = self.tests.iter().filter(|t| t.1.is_err()).count() as u64;
        self.end = Some((self.tests.len() as u64 - failed, failed));
    }

    fn kernel(&mut self, message: &str) {
        let reason = format!("kernel: {message}");
        // The console and the guest's own look at the log both see it.
        if !self.wrong.contains(&reason) {
            self.wrong.push(reason);
        }
    }

    /// After the last line: was everything there, and does it add up?
    pub fn finish(&mut self, scenario: &Scenario) {
        let failed = self.tests.iter().filter(|t| t.1.is_err()).count() as u64;
        let passed = self.tests.len() as u64 - failed;
        match self.end {
            None if self.started => self
                .wrong
                .push("guest: it stopped before the end of its plan".into()),
            None => self.wrong.push("guest: process 1 never started".into()),
            Some((p, f)) if (p, f) != (passed, failed) => self.wrong.push(format!(
                "guest: it counted {p} passed, {f} failed, but {passed} and {failed} arrived"
            )),
            Some(_) if self.tests.is_empty() => self.wrong.push("guest: it tested nothing".into()),
            Some(_) => {}
        }
        for check in &scenario.checks {
            if let Err(why) = check(self) {
                self.wrong.push(why);
            }
        }
    }

    /// Nothing at all is wrong.
    pub fn is_good(&self) -> bool {
        self.wrong.is_empty() && self.tests.iter().all(|t| t.1.is_ok())
    }

    /// What counts: each test line, and the run as a whole. A scenario that is expected to be
    /// found bad counts as one.
    pub fn judge(&self, scenario: &Scenario) -> Verdict {
        let failing = |(name, result): &(String, Result<(), String>)| {
            result
                .as_ref()
                .err()
                .map(|detail| format!("{name}: {detail}"))
        };
        let mut reasons: Vec<String> = self.tests.iter().filter_map(failing).collect();
        match scenario.expect {
            Expect::Pass => {
                let failed = reasons.len() + usize::from(!self.wrong.is_empty());
                let passed = self.tests.len() + 1 - failed;
                reasons.extend(self.wrong.iter().cloned());
                Verdict {
                    passed,
                    failed,
                    reasons,
                }
            }
            Expect::Failure(text) => {
                reasons.extend(self.wrong.iter().cloned());
                if reasons.iter().any(|r| r.contains(text)) {
                    return Verdict {
                        passed: 1,
                        failed: 0,
                        reasons: Vec::new(),
                    };
                }
                reasons.insert(0, format!("'{text}' should have been found, but was not"));
                Verdict {
                    passed: 0,
                    failed: 1,
                    reasons,
                }
            }
        }
    }

    /// Free memory under a label, in KiB: for checks.
    pub fn memory(&self, label: &str) -> Result<u64, String> {
        let found = self.meminfo.iter().find(|m| m.0 == label);
        found
            .map(|m| m.1)
            .ok_or_else(|| format!("the guest reported no memory figure '{label}'"))
    }
}

/// The verdict on one run.
#[derive(Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Good test lines, and one if the run as a whole is good.
    pub passed: usize,
    /// Bad test lines, and one if the run as a whole is bad.
    pub failed: usize,
    /// Why it is bad.
    pub reasons: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(console: &[&str], guest: &[&str], scenario: &Scenario) -> Verdict {
        let mut outcome = Outcome::new(&crate::chip::ALL[0]);
        console.iter().for_each(|l| outcome.console(l));
        guest.iter().for_each(|l| outcome.guest(l));
        outcome.finish(scenario);
        outcome.judge(scenario)
    }

    const GOOD: [&str; 4] = [
        "@rkfd start",
        "hello",
        "@rkfd test a ok",
        "@rkfd end passed=1 failed=0",
    ];

    fn plain() -> Scenario {
        Scenario::new("x", "y")
    }

    #[test]
    fn a_good_run_counts_its_tests_and_itself() {
        let v = judged(&["[    1.000000] fine"], &GOOD, &plain());
        assert_eq!((v.passed, v.failed), (2, 0), "{v:?}");
    }

    #[test]
    fn each_kind_of_fault_is_seen() {
        let splat = judged(
            &["[    1.000000] BUG: unable to handle page fault"],
            &GOOD,
            &plain(),
        );
        assert_eq!((splat.passed, splat.failed), (1, 1));
        let cases: [&[&str]; 7] = [
            &[],
            &["@rkfd start", "@rkfd test a ok"],
            &["@rkfd start", "@rkfd end passed=0 failed=0"],
            &[
                "@rkfd start",
                "@rkfd test a ok",
                "@rkfd end passed=2 failed=0",
            ],
            &[
                "@rkfd start",
                "@rkfd test a OK",
                "@rkfd end passed=0 failed=0",
            ],
            &[
                "@rkfd start",
                "@rkfd test a ok",
                "@rkfd kernel tainted",
                "@rkfd end passed=1 failed=0",
            ],
            &[
                "@rkfd start",
                "@rkfd test a ok",
                "@rkfd end passed=1 failed=0",
                "@rkfd test b ok",
            ],
        ];
        for lines in cases {
            assert_eq!(judged(&[], lines, &plain()).failed, 1, "{lines:?}");
        }
    }

    #[test]
    fn a_failing_test_is_named() {
        let lines = [
            "@rkfd start",
            "@rkfd test a FAIL no queue",
            "@rkfd end passed=0 failed=1",
        ];
        let v = judged(&[], &lines, &plain());
        assert_eq!((v.passed, v.failed), (1, 1));
        assert_eq!(v.reasons, ["a: no queue"]);
    }

    #[test]
    fn an_expected_fault_must_be_the_right_one() {
        let lines = [
            "@rkfd start",
            "@rkfd test a FAIL no queue",
            "@rkfd end passed=0 failed=1",
        ];
        assert_eq!(
            judged(&[], &lines, &plain().fails_with("no queue")).failed,
            0
        );
        assert_eq!(
            judged(&[], &lines, &plain().fails_with("Kernel panic")).failed,
            1
        );
        assert_eq!(
            judged(&[], &GOOD, &plain().fails_with("no queue")).failed,
            1
        );
    }

    #[test]
    fn checks_can_fail_a_run() {
        let scenario = plain().check(|o| o.memory("before").map(drop));
        assert_eq!(judged(&[], &GOOD, &scenario).failed, 1);
    }
}
