// SPDX-License-Identifier: MIT OR Apache-2.0
//! A GPU from power-on, which the module starts with placeholders of the firmware's files.

use super::amdgpu;
use super::faults::NOT_BOUND;
use super::{dispatch, with_vadd, MODULE, VADD};
use crate::chip::Scheduler;
use crate::plan::Step;
use crate::scenario::{Include, Scenario};
use std::path::PathBuf;

/// All of them.
pub fn all() -> Vec<Scenario> {
    vec![
        started(),
        without_file(),
        with_bad_files(),
        handed_over(),
        other_os(),
    ]
}

/// The demo, on a GPU that no other driver has started.
pub fn demo() -> Scenario {
    from_power_on(dispatch::demo())
}

pub(super) fn from_power_on(mut scenario: Scenario) -> Scenario {
    scenario.includes.push(Include::Firmware);
    scenario
        .scheduled_by(Scheduler::Cpsch)
        .emulator_arg("--cold")
}

/// That the module unloads and starts the GPU again, and what it says of the firmware: the placeholders'
/// versions, in the topology too.
fn started() -> Scenario {
    let vectoradd = || Step::run("vectoradd", 60, &["/bin/vectoradd", VADD]);
    let scenario = with_vadd(
        "cold-start",
        "a GPU from power-on is started, given up and started again",
        "vectoradd",
    )
    .steps([
        Step::insmod(MODULE),
        logged("starts", "the GPU is cold: starting it"),
        logged("version", "firmware amdgpu/gc_9_4_3_mec.bin: version 0xb0"),
        Step::sh(
            "topology",
            60,
            "grep -x 'fw_version 176' /sys/devices/virtual/kfd/kfd/topology/nodes/1/properties",
        ),
        vectoradd(),
        Step::Rmmod("rkfd".into()),
        Step::insmod(MODULE),
        logged(
            "starts-again",
            "the GPU.s engines are halted: starting them",
        ),
        vectoradd(),
        Step::Rmmod("rkfd".into()),
    ]);
    from_power_on(scenario)
}

/// Linux's amdgpu has the device first: its security processor goes on, and the engines are halted.
fn handed_over() -> Scenario {
    let scenario = with_vadd(
        "handed-over",
        "stock amdgpu.ko starts a cold GPU and leaves it; the module takes it over, and gives it back",
        "vectoradd",
    );
    let mut scenario = amdgpu::started_by_security_processor(scenario);
    scenario.module = true;
    let again = scenario.plan.last_chunk::<2>().cloned().into_iter();
    let again: Vec<Step> = again.flatten().collect();
    let scenario = scenario.steps([
        Step::Rmmod("amdgpu".into()),
        Step::insmod(MODULE),
        logged("takes-over", "the GPU.s engines are halted: starting them"),
        Step::run("vectoradd", 60, &["/bin/vectoradd", VADD]),
        Step::Rmmod("rkfd".into()),
        Step::sh("empty-log", 60, "dmesg -c >/dev/null"),
    ]);
    // amdgpu is loaded, and has KFD's node.
    scenario.steps(again)
}

/// What another driver has loaded into the security processor is not the driver's: the GPU is reset as a whole, and
/// started from there.
fn other_os() -> Scenario {
    let vectoradd = || Step::run("vectoradd", 60, &["/bin/vectoradd", VADD]);
    let mut scenario = with_vadd(
        "other-secure-os",
        "a GPU whose security processor runs another version of its OS is reset before it is started",
        "vectoradd",
    )
    .controlled()
    .steps([
        Step::insmod(MODULE),
        vectoradd(),
        Step::Rmmod("rkfd".into()),
        Step::sh(
            "other-version",
            60,
            ". /rules.sh; rule add 'on read of MP0_SMN_C2PMSG_58: read 350000 until reset'",
        ),
        Step::insmod(MODULE),
        logged("says-so", "another version of the security processor.s OS runs, 0x350000: resetting the GPU"),
        logged("reset", "what was in its VRAM is lost"),
        logged("starts", "the GPU is cold: starting it"),
        vectoradd(),
        Step::Rmmod("rkfd".into()),
        Step::insmod(MODULE),
        vectoradd(),
        Step::Rmmod("rkfd".into()),
    ]);
    scenario.includes.push(Include::File {
        from: PathBuf::from("tests/qemu/rules.sh"),
        to: "/rules.sh".into(),
    });
    from_power_on(scenario)
}

/// A file that is missing is named, with the package that has it; once it is there, the GPU starts.
fn without_file() -> Scenario {
    let scenario = with_vadd(
        "cold-no-file",
        "a firmware file that is missing is named, and then the GPU starts",
        "vectoradd",
    )
    .bin("rkfd-cli", "rkfd")
    .step(Step::sh(
        "doctor",
        60,
        "rkfd doctor | grep 'the firmware.s files are there'",
    ));
    from_power_on(refused_at_first(
        scenario,
        "mv /lib/firmware/amdgpu/gc_9_4_3_rlc.bin /root/ && \
         rkfd doctor | grep 'the firmware.s files amdgpu/gc_9_4_3_rlc.bin are missing'",
        "firmware amdgpu/gc_9_4_3_rlc.bin can.t be loaded (ENOENT): .*package firmware-amd-graphics",
        "mv /root/gc_9_4_3_rlc.bin /lib/firmware/amdgpu/",
    ))
}

/// A file that is cut short is refused; once it is whole, the GPU starts.
fn with_bad_files() -> Scenario {
    let scenario = with_vadd(
        "cold-bad-file",
        "a firmware file that is damaged is refused, and then the GPU starts",
        "vectoradd",
    );
    from_power_on(refused_at_first(
        scenario,
        "cd /lib/firmware/amdgpu && mv sdma_4_4_2.bin /root/ && head -c 1000 /root/sdma_4_4_2.bin >sdma_4_4_2.bin",
        "firmware amdgpu/sdma_4_4_2.bin is damaged or for another chip: its header says",
        "mv /root/sdma_4_4_2.bin /lib/firmware/amdgpu/",
    ))
}

fn refused_at_first(scenario: Scenario, spoil: &str, message: &str, mend: &str) -> Scenario {
    scenario.steps([
        Step::sh("spoil", 60, spoil),
        Step::insmod(MODULE),
        logged("reason", message),
        Step::sh("not-bound", 60, NOT_BOUND),
        Step::Rmmod("rkfd".into()),
        Step::sh("mend", 60, mend),
        Step::insmod(MODULE),
        Step::run("vectoradd", 60, &["/bin/vectoradd", VADD]),
        Step::Rmmod("rkfd".into()),
    ])
}

/// A step that passes when the module has logged this.
fn logged(name: &str, message: &str) -> Step {
    let script = format!("dmesg | grep 'rkfd .*: .*{message}' || {{ dmesg | tail; exit 1; }}");
    Step::sh(name, 60, &script)
}
