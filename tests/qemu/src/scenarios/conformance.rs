// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver's answers against Linux's KFD, row by row; and that no row can pass by accident.

use super::MODULE;
use crate::chip::Scheduler;
use crate::plan::Step;
use crate::scenario::Scenario;

/// The name of what shows that every row can fail.
pub const SELF_TEST: &str = "conformance-self-test";

/// The suite, then the suite against wrong expectations: on one chip, since what it tries is the suite.
pub fn all() -> Vec<Scenario> {
    vec![
        scenario(
            "conformance",
            "every request answers as Linux's KFD does",
            "/bin/rkfd-conformance",
        ),
        self_test(SELF_TEST).scheduled_by(Scheduler::Mes),
    ]
}

/// The suite against wrong expectations on the other chip.
pub fn long() -> Scenario {
    self_test("conformance-self-test-cpsch").scheduled_by(Scheduler::Cpsch)
}

fn self_test(name: &'static str) -> Scenario {
    scenario(
        name,
        "no row passes against a wrong expectation",
        "/bin/rkfd-conformance --self-test",
    )
}

/// Groups of the suite, with commas between them: only these are run. For `tests/guards`.
const GROUPS: &str = "RKFD_GROUPS";

fn scenario(name: &'static str, about: &'static str, command: &str) -> Scenario {
    let groups = std::env::var(GROUPS).unwrap_or_default();
    let mut argv: Vec<_> = command.split(' ').collect();
    argv.extend(groups.split(',').filter(|group| !group.is_empty()));
    Scenario::new(name, about)
        .bin("rkfd-conformance", "rkfd-conformance")
        .without_trace()
        .timeout(700)
        .steps([
            Step::insmod(MODULE),
            Step::run(name, 600, &argv),
            Step::Rmmod("rkfd".into()),
        ])
}
