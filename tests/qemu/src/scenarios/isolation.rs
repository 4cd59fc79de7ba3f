// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a process leaves in registers and LDS: others find it, unless the module isolates processes.

use super::MODULE;
use crate::plan::Step;
use crate::scenario::Scenario;
use crate::trace::Trace;
use crate::verdict::Outcome;

const CODE: &str = "/kernels/leftovers-O3.co";

/// Without the module's parameter, and with it.
pub(super) fn all() -> [Scenario; 2] {
    [leftovers(), isolated()]
}

fn of(name: &'static str, about: &'static str) -> Scenario {
    Scenario::new(name, about)
        .bin("rkfd-programs", "leftovers")
        .kernel("leftovers", 3)
        .shares_a_machine()
}

fn run(case: &str) -> Step {
    Step::run(case, 240, &["/bin/leftovers", CODE, case])
}

fn leftovers() -> Scenario {
    of(
        "leftovers",
        "waves find what another process left in registers and LDS",
    )
    .step(Step::insmod(MODULE))
    .step(run("found"))
    .step(Step::Rmmod("rkfd".into()))
}

fn isolated() -> Scenario {
    of(
        "isolated",
        "with enforce_isolation one process runs at a time, and waves find nothing of others",
    )
    .step(Step::Insmod {
        path: MODULE.into(),
        params: vec!["enforce_isolation=1".into()],
    })
    .step(run("isolated"))
    .step(Step::Rmmod("rkfd".into()))
    .check(one_at_a_time)
}

/// By the device's trace the processes had their address spaces one after the other, and each several times.
fn one_at_a_time(outcome: &Outcome) -> Result<(), String> {
    let trace = Trace::read(&outcome.logs)?;
    let (mut running, mut turns) = (0u32, 0);
    for event in trace.events() {
        match event.kind() {
            "vmid_assign" if running > 0 => return Err("two processes run at a time".into()),
            "vmid_assign" => (running, turns) = (running + 1, turns + 1),
            "vmid_release" => running = running.saturating_sub(1),
            _ => {}
        }
    }
    match turns {
        0..8 => Err(format!("processes had {turns} turns")),
        _ => Ok(()),
    }
}
