// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the host must have, found before anything is started.

use crate::chip::Chip;
use crate::image;
use crate::shown::shown;
use anyhow::{bail, ensure, Context, Result};
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// QEMU's binary.
pub const QEMU: &str = "qemu-system-x86_64";

/// Where things are. All paths can be given on the command line; the defaults are the root's.
#[derive(Debug, Clone)]
pub struct Host {
    /// Results of builds and runs.
    pub build: PathBuf,
    /// What holds for every checkout on this machine.
    pub cache: PathBuf,
    /// Where cargo puts what it builds.
    pub target: PathBuf,
    /// The kernel image.
    pub kernel: PathBuf,
    /// What of it QEMU starts.
    pub image: PathBuf,
    /// The module.
    pub module: PathBuf,
    /// The folder of the modules that are loaded beside it.
    pub test_modules: PathBuf,
    /// The folder of AMD's own firmware; `None`: placeholders are made.
    pub firmware: Option<PathBuf>,
    /// The emulator; `None`: build the workspace's.
    pub emulator: Option<PathBuf>,
    /// Which GPU.
    pub chip: &'static Chip,
    /// By how much every timeout is stretched, for slow hosts and debug kernels.
    pub slow: u32,
}

impl Host {
    /// The places in the Debian root, which `setup/in-root` passes on.
    pub fn new(
        kernel: Option<PathBuf>,
        module: Option<PathBuf>,
        emulator: Option<PathBuf>,
        chip: &'static Chip,
        slow: u32,
    ) -> Result<Self> {
        let var = |name: &str| {
            env::var_os(name).map(PathBuf::from).with_context(|| {
                format!(
                    "{name} is not set; start this in the Debian root: tests/vm, or setup/in-root"
                )
            })
        };
        let build = var("RKFD_BUILD")?;
        let cache = var("RKFD_CACHE").unwrap_or_else(|_| build.clone());
        let target = var("CARGO_TARGET_DIR").unwrap_or_else(|_| build.join("target"));
        let kernel = match kernel {
            Some(k) => k,
            None => {
                let release = fs::read_to_string("/etc/rkfd-kernel-release").context(
                    "this is not the Debian root (no /etc/rkfd-kernel-release); use --kernel",
                )?;
                PathBuf::from(format!("/boot/vmlinuz-{}", release.trim()))
            }
        };
        ensure!(
            kernel.is_file(),
            "there is no kernel image {}",
            shown(&kernel)
        );
        let image = image::to_start(&kernel, &cache)?;
        let module = module.unwrap_or_else(|| build.join("rkfd.ko"));
        let test_modules =
            var("RKFD_TEST_MODULES").unwrap_or_else(|_| build.join("test-modules-stock"));
        Ok(Host {
            build,
            cache,
            target,
            kernel,
            image,
            module,
            test_modules,
            firmware: var("RKFD_FIRMWARE").ok(),
            emulator,
            chip,
            slow,
        })
    }

    /// The same, with another GPU.
    pub fn with(&self, chip: &'static Chip) -> Self {
        Host {
            chip,
            ..self.clone()
        }
    }

    /// Check for QEMU and, if a run has a device, for what a device needs.
    pub fn check(&self, device: bool) -> Result<()> {
        let help = Command::new(QEMU)
            .args(["-device", "help"])
            .output()
            .with_context(|| {
                format!("{QEMU} cannot be started; 'make setup' installs it in the root")
            })?;
        if device && !String::from_utf8_lossy(&help.stdout).contains("\"vfio-user-pci\"") {
            bail!("this {QEMU} has no vfio-user-pci device; QEMU 10.1 or later has it");
        }
        // Guest memory is a memfd, which is how the emulator sees it.
        rustix::fs::memfd_create("rkfd-probe", rustix::fs::MemfdFlags::CLOEXEC).context(
            "this kernel refuses memfd_create, by which guest memory is shared with the emulator",
        )?;
        Ok(())
    }

    /// A name for this boot of the host with this guest kernel: what was found out about KVM
    /// holds as long as both stay.
    pub fn boot_key(&self) -> String {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let kernel = self
            .kernel
            .file_name()
            .unwrap_or_default()
            .to_string_lossy();
        format!("{}-{kernel}", boot.trim())
    }
}

/// A command whose process the kernel kills when the thread that starts it ends, whatever ends that:
/// a runner that is killed leaves no machine behind.
///
/// `setpriv` asks the kernel for it, and then the shell looks whether it came too late. Both become
/// the program, so the process is the one that was started.
pub fn bound(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "sh", "-c"]);
    command.arg(r#"[ "$PPID" = "$0" ] && exec "$@""#);
    command.arg(std::process::id().to_string()).arg(program);
    command
}

/// A folder for one run, below one of its chip if it has a device. Runs of the same scenario at the same time do not meet.
#[derive(Debug)]
pub struct RunDir(pub PathBuf);

impl RunDir {
    /// Make it.
    pub fn new(build: &Path, chip: Option<&Chip>, scenario: &str) -> Result<Self> {
        let mut all = build.join("vm");
        if let Some(chip) = chip {
            all.push(chip.name);
        }
        sweep(&all);
        let path = all.join(format!("{scenario}.{}", std::process::id()));
        fs::create_dir_all(&path).with_context(|| format!("cannot make {}", shown(&path)))?;
        Ok(RunDir(path))
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Keep it under the scenario's plain name, in place of an earlier run's.
    pub fn keep(&self, scenario: &str) -> PathBuf {
        for file in fs::read_dir(&self.0).into_iter().flatten().flatten() {
            let name = file.file_name();
            let name = name.to_string_lossy();
            if name == "initramfs" || name.ends_with(".sock") {
                let _ = fs::remove_file(file.path());
            }
        }
        keep(&self.0, &self.0.with_file_name(scenario))
    }

    /// Keep the folder in it that is a scenario's own, as [`RunDir::keep`] does.
    pub fn keep_part(&self, scenario: &str) -> PathBuf {
        keep(&self.0.join(scenario), &self.0.with_file_name(scenario))
    }

    /// Remove it.
    pub fn remove(&self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Renames a folder, in place of one that is there: where it is afterwards.
fn keep(from: &Path, to: &Path) -> PathBuf {
    let _ = fs::remove_dir_all(to);
    match fs::rename(from, to) {
        Ok(()) => to.into(),
        Err(_) => from.into(),
    }
}

/// Remove what runs left that were killed: folders named after processes that are no more.
fn sweep(all: &Path) {
    for entry in fs::read_dir(all).into_iter().flatten().flatten() {
        let path = entry.path();
        let pid = path
            .extension()
            .and_then(|e| e.to_str()?.parse::<u32>().ok());
        if pid.is_some_and(|p| !Path::new("/proc").join(p.to_string()).exists()) {
            let _ = fs::remove_dir_all(&path);
        }
    }
}
