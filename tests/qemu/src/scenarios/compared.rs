// SPDX-License-Identifier: MIT OR Apache-2.0
//! The same device from power-on to the first dispatch, once started by stock amdgpu.ko and once by the module:
//! `make trace-diff` compares what each did to it.

use super::{amdgpu, cold, with_vadd, MODULE, VADD};
use crate::chip::Scheduler;
use crate::plan::Step;
use crate::scenario::Scenario;

/// Both.
pub fn all() -> [Scenario; 2] {
    let work = || Step::run("vectoradd", 60, &["/bin/vectoradd", VADD, "65536"]);
    let by_amdgpu = with_vadd(
        "started-by-amdgpu",
        "stock amdgpu.ko takes a GPU from power-on to the first dispatch",
        "vectoradd",
    );
    let by_rkfd = with_vadd(
        "started-by-rkfd",
        "the module takes a GPU from power-on to the first dispatch",
        "vectoradd",
    );
    [
        amdgpu::started_by_security_processor(by_amdgpu).step(work()),
        cold::from_power_on(by_rkfd.scheduled_by(Scheduler::Cpsch))
            .emulator_arg("--vram-mib=2048")
            .step(Step::insmod(MODULE))
            .step(work())
            .step(Step::Rmmod("rkfd".into())),
    ]
}
