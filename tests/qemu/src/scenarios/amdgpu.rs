// SPDX-License-Identifier: MIT OR Apache-2.0
//! Linux's stock amdgpu.ko on a device from power-on: an outside referee of the device.
//!
//! The driver is Debian's, byte for byte, and firmware files are placeholders ([`crate::firmware`]). Each
//! step is one that the kernel's log shows; the plan ends where the device's model does, and
//! `docs/amdgpu-developers.md` lists what is missing.

use super::{sensors, with_vadd, VADD};
use crate::chip::{Chip, Scheduler};
use crate::plan::Step;
use crate::scenario::{Include, Machine, Scenario};
use std::time::Duration;

/// What amdgpu needs of the stock kernel's modules, in the order of `modules.dep`, and itself.
const MODULES: [&str; 19] = [
    "lib/crc/crc16",
    "drivers/platform/wmi/wmi",
    "drivers/acpi/video",
    "drivers/i2c/algos/i2c-algo-bit",
    "drivers/gpu/drm/drm",
    "drivers/gpu/drm/drm_kms_helper",
    "drivers/gpu/drm/clients/drm_client_lib",
    "drivers/media/rc/rc-core",
    "drivers/media/cec/core/cec",
    "drivers/gpu/drm/display/drm_display_helper",
    "drivers/gpu/drm/drm_suballoc_helper",
    "drivers/gpu/drm/drm_exec",
    "drivers/gpu/drm/ttm/ttm",
    "drivers/gpu/drm/drm_ttm_helper",
    "drivers/gpu/drm/drm_buddy",
    "drivers/gpu/drm/scheduler/gpu-sched",
    "drivers/gpu/drm/drm_panel_backlight_quirks",
    "drivers/gpu/drm/amd/amdxcp/amdxcp",
    "drivers/gpu/drm/amd/amdgpu/amdgpu",
];

/// A step that the kernel's log shows: its name, and a pattern of the log.
type Reached = (&'static str, &'static str);

/// What shows how far the driver came, whichever way its firmware takes.
const FIRST: [Reached; 5] = [
    ("discovery", "detected ip block number 0"),
    ("vbios", "ATOM BIOS: 113-RKFD-000"),
    ("vram", "VRAM: [0-9]*M 0x"),
    ("gtt", "GTT memory ready"),
    ("gart", "PCIE GART of"),
];

/// What shows that its rings and KFD run, on MI308X.
const RUNS: [Reached; 5] = [
    ("queues", "kiq ring mec 2 pipe 1 q 0"),
    ("kfd", "kfd kfd: added device 1002:74a2"),
    ("compute-units", "active_cu_number 80"),
    ("drm", "Initialized amdgpu 3"),
    ("memory", "RAM width 8192bits HBM"),
];

/// The same on Navi 48: its scheduler, and KFD.
const RUNS_BY_MES: [Reached; 5] = [
    ("scheduler", "program CP_MES_CNTL : 0xc000000"),
    ("kfd", "kfd kfd: added device 1002:7550"),
    ("compute-units", "active_cu_number 64"),
    ("drm", "Initialized amdgpu 3"),
    ("memory", "RAM width 256bits GDDR6"),
];

/// What must not be in the log: a test of a ring that failed, a job that did not end.
const QUIET: &str =
    "sleep 5; ! dmesg | grep -e 'IB test failed' -e 'ring .* timeout' -e 'failed to write reg'";

/// Firmware through the engines' ports, without the block of RAS, which needs what it is told not to use.
const PORTS: [&str; 3] = ["fw_load_type=0", "dpm=0", "ip_block_mask=0x1f"];

/// Firmware through the security processor. Without power management the block of the management unit has to
/// be left out, or the driver ends with "smu firmware loading failed" (`smu_load_microcode`).
const SECURITY_PROCESSOR: [&str; 2] = ["dpm=0", "ip_block_mask=0x6f"];

/// The same with power management, whose block then stays in. Left out is the block of RAS alone, which needs what it is
/// told not to use.
const MANAGED: [&str; 1] = ["ip_block_mask=0x7f"];

/// The management unit's part is over.
const SMU: Reached = ("smu", "SMU is initialized successfully");

/// The driver with power management, and what it shows of the device's measurements.
pub fn managed() -> Scenario {
    let about =
        "stock amdgpu.ko starts a cold device with power management, and shows what it measures";
    let scenario = Scenario::new("amdgpu-dpm", about)
        .scheduled_by(Scheduler::Cpsch)
        .emulator_arg(sensors::SERIAL[0])
        .emulator_arg(sensors::SERIAL[1]);
    let smu = [SMU, RUNS[0], RUNS[1], RUNS[2], RUNS[3], RUNS[4]];
    all_steps(started(scenario, &MANAGED), &smu)
        .step(Step::sh("unique", 60, sensors::UNIQUE))
        .step(Step::sh("sensors", 60, sensors::SHOW))
        .step(Step::sh("levels", 60, sensors::LEVELS))
        .step(Step::sh("metrics", 60, &sensors::metrics::beside_others()))
        .step(Step::sh("later", 60, &sensors::metrics::later()))
        .step(Step::Rmmod("amdgpu".into()))
        .check(sensors::as_measured)
        .check(sensors::metrics::as_measured)
}

/// The same on Navi 48, without its management unit, and without the kernel's own queues
/// (`gfx_v12_0_early_init`): the graphics pipe isn't modelled.
const NAVI48: [&str; 3] = ["dpm=0", "ip_block_mask=0xef", "user_queue=2"];

/// With the management unit, but without the kernel's own queues.
const NAVI48_MANAGED: [&str; 1] = ["user_queue=2"];

/// The driver loaded in the shorter way that the chip has, in a scenario that goes on from there; the plan so
/// far waits until KFD has its node.
pub fn started_on(chip: &Chip, scenario: Scenario) -> Scenario {
    let scenario = scenario.scheduled_by(chip.scheduler);
    match chip.scheduler {
        Scheduler::Cpsch => with_node(started(scenario, &PORTS), &RUNS),
        Scheduler::Mes => with_node(started(scenario, &NAVI48), &RUNS_BY_MES),
    }
}

/// The driver with firmware through the engines' ports.
pub fn ports() -> Scenario {
    let about = "stock amdgpu.ko starts a cold device by the engines' ports";
    let scenario = Scenario::new("amdgpu", about).scheduled_by(Scheduler::Cpsch);
    all_steps(started(scenario, &PORTS), &RUNS)
}

/// As [`started_on`] on MI308X, through the security processor.
pub fn started_by_security_processor(scenario: Scenario) -> Scenario {
    let scenario = scenario.scheduled_by(Scheduler::Cpsch);
    with_node(started(scenario, &SECURITY_PROCESSOR), &RUNS)
}

/// Waits until KFD has its node.
fn with_node(scenario: Scenario, runs: &[Reached; 5]) -> Scenario {
    let [_, (name, pattern), ..] = *runs;
    scenario.step(reached(name, pattern))
}

/// As [`started_on`] on Navi 48, with power management.
pub fn started_with_management(scenario: Scenario) -> Scenario {
    let mut scenario = scenario.scheduled_by(Scheduler::Mes);
    scenario.machine = Machine::Pci;
    with_node(started(scenario, &NAVI48_MANAGED), &RUNS_BY_MES)
}

/// The driver with firmware through the security processor.
pub fn security_processor() -> Scenario {
    let about = "stock amdgpu.ko starts a cold device through its security processor";
    let scenario = Scenario::new("amdgpu-psp", about).scheduled_by(Scheduler::Cpsch);
    all_steps(started(scenario, &SECURITY_PROCESSOR), &RUNS)
}

/// The driver on Navi 48: firmware through the security processor, and from there by the run list controller.
pub fn navi48() -> Scenario {
    let about = "stock amdgpu.ko starts a cold Navi 48 through its security processor";
    let mut scenario = with_vadd("amdgpu-navi48", about, "vectoradd").scheduled_by(Scheduler::Mes);
    // KFD takes a GPU of this generation only where its atomic operations reach system memory, or with newer
    // compute firmware than the placeholder's (`kfd_device_info_init`, `no_atomic_fw_version`).
    scenario.machine = Machine::Pci;
    all_steps(started(scenario, &NAVI48), &RUNS_BY_MES).step(Step::run(
        "vectoradd",
        60,
        &["/bin/vectoradd", VADD],
    ))
}

/// The same with power management.
pub fn navi48_managed() -> Scenario {
    let about = "stock amdgpu.ko starts a cold Navi 48 with power management";
    let mut scenario =
        with_vadd("amdgpu-navi48-dpm", about, "vectoradd").scheduled_by(Scheduler::Mes);
    scenario.machine = Machine::Pci;
    let [scheduler, kfd, units, drm, memory] = RUNS_BY_MES;
    let runs = [scheduler, SMU, kfd, units, drm, memory];
    all_steps(started(scenario, &NAVI48_MANAGED), &runs).step(Step::run(
        "vectoradd",
        60,
        &["/bin/vectoradd", VADD],
    ))
}

/// A cold device, and the driver loaded on it.
fn started(scenario: Scenario, parameters: &[&str]) -> Scenario {
    let mut scenario = scenario
        .without_module()
        .emulator_arg("--cold")
        .emulator_arg("--write-combined")
        .emulator_arg("--vram-mib=2048");
    scenario.timeout = scenario.timeout.max(Duration::from_secs(600));
    scenario.memory_mib = 2048;
    scenario.includes.push(Include::Firmware);
    for path in MODULES {
        scenario.includes.push(Include::Module { path });
        let (_, module) = path.rsplit_once('/').unwrap_or(("", path));
        let params = match module {
            "amdgpu" => parameters,
            _ => &[],
        };
        scenario = scenario.step(Step::Insmod {
            path: format!("/modules/{module}.ko"),
            params: params.iter().map(|&param| param.into()).collect(),
        });
    }
    scenario
}

/// Whether a scenario loads the stock driver.
pub(super) fn is_needed(scenario: &Scenario) -> bool {
    let driver = MODULES.last();
    let mut includes = scenario.includes.iter();
    includes.any(|include| matches!(include, Include::Module { path } if Some(path) == driver))
}

fn reached(what: &str, pattern: &str) -> Step {
    Step::sh(what, 60, &format!("dmesg | grep -m1 -e '{pattern}'"))
}

/// Looks for all that shows how far the driver came.
fn all_steps(scenario: Scenario, then: &[Reached]) -> Scenario {
    let all = FIRST.iter().chain(then);
    let steps = all.map(|(what, pattern)| reached(what, pattern));
    scenario
        .steps(steps)
        .step(Step::sh("rings", 60, QUIET))
        .step(Step::Exists("/dev/kfd".into()))
        .step(Step::Exists("/dev/dri/renderD128".into()))
}
