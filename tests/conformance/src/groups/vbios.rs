// SPDX-License-Identifier: MIT OR Apache-2.0
//! What INFO and files of the PCI device say of the VBIOS, beside the card's expansion ROM as PCI's own file shows it.
//! Paths are those of `drivers/gpu/drm`.

use super::drm::{ask, errno_of, number, pci};
use super::*;
use crate::row::{row, Row};
use rkfd_bare::node;
use rkfd_uapi::abi::Abi;
use rkfd_uapi::amdgpu::{
    InfoDevice, InfoVbios, INFO_DEV_INFO, INFO_VBIOS, INFO_VBIOS_IMAGE, INFO_VBIOS_INFO,
    INFO_VBIOS_SIZE,
};
use std::fs;

/// How much of the image is asked for at once.
const ROOM: usize = 1024;
const INFO: [u32; 4] = [INFO_VBIOS_INFO, 0, 0, 0];

/// The expansion ROM: its file can be read after a `1` was written there. Of a GPU that is the first to have a screen the
/// kernel shows what the computer's firmware has left of it, which in a virtual machine is something else (EIO): then the
/// image is what the driver has read.
fn rom(c: &mut Ctx) -> Result<Vec<u8>, String> {
    let path = format!("{}/rom", pci(c)?);
    let read = || {
        fs::write(&path, "1")?;
        fs::read(&path)
    };
    let rom = match read() {
        Err(e) if e.raw_os_error() == Some(libc::EIO) => image(c)?,
        rom => rom.map_err(|e| format!("{path}: {e}"))?,
    };
    (rom.len() > ROOM)
        .then_some(rom)
        .ok_or(format!("{path} is short"))
}

/// The whole image, as INFO shows it.
fn image(c: &mut Ctx) -> Result<Vec<u8>, String> {
    let size = number(c, INFO_VBIOS, [INFO_VBIOS_SIZE, 0, 0, 0], 0, 4)? as u32;
    let mut image = Vec::new();
    for at in (0..size).step_by(ROOM) {
        let (e, room) = ask(c, INFO_VBIOS, [INFO_VBIOS_IMAGE, at, 0, 0], ROOM as u32)?;
        if e != 0 {
            return Err(rkfd_bare::errno::name(e));
        }
        image.extend_from_slice(&room);
    }
    image.truncate(size as usize);
    Ok(image)
}

/// The text in the ROM that begins with this, up to its zero.
fn text_of_rom(c: &mut Ctx, begin: &[u8]) -> Result<Vec<u8>, String> {
    let rom = rom(c)?;
    let at = rom.windows(begin.len()).position(|bytes| bytes == begin);
    let text = &rom[at.ok_or("not in the ROM")?..];
    Ok(text.split(|&byte| byte == 0).next().unwrap_or(&[]).to_vec())
}

/// A text of [`InfoVbios`], by its name in C.
fn text(c: &mut Ctx, field: &str) -> Result<Vec<u8>, String> {
    let found = InfoVbios::INFO.fields.iter().find(|f| f.c == field);
    let found = found.ok_or("no such field")?;
    let (e, room) = ask(c, INFO_VBIOS, INFO, ROOM as u32)?;
    if e != 0 {
        return Err(rkfd_bare::errno::name(e));
    }
    let text = &room[found.offset..found.offset + found.size];
    Ok(text.split(|&byte| byte == 0).next().unwrap_or(&[]).to_vec())
}

/// Base dies, each with four copy engines (`aqua_vanjaram_init_soc_config`); only MI300s have several.
fn dies(c: &Ctx) -> u64 {
    match c.node.gfx942() {
        true => (c.node.sdma_engines + c.node.sdma_link_engines)
            .div_ceil(4)
            .into(),
        false => 1,
    }
}

/// Channels and the power of two of each one's bits, and the kind of memory, where `struct atom_umc_info_v4_0` of the ROM
/// has them.
fn memory(c: &mut Ctx) -> Result<(u64, u8), String> {
    /// `ATOM_ROM_TABLE_PTR`, `ATOM_ROM_DATA_PTR`; `umc_info` behind the head of the list.
    const HEADER: usize = 0x48;
    const DATA: usize = 0x20;
    const UMC_INFO: usize = 4 + 2 * 24;
    let rom = rom(c)?;
    let pointer = |at: usize| usize::from(u16::from_le_bytes([rom[at], rom[at + 1]]));
    let table = pointer(pointer(pointer(HEADER) + DATA) + UMC_INFO);
    if rom[table + 2..table + 4] != [4, 0] {
        return Err("umc_info isn't of version 4.0".into());
    }
    let (channels, width) = (rom[table + 64], rom[table + 65]);
    Ok((u64::from(channels) << width, rom[table + 26]))
}

#[rustfmt::skip]
pub fn rows() -> Vec<Row> {
    const I: &str = "INFO_VBIOS";
    const F: &str = "sysfs vbios_version";
    const M: &str = "the card's memory";
    const SOURCE: &str = "amd/amdgpu/amdgpu_kms.c: AMDGPU_INFO_VBIOS";
    vec![
        row(I, "SIZE is the expansion ROM's", Want::Computed, SOURCE, |c| { let rom = rom(c)?.len(); Ok(Got::Pair(number(c, INFO_VBIOS, [INFO_VBIOS_SIZE, 0, 0, 0], 0, 4)?, rom as u64)) }),
        row(I, "SIZE is that in the image's head", Want::Computed, "PCI Firmware Specification 3.0, 5.1", |c| { let blocks = rom(c)?[2]; Ok(Got::Pair(number(c, INFO_VBIOS, [INFO_VBIOS_SIZE, 0, 0, 0], 0, 4)?, u64::from(blocks) * 512)) }),
        row(I, "IMAGE from byte 256 on is the ROM's", YES, SOURCE, |c| {
            let (e, room) = ask(c, INFO_VBIOS, [INFO_VBIOS_IMAGE, 256, 0, 0], ROOM as u32)?;
            Ok(holds(e == 0 && room[..] == rom(c)?[256..256 + ROOM]))
        }),
        row(I, "IMAGE: at its end what is left, and no more", YES, SOURCE, |c| {
            let rom = rom(c)?;
            let (e, room) = ask(c, INFO_VBIOS, [INFO_VBIOS_IMAGE, rom.len() as u32 - 8, 0, 0], ROOM as u32)?;
            Ok(holds(e == 0 && room[..8] == rom[rom.len() - 8..] && room[8..].iter().all(|&byte| byte == 0xa5)))
        }),
        row(I, "IMAGE from its end on", EINVAL, SOURCE, |c| { let end = rom(c)?.len() as u32; errno_of(c, INFO_VBIOS, [INFO_VBIOS_IMAGE, end, 0, 0]) }),
        row(I, "a kind that there isn't", EINVAL, SOURCE, |c| errno_of(c, INFO_VBIOS, [4, 0, 0, 0])),
        row(I, "INFO: the part number is the first text where the image points", YES, "amd/amdgpu/atom.c: atom_get_vbios_pn", |c| {
            let rom = rom(c)?;
            let at = usize::from(u16::from_le_bytes([rom[0x6e], rom[0x6f]]));
            let first = rom[at..].split(|&byte| byte == 0).next().unwrap_or(&[]);
            Ok(holds(rom[0x2f] != 0 && !first.is_empty() && text(c, "vbios_pn")? == first))
        }),
        row(I, "INFO: the version, without what is before it", YES, "amd/amdgpu/atom.c: atom_get_vbios_version", |c| {
            let whole = text_of_rom(c, b"ATOMBIOSBK-AMD VER")?;
            Ok(holds(text(c, "vbios_ver_str")? == whole[18..] && whole.len() > 18))
        }),
        row(I, "INFO: the date, the year first", YES, "amd/amdgpu/atom.c: atom_get_vbios_date", |c| {
            let rom = rom(c)?;
            let d = |first: usize, last: usize| String::from_utf8_lossy(&rom[0x50 + first..=0x50 + last]).into_owned();
            let wanted = format!("20{}/{}/{} {}", d(6, 7), d(0, 1), d(3, 4), d(9, 13));
            Ok(holds(text(c, "date")? == wanted.as_bytes()))
        }),
        row(I, "INFO: the card has a name, which is in the ROM", YES, "amd/amdgpu/atom.c: atom_get_vbios_name", |c| {
            let name = text(c, "name")?;
            Ok(holds(!name.is_empty() && text_of_rom(c, &name)? == name))
        }),
        row(F, "is the part number of INFO", YES, "amd/amdgpu/amdgpu_atombios.c: amdgpu_atombios_get_vbios_version", |c| {
            let path = format!("{}/vbios_version", pci(c)?);
            let shown = fs::read(&path).map_err(|e| format!("{path}: {e}"))?;
            Ok(holds(shown.strip_suffix(b"\n") == Some(&text(c, "vbios_pn")?)))
        }),
        row(M, "as many bits as the ROM says for each base die", Want::Computed, "amd/amdgpu/amdgpu_gmc.c: amdgpu_gmc_get_vram_info", |c| {
            let found = number(c, INFO_DEV_INFO, [0; 4], std::mem::offset_of!(InfoDevice, vram_bit_width), 4)?;
            Ok(Got::Pair(found, dies(c) * memory(c)?.0))
        }),
        row(M, "the topology's memory has as many", Want::Computed, "amd/amdkfd/kfd_crat.c: kfd_fill_gpu_memory_affinity", |c| {
            let bank = node::properties(&format!("{}/1/mem_banks/0/properties", node::NODES))?;
            Ok(Got::Pair(bank.get("width").copied().unwrap_or(0), dies(c) * memory(c)?.0))
        }),
        row(M, "its kind", Want::Computed, "amd/amdgpu/amdgpu_atomfirmware.c: convert_atom_mem_type_to_vram_type", |c| {
            let found = number(c, INFO_DEV_INFO, [0; 4], std::mem::offset_of!(InfoDevice, vram_type), 4)?;
            // ATOM_DGPU_VRAM_TYPE_HBM3 and _GDDR6; AMDGPU_VRAM_TYPE_HBM and _GDDR6.
            let wanted = match memory(c)?.1 { 0x80 => 6, 0x70 => 9, other => return Err(format!("kind {other:#x} in the ROM")) };
            Ok(Got::Pair(found, wanted))
        }),
        row(M, "its maker has a name", YES, "amd/amdgpu/amdgpu_vram_mgr.c: amdgpu_mem_info_vram_vendor", |c| {
            let path = format!("{}/mem_info_vram_vendor", pci(c)?);
            let name = fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
            // By the number that each emulated chip's own software leaves.
            Ok(holds(name == if c.node.gfx942() { "hynix\n" } else { "samsung\n" }))
        }),
    ]
}
