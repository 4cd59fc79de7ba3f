// SPDX-License-Identifier: MIT OR Apache-2.0
//! A micro engine scheduler that fails: clear errors in bounded time, and a driver that stays
//! usable.

use super::faults::NOT_BOUND;
use super::{with_vadd, MODULE, VADD};
use crate::chip::Scheduler;
use crate::plan::Step;
use crate::scenario::Scenario;

/// A program's queue is not given back, which the program learns, and its kernel has run.
const DESTROY_FAILS: &str = "vectoradd /kernels/vadd-O3.co 4096 >/tmp/out; grep errno /tmp/out; \
    grep -Eq 'DESTROY_QUEUE .* failed, errno (110|131)' /tmp/out && grep -q 'verified 4096/4096' /tmp/out";

/// All of them.
pub fn all() -> Vec<Scenario> {
    vec![
        does_not_start(
            "mes-fail-frame",
            "on SET_HW_RSRC: fail",
            "a scheduler that refuses its first frame: the reason is logged, the module unloads",
            "refuses SET_HW_RSRC: error 255 of command 0",
        ),
        does_not_start(
            "mes-no-fence",
            "on MES frame: no answer",
            "a scheduler that never completes a frame costs one time-out, the module unloads",
            "pipe 1 of the scheduler (MES) doesn.t answer; it is stuck",
        ),
        refuse_add(),
        refuse_remove(),
        kernel_pipe_hangs(),
        log(),
        old(
            "mes-old",
            "an early scheduler is asked for nothing that it lacks",
            "at power-on: MES revision 0x83",
        ),
        old(
            "mes-older",
            "one that takes fewer resources, too, is not given them",
            "at power-on: MES revision 0x4a",
        ),
    ]
}

/// Firmware of a revision that lacks INV_TLBS and the search for hung queues. TLBs are flushed by registers,
/// and a queue that hangs isn't given back.
fn old(name: &'static str, about: &'static str, rule: &str) -> Scenario {
    let scenario = with_vadd(name, about, "vectoradd")
        .step(Step::insmod(MODULE))
        .step(Step::run("works", 60, &["/bin/vectoradd", VADD, "65536"]))
        .step(Step::sh("destroy-fails", 60, DESTROY_FAILS))
        .step(Step::run("goes-on", 60, &["/bin/vectoradd", VADD, "65536"]))
        .step(Step::Rmmod("rkfd".into()));
    of_mes(scenario, rule).rule("at the 2nd queue stop: hang")
}

/// The pipe of the kernel's own commands hangs. It is waited for once: TLBs are flushed by registers from then on, programs
/// run, and the module unloads without asking that pipe. Loaded anew, it starts MES again.
fn kernel_pipe_hangs() -> Scenario {
    let once = "dmesg | grep \"scheduler (MES) doesn't answer; it is stuck\"; \
        [ $(dmesg | grep -c \"scheduler (MES) doesn't answer; it is stuck\") = 1 ]";
    let run = |name| Step::run(name, 60, &["/bin/vectoradd", VADD, "65536"]);
    let scenario = with_vadd(
        "mes-kernel-pipe",
        "where the scheduler's second pipe hangs that is waited for once, and the driver goes on without it",
        "vectoradd",
    )
    .step(Step::insmod(MODULE))
    .step(run("works"))
    .step(run("goes-on"))
    .step(Step::Rmmod("rkfd".into()))
    .step(Step::sh("waited-once", 60, once))
    .step(Step::insmod(MODULE))
    .step(run("anew"))
    .step(Step::Rmmod("rkfd".into()));
    of_mes(scenario, "at the 1st INV_TLBS: hang")
}

/// What only MES has.
fn of_mes(scenario: Scenario, rule: &str) -> Scenario {
    scenario
        .rule(rule)
        .scheduled_by(Scheduler::Mes)
        .misbehaves_by_turns()
}

/// The driver doesn't bind the device, and logs the reason; again after a reload.
fn does_not_start(name: &'static str, rule: &str, about: &'static str, message: &str) -> Scenario {
    let logged = format!("dmesg | grep -q '{message}' || {{ dmesg | tail; exit 1; }}");
    let scenario = Scenario::new(name, about)
        .step(Step::insmod(MODULE))
        .step(Step::sh("reason-logged", 60, &logged))
        .step(Step::sh("not-bound", 60, NOT_BOUND))
        .step(Step::Rmmod("rkfd".into()))
        .step(Step::insmod(MODULE))
        .step(Step::Rmmod("rkfd".into()));
    of_mes(scenario, rule)
}

/// DESTROY_QUEUE fails with upstream's ETIMEDOUT or ENOTRECOVERABLE, and the queue is kept; other
/// programs go on.
fn refuse_remove() -> Scenario {
    let scenario = with_vadd(
        "mes-refuse-remove",
        "a queue that is not given back costs its program an error; the next program runs",
        "vectoradd",
    )
    .step(Step::insmod(MODULE))
    .step(Step::sh("destroy-fails", 60, DESTROY_FAILS))
    .step(Step::sh("the-next-runs", 60, DESTROY_FAILS))
    .step(Step::sh(
        "reason-logged",
        60,
        "dmesg | grep -q 'refuses REMOVE_QUEUE: error 255 of command 3'",
    ))
    .step(Step::Rmmod("rkfd".into()))
    .step(Step::insmod(MODULE))
    .step(Step::Rmmod("rkfd".into()));
    of_mes(scenario, "on REMOVE_QUEUE: fail")
}

/// CREATE_QUEUE fails with upstream's ETIMEDOUT and the reason is logged; the program's next queue runs, and the next
/// program.
fn refuse_add() -> Scenario {
    let scenario = with_vadd(
        "mes-refuse-add",
        "a queue that is refused costs its program an error, and nothing is left of it; the next one runs",
        "refused",
    )
    .bin("rkfd-programs", "vectoradd")
    .step(Step::insmod(MODULE))
    .step(Step::run("refused", 60, &["/bin/refused", VADD]))
    .step(Step::sh(
        "nothing-is-left",
        60,
        super::lifetime::NOTHING_LEFT,
    ))
    .step(Step::run("the-next", 60, &["/bin/vectoradd", VADD, "4096"]))
    .step(Step::sh(
        "reason-logged",
        60,
        "dmesg | grep -q 'refuses ADD_QUEUE: error 255 of command 2'",
    ))
    .step(Step::Rmmod("rkfd".into()));
    of_mes(scenario, "at the 3rd ADD_QUEUE: fail")
}

/// The firmware's log: words that it writes while a queue runs, and none without the parameter.
fn log() -> Scenario {
    const FILE: &str = "/sys/kernel/debug/rkfd-0000:00:01.0/mes_event_log";
    // The header's first word is the index of the next entry.
    let count = format!("head -n 1 {FILE} | cut -d' ' -f2");
    let grows = format!(
        "before=$({count}); vectoradd {VADD} 4096 || exit 1; after=$({count}); \
        echo $before $after; [ $((0x$after)) -ge $((0x$before + 3)) ]"
    );
    with_vadd(
        "mes-log",
        "what the scheduler logs can be read while it works",
        "vectoradd",
    )
    .step(Step::Insmod {
        path: MODULE.into(),
        params: vec!["mes_log=1".into()],
    })
    .step(Step::Exists(FILE.into()))
    .step(Step::sh("it-grows", 90, &grows))
    .step(Step::Rmmod("rkfd".into()))
    .step(Step::Absent(FILE.into()))
    .step(Step::insmod(MODULE))
    .step(Step::Absent(FILE.into()))
    .step(Step::Rmmod("rkfd".into()))
    .scheduled_by(Scheduler::Mes)
    .shares_a_machine()
}
