// SPDX-License-Identifier: GPL-2.0

//! amdgpu's request INFO: what libdrm and through it ROCr ask of the chip (`amdgpu_info_ioctl`).
//!
//! Answered is what this driver knows. The kernel has no rings here that programs submit to, so the
//! engines' masks of them are empty; there is no video (EINVAL).

use super::{
    device_info,
    sensor, //
};
use crate::{
    glue::{
        linux::ENODATA,
        user, //
    },
    gpu::Gpu,
    hw::vbios::Image,
    limit::SystemMemory,
    mmap::VmFile,
    process::Processes,
    types::{
        BlockVersion,
        Pasid, //
    },
    uapi::{
        abi::Abi,
        amdgpu as abi, //
    },
    vbios::Vbios, //
};
use core::num::NonZeroU16;
use kernel::{
    prelude::*,
    uaccess::{
        UserPtr,
        UserSlice, //
    }, //
};

/// DRM_IOCTL_AMDGPU_INFO of the last page fault in a file's address space, which only a process' queues can have. All zero
/// when there was none.
///
/// # Errors
///
/// EINVAL for no room; EFAULT when the answer can't be written.
pub(super) fn last_fault(file: &VmFile, processes: &Processes, info: &abi::Info) -> Result {
    check_room(info)?;
    let pasid = u16::try_from(file.pasid()).ok().and_then(NonZeroU16::new);
    let process = pasid.and_then(|pasid| processes.by_pasid(Pasid::new(pasid)));
    let device = process.and_then(|process| process.device(file.gpu().id()).ok().cloned());
    let fault = device.and_then(|device| device.told_fault());
    let told = fault.and_then(|fault| {
        let hub = fault.hub?;
        Some(abi::InfoGpuvmFault {
            addr: fault.va.get(),
            status: hub.status,
            vmhub: hub.hub,
        })
    });
    put(info, &told.unwrap_or_default())
}

fn check_room(info: &abi::Info) -> Result {
    match info.return_size == 0 || info.return_pointer == 0 {
        true => Err(EINVAL),
        false => Ok(()),
    }
}

/// DRM_IOCTL_AMDGPU_INFO.
///
/// # Errors
///
/// EINVAL for no room, and for what isn't known; EFAULT for a register that may not be read, and
/// when the answer can't be written; ENODATA for handles of decoders; those of [`sensor::read`].
pub(super) fn info(gpu: &Gpu, memory: &SystemMemory, info: &abi::Info) -> Result {
    check_room(info)?;
    match info.query {
        abi::INFO_ACCEL_WORKING => put32(info, 1),
        abi::INFO_HW_IP_INFO => put(info, &hw_ip(gpu, info)?),
        abi::INFO_HW_IP_COUNT => put32(info, hw_ip_count(gpu, info.hw_ip().0)?),
        abi::INFO_TIMESTAMP => put64(info, gpu.clock()),
        abi::INFO_FW_VERSION => put(info, &firmware(gpu, info)?),
        abi::INFO_VRAM_USAGE | abi::INFO_VIS_VRAM_USAGE => put64(info, gpu.vram_used()),
        abi::INFO_GTT_USAGE => put64(info, memory.used()),
        abi::INFO_GDS_CONFIG => {
            let gds = abi::InfoGds {
                gws_per_compute_partition: gpu.chip().family.gws,
                ..Default::default()
            };
            put(info, &gds)
        }
        abi::INFO_VRAM_GTT => {
            let MemoryHeaps { vram, visible, gtt } = MemoryHeaps::of(gpu, memory);
            let sizes = abi::InfoVramGtt {
                vram_size: vram.usable_heap_size,
                vram_cpu_accessible_size: visible.usable_heap_size,
                gtt_size: gtt.usable_heap_size,
            };
            put(info, &sizes)
        }
        abi::INFO_MEMORY => {
            let MemoryHeaps { vram, visible, gtt } = MemoryHeaps::of(gpu, memory);
            let sizes = abi::MemoryInfo {
                vram,
                cpu_accessible_vram: visible,
                gtt,
            };
            put(info, &sizes)
        }
        abi::INFO_READ_MMR_REG => registers(gpu, info),
        abi::INFO_DEV_INFO => put(info, &device_info::of(gpu)),
        abi::INFO_NUM_BYTES_MOVED => put64(info, gpu.memory().yielding.moved()),
        abi::INFO_NUM_EVICTIONS => put64(info, gpu.memory().yielding.evictions()),
        // The CPU sees all of VRAM, and has nothing moved to see it.
        abi::INFO_NUM_VRAM_CPU_PAGE_FAULTS => put64(info, 0),
        abi::INFO_VRAM_LOST_COUNTER => put32(info, gpu.vram_losses()),
        abi::INFO_SENSOR => put32(info, sensor::read(gpu, info.sensor())?),
        abi::INFO_VBIOS => vbios(gpu, info),
        abi::INFO_NUM_HANDLES if info.hw_ip().0 == abi::HW_IP_UVD => Err(ENODATA),
        _ => Err(EINVAL),
    }
}

/// Writes an answer, as much of it as there is room for.
fn put_bytes(info: &abi::Info, bytes: &[u8]) -> Result {
    let len = bytes.len().min(info.return_size as usize);
    let address = UserPtr::from_addr(info.return_pointer as usize);
    UserSlice::new(address, len)
        .writer()
        .write_slice(bytes.get(..len).ok_or(EINVAL)?)
}

fn put<T: Abi>(info: &abi::Info, answer: &T) -> Result {
    put_bytes(info, user::abi_bytes(core::slice::from_ref(answer)))
}

fn put32(info: &abi::Info, value: u32) -> Result {
    put_bytes(info, &value.to_ne_bytes())
}

fn put64(info: &abi::Info, value: u64) -> Result {
    put_bytes(info, &value.to_ne_bytes())
}

/// How many engines of a kind a partition has.
fn hw_ip_count(gpu: &Gpu, kind: u32) -> Result<u32> {
    match kind {
        abi::HW_IP_GFX | abi::HW_IP_COMPUTE => Ok(gpu.chip().num_xcc),
        abi::HW_IP_DMA => Ok(gpu.chip().sdma_counts.engines()),
        _ => Err(EINVAL),
    }
}

/// The rings of a kind of engine (`amdgpu_hw_ip_info`). What has no engine here is all zero.
fn hw_ip(gpu: &Gpu, info: &abi::Info) -> Result<abi::InfoHwIp> {
    let (kind, instance) = info.hw_ip();
    if instance >= abi::HW_IP_INSTANCE_MAX_COUNT || kind >= abi::HW_IP_NUM {
        return Err(EINVAL);
    }
    let (version, start_alignment, size_alignment) = match kind {
        abi::HW_IP_GFX | abi::HW_IP_COMPUTE => (gpu.chip().versions.gc.ip(), 32, 32),
        abi::HW_IP_DMA => (gpu.chip().versions.sdma.ip(), 256, 4),
        _ => return Ok(abi::InfoHwIp::default()),
    };
    Ok(abi::InfoHwIp {
        hw_ip_version_major: version.major.into(),
        hw_ip_version_minor: version.minor.into(),
        ib_start_alignment: start_alignment,
        ib_size_alignment: size_alignment,
        ip_discovery_version: u32::from_be_bytes([
            0,
            version.major,
            version.minor,
            version.revision,
        ]),
        ..Default::default()
    })
}

/// Version of a firmware, 0 where nothing reports it (`amdgpu_firmware_info`).
fn firmware(gpu: &Gpu, info: &abi::Info) -> Result<abi::InfoFirmware> {
    /// The last kind, and that of trusted applications, none of which is loaded.
    const LAST: u32 = 0x1c;
    const TRUSTED: u32 = 0x13;
    /// Not a kind.
    const GAP: u32 = 0x09;
    let (kind, engine, index) = info.firmware();
    if engine != 0 {
        return Err(EINVAL);
    }
    let chip = gpu.chip();
    let ver = match (kind, index) {
        (abi::FW_GFX_MEC, 0) => chip.mec_fw_version,
        (abi::FW_GFX_MEC, 1) => 0,
        (abi::FW_SDMA, index) if index < chip.sdma_counts.engines() => chip.sdma_fw_version,
        (abi::FW_SMC, _) => gpu.smu_version(),
        (0 | GAP | TRUSTED | abi::FW_GFX_MEC | abi::FW_SDMA, _) => return Err(EINVAL),
        (kind, _) if kind <= LAST => 0,
        _ => return Err(EINVAL),
    };
    Ok(abi::InfoFirmware { ver, feature: 0 })
}

/// The VBIOS, as upstream has it: of a card without one the size is 0.
fn vbios(gpu: &Gpu, info: &abi::Info) -> Result {
    let image = gpu.vbios().and_then(Vbios::image);
    let bytes = gpu.vbios().map_or(&[][..], Vbios::bytes);
    let (what, offset) = info.vbios();
    match what {
        abi::INFO_VBIOS_SIZE => put32(info, bytes.len().try_into()?),
        abi::INFO_VBIOS_IMAGE => match bytes.get(offset as usize..) {
            None | Some([]) => Err(EINVAL),
            Some(rest) => put_bytes(info, rest),
        },
        abi::INFO_VBIOS_INFO => put(info, &image.map_or_else(Default::default, card)),
        _ => Err(EINVAL),
    }
}

/// Who the card is, by its VBIOS.
fn card(image: Image<'_>) -> abi::InfoVbios {
    let mut card = abi::InfoVbios {
        version: image.version(),
        ..Default::default()
    };
    let text =
        |to: &mut [u8], from: &[u8]| to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
    text(card.name.as_flattened_mut(), image.name());
    text(card.vbios_pn.as_flattened_mut(), image.part_number());
    text(&mut card.vbios_ver_str, image.version_text());
    text(&mut card.date, &image.date().unwrap_or_default());
    card
}

/// Registers that programs may read: GB_ADDR_CONFIG, as the driver keeps it.
fn registers(gpu: &Gpu, info: &abi::Info) -> Result {
    const MAX_ENGINES: u32 = 4;
    const MAX_ARRAYS: u32 = 2;
    const MAX_COUNT: u32 = 128;
    let asked = info.registers();
    let part = |shift: u32, mask: u32| asked.instance >> shift & mask;
    let engine = part(abi::MMR_SE_INDEX_SHIFT, abi::MMR_SE_INDEX_MASK);
    let array = part(abi::MMR_SH_INDEX_SHIFT, abi::MMR_SH_INDEX_MASK);
    if (engine != abi::MMR_SE_INDEX_MASK && engine >= MAX_ENGINES)
        || (array != abi::MMR_SH_INDEX_MASK && array >= MAX_ARRAYS)
        || asked.count > MAX_COUNT
    {
        return Err(EINVAL);
    }
    let word = gpu.gb_addr_config_word();
    match asked.count {
        0 => Ok(()),
        1 if word == Some(asked.dword_offset) => put32(info, gpu.chip().gb_addr_config),
        _ => Err(EFAULT),
    }
}

/// The heaps. The CPU sees all of VRAM.
struct MemoryHeaps {
    vram: abi::HeapInfo,
    visible: abi::HeapInfo,
    gtt: abi::HeapInfo,
}

impl MemoryHeaps {
    fn of(gpu: &Gpu, memory: &SystemMemory) -> Self {
        let heap = |total, usable: u64, usage| abi::HeapInfo {
            total_heap_size: total,
            usable_heap_size: usable,
            heap_usage: usage,
            max_allocation: (usable / 4).saturating_mul(3),
        };
        let (chip, used) = (gpu.chip(), gpu.vram_used());
        let usable = gpu.vram_usable();
        let gtt = memory.limit();
        Self {
            vram: heap(chip.vram_size, usable, used),
            visible: heap(
                chip.visible_vram_size,
                usable.min(chip.visible_vram_size),
                used,
            ),
            gtt: heap(gtt, gtt, memory.used()),
        }
    }
}
