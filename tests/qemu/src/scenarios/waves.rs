// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where waves run, and how those of a grid meet.

use super::MODULE;
use crate::chip::Scheduler;
use crate::plan::Step;
use crate::scenario::Scenario;

/// All of them.
pub fn all() -> Vec<Scenario> {
    vec![masks(), wave_sync(), enqueues()]
}

/// Waves run on the compute units of their queue's mask.
fn masks() -> Scenario {
    Scenario::new(
        "masks",
        "work-groups run on the compute units of their queue's mask, as their waves tell",
    )
    .bin("rkfd-programs", "masks")
    .kernel("where", 3)
    .steps([
        Step::insmod(MODULE),
        Step::run("masks", 120, &["/bin/masks", "/kernels/where-O3.co"]),
        Step::Rmmod("rkfd".into()),
    ])
}

/// What the GPU stores to doorbells it takes for its own.
fn enqueues() -> Scenario {
    Scenario::new(
        "enqueues",
        "a kernel writes packets into another queue's ring and rings its doorbell",
    )
    .bin("rkfd-programs", "enqueues")
    .kernel("enqueue", 3)
    .steps([
        Step::insmod(MODULE),
        Step::run(
            "enqueues",
            120,
            &["/bin/enqueues", "/kernels/enqueue-O3.co"],
        ),
        Step::Rmmod("rkfd".into()),
    ])
}

/// Only gfx942 has the instructions.
fn wave_sync() -> Scenario {
    Scenario::new(
        "wave-sync",
        "work-groups meet at a barrier of the whole grid, preempted there or not",
    )
    .scheduled_by(Scheduler::Cpsch)
    .bin("rkfd-programs", "gws")
    .kernel("gws", 3)
    .steps([
        Step::insmod(MODULE),
        Step::run("gws", 180, &["/bin/gws", "/kernels/gws-O3.co"]),
        Step::Rmmod("rkfd".into()),
    ])
    .on_all_shapes()
}
