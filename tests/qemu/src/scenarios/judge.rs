// SPDX-License-Identifier: MIT OR Apache-2.0
//! The judge is tested, too: a fault of each kind must not go unseen.

use crate::plan::Step;
use crate::scenario::Scenario;

/// Each must be found bad.
pub fn all() -> Vec<Scenario> {
    vec![
        notices_a_panic(),
        notices_a_failing_program(),
        notices_a_hang(),
    ]
}

fn notices_a_panic() -> Scenario {
    Scenario::new("notices-a-panic", "a kernel panic makes the run bad")
        .without_device()
        .without_module()
        .step(Step::sh("crash", 60, "echo c > /proc/sysrq-trigger"))
        .fails_with("Kernel panic")
}

fn notices_a_failing_program() -> Scenario {
    Scenario::new(
        "notices-a-failing-program",
        "a wrong exit status makes the run bad",
    )
    .without_device()
    .without_module()
    .step(Step::sh("wrong-status", 60, "exit 3"))
    .fails_with("wrong-status: exit status 3, wanted 0")
}

fn notices_a_hang() -> Scenario {
    Scenario::new(
        "notices-a-hang",
        "a program that never ends is killed and makes the run bad",
    )
    .without_device()
    .without_module()
    .step(Step::sh("sleeper", 1, "sleep 1000"))
    .fails_with("sleeper: no end after")
}
