// SPDX-License-Identifier: MIT OR Apache-2.0
//! Debian's ROCm, unmodified, on the module: what `rkfd-vm rocm` runs.

use crate::chip::Chip;
use crate::plan::Step;
use crate::scenario::{Include, Scenario};
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
const PROGRAMS: [&str; 16] = [
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
    "errors",
    "assert",
    "graph",
];

/// Seconds for one program. The first of a boot reads the compiler from the host and compiles.
const PATIENCE: u64 = 300;

/// Runs a program of `tests/rocm` in the root with ROCm.
fn program(name: &str, variables: &[&str], chip: &Chip) -> Step {
    let mut words = variables.to_vec();
    words.push(name);
    if name == "devicequery" {
        words.push(chip.target);
    }
    let title = [&[name], variables].concat().join("-");
    run(&title, &format!("^{name}: PASSED"), &words)
}

fn run(title: &str, pattern: &str, words: &[&str]) -> Step {
    let seconds = PATIENCE.to_string();
    let argv = [&["/bin/rocm", "run", &seconds, pattern], words].concat();
    Step::run(title, PATIENCE + 20, &argv)
}

impl Rocm {
    /// The scenarios for a chip.
    pub fn all(&self, chip: &Chip) -> Vec<Scenario> {
        vec![self.tools(chip), self.hip("rocm-hip", &[], chip)]
    }

    /// A virtual machine with the root mounted and the module loaded.
    fn scenario(&self, name: &'static str, about: &'static str) -> Scenario {
        let mut scenario = Scenario::new(name, about)
            .without_trace()
            .file("tests/rocm/in-guest.sh", "/bin/rocm")
            .timeout(3600)
            .step(Step::run("mount", 60, &["/bin/rocm", "mount"]))
            .step(Step::insmod(super::MODULE));
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

    fn tools(&self, chip: &Chip) -> Scenario {
        let agent = format!("^  Name: +{}$", chip.target);
        self.scenario("rocm-tools", "rocminfo, and a program of HSA")
            .step(run("rocminfo", &agent, &["rocminfo"]))
            .step(program("hsa", &[], chip))
    }

    fn hip(&self, name: &'static str, variables: &[&str], chip: &Chip) -> Scenario {
        self.scenario(name, "programs of HIP")
            .steps(PROGRAMS.map(|p| program(p, variables, chip)))
    }
}
