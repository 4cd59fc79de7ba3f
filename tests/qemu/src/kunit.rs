// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which KUnit tests the module's sources hold, to compare with those that ran.

use crate::verdict::Outcome;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The module's sources.
const SOURCES: &str = "rust";

/// For scenarios: every test of every suite in the sources ran, and at least one is there.
pub fn all_ran(outcome: &Outcome) -> Result<(), String> {
    let mut wanted = BTreeSet::new();
    collect(Path::new(SOURCES), &mut wanted).map_err(|e| format!("{SOURCES}: {e}"))?;
    if wanted.is_empty() {
        return Err(format!("there are no KUnit tests under {SOURCES}"));
    }
    let ran: BTreeSet<&str> = outcome.tests.iter().map(|t| t.0.as_str()).collect();
    match wanted.iter().find(|name| !ran.contains(name.as_str())) {
        Some(missing) => Err(format!("{missing} didn't run")),
        None => Ok(()),
    }
}

/// Every test below a folder, named as process 1 of the guest names it.
fn collect(dir: &Path, tests: &mut BTreeSet<String>) -> std::io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, tests)?;
        } else if path.extension().is_some_and(|e| e == "rs") {
            tests.extend(of(&fs::read_to_string(path)?));
        }
    }
    Ok(())
}

/// The tests of a source text: a line `#[kunit_tests(SUITE)]` begins a suite, and a function
/// follows each `#[test]`.
fn of(source: &str) -> Vec<String> {
    let (mut tests, mut suite, mut is_test) = (Vec::new(), "", false);
    for line in source.lines().map(str::trim) {
        if let Some(name) = between(line, "#[kunit_tests(", ")]") {
            suite = name;
        } else if line == "#[test]" {
            is_test = true;
        } else if let Some(name) = between(line, "fn ", "(") {
            if is_test && !suite.is_empty() {
                tests.push(format!("kunit-{suite}-{name}"));
            }
            is_test = false;
        }
    }
    tests
}

fn between<'a>(line: &'a str, start: &str, end: &str) -> Option<&'a str> {
    line.strip_prefix(start)?
        .split_once(end)
        .map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "
        fn helper() {}
        #[kunit_tests(rkfd_x)]
        mod tests {
            #[test]
            fn one() {}
            fn helper() {}
            /// Twice.
            #[test]
            fn two(a: u32) -> Result {}
        }";

    #[test]
    fn tests_are_found_in_sources() {
        assert_eq!(of(SOURCE), ["kunit-rkfd_x-one", "kunit-rkfd_x-two"]);
        // Those of crates are not KUnit's.
        assert!(of(&SOURCE.replace("kunit_tests", "cfg")).is_empty());
    }

    #[test]
    fn a_test_that_did_not_run_is_missed() {
        // Cargo runs this in the package's folder.
        std::env::set_current_dir("../..").unwrap();
        let mut outcome = Outcome::new(&crate::chip::ALL[0]);
        assert!(all_ran(&outcome).unwrap_err().ends_with("didn't run"));
        let mut all = BTreeSet::new();
        collect(Path::new(SOURCES), &mut all).unwrap();
        outcome.tests = all.into_iter().map(|name| (name, Ok(()))).collect();
        assert_eq!(all_ran(&outcome), Ok(()));
        outcome.tests.pop();
        assert!(all_ran(&outcome).is_err());
    }
}
