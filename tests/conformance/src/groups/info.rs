// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests that only read: version, clocks, apertures, tiling.

use super::*;
use crate::fixture::KERNEL;
use crate::row::{row, Answer, Row};
use rkfd_uapi::device::{
    GetClockCountersArgs, GetProcessAperturesArgs, GetProcessAperturesNewArgs, GetTileConfigArgs,
    GetVersionArgs, ProcessDeviceApertures,
};
use rkfd_uapi::ioctl as requests;

const UNKNOWN: u32 = 0xdead;

fn clocks(c: &mut Ctx, gpu_id: u32) -> (i32, GetClockCountersArgs) {
    let mut args = GetClockCountersArgs {
        gpu_id,
        ..Default::default()
    };
    (c.raw(&requests::GET_CLOCK_COUNTERS, &mut args), args)
}

/// A clock of the answer lies between two readings by this process.
fn between(c: &mut Ctx, id: i32, f: fn(&GetClockCountersArgs) -> u64) -> Answer {
    let before = sys::clock(id);
    let counter = f(&clocks(c, c.gpu).1);
    Ok(holds(before <= counter && counter <= sys::clock(id)))
}

/// GET_PROCESS_APERTURES.
fn old(c: &mut Ctx) -> GetProcessAperturesArgs {
    let mut args = GetProcessAperturesArgs {
        num_of_nodes: 5,
        ..Default::default()
    };
    args.process_apertures[1].gpu_id = 77;
    c.raw(&requests::GET_PROCESS_APERTURES, &mut args);
    args
}

fn aperture(c: &mut Ctx, f: fn(&ProcessDeviceApertures) -> u64) -> Answer {
    Ok(Got::Value(f(&old(c).process_apertures[0])))
}

/// GET_PROCESS_APERTURES_NEW with room for `nodes` at `address`.
fn new(c: &mut Ctx, num_of_nodes: u32, address: u64) -> Answer {
    let mut args = GetProcessAperturesNewArgs {
        kfd_process_device_apertures_ptr: address,
        num_of_nodes,
        pad: 0,
    };
    // The count is written before the entries are copied.
    Ok(Got::Errno(c.call_writing(
        &requests::GET_PROCESS_APERTURES_NEW,
        &mut args,
    )))
}

fn new_entries(c: &mut Ctx, room: u32) -> (u32, Vec<ProcessDeviceApertures>) {
    let mut entries = vec![ProcessDeviceApertures::default(); 8];
    let mut args = GetProcessAperturesNewArgs {
        kfd_process_device_apertures_ptr: sys::address(&mut entries[..]),
        num_of_nodes: room,
        pad: 0,
    };
    c.raw(&requests::GET_PROCESS_APERTURES_NEW, &mut args);
    (args.num_of_nodes, entries)
}

fn tiles(c: &mut Ctx, change: impl FnOnce(&mut GetTileConfigArgs)) -> (i32, GetTileConfigArgs) {
    let (mut tile, mut macro_tile) = ([7u32; 64], [7u32; 64]);
    let mut args = GetTileConfigArgs {
        tile_config_ptr: sys::address(&mut tile),
        macro_tile_config_ptr: sys::address(&mut macro_tile),
        num_tile_configs: 32,
        num_macro_tile_configs: 16,
        // Whatever comes in, what the driver says comes back.
        num_banks: 77,
        num_ranks: 77,
        gpu_id: c.gpu,
        ..Default::default()
    };
    change(&mut args);
    (c.call_writing(&requests::GET_TILE_CONFIG, &mut args), args)
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    vec![
        row("GET_VERSION", "major", is(1), "kfd_chardev.c:246", |c| { let mut a = GetVersionArgs::default(); c.raw(&requests::GET_VERSION, &mut a); Ok(Got::Value(a.major_version.into())) }).open(),
        row("GET_VERSION", "minor", is(23), "kfd_chardev.c:247", |c| { let mut a = GetVersionArgs::default(); c.raw(&requests::GET_VERSION, &mut a); Ok(Got::Value(a.minor_version.into())) }).open(),
        row("GET_CLOCK_COUNTERS", "the GPU", OK, "kfd_chardev.c:742", |c| Ok(Got::Errno(clocks(c, c.gpu).0))).open(),
        row("GET_CLOCK_COUNTERS", "the GPU's counter runs", YES, "kfd_chardev.c:753", |c| {
            let first = clocks(c, c.gpu).1.gpu_clock_counter;
            std::thread::sleep(std::time::Duration::from_millis(2));
            Ok(holds(first != 0 && clocks(c, c.gpu).1.gpu_clock_counter > first))
        }).open(),
        row("GET_CLOCK_COUNTERS", "system frequency", is(1_000_000_000), "kfd_chardev.c:763", |c| Ok(Got::Value(clocks(c, c.gpu).1.system_clock_freq))).open(),
        row("GET_CLOCK_COUNTERS", "the CPU's counter is CLOCK_MONOTONIC_RAW", YES, "kfd_chardev.c:759", |c| between(c, libc::CLOCK_MONOTONIC_RAW, |a| a.cpu_clock_counter)).open(),
        row("GET_CLOCK_COUNTERS", "the system's counter is CLOCK_BOOTTIME", YES, "kfd_chardev.c:760", |c| between(c, libc::CLOCK_BOOTTIME, |a| a.system_clock_counter)).open(),
        row("GET_CLOCK_COUNTERS", "unknown GPU: errno", OK, "kfd_chardev.c:754", |c| Ok(Got::Errno(clocks(c, UNKNOWN).0))).open(),
        row("GET_CLOCK_COUNTERS", "unknown GPU: its counter", is(0), "kfd_chardev.c:756", |c| Ok(Got::Value(clocks(c, UNKNOWN).1.gpu_clock_counter))).open(),
        row("GET_CLOCK_COUNTERS", "GPU 0: the CPU's counter is there", YES, "kfd_chardev.c:759", |c| Ok(holds(clocks(c, 0).1.cpu_clock_counter != 0))).open(),
        row("GET_PROCESS_APERTURES", "number of GPUs", is(1), "kfd_chardev.c:812", |c| Ok(Got::Value(old(c).num_of_nodes.into()))).open(),
        row("GET_PROCESS_APERTURES", "gpu_id", Want::Computed, "kfd_chardev.c:787", |c| { let id = old(c).process_apertures[0].gpu_id; Ok(Got::Pair(id.into(), c.gpu.into())) }).open(),
        row("GET_PROCESS_APERTURES", "the other entries are zero", is(0), "kfd_chardev.c:693", |c| Ok(Got::Value(old(c).process_apertures[1].gpu_id.into()))).open(),
        row("GET_PROCESS_APERTURES", "lds_base", is(1 << 48), "kfd_flat_memory.c:345", |c| aperture(c, |a| a.lds_base)).open(),
        row("GET_PROCESS_APERTURES", "lds_limit", is((1 << 48) | 0xffff_ffff), "kfd_flat_memory.c:346", |c| aperture(c, |a| a.lds_limit)).open(),
        row("GET_PROCESS_APERTURES", "scratch_base", is(2 << 48), "kfd_flat_memory.c:352", |c| aperture(c, |a| a.scratch_base)).open(),
        row("GET_PROCESS_APERTURES", "scratch_limit", is((2 << 48) | 0xffff_ffff), "kfd_flat_memory.c:353", |c| aperture(c, |a| a.scratch_limit)).open(),
        row("GET_PROCESS_APERTURES", "gpuvm_base", is(0x1_0000), "kfd_flat_memory.c:348", |c| aperture(c, |a| a.gpuvm_base)).open(),
        row("GET_PROCESS_APERTURES", "gpuvm_limit", is(0x7fff_ffff_ffff), "kfd_flat_memory.c:349", |c| aperture(c, |a| a.gpuvm_limit)).open(),
        row("GET_PROCESS_APERTURES_NEW", "no room: the count", is(1), "kfd_chardev.c:836", |c| Ok(Got::Value(new_entries(c, 0).0.into()))).open(),
        row("GET_PROCESS_APERTURES_NEW", "no room: errno, whatever the address", OK, "kfd_chardev.c:831", |c| new(c, 0, KERNEL)).open(),
        row("GET_PROCESS_APERTURES_NEW", "room for one: the count", is(1), "kfd_chardev.c:889", |c| Ok(Got::Value(new_entries(c, 1).0.into()))).open(),
        row("GET_PROCESS_APERTURES_NEW", "room for as many as there are nodes: the count", is(1), "kfd_chardev.c:861", |c| { let n = c.node.nodes; Ok(Got::Value(new_entries(c, n).0.into())) }).open(),
        row("GET_PROCESS_APERTURES_NEW", "room for more than there are nodes", EINVAL, "kfd_chardev.c:840", |c| { let mut e = [ProcessDeviceApertures::default(); 8]; let n = c.node.nodes + 1; new(c, n, sys::address(&mut e)) }).open(),
        row("GET_PROCESS_APERTURES_NEW", "room for 2^32 - 1", EINVAL, "kfd_chardev.c:840", |c| new(c, u32::MAX, 0)).open(),
        row("GET_PROCESS_APERTURES_NEW", "gpu_id", Want::Computed, "kfd_chardev.c:864", |c| { let id = new_entries(c, 1).1[0].gpu_id; Ok(Got::Pair(id.into(), c.gpu.into())) }).open(),
        row("GET_PROCESS_APERTURES_NEW", "as GET_PROCESS_APERTURES", YES, "kfd_chardev.c:865", |c| { let a = old(c).process_apertures[0]; Ok(holds(new_entries(c, 1).1[0] == a)) }).open(),
        row("GET_PROCESS_APERTURES_NEW", "nothing beyond the count is written", is(0), "kfd_chardev.c:893", |c| { let n = c.node.nodes; Ok(Got::Value(new_entries(c, n).1[1].gpu_id.into())) }).open(),
        row("GET_PROCESS_APERTURES_NEW", "address 0", EFAULT, "kfd_chardev.c:895", |c| new(c, 1, 0)).open(),
        row("GET_PROCESS_APERTURES_NEW", "a kernel address", EFAULT, "kfd_chardev.c:895", |c| new(c, 1, KERNEL)).open(),
        row("GET_PROCESS_APERTURES_NEW", "last byte beyond the page", EFAULT, "kfd_chardev.c:895", |c| { let m = guarded_page()?; new(c, 1, m.address + 4096 - 55) }).open(),
        row("GET_PROCESS_APERTURES_NEW", "ends at the end of a page", OK, "kfd_chardev.c:895", |c| { let m = guarded_page()?; new(c, 1, m.address + 4096 - 56) }).open(),
        row("GET_TILE_CONFIG", "the GPU", OK, "kfd_chardev.c:1044", |c| Ok(Got::Errno(tiles(c, |_| {}).0))).open(),
        row("GET_TILE_CONFIG", "unknown GPU", EINVAL, "kfd_chardev.c:1014", |c| Ok(Got::Errno(tiles(c, |a| a.gpu_id = UNKNOWN).0))).open(),
        row("GET_TILE_CONFIG", "GPU 0", EINVAL, "kfd_chardev.c:1014", |c| Ok(Got::Errno(tiles(c, |a| a.gpu_id = 0).0))).open(),
        row("GET_TILE_CONFIG", "room for 64 tile modes: 32", is(32), "kfd_chardev.c:1024", |c| Ok(Got::Value(tiles(c, |a| a.num_tile_configs = 64).1.num_tile_configs.into()))).open(),
        row("GET_TILE_CONFIG", "room for 64 macro tile modes: 16", is(16), "kfd_chardev.c:1034", |c| Ok(Got::Value(tiles(c, |a| a.num_macro_tile_configs = 64).1.num_macro_tile_configs.into()))).open(),
        row("GET_TILE_CONFIG", "room for 3: 3", is(3), "kfd_chardev.c:1023", |c| Ok(Got::Value(tiles(c, |a| a.num_tile_configs = 3).1.num_tile_configs.into()))).open(),
        row("GET_TILE_CONFIG", "no room, address 0", OK, "kfd_chardev.c:1025", |c| Ok(Got::Errno(tiles(c, |a| { a.num_tile_configs = 0; a.tile_config_ptr = 0 }).0))).open(),
        row("GET_TILE_CONFIG", "tile modes at address 0", EFAULT, "kfd_chardev.c:1030", |c| Ok(Got::Errno(tiles(c, |a| a.tile_config_ptr = 0).0))).open(),
        row("GET_TILE_CONFIG", "tile modes at address 0: their count", is(0), "kfd_chardev.c:1029", |c| Ok(Got::Value(tiles(c, |a| a.tile_config_ptr = 0).1.num_tile_configs.into()))).open(),
        row("GET_TILE_CONFIG", "tile modes at a kernel address", EFAULT, "kfd_chardev.c:1030", |c| Ok(Got::Errno(tiles(c, |a| a.tile_config_ptr = KERNEL).0))).open(),
        row("GET_TILE_CONFIG", "macro tile modes at address 0", EFAULT, "kfd_chardev.c:1041", |c| Ok(Got::Errno(tiles(c, |a| a.macro_tile_config_ptr = 0).0))).open(),
        row("GET_TILE_CONFIG", "macro tile modes at address 0: their count", is(0), "kfd_chardev.c:1040", |c| Ok(Got::Value(tiles(c, |a| a.macro_tile_config_ptr = 0).1.num_macro_tile_configs.into()))).open(),
        row("GET_TILE_CONFIG", "banks and ranks, which gfx9 has not", is(0), "../amdgpu/amdgpu_amdkfd_gpuvm.c:3286", |c| { let a = tiles(c, |_| {}).1; Ok(Got::Value((a.num_banks | a.num_ranks).into())) }).open(),
        row("GET_TILE_CONFIG", "gb_addr_config", YES, "../amdgpu/amdgpu_amdkfd_gpuvm.c:3276", |c| Ok(holds(tiles(c, |_| {}).1.gb_addr_config != 0))).open(),
    ]
}
