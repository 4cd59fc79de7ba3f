// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program debugs another (DBG_TRAP).

use super::{with_vadd, MODULE, VADD};
use crate::chip::Scheduler;
use crate::plan::Step;
use crate::scenario::Scenario;

/// All of them.
pub fn all() -> Vec<Scenario> {
    vec![debugged(), debugged_in_order(), faults_before_errors()]
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

/// A scenario of the program `debugged`, which is told what to do by its last argument.
pub(super) fn debugging(name: &'static str, about: &'static str, last: &str) -> Scenario {
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

/// Traces the entries of both interrupt rings as the driver acts on them.
const TRACE: &str =
    "cd /sys/kernel/tracing && echo 1 > events/rkfd/rkfd_ih_entry/enable && echo 1 > tracing_on";

/// A message of a trap handler has encoding 1 in its second word; a page fault of the graphics hub is source 0.
const IN_ORDER: &str = "grep rkfd_ih_entry: /sys/kernel/tracing/trace | { last=0; faults=0; messages=0; \
    while read -r line; do time=${line##*time=}; case \"$line\" in \
        *'client=10 source=239 '*,0x40,*) messages=$((messages + 1)); [ $time -le $last ] || last=$time ;; \
        *'client=10 source=0 '*) faults=$((faults + 1)); \
            [ $time -ge $last ] || { echo \"after a later message: $line\"; exit 1; } ;; \
    esac; done; echo \"$faults faults, $messages messages\"; [ $faults -gt 0 ] && [ $messages -gt 0 ]; }";

/// Navi 48 writes page faults into a ring of their own. What a trap handler says of one may be read before it.
fn faults_before_errors() -> Scenario {
    with_vadd(
        "faults-before-errors",
        "the driver acts on page faults before it acts on what trap handlers say of them later",
        "vectoradd",
    )
    .bin("rkfd-programs", "faults")
    .kernel("illegal", 3)
    .programs_fault()
    .scheduled_by(Scheduler::Mes)
    .steps([
        Step::insmod(MODULE),
        Step::sh("traced", 60, TRACE),
        Step::run(
            "memory",
            90,
            &["/bin/faults", VADD, "memory", "/kernels/illegal-O3.co"],
        ),
        Step::sh("in-order", 60, IN_ORDER),
        Step::Rmmod("rkfd".into()),
    ])
}
