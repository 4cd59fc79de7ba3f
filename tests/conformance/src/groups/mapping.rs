// SPDX-License-Identifier: MIT OR Apache-2.0
//! MAP_MEMORY_TO_GPU and UNMAP_MEMORY_FROM_GPU. Both arguments have the same fields.

use super::*;
use crate::fixture::{Bo, GTT, KERNEL, VRAM};
use crate::row::{row, Answer, Row};
use rkfd_uapi::ioctl as requests;
use rkfd_uapi::memory::{self as abi, MapMemoryToGpuArgs, UnmapMemoryFromGpuArgs};

/// What a call passes: the handle, the array's address or the ids in it, the counts.
struct Given {
    handle: u64,
    address: Option<u64>,
    ids: Vec<u32>,
    n_devices: u32,
    n_success: u32,
}

impl Given {
    fn new(c: &Ctx, handle: u64) -> Self {
        Self {
            handle,
            address: None,
            ids: vec![c.gpu],
            n_devices: 1,
            n_success: 0,
        }
    }

    fn address(&mut self) -> u64 {
        self.address
            .unwrap_or_else(|| sys::address(&mut self.ids[..]))
    }
}

/// The errno and `n_success` after a call.
fn map(c: &mut Ctx, mut g: Given) -> (Got, u32) {
    let mut args = MapMemoryToGpuArgs {
        handle: g.handle,
        device_ids_array_ptr: g.address(),
        n_devices: g.n_devices,
        n_success: g.n_success,
    };
    let got = c.call_writing(&requests::MAP_MEMORY_TO_GPU, &mut args);
    (Got::Errno(got), args.n_success)
}

fn unmap(c: &mut Ctx, mut g: Given) -> (Got, u32) {
    let mut args = UnmapMemoryFromGpuArgs {
        handle: g.handle,
        device_ids_array_ptr: g.address(),
        n_devices: g.n_devices,
        n_success: g.n_success,
    };
    let got = c.call_writing(&requests::UNMAP_MEMORY_FROM_GPU, &mut args);
    (Got::Errno(got), args.n_success)
}

/// MAP of a new buffer, with a part of the argument changed.
fn map_new(c: &mut Ctx, change: impl FnOnce(&mut Given)) -> Result<(Got, u32), String> {
    let bo = c.unmapped_bo(4096, GTT)?;
    let mut g = Given::new(c, bo.handle);
    change(&mut g);
    Ok(map(c, g))
}

/// UNMAP of a mapped buffer, with a part of the argument changed.
fn unmap_new(c: &mut Ctx, change: impl FnOnce(&mut Given)) -> Result<(Got, u32), String> {
    let bo = c.bo(4096, GTT)?;
    let mut g = Given::new(c, bo.handle);
    change(&mut g);
    Ok(unmap(c, g))
}

/// MAP of a buffer at this address.
fn map_at(c: &mut Ctx, va: u64, size: u64, flags: u32) -> Answer {
    let mut args = c.alloc_args(size, flags);
    args.va_addr = va;
    let bo = c.bo_from(args)?;
    let g = Given::new(c, bo.handle);
    Ok(map(c, g).0)
}

fn handle(c: &Ctx, index: u64) -> u64 {
    (u64::from(c.gpu) << 32) | index
}

fn map_handle(c: &mut Ctx, handle: u64) -> Answer {
    let g = Given::new(c, handle);
    Ok(map(c, g).0)
}

fn unmap_handle(c: &mut Ctx, handle: u64) -> Answer {
    let g = Given::new(c, handle);
    Ok(unmap(c, g).0)
}

/// An array of two ids at the end of a page, the second of which can't be read.
fn half_array(c: &Ctx) -> Result<(sys::Map, u64), String> {
    let m = guarded_page()?;
    m.put(4092, &c.gpu.to_le_bytes());
    let address = m.address + 4092;
    Ok((m, address))
}

fn used_by_queue(c: &mut Ctx, f: fn(&Ctx) -> Bo) -> Answer {
    let bo = f(c);
    unmap_handle(c, bo.handle)
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    const M: &str = "MAP_MEMORY_TO_GPU";
    const U: &str = "UNMAP_MEMORY_FROM_GPU";
    const PARAMETERS: &str = "../amdgpu/amdgpu_vm.c:1809";
    vec![
        row(M, "a buffer in GTT", OK, "kfd_chardev.c:1432", |c| Ok(map_new(c, |_| {})?.0)),
        row(M, "a buffer in VRAM", OK, "kfd_chardev.c:1432", |c| { let b = c.unmapped_bo(1 << 21, VRAM)?; map_handle(c, b.handle) }),
        row(M, "n_success given back", is(1), "kfd_chardev.c:1412", |c| Ok(Got::Value(map_new(c, |_| {})?.1.into()))),
        row(M, "a mapped buffer again", OK, "../amdgpu/amdgpu_amdkfd_gpuvm.c:2121", |c| { let b = c.bo(4096, GTT)?; map_handle(c, b.handle) }),
        row(M, "a mapped buffer again: one unmap is enough", OK, "../amdgpu/amdgpu_amdkfd_gpuvm.c:2121", |c| { let b = c.bo(4096, GTT)?; c.map(b.handle); c.unmap(b.handle); Ok(Got::Errno(c.free(b.handle))) }),
        row(M, "the same GPU twice", is(2), "kfd_chardev.c:1412", |c| { let g = c.gpu; Ok(Got::Value(map_new(c, |a| { a.ids = vec![g, g]; a.n_devices = 2 })?.1.into())) }),
        row(M, "n_devices 0", EINVAL, "kfd_chardev.c:1346", |c| Ok(map_new(c, |a| a.n_devices = 0)?.0)),
        row(M, "n_success greater than n_devices", EINVAL, "kfd_chardev.c:1350", |c| Ok(map_new(c, |a| a.n_success = 2)?.0)),
        row(M, "n_devices 0 and n_success 1", EINVAL, "kfd_chardev.c:1346", |c| Ok(map_new(c, |a| { a.n_devices = 0; a.n_success = 1 })?.0)),
        row(M, "n_success = n_devices: nothing to do", OK, "kfd_chardev.c:1382", |c| Ok(map_new(c, |a| a.n_success = 1)?.0)),
        row(M, "n_success = n_devices: it isn't mapped", OK, "kfd_chardev.c:1382", |c| {
            let b = c.unmapped_bo(4096, GTT)?;
            let g = Given { n_success: 1, ..Given::new(c, b.handle) };
            map(c, g);
            Ok(Got::Errno(c.free(b.handle)))
        }),
        row(M, "array at address 0", EFAULT, "kfd_chardev.c:1358", |c| Ok(map_new(c, |a| a.address = Some(0))?.0)),
        row(M, "array at a kernel address", EFAULT, "kfd_chardev.c:1358", |c| Ok(map_new(c, |a| a.address = Some(KERNEL))?.0)),
        row(M, "second id beyond the page", EFAULT, "kfd_chardev.c:1358", |c| { let (_m, at) = half_array(c)?; Ok(map_new(c, |a| { a.address = Some(at); a.n_devices = 2 })?.0) }),
        row(M, "second id beyond the page: n_success", is(0), "kfd_chardev.c:1358", |c| { let (_m, at) = half_array(c)?; Ok(Got::Value(map_new(c, |a| { a.address = Some(at); a.n_devices = 2 })?.1.into())) }),
        row(M, "array ends at the end of a page", OK, "kfd_chardev.c:1355", |c| { let (_m, at) = half_array(c)?; Ok(map_new(c, |a| a.address = Some(at))?.0) }),
        row(M, "2^32 - 1 devices", ENOMEM, "kfd_chardev.c:1359", |c| Ok(map_new(c, |a| a.n_devices = u32::MAX)?.0)),
        row(M, "more devices than the kernel has memory for in one piece", ENOMEM, "kfd_chardev.c:1359", |c| Ok(map_new(c, |a| a.n_devices = (1 << 20) + 1)?.0)),
        row(M, "array at address 0, unknown handle", EFAULT, "kfd_chardev.c:1358", |c| { let h = handle(c, 77); Ok(map_new(c, |a| { a.address = Some(0); a.handle = h })?.0) }),
        row(M, "handle of an unknown GPU", EINVAL, "kfd_chardev.c:1363", |c| map_handle(c, 0xdead << 32)),
        row(M, "handle 0", EINVAL, "kfd_chardev.c:1363", |c| map_handle(c, 0)),
        row(M, "no VM", ENODEV, "kfd_chardev.c:1370", |c| { let h = handle(c, 0); map_handle(c, h) }).open(),
        row(M, "no VM and unknown GPU", EINVAL, "kfd_chardev.c:1363", |c| map_handle(c, 0xdead << 32)).open(),
        row(M, "unknown handle", ENOMEM, "kfd_chardev.c:1377", |c| { let h = handle(c, 77); map_handle(c, h) }),
        row(M, "unknown handle and unknown GPU in the array", ENOMEM, "kfd_chardev.c:1377", |c| { let h = handle(c, 77); Ok(map_new(c, |a| { a.handle = h; a.ids = vec![0xdead] })?.0) }),
        row(M, "a freed buffer", ENOMEM, "kfd_chardev.c:1377", |c| { let b = c.unmapped_bo(4096, GTT)?; c.free(b.handle); map_handle(c, b.handle) }),
        row(M, "another process' buffer", ENOMEM, "kfd_chardev.c:1377", |c| { let b = c.unmapped_bo(4096, GTT)?; Ok(Got::Errno(other_process(c, |o| o.map(b.handle)))) }),
        row(M, "unknown GPU in the array", EINVAL, "kfd_chardev.c:1384", |c| Ok(map_new(c, |a| a.ids = vec![0xdead])?.0)),
        row(M, "GPU 0 in the array", EINVAL, "kfd_chardev.c:1384", |c| Ok(map_new(c, |a| a.ids = vec![0])?.0)),
        row(M, "second GPU unknown: errno", EINVAL, "kfd_chardev.c:1384", |c| { let g = c.gpu; Ok(map_new(c, |a| { a.ids = vec![g, 0xdead]; a.n_devices = 2 })?.0) }),
        row(M, "second GPU unknown: the first is done", EBUSY, "kfd_chardev.c:1412", |c| {
            let b = c.unmapped_bo(4096, GTT)?;
            let g = Given { ids: vec![c.gpu, 0xdead], n_devices: 2, ..Given::new(c, b.handle) };
            map(c, g);
            Ok(Got::Errno(c.free(b.handle)))
        }),
        row(M, "address 0", EINVAL, "../amdgpu/amdgpu_amdkfd_gpuvm.c:895", |c| map_at(c, 0, 4096, VRAM)),
        row(M, "an address that is no page's", EINVAL, PARAMETERS, |c| map_at(c, 0x2000_0008, 4096, GTT)),
        row(M, "beyond the address space", EINVAL, "../amdgpu/amdgpu_vm.c:1851", |c| map_at(c, 1 << 57, 4096, GTT)),
        row(M, "the address and size wrap around", EINVAL, "../amdgpu/amdgpu_vm.c:1840", |c| map_at(c, u64::MAX - 4095, 8192, GTT)),
        row(M, "an address that is taken", EINVAL, "../amdgpu/amdgpu_vm.c:1893", |c| { let b = c.bo(8192, GTT)?; map_at(c, b.va, 4096, GTT) }),
        row(M, "the last page of a mapping", EINVAL, "../amdgpu/amdgpu_vm.c:1893", |c| { let b = c.bo(8192, GTT)?; map_at(c, b.va + 4096, 4096, GTT) }),
        row(M, "reaches into a mapping", EINVAL, "../amdgpu/amdgpu_vm.c:1893", |c| { let b = c.bo(8192, GTT)?; map_at(c, b.va - 4096, 8192, GTT) }),
        row(M, "the page behind a mapping", OK, "../amdgpu/amdgpu_vm.c:1892", |c| { let b = c.bo(8192, GTT)?; map_at(c, b.va + 8192, 4096, GTT) }),
        row(M, "the second half of a buffer that is mapped twice is taken", EINVAL, "../amdgpu/amdgpu_vm.c:1893", |c| { let b = c.bo(8192, GTT)?; map_at(c, b.va - 4096, 8192, GTT | abi::ALLOC_AQL_QUEUE_MEM) }),
        row(M, "after a refused address the buffer can be freed", OK, "../amdgpu/amdgpu_amdkfd_gpuvm.c:1958", |c| {
            let taken = c.bo(8192, GTT)?;
            let mut args = c.alloc_args(4096, GTT);
            args.va_addr = taken.va;
            let b = c.bo_from(args)?;
            c.map(b.handle);
            Ok(Got::Errno(c.free(b.handle)))
        }),
        row(M, "doorbells", OK, "../amdgpu/amdgpu_amdkfd_gpuvm.c:928", |c| { let b = c.unmapped_bo(8192, abi::ALLOC_DOORBELL | abi::ALLOC_WRITABLE)?; map_handle(c, b.handle) }),
        row(M, "registers", OK, "../amdgpu/amdgpu_amdkfd_gpuvm.c:951", |c| { let b = c.unmapped_bo(4096, abi::ALLOC_MMIO_REMAP | abi::ALLOC_WRITABLE)?; map_handle(c, b.handle) }),

        row(U, "a mapped buffer", OK, "kfd_chardev.c:1527", |c| Ok(unmap_new(c, |_| {})?.0)),
        row(U, "n_success given back", is(1), "kfd_chardev.c:1496", |c| Ok(Got::Value(unmap_new(c, |_| {})?.1.into()))),
        row(U, "a buffer that is not mapped", EINVAL, "../amdgpu/amdgpu_amdkfd_gpuvm.c:2204", |c| { let b = c.unmapped_bo(4096, GTT)?; unmap_handle(c, b.handle) }),
        row(U, "a buffer that was unmapped", EINVAL, "../amdgpu/amdgpu_amdkfd_gpuvm.c:2204", |c| { let b = c.bo(4096, GTT)?; c.unmap(b.handle); unmap_handle(c, b.handle) }),
        row(U, "then mapped again", OK, "kfd_chardev.c:1432", |c| { let b = c.bo(4096, GTT)?; c.unmap(b.handle); map_handle(c, b.handle) }),
        row(U, "its address is free again", OK, "../amdgpu/amdgpu_amdkfd_gpuvm.c:1293", |c| { let b = c.bo(4096, GTT)?; c.unmap(b.handle); map_at(c, b.va, 8192, GTT) }),
        row(U, "n_devices 0", EINVAL, "kfd_chardev.c:1455", |c| Ok(unmap_new(c, |a| a.n_devices = 0)?.0)),
        row(U, "n_success greater than n_devices", EINVAL, "kfd_chardev.c:1459", |c| Ok(unmap_new(c, |a| a.n_success = 2)?.0)),
        row(U, "n_success = n_devices: nothing to do", OK, "kfd_chardev.c:1484", |c| Ok(unmap_new(c, |a| a.n_success = 1)?.0)),
        row(U, "n_success = n_devices: it stays mapped", EBUSY, "kfd_chardev.c:1484", |c| {
            let b = c.bo(4096, GTT)?;
            let g = Given { n_success: 1, ..Given::new(c, b.handle) };
            unmap(c, g);
            Ok(Got::Errno(c.free(b.handle)))
        }),
        row(U, "array at address 0", EFAULT, "kfd_chardev.c:1467", |c| Ok(unmap_new(c, |a| a.address = Some(0))?.0)),
        row(U, "second id beyond the page", EFAULT, "kfd_chardev.c:1467", |c| { let (_m, at) = half_array(c)?; Ok(unmap_new(c, |a| { a.address = Some(at); a.n_devices = 2 })?.0) }),
        row(U, "array at address 0: it stays mapped", EBUSY, "kfd_chardev.c:1467", |c| {
            let b = c.bo(4096, GTT)?;
            let g = Given { address: Some(0), ..Given::new(c, b.handle) };
            unmap(c, g);
            Ok(Got::Errno(c.free(b.handle)))
        }),
        row(U, "2^32 - 1 devices", ENOMEM, "kfd_chardev.c:1468", |c| Ok(unmap_new(c, |a| a.n_devices = u32::MAX)?.0)),
        row(U, "more devices than the kernel has memory for in one piece", ENOMEM, "kfd_chardev.c:1468", |c| Ok(unmap_new(c, |a| a.n_devices = (1 << 20) + 1)?.0)),
        row(U, "handle of an unknown GPU", EINVAL, "kfd_chardev.c:1472", |c| unmap_handle(c, 0xdead << 32)),
        row(U, "unknown handle", ENOMEM, "kfd_chardev.c:1479", |c| { let h = handle(c, 77); unmap_handle(c, h) }),
        row(U, "no VM", ENOMEM, "kfd_chardev.c:1479", |c| { let h = handle(c, 0); unmap_handle(c, h) }).open(),
        row(U, "another process' buffer", ENOMEM, "kfd_chardev.c:1479", |c| { let b = c.bo(4096, GTT)?; Ok(Got::Errno(other_process(c, |o| o.unmap(b.handle)))) }),
        row(U, "unknown GPU in the array", EINVAL, "kfd_chardev.c:1486", |c| Ok(unmap_new(c, |a| a.ids = vec![0xdead])?.0)),
        row(U, "second GPU unknown: the first is done", is(1), "kfd_chardev.c:1496", |c| { let g = c.gpu; Ok(Got::Value(unmap_new(c, |a| { a.ids = vec![g, 0xdead]; a.n_devices = 2 })?.1.into())) }),
        row(U, "the same GPU twice: the second is not mapped", EINVAL, "../amdgpu/amdgpu_amdkfd_gpuvm.c:2204", |c| { let g = c.gpu; Ok(unmap_new(c, |a| { a.ids = vec![g, g]; a.n_devices = 2 })?.0) }),
        row(U, "a queue's ring", EBUSY, "../amdgpu/amdgpu_amdkfd_gpuvm.c:1288", |c| used_by_queue(c, |c| c.b().ring)).queue(),
        row(U, "a queue's write pointer", EBUSY, "../amdgpu/amdgpu_amdkfd_gpuvm.c:1288", |c| used_by_queue(c, |c| c.b().wptr)).queue(),
        row(U, "a queue's read pointer", EBUSY, "../amdgpu/amdgpu_amdkfd_gpuvm.c:1288", |c| used_by_queue(c, |c| c.b().rptr)).queue(),
        row(U, "a queue's EOP buffer", EBUSY, "../amdgpu/amdgpu_amdkfd_gpuvm.c:1288", |c| used_by_queue(c, |c| c.b().eop)).queue(),
        row(U, "a queue's save area", EBUSY, "../amdgpu/amdgpu_amdkfd_gpuvm.c:1288", |c| used_by_queue(c, |c| c.b().cwsr)).queue(),
        row(U, "the ring when its queue is gone", OK, "kfd_process_queue_manager.c:559", |c| { c.destroy_queue(c.queue); used_by_queue(c, |c| c.b().ring) }).queue(),
        row(U, "the ring when one of two queues is gone", EBUSY, "kfd_queue.c:219", |c| { c.new_queue(|_| {})?; c.destroy_queue(c.queue); used_by_queue(c, |c| c.b().ring) }).queue(),
    ]
}
