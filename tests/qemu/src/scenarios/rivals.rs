// SPDX-License-Identifier: MIT OR Apache-2.0
//! Linux's amdgpu.ko and the module on the same device in the same machine, one after the other: what `rkfd-vm
//! bench-amdgpu` measures.

use super::{amdgpu, with_vadd, MODULE, VADD};
use crate::bench::rivals::Rivals;
use crate::plan::Step;
use crate::scenario::Scenario;

/// The parts of the program `costs` that are compared.
const PARTS: [&str; 2] = ["requests", "signals"];

/// Waits until the driver has nothing of earlier processes: until then it can't be unloaded.
const ALONE: &str = "while [ -n \"$(ls /sys/class/kfd/kfd/proc)\" ]; do sleep 1; done; sleep 1";

/// The module, which starts the GPU from power-on; amdgpu, which takes it over; and amdgpu loaded anew. On MI308X: of Navi
/// 48 the stock driver starts the device without its management unit's firmware only (`amdgpu::navi48`), and
/// a GPU that another driver has started is reset by that unit.
pub fn all() -> Scenario {
    let scenario = with_vadd(
        "bench-amdgpu",
        "what requests cost with the module, with stock amdgpu.ko, and with amdgpu.ko loaded anew",
        "costs",
    )
    .without_trace();
    let mut scenario = amdgpu::started_by_security_processor(scenario);
    scenario.module = true;
    scenario.memory_mib = 4096;
    // amdgpu.ko is loaded behind the modules that it needs, and has KFD's node.
    let first = scenario
        .plan
        .split_off(scenario.plan.len().saturating_sub(2));
    let again = first.clone();
    scenario
        .step(Step::insmod(MODULE))
        .steps(measured("rkfd"))
        .step(Step::Rmmod("rkfd".into()))
        .steps(first)
        .steps(measured("amdgpu"))
        .steps([
            Step::Rmmod("amdgpu".into()),
            Step::sh("empty-log", 60, "dmesg -c >/dev/null"),
        ])
        .steps(again)
        .steps(measured("amdgpu-again"))
        .timeout(3600)
}

/// For every change: the shorter part can be measured without what only the module counts, and read.
pub fn brief() -> Scenario {
    let about = "what is compared with another driver can be measured";
    with_vadd("rival", about, "costs")
        .without_trace()
        .step(Step::insmod(MODULE))
        .step(Step::run(
            "signals",
            120,
            &["/bin/costs", VADD, "signals", "rival"],
        ))
        .step(Step::Rmmod("rkfd".into()))
        .check(|outcome| Rivals::of(&outcome.output).map(drop))
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
