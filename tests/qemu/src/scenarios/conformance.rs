// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver's answers against Linux's KFD, row by row; and that no row can pass by accident.

use super::MODULE;
use crate::plan::Step;
use crate::scenario::Scenario;

/// The suite, which also shows that no row passes against a wrong expectation.
pub fn all() -> Vec<Scenario> {
    vec![scenario()]
}

/// Groups of the suite, with commas between them: only these are run. For `tests/guards`.
const GROUPS: &str = "RKFD_GROUPS";

fn scenario() -> Scenario {
    let groups = std::env::var(GROUPS).unwrap_or_default();
    let mut argv = vec!["/bin/rkfd-conformance"];
    argv.extend(groups.split(',').filter(|group| !group.is_empty()));
    Scenario::new("conformance", "every request answers as Linux's KFD does")
        .bin("rkfd-conformance", "rkfd-conformance")
        .without_trace()
        .timeout(700)
        .steps([
            Step::insmod(MODULE),
            Step::run("conformance", 600, &argv),
            Step::Rmmod("rkfd".into()),
        ])
}
