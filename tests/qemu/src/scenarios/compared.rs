// SPDX-License-Identifier: MIT OR Apache-2.0
//! The same device from power-on to the first dispatch, once started by stock amdgpu.ko and once by the module:
//! `make trace-diff` compares what each did to it, and notes what both do alike, also when they go. Stock amdgpu.ko goes
//! when the machine is switched off.

use super::{amdgpu, cold, with_vadd, MODULE, VADD};
use crate::chip::Scheduler;
use crate::plan::Step;
use crate::scenario::{Machine, Scenario};
use crate::verdict::Outcome;
use rkfd_trace::device;
use rkfd_trace_diff::{Same, Seen};
use std::fs;

fn work() -> Step {
    Step::run("vectoradd", 60, &["/bin/vectoradd", VADD, "65536"])
}

/// Stock amdgpu.ko, on each chip.
pub fn by_amdgpu() -> [Scenario; 2] {
    let by_amdgpu = |name| {
        let about = "stock amdgpu.ko takes a GPU from power-on to the first dispatch";
        with_vadd(name, about, "vectoradd")
    };
    [
        amdgpu::started_by_security_processor(by_amdgpu("started-by-amdgpu")).step(work()),
        amdgpu::started_with_management(by_amdgpu("started-by-amdgpu-navi48")).step(work()),
    ]
}

/// The module, on each chip.
pub fn by_rkfd() -> [Scenario; 2] {
    let by_rkfd = |name, scheduler| {
        let about = "the module takes a GPU from power-on to the first dispatch, and does what stock amdgpu.ko does";
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
            .check(does_as_amdgpu)
    };
    [
        by_rkfd("started-by-rkfd", Scheduler::Cpsch),
        by_rkfd("started-by-rkfd-navi48", Scheduler::Mes),
    ]
}

/// That the module has done to a device from power-on all that it and stock amdgpu do alike, with the same values.
fn does_as_amdgpu(outcome: &Outcome) -> Result<(), String> {
    // Other shapes of a chip were not compared.
    if !outcome.chip.is_usual() {
        return Ok(());
    }
    let missing = || {
        let note = format!("tests/trace-diff/{}.same", outcome.chip.name);
        let same = Same::parse(&fs::read_to_string(note)?)?;
        let trace = fs::read_to_string(outcome.logs.join("trace.jsonl"))?;
        Ok(same.missing_in(&Seen::of(&device::parse(&trace)?)?))
    };
    let missing = missing().map_err(|e: anyhow::Error| format!("{e:#}"))?;
    match missing.first() {
        None => Ok(()),
        Some(first) => Err(format!("{first} ({} such)", missing.len())),
    }
}
