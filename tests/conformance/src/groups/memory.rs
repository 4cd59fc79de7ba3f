// SPDX-License-Identifier: MIT OR Apache-2.0
//! AVAILABLE_MEMORY, ALLOC_MEMORY_OF_GPU, FREE_MEMORY_OF_GPU.

use super::*;
use crate::fixture::{GTT, VRAM};
use crate::row::{row, Answer, Row};
use rkfd_uapi::ioctl as requests;
use rkfd_uapi::memory::{
    self as abi, AllocMemoryOfGpuArgs, FreeMemoryOfGpuArgs, GetAvailableMemoryArgs,
};

const UNKNOWN: u32 = 0xdead;
/// VRAM is counted in steps of this.
const STEP: u64 = 2 << 20;

fn alloc(
    c: &mut Ctx,
    size: u64,
    flags: u32,
    change: impl FnOnce(&mut AllocMemoryOfGpuArgs),
) -> Answer {
    let mut args = c.alloc_args(size, flags);
    change(&mut args);
    Ok(c.call(&requests::ALLOC_MEMORY_OF_GPU, &mut args))
}

/// By how much a buffer object reduces the available memory.
fn taken(c: &mut Ctx, size: u64, flags: u32) -> Answer {
    let before = c.available();
    c.unmapped_bo(size, flags)?;
    Ok(Got::Value(before.wrapping_sub(c.available())))
}

fn free(c: &mut Ctx, handle: u64) -> Answer {
    Ok(c.call(
        &requests::FREE_MEMORY_OF_GPU,
        &mut FreeMemoryOfGpuArgs { handle },
    ))
}

fn available(c: &mut Ctx, gpu_id: u32) -> (Got, u64) {
    let mut args = GetAvailableMemoryArgs {
        gpu_id,
        ..Default::default()
    };
    (
        c.call(&requests::AVAILABLE_MEMORY, &mut args),
        args.available,
    )
}

/// 2 MiB of VRAM as programs of the render node ask for them.
fn for_node() -> rkfd_uapi::gem::GemCreate {
    rkfd_uapi::gem::GemCreate {
        bo_size: STEP,
        ..super::gem::wanted(rkfd_uapi::gem::DOMAIN_VRAM)
    }
}

/// A page of this process as a buffer object.
fn user(c: &mut Ctx, size: u64) -> Result<(sys::Map, crate::fixture::Bo), String> {
    let map = guarded_page()?;
    let mut args = c.alloc_args(size, abi::ALLOC_USERPTR | abi::ALLOC_WRITABLE);
    args.mmap_offset = map.address;
    let bo = c.bo_from(args)?;
    Ok((map, bo))
}

/// A buffer that has been made the process' signal page.
fn page(c: &mut Ctx) -> Result<crate::fixture::Bo, String> {
    let bo = c.bo(32768, GTT)?;
    crate::fixture::must("CREATE_EVENT", c.create_event(0, false, bo.handle).0)?;
    c.has_page = true;
    Ok(bo)
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    const PUBLIC: u32 = abi::ALLOC_PUBLIC;
    const AQL: u32 = abi::ALLOC_AQL_QUEUE_MEM;
    const DOORBELL: u32 = abi::ALLOC_DOORBELL | abi::ALLOC_WRITABLE;
    const MMIO: u32 = abi::ALLOC_MMIO_REMAP | abi::ALLOC_WRITABLE;
    const USERPTR: u32 = abi::ALLOC_USERPTR | abi::ALLOC_WRITABLE;
    const K: &str = "ALLOC_MEMORY_OF_GPU";
    const V: &str = "../amdgpu/amdgpu_amdkfd_gpuvm.c:1809";
    vec![
        row("AVAILABLE_MEMORY", "the GPU", OK, "kfd_chardev.c:1127", |c| { let g = c.gpu; Ok(available(c, g).0) }),
        row("AVAILABLE_MEMORY", "the GPU, no VM", OK, "kfd_chardev.c:1112", |c| { let g = c.gpu; Ok(available(c, g).0) }).open(),
        row("AVAILABLE_MEMORY", "unknown GPU", EINVAL, "kfd_chardev.c:1116", |c| Ok(available(c, UNKNOWN).0)),
        row("AVAILABLE_MEMORY", "GPU 0", EINVAL, "kfd_chardev.c:1116", |c| Ok(available(c, 0).0)),
        row("AVAILABLE_MEMORY", "a multiple of 2 MiB", is(0), "../amdgpu/amdgpu_amdkfd_gpuvm.c:1714", |c| Ok(Got::Value(c.available() % STEP))),
        row("AVAILABLE_MEMORY", "there is some", YES, "../amdgpu/amdgpu_amdkfd_gpuvm.c:1694", |c| Ok(holds(c.available() > STEP))),
        row("AVAILABLE_MEMORY", "after 2 MiB of VRAM", is(STEP), "../amdgpu/amdgpu_amdkfd_gpuvm.c:239", |c| taken(c, STEP, VRAM)),
        row("AVAILABLE_MEMORY", "after 4 KiB of VRAM", is(STEP), "../amdgpu/amdgpu_amdkfd_gpuvm.c:242", |c| taken(c, 4096, VRAM)),
        row("AVAILABLE_MEMORY", "after 2 MiB + 1 of VRAM", is(2 * STEP), "../amdgpu/amdgpu_amdkfd_gpuvm.c:242", |c| taken(c, STEP + 1, VRAM)),
        row("AVAILABLE_MEMORY", "after 4 MiB of VRAM that is mapped twice", is(STEP), "../amdgpu/amdgpu_amdkfd_gpuvm.c:1822", |c| taken(c, 2 * STEP, VRAM | AQL)),
        row("AVAILABLE_MEMORY", "after 2 MiB of GTT", is(0), "../amdgpu/amdgpu_amdkfd_gpuvm.c:174", |c| taken(c, STEP, GTT)),
        row("AVAILABLE_MEMORY", "after 2 MiB of VRAM for the render node", is(0), "../amdgpu/amdgpu_amdkfd_gpuvm.c: amdgpu_amdkfd_get_available_memory", |c| { let before = c.available(); super::gem::made_with(c, for_node())?; Ok(Got::Value(before.wrapping_sub(c.available()))) }),
        row("AVAILABLE_MEMORY", "after its handle was closed", is(0), "../amdgpu/amdgpu_amdkfd_gpuvm.c: amdgpu_amdkfd_get_available_memory", |c| {
            let before = c.available();
            let handle = super::gem::made_with(c, for_node())?;
            crate::fixture::must("GEM_CLOSE", super::gem::close(c, handle)?)?;
            Ok(Got::Value(before.wrapping_sub(c.available())))
        }),
        row("AVAILABLE_MEMORY", "after a buffer was freed again", is(0), "../amdgpu/amdgpu_amdkfd_gpuvm.c:273", |c| {
            let before = c.available();
            let bo = c.unmapped_bo(STEP, VRAM)?;
            c.free(bo.handle);
            Ok(Got::Value(before - c.available()))
        }),
        row("AVAILABLE_MEMORY", "after 4 KiB of VRAM were freed again", is(0), "../amdgpu/amdgpu_amdkfd_gpuvm.c:273", |c| {
            let before = c.available();
            let bo = c.unmapped_bo(4096, VRAM)?;
            c.free(bo.handle);
            Ok(Got::Value(before.wrapping_sub(c.available())))
        }),
        row("AVAILABLE_MEMORY", "after mapping a buffer", is(0), "../amdgpu/amdgpu_amdkfd_gpuvm.c:1694", |c| {
            let bo = c.unmapped_bo(STEP, VRAM)?;
            let before = c.available();
            c.map(bo.handle);
            Ok(Got::Value(before - c.available()))
        }),
        row("AVAILABLE_MEMORY", "another process' VRAM counts, and its trap handler", is(2 * STEP), "../amdgpu/amdgpu_amdkfd_gpuvm.c:1695, kfd_process.c:1525", |c| {
            let before = c.available();
            let mib = other_process(c, |o| match o.unmapped_bo(STEP, VRAM) { Ok(_) => ((before - o.available()) >> 20) as i32, Err(_) => 255 });
            Ok(Got::Value((mib as u64) << 20))
        }),
        row("AVAILABLE_MEMORY", "what a process left is given back", is(0), "kfd_process.c:1110", |c| {
            let before = c.available();
            other_process(c, |o| o.bo(STEP, VRAM).map_or(1, |_| 0));
            Ok(Got::Value(before - c.available()))
        }),

        row(K, "size 0", EINVAL, "kfd_chardev.c:1142", |c| alloc(c, 0, GTT, |_| {})),
        row(K, "size 0, no VM", EINVAL, "kfd_chardev.c:1142", |c| alloc(c, 0, GTT, |_| {})).open(),
        row(K, "no VM", ENODEV, "kfd_chardev.c:1206", |c| alloc(c, 4096, GTT, |_| {})).open(),
        row(K, "unknown GPU", EINVAL, "kfd_chardev.c:1189", |c| alloc(c, 4096, GTT, |a| a.gpu_id = UNKNOWN)),
        row(K, "unknown GPU, no VM", EINVAL, "kfd_chardev.c:1189", |c| alloc(c, 4096, GTT, |a| a.gpu_id = UNKNOWN)).open(),
        row(K, "GPU 0", EINVAL, "kfd_chardev.c:1189", |c| alloc(c, 4096, GTT, |a| a.gpu_id = 0)),
        row(K, "no flags", EINVAL, "../amdgpu/amdgpu_amdkfd_gpuvm.c:1797", |c| alloc(c, 4096, 0, |_| {})),
        row(K, "no kind of memory", EINVAL, "../amdgpu/amdgpu_amdkfd_gpuvm.c:1797", |c| alloc(c, 4096, abi::ALLOC_WRITABLE | abi::ALLOC_EXECUTABLE, |_| {})),
        row(K, "no kind of memory, no VM", ENODEV, "kfd_chardev.c:1206", |c| alloc(c, 4096, 0, |_| {})).open(),
        row(K, "an unknown flag alone", EINVAL, "../amdgpu/amdgpu_amdkfd_gpuvm.c:1797", |c| alloc(c, 4096, 1 << 5, |_| {})),
        row(K, "4 KiB of GTT", OK, "kfd_chardev.c:1268", |c| alloc(c, 4096, GTT, |_| {})),
        row(K, "4 KiB of VRAM", OK, "kfd_chardev.c:1268", |c| alloc(c, 4096, VRAM, |_| {})),
        row(K, "1 byte of GTT", OK, "../amdgpu/amdgpu_amdkfd_gpuvm.c:1823", |c| alloc(c, 1, GTT, |_| {})),
        row(K, "VRAM and GTT", OK, "../amdgpu/amdgpu_amdkfd_gpuvm.c:1757", |c| alloc(c, 4096, VRAM | abi::ALLOC_GTT, |_| {})),
        row(K, "every attribute", OK, "../amdgpu/amdgpu_amdkfd_gpuvm.c:1801", |c| alloc(c, 4096, GTT | abi::ALLOC_COHERENT | abi::ALLOC_EXT_COHERENT | abi::ALLOC_UNCACHED | abi::ALLOC_NO_SUBSTITUTE, |_| {})),
        row(K, "contiguous VRAM", OK, "../amdgpu/amdgpu_amdkfd_gpuvm.c:1771", |c| alloc(c, 1 << 16, VRAM | abi::ALLOC_CONTIGUOUS, |_| {})),
        row(K, "address 0 in VRAM", OK, "kfd_chardev.c:1162", |c| alloc(c, 4096, VRAM, |a| a.va_addr = 0)),
        row(K, "an address that is no page's", OK, "../amdgpu/amdgpu_amdkfd_gpuvm.c:1871", |c| alloc(c, 4096, GTT, |a| a.va_addr += 8)),
        row(K, "the address of another buffer", OK, "../amdgpu/amdgpu_amdkfd_gpuvm.c:1871", |c| { let bo = c.bo(4096, GTT)?; alloc(c, 4096, GTT, |a| a.va_addr = bo.va) }),
        row(K, "public VRAM", Want::Computed, "kfd_chardev.c:1196", |c| {
            let want = if c.node.large_bar { 0 } else { libc::EINVAL as u64 };
            match alloc(c, 4096, VRAM | PUBLIC, |_| {})? { Got::Errno(e) => Ok(Got::Pair(e as u64, want)), got => Ok(got) }
        }),
        row(K, "2^64 - 1 bytes", EINVAL, V, |c| alloc(c, u64::MAX, GTT, |_| {})),
        row(K, "2^64 - 1 bytes of VRAM", EINVAL, V, |c| alloc(c, u64::MAX, VRAM, |_| {})),
        row(K, "more GTT than there is", ENOMEM, "../amdgpu/amdgpu_amdkfd_gpuvm.c:216", |c| alloc(c, 1 << 40, GTT, |_| {})),
        row(K, "more VRAM than there is", ENOMEM, "../amdgpu/amdgpu_amdkfd_gpuvm.c:229", |c| alloc(c, 1 << 44, VRAM, |_| {})),
        row(K, "2^62 bytes of VRAM", ENOMEM, "../amdgpu/amdgpu_amdkfd_gpuvm.c:229", |c| alloc(c, 1 << 62, VRAM, |_| {})),
        row(K, "1 byte, mapped twice", EINVAL, V, |c| alloc(c, 1, GTT | AQL, |_| {})),
        row(K, "2 bytes, mapped twice", OK, V, |c| alloc(c, 2, GTT | AQL, |_| {})),
        row(K, "handle: the upper half", Want::Computed, "kfd_chardev.c:1258", |c| { let bo = c.unmapped_bo(4096, GTT)?; Ok(Got::Pair(bo.handle >> 32, c.gpu.into())) }),
        row(K, "handle: the first lower half", is(0), "kfd_process.c:1951", |c| Ok(Got::Value(c.unmapped_bo(4096, GTT)?.handle & 0xffff_ffff))),
        row(K, "handle: the second lower half", is(1), "kfd_process.c:1951", |c| { c.unmapped_bo(4096, GTT)?; Ok(Got::Value(c.unmapped_bo(4096, GTT)?.handle & 0xffff_ffff)) }),
        row(K, "handle: the lowest free one", is(0), "kfd_process.c:1951", |c| {
            let first = c.unmapped_bo(4096, GTT)?;
            c.unmapped_bo(4096, GTT)?;
            c.free(first.handle);
            Ok(Got::Value(c.unmapped_bo(4096, VRAM)?.handle & 0xffff_ffff))
        }),
        row(K, "doorbells", OK, "kfd_chardev.c:1215", |c| alloc(c, 8192, DOORBELL, |_| {})),
        row(K, "doorbells, 4 KiB", EINVAL, "kfd_chardev.c:1211", |c| alloc(c, 4096, DOORBELL, |_| {})),
        row(K, "doorbells, 16 KiB", EINVAL, "kfd_chardev.c:1211", |c| alloc(c, 16384, DOORBELL, |_| {})),
        row(K, "doorbells and VRAM, 4 KiB", EINVAL, "kfd_chardev.c:1211", |c| alloc(c, 4096, DOORBELL | abi::ALLOC_VRAM, |_| {})),
        row(K, "doorbells and user memory, 4 KiB", EINVAL, "kfd_chardev.c:1211", |c| { let m = guarded_page()?; alloc(c, 4096, DOORBELL | USERPTR, |a| a.mmap_offset = m.address) }),
        row(K, "doorbells, no VM", ENODEV, "kfd_chardev.c:1206", |c| alloc(c, 4096, DOORBELL, |_| {})).open(),
        row(K, "registers", OK, "kfd_chardev.c:1225", |c| alloc(c, 4096, MMIO, |_| {})),
        row(K, "registers, 8 KiB", EINVAL, "kfd_chardev.c:1221", |c| alloc(c, 8192, MMIO, |_| {})),
        row(K, "registers, 1 byte", EINVAL, "kfd_chardev.c:1221", |c| alloc(c, 1, MMIO, |_| {})),
        row(K, "registers and GTT, 8 KiB", EINVAL, "kfd_chardev.c:1221", |c| alloc(c, 8192, MMIO | abi::ALLOC_GTT, |_| {})),
        row(K, "registers: mmap offset", Want::Computed, "kfd_chardev.c:1265", |c| { let bo = c.unmapped_bo(4096, MMIO)?; Ok(Got::Pair(bo.offset, u64::from(c.gpu) << 46)) }),
        row(K, "user memory at address 0", EINVAL, "../amdgpu/amdgpu_amdkfd_gpuvm.c:1785", |c| alloc(c, 4096, USERPTR, |_| {})),
        row(K, "user memory, no VM", ENODEV, "kfd_chardev.c:1206", |c| alloc(c, 4096, USERPTR, |_| {})).open(),
        row(K, "user memory", OK, "../amdgpu/amdgpu_amdkfd_gpuvm.c:1880", |c| { let m = guarded_page()?; alloc(c, 4096, USERPTR, |a| a.mmap_offset = m.address) }),
        row(K, "user memory: it can be mapped", OK, "../amdgpu/amdgpu_amdkfd_gpuvm.c:2127", |c| { let (_m, b) = user(c, 4096)?; Ok(Got::Errno(c.map(b.handle))) }),
        row(K, "user memory: a mapping stays until it is undone", EBUSY, "../amdgpu/amdgpu_amdkfd_gpuvm.c:1958", |c| { let (_m, b) = user(c, 4096)?; c.map(b.handle); free(c, b.handle) }),
        row(K, "user memory: no VRAM is used", is(0), "../amdgpu/amdgpu_amdkfd_gpuvm.c:194", |c| { let before = c.available(); let _u = user(c, 4096)?; Ok(Got::Value(before - c.available())) }),
        row(K, "user memory that is not there", EFAULT, "../amdgpu/amdgpu_ttm.c:776", |c| alloc(c, 4096, USERPTR, |a| a.mmap_offset = 0x10_0000)),
        row(K, "user memory at a kernel address", EFAULT, "../amdgpu/amdgpu_ttm.c:776", |c| alloc(c, 4096, USERPTR, |a| a.mmap_offset = crate::fixture::KERNEL)),
        row(K, "user memory of which the second page is not there", EFAULT, "../amdgpu/amdgpu_hmm.c: amdgpu_hmm_range_get_pages", |c| { let m = guarded_page()?; alloc(c, 8192, USERPTR, |a| a.mmap_offset = m.address) }),

        row("FREE_MEMORY_OF_GPU", "a buffer", OK, "kfd_chardev.c:1323", |c| { let bo = c.unmapped_bo(4096, GTT)?; free(c, bo.handle) }),
        row("FREE_MEMORY_OF_GPU", "a buffer twice", EINVAL, "kfd_chardev.c:1309", |c| { let bo = c.unmapped_bo(4096, GTT)?; c.free(bo.handle); free(c, bo.handle) }),
        row("FREE_MEMORY_OF_GPU", "handle 0", EINVAL, "kfd_chardev.c:1301", |c| free(c, 0)),
        row("FREE_MEMORY_OF_GPU", "unknown GPU", EINVAL, "kfd_chardev.c:1301", |c| { let bo = c.unmapped_bo(4096, GTT)?; free(c, (0xdead << 32) | (bo.handle & 0xffff_ffff)) }),
        row("FREE_MEMORY_OF_GPU", "unknown lower half", EINVAL, "kfd_chardev.c:1309", |c| { let h = (u64::from(c.gpu) << 32) | 500; free(c, h) }),
        row("FREE_MEMORY_OF_GPU", "lower half 2^32 - 1", EINVAL, "kfd_chardev.c:1309", |c| { let h = (u64::from(c.gpu) << 32) | 0xffff_ffff; free(c, h) }),
        row("FREE_MEMORY_OF_GPU", "no VM", EINVAL, "kfd_chardev.c:1309", |c| { let h = u64::from(c.gpu) << 32; free(c, h) }).open(),
        row("FREE_MEMORY_OF_GPU", "a mapped buffer", EBUSY, "../amdgpu/amdgpu_amdkfd_gpuvm.c:1961", |c| { let bo = c.bo(4096, GTT)?; free(c, bo.handle) }),
        row("FREE_MEMORY_OF_GPU", "a mapped buffer: it stays mapped", OK, "kfd_chardev.c:1320", |c| { let bo = c.bo(4096, GTT)?; c.free(bo.handle); Ok(Got::Errno(c.unmap(bo.handle))) }),
        row("FREE_MEMORY_OF_GPU", "a buffer that was unmapped", OK, "kfd_chardev.c:1323", |c| { let bo = c.bo(4096, GTT)?; c.unmap(bo.handle); free(c, bo.handle) }),
        row("FREE_MEMORY_OF_GPU", "doorbells", OK, "../amdgpu/amdgpu_amdkfd_gpuvm.c:1970", |c| { let bo = c.unmapped_bo(8192, DOORBELL)?; free(c, bo.handle) }),
        row("FREE_MEMORY_OF_GPU", "registers", OK, "../amdgpu/amdgpu_amdkfd_gpuvm.c:1970", |c| { let bo = c.unmapped_bo(4096, MMIO)?; free(c, bo.handle) }),
        row("FREE_MEMORY_OF_GPU", "user memory", OK, "../amdgpu/amdgpu_amdkfd_gpuvm.c:1984", |c| { let (_m, b) = user(c, 4096)?; free(c, b.handle) }),
        row("CREATE_EVENT", "user memory as a page", EINVAL, "../amdgpu/amdgpu_amdkfd_gpuvm.c:2330", |c| { let (_m, b) = user(c, 4096)?; Ok(Got::Errno(c.watched(|c| c.create_event(0, false, b.handle).0))) }),
        row("FREE_MEMORY_OF_GPU", "the signal page", EPERM, "kfd_chardev.c:1294", |c| { let bo = page(c)?; free(c, bo.handle) }),
        row("FREE_MEMORY_OF_GPU", "the signal page, unmapped", EPERM, "kfd_chardev.c:1294", |c| { let bo = page(c)?; c.unmap(bo.handle); free(c, bo.handle) }),
        row("FREE_MEMORY_OF_GPU", "another process' buffer", EINVAL, "kfd_chardev.c:1309", |c| { let bo = c.unmapped_bo(4096, GTT)?; Ok(Got::Errno(other_process(c, |o| o.free(bo.handle)))) }),
    ]
}
