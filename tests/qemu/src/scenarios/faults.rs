// SPDX-License-Identifier: MIT OR Apache-2.0
//! Devices that cannot be used, devices that break, and mutations that must not go unseen.

use super::{with_vadd, MODULE, VADD};
use crate::plan::Step;
use crate::scenario::Scenario;

/// All of them.
pub fn all() -> Vec<Scenario> {
    let mut all = vec![
        refused(
            "cold",
            "a GPU without running firmware is refused",
            "cold",
            "the GPU is cold",
        ),
        refused(
            "bad-discovery-signature",
            "a discovery table that is none is refused",
            "bad-discovery-signature",
            "the discovery table .* is unusable",
        ),
        refused(
            "bad-discovery-checksum",
            "a damaged discovery table is refused",
            "bad-discovery-checksum",
            "the discovery table .* is unusable",
        ),
        refused(
            "unknown-gc",
            "a GPU of another kind is refused",
            "unknown-gc-version",
            "unsupported chip gfx",
        ),
    ];
    all.extend([dead_device(), no_fence()]);
    all.extend(mutations());
    all
}

/// The driver refuses the device with a message that says why, keeps nothing, and unloads.
fn refused(
    name: &'static str,
    about: &'static str,
    fault: &'static str,
    message: &str,
) -> Scenario {
    let said = format!("dmesg | grep -q 'rkfd .*: {message}' || {{ dmesg | tail; exit 1; }}");
    let scenario = Scenario::new(name, about);
    let scenario = match fault {
        "cold" => scenario.emulator_arg("--cold"),
        fault => inject(scenario, fault),
    };
    scenario
        .step(Step::insmod(MODULE))
        .step(Step::sh("it-says-why", 10, &said))
        .step(Step::sh("not-bound", 10, NOT_BOUND))
        .step(Step::Rmmod("rkfd".into()))
        .step(Step::insmod(MODULE))
        .step(Step::Rmmod("rkfd".into()))
}

/// No device has the driver, and no GPU is in the topology.
const NOT_BOUND: &str = "! ls /sys/bus/pci/drivers/rkfd | grep : && \
    ! grep -qs '^gfx_target_version [1-9]' /sys/devices/virtual/kfd/kfd/topology/nodes/*/properties";

fn inject(scenario: Scenario, fault: &str) -> Scenario {
    scenario.emulator_arg("--inject").emulator_arg(fault)
}

fn dead_device() -> Scenario {
    let scenario = with_vadd(
        "dead-device",
        "a device that stops answering costs errors, no hang",
        "vectoradd",
    )
    .step(Step::insmod(MODULE))
    .step(Step::run_status("no-gpu", 60, 1, &["/bin/vectoradd", VADD, "4096"]))
    .step(Step::Rmmod("rkfd".into()));
    inject(scenario, "dead-reads")
}

fn no_fence() -> Scenario {
    let scenario = with_vadd(
        "no-fence",
        "a scheduler that never acknowledges costs errors in bounded time, no hang",
        "vectoradd",
    )
    .timeout(120)
    .step(Step::insmod(MODULE))
    .step(Step::run_status("no-gpu", 60, 1, &["/bin/vectoradd", VADD, "4096"]))
    .step(Step::Rmmod("rkfd".into()));
    inject(scenario, "no-fence")
}

/// Each breaks one thing that a correct result depends on. A suite that passes with one of them
/// would pass with such a bug in the driver, too.
fn mutations() -> [Scenario; 3] {
    [
        ("stale-pte", "a wrong page table entry is noticed", "vectoradd: "),
        (
            "flip-instruction-bit",
            "one wrong bit of code is noticed",
            "vectoradd: ",
        ),
        (
            "drop-release",
            "a packet that is seen before it is whole is noticed",
            "vectoradd: ",
        ),
    ]
    .map(|(fault, about, reason)| {
        let scenario = with_vadd(fault, about, "vectoradd")
            .step(Step::insmod(MODULE))
            .step(Step::run("vectoradd", 20, &["/bin/vectoradd", VADD, "65536"]));
        inject(scenario, fault).fails_with(reason)
    })
}
