// SPDX-License-Identifier: GPL-2.0

//! Calls that report: version, clocks, apertures, tiling, modes.

use super::gpu_id;
use crate::{
    glue::user,
    process::Process,
    uapi::{
        self,
        device as abi, //
    }, //
};
use kernel::{
    alloc::KVec,
    prelude::*,
    uaccess::{
        UserPtr,
        UserSlice, //
    }, //
};

/// GET_VERSION.
pub(super) fn version(args: &mut abi::GetVersionArgs) -> Result {
    args.major_version = uapi::VERSION_MAJOR;
    args.minor_version = uapi::VERSION_MINOR;
    Ok(())
}

/// GET_CLOCK_COUNTERS. An unknown GPU is no error: its counter is 0.
pub(super) fn clocks(process: &Process, args: &mut abi::GetClockCountersArgs) -> Result {
    let device = gpu_id(args.gpu_id).and_then(|id| process.device(id));
    args.gpu_clock_counter = device.map_or(0, |device| device.gpu.clock());
    args.cpu_clock_counter = user::raw_ns();
    args.system_clock_counter = user::boottime_ns();
    args.system_clock_freq = 1_000_000_000;
    Ok(())
}

/// Apertures of 64-bit programs on gfx9 to gfx12 (`kfd_init_apertures_v9`). Local and private
/// memory lie in the hole of the address space.
pub(super) fn apertures_of(gpu_id: u32) -> abi::ProcessDeviceApertures {
    const LDS_BASE: u64 = 1 << 48;
    const SCRATCH_BASE: u64 = 2 << 48;
    const APERTURE_LAST: u64 = 0xffff_ffff;
    abi::ProcessDeviceApertures {
        lds_base: LDS_BASE,
        lds_limit: LDS_BASE | APERTURE_LAST,
        scratch_base: SCRATCH_BASE,
        scratch_limit: SCRATCH_BASE | APERTURE_LAST,
        gpuvm_base: 0x1_0000,
        gpuvm_limit: 0x7fff_ffff_ffff,
        gpu_id,
        pad: 0,
    }
}

/// GET_PROCESS_APERTURES: at most 7 GPUs.
pub(super) fn apertures(process: &Process, args: &mut abi::GetProcessAperturesArgs) -> Result {
    let (entries, devices) = (&mut args.process_apertures, process.devices());
    // CAST: At most 7.
    args.num_of_nodes = devices.len().min(entries.len()) as u32;
    for (entry, device) in entries.iter_mut().zip(devices) {
        *entry = apertures_of(device.gpu.id().get().into());
    }
    Ok(())
}

/// GET_PROCESS_APERTURES_NEW: with no room given, it reports how many there are.
pub(super) fn apertures_new(
    process: &Process,
    args: &mut abi::GetProcessAperturesNewArgs,
) -> Result {
    let devices = process.devices();
    if args.num_of_nodes == 0 {
        args.num_of_nodes = u32::try_from(devices.len()).map_err(|_| EINVAL)?;
        return Ok(());
    }
    // More than there are nodes in the system, the CPUs' included.
    if args.num_of_nodes as usize > process.shared().gpus.len().saturating_add(1) {
        return Err(EINVAL);
    }
    let count = devices.len().min(args.num_of_nodes as usize);
    let mut entries = KVec::with_capacity(count, GFP_KERNEL)?;
    for device in devices.iter().take(count) {
        let entry = apertures_of(device.gpu.id().get().into());
        entries.push(entry, GFP_KERNEL)?;
    }
    args.num_of_nodes = u32::try_from(count).map_err(|_| EINVAL)?;
    let bytes = user::abi_bytes(&entries);
    let address = args.kfd_process_device_apertures_ptr as usize;
    UserSlice::new(UserPtr::from_addr(address), bytes.len())
        .writer()
        .write_slice(bytes)
}

/// GET_TILE_CONFIG. gfx9 and later have no tile modes: their tables are zero.
pub(super) fn tile_config(process: &Process, args: &mut abi::GetTileConfigArgs) -> Result {
    const TILE_MODES: u32 = 32;
    const MACRO_TILE_MODES: u32 = 16;
    args.gb_addr_config = process
        .device(gpu_id(args.gpu_id)?)?
        .gpu
        .chip()
        .gb_addr_config;
    args.num_banks = 0;
    args.num_ranks = 0;
    args.num_tile_configs = args.num_tile_configs.min(TILE_MODES);
    zero_words(args.tile_config_ptr, args.num_tile_configs)
        .inspect_err(|_| args.num_tile_configs = 0)?;
    args.num_macro_tile_configs = args.num_macro_tile_configs.min(MACRO_TILE_MODES);
    zero_words(args.macro_tile_config_ptr, args.num_macro_tile_configs)
        .inspect_err(|_| args.num_macro_tile_configs = 0)
}

fn zero_words(address: u64, count: u32) -> Result {
    let zeros = [0u8; 4 * 32];
    let size = (count as usize).checked_mul(4).ok_or(EINVAL)?;
    let bytes = zeros.get(..size).ok_or(EINVAL)?;
    UserSlice::new(UserPtr::from_addr(address as usize), bytes.len())
        .writer()
        .write_slice(bytes)
}
