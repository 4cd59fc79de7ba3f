// SPDX-License-Identifier: MIT OR Apache-2.0

//! Names of instruction sets, from the three places that give them: the topology's version number,
//! the ELF header's flags and the metadata's target id.
//!
//! Source: LLVM AMDGPUUsage, "Header" (EF_AMDGPU_MACH) and "Target ID".

/// The name of a topology's `gfx_target_version`: 90402 is `gfx942`. Minor and stepping are
/// hexadecimal digits in the name.
pub(crate) fn of_version(version: u32) -> String {
    format!(
        "gfx{}{:x}{:x}",
        version / 10000,
        version / 100 % 100,
        version % 100
    )
}

/// The name that the flags of an ELF header stand for, if it is a known one.
pub(crate) fn of_flags(flags: u32) -> Option<&'static str> {
    Some(match flags & 0xff {
        0x2c => "gfx900",
        0x2d => "gfx902",
        0x2e => "gfx904",
        0x2f => "gfx906",
        0x30 => "gfx908",
        0x31 => "gfx909",
        0x32 => "gfx90c",
        0x3f => "gfx90a",
        0x40 => "gfx940",
        0x4b => "gfx941",
        0x4c => "gfx942",
        0x4f => "gfx950",
        0x33 => "gfx1010",
        0x34 => "gfx1011",
        0x35 => "gfx1012",
        0x42 => "gfx1013",
        0x36 => "gfx1030",
        0x37 => "gfx1031",
        0x38 => "gfx1032",
        0x39 => "gfx1033",
        0x3e => "gfx1034",
        0x3d => "gfx1035",
        0x45 => "gfx1036",
        0x41 => "gfx1100",
        0x46 => "gfx1101",
        0x47 => "gfx1102",
        0x44 => "gfx1103",
        0x43 => "gfx1150",
        0x4a => "gfx1151",
        0x55 => "gfx1152",
        0x58 => "gfx1153",
        0x48 => "gfx1200",
        0x4e => "gfx1201",
        0x51 => "gfx9-generic",
        0x5f => "gfx9-4-generic",
        0x52 => "gfx10-1-generic",
        0x53 => "gfx10-3-generic",
        0x54 => "gfx11-generic",
        0x59 => "gfx12-generic",
        _ => return None,
    })
}

/// The processor of a target id such as `amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-`.
pub(crate) fn of_target_id(id: &str) -> &str {
    let name = id.rsplit_once("--").map_or(id, |(_, name)| name);
    name.split(':').next().unwrap_or(name)
}

/// Whether code for `code` runs on the GPU `gpu`: it is the same, or the generic one of its family.
pub(crate) fn runs_on(code: &str, gpu: &str) -> bool {
    let family = |gpus: &[&str]| gpus.contains(&gpu);
    code == gpu
        || match code {
            "gfx9-generic" => family(&["gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"]),
            "gfx9-4-generic" => family(&["gfx940", "gfx941", "gfx942", "gfx950"]),
            "gfx10-1-generic" => family(&["gfx1010", "gfx1011", "gfx1012", "gfx1013"]),
            "gfx10-3-generic" => gpu.starts_with("gfx103"),
            "gfx11-generic" => gpu.starts_with("gfx110") || gpu.starts_with("gfx115"),
            "gfx12-generic" => family(&["gfx1200", "gfx1201"]),
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_become_names() {
        let names = [
            (90402, "gfx942"),
            (90010, "gfx90a"),
            (110003, "gfx1103"),
            (120001, "gfx1201"),
        ];
        for (version, name) in names {
            assert_eq!(of_version(version), name);
        }
    }

    #[test]
    fn target_ids_lose_their_features() {
        assert_eq!(
            of_target_id("amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"),
            "gfx942"
        );
        assert_eq!(
            of_target_id("amdgcn-amd-amdhsa--gfx9-generic"),
            "gfx9-generic"
        );
        assert_eq!(of_target_id("gfx1201"), "gfx1201");
    }

    #[test]
    fn generic_code_runs_on_its_family_only() {
        assert!(runs_on("gfx942", "gfx942") && !runs_on("gfx942", "gfx1201"));
        assert!(runs_on("gfx9-4-generic", "gfx942") && !runs_on("gfx9-4-generic", "gfx90a"));
        assert!(runs_on("gfx12-generic", "gfx1201") && !runs_on("gfx12-generic", "gfx1100"));
    }
}
