// SPDX-License-Identifier: MIT OR Apache-2.0
//! Resets of the whole GPU, where that of its engines doesn't help.

use super::lifetime::NOTHING_LEFT;
use super::{with_vadd, MODULE, VADD};
use crate::chip::Scheduler;
use crate::plan::Step;
use crate::scenario::{Check, Include, Scenario};
use crate::trace::Trace;
use crate::verdict::Outcome;

/// What machines differ in.
struct Machine {
    name: &'static str,
    about: &'static str,
    scheduler: Scheduler,
    cold: bool,
    /// The scheduler doesn't answer, and then the engines' reset is of no use.
    rules: &'static [&'static str],
    /// How the log calls the scheduler.
    hangs: &'static str,
    /// Counts the resets of the whole chip, those of the module's start among them.
    check: Check,
}

/// A copy engine can't be reset alone: PPSMC_MSG_ResetSDMA is refused.
const CPSCH: &[&str] = &[
    "at the 3rd QUERY_STATUS: no answer",
    "on SMU message of message 0x4d: fail 0xfd until reset",
];
/// MES doesn't start again. Each start has two of these frames, one for each pipe.
const MES: &[&str] = &[
    "at the 1st REMOVE_QUEUE: hang",
    "at the 3rd SET_HW_RSRC: no answer",
];

static MACHINES: [Machine; 3] = [
    Machine {
        name: "reset-whole",
        about: "a GPU whose engines can't be reset is reset as a whole under two programs, and new ones run",
        scheduler: Scheduler::Cpsch,
        cold: false,
        rules: CPSCH,
        hangs: "HWS hang",
        check: |outcome| was_reset(outcome, 1),
    },
    Machine {
        name: "reset-whole-cold",
        about: "the same, of a GPU that the module has started; then it is given up and started again",
        scheduler: Scheduler::Cpsch,
        cold: true,
        rules: CPSCH,
        hangs: "HWS hang",
        check: |outcome| was_reset(outcome, 1),
    },
    // What another driver has left running is reset at each start (`soc24_need_reset_on_init`).
    Machine {
        name: "reset-whole-mes",
        about: "the same, of a GPU that is reset whenever a driver comes",
        scheduler: Scheduler::Mes,
        cold: false,
        rules: MES,
        hangs: "MES hang",
        check: |outcome| was_reset(outcome, 3),
    },
];

/// All of them.
pub fn all() -> Vec<Scenario> {
    MACHINES.iter().map(whole).collect()
}

/// The scheduler doesn't answer, and the engines can't be reset alone. What becomes of the programs, and that new ones
/// run.
fn whole(machine: &'static Machine) -> Scenario {
    let resetting = |way: &str| format!("{}: resetting the GPU .{way}.$", machine.hangs);
    let mut scenario = with_vadd(machine.name, machine.about, "vectoradd")
        .bin("rkfd-programs", "reset")
        .scheduled_by(machine.scheduler)
        .step(Step::insmod(MODULE))
        .step(Step::run("reset", 240, &["/bin/reset", VADD, "whole"]))
        .step(Step::sh("nothing-is-left", 60, NOTHING_LEFT))
        .step(Step::run("usable", 60, &["/bin/vectoradd", VADD, "65536"]))
        .step(logged("engines-first", &resetting("soft reset")))
        .step(logged("no-help", "the soft reset doesn.t help"))
        .step(logged("whole", &resetting("mode 1 reset")))
        .step(logged("lost", "what was in its VRAM is lost"))
        .step(Step::Rmmod("rkfd".into()))
        .step(Step::insmod(MODULE))
        .step(Step::run(
            "once-more",
            60,
            &["/bin/vectoradd", VADD, "65536"],
        ))
        .step(Step::Rmmod("rkfd".into()))
        .check(machine.check);
    scenario.includes.push(Include::Firmware);
    if machine.cold {
        scenario = scenario.emulator_arg("--cold");
    }
    let rules = machine.rules.iter();
    rules.fold(scenario, |scenario, rule| scenario.rule(rule))
}

fn was_reset(outcome: &Outcome, times: usize) -> Result<(), String> {
    let trace = Trace::read(&outcome.logs)?;
    let count = |kind: &str| trace.all(kind).count();
    match (count("mode1_reset"), count("mode1_done")) {
        found if found == (times, times) => Ok(()),
        found => Err(format!(
            "the device was reset as a whole, and was done with it, {found:?} times, not {times}"
        )),
    }
}

/// A step that passes when the module has logged this.
fn logged(name: &str, message: &str) -> Step {
    let script = format!("dmesg | grep 'rkfd .*: .*{message}' || {{ dmesg | tail; exit 1; }}");
    Step::sh(name, 60, &script)
}
