// SPDX-License-Identifier: MIT OR Apache-2.0

//! What to do when there is no GPU to show: which AMD GPUs the PCI bus has, who drives them, and who
//! may open the nodes.

use std::fmt;
use std::fs;
use std::path::Path;

use rkfd::Error;

/// Where PCI devices are listed.
const DEVICES: &str = "sys/bus/pci/devices";
/// AMD's GPUs have the vendor id of ATI.
const VENDOR: u32 = 0x1002;
/// Classes of PCI: display controllers, and processing accelerators, as an Instinct is.
const DISPLAY: u32 = 0x03;
const ACCELERATOR: u32 = 0x12;
/// Names that the module can have: its own, and that by which rocminfo looks for a driver.
const OURS: [&str; 2] = ["rkfd", "amdgpu"];

/// The module to which `/dev/kfd` belongs. Only one module can have class `kfd` and with it the file,
/// so if ours is loaded, the file is ours. A module of the name of Linux's own driver is ours if its
/// taint shows that it does not come with the kernel (`O`). AMD's packages of their driver have that
/// taint, too, but they bring a second module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    /// This module, under one of its names.
    Rkfd {
        /// The name.
        module: &'static str,
    },
    /// Another module.
    Other {
        /// Its name.
        module: &'static str,
    },
    /// A module of another name, or nothing that is a module.
    Unknown,
}

impl Owner {
    /// The module's name.
    pub(crate) fn module(&self) -> Option<&'static str> {
        match self {
            Self::Rkfd { module } | Self::Other { module } => Some(module),
            Self::Unknown => None,
        }
    }

    /// Whether it is rkfd.
    pub(crate) fn is_rkfd(&self) -> bool {
        matches!(self, Self::Rkfd { .. })
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rkfd { module: "rkfd" } => f.write_str("rkfd"),
            Self::Rkfd { module } => write!(f, "rkfd under the name {module}"),
            Self::Other { module } => write!(f, "{module}, which is not rkfd"),
            Self::Unknown => f.write_str("a driver that is not rkfd"),
        }
    }
}

/// Who `/dev/kfd` belongs to on this machine.
pub(crate) fn owner() -> Owner {
    owner_of(Path::new("/"))
}

fn owner_of(root: &Path) -> Owner {
    let modules = root.join("sys/module");
    let Some(module) = module(root) else {
        return Owner::Unknown;
    };
    let taint = fs::read_to_string(modules.join(module).join("taint")).unwrap_or_default();
    let packaged = modules.join("amdkcl").is_dir();
    match module == "rkfd" || (taint.contains('O') && !packaged) {
        true => Owner::Rkfd { module },
        false => Owner::Other { module },
    }
}

/// An AMD GPU on the PCI bus.
#[derive(Clone, PartialEq, Eq, Debug)]
struct PciGpu {
    /// Its address, such as `0000:03:00.0`.
    slot: String,
    device: u32,
    /// The driver that has it.
    driver: Option<String>,
}

fn number(path: &Path) -> Option<u32> {
    let text = fs::read_to_string(path).ok()?;
    u32::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok()
}

/// The AMD GPUs of the machine whose root is `root`, by address.
fn gpus(root: &Path) -> Vec<PciGpu> {
    let entries = fs::read_dir(root.join(DEVICES)).into_iter().flatten();
    let mut found: Vec<PciGpu> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let class = number(&path.join("class"))? >> 16;
            let ours = number(&path.join("vendor"))? == VENDOR;
            (ours && matches!(class, DISPLAY | ACCELERATOR)).then_some(())?;
            let driver = fs::read_link(path.join("driver")).ok();
            let name = |link: &Path| Some(link.file_name()?.to_string_lossy().into_owned());
            Some(PciGpu {
                slot: name(&path)?,
                device: number(&path.join("device"))?,
                driver: driver.as_deref().and_then(name),
            })
        })
        .collect();
    found.sort_by(|a, b| a.slot.cmp(&b.slot));
    found
}

/// The loaded module that has one of the names, ours first. One that is built into the kernel has a
/// folder as well, but no state.
fn module(root: &Path) -> Option<&'static str> {
    let state = |name: &str| root.join("sys/module").join(name).join("initstate");
    OURS.into_iter().find(|name| state(name).is_file())
}

/// What to do about an error, a line each; nothing when the error's own text suffices.
pub(crate) fn advice(error: &Error) -> Vec<String> {
    match error {
        Error::NoDriver { .. } | Error::NoGpu | Error::Topology { .. } => of_gpus(Path::new("/")),
        Error::NotKfd { .. } | Error::Version { .. } => of_owner(Path::new("/")),
        _ => Vec::new(),
    }
}

/// What to do when another driver has `/dev/kfd`.
fn of_owner(root: &Path) -> Vec<String> {
    match owner_of(root) {
        Owner::Other { module } if root.join("dev/kfd").exists() => vec![format!(
            "/dev/kfd belongs to {module}, which is not rkfd: modprobe -r {module}, then insmod rkfd.ko"
        )],
        Owner::Unknown if root.join("dev/kfd").exists() => vec![
            "/dev/kfd belongs to a driver that is not rkfd: unload it, or boot a kernel without it, then \
             insmod rkfd.ko"
                .into(),
        ],
        _ => Vec::new(),
    }
}

fn of_gpus(root: &Path) -> Vec<String> {
    let found = gpus(root);
    let ours = match owner_of(root) {
        Owner::Rkfd { module } => Some(module),
        _ => None,
    };
    if found.is_empty() {
        return vec![
            "the PCI bus has no AMD GPU: check that the card has power and `lspci` shows it; \
             `make shell` is a virtual machine with an emulated one"
                .into(),
        ];
    }
    let mut all = of_owner(root);
    all.extend(found.iter().map(|gpu| of_gpu(gpu, ours)));
    all
}

fn of_gpu(gpu: &PciGpu, module: Option<&str>) -> String {
    let PciGpu { slot, device, .. } = gpu;
    let what = match (gpu.driver.as_deref(), module) {
        (None, None) => "has no driver: insmod rkfd.ko".into(),
        (None, Some(module)) => format!(
            "was not taken by {module}: `dmesg | grep {slot}` shows why; if it was meanwhile made \
             ready, echo {slot} > /sys/bus/pci/drivers/{module}/bind"
        ),
        (Some(driver), module) if Some(driver) == module => {
            format!(
                "is driven by {driver}, which shows no compute device: see `dmesg | grep {slot}`"
            )
        }
        (Some(driver), _) => format!(
            "is driven by {driver}: echo {slot} > /sys/bus/pci/drivers/{driver}/unbind, then \
             insmod rkfd.ko"
        ),
    };
    format!("GPU {slot} (1002:{device:04x}) {what}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A machine's files.
    struct Machine(tempfile::TempDir);

    impl Machine {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn pci(self, slot: &str, vendor: &str, class: &str, driver: Option<&str>) -> Self {
            let path = self.0.path().join(DEVICES).join(slot);
            fs::create_dir_all(&path).unwrap();
            for (file, text) in [("vendor", vendor), ("class", class), ("device", "0x74a2")] {
                fs::write(path.join(file), format!("{text}\n")).unwrap();
            }
            if let Some(driver) = driver {
                symlink(
                    format!("../../bus/pci/drivers/{driver}"),
                    path.join("driver"),
                )
                .unwrap();
            }
            self
        }

        /// Our module, which does not come with the kernel.
        fn module(self, name: &str) -> Self {
            self.file(&format!("sys/module/{name}/initstate"), "live")
                .file(&format!("sys/module/{name}/taint"), "OE")
        }

        fn file(self, path: &str, text: &str) -> Self {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
            self
        }

        fn owner(&self) -> Owner {
            owner_of(self.0.path())
        }

        fn advice(&self) -> String {
            of_gpus(self.0.path()).join("\n")
        }
    }

    #[test]
    fn other_vendors_and_other_devices_are_no_gpus() {
        let machine = Machine::new()
            .pci("0000:00:02.0", "0x8086", "0x030000", Some("i915"))
            .pci("0000:03:00.1", "0x1002", "0x040300", Some("snd_hda_intel"));
        assert!(
            machine.advice().contains("has no AMD GPU"),
            "{}",
            machine.advice()
        );
        assert!(Machine::new().advice().contains("has no AMD GPU"));
    }

    #[test]
    fn a_gpu_without_a_driver_wants_the_module() {
        let machine = Machine::new().pci("0000:03:00.0", "0x1002", "0x120000", None);
        assert_eq!(
            machine.advice(),
            "GPU 0000:03:00.0 (1002:74a2) has no driver: insmod rkfd.ko"
        );
        let refused = machine.module("rkfd").advice();
        assert!(refused.contains("was not taken by rkfd"), "{refused}");
        assert!(refused.contains("dmesg | grep 0000:03:00.0"), "{refused}");
    }

    #[test]
    fn a_gpu_of_another_driver_is_to_be_taken_from_it() {
        let machine = Machine::new()
            .pci("0000:03:00.0", "0x1002", "0x030000", Some("vfio-pci"))
            .module("rkfd");
        assert!(
            machine
                .advice()
                .contains("echo 0000:03:00.0 > /sys/bus/pci/drivers/vfio-pci/unbind"),
            "{}",
            machine.advice()
        );
    }

    #[test]
    fn the_module_may_have_another_name() {
        let machine = Machine::new()
            .pci("0000:03:00.0", "0x1002", "0x120000", Some("amdgpu"))
            .module("amdgpu");
        assert!(
            machine.advice().contains("shows no compute device"),
            "{}",
            machine.advice()
        );
    }

    #[test]
    fn another_driver_s_file_is_not_taken_for_ours() {
        let linux = || {
            Machine::new()
                .file("sys/module/amdgpu/initstate", "live")
                .file("sys/module/amdgpu/taint", "")
                .file("dev/kfd", "")
        };
        let other = Owner::Other { module: "amdgpu" };
        assert_eq!(linux().owner(), other);
        let gpu = linux().pci("0000:03:00.0", "0x1002", "0x120000", Some("amdgpu"));
        let advice = gpu.advice();
        let whose = "/dev/kfd belongs to amdgpu, which is not rkfd: modprobe -r amdgpu";
        assert!(advice.starts_with(whose), "{advice}");
        assert!(advice.contains("drivers/amdgpu/unbind"), "{advice}");
        // AMD's packages are from outside the kernel, as ours, and bring a second module.
        let packaged = linux()
            .file("sys/module/amdgpu/taint", "OE")
            .file("sys/module/amdkcl/initstate", "live");
        assert_eq!(packaged.owner(), other);
        // Ours has the file if it is there, whatever else is.
        let both = linux().module("rkfd");
        assert_eq!(both.owner(), Owner::Rkfd { module: "rkfd" });
        let named = Machine::new().module("amdgpu").owner();
        assert_eq!(named, Owner::Rkfd { module: "amdgpu" });
        assert_eq!(named.to_string(), "rkfd under the name amdgpu");
        // Built into the kernel: a folder of parameters, and no state.
        let built_in = Machine::new().file("sys/module/amdgpu/parameters/noretry", "-1");
        assert_eq!(built_in.owner(), Owner::Unknown);
    }
}
