// SPDX-License-Identifier: MIT OR Apache-2.0

//! What to do when there is no GPU to show: which AMD GPUs the PCI bus has, who drives them, and who
//! may open the nodes.

use std::fmt;

use rkfd::Error;

use crate::machine::{Machine, PciGpu};

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

/// Who `/dev/kfd` of a machine belongs to.
pub(crate) fn owner(machine: &Machine) -> Owner {
    let Some(module) = OURS.into_iter().find(|name| machine.has_module(name)) else {
        return Owner::Unknown;
    };
    let taint = machine.text(format!("sys/module/{module}/taint"));
    let is_foreign = taint.is_some_and(|taint| taint.contains('O'));
    match module == "rkfd" || (is_foreign && !machine.has("sys/module/amdkcl")) {
        true => Owner::Rkfd { module },
        false => Owner::Other { module },
    }
}

/// What to do about an error, a line each; nothing when the error's own text suffices.
pub(crate) fn advice(error: &Error) -> Vec<String> {
    match error {
        Error::NoDriver { .. } | Error::NoGpu | Error::Topology { .. } => of_gpus(&Machine::here()),
        Error::NotKfd { .. } | Error::Version { .. } => of_owner(&Machine::here()),
        _ => Vec::new(),
    }
}

/// What to do when another driver has `/dev/kfd`.
fn of_owner(machine: &Machine) -> Vec<String> {
    match owner(machine) {
        Owner::Other { module } if machine.has("dev/kfd") => vec![format!(
            "/dev/kfd belongs to {module}, which is not rkfd: modprobe -r {module}, then modprobe drm; insmod rkfd.ko"
        )],
        Owner::Unknown if machine.has("dev/kfd") => vec![
            "/dev/kfd belongs to a driver that is not rkfd: unload it, or boot a kernel without it, then \
             modprobe drm; insmod rkfd.ko"
                .into(),
        ],
        _ => Vec::new(),
    }
}

fn of_gpus(machine: &Machine) -> Vec<String> {
    let found = machine.gpus();
    let ours = match owner(machine) {
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
    let mut all = of_owner(machine);
    all.extend(found.iter().map(|gpu| of_gpu(gpu, ours)));
    all
}

fn of_gpu(gpu: &PciGpu, module: Option<&str>) -> String {
    let PciGpu { slot, device, .. } = gpu;
    let what = match (gpu.driver.as_deref(), module) {
        (None, None) => "has no driver: modprobe drm; insmod rkfd.ko".into(),
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
             modprobe drm; insmod rkfd.ko"
        ),
    };
    format!("GPU {slot} (1002:{device:04x}) {what}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::made::Made;

    fn advice(machine: &Machine) -> String {
        of_gpus(machine).join("\n")
    }

    #[test]
    fn other_vendors_and_other_devices_are_no_gpus() {
        let machine = Made::new()
            .pci("0000:00:02.0", "0x8086", "0x030000", Some("i915"))
            .pci("0000:03:00.1", "0x1002", "0x040300", Some("snd_hda_intel"));
        assert!(
            advice(&machine).contains("has no AMD GPU"),
            "{}",
            advice(&machine)
        );
        assert!(advice(&Made::new()).contains("has no AMD GPU"));
    }

    #[test]
    fn a_gpu_without_a_driver_wants_the_module() {
        let machine = Made::new().pci("0000:03:00.0", "0x1002", "0x120000", None);
        assert_eq!(
            advice(&machine),
            "GPU 0000:03:00.0 (1002:74a2) has no driver: modprobe drm; insmod rkfd.ko"
        );
        let refused = advice(&machine.module("rkfd"));
        assert!(refused.contains("was not taken by rkfd"), "{refused}");
        assert!(refused.contains("dmesg | grep 0000:03:00.0"), "{refused}");
    }

    #[test]
    fn a_gpu_of_another_driver_is_to_be_taken_from_it() {
        let machine = Made::new()
            .pci("0000:03:00.0", "0x1002", "0x030000", Some("vfio-pci"))
            .module("rkfd");
        assert!(
            advice(&machine).contains("echo 0000:03:00.0 > /sys/bus/pci/drivers/vfio-pci/unbind"),
            "{}",
            advice(&machine)
        );
    }

    #[test]
    fn the_module_may_have_another_name() {
        let machine = Made::new()
            .pci("0000:03:00.0", "0x1002", "0x120000", Some("amdgpu"))
            .module("amdgpu");
        assert!(
            advice(&machine).contains("shows no compute device"),
            "{}",
            advice(&machine)
        );
    }

    #[test]
    fn another_driver_s_file_is_not_taken_for_ours() {
        let linux = || {
            Made::new()
                .file("sys/module/amdgpu/initstate", "live")
                .file("sys/module/amdgpu/taint", "")
                .file("dev/kfd", "")
        };
        let other = Owner::Other { module: "amdgpu" };
        assert_eq!(owner(&linux()), other);
        let gpu = linux().pci("0000:03:00.0", "0x1002", "0x120000", Some("amdgpu"));
        let advice = advice(&gpu);
        let whose = "/dev/kfd belongs to amdgpu, which is not rkfd: modprobe -r amdgpu";
        assert!(advice.starts_with(whose), "{advice}");
        assert!(advice.contains("drivers/amdgpu/unbind"), "{advice}");
        // AMD's packages are from outside the kernel, as ours, and bring a second module.
        let packaged = linux()
            .file("sys/module/amdgpu/taint", "OE")
            .file("sys/module/amdkcl/initstate", "live");
        assert_eq!(owner(&packaged), other);
        // Ours has the file if it is there, whatever else is.
        let both = linux().module("rkfd");
        assert_eq!(owner(&both), Owner::Rkfd { module: "rkfd" });
        let named = owner(&Made::new().module("amdgpu"));
        assert_eq!(named, Owner::Rkfd { module: "amdgpu" });
        assert_eq!(named.to_string(), "rkfd under the name amdgpu");
        // Built into the kernel: a folder of parameters, and no state.
        let built_in = Made::new().file("sys/module/amdgpu/parameters/noretry", "-1");
        assert_eq!(owner(&built_in), Owner::Unknown);
    }
}
