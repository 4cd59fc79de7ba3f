// SPDX-License-Identifier: MIT OR Apache-2.0
//! Makes the machine for the next scenario what it was after its boot.

use crate::report::Outcome;
use crate::rules;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// AMD, as a PCI device's `vendor` has it.
const AMD: &str = "0x1002";

/// No module is left, the log for `dmesg` is empty, so is `/tmp`, and each GPU is as after power-on, and
/// misbehaves by these rules if it can be given any.
pub fn begin(rules: Option<&[String]>) -> Outcome {
    for module in ["rkfd", "amdgpu"] {
        if Path::new("/sys/module").join(module).exists() {
            return Err(format!("{module} was left loaded"));
        }
    }
    empty("/tmp").map_err(|e| format!("emptying /tmp: {e}"))?;
    // It shows the log and empties it.
    let cleared = Command::new("/bin/dmesg")
        .arg("-c")
        .stdout(Stdio::null())
        .status();
    match cleared {
        Ok(status) if status.success() => {}
        other => return Err(format!("dmesg -c: {other:?}")),
    }
    if let Some(rules) = rules {
        rules::replace(rules).map_err(|e| format!("the device's rules: {e}"))?;
    }
    reset_gpus().map_err(|e| format!("resetting the GPU: {e}"))
}

fn empty(folder: &str) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => fs::remove_dir_all(path)?,
            false => fs::remove_file(path)?,
        }
    }
    Ok(())
}

/// Resets the function of each AMD device. The device's trace shows that as a bus reset, by which
/// the host finds where a scenario begins.
fn reset_gpus() -> io::Result<()> {
    for device in fs::read_dir("/sys/bus/pci/devices")? {
        let device = device?.path();
        if fs::read_to_string(device.join("vendor"))?.trim() == AMD {
            fs::write(device.join("reset"), "1")?;
        }
    }
    Ok(())
}
