// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program debugs another (DBG_TRAP).

use super::MODULE;
use crate::plan::Step;
use crate::scenario::Scenario;

/// All of them.
pub fn all() -> Vec<Scenario> {
    vec![debugged(), debugged_in_order()]
}

/// The program that is debugged is killed with a wave that trapped.
fn debugged() -> Scenario {
    debugging(
        "debugged",
        "a program debugs another: its runtime, a queue suspended in a kernel, a watch, a trap, its death",
        "/kernels/vadd-O3.co",
    )
}

/// The scheduler takes its time to take queues off.
fn debugged_in_order() -> Scenario {
    debugging(
        "debugged-in-order",
        "a debugger hears of a page fault before an error that came later, whatever the scheduler is busy with",
        "order",
    )
    .rule("on UNMAP_QUEUES: late 2 s")
    .rule("on REMOVE_QUEUE: late 1500 ms")
}

fn debugging(name: &'static str, about: &'static str, last: &str) -> Scenario {
    Scenario::new(name, about)
        .bin("rkfd-programs", "debugged")
        .kernel("spin", 3)
        .kernel("illegal", 3)
        .kernel("vadd", 3)
        .programs_fault()
        .steps([
            Step::insmod(MODULE),
            Step::run(
                "debugged",
                180,
                &[
                    "/bin/debugged",
                    "/kernels/spin-O3.co",
                    "/kernels/illegal-O3.co",
                    last,
                ],
            ),
            Step::Rmmod("rkfd".into()),
        ])
}
