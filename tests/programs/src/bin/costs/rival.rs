// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is asked of any driver of `/dev/kfd`: files that Linux's amdkfd has, too.

use rkfd_programs::Failure;
use std::fs;
use std::path::Path;

/// A folder for each process that has `/dev/kfd` open (`kfd_procfs_init`).
const PROCESSES: &str = "/sys/class/kfd/kfd/proc";
/// Where the kernel says which driver a render node's GPU has.
const DRIVER: &str = "/sys/class/drm/renderD128/device/driver";

/// How many processes the driver has.
pub fn processes() -> Result<u64, Failure> {
    let folder = fs::read_dir(PROCESSES);
    let folder = folder.map_err(|e| Failure::new(format_args!("{PROCESSES}: {e}")))?;
    Ok(folder.count() as u64)
}

/// The driver's name.
pub fn driver() -> Result<String, Failure> {
    let link = fs::read_link(DRIVER);
    let link = link.map_err(|e| Failure::new(format_args!("{DRIVER}: {e}")))?;
    let name = link.file_name().unwrap_or(Path::new("").as_os_str());
    Ok(name.to_string_lossy().into_owned())
}
