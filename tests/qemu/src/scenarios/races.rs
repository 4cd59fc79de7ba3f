// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two threads at the same object, one of which is held between two steps of the driver's that otherwise follow at once.

use super::debuggers::debugging;
use super::lifetime::NOTHING_LEFT;
use super::reset::HOLD_CALL;
use super::{with_vadd, MODULE, VADD};
use crate::chip::Scheduler;
use crate::plan::Step;
use crate::scenario::{Include, Scenario};

/// They need a kernel whose mutexes are taken by `mutex_lock`, not by what lockdep has in its place.
pub(super) const RACED: &str = "raced";
pub(super) const BY_RESET: &str = "raced-by-reset";
/// Needs userfaultfd.
pub(super) const RESUMED: &str = "raced-by-debugger";

/// All of them.
pub(super) fn all() -> [Scenario; 3] {
    [raced(), by_reset(), resumed()]
}

/// Holds the driver where `caller` calls a function of the kernel's; if it is to `wait`, once a program says when.
fn hold(function: &str, caller: &str, wait: bool) -> Step {
    Step::Insmod {
        path: format!("/{HOLD_CALL}.ko"),
        params: vec![
            format!("function={function}"),
            format!("caller={caller}"),
            format!("wait={}", u8::from(wait)),
        ],
    }
}

/// Who destroys a queue that a debugger has suspended waits for the debugger to resume it.
fn resumed() -> Scenario {
    let mut scenario = debugging(
        RESUMED,
        "a queue that its debugger resumes just when the program begins to wait for that is destroyed",
        "resume",
    );
    // A condition variable's wait, in the request as it is inlined; the step comes behind the load of rkfd.
    let hold = hold("prepare_to_wait_exclusive", "5ioctl8dispatch", true);
    scenario.plan.insert(1, hold);
    let held = Include::TestModule { name: HOLD_CALL };
    scenario.includes.push(held);
    scenario.step(Step::Rmmod(HOLD_CALL.into()))
}

/// The first lock that these functions take by themselves is the object's own.
fn raced() -> Scenario {
    let mut scenario = with_vadd(
        RACED,
        "VRAM that is given back while a page of it is being mapped, or read by a debugger, isn't reached any more",
        "raced",
    )
    .step(Step::insmod(MODULE));
    for (caller, case) in [("7Offsets5fault", "touch"), ("7Offsets6access", "read")] {
        scenario = scenario
            .step(hold("mutex_lock", caller, true))
            .step(Step::run(case, 60, &["/bin/raced", case]))
            .step(Step::Rmmod(HOLD_CALL.into()));
    }
    scenario = scenario
        .step(Step::sh("nothing-is-left", 60, NOTHING_LEFT))
        .step(Step::Rmmod("rkfd".into()));
    let held = Include::TestModule { name: HOLD_CALL };
    scenario.includes.push(held);
    scenario
}

/// The copy engine that clears a program's VRAM hangs, and all engines are reset for another reason just when the driver
/// gives that one up: it is the engine of before that hung, and nothing is done about the one that runs since.
fn by_reset() -> Scenario {
    let race = format!(
        "held=/sys/module/{HOLD_CALL}/parameters/held; cd /sys/kernel/debug; \
         id=$(grep -hvx 0 /sys/class/kfd/kfd/topology/nodes/*/gpu_id); \
         vectoradd {VADD} 4096 >/tmp/out 2>&1 & program=$!; \
         for i in $(seq 600); do [ $(cat $held) = 1 ] && break; sleep 0.1; done; \
         [ $(cat $held) = 1 ] || exit 1; echo $id > kfd/hang_hws; \
         for i in $(seq 300); do dmesg | grep -q 'the GPU works again' && break; sleep 0.1; done; \
         echo 0 > $held; wait $program; grep -v @rkfd /tmp/out; dmesg | grep 'the GPU works again'"
    );
    let mut scenario = with_vadd(
        BY_RESET,
        "a copy engine isn't given up for what hung before it was reset",
        "vectoradd",
    )
    .scheduled_by(Scheduler::Cpsch)
    .step(Step::insmod(MODULE))
    .step(hold("mutex_lock", "6Copier4wait", false))
    .step(Step::sh("reset-meanwhile", 200, &race))
    .step(Step::run("goes-on", 60, &["/bin/vectoradd", VADD, "65536"]))
    .step(Step::sh(
        "not-given-up",
        30,
        "! dmesg | grep 'gets no further'",
    ))
    .step(Step::sh("nothing-is-left", 60, NOTHING_LEFT))
    .step(Step::Rmmod("rkfd".into()))
    .step(Step::Rmmod(HOLD_CALL.into()))
    .violates(&["Hiq queue: no type-3 PM4 header: 0x55555555"])
    .rule("at the 1st kernel fill: hang");
    let held = Include::TestModule { name: HOLD_CALL };
    scenario.includes.push(held);
    scenario
}
