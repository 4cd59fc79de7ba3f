// SPDX-License-Identifier: MIT OR Apache-2.0
//! Linux's amdgpu.ko and the module on the same device in the same machine, one after the other: what `rkfd-vm
//! bench-amdgpu` measures.

use super::{amdgpu, with_vadd, MODULE, VADD};
use crate::plan::Step;
use crate::scenario::Scenario;

/// The parts of the program `costs` that are compared.
const PARTS: [&str; 2] = ["requests", "signals"];

/// Waits until the driver has nothing of earlier processes: until then it can't be unloaded.
const ALONE: &str = "while [ -n \"$(ls /sys/class/kfd/kfd/proc)\" ]; do sleep 1; done; sleep 1";

/// amdgpu, which starts the GPU from power-on; the module, which takes it over; and amdgpu again. On MI308X: of Navi 48
/// the stock driver takes the device only without its management unit's firmware (`amdgpu::navi48`), by which
/// the module resets a GPU that another driver has started.
pub fn all() -> Scenario {
    let scenario = with_vadd(
        "bench-amdgpu",
        "what requests cost with stock amdgpu.ko, with the module, and with amdgpu.ko again",
        "costs",
    )
    .without_trace();
    let mut scenario = amdgpu::started_by_security_processor(scenario);
    scenario.module = true;
    scenario.memory_mib = 4096;
    let again = scenario.plan.last_chunk::<2>().cloned().into_iter();
    let again: Vec<Step> = again.flatten().collect();
    scenario
        .steps(measured("amdgpu"))
        .steps([Step::Rmmod("amdgpu".into()), Step::insmod(MODULE)])
        .steps(measured("rkfd"))
        .steps([
            Step::Rmmod("rkfd".into()),
            Step::sh("empty-log", 60, "dmesg -c >/dev/null"),
        ])
        // amdgpu is loaded, and has KFD's node.
        .steps(again)
        .steps(measured("amdgpu-again"))
        .timeout(3600)
}

/// Each part with the driver that is loaded.
fn measured(driver: &str) -> Vec<Step> {
    let step = |part: &&str| {
        let name = format!("costs-{part}-{driver}");
        Step::run(&name, 600, &["/bin/costs", VADD, part, "rival"])
    };
    let alone = Step::sh(&format!("alone-{driver}"), 120, ALONE);
    PARTS.iter().map(step).chain([alone]).collect()
}
