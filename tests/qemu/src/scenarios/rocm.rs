// SPDX-License-Identifier: MIT OR Apache-2.0
//! Debian's ROCm, unmodified, on the module: what `rkfd-vm rocm` and `rkfd-vm rocm-trace` run.

use super::{amdgpu, sensors};
use crate::chip::Chip;
use crate::flow;
use crate::plan::Step;
use crate::scenario::{Include, Machine, Scenario};
use crate::shown::shown;
use crate::verdict::Outcome;
use std::fs;
use std::path::PathBuf;

/// Where ROCm and the programs that use it are, on the host.
#[derive(Debug, Clone)]
pub struct Rocm {
    /// Debian's root that ROCm is installed in.
    pub root: PathBuf,
    /// The built programs of `tests/rocm`.
    pub programs: PathBuf,
}

/// What mounting the root takes of the stock kernel's modules.
const MODULES: [&str; 4] = [
    "fs/netfs/netfs",
    "net/9p/9pnet",
    "net/9p/9pnet_virtio",
    "fs/9p/9p",
];

/// The programs that use HIP; each prints `NAME: PASSED`.
const PROGRAMS: [&str; 22] = [
    "devicequery",
    "vectoradd",
    "reduction",
    "scan",
    "transpose",
    "gemm",
    "histogram",
    "atomics",
    "streams",
    "copies",
    "printf",
    "cooperative",
    "managed",
    "mapped",
    "errors",
    "assert",
    "graph",
    "masks",
    "priorities",
    "heap",
    "exported",
    "ipc",
];

/// Programs that use ROCm's libraries; as those above. Not every ROCm that Debian has brings them.
const LIBRARIES: [&str; 7] = [
    "lib_rocprim",
    "lib_hipcub",
    "lib_rocrand",
    "lib_rocfft",
    "lib_rocblas",
    "lib_rocsparse",
    "opencl",
];

/// Copies by shaders instead of the copy engine.
const NO_SDMA: &str = "HSA_ENABLE_SDMA=0";
/// ROCm 6 shares memory between processes by requests that only AMD's own driver has, if it isn't told to take DMA-bufs as
/// ROCm 7 does.
const BY_DMA_BUF: &str = "HSA_ENABLE_IPC_MODE_LEGACY=0";
/// Waiting for signals by looking at them instead of by interrupts.
const NO_INTERRUPTS: &str = "HSA_ENABLE_INTERRUPT=0";

/// The number of the group that has the nodes in `rocm-users`, as `render` has them by udev's rules.
const RENDER: &str = "109";
const NODES: &str =
    "for node in /dev/kfd /dev/dri/renderD*; do chgrp 109 $node && chmod 660 $node || exit; done; \
    ls -l /dev/kfd /dev/dri";
/// Cgroups: two that may not use a second GPU's render node, one that may not use the first one's.
const GROUPS: &str = "mkdir -p /tmp/groups && mount -t cgroup2 none /tmp/groups && cd /tmp/groups && \
    mkdir one two none && permitted one forbid 129 && permitted two forbid 129 && permitted none forbid 128";

/// Seconds for one program. The first of a boot reads the compiler from the host and compiles, and
/// the host may be busy; what takes as long as this hangs.
const PATIENCE: u64 = 900;

/// What `vectoradd` dispatches: 2^20 elements by groups of 256.
pub const VECTORADD_WORKGROUPS: u64 = 4096;

/// How often a program runs in a row.
const AGAIN: usize = 20;

impl Rocm {
    /// The scenarios for a chip.
    pub fn all(&self, chip: &Chip) -> Vec<Scenario> {
        let hip = |variables: &[&str]| PROGRAMS.map(|p| program(p, variables, chip));
        let polled = ["vectoradd", "reduction", "streams"];
        let mut all = vec![
            self.tools(chip),
            self.scenario("rocm-hip", "programs of HIP").steps(hip(&[])),
            self.scenario("rocm-no-sdma", "programs of HIP, copies by shaders")
                .steps(hip(&[NO_SDMA])),
            self.scenario("rocm-polling", "programs of HIP, no interrupts")
                .steps(polled.map(|p| program(p, &[NO_INTERRUPTS], chip))),
            self.scenario("rocm-failing", "kernels that fail, others go on")
                .programs_fault()
                .step(program("failing", &[], chip))
                .step(program("vectoradd", &[], chip))
                .check(failed_once_each),
            self.shown(chip),
            self.scenario(
                "rocm-debugger",
                "AMD's debugger library on a program of HIP",
            )
            .step(program("debugger", &[], chip)),
            self.scenario(
                "rocm-debugger-faults",
                "AMD's debugger library on programs that fail, and on one that is killed",
            )
            .programs_fault()
            .step(program("debugger_faults", &[], chip))
            .step(program("vectoradd", &[], chip)),
            self.scenario("rocm-two", "two processes at once")
                .step(two("vectoradd", "reduction"))
                .step(two("streams", "atomics")),
            self.users(chip),
            self.again("rocm-again", 2, chip),
            self.again("rocm-again-one-cpu", 1, chip),
        ];
        // Debian's newest suite alone has it.
        if self.root.join("usr/bin/amd-smi").exists() {
            all.push(self.amd_smi());
        }
        let libraries = LIBRARIES.into_iter();
        let libraries: Vec<&str> = libraries
            .filter(|name| self.programs.join(name).exists())
            .collect();
        if !libraries.is_empty() {
            all.push(
                self.scenario("rocm-libraries", "ROCm's libraries")
                    .steps(libraries.into_iter().map(|p| program(p, &[], chip))),
            );
        }
        // The profiler's libraries are not of every ROCm.
        if self.programs.join("profile.so").exists() {
            all.push(
                self.scenario("rocm-counters", "a profiler reads performance counters")
                    .step(run(
                        "profiled",
                        &passed("profiled"),
                        &["profiled", chip.target],
                    )),
            );
        }
        all
    }

    /// The same programs on Linux's own amdgpu.ko, which starts the device from power-on: the referee of
    /// what the others need of it.
    pub fn stock(&self, chip: &Chip) -> Vec<Scenario> {
        let tools = self.machine("amdgpu-tools", "rocminfo and HSA on the stock driver");
        let hip = self.machine("amdgpu-hip", "programs of HIP on the stock driver");
        // Where the CPU writes page tables, as it does on a GPU all of whose memory it sees, GEM_VA of Linux 7.3 doesn't
        // flush TLBs: `amdgpu_vm_tlb_flush` without a fence, which `amdgpu_vm_cpu_commit` has none of.
        let variables = |program| match program {
            "mapped" => &["MAPPED_ONCE=1"][..],
            _ => &[],
        };
        vec![
            amdgpu::started_on(chip, tools).steps(look_around(chip)),
            amdgpu::started_on(chip, hip).steps(PROGRAMS.map(|p| program(p, variables(p), chip))),
        ]
    }

    /// One vector addition, with the traces of all layers.
    pub fn trace(&self) -> Scenario {
        let pattern = "^vectoradd: PASSED";
        let words = [
            "strace",
            "-f",
            "-qq",
            "-e",
            "trace=ioctl,write",
            "-e",
            "signal=none",
            "-o",
            "/tmp/strace",
            "env",
            "AMD_LOG_LEVEL=3",
            "HSA_TOOLS_LIB=/srv/hsa_trace.so",
            "vectoradd",
        ];
        let shown = format!(
            "grep -v 'write([0-9]' /tmp/strace | sed 's/^/{}/'",
            flow::STRACE
        );
        let mut scenario = self
            .scenario("rocm-trace", "one vector addition, layer by layer")
            .step(run("vectoradd", pattern, &words))
            .step(Step::sh("system-calls", 60, &shown));
        scenario.trace = true;
        scenario
    }

    /// A virtual machine with the root mounted and the module loaded.
    fn scenario(&self, name: &'static str, about: &'static str) -> Scenario {
        self.machine(name, about).step(Step::insmod(super::MODULE))
    }

    /// A virtual machine with the root mounted.
    fn machine(&self, name: &'static str, about: &'static str) -> Scenario {
        let mut scenario = Scenario::new(name, about)
            .without_trace()
            .file("tests/rocm/in-guest.sh", "/bin/rocm")
            .timeout(7200)
            .step(Step::run("mount", 60, &["/bin/rocm", "mount"]));
        // HIP's calls of the host need atomic operations over PCI.
        scenario.machine = Machine::Pci;
        scenario.memory_mib = 2048;
        scenario
            .includes
            .extend(MODULES.map(|path| Include::Module { path }));
        scenario.includes.push(Include::Folder {
            from: self.programs.clone(),
            to: "/programs".into(),
        });
        scenario.share("rocm", &self.root)
    }

    /// What tools show of the GPU is what the device has.
    fn shown(&self, chip: &Chip) -> Scenario {
        let [option, serial] = sensors::SERIAL;
        let smi = |what: &[&str]| {
            let words = [&["rocm-smi"], what].concat();
            run(&words.concat(), "^GPU\\[0\\]", &words)
        };
        // On RDNA OpenCL counts work-group processors, of two compute units each.
        let units = match chip.target {
            "gfx942" => chip.compute_units,
            _ => chip.compute_units / 2,
        };
        let device = format!("^ +Device Name +{}(:[a-z0-9:+-]*)? *$", chip.target);
        self.scenario(
            "rocm-shown",
            "rocm-smi, nvtop and clinfo show the device's own numbers",
        )
        .emulator_arg(option)
        .emulator_arg(serial)
        .step(smi(&["--showuniqueid"]))
        .step(printed("unique-id", &format!("Unique ID: 0x{serial}$")))
        .step(smi(&["--showmeminfo", "vram"]))
        .step(printed(
            "vram",
            "VRAM Total Memory (B): $(cat /sys/class/drm/renderD128/device/mem_info_vram_total)$",
        ))
        .step(smi(&[
            "--showtemp",
            "--showpower",
            "--showclocks",
            "--showuse",
        ]))
        .step(printed(
            "temperature",
            "Temperature (Sensor junction) (C): [0-9.]*$",
        ))
        .step(printed("use", "GPU use (%): [0-9]*$"))
        .step(smi(&["--showfwinfo"]))
        .step(run("nvtop", "\"gpu_util\"", &["nvtop", "-s"]))
        .step(run("clinfo", &device, &["clinfo"]))
        .step(printed(
            "compute-units",
            &format!("Max compute units  *{units}$"),
        ))
    }

    /// The same of amd-smi.
    fn amd_smi(&self) -> Scenario {
        let [option, serial] = sensors::SERIAL;
        let smi = |what: &[&str]| {
            let words = [&["amd-smi"], what, &["--json"]].concat();
            run(&words.concat(), "\"gpu\": 0", &words)
        };
        self.scenario("rocm-amd-smi", "amd-smi shows the device's own numbers")
            .emulator_arg(option)
            .emulator_arg(serial)
            .step(smi(&["list"]))
            .step(printed(
                "kfd-id",
                "kfd_id[^0-9]*$(cat /sys/devices/virtual/kfd/kfd/topology/nodes/1/gpu_id)\\b",
            ))
            .step(smi(&["static", "--asic", "--vram"]))
            .step(printed(
                "serial",
                &format!("asic_serial[^0-9]*0x{}", serial.to_uppercase()),
            ))
            .step(smi(&["metric", "--mem-usage"]))
            .step(printed(
                "vram",
                "$(($(cat /sys/class/drm/renderD128/device/mem_info_vram_total) >> 20))",
            ))
            .step(smi(&[
                "metric",
                "--temperature",
                "--power",
                "--usage",
                "--clock",
            ]))
    }

    fn tools(&self, chip: &Chip) -> Scenario {
        self.scenario("rocm-tools", "rocminfo, and a program of HSA")
            .steps(look_around(chip))
    }

    /// As users of the group that has the nodes, in containers whose cgroups forbid another GPU. Who isn't in the group, or whose
    /// cgroup forbids this one, has no GPU.
    fn users(&self, chip: &Chip) -> Scenario {
        let user = |step: Step| match step {
            Step::Run {
                name,
                timeout,
                status,
                argv,
            } => Step::Run {
                argv: [
                    &words(&["/bin/rocm", "user", "1001", RENDER, "/tmp/groups/one"]),
                    &argv[2..],
                ]
                .concat(),
                name,
                timeout,
                status,
            },
            other => other,
        };
        let side_by_side = format!(
            "rocm user 1001 {RENDER} /tmp/groups/one {PATIENCE} '{}' vectoradd & a=$!; \
             rocm user 1002 {RENDER} /tmp/groups/two {PATIENCE} '{}' reduction & b=$!; \
             wait $a; a=$?; wait $b; b=$?; [ $a = 0 ] && [ $b = 0 ]",
            passed("vectoradd"),
            passed("reduction")
        );
        // HIP's error is the program's end. ROCr makes no events where no GPU is known, and an assertion of its own fails
        // where it waits for them.
        let none = |gid: &str, group: &str| {
            format!(
                "rocm user 1003 {gid} /tmp/groups/{group} {PATIENCE} hipErrorNoDevice {NO_INTERRUPTS} vectoradd; [ $? = 2 ]"
            )
        };
        self.scenario(
            "rocm-users",
            "programs of HIP as users in containers, two at once; others have no GPU",
        )
        .bin("rkfd-programs", "permitted")
        .step(Step::sh("nodes", 60, NODES))
        .step(Step::sh("groups", 60, GROUPS))
        .steps(PROGRAMS.map(|name| user(program(name, &[], chip))))
        .step(Step::sh("two-users", PATIENCE + 20, &side_by_side))
        .step(Step::sh(
            "not-in-the-group",
            PATIENCE + 20,
            &none("1003", "one"),
        ))
        .step(Step::sh("forbidden", PATIENCE + 20, &none(RENDER, "none")))
    }

    fn again(&self, name: &'static str, cpus: u32, chip: &Chip) -> Scenario {
        let mut scenario = self
            .scenario(name, "the same program 20 times in a row")
            .steps((0..AGAIN).map(|_| program("vectoradd", &[], chip)));
        scenario.cpus = cpus;
        scenario
    }
}

/// rocminfo names the chip and its compute units, and HSA works with and without interrupts.
fn look_around(chip: &Chip) -> [Step; 4] {
    let agent = format!("^  Name: +{} *$", chip.target);
    let units = format!(
        "grep -E '^  Compute Unit: +{} *$' /tmp/output",
        chip.compute_units
    );
    [
        run("rocminfo", &agent, &["rocminfo"]),
        Step::sh("rocminfo-compute-units", 60, &units),
        program("hsa", &[], chip),
        program("hsa", &[NO_INTERRUPTS], chip),
    ]
}

/// The device saw the two that aren't traps, and no other fault.
fn failed_once_each(outcome: &Outcome) -> Result<(), String> {
    let path = outcome.logs.join("report");
    let report = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", shown(&path)))?;
    let faults: Vec<&str> = report.lines().filter(|l| l.starts_with("fault ")).collect();
    match faults[..] {
        [instruction, address]
            if instruction.starts_with("fault 1 shader: illegal instruction")
                && address.starts_with("fault 1 shader: memory access fault: Write") =>
        {
            Ok(())
        }
        _ => Err(format!("not the two faults: {faults:?}")),
    }
}

/// Runs a program of `tests/rocm` in the root with ROCm.
fn program(name: &str, variables: &[&str], chip: &Chip) -> Step {
    let mut words = variables.to_vec();
    if name == "ipc" {
        words.push(BY_DMA_BUF);
    }
    words.push(name);
    if name == "devicequery" {
        words.push(chip.target);
    }
    let title = [&[name], variables].concat().join("-");
    run(&title, &passed(name), &words)
}

/// The line that a program prints if all results are right.
fn passed(name: &str) -> String {
    format!("^{name}: PASSED")
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.into()).collect()
}

fn run(title: &str, pattern: &str, words: &[&str]) -> Step {
    let seconds = PATIENCE.to_string();
    let argv = [&["/bin/rocm", "run", &seconds, pattern], words].concat();
    Step::run(title, PATIENCE + 20, &argv)
}

/// The program before has printed a line with this.
fn printed(title: &str, pattern: &str) -> Step {
    Step::sh(title, 60, &format!("grep -e \"{pattern}\" /tmp/output"))
}

/// Two programs side by side; both must be good.
fn two(one: &str, other: &str) -> Step {
    let start = |name| format!("rocm run {PATIENCE} '{}' {name} &", passed(name));
    let script = format!(
        "{} a=$!; {} b=$!; wait $a; a=$?; wait $b; b=$?; [ $a = 0 ] && [ $b = 0 ]",
        start(one),
        start(other)
    );
    Step::sh(&format!("{one}-and-{other}"), PATIENCE + 20, &script)
}
