// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the render node reports about the chip, and which requests of DRM it takes. Paths are those of
//! `drivers/gpu/drm`. What is expected comes from the PCI device's files in sysfs, from the
//! topology, or from Linux's constants.

use super::*;
use crate::fixture::{GTT, KERNEL, VRAM};
use crate::row::{row, Answer, Row};
use rkfd_uapi::abi::Abi;
use rkfd_uapi::amdgpu::*;
use rkfd_uapi::drm::{self, DrmGetCap, Node, GET_CAP, REQUESTS};
use rkfd_uapi::ioctl::{ioc_number, ioc_size};
use std::os::unix::fs::MetadataExt;

const EOPNOTSUPP: Want = Want::Errno(libc::EOPNOTSUPP);
const ENODATA: Want = Want::Errno(libc::ENODATA);

/// The register offset of GB_ADDR_CONFIG, in words, with which libdrm asks for it
/// (`amdgpu_query_gpu_info_init`).
const GB_ADDR_CONFIG: u32 = 0x263e;
/// The instance number that means all engines and arrays.
const ALL: u32 = 0xffff_ffff;

/// Makes an INFO request with `size` bytes of room, all of which are 0xa5 before.
pub(super) fn ask(
    c: &mut Ctx,
    query: u32,
    of: [u32; 4],
    size: u32,
) -> Result<(i32, Vec<u8>), String> {
    let mut room = vec![0xa5u8; 1024];
    let mut info = Info {
        return_pointer: sys::address(&mut room[..]),
        return_size: size,
        query,
        of,
    };
    let e = sys::ioctl(c.render()?, INFO.command(), sys::address(&mut info));
    Ok((e, room))
}

pub(super) fn errno_of(c: &mut Ctx, query: u32, of: [u32; 4]) -> Answer {
    Ok(Got::Errno(ask(c, query, of, 1024)?.0))
}

/// The answer's number at a byte offset, 4 or 8 bytes wide.
pub(super) fn number(
    c: &mut Ctx,
    query: u32,
    of: [u32; 4],
    at: usize,
    width: usize,
) -> Result<u64, String> {
    let (e, room) = ask(c, query, of, 1024)?;
    if e != 0 {
        return Err(format!("INFO {query:#x}: {}", rkfd_bare::errno::name(e)));
    }
    let bytes = room[at..at + width].iter().rev();
    Ok(bytes.fold(0, |value, &byte| (value << 8) | u64::from(byte)))
}

fn value(c: &mut Ctx, query: u32, of: [u32; 4], at: usize, width: usize) -> Answer {
    Ok(Got::Value(number(c, query, of, at, width)?))
}

/// A field of DEV_INFO by the name it has in C.
fn device(c: &mut Ctx, field: &str) -> Result<u64, String> {
    let fields = InfoDevice::INFO.fields;
    let field = fields
        .iter()
        .find(|f| f.c == field)
        .ok_or("no such field")?;
    number(c, INFO_DEV_INFO, [0; 4], field.offset, field.size.min(8))
}

/// `cu_bitmap` of DEV_INFO: a word for each shader array of the first XCC.
pub(super) fn cu_bitmap(c: &mut Ctx) -> Result<Vec<u32>, String> {
    let mut fields = InfoDevice::INFO.fields.iter();
    let at = fields.find(|f| f.c == "cu_bitmap").ok_or("no such field")?;
    let (_, room) = ask(c, INFO_DEV_INFO, [0; 4], 1024)?;
    let words = room[at.offset..at.offset + 64].chunks_exact(4);
    Ok(words
        .map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]))
        .collect())
}

fn field(c: &mut Ctx, name: &str) -> Answer {
    Ok(Got::Value(device(c, name)?))
}

/// Compares the field with the number in a file of the PCI device in sysfs.
fn as_pci(c: &mut Ctx, name: &str, file: &str) -> Answer {
    let got = device(c, name)?;
    Ok(Got::Pair(got, pci_number(c, file)?))
}

/// `/sys/dev/char/MAJOR:MINOR/device` of the render node, which libdrm reads.
pub(super) fn pci(c: &Ctx) -> Result<String, String> {
    let meta = std::fs::metadata(&c.node.render).map_err(|e| format!("{}: {e}", c.node.render))?;
    let (major, minor) = (libc::major(meta.rdev()), libc::minor(meta.rdev()));
    Ok(format!("/sys/dev/char/{major}:{minor}/device"))
}

fn pci_file(c: &Ctx, file: &str) -> Result<String, String> {
    let path = format!("{}/{file}", pci(c)?);
    std::fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))
}

fn pci_number(c: &Ctx, file: &str) -> Result<u64, String> {
    let text = pci_file(c, file)?;
    let digits = text.trim().trim_start_matches("0x");
    u64::from_str_radix(digits, 16).map_err(|e| format!("{file}: {e}"))
}

/// Microwatts by hwmon: an average, or what is taken now.
fn hwmon_power(c: &Ctx) -> Result<u64, String> {
    let folder = format!("{}/hwmon", pci(c)?);
    let mut folders = std::fs::read_dir(&folder).map_err(|e| format!("{folder}: {e}"))?;
    let own = folders
        .next()
        .and_then(Result::ok)
        .ok_or("no hwmon")?
        .path();
    let names = ["power1_average", "power1_input"];
    let text = names
        .iter()
        .find_map(|name| std::fs::read_to_string(own.join(name)).ok());
    let text = text.ok_or("no power in hwmon")?;
    text.trim().parse().map_err(|e| format!("power: {e}"))
}

/// Reads registers, GB_ADDR_CONFIG or others.
fn registers(c: &mut Ctx, first: u32, count: u32, instance: u32) -> Answer {
    errno_of(c, INFO_READ_MMR_REG, [first, count, instance, 0])
}

/// By how much a 64-bit answer grows while a buffer of 4 MiB is made.
fn growth(c: &mut Ctx, query: u32, flags: u32) -> Answer {
    let before = number(c, query, [0; 4], 0, 8)?;
    c.unmapped_bo(4 << 20, flags)?;
    Ok(Got::Value(
        number(c, query, [0; 4], 0, 8)?.wrapping_sub(before),
    ))
}

/// Makes a request with an argument of zeros.
fn request(c: &mut Ctx, name: &str) -> Answer {
    let found = REQUESTS.iter().find(|r| r.c == format!("DRM_IOCTL_{name}"));
    let command = found.ok_or("no such request")?.command;
    Ok(Got::Errno(zeros(c, command)?))
}

fn zeros(c: &mut Ctx, command: u32) -> Result<i32, String> {
    let mut argument = [0u8; 1024];
    assert!(ioc_size(command) <= argument.len());
    Ok(sys::ioctl(
        c.render()?,
        command,
        sys::address(&mut argument),
    ))
}

/// The primary node of the same device, such as `/dev/dri/card0`.
pub(super) fn card(c: &Ctx) -> Result<String, String> {
    let folder = format!("{}/drm", pci(c)?);
    let entries = std::fs::read_dir(&folder).map_err(|e| format!("{folder}: {e}"))?;
    let names = entries
        .flatten()
        .map(|e| e.file_name().to_string_lossy().into_owned());
    let mut cards = names.filter(|name| name.starts_with("card"));
    let name = cards.next().ok_or("the device has no primary node")?;
    Ok(format!("/dev/dri/{name}"))
}

/// What a request of a new file of the primary node fails with.
fn by_card(c: &Ctx, request: impl FnOnce(&std::os::fd::OwnedFd) -> i32) -> Answer {
    let file = sys::open(&card(c)?).map_err(|e| e.to_string())?;
    Ok(Got::Errno(request(&file)))
}

fn capability(c: &mut Ctx, capability: u64) -> Result<(i32, u64), String> {
    let mut args = DrmGetCap {
        capability,
        value: 7,
    };
    let e = sys::ioctl(c.render()?, GET_CAP.command(), sys::address(&mut args));
    Ok((e, args.value))
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    const I: &str = "DRM_IOCTL_AMDGPU_INFO";
    const D: &str = "AMDGPU_INFO_DEV_INFO";
    const R: &str = "AMDGPU_INFO_READ_MMR_REG";
    const O: &str = "requests of DRM";
    const S: &str = "sysfs of the render node";
    const P: &str = "the primary node";
    const N: [u32; 4] = [0; 4];
    vec![
        row(I, "no room", EINVAL, "amd/amdgpu/amdgpu_kms.c: amdgpu_info_ioctl", |c| Ok(Got::Errno(ask(c, INFO_ACCEL_WORKING, N, 0)?.0))),
        row(I, "address 0", EINVAL, "amd/amdgpu/amdgpu_kms.c: amdgpu_info_ioctl", |c| { let mut i = Info { return_size: 4, ..Default::default() }; Ok(Got::Errno(sys::ioctl(c.render()?, INFO.command(), sys::address(&mut i)))) }),
        row(I, "a kernel address", EFAULT, "amd/amdgpu/amdgpu_kms.c: amdgpu_info_ioctl", |c| { let mut i = Info { return_pointer: KERNEL, return_size: 4, ..Default::default() }; Ok(Got::Errno(sys::ioctl(c.render()?, INFO.command(), sys::address(&mut i)))) }),
        row(I, "the argument at address 0", EFAULT, "drm_ioctl.c: drm_ioctl", |c| Ok(Got::Errno(sys::ioctl(c.render()?, INFO.command(), 0)))),
        row(I, "an unknown query", EINVAL, "amd/amdgpu/amdgpu_kms.c: amdgpu_info_ioctl", |c| errno_of(c, 0xff, N)),
        row(I, "ACCEL_WORKING", is(1), "amd/amdgpu/amdgpu_kms.c: AMDGPU_INFO_ACCEL_WORKING", |c| value(c, INFO_ACCEL_WORKING, N, 0, 4)),
        row(I, "ACCEL_WORKING, room for 2 bytes: the others stay", is(0xa5a5), "amd/amdgpu/amdgpu_kms.c: AMDGPU_INFO_ACCEL_WORKING", |c| { let (_, b) = ask(c, INFO_ACCEL_WORKING, N, 2)?; Ok(Got::Value((u64::from(b[2]) << 8) | u64::from(b[3]))) }),
        row(I, "ACCEL_WORKING, room for 1024 bytes: 4 are written", is(0xa5), "amd/amdgpu/amdgpu_kms.c: AMDGPU_INFO_ACCEL_WORKING", |c| value(c, INFO_ACCEL_WORKING, N, 4, 1)),
        row(I, "TIMESTAMP is the GPU's clock, which runs", YES, "amd/amdgpu/amdgpu_kms.c: AMDGPU_INFO_TIMESTAMP", |c| {
            let first = number(c, INFO_TIMESTAMP, N, 0, 8)?;
            let mut args = rkfd_uapi::device::GetClockCountersArgs { gpu_id: c.gpu, ..Default::default() };
            c.raw(&rkfd_uapi::ioctl::GET_CLOCK_COUNTERS, &mut args);
            Ok(holds(first != 0 && first <= args.gpu_clock_counter && args.gpu_clock_counter <= number(c, INFO_TIMESTAMP, N, 0, 8)?))
        }),
        row(I, "HW_IP_COUNT of compute: the partition's XCCs", Want::Computed, "amd/amdgpu/amdgpu_kms.c: AMDGPU_INFO_HW_IP_COUNT", |c| { let n = c.node.xccs; Ok(Got::Pair(number(c, INFO_HW_IP_COUNT, [HW_IP_COMPUTE, 0, 0, 0], 0, 4)?, n)) }),
        row(I, "HW_IP_COUNT of SDMA", Want::Computed, "amd/amdgpu/amdgpu_kms.c: AMDGPU_INFO_HW_IP_COUNT", |c| { let n = c.node.sdma_engines + c.node.sdma_link_engines; Ok(Got::Pair(number(c, INFO_HW_IP_COUNT, [HW_IP_DMA, 0, 0, 0], 0, 4)?, n.into())) }),
        row(I, "HW_IP_COUNT of video decoders", EINVAL, "amd/amdgpu/amdgpu_kms.c: AMDGPU_INFO_HW_IP_COUNT", |c| errno_of(c, INFO_HW_IP_COUNT, [6, 0, 0, 0])),
        row(I, "HW_IP_COUNT of an unknown kind", EINVAL, "amd/amdgpu/amdgpu_kms.c: AMDGPU_INFO_HW_IP_COUNT", |c| errno_of(c, INFO_HW_IP_COUNT, [HW_IP_NUM, 0, 0, 0])),
        row(I, "HW_IP_INFO of compute: GC's version", Want::Computed, "amd/amdgpu/amdgpu_kms.c: amdgpu_hw_ip_info", |c| { let want = if c.node.gfx942() { 0x09_04_03 } else { 0x0c_00_01 }; Ok(Got::Pair(number(c, INFO_HW_IP_INFO, [HW_IP_COMPUTE, 0, 0, 0], 28, 4)?, want)) }),
        row(I, "HW_IP_INFO of SDMA: alignment of commands", is(256), "amd/amdgpu/amdgpu_kms.c: amdgpu_hw_ip_info", |c| value(c, INFO_HW_IP_INFO, [HW_IP_DMA, 0, 0, 0], 16, 4)),
        row(I, "HW_IP_INFO of video decoders, of which there are none", is(0), "amd/amdgpu/amdgpu_kms.c: amdgpu_hw_ip_info", |c| value(c, INFO_HW_IP_INFO, [6, 0, 0, 0], 0, 4)),
        row(I, "HW_IP_INFO of a second instance", EINVAL, "amd/amdgpu/amdgpu_kms.c: amdgpu_hw_ip_info", |c| errno_of(c, INFO_HW_IP_INFO, [HW_IP_COMPUTE, 1, 0, 0])),
        row(I, "HW_IP_INFO of an unknown kind", EINVAL, "amd/amdgpu/amdgpu_kms.c: amdgpu_hw_ip_info", |c| errno_of(c, INFO_HW_IP_INFO, [HW_IP_NUM, 0, 0, 0])),
        row(I, "FW_VERSION of an engine that is not there", EINVAL, "amd/amdgpu/amdgpu_kms.c: AMDGPU_INFO_FW_VERSION", |c| errno_of(c, INFO_FW_VERSION, [FW_GFX_MEC, 1, 0, 0])),
        row(I, "FW_VERSION of MEC 1", OK, "amd/amdgpu/amdgpu_kms.c: amdgpu_firmware_info", |c| errno_of(c, INFO_FW_VERSION, [FW_GFX_MEC, 0, 0, 0])),
        row(I, "FW_VERSION of MEC 3", EINVAL, "amd/amdgpu/amdgpu_kms.c: amdgpu_firmware_info", |c| errno_of(c, INFO_FW_VERSION, [FW_GFX_MEC, 0, 2, 0])),
        row(I, "FW_VERSION of an SDMA engine beyond the last", EINVAL, "amd/amdgpu/amdgpu_kms.c: amdgpu_firmware_info", |c| { let n = c.node.sdma_engines + c.node.sdma_link_engines; errno_of(c, INFO_FW_VERSION, [FW_SDMA, 0, n, 0]) }),
        row(I, "FW_VERSION of kind 0", EINVAL, "amd/amdgpu/amdgpu_kms.c: amdgpu_firmware_info", |c| errno_of(c, INFO_FW_VERSION, N)),
        row(I, "FW_VERSION of an unknown kind", EINVAL, "amd/amdgpu/amdgpu_kms.c: amdgpu_firmware_info", |c| errno_of(c, INFO_FW_VERSION, [0x1d, 0, 0, 0])),
        row(I, "GDS_CONFIG: global wave sync", Want::Computed, "amd/amdgpu/amdgpu_kms.c: AMDGPU_INFO_GDS_CONFIG", |c| { let want = c.node.gws.into(); Ok(Got::Pair(number(c, INFO_GDS_CONFIG, N, 16, 4)?, want)) }),
        row(I, "VRAM_USAGE grows with a buffer", is(4 << 20), "amd/amdgpu/amdgpu_kms.c: AMDGPU_INFO_VRAM_USAGE", |c| growth(c, INFO_VRAM_USAGE, VRAM)),
        row(I, "VIS_VRAM_USAGE grows with a buffer", is(4 << 20), "amd/amdgpu/amdgpu_kms.c: AMDGPU_INFO_VIS_VRAM_USAGE", |c| growth(c, INFO_VIS_VRAM_USAGE, VRAM)),
        row(I, "GTT_USAGE grows with a buffer", is(4 << 20), "amd/amdgpu/amdgpu_kms.c: AMDGPU_INFO_GTT_USAGE", |c| growth(c, INFO_GTT_USAGE, GTT)),
        row(I, "MEMORY: all of VRAM fills BAR 0, a power of two", Want::Computed, "amd/amdgpu/amdgpu_kms.c: AMDGPU_INFO_MEMORY", |c| { let total = number(c, INFO_MEMORY, N, 0, 8)?; let bar = std::fs::metadata(format!("{}/resource0", pci(c)?)).map_err(|e| e.to_string())?.len(); Ok(Got::Pair(total.next_power_of_two(), bar)) }),
        row(I, "MEMORY: what can be had of VRAM is VRAM_GTT's", Want::Computed, "amd/amdgpu/amdgpu_kms.c: AMDGPU_INFO_MEMORY", |c| Ok(Got::Pair(number(c, INFO_MEMORY, N, 8, 8)?, number(c, INFO_VRAM_GTT, N, 0, 8)?))),
        row(I, "MEMORY: the largest buffer is three quarters", Want::Computed, "amd/amdgpu/amdgpu_kms.c: AMDGPU_INFO_MEMORY", |c| Ok(Got::Pair(number(c, INFO_MEMORY, N, 24, 8)?, number(c, INFO_MEMORY, N, 8, 8)? * 3 / 4))),
        row(I, "MEMORY: system memory is half of the machine's", YES, "ttm/ttm_tt.c: ttm_tt_mgr_init", |c| {
            let gtt = number(c, INFO_MEMORY, N, 64, 8)?;
            let text = std::fs::read_to_string("/proc/meminfo").map_err(|e| e.to_string())?;
            let kib = text.split_whitespace().nth(1).and_then(|n| n.parse::<u64>().ok()).ok_or("no MemTotal")?;
            Ok(holds(gtt.abs_diff(kib << 9) <= 4096))
        }),
        row(I, "NUM_EVICTIONS of VRAM that is not short", is(0), "amd/amdgpu/amdgpu_kms.c: AMDGPU_INFO_NUM_EVICTIONS", |c| value(c, INFO_NUM_EVICTIONS, N, 0, 8)),
        row(I, "NUM_BYTES_MOVED", is(0), "amd/amdgpu/amdgpu_kms.c: AMDGPU_INFO_NUM_BYTES_MOVED", |c| value(c, INFO_NUM_BYTES_MOVED, N, 0, 8)),
        row(I, "VRAM_LOST_COUNTER", is(0), "amd/amdgpu/amdgpu_kms.c: AMDGPU_INFO_VRAM_LOST_COUNTER", |c| value(c, INFO_VRAM_LOST_COUNTER, N, 0, 4)),
        row(I, "SENSOR of power without work is hwmon's, to two watts", YES, "amd/amdgpu/amdgpu_kms.c: AMDGPU_INFO_SENSOR_GPU_AVG_POWER", |c| {
            // What is measured is the time since it was before: that of other rows is over with the first one.
            number(c, INFO_SENSOR, [INFO_SENSOR_GPU_AVG_POWER, 0, 0, 0], 0, 4)?;
            std::thread::sleep(std::time::Duration::from_millis(20));
            let watts = number(c, INFO_SENSOR, [INFO_SENSOR_GPU_AVG_POWER, 0, 0, 0], 0, 4)?;
            Ok(holds(watts.abs_diff(hwmon_power(c)? / 1_000_000) <= 2))
        }),
        row(I, "NUM_HANDLES of UVD", ENODATA, "amd/amdgpu/amdgpu_kms.c: AMDGPU_INFO_NUM_HANDLES", |c| errno_of(c, INFO_NUM_HANDLES, [HW_IP_UVD, 0, 0, 0])),
        row(I, "NUM_HANDLES of compute", EINVAL, "amd/amdgpu/amdgpu_kms.c: AMDGPU_INFO_NUM_HANDLES", |c| errno_of(c, INFO_NUM_HANDLES, [HW_IP_COMPUTE, 0, 0, 0])),
        row(I, "CRTC_FROM_ID without a screen", EINVAL, "amd/amdgpu/amdgpu_kms.c: AMDGPU_INFO_CRTC_FROM_ID", |c| errno_of(c, 0x01, N)),
        row(I, "GPUVM_FAULT of a file without faults", is(0), "amd/amdgpu/amdgpu_kms.c: AMDGPU_INFO_GPUVM_FAULT", |c| {
            let all = [(0, 8), (8, 4), (12, 4)].map(|(at, width)| number(c, INFO_GPUVM_FAULT, N, at, width));
            Ok(Got::Value(all.into_iter().sum::<Result<u64, _>>()?))
        }),
        row(I, "GPUVM_FAULT cut to 4 bytes: the others stay", is(0xa5), "amd/amdgpu/amdgpu_kms.c: AMDGPU_INFO_GPUVM_FAULT", |c| Ok(Got::Value(ask(c, INFO_GPUVM_FAULT, N, 4)?.1[4].into()))),
        row(D, "errno", OK, "amd/amdgpu/amdgpu_kms.c: AMDGPU_INFO_DEV_INFO", |c| errno_of(c, INFO_DEV_INFO, N)),
        row(D, "room for 8 bytes: the others stay", is(0xa5), "amd/amdgpu/amdgpu_kms.c: AMDGPU_INFO_DEV_INFO", |c| Ok(Got::Value(ask(c, INFO_DEV_INFO, N, 8)?.1[8].into()))),
        row(D, "device_id is PCI's", Want::Computed, "amd/amdgpu/amdgpu_kms.c: AMDGPU_INFO_DEV_INFO", |c| as_pci(c, "device_id", "device")),
        row(D, "pci_rev is PCI's", Want::Computed, "amd/amdgpu/amdgpu_kms.c: AMDGPU_INFO_DEV_INFO", |c| as_pci(c, "pci_rev", "revision")),
        row(D, "family", Want::Computed, "amd/amdgpu/amdgpu_discovery.c: amdgpu_discovery_set_ip_blocks", |c| { let want = if c.node.gfx942() { 141 } else { 152 }; Ok(Got::Pair(device(c, "family")?, want)) }),
        row(D, "external_rev counts from", Want::Computed, "amd/amdgpu/soc15.c, soc24.c: common_early_init", |c| { let want = if c.node.gfx942() { 0x46 } else { 0x50 }; Ok(Got::Pair(device(c, "external_rev")?.wrapping_sub(device(c, "chip_rev")?), want)) }),
        row(D, "gpu_counter_freq in kHz", is(100_000), "amd/amdgpu/soc15.c: soc15_get_xclk", |c| field(c, "gpu_counter_freq")),
        row(D, "cu_active_number is the topology's", Want::Computed, "amd/amdgpu/gfx_v9_4_3.c: gfx_v9_4_3_get_cu_info", |c| { let want = c.node.compute_units; Ok(Got::Pair(device(c, "cu_active_number")?, want)) }),
        row(D, "cu_bitmap has a bit for each of the first XCC", Want::Computed, "amd/amdgpu/gfx_v9_4_3.c: gfx_v9_4_3_get_cu_info", |c| {
            Ok(Got::Pair(cu_bitmap(c)?.iter().map(|b| u64::from(b.count_ones())).sum(), c.node.compute_units / c.node.xccs))
        }),
        row(D, "wave_front_size is the topology's", Want::Computed, "amd/amdgpu/amdgpu_discovery.c: amdgpu_discovery_get_gfx_info", |c| { let want = c.node.wave_size; Ok(Got::Pair(device(c, "wave_front_size")?, want)) }),
        row(D, "virtual_address_offset", is(0x1_0000), "amd/amdgpu/amdgpu_vm.h: AMDGPU_VA_RESERVED_BOTTOM", |c| field(c, "virtual_address_offset")),
        row(D, "virtual_address_max", is(0x8000_0000_0000), "amd/amdgpu/amdgpu_gmc.h: AMDGPU_GMC_HOLE_START", |c| field(c, "virtual_address_max")),
        row(D, "high_va_offset", is(0xffff_8000_0000_0000), "amd/amdgpu/amdgpu_gmc.h: AMDGPU_GMC_HOLE_END", |c| field(c, "high_va_offset")),
        row(D, "high_va_max", is(0xffff_ffff_ffbf_0000), "amd/amdgpu/amdgpu_vm.h: AMDGPU_VA_RESERVED_TOP", |c| field(c, "high_va_max")),
        row(D, "virtual_address_alignment", is(4096), "amd/amdgpu/amdgpu_kms.c: AMDGPU_INFO_DEV_INFO", |c| field(c, "virtual_address_alignment")),
        row(D, "pte_fragment_size", is(2 << 20), "amd/amdgpu/gmc_v9_0.c: amdgpu_vm_adjust_size", |c| field(c, "pte_fragment_size")),
        row(R, "GB_ADDR_CONFIG", OK, "amd/amdgpu/soc15.c: soc15_read_register", |c| registers(c, GB_ADDR_CONFIG, 1, ALL)),
        row(R, "GB_ADDR_CONFIG is GET_TILE_CONFIG's, on gfx942 Linux's own", Want::Computed, "amd/amdgpu/gfx_v9_4_3.c: GOLDEN_GB_ADDR_CONFIG", |c| {
            let mut args = rkfd_uapi::device::GetTileConfigArgs { gpu_id: c.gpu, ..Default::default() };
            let want = if c.node.gfx942() { 0x2a11_4042 } else { c.raw(&rkfd_uapi::ioctl::GET_TILE_CONFIG, &mut args); args.gb_addr_config.into() };
            Ok(Got::Pair(number(c, INFO_READ_MMR_REG, [GB_ADDR_CONFIG, 1, ALL, 0], 0, 4)?, want))
        }),
        row(R, "none", OK, "amd/amdgpu/amdgpu_kms.c: AMDGPU_INFO_READ_MMR_REG", |c| registers(c, GB_ADDR_CONFIG, 0, ALL)),
        row(R, "GB_ADDR_CONFIG and the next", EFAULT, "amd/amdgpu/soc15.c: soc15_allowed_read_registers", |c| registers(c, GB_ADDR_CONFIG, 2, ALL)),
        row(R, "one that may not be read", EFAULT, "amd/amdgpu/soc15.c: soc15_allowed_read_registers", |c| registers(c, 0, 1, ALL)),
        row(R, "beyond the last", EFAULT, "amd/amdgpu/soc15.c: soc15_allowed_read_registers", |c| registers(c, u32::MAX, 1, ALL)),
        row(R, "129 of them", EINVAL, "amd/amdgpu/amdgpu_kms.c: AMDGPU_INFO_READ_MMR_REG", |c| registers(c, GB_ADDR_CONFIG, 129, ALL)),
        row(R, "engine 4", EINVAL, "amd/amdgpu/amdgpu_gfx.h: AMDGPU_GFX_MAX_SE", |c| registers(c, GB_ADDR_CONFIG, 1, 0xff04)),
        row(R, "array 2", EINVAL, "amd/amdgpu/amdgpu_gfx.h: AMDGPU_GFX_MAX_SH_PER_SE", |c| registers(c, GB_ADDR_CONFIG, 1, 0x02ff)),
        row(O, "those of primary nodes: how many are not EACCES", is(0), "drm_ioctl.c: drm_ioctl_permit", |c| {
            let mut other = 0;
            for r in REQUESTS.iter().filter(|r| r.node == Node::Primary) { other += u64::from(zeros(c, r.command)? != libc::EACCES); }
            Ok(Got::Value(other))
        }),
        row(O, "numbers that Linux does not have: how many are not EINVAL", is(0), "drm_ioctl.c: drm_ioctl", |c| {
            let known = |n: u8| drm::find(n).is_some() || (0x40..0xa0).contains(&n);
            let mut other = 0;
            for n in (0..=u8::MAX).filter(|n| !known(*n)) { other += u64::from(zeros(c, rkfd_uapi::ioctl::ioc(3, drm::TYPE, n, 16))? != libc::EINVAL); }
            Ok(Got::Value(other))
        }),
        row(O, "GET_CLIENT with an argument at address 0", EFAULT, "drm_ioctl.c: drm_ioctl", |c| { let r = REQUESTS.iter().find(|r| ioc_number(r.command) == 5).ok_or("no such request")?; Ok(Got::Errno(sys::ioctl(c.render()?, r.command, 0))) }),
        row(O, "GEM_CHANGE_HANDLE", EINVAL, "drm_ioctl.c: drm_invalid_op", |c| request(c, "GEM_CHANGE_HANDLE")),
        row(O, "AMDGPU_CTX: no operation", EINVAL, "amd/amdgpu/amdgpu_ctx.c: amdgpu_ctx_ioctl", |c| Ok(Got::Errno(zeros(c, 0xc010_6442)?))),
        row(O, "AMDGPU_INFO by a command of 24 bytes, no query", EINVAL, "drm_ioctl.c: drm_ioctl", |c| Ok(Got::Errno(zeros(c, 0x4018_6445)?))),
        row("DRM_IOCTL_GET_CAP", "monotonic time stamps", is(1), "drm_ioctl.c: drm_getcap", |c| Ok(Got::Value(capability(c, drm::CAP_TIMESTAMP_MONOTONIC)?.1))),
        row("DRM_IOCTL_GET_CAP", "DMA-bufs come in and go out", is(3), "drm_ioctl.c: drm_getcap", |c| Ok(Got::Value(capability(c, drm::CAP_PRIME)?.1))),
        row("DRM_IOCTL_GET_CAP", "buffers for a screen", EOPNOTSUPP, "drm_ioctl.c: drm_getcap", |c| Ok(Got::Errno(capability(c, drm::CAP_DUMB_BUFFER)?.0))),
        row(S, "the folder drm of its device lists it", YES, "drm_sysfs.c: drm_sysfs_minor_alloc", |c| { let name = c.node.render.rsplit('/').next().unwrap_or_default().to_owned(); Ok(holds(std::path::Path::new(&format!("{}/drm/{name}/dev", pci(c)?)).exists())) }),
        row(S, "its device is on the PCI bus", YES, "amd/amdgpu/amdgpu_drv.c: amdgpu_pci_probe", |c| { let link = std::fs::read_link(format!("{}/subsystem", pci(c)?)).map_err(|e| e.to_string())?; Ok(holds(link.ends_with("bus/pci"))) }),
        row(S, "its class is drm, for udev's rules", YES, "drm_sysfs.c: drm_class", |c| { let device = pci(c)?; let link = std::fs::read_link(device.replace("/device", "/subsystem")); Ok(holds(link.is_ok_and(|l| l.ends_with("class/drm")))) }),
        row(S, "its major is that of DRM", is(226), "include/drm/drm_ioctl.h: DRM_MAJOR", |c| Ok(Got::Value(libc::major(std::fs::metadata(&c.node.render).map_err(|e| e.to_string())?.rdev()).into()))),
        row(P, "is the same device's", YES, "drm_drv.c: drm_dev_init", |c| { let card = card(c)?; Ok(holds(std::path::Path::new(&card).exists())) }),
        row(P, "AMDGPU_INFO", OK, "amd/amdgpu/amdgpu_drv.c: amdgpu_ioctls_kms", |c| by_card(c, |fd| { let mut word = 0u32; let mut info = Info { return_pointer: sys::address(&mut word), return_size: 4, query: INFO_ACCEL_WORKING, ..Default::default() }; sys::ioctl(fd, INFO.command(), sys::address(&mut info)) })),
        row(P, "MODE_GETRESOURCES of a device without a screen", Want::Unsupported(libc::EOPNOTSUPP, 0), "drm_mode_config.c: drm_mode_getresources", |c| by_card(c, |fd| sys::ioctl(fd, 0xc040_64a0, sys::address(&mut [0u64; 8])))),
        row(P, "GET_UNIQUE: the length of the PCI address, once SET_VERSION gave it", Want::Computed, "drm_ioctl.c: drm_getunique", |c| {
            let slot = c.node.slot.len() as u64 + "pci:".len() as u64;
            let file = sys::open(&card(c)?).map_err(|e| e.to_string())?;
            let mut version = [1i32, 4, -1, -1];
            sys::ioctl(&file, 0xc010_6407, sys::address(&mut version));
            let mut unique = [0u64; 2];
            sys::ioctl(&file, 0xc010_6401, sys::address(&mut unique));
            Ok(Got::Pair(unique[0], slot))
        }),
        row(S, "its vendor is AMD", is(0x1002), "amd/amdgpu/amdgpu_drv.c: pciidlist", |c| Ok(Got::Value(pci_number(c, "vendor")?))),
        row(S, "its uevent names the slot of the topology", YES, "drivers/pci/pci-driver.c: pci_uevent", |c| { let want = format!("PCI_SLOT_NAME={}", c.node.slot); Ok(holds(pci_file(c, "uevent")?.lines().any(|l| l == want))) }),
    ]
}
