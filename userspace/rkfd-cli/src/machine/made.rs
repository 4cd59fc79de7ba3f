// SPDX-License-Identifier: MIT OR Apache-2.0

//! Machines made of files, for tests.

use std::fs;
use std::ops::Deref;
use std::os::unix::fs::symlink;

use super::{Machine, DEVICES};

/// A machine in a temporary folder.
pub(crate) struct Made {
    machine: Machine,
    _folder: tempfile::TempDir,
}

impl Deref for Made {
    type Target = Machine;

    fn deref(&self) -> &Machine {
        &self.machine
    }
}

impl Made {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().into();
        Self {
            machine: Machine { root },
            _folder: folder,
        }
    }

    /// A file with that text.
    pub(crate) fn file(self, path: &str, text: impl AsRef<[u8]>) -> Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// A folder.
    pub(crate) fn folder(self, path: &str) -> Self {
        fs::create_dir_all(self.path(path)).unwrap();
        self
    }

    /// A link that leads to `to`.
    pub(crate) fn link_to(self, path: &str, to: &str) -> Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(to, path).unwrap();
        self
    }

    /// A PCI device whose device id is that of an MI308X.
    pub(crate) fn pci(self, slot: &str, vendor: &str, class: &str, driver: Option<&str>) -> Self {
        let at = format!("{DEVICES}/{slot}");
        let made = self
            .file(&format!("{at}/vendor"), format!("{vendor}\n"))
            .file(&format!("{at}/class"), format!("{class}\n"))
            .file(&format!("{at}/device"), "0x74a2\n");
        match driver {
            Some(driver) => made.link_to(
                &format!("{at}/driver"),
                &format!("../../bus/pci/drivers/{driver}"),
            ),
            None => made,
        }
    }

    /// A module that does not come with the kernel.
    pub(crate) fn module(self, name: &str) -> Self {
        self.file(&format!("sys/module/{name}/initstate"), "live\n")
            .file(&format!("sys/module/{name}/taint"), "OE\n")
    }
}
