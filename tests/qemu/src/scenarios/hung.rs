// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queues that don't let go of the hardware: each is reset alone, but copy queues of MES.

use super::lifetime::NOTHING_LEFT;
use super::{with_vadd, MODULE, VADD};
use crate::chip::Scheduler;
use crate::plan::Step;
use crate::scenario::Scenario;
use crate::trace::Trace;
use crate::verdict::Outcome;

/// All of them.
pub fn all() -> [Scenario; 9] {
    [
        reset(
            "hang-queue",
            "hang",
            "a queue that hangs is reset, which its program learns; other queues and programs go on",
            "! dmesg | grep -q 'resetting pipe'",
        ),
        reset(
            "wedge-queue",
            "wedge",
            "a queue that hangs in spite of its reset ends with its pipe; others go on",
            "dmesg | grep -q \"it doesn't end; resetting pipe\"",
        ),
        clock(),
        copies(),
        copies_of_mes(),
        kept(
            "kept-queue",
            "a process of which MES keeps a queue goes on with another one, and others go on",
            &[],
        ),
        kept(
            "kept-queue-changed",
            "the same when the queue was to be changed: it counts as hung, and isn't changed any more",
            &["changed"],
        ),
        unbound(
            "hang-unbound",
            "a queue that hangs while the device is taken from the driver is reset, and the next driver has no trouble with it",
            "at the 1st queue stop of queue 1: wedge",
            "endless /kernels/spin-O3.co /tmp/ready",
            "the queue with doorbell .* hangs on pipe",
        )
        .check(recovered),
        unbound(
            "hang-unbound-copies",
            "the same of a copy engine",
            "at the 1st copy packet: hang",
            "endless copy /tmp/ready",
            "the queue with doorbell .* hangs on copy engine .*; resetting the engine",
        )
        .scheduled_by(Scheduler::Cpsch),
    ]
}

/// Programs read the GPU's clock while a queue is waited for that doesn't end: for four seconds with CPSCH.
fn clock() -> Scenario {
    reset_while(
        "wedge-queue-clock",
        "wedge",
        "while a queue that hangs is reset, another program reads the GPU's clock",
        "dmesg | grep -q \"it doesn't end; resetting pipe\"",
        &["/bin/hung", VADD, "/kernels/spin-O3.co", "clock"],
    )
    .scheduled_by(Scheduler::Cpsch)
}

/// The device is taken from the driver while a program's work hangs; the driver resets what doesn't stop, as it says.
/// Bound again, the device works.
fn unbound(
    name: &'static str,
    about: &'static str,
    rule: &str,
    program: &str,
    logged: &str,
) -> Scenario {
    let unbind = format!(
        "rm -f /tmp/ready; {program} & victim=$!; \
         for i in $(seq 300); do [ -e /tmp/ready ] && break; sleep 0.1; done; [ -e /tmp/ready ] || exit 1; \
         echo 0000:00:01.0 > /sys/bus/pci/drivers/rkfd/unbind || exit 2; \
         kill -9 $victim; wait $victim; [ $? = 137 ]"
    );
    let logged = format!("dmesg | grep -q '{logged}' || {{ dmesg | tail; exit 1; }}");
    with_vadd(name, about, "vectoradd")
        .bin("rkfd-programs", "endless")
        .kernel("spin", 3)
        .step(Step::insmod(MODULE))
        .step(Step::sh("unbound", 120, &unbind))
        .step(Step::sh("was-reset", 60, &logged))
        .step(Step::sh("nothing-is-left", 60, NOTHING_LEFT))
        .step(Step::sh(
            "bound-again",
            60,
            "echo 0000:00:01.0 > /sys/bus/pci/drivers/rkfd/bind",
        ))
        .step(Step::run("usable", 60, &["/bin/vectoradd", VADD, "65536"]))
        .step(Step::Rmmod("rkfd".into()))
        .rule(rule)
        .misbehaves_by_turns()
}

/// MES refuses to give a queue back, also while all stand still: it still knows the process, by the context that came with
/// that queue.
fn kept(name: &'static str, about: &'static str, how: &[&str]) -> Scenario {
    let mut argv = vec!["/bin/hung", VADD, "/kernels/spin-O3.co", "kept"];
    argv.extend(how);
    with_vadd(name, about, "vectoradd")
        .bin("rkfd-programs", "hung")
        .kernel("spin", 3)
        .step(Step::insmod(MODULE))
        .step(Step::run("kept", 90, &argv))
        .step(Step::run("usable", 60, &["/bin/vectoradd", VADD, "65536"]))
        .step(Step::Rmmod("rkfd".into()))
        .rule("at the 1st REMOVE_QUEUE: fail")
        .rule("at the 2nd REMOVE_QUEUE: fail")
        .scheduled_by(Scheduler::Mes)
}

/// The firmware reports nothing of copy queues: the driver finds the engine by its registers.
fn copies() -> Scenario {
    hung_copies(
        "hang-copies",
        "a copy engine that hangs is reset, which its program learns; VRAM is cleared afterwards, others go on",
        &["/bin/hung_copies"],
        "the queue with doorbell .* hangs on copy engine 0; resetting the engine",
    )
    .scheduled_by(Scheduler::Cpsch)
}

/// MES of gfx12.0 neither suspends copy queues with the others nor looks for those that hang, as upstream asks it: the
/// GPU is reset (`remove_queue_mes_on_reset_option`, `amdgpu_mes_suspend`).
fn copies_of_mes() -> Scenario {
    hung_copies(
        "hang-copies-mes",
        "a copy engine that hangs has the GPU reset, as upstream, which all programs learn; new ones run",
        &["/bin/hung_copies", "gpu"],
        "MES hang: resetting the GPU .soft reset.$",
    )
    .scheduled_by(Scheduler::Mes)
    .check(|outcome| by_frames(&Trace::read(&outcome.logs)?, &COPIES))
}

fn hung_copies(
    name: &'static str,
    about: &'static str,
    program: &[&str],
    logged: &str,
) -> Scenario {
    let logged = format!("dmesg | grep -q '{logged}' || {{ dmesg | tail; exit 1; }}");
    with_vadd(name, about, "vectoradd")
        .bin("rkfd-programs", "hung_copies")
        .bin("rkfd-programs", "copies")
        .step(Step::insmod(MODULE))
        .step(Step::run("hung-copies", 90, program))
        .step(Step::sh("nothing-is-left", 60, NOTHING_LEFT))
        .step(Step::sh("engine-named", 60, &logged))
        .step(Step::run("copies", 90, &["/bin/copies"]))
        .step(Step::run("usable", 60, &["/bin/vectoradd", VADD, "65536"]))
        .step(Step::Rmmod("rkfd".into()))
        .rule("at the 1st copy packet: hang")
}

/// DESTROY_QUEUE of a queue that hangs succeeds, as upstream's, since the queue is reset. The program
/// checks which programs get an exception and which go on.
fn reset(name: &'static str, effect: &str, about: &'static str, pipe: &str) -> Scenario {
    let program = ["/bin/hung", VADD, "/kernels/spin-O3.co"];
    reset_while(name, effect, about, pipe, &program)
        .check(recovered)
        .on_all_shapes()
}

/// The same with arguments for the program.
fn reset_while(
    name: &'static str,
    effect: &str,
    about: &'static str,
    pipe: &str,
    program: &[&str],
) -> Scenario {
    let scenario = with_vadd(name, about, "vectoradd")
        .bin("rkfd-programs", "hung")
        .kernel("spin", 3)
        .step(Step::insmod(MODULE))
        .step(Step::run("hung", 90, program))
        .step(Step::sh("nothing-is-left", 60, NOTHING_LEFT))
        .step(Step::run("usable", 60, &["/bin/vectoradd", VADD, "65536"]))
        .step(Step::sh(
            "queue-named",
            60,
            "dmesg | grep -q 'the queue with doorbell .* hangs on pipe'",
        ))
        .step(Step::sh("the-pipe", 60, pipe))
        .step(Step::Rmmod("rkfd".into()));
    scenario
        .rule(&format!("at the 1st queue stop of queue 1: {effect}"))
        .misbehaves_by_turns()
}

/// One queue was found to hang, and what the scheduler was asked for is as upstream.
fn recovered(outcome: &Outcome) -> Result<(), String> {
    let trace = Trace::read(&outcome.logs)?;
    match outcome.chip.scheduler {
        Scheduler::Cpsch => trace.only("hung", |_| true).map(|_| ()),
        Scheduler::Mes => by_frames(&trace, &COMPUTE),
    }
}

/// Frames and what became of them.
type Frames = [(&'static str, &'static str)];

/// After the refused REMOVE_QUEUE: SUSPEND fails, RESET finds the queue, REMOVE_QUEUE forgets it, and
/// RESUME lets the others go on (`amdgpu_gfx_reset_mes_compute`).
const COMPUTE: [(&str, &str); 5] = [
    ("REMOVE_QUEUE", "failed"),
    ("SUSPEND", "failed"),
    ("RESET", "done"),
    ("REMOVE_QUEUE", "done"),
    ("RESUME", "done"),
];

/// There: SUSPEND succeeds, since no compute queue hangs, and REMOVE_QUEUE is refused again.
const COPIES: [(&str, &str); 4] = [
    ("REMOVE_QUEUE", "failed"),
    ("SUSPEND", "done"),
    ("REMOVE_QUEUE", "failed"),
    ("RESUME", "done"),
];

/// What MES was asked from the first frame on that failed.
fn by_frames(trace: &Trace, wanted: &Frames) -> Result<(), String> {
    let frames = trace.all("mes").filter(|e| e.num("pipe") == Ok(0));
    let frames: Vec<_> = frames
        .map(|e| (e.text("op"), e.text("outcome")))
        .filter(|(op, _)| *op != "QUERY_SCHEDULER_STATUS")
        .skip_while(|(_, outcome)| *outcome != "failed")
        .take(wanted.len())
        .collect();
    match frames == wanted {
        true => Ok(()),
        false => Err(format!(
            "MES: it was asked {frames:?} instead of {wanted:?}"
        )),
    }
}
