// SPDX-License-Identifier: MIT OR Apache-2.0

//! A card: PCI, the discovery table, firmware, sensors.

use super::collection::{Collection, Kind};
use super::driver::{debugfs, Debugfs};
use crate::doctor::firmware;
use crate::machine::PciGpu;
use rkfd_hw::firmware::Header;
use rkfd_hw::layout::Layout;

/// Bytes of configuration space that every user can read (`pci_read_config`: `cap_raised(CAP_SYS_ADMIN)`).
const PUBLIC: usize = 64;

/// What PCI knows of a device (`pci-sysfs.c`); `resource` has the BARs' addresses.
const PCI: [&str; 16] = [
    "vendor",
    "device",
    "subsystem_vendor",
    "subsystem_device",
    "revision",
    "class",
    "resource",
    "current_link_speed",
    "current_link_width",
    "max_link_speed",
    "max_link_width",
    "numa_node",
    "power_state",
    "reset_method",
    "boot_vga",
    "iommu_group/type",
];

/// What a driver shows of it (`amdgpu_pm.c`, `amdgpu_gfx.c`, `amdgpu_vram_mgr.c`). None of them changes anything when it is
/// read.
const DRIVER: [&str; 13] = [
    "vbios_version",
    "mem_info_vram_total",
    "mem_info_vis_vram_total",
    "mem_info_vram_vendor",
    "current_compute_partition",
    "current_memory_partition",
    "available_compute_partition",
    "gpu_busy_percent",
    "mem_busy_percent",
    "pp_dpm_sclk",
    "pp_dpm_mclk",
    "pp_dpm_fclk",
    "pp_dpm_socclk",
];

/// Puts in what there is of a card.
pub(super) fn collect(all: &mut Collection, gpu: &PciGpu) {
    let to = format!("gpu/{}", gpu.slot);
    pci(all, gpu, &to);
    discovery(all, gpu, &to);
    firmware_of(all, gpu, &to);
    for name in DRIVER {
        all.file(format!("{to}/sysfs/{name}"), gpu.file(name), Kind::Text);
    }
    let metrics = format!("{to}/sysfs/gpu_metrics");
    all.file(metrics, gpu.file("gpu_metrics"), Kind::Binary);
    for name in all.machine.list(gpu.file("hwmon")) {
        let folder = gpu.file("hwmon").join(&name);
        for file in all.machine.list(&folder) {
            if file == "name" || file.ends_with("_input") || file.ends_with("_label") {
                let to = format!("{to}/hwmon/{name}/{file}");
                all.file(to, folder.join(&file), Kind::Text);
            }
        }
    }
    if all.private.keeps_numbers() {
        for name in ["unique_id", "serial_number"] {
            all.file(format!("{to}/sysfs/{name}"), gpu.file(name), Kind::Text);
        }
    }
}

fn pci(all: &mut Collection, gpu: &PciGpu, to: &str) {
    let config = gpu.file("config");
    all.file(format!("{to}/pci/config"), &config, Kind::Config);
    if all.read(&config).is_ok_and(|bytes| bytes.len() <= PUBLIC) {
        let what = format!(
            "PCI configuration space of {} past {PUBLIC} bytes",
            gpu.slot
        );
        all.missing(what, "only root reads it", "sudo rkfd capture");
    }
    for name in PCI {
        let to = format!("{to}/pci/{}", name.replace('/', "_"));
        all.file(to, gpu.file(name), Kind::Text);
    }
    let driver = format!("{}\n", gpu.driver.as_deref().unwrap_or("none"));
    let from = format!("/{}", gpu.file("driver").display());
    all.text(&format!("{to}/pci/driver"), &driver, &from);
}

/// The discovery table, from whoever shows it.
fn discovery(all: &mut Collection, gpu: &PciGpu, to: &str) {
    let slot = &gpu.slot;
    let debug = [
        format!("sys/kernel/debug/rkfd/{slot}/discovery"),
        format!("sys/kernel/debug/dri/{slot}/amdgpu_discovery"),
    ];
    let binary = format!("{to}/discovery.bin");
    let mut any = debug
        .iter()
        .any(|from| all.file(binary.clone(), from, Kind::Binary));
    any |= all.folder(&format!("{to}/ip_discovery"), gpu.file("ip_discovery"));
    if any {
        return;
    }
    let (why, next) = match (gpu.driver.as_deref(), debugfs(all.machine)) {
        (None, _) => (
            "it lies in VRAM, and no driver has read it",
            "load rkfd or amdgpu, and run this again",
        ),
        (_, Debugfs::Forbidden) => ("only root reads debugfs", "sudo rkfd capture"),
        (_, Debugfs::Absent) => (
            "there is no debugfs",
            "mount -t debugfs debugfs /sys/kernel/debug",
        ),
        (_, Debugfs::There) => (
            "the driver shows none",
            "load rkfd or amdgpu, and run this again",
        ),
    };
    all.missing(format!("the discovery table of {slot}"), why, next);
}

/// Versions of firmware: what drivers know, and what the files say.
fn firmware_of(all: &mut Collection, gpu: &PciGpu, to: &str) {
    all.folder(&format!("{to}/fw_version"), gpu.file("fw_version"));
    let slot = &gpu.slot;
    // Versions that amdgpu remembers (`amdgpu_debugfs_firmware_info_show`).
    let info = format!("sys/kernel/debug/dri/{slot}/amdgpu_firmware_info");
    all.file(format!("{to}/amdgpu_firmware_info"), info, Kind::Text);
    let Some(chip) = firmware::chip(gpu.device) else {
        return;
    };
    let mut lines = String::new();
    for name in chip.files {
        let said = match firmware::find(all.machine, name) {
            None => "missing".into(),
            Some(path) => match all.read(&path) {
                Ok(bytes) => format!("{} bytes, {}", bytes.len(), version(&bytes)),
                Err(error) => error.to_string(),
            },
        };
        lines += &format!("{name}: {said}\n");
    }
    all.text(
        &format!("{to}/firmware-files.txt"),
        &lines,
        "headers of the files in /lib/firmware",
    );
}

/// What a file's header says of its version; a compressed one has none to be read.
fn version(bytes: &[u8]) -> String {
    let mut words = [0; Header::WORDS];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(4)) {
        *word = bytes
            .iter()
            .rev()
            .fold(0, |word, byte| (word << 8) | u32::from(*byte));
    }
    let header = Header::read(&words);
    let header = header.filter(|header| header.get(Header::SIZE) == bytes.len() as u64);
    header.map_or("compressed, or of another kind".into(), |header| {
        let (version, crc) = (header.get(Header::VERSION), header.get(Header::CRC));
        format!("version {version:#x}, crc32 {crc:#x}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_has_a_version() {
        // `common_firmware_header`: the file's size first, the version in word 4, the sum in word 7.
        let mut bytes = [0; 40];
        bytes[0] = 40;
        bytes[16..20].copy_from_slice(&0x1a2b_u32.to_le_bytes());
        bytes[28..32].copy_from_slice(&0xbeef_u32.to_le_bytes());
        assert_eq!(version(&bytes), "version 0x1a2b, crc32 0xbeef");
        assert_eq!(version(&bytes[..39]), "compressed, or of another kind");
    }
}
