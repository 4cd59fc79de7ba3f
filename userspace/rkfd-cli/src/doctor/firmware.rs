// SPDX-License-Identifier: MIT OR Apache-2.0

//! Chips that the module drives, and the firmware's files from which it starts them.

use std::path::PathBuf;

use super::Finding;
use crate::machine::Machine;

/// A chip by its PCI device id.
pub(crate) struct Chip {
    /// What it is sold as.
    pub(crate) name: &'static str,
    /// Files that the module loads when the chip's engines don't run.
    pub(crate) files: &'static [&'static str],
    /// Whether the module takes the chip over from amdgpu, which halts its engines when it goes.
    pub(crate) after_amdgpu: bool,
}

/// Of GC 9.4.3.
const GFX942: &[&str] = &[
    "amdgpu/psp_13_0_6_sos.bin",
    "amdgpu/gc_9_4_3_rlc.bin",
    "amdgpu/gc_9_4_3_mec.bin",
    "amdgpu/sdma_4_4_2.bin",
    "amdgpu/smu_13_0_6.bin",
];

/// Of GC 12.0.1.
const GFX1201: &[&str] = &[
    "amdgpu/psp_14_0_3_sos.bin",
    "amdgpu/smu_14_0_3.bin",
    "amdgpu/gc_12_0_1_imu.bin",
    "amdgpu/gc_12_0_1_rlc.bin",
    "amdgpu/gc_12_0_1_pfp.bin",
    "amdgpu/gc_12_0_1_me.bin",
    "amdgpu/gc_12_0_1_mec.bin",
    "amdgpu/gc_12_0_1_uni_mes.bin",
    "amdgpu/sdma_7_0_1.bin",
];

/// The chip with that id, if the module drives it.
pub(crate) fn chip(device: u32) -> Option<Chip> {
    let gfx942 = |name| {
        Some(Chip {
            name,
            files: GFX942,
            after_amdgpu: true,
        })
    };
    let navi48 = Chip {
        name: "Navi 48",
        files: GFX1201,
        after_amdgpu: false,
    };
    match device {
        0x74a0 => gfx942("MI300A"),
        0x74a1 => gfx942("MI300X"),
        0x74a2 => gfx942("MI308X"),
        0x74a8 => gfx942("MI300X HF"),
        0x74a9 => gfx942("MI308X HF"),
        0x7550 | 0x7551 => Some(navi48),
        _ => None,
    }
}

/// Where a file is, below the machine's root: the first place in which the kernel's loader finds it (`fw_path` of
/// `drivers/base/firmware_loader/main.c`), as it is or compressed.
pub(crate) fn find(machine: &Machine, file: &str) -> Option<PathBuf> {
    let release = machine
        .text("proc/sys/kernel/osrelease")
        .unwrap_or_default();
    let chosen = machine
        .text("sys/module/firmware_class/parameters/path")
        .unwrap_or_default();
    let folders = [
        chosen.trim_start_matches('/').to_owned(),
        format!("lib/firmware/updates/{release}"),
        "lib/firmware/updates".into(),
        format!("lib/firmware/{release}"),
        "lib/firmware".into(),
    ];
    let folders = folders.iter().filter(|folder| !folder.is_empty());
    let mut paths = folders.flat_map(|folder| {
        let names = ["", ".zst", ".xz"].map(|ending| format!("{folder}/{file}{ending}"));
        names.map(PathBuf::from)
    });
    paths.find(|path| machine.has(path))
}

/// Whether the files are where the kernel's loader looks.
pub(super) fn files(machine: &Machine, about: &str, chip: &Chip) -> Finding {
    let missing: Vec<&str> = chip
        .files
        .iter()
        .copied()
        .filter(|file| find(machine, file).is_none())
        .collect();
    if missing.is_empty() {
        return Finding::ok(about, "the firmware's files are there");
    }
    let text = format!(
        "the firmware's files {} are missing; a GPU whose engines don't run needs them",
        missing.join(", ")
    );
    Finding::note(about, text)
        .next("apt-get install firmware-amd-graphics (Debian's non-free-firmware)")
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;
    use crate::machine::made::Made;

    /// What follows `before` in each line that has it, up to `after`.
    fn between<'a>(text: &'a str, before: &str, after: char) -> Vec<&'a str> {
        let rest = text.lines().filter_map(|line| line.split_once(before));
        rest.filter_map(|(_, rest)| Some(rest.split_once(after)?.0))
            .collect()
    }

    #[test]
    fn these_are_the_module_s_devices() {
        let driver = include_str!("../../../../rust/driver.rs");
        let ids = between(driver, "pci::Vendor::ATI, 0x", ')').into_iter();
        let ids: Vec<u32> = ids.map(|id| u32::from_str_radix(id, 16).unwrap()).collect();
        assert!(ids.len() > 5, "{ids:?}");
        for device in 0..0x1_0000 {
            assert_eq!(chip(device).is_some(), ids.contains(&device), "{device:#x}");
        }
    }

    #[test]
    fn these_are_the_module_s_files() {
        let module = include_str!("../../../../rust/rkfd_main.rs");
        let (_, list) = module.split_once("firmware: [").unwrap();
        let (list, _) = list.split_once(']').unwrap();
        let mut files = between(list, "\"", '"');
        let mut ours = [GFX942, GFX1201].concat();
        files.sort_unstable();
        ours.sort_unstable();
        assert_eq!(files, ours);
    }

    #[test]
    fn files_that_are_missing_are_named() {
        let mut machine = Made::new().file("proc/sys/kernel/osrelease", "7.3.4\n");
        let mi308x = chip(0x74a2).unwrap();
        let none = files(&machine, "GPU", &mi308x);
        assert!(
            GFX942.iter().all(|file| none.text.contains(file)),
            "{none:?}"
        );
        let places = [
            "lib/firmware/",
            "lib/firmware/7.3.4/",
            "lib/firmware/updates/",
        ];
        let endings = [".xz", "", ".zst"];
        for (i, file) in GFX942.iter().enumerate().skip(1) {
            machine = machine.file(&format!("{}{file}{}", places[i % 3], endings[i % 3]), "");
        }
        let one = files(&machine, "GPU", &mi308x);
        assert!(
            one.text
                .starts_with("the firmware's files amdgpu/psp_13_0_6_sos.bin are missing"),
            "{one:?}"
        );
        let all = machine
            .file(
                "sys/module/firmware_class/parameters/path",
                "/opt/firmware\n",
            )
            .file("opt/firmware/amdgpu/psp_13_0_6_sos.bin", "");
        assert_eq!(files(&all, "GPU", &mi308x).verdict, Verdict::Ok);
    }
}
