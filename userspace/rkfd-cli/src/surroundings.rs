// SPDX-License-Identifier: MIT OR Apache-2.0

//! What to do when there is no GPU to show: which AMD GPUs the PCI bus has, who drives them, and who
//! may open the nodes.

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
/// Names that the module can have.
const OURS: [&str; 2] = ["rkfd", "amdgpu"];

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

/// Whether the module is loaded, under either name.
fn module(root: &Path) -> Option<&'static str> {
    let loaded = |name: &&&str| root.join("sys/module").join(name).is_dir();
    OURS.iter().find(loaded).copied()
}

/// What to do about an error, a line each; nothing when the error itself says all there is.
pub(crate) fn advice(error: &Error) -> Vec<String> {
    match error {
        Error::NoDriver { .. } | Error::NoGpu | Error::Topology { .. } => of_gpus(Path::new("/")),
        _ => Vec::new(),
    }
}

fn of_gpus(root: &Path) -> Vec<String> {
    let found = gpus(root);
    let module = module(root);
    if found.is_empty() {
        return vec![
            "the PCI bus has no AMD GPU: check that the card has power and `lspci` shows it; \
             `make shell` is a virtual machine with an emulated one"
                .into(),
        ];
    }
    found.iter().map(|gpu| of_gpu(gpu, module)).collect()
}

fn of_gpu(gpu: &PciGpu, module: Option<&str>) -> String {
    let PciGpu { slot, device, .. } = gpu;
    let what = match (gpu.driver.as_deref(), module) {
        (None, None) => "has no driver: insmod rkfd.ko".into(),
        (None, Some(module)) => format!(
            "was not taken by {module}: `dmesg | grep {slot}` says why; if it was meanwhile made \
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

        fn module(self, name: &str) -> Self {
            fs::create_dir_all(self.0.path().join("sys/module").join(name)).unwrap();
            self
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
}
