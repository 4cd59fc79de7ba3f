// SPDX-License-Identifier: MIT OR Apache-2.0
//! A micro engine scheduler that fails: clear errors in bounded time, and a driver that stays
//! usable.

use super::faults::{inject, NOT_BOUND};
use super::{with_vadd, MODULE};
use crate::chip::Scheduler;
use crate::plan::Step;
use crate::scenario::Scenario;

/// All of them.
pub fn all() -> Vec<Scenario> {
    vec![
        does_not_start(
            "mes-fail-frame",
            "a scheduler that refuses its first frame: the reason is told, the module unloads",
            "refuses SET_HW_RSRC: error 255 of command 0",
        ),
        does_not_start(
            "mes-no-fence",
            "a scheduler that never completes a frame costs one time-out, the module unloads",
            "pipe 1 of the scheduler (MES) doesn.t answer; it is stuck",
        ),
        refuse_remove(),
    ]
}

/// The driver doesn't bind the device, and says why; again after a reload.
fn does_not_start(name: &'static str, about: &'static str, message: &str) -> Scenario {
    let said = format!("dmesg | grep -q '{message}' || {{ dmesg | tail; exit 1; }}");
    let scenario = Scenario::new(name, about)
        .step(Step::insmod(MODULE))
        .step(Step::sh("it-says-why", 10, &said))
        .step(Step::sh("not-bound", 10, NOT_BOUND))
        .step(Step::Rmmod("rkfd".into()))
        .step(Step::insmod(MODULE))
        .step(Step::Rmmod("rkfd".into()));
    inject(scenario, name).scheduled_by(Scheduler::Mes)
}

/// DESTROY_QUEUE fails with upstream's ETIMEDOUT or ENOTRECOVERABLE, and the queue is kept; other
/// programs go on.
fn refuse_remove() -> Scenario {
    let destroy = "vectoradd /kernels/vadd-O3.co 4096 >/tmp/out; grep errno /tmp/out; \
        grep -Eq 'DESTROY_QUEUE .* failed, errno (110|131)' /tmp/out && \
        grep -q 'verified 4096/4096' /tmp/out";
    let scenario = with_vadd(
        "mes-refuse-remove",
        "a queue that is not given back costs its program an error; the next program runs",
        "vectoradd",
    )
    .step(Step::insmod(MODULE))
    .step(Step::sh("destroy-fails", 30, destroy))
    .step(Step::sh("the-next-runs", 30, destroy))
    .step(Step::sh(
        "it-says-why",
        10,
        "dmesg | grep -q 'refuses REMOVE_QUEUE: error 255 of command 3'",
    ))
    .step(Step::Rmmod("rkfd".into()))
    .step(Step::insmod(MODULE))
    .step(Step::Rmmod("rkfd".into()));
    inject(scenario, "mes-refuse-remove").scheduled_by(Scheduler::Mes)
}
