// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a run consists of.

use crate::chip::{Chip, Scheduler};
use crate::plan::Step;
use crate::qemu;
use crate::scenarios;
use crate::shown::shown;
use crate::typed::{self, Act};
use crate::verdict::Outcome;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Something that is put into the initramfs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "a variant's text explains its fields")]
pub enum Include {
    /// A binary of a workspace package, built static for the guest, as `/bin/NAME`.
    Bin { package: String, name: String },
    /// An example of a workspace package, built static for the guest, as `/bin/NAME`.
    Example { package: String, name: String },
    /// `docs/course/programs/NAME.c`, compiled as `/bin/NAME`.
    C { name: &'static str },
    /// A file: its path on the host (relative to the checkout) and in the guest.
    File { from: PathBuf, to: String },
    /// What is in a folder of the host, and in its folders, in a folder of the guest.
    Folder { from: PathBuf, to: String },
    /// A module of the stock kernel, such as `fs/9p/9p`, as `/modules/9p.ko`.
    Module { path: &'static str },
    /// Placeholders of the chips' firmware files, in `/lib/firmware/amdgpu`.
    Firmware,
    /// A module of the tests' own, built by `setup/test-module.sh NAME`, as `/NAME.ko`.
    TestModule { name: &'static str },
    /// `tests/kernels/NAME.hip`, compiled for the chip at `-O` LEVEL, as `/kernels/NAME-OLEVEL.co`.
    Kernel { name: String, level: u32 },
}

impl Include {
    /// Read `PATH` or `PATH:/DST` of the command line. Without a place in the guest it goes to
    /// `/root`, where shells start.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (from, to) = match text.split_once(':') {
            Some((from, to)) if to.starts_with('/') => (from, to.to_owned()),
            Some(_) => return Err("the place in the guest must begin with '/'".into()),
            None => {
                let name = Path::new(text).file_name().unwrap_or_default();
                (text, format!("/root/{}", name.to_string_lossy()))
            }
        };
        let from = PathBuf::from(from);
        if from.is_dir() {
            return Ok(Include::Folder { from, to });
        }
        match from.is_file() {
            true => Ok(Include::File { from, to }),
            false => Err(format!("there is no file {}", shown(&from))),
        }
    }
}

/// How a run should end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// Everything is good.
    Pass,
    /// It must be found bad, and one of the reasons must contain this text. For scenarios that
    /// prove that a kind of fault does not go unseen.
    Failure(&'static str),
}

/// A further look at a finished run: `Err` is why it is bad. It can read the memory figures, the
/// test lines and everything that was printed.
pub type Check = fn(&Outcome) -> Result<(), String>;

/// What a device may report without failing the run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Meant {
    /// Faults of programs: some do what the GPU reports as a program's fault.
    pub faults: bool,
    /// Violations of the driver, which a rule brings about, by a part of each.
    pub violations: &'static [&'static str],
}

/// One boot.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Its name, one word.
    pub name: &'static str,
    /// What it shows, in one line.
    pub about: &'static str,
    /// What process 1 does.
    pub plan: Vec<Step>,
    /// What it needs besides process 1 and busybox.
    pub includes: Vec<Include>,
    /// Put the module in as `/rkfd.ko`.
    pub module: bool,
    /// How many emulated GPUs are attached, all of the same chip. The first alone has a trace and a control socket.
    pub gpus: u8,
    /// Have the emulator write a trace: `trace.jsonl` among the logs.
    pub trace: bool,
    /// The scheduler that it is about; `None`: every chip has what it is about.
    pub scheduler: Option<Scheduler>,
    /// It matters to it how many XCCs share a queue's work, or which compute units a chip has: it runs on other shapes of the
    /// chips, too.
    pub shaped: bool,
    /// It leaves the machine as it found it, so others may run in the same one.
    pub shares: bool,
    /// Further arguments for the emulator.
    pub emulator_args: Vec<String>,
    /// By what the device misbehaves from the start (`docs/misbehaviour.md`).
    pub rules: Vec<String>,
    /// The guest's third serial port leads to the emulator's control socket: it installs rules by which
    /// the device misbehaves, and removes them.
    pub control: bool,
    /// What the device may report.
    pub meant: Meant,
    /// The guest's board.
    pub machine: Machine,
    /// Further arguments for QEMU.
    pub qemu_args: Vec<String>,
    /// Further words for the kernel's command line.
    pub kernel_args: Vec<String>,
    /// CPUs of the guest.
    pub cpus: u32,
    /// Memory of the guest, in MiB.
    pub memory_mib: u32,
    /// When the whole run is given up.
    pub timeout: Duration,
    /// How it should end.
    pub expect: Expect,
    /// Looks at the finished run.
    pub checks: Vec<Check>,
    /// What somebody types at `rkfd-vm shell`, in place of the plan.
    pub typed: Option<&'static [Act]>,
}

/// QEMU's boards.
///
/// They show the GPU differently, as QEMU's `vfio_setup_pcie_cap` does: on the root bus of PCI
/// Express it is a part of the root complex, without a link. On a conventional bus its capability
/// is shown as it is, link and all, and nothing is seen of the port above it.
///
/// That decides over atomic operations (Linux, `pci_enable_atomic_ops_to_root`): never for parts
/// of the root complex; behind a root port only if it completes them, a capability that QEMU's ports
/// lack for devices of vfio-user; where no port is seen, if the hypervisor has enabled the GPU's
/// requester.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Machine {
    /// PCI Express: the root bus of a q35.
    PciExpress,
    /// Conventional PCI: the root bus of an i440FX.
    Pci,
}

impl Machine {
    /// What QEMU calls it.
    pub fn name(self) -> &'static str {
        match self {
            Machine::PciExpress => "q35",
            Machine::Pci => "pc",
        }
    }
}

impl Scenario {
    /// A scenario with the module and the device, and an empty plan.
    pub fn new(name: &'static str, about: &'static str) -> Self {
        Scenario {
            name,
            about,
            plan: Vec::new(),
            includes: Vec::new(),
            module: true,
            gpus: 1,
            trace: true,
            scheduler: None,
            shaped: false,
            shares: false,
            emulator_args: Vec::new(),
            rules: Vec::new(),
            control: false,
            meant: Meant::default(),
            machine: Machine::PciExpress,
            qemu_args: Vec::new(),
            kernel_args: Vec::new(),
            cpus: 2,
            memory_mib: 1024,
            timeout: Duration::from_secs(240),
            expect: Expect::Pass,
            checks: Vec::new(),
            typed: None,
        }
    }

    /// Without the emulated GPU.
    pub fn without_device(mut self) -> Self {
        self.gpus = 0;
        self
    }

    /// With several emulated GPUs.
    pub fn gpus(mut self, count: u8) -> Self {
        self.gpus = count;
        self
    }

    /// Without the module.
    pub fn without_module(mut self) -> Self {
        self.module = false;
        self
    }

    /// Without the emulator's trace, for runs that would make a large one.
    pub fn without_trace(mut self) -> Self {
        self.trace = false;
        self
    }

    /// Only on chips with this scheduler.
    pub fn scheduled_by(mut self, scheduler: Scheduler) -> Self {
        self.scheduler = Some(scheduler);
        self
    }

    /// It runs on other shapes of the chips, too.
    pub fn on_all_shapes(mut self) -> Self {
        self.shaped = true;
        self
    }

    /// It leaves the machine as it found it, so others may run in the same one.
    pub fn shares_a_machine(mut self) -> Self {
        self.shares = true;
        self
    }

    /// Whether the chip has what it is about, and it is for its shape; one that was `named` is for
    /// everything.
    pub fn runs_on(&self, chip: &Chip, named: bool) -> bool {
        let shape = named || chip.is_usual() || self.shaped;
        shape && self.scheduler.is_none_or(|wanted| wanted == chip.scheduler)
    }

    /// Append a step.
    pub fn step(mut self, step: Step) -> Self {
        self.plan.push(step);
        self
    }

    /// Append steps.
    pub fn steps(mut self, steps: impl IntoIterator<Item = Step>) -> Self {
        self.plan.extend(steps);
        self
    }

    /// Include a binary of a workspace package as `/bin/NAME`.
    pub fn bin(mut self, package: &str, name: &str) -> Self {
        self.includes.push(Include::Bin {
            package: package.into(),
            name: name.into(),
        });
        self
    }

    /// Include an example of a workspace package as `/bin/NAME`.
    pub fn example(mut self, package: &str, name: &str) -> Self {
        self.includes.push(Include::Example {
            package: package.into(),
            name: name.into(),
        });
        self
    }

    /// Include a C program of the course as `/bin/NAME`.
    pub fn c(mut self, name: &'static str) -> Self {
        self.includes.push(Include::C { name });
        self
    }

    /// Include a kernel of `tests/kernels` as `/kernels/NAME-OLEVEL.co`.
    pub fn kernel(mut self, name: &str, level: u32) -> Self {
        self.includes.push(Include::Kernel {
            name: name.into(),
            level,
        });
        self
    }

    /// Include a file.
    pub fn file(mut self, from: &str, to: &str) -> Self {
        self.includes.push(Include::File {
            from: from.into(),
            to: to.into(),
        });
        self
    }

    /// Let the guest mount a folder of the host, read-only, by 9p under this tag.
    pub fn share(mut self, tag: &str, folder: &Path) -> Self {
        let path = qemu::escaped(folder);
        self.qemu_args.extend([
            "-fsdev".into(),
            format!("local,id={tag},path={path},security_model=none,readonly=on,multidevs=remap"),
            "-device".into(),
            format!("virtio-9p-pci,fsdev={tag},mount_tag={tag}"),
        ]);
        self
    }

    /// Append an argument for the emulator.
    pub fn emulator_arg(mut self, arg: &str) -> Self {
        self.emulator_args.push(arg.into());
        self
    }

    /// The device misbehaves by a rule from the start (`docs/misbehaviour.md`).
    pub fn rule(mut self, rule: &str) -> Self {
        self.rules.push(rule.into());
        self
    }

    /// The guest installs rules: each step its own, or process 1 those of the scenarios that share the
    /// machine.
    pub fn controlled(mut self) -> Self {
        self.control = true;
        self
    }

    /// As [`Self::shares_a_machine`], with scenarios for which the device misbehaves: each brings its rules.
    pub fn misbehaves_by_turns(self) -> Self {
        self.controlled().shares_a_machine()
    }

    /// Its programs do what the GPU reports as a program's fault.
    pub fn programs_fault(mut self) -> Self {
        self.meant.faults = true;
        self
    }

    /// The device reports these violations since a rule brings them about: a part of each.
    pub fn violates(mut self, parts: &'static [&'static str]) -> Self {
        self.meant.violations = parts;
        self
    }

    /// Append a word to the kernel's command line.
    pub fn kernel_arg(mut self, arg: &str) -> Self {
        self.kernel_args.push(arg.into());
        self
    }

    /// Give the whole run up after so many seconds.
    pub fn timeout(mut self, seconds: u64) -> Self {
        self.timeout = Duration::from_secs(seconds);
        self
    }

    /// The run must be found bad for this reason.
    pub fn fails_with(mut self, reason: &'static str) -> Self {
        self.expect = Expect::Failure(reason);
        self
    }

    /// Somebody types this at `rkfd-vm shell`, which has a plan of its own.
    pub fn typed(mut self, acts: &'static [Act]) -> Self {
        self.includes = scenarios::shell(typed::SIZE).includes;
        self.typed = Some(acts);
        self
    }

    /// Look at the finished run.
    pub fn check(mut self, check: Check) -> Self {
        self.checks.push(check);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chip;

    #[test]
    fn other_shapes_run_what_is_for_them() {
        let other = chip::ALL.iter().find(|chip| !chip.is_usual()).unwrap();
        let usual = chip::ALL.iter().find(|chip| chip.is_usual()).unwrap();
        let any = Scenario::new("any", "");
        assert!(any.runs_on(usual, false) && !any.runs_on(other, false));
        assert!(any.runs_on(other, true));
        let of_mes = any.clone().scheduled_by(Scheduler::Mes);
        assert!(!of_mes.runs_on(other, true));
        assert!(any.on_all_shapes().runs_on(other, false));
    }

    #[test]
    fn includes_of_the_command_line() {
        let file = |to: &str| Include::File {
            from: "/etc/passwd".into(),
            to: to.into(),
        };
        assert_eq!(Include::parse("/etc/passwd:/bin/x"), Ok(file("/bin/x")));
        assert_eq!(Include::parse("/etc/passwd"), Ok(file("/root/passwd")));
        let folder = Include::Folder {
            from: "/etc/apt".into(),
            to: "/root/apt".into(),
        };
        assert_eq!(Include::parse("/etc/apt"), Ok(folder));
        for bad in ["", "nowhere", "/etc/passwd:", ":/x", "/etc/passwd:relative"] {
            assert!(Include::parse(bad).is_err(), "{bad}");
        }
    }
}
