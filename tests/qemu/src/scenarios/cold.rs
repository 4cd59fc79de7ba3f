// SPDX-License-Identifier: MIT OR Apache-2.0
//! A GPU from power-on, which the module starts with placeholders of the firmware's files.

use super::amdgpu;
use super::faults::NOT_BOUND;
use super::{dispatch, with_vadd, MODULE, VADD};
use crate::chip::Scheduler;
use crate::plan::Step;
use crate::scenario::{Include, Scenario};
use std::path::PathBuf;

/// What a chip's scenarios differ in.
struct Chip {
    scheduler: Scheduler,
    /// Names of the scenarios: start, without a file, with a bad one.
    names: [&'static str; 3],
    /// The compute micro engine's file.
    compute: &'static str,
    /// A file that is missing, and one that is cut short.
    missing: &'static str,
    bad: &'static str,
    /// What the module says when it comes again.
    again: Option<&'static str>,
}

const MI308X: Chip = Chip {
    scheduler: Scheduler::Cpsch,
    names: ["cold-start", "cold-no-file", "cold-bad-file"],
    compute: "gc_9_4_3_mec",
    missing: "gc_9_4_3_rlc",
    bad: "sdma_4_4_2",
    again: Some("the GPU.s engines are halted: starting them"),
};

const NAVI48: Chip = Chip {
    scheduler: Scheduler::Mes,
    names: [
        "cold-start-navi48",
        "cold-no-file-navi48",
        "cold-bad-file-navi48",
    ],
    compute: "gc_12_0_1_mec",
    missing: "gc_12_0_1_imu",
    bad: "gc_12_0_1_uni_mes",
    again: Some("the security processor.s OS runs, version 0x.*: resetting the GPU"),
};

/// All of them.
pub fn all() -> Vec<Scenario> {
    let chips = [&MI308X, &NAVI48].into_iter();
    let each = chips.flat_map(|chip| [started(chip), without_file(chip), with_bad_files(chip)]);
    let handed_over = starts_without_video().then(handed_over);
    each.chain(handed_over)
        .chain([other_os(), untold()])
        .collect()
}

/// Whether the kernel's amdgpu.ko starts a GPU that has no video block. That of 7.2 doesn't, and crashes when it is unloaded
/// then (`amdgpu_discovery_set_mm_ip_blocks`: 7.3 adds nothing where no VCN was discovered).
fn starts_without_video() -> bool {
    std::fs::read_to_string("/etc/rkfd-kernel-release").map_or(true, |it| !it.starts_with("7.2."))
}

/// The demo, on a GPU that no other driver has started.
pub fn demo() -> Scenario {
    from_power_on(dispatch::demo())
}

pub(super) fn from_power_on(mut scenario: Scenario) -> Scenario {
    scenario.includes.push(Include::Firmware);
    scenario.emulator_arg("--cold")
}

/// That the module unloads and starts the GPU again, and what it says of the firmware: the version in the
/// header of the compute micro engine's file, in the topology too.
fn started(chip: &Chip) -> Scenario {
    let vectoradd = || Step::run("vectoradd", 60, &["/bin/vectoradd", VADD]);
    let [name, ..] = chip.names;
    let file = format!("amdgpu/{}.bin", chip.compute);
    // `ucode_version` of `struct common_firmware_header`.
    let version =
        |format: &str| format!("$(hexdump -s 16 -n 4 -e '1/4 \"{format}\"' /lib/firmware/{file})");
    let topology = format!(
        "grep -x \"fw_version {}\" /sys/devices/virtual/kfd/kfd/topology/nodes/1/properties",
        version("%u"),
    );
    let log = format!(
        "dmesg | grep \"firmware {file}: version {}\"",
        version("0x%x")
    );
    let mut scenario = with_vadd(
        name,
        "a GPU from power-on is started, given up and started again",
        "vectoradd",
    )
    .scheduled_by(chip.scheduler)
    .bin("rkfd-programs", "clearing")
    .steps([
        Step::insmod(MODULE),
        logged("starts", "the GPU is cold: starting it"),
        Step::sh("version", 60, &log),
        Step::sh("topology", 60, &topology),
        vectoradd(),
        Step::run("spread", 60, &["/bin/clearing", "spread"]),
        Step::Rmmod("rkfd".into()),
        Step::insmod(MODULE),
    ]);
    if let Some(again) = chip.again {
        scenario = scenario.step(logged("starts-again", again));
    }
    from_power_on(scenario.steps([vectoradd(), Step::Rmmod("rkfd".into())]))
}

/// Prints every link and file of `ip_discovery`, with what is in it, and what the VBIOS tells.
const CARD: &str = "cd /sys/bus/pci/devices/0000:00:01.0/ip_discovery && cat ../vbios_version ../mem_info_vram_vendor && \
    { find . -type l | while read l; do echo ${l##*/} $l $(readlink $l); done; grep -r . .; } | sort";

/// The compute micro engine's file gets the first version with which XNACK is chained (`gfx_v9_4_3_constants_init`),
/// unless it has a newer one: amdgpu leaves SQ_CONFIG1 as that needs it, and the scheduler wants to be told so.
fn chains_xnack() -> Step {
    let file = format!("/lib/firmware/amdgpu/{}.bin", MI308X.compute);
    let script = format!(
        "[ $(hexdump -s 16 -n 4 -e '1/4 \"%u\"' {file}) -ge 184 ] || \
         printf '\\270\\0\\0\\0' | dd of={file} bs=1 seek=16 conv=notrunc"
    );
    Step::sh("newer-firmware", 60, &script)
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
    scenario.plan.insert(0, chains_xnack());
    let again = scenario.plan.last_chunk::<2>().cloned().into_iter();
    let again: Vec<Step> = again.flatten().collect();
    let scenario = scenario.steps([
        Step::sh(
            "shows-the-card",
            60,
            &format!("{CARD} >/card && grep -q ^GC /card"),
        ),
        Step::Rmmod("amdgpu".into()),
        Step::insmod(MODULE),
        logged("takes-over", "the GPU.s engines are halted: starting them"),
        Step::sh("shows-the-same", 60, &format!("{CARD} | diff /card -")),
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
    from_power_on(scenario.scheduled_by(Scheduler::Cpsch))
}

/// A secure OS that has the commands, and doesn't know what firmware keeps: the driver goes by what the VBIOS says alone.
fn untold() -> Scenario {
    let scenario = with_vadd(
        "untold",
        "a GPU is started whose security processor won't say which VRAM firmware keeps",
        "vectoradd",
    )
    .scheduled_by(Scheduler::Mes)
    .rule("on FB_FW_RESERV_ADDR: fail 1")
    .rule("on FB_FW_RESERV_EXT_ADDR: fail 1")
    .steps([
        Step::insmod(MODULE),
        Step::sh(
            "claims-nothing",
            60,
            "! dmesg | grep 'what firmware is said to keep'",
        ),
        Step::run("vectoradd", 60, &["/bin/vectoradd", VADD]),
        Step::Rmmod("rkfd".into()),
    ]);
    from_power_on(scenario)
}

/// A file that is missing is named, with the package that has it; once it is there, the GPU starts.
fn without_file(chip: &Chip) -> Scenario {
    let [_, name, _] = chip.names;
    let file = format!("{}.bin", chip.missing);
    let scenario = with_vadd(
        name,
        "a firmware file that is missing is named, and then the GPU starts",
        "vectoradd",
    )
    .scheduled_by(chip.scheduler)
    .bin("rkfd-cli", "rkfd")
    .step(Step::sh(
        "doctor",
        60,
        "rkfd doctor | grep 'the firmware.s files are there'",
    ));
    from_power_on(refused_at_first(
        scenario,
        &format!(
            "mv /lib/firmware/amdgpu/{file} /root/ && \
             rkfd doctor | grep 'the firmware.s files amdgpu/{file} are missing'"
        ),
        &format!(
            "firmware amdgpu/{file} can.t be loaded (ENOENT): .*package firmware-amd-graphics"
        ),
        &format!("mv /root/{file} /lib/firmware/amdgpu/"),
    ))
}

/// A file that is cut short is refused; once it is whole, the GPU starts.
fn with_bad_files(chip: &Chip) -> Scenario {
    let [_, _, name] = chip.names;
    let file = format!("{}.bin", chip.bad);
    let scenario = with_vadd(
        name,
        "a firmware file that is damaged is refused, and then the GPU starts",
        "vectoradd",
    )
    .scheduled_by(chip.scheduler);
    from_power_on(refused_at_first(
        scenario,
        &format!(
            "cd /lib/firmware/amdgpu && mv {file} /root/ && head -c 1000 /root/{file} >{file}"
        ),
        &format!("firmware amdgpu/{file} is damaged or for another chip: its header says"),
        &format!("mv /root/{file} /lib/firmware/amdgpu/"),
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
