// SPDX-License-Identifier: MIT OR Apache-2.0
//! Resets of the whole GPU, where that of its engines doesn't help.

use super::lifetime::NOTHING_LEFT;
use super::{with_vadd, MODULE, VADD};
use crate::chip::Scheduler;
use crate::plan::Step;
use crate::scenario::{Include, Scenario};
use crate::trace::Trace;
use crate::verdict::Outcome;

/// All of them.
pub fn all() -> Vec<Scenario> {
    vec![whole(false), whole(true)]
}

/// The scheduler doesn't answer, and a copy engine can't be reset alone. What becomes of the programs, and that new ones
/// run; on a GPU that came with its firmware running, and on one that the module has started.
fn whole(cold: bool) -> Scenario {
    let (name, about) = match cold {
        false => (
            "reset-whole",
            "a GPU whose engines can't be reset is reset as a whole under two programs, and new ones run",
        ),
        true => (
            "reset-whole-cold",
            "the same, of a GPU that the module has started; then it is given up and started again",
        ),
    };
    let mut scenario = with_vadd(name, about, "vectoradd")
        .bin("rkfd-programs", "reset")
        .scheduled_by(Scheduler::Cpsch)
        .step(Step::insmod(MODULE))
        .step(Step::run("reset", 240, &["/bin/reset", VADD, "whole"]))
        .step(Step::sh("nothing-is-left", 60, NOTHING_LEFT))
        .step(Step::run("usable", 60, &["/bin/vectoradd", VADD, "65536"]))
        .step(logged(
            "engines-first",
            "HWS hang: resetting the GPU .soft reset.$",
        ))
        .step(logged("no-help", "the soft reset doesn.t help"))
        .step(logged(
            "whole",
            "HWS hang: resetting the GPU .mode 1 reset.$",
        ))
        .step(logged("lost", "what was in its VRAM is lost"))
        .step(Step::Rmmod("rkfd".into()))
        .step(Step::insmod(MODULE))
        .step(Step::run(
            "once-more",
            60,
            &["/bin/vectoradd", VADD, "65536"],
        ))
        .step(Step::Rmmod("rkfd".into()))
        .check(was_reset_once);
    scenario.includes.push(Include::Firmware);
    if cold {
        scenario = scenario.emulator_arg("--cold");
    }
    scenario
        .rule("at the 3rd QUERY_STATUS: no answer")
        // PPSMC_MSG_ResetSDMA.
        .rule("on SMU message of message 0x4d: fail 0xfd until reset")
}

fn was_reset_once(outcome: &Outcome) -> Result<(), String> {
    let trace = Trace::read(&outcome.logs)?;
    let count = |kind: &str| trace.all(kind).count();
    match (count("mode1_reset"), count("mode1_done")) {
        (1, 1) => Ok(()),
        found => Err(format!(
            "the device was reset as a whole, and was done with it, {found:?} times"
        )),
    }
}

/// A step that passes when the module has logged this.
fn logged(name: &str, message: &str) -> Step {
    let script = format!("dmesg | grep 'rkfd .*: .*{message}' || {{ dmesg | tail; exit 1; }}");
    Step::sh(name, 60, &script)
}
