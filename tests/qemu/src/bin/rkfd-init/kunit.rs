// SPDX-License-Identifier: MIT OR Apache-2.0
//! The results of a module's KUnit suites, which the kernel runs when it loads the module.

use crate::report::Report;
use std::fs;

const SUITES: &str = "/sys/kernel/debug/kunit";

/// One test line for each test of each loaded suite; none on a kernel without KUnit.
pub fn results(report: &mut Report) {
    let mut suites: Vec<_> = fs::read_dir(SUITES)
        .into_iter()
        .flatten()
        .flatten()
        .collect();
    suites.sort_by_key(|s| s.file_name());
    for suite in suites {
        let name = suite.file_name().to_string_lossy().into_owned();
        let results = fs::read_to_string(suite.path().join("results"));
        let results = results.map_err(|e| e.to_string()).and_then(|t| tests(&t));
        match results {
            Ok(tests) => {
                for (test, result) in tests {
                    report.test(&format!("kunit-{name}-{test}"), result);
                }
            }
            Err(why) => report.test(&format!("kunit-{name}"), Err(why)),
        }
    }
}

type Test = (String, Result<(), String>);

/// The tests of a suite, from its KTAP text. The detail of a failed one is what was printed above
/// its line. It is an error if the counts don't add up.
fn tests(ktap: &str) -> Result<Vec<Test>, String> {
    let (mut tests, mut planned, mut detail) = (Vec::new(), None, Vec::new());
    for line in ktap.lines() {
        let Some(line) = line.strip_prefix("    ") else {
            continue;
        };
        if let Some(plan) = line.strip_prefix("1..") {
            planned = plan.trim().parse::<usize>().ok();
        } else if let Some(name) = line.strip_prefix("ok ").and_then(numbered) {
            tests.push((name, Ok(())));
            detail.clear();
        } else if let Some(name) = line.strip_prefix("not ok ").and_then(numbered) {
            tests.push((name, Err(detail.join(" "))));
            detail.clear();
        } else {
            detail.push(line.trim());
        }
    }
    match planned {
        Some(n) if n == tests.len() && n > 0 => Ok(tests),
        _ => Err(format!("{} of {planned:?} planned tests ran", tests.len())),
    }
}

/// `3 name # why it was skipped`: the name.
fn numbered(text: &str) -> Option<String> {
    let (number, rest) = text.split_once(' ')?;
    number.parse::<u32>().ok()?;
    Some(rest.split(" #").next().unwrap_or(rest).trim().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESULTS: &str = "KTAP version 1
1..1
    KTAP version 1
    # Subtest: rkfd_suite
    # speed: normal
    1..3
    # header_words.speed: normal
    ok 1 header_words
    ok 2 other # SKIP no device
    # no_device_needed: ASSERTION FAILED at rfl.rs:365
    Expected CURRENT.lock().is_none() to be true, but is false
    not ok 3 no_device_needed
# rkfd_suite: pass:2 fail:1 skip:0 total:3
# Totals: pass:2 fail:1 skip:0 total:3
not ok 1 rkfd_suite
";

    #[test]
    fn each_test_of_a_suite_is_reported() {
        let results = tests(RESULTS).unwrap();
        assert_eq!(results.len(), 3);
        assert_eq!(results[0], ("header_words".into(), Ok(())));
        assert_eq!(results[1].0, "other");
        assert!(results[2]
            .1
            .as_ref()
            .unwrap_err()
            .contains("ASSERTION FAILED"));
    }

    #[test]
    fn a_suite_that_did_not_finish_is_an_error() {
        assert!(tests(&RESULTS.replace("1..3", "1..4")).is_err());
        assert!(tests("").is_err());
    }
}
