// SPDX-License-Identifier: MIT OR Apache-2.0
//! What files of the PCI device say of a card's memory, partitions and firmware. Paths are those of `drivers/gpu/drm`.

use super::drm::{number, pci};
use super::*;
use crate::fixture::{GTT, VRAM};
use crate::row::{row, Answer, Row};
use rkfd_bare::node;
use rkfd_uapi::amdgpu::{FW_GFX_MEC, FW_SMC, INFO_FW_VERSION};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;

const SIZE: u64 = 4 << 20;

/// A file's text; `None` if there is none.
fn text(c: &Ctx, file: &str) -> Result<Option<String>, String> {
    let path = format!("{}/{file}", pci(c)?);
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(Some(text)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(format!("{path}: {e}")),
    }
}

/// The number of bytes that a file has.
fn bytes(c: &Ctx, file: &str) -> Result<u64, String> {
    let text = text(c, file)?.ok_or_else(|| format!("no {file}"))?;
    let digits = text.strip_suffix('\n').unwrap_or("");
    digits.parse().map_err(|e| format!("{file}: {text:?}: {e}"))
}

/// By how much it grows with a buffer.
fn growth(c: &mut Ctx, file: &str, flags: u32) -> Answer {
    let before = bytes(c, file)?;
    c.unmapped_bo(SIZE, flags)?;
    Ok(Got::Value(bytes(c, file)?.wrapping_sub(before)))
}

/// A number of bytes of VRAM, of which BAR 0, a power of two, has all.
fn as_bar(c: &Ctx, file: &str) -> Answer {
    let path = format!("{}/resource0", pci(c)?);
    let bar = std::fs::metadata(&path).map_err(|e| format!("{path}: {e}"))?;
    Ok(Got::Pair(bytes(c, file)?.next_power_of_two(), bar.len()))
}

/// A firmware's version, as the file shows it.
fn version(c: &Ctx, file: &str) -> Result<Option<u64>, String> {
    let Some(text) = text(c, &format!("fw_version/{file}"))? else {
        return Ok(None);
    };
    let digits = text
        .strip_prefix("0x")
        .and_then(|text| text.strip_suffix('\n'));
    let digits = digits.filter(|digits| digits.len() == 8);
    let digits = digits.ok_or_else(|| format!("{file}: {text:?}"))?;
    let number = u64::from_str_radix(digits, 16);
    number.map(Some).map_err(|e| format!("{file}: {text}: {e}"))
}

#[rustfmt::skip]
pub fn rows() -> Vec<Row> {
    const M: &str = "sysfs mem_info";
    const P: &str = "sysfs current_compute_partition";
    const U: &str = "sysfs unique_id";
    const I: &str = "sysfs ip_discovery";
    const F: &str = "sysfs fw_version";
    vec![
        row(M, "all of VRAM fills BAR 0", Want::Computed, "amd/amdgpu/amdgpu_vram_mgr.c: amdgpu_mem_info_vram_total_show", |c| as_bar(c, "mem_info_vram_total")),
        row(M, "the CPU sees all of VRAM", Want::Computed, "amd/amdgpu/amdgpu_vram_mgr.c: amdgpu_mem_info_vis_vram_total_show", |c| as_bar(c, "mem_info_vis_vram_total")),
        row(M, "VRAM in use grows with a buffer", is(SIZE), "amd/amdgpu/amdgpu_vram_mgr.c: amdgpu_mem_info_vram_used_show", |c| growth(c, "mem_info_vram_used", VRAM)),
        row(M, "visible VRAM in use grows with a buffer", is(SIZE), "amd/amdgpu/amdgpu_vram_mgr.c: amdgpu_mem_info_vis_vram_used_show", |c| growth(c, "mem_info_vis_vram_used", VRAM)),
        row(M, "VRAM in use doesn't with one in system memory", is(0), "amd/amdgpu/amdgpu_vram_mgr.c: amdgpu_mem_info_vram_used_show", |c| growth(c, "mem_info_vram_used", GTT)),
        row(M, "GTT in use grows with a buffer", is(SIZE), "amd/amdgpu/amdgpu_gtt_mgr.c: amdgpu_mem_info_gtt_used_show", |c| growth(c, "mem_info_gtt_used", GTT)),
        row(M, "GTT is half of the machine's memory", YES, "ttm/ttm_tt.c: ttm_tt_mgr_init", |c| {
            let info = std::fs::read_to_string("/proc/meminfo").map_err(|e| e.to_string())?;
            let kib = info.split_whitespace().nth(1).and_then(|n| n.parse::<u64>().ok()).ok_or("no MemTotal")?;
            Ok(holds(bytes(c, "mem_info_gtt_total")?.abs_diff(kib << 9) <= 4096))
        }),
        row(M, "anybody may read it, nobody write", is(0o444), "amd/amdgpu/amdgpu_vram_mgr.c: DEVICE_ATTR(mem_info_vram_used, S_IRUGO", |c| {
            let path = format!("{}/mem_info_vram_used", pci(c)?);
            let meta = std::fs::metadata(&path).map_err(|e| format!("{path}: {e}"))?;
            Ok(Got::Value(u64::from(meta.permissions().mode() & 0o7777)))
        }),
        row(P, "all dies of gfx942 are one; others have none", YES, "amd/amdgpu/amdgpu_gfx.c: amdgpu_gfx_get_current_compute_partition", |c| {
            let wanted = c.node.gfx942().then_some("SPX\n");
            Ok(holds(text(c, "current_compute_partition")?.as_deref() == wanted))
        }),
        row(U, "is the topology's, in 16 digits", YES, "amd/pm/amdgpu_pm.c: amdgpu_get_unique_id", |c| {
            let properties = node::properties(&format!("{}/1/properties", node::NODES))?;
            let number = properties.get("unique_id").copied().unwrap_or(0);
            Ok(holds(number != 0 && text(c, "unique_id")? == Some(format!("{number:016x}\n"))))
        }),
        row(I, "the graphics core by its name: number and version", Want::Computed, "amd/amdgpu/amdgpu_discovery.c: ip_hw_instance_attr_show; amd/amdkfd/kfd_device.c: kgd2kfd_probe", |c| {
            let part = |file: &str| bytes(c, &format!("ip_discovery/die/0/GC/0/{file}"));
            let found = [part("hw_id")?, part("major")?, part("minor")?, part("revision")?];
            let wanted = if c.node.gfx942() { [11, 9, 4, 3] } else { [11, 12, 0, 1] };
            let one = |parts: [u64; 4]| parts.into_iter().fold(0, |all, part| (all << 8) | part);
            Ok(Got::Pair(one(found), one(wanted)))
        }),
        // Of both chips as of others before them: `aldebaran_ip_offset.h`, `beige_goby_ip_offset.h`.
        row(I, "the graphics core's first two base addresses", YES, "amd/amdgpu/amdgpu_discovery.c: base_addr_show", |c| {
            let found = text(c, "ip_discovery/die/0/GC/0/base_addr")?.unwrap_or_default();
            let wanted = if c.node.gfx942() { "0x00002000\n0x0000A000\n" } else { "0x00001260\n0x0000A000\n" };
            Ok(holds(found.starts_with(wanted)))
        }),
        row(I, "as many blocks as the die says, none of them fused off", Want::Computed, "amd/amdgpu/amdgpu_discovery.c: num_ips_show, harvest_show", |c| {
            let die = format!("{}/ip_discovery/die/0", pci(c)?);
            let folders = |path: &str| {
                let entries = std::fs::read_dir(path).map_err(|e| format!("{path}: {e}"))?;
                let all: Vec<String> = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path().display().to_string()).collect();
                Ok::<_, String>(all)
            };
            let mut whole = 0;
            for kind in folders(&die)? {
                for instance in folders(&kind)? {
                    let harvest = std::fs::read_to_string(format!("{instance}/harvest")).map_err(|e| format!("{instance}: {e}"))?;
                    whole += u64::from(harvest == "0x0\n");
                }
            }
            Ok(Got::Pair(whole, bytes(c, "ip_discovery/die/0/num_ips")?))
        }),
        row(F, "mec_fw_version is INFO's; of a version that isn't known there is no file", Want::Computed, "amd/amdgpu/amdgpu_ucode.c: amdgpu_ucode_sys_visible", |c| {
            let known = number(c, INFO_FW_VERSION, [FW_GFX_MEC, 0, 0, 0], 0, 4)?;
            Ok(Got::Pair(version(c, "mec_fw_version")?.unwrap_or(0), known))
        }),
        // What the device's units answer: 85.121.0 and 104.80.0.
        row(F, "smc_fw_version is the management unit's", Want::Computed, "amd/amdgpu/amdgpu_ucode.c: FW_VERSION_ATTR(smc_fw_version", |c| {
            let wanted = if c.node.gfx942() { (85 << 16) | (121 << 8) } else { (104 << 16) | (80 << 8) };
            Ok(Got::Pair(version(c, "smc_fw_version")?.unwrap_or(0), wanted))
        }),
        row(F, "smc_fw_version is INFO's", Want::Computed, "amd/amdgpu/amdgpu_kms.c: AMDGPU_INFO_FW_SMC", |c| {
            let known = number(c, INFO_FW_VERSION, [FW_SMC, 0, 0, 0], 0, 4)?;
            Ok(Got::Pair(version(c, "smc_fw_version")?.unwrap_or(0), known))
        }),
    ]
}
