// SPDX-License-Identifier: MIT OR Apache-2.0
//! The same device from power-on to the first dispatch, once started by stock amdgpu.ko and once by the module:
//! `make trace-diff` compares what each did to it.

use super::{amdgpu, cold, with_vadd, MODULE, VADD};
use crate::chip::Scheduler;
use crate::plan::Step;
use crate::scenario::{Machine, Scenario};

/// Both, on each chip.
pub fn all() -> [Scenario; 4] {
    let work = || Step::run("vectoradd", 60, &["/bin/vectoradd", VADD, "65536"]);
    let by_amdgpu = |name| {
        let about = "stock amdgpu.ko takes a GPU from power-on to the first dispatch";
        with_vadd(name, about, "vectoradd")
    };
    let by_rkfd = |name, scheduler| {
        let about = "the module takes a GPU from power-on to the first dispatch";
        let mut scenario = with_vadd(name, about, "vectoradd").scheduled_by(scheduler);
        if scheduler == Scheduler::Mes {
            // Where atomic operations reach system memory, as stock KFD needs it.
            scenario.machine = Machine::Pci;
        }
        cold::from_power_on(scenario)
            .emulator_arg("--vram-mib=2048")
            .step(Step::insmod(MODULE))
            .step(work())
            .step(Step::Rmmod("rkfd".into()))
    };
    [
        amdgpu::started_by_security_processor(by_amdgpu("started-by-amdgpu")).step(work()),
        by_rkfd("started-by-rkfd", Scheduler::Cpsch),
        amdgpu::started_with_management(by_amdgpu("started-by-amdgpu-navi48")).step(work()),
        by_rkfd("started-by-rkfd-navi48", Scheduler::Mes),
    ]
}
