// SPDX-License-Identifier: MIT OR Apache-2.0

//! A machine by its files: the AMD GPUs on its PCI bus, and the modules in its kernel.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

#[cfg(test)]
pub(crate) mod made;

/// Where PCI devices are listed.
const DEVICES: &str = "sys/bus/pci/devices";
/// AMD's GPUs have the vendor id of ATI.
const VENDOR: u32 = 0x1002;
/// Classes of PCI: display controllers, and processing accelerators, as an Instinct is.
const DISPLAY: u32 = 0x03;
const ACCELERATOR: u32 = 0x12;

/// A machine, whose root folder is `/` or that of a test.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    root: PathBuf,
}

/// An AMD GPU on the PCI bus.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PciGpu {
    /// Its address, such as `0000:03:00.0`.
    pub(crate) slot: String,
    /// Its device id.
    pub(crate) device: u32,
    /// The driver that has it.
    pub(crate) driver: Option<String>,
}

impl Machine {
    /// The one that this program runs on.
    pub(crate) fn here() -> Self {
        Self { root: "/".into() }
    }

    /// A path below its root, such as `dev/kfd`.
    pub(crate) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root.join(path)
    }

    /// Whether there is such a file.
    pub(crate) fn has(&self, path: impl AsRef<Path>) -> bool {
        self.path(path).exists()
    }

    /// A file's text without the white space around it, if it can be read.
    pub(crate) fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        let text = fs::read_to_string(self.path(path)).ok()?;
        Some(text.trim().into())
    }

    /// The number in a file, hexadecimal.
    pub(crate) fn hex(&self, path: impl AsRef<Path>) -> Option<u32> {
        u32::from_str_radix(self.text(path)?.trim_start_matches("0x"), 16).ok()
    }

    /// The last part of where a link leads.
    pub(crate) fn link(&self, path: impl AsRef<Path>) -> Option<String> {
        name(fs::read_link(self.path(path)).ok()?.file_name()?)
    }

    /// What is in a folder, by name; nothing if there is none.
    pub(crate) fn list(&self, path: impl AsRef<Path>) -> Vec<String> {
        let entries = fs::read_dir(self.path(path)).into_iter().flatten();
        let names = entries.filter_map(|entry| name(&entry.ok()?.file_name()));
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }

    /// Whether a module of that name is loaded. One that is built into the kernel has a folder as well,
    /// but no state.
    pub(crate) fn has_module(&self, name: &str) -> bool {
        self.has(format!("sys/module/{name}/initstate"))
    }

    /// The AMD GPUs, by address.
    pub(crate) fn gpus(&self) -> Vec<PciGpu> {
        let slots = self.list(DEVICES).into_iter();
        slots.filter_map(|slot| self.gpu(slot)).collect()
    }

    fn gpu(&self, slot: String) -> Option<PciGpu> {
        let at = Path::new(DEVICES).join(&slot);
        let class = self.hex(at.join("class"))? >> 16;
        let is_gpu =
            self.hex(at.join("vendor"))? == VENDOR && matches!(class, DISPLAY | ACCELERATOR);
        is_gpu.then_some(PciGpu {
            device: self.hex(at.join("device"))?,
            driver: self.link(at.join("driver")),
            slot,
        })
    }
}

impl PciGpu {
    /// A file of the device in sysfs.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        Path::new(DEVICES).join(&self.slot).join(name)
    }
}

fn name(name: &OsStr) -> Option<String> {
    Some(name.to_str()?.into())
}
