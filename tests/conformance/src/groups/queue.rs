// SPDX-License-Identifier: MIT OR Apache-2.0
//! CREATE_QUEUE's arguments, in the order in which Linux checks them, and DESTROY_QUEUE.

use super::*;
use crate::fixture::{must, KERNEL};
use crate::row::{row, Answer, Row};
use rkfd_uapi::ioctl as requests;
use rkfd_uapi::memory;
use rkfd_uapi::queue::{self as abi, DestroyQueueArgs};

const UNKNOWN: u32 = 0xdead;
/// A page below the end of user addresses. `access_ok` of a few bytes compares the first with the
/// end only, which CPU features move up to 2^63 (arch/x86/include/asm/uaccess_64.h).
const LAST_USER: u64 = 0x7fff_ffff_e000;

fn destroy(c: &mut Ctx, queue_id: u32) -> Answer {
    Ok(c.call(
        &requests::DESTROY_QUEUE,
        &mut DestroyQueueArgs { queue_id, pad: 0 },
    ))
}

/// The doorbell's offset of a queue that is made after `before` others.
fn doorbell(c: &mut Ctx, before: u32) -> Result<u64, String> {
    for _ in 0..before {
        c.new_queue(|a| a.queue_percentage = 0)?;
    }
    Ok(c.new_queue(|a| a.queue_percentage = 0)?.doorbell_offset)
}

/// A write pointer in the program's own memory, which MES can't be given since it can't be pinned (`amdgpu_bo_pin`).
fn own_pointer(c: &mut Ctx) -> Answer {
    let own = guarded_page()?;
    let mut allocation = c.alloc_args(4096, memory::ALLOC_USERPTR | memory::ALLOC_WRITABLE);
    allocation.mmap_offset = own.address;
    let bo = c.bo_from(allocation)?;
    must("MAP_MEMORY_TO_GPU", c.map(bo.handle))?;
    let wanted = if c.node.gfx942() { 0 } else { libc::EPERM };
    let mut args = c.queue_args();
    args.write_pointer_address = bo.va;
    let got = c.call(&requests::CREATE_QUEUE, &mut args);
    if got == Got::Errno(0) {
        // Its queues run again once the page is gone, if the process still runs then: the scheduler would find no pointer.
        must("DESTROY_QUEUE", c.destroy_queue(args.queue_id))?;
    }
    match got {
        Got::Errno(errno) => Ok(Got::Pair(errno as u64, wanted as u64)),
        other => Ok(other),
    }
}

/// The ring size that the call returns.
fn ring_size(c: &mut Ctx, size: u32, gpu_id: u32) -> Answer {
    let mut args = c.queue_args();
    (args.ring_size, args.gpu_id) = (size, gpu_id);
    c.raw(&requests::CREATE_QUEUE, &mut args);
    Ok(Got::Value(args.ring_size.into()))
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    const C: &str = "CREATE_QUEUE";
    const D: &str = "DESTROY_QUEUE";
    let rows = vec![
        row(C, "AQL", OK, "kfd_chardev.c:477", |c| c.create(|_| {})),
        row(C, "PM4, disabled", OK, "kfd_chardev.c:477", |c| c.create(|a| { a.queue_type = abi::QUEUE_TYPE_COMPUTE; a.queue_percentage = 0 })),
        row(C, "share 101", EINVAL, "kfd_chardev.c:260", |c| c.create(|a| a.queue_percentage = 101)),
        row(C, "share 255", EINVAL, "kfd_chardev.c:260", |c| c.create(|a| a.queue_percentage = 255)),
        row(C, "share -1", EINVAL, "kfd_chardev.c:260", |c| c.create(|a| a.queue_percentage = u32::MAX)),
        row(C, "share 1", OK, "kfd_chardev.c:260", |c| c.create(|a| a.queue_percentage = 1)),
        row(C, "share 0: disabled", OK, "kfd_chardev.c:260", |c| c.create(|a| a.queue_percentage = 0)),
        row(C, "share 100 on XCC 1 (bits 15:8)", OK, "kfd_chardev.c:322", |c| c.create(|a| a.queue_percentage = 0x164)),
        row(C, "share 0 in bits 7:0, something above bit 15", OK, "kfd_chardev.c:320", |c| c.create(|a| a.queue_percentage = 0xffff_0000)),
        row(C, "priority 16", EINVAL, "kfd_chardev.c:265", |c| c.create(|a| a.queue_priority = 16)),
        row(C, "priority 2^32 - 1", EINVAL, "kfd_chardev.c:265", |c| c.create(|a| a.queue_priority = u32::MAX)),
        row(C, "priority 0", OK, "kfd_chardev.c:265", |c| c.create(|a| a.queue_priority = 0)),
        row(C, "priority 15", OK, "kfd_chardev.c:265", |c| c.create(|a| a.queue_priority = 15)),
        row(C, "each of the 16 priorities", is(16), "kfd_chardev.c:265", |c| Ok(Got::Value((0..16).filter(|p| c.new_queue(|a| { a.queue_priority = *p; a.queue_percentage = 0 }).is_ok()).count() as u64))),
        row(C, "ring at a kernel address", EFAULT, "kfd_chardev.c:270", |c| c.create(|a| a.ring_base_address = KERNEL)),
        row(C, "ring at the last address", EFAULT, "kfd_chardev.c:270", |c| c.create(|a| a.ring_base_address = u64::MAX)),
        row(C, "ring at 2^63", EFAULT, "kfd_chardev.c:270", |c| c.create(|a| a.ring_base_address = 1 << 63)),
        row(C, "ring just below the end of user addresses", EINVAL, "kfd_queue.c:207", |c| c.create(|a| a.ring_base_address = LAST_USER)),
        row(C, "ring size 3000", EINVAL, "kfd_chardev.c:277", |c| c.create(|a| a.ring_size = 3000)),
        row(C, "ring size 1", OK, "kfd_chardev.c:282", |c| c.create(|a| a.ring_size = 1)),
        row(C, "ring size 0", OK, "kfd_chardev.c:282", |c| c.create(|a| a.ring_size = 0)),
        row(C, "ring size 2^32 - 1", EINVAL, "kfd_chardev.c:277", |c| c.create(|a| a.ring_size = u32::MAX)),
        row(C, "ring size 256: comes back as 1024", is(1024), "kfd_chardev.c:283", |c| { let g = c.gpu; ring_size(c, 256, g) }),
        row(C, "ring size 0: comes back as 1024", is(1024), "kfd_chardev.c:283", |c| { let g = c.gpu; ring_size(c, 0, g) }),
        row(C, "ring size 256, unknown GPU: comes back as 1024", is(1024), "kfd_chardev.c:283", |c| ring_size(c, 256, UNKNOWN)),
        row(C, "metadata ring size 3", EINVAL, "kfd_chardev.c:287", |c| c.create(|a| a.metadata_ring_size = 3)),
        row(C, "metadata ring size 3, PM4", EINVAL, "kfd_chardev.c:287", |c| c.create(|a| { a.metadata_ring_size = 3; a.queue_type = 0 })),
        row(C, "read pointer at a kernel address", EFAULT, "kfd_chardev.c:292", |c| c.create(|a| a.read_pointer_address = KERNEL)),
        row(C, "read pointer at 2^63", EFAULT, "kfd_chardev.c:292", |c| c.create(|a| a.read_pointer_address = 1 << 63)),
        row(C, "write pointer at a kernel address", EFAULT, "kfd_chardev.c:298", |c| c.create(|a| a.write_pointer_address = KERNEL)),
        row(C, "write pointer at 2^63", EFAULT, "kfd_chardev.c:298", |c| c.create(|a| a.write_pointer_address = 1 << 63)),
        row(C, "write pointer in the program's own memory", Want::Computed, "kfd_process_queue_manager.c:305", own_pointer),
        row(C, "EOP buffer at a kernel address", EFAULT, "kfd_chardev.c:304", |c| c.create(|a| a.eop_buffer_address = KERNEL)),
        row(C, "save area at a kernel address", EFAULT, "kfd_chardev.c:311", |c| c.create(|a| a.ctx_save_restore_address = KERNEL)),
        row(C, "type 5", ENOTSUPP, "kfd_chardev.c:348", |c| c.create(|a| a.queue_type = 5)),
        row(C, "type 99", ENOTSUPP, "kfd_chardev.c:348", |c| c.create(|a| a.queue_type = 99)),
        row(C, "type 2^32 - 1", ENOTSUPP, "kfd_chardev.c:348", |c| c.create(|a| a.queue_type = u32::MAX)),
        row(C, "unknown GPU", EINVAL, "kfd_chardev.c:405", |c| c.create(|a| a.gpu_id = UNKNOWN)),
        row(C, "GPU 0", EINVAL, "kfd_chardev.c:405", |c| c.create(|a| a.gpu_id = 0)),
        // Two faults at once: which one the errno reports.
        row(C, "priority 16 and ring at a kernel address", EINVAL, "kfd_chardev.c:265", |c| c.create(|a| { a.queue_priority = 16; a.ring_base_address = KERNEL })),
        row(C, "ring at a kernel address and ring size 3000", EFAULT, "kfd_chardev.c:270", |c| c.create(|a| { a.ring_base_address = KERNEL; a.ring_size = 3000 })),
        row(C, "ring size 3000 and a kernel read pointer", EINVAL, "kfd_chardev.c:277", |c| c.create(|a| { a.ring_size = 3000; a.read_pointer_address = KERNEL })),
        row(C, "metadata ring size 3 and a kernel read pointer", EINVAL, "kfd_chardev.c:287", |c| c.create(|a| { a.metadata_ring_size = 3; a.read_pointer_address = KERNEL })),
        row(C, "a kernel read pointer and type 99", EFAULT, "kfd_chardev.c:292", |c| c.create(|a| { a.read_pointer_address = KERNEL; a.queue_type = 99 })),
        row(C, "a kernel save area and type 99", EFAULT, "kfd_chardev.c:311", |c| c.create(|a| { a.ctx_save_restore_address = KERNEL; a.queue_type = 99 })),
        row(C, "type 99 and unknown GPU", ENOTSUPP, "kfd_chardev.c:348", |c| c.create(|a| { a.queue_type = 99; a.gpu_id = UNKNOWN })),
        row(C, "unknown GPU and a ring that is not mapped", EINVAL, "kfd_chardev.c:405", |c| c.create(|a| { a.gpu_id = UNKNOWN; a.ring_base_address = 0x1000 })),
        // What the call returns.
        row(C, "the first id", is(0), "kfd_process_queue_manager.c:67", |c| Ok(Got::Value(c.new_queue(|_| {})?.queue_id.into()))),
        row(C, "the third id", is(2), "kfd_process_queue_manager.c:67", |c| { c.new_queue(|_| {})?; c.new_queue(|_| {})?; Ok(Got::Value(c.new_queue(|_| {})?.queue_id.into())) }),
        row(C, "the lowest free id", is(1), "kfd_process_queue_manager.c:67", |c| {
            for _ in 0..3 { c.new_queue(|a| a.queue_percentage = 0)?; }
            c.destroy_queue(1);
            Ok(Got::Value(c.new_queue(|_| {})?.queue_id.into()))
        }),
        row(C, "the doorbell's kind in the offset", is(3), "kfd_chardev.c:455", |c| Ok(Got::Value(doorbell(c, 0)? >> 62))),
        row(C, "the GPU in the offset", Want::Computed, "kfd_chardev.c:456", |c| Ok(Got::Pair((doorbell(c, 0)? >> 46) & 0xffff, c.gpu.into()))),
        row(C, "the first doorbell's byte", is(0), "kfd_chardev.c:461", |c| Ok(Got::Value(doorbell(c, 0)? & 0xffff))),
        row(C, "the third doorbell's byte", is(16), "kfd_process_queue_manager.c:489", |c| Ok(Got::Value(doorbell(c, 2)? & 0xffff))),
        row(C, "a freed doorbell is given again", is(0), "kfd_device_queue_manager.c: deallocate_doorbell", |c| {
            let q = c.new_queue(|_| {})?;
            c.new_queue(|_| {})?;
            c.destroy_queue(q.queue_id);
            Ok(Got::Value(doorbell(c, 0)? & 0xffff))
        }),
        row(C, "a field that is only output is not read", OK, "kfd_chardev.c:451", |c| c.create(|a| { a.queue_id = 77; a.doorbell_offset = u64::MAX })),
        row(C, "engine id of a compute queue is not read", OK, "kfd_chardev.c:418", |c| c.create(|a| a.sdma_engine_id = u32::MAX)),
        row(D, "a queue", OK, "kfd_process_queue_manager.c:587", |c| { let q = c.new_queue(|_| {})?.queue_id; destroy(c, q) }),
        row(D, "a disabled queue", OK, "kfd_process_queue_manager.c:587", |c| { let q = c.new_queue(|a| a.queue_percentage = 0)?.queue_id; destroy(c, q) }),
        row(D, "a queue twice", EINVAL, "kfd_process_queue_manager.c:532", |c| { let q = c.new_queue(|_| {})?.queue_id; c.destroy_queue(q); destroy(c, q) }),
        row(D, "no queue", EINVAL, "kfd_process_queue_manager.c:532", |c| destroy(c, 0)),
        row(D, "id 1024", EINVAL, "kfd_process_queue_manager.c:532", |c| destroy(c, 1024)),
        row(D, "id 2^32 - 1", EINVAL, "kfd_process_queue_manager.c:532", |c| destroy(c, u32::MAX)),
        row(D, "another process' queue", EINVAL, "kfd_process_queue_manager.c:532", |c| { let q = c.new_queue(|_| {})?.queue_id; Ok(Got::Errno(other_process(c, |o| o.destroy_queue(q)))) }),
        row(D, "through another open of /dev/kfd", OK, "kfd_process.c:1001", |c| {
            let q = c.new_queue(|_| {})?.queue_id;
            c.kfd = sys::open("/dev/kfd").map_err(|e| e.to_string())?;
            destroy(c, q)
        }),
    ];
    let mut rows: Vec<Row> = rows.into_iter().map(Row::buffers).collect();
    rows.extend([
        row(C, "no VM", ESRCH, "kfd_chardev.c:414", |c| c.create(|_| {})).open(),
        row(C, "no VM, copy queue on engine 99", ESRCH, "kfd_chardev.c:414", |c| c.create(|a| { a.queue_type = 4; a.sdma_engine_id = 99 })).open(),
        row(C, "no VM, share 101", EINVAL, "kfd_chardev.c:260", |c| c.create(|a| a.queue_percentage = 101)).open(),
        row(C, "no VM, type 99", ENOTSUPP, "kfd_chardev.c:348", |c| c.create(|a| a.queue_type = 99)).open(),
        row(C, "no VM, unknown GPU", EINVAL, "kfd_chardev.c:405", |c| c.create(|a| a.gpu_id = UNKNOWN)).open(),
        row(D, "no VM", EINVAL, "kfd_process_queue_manager.c:532", |c| destroy(c, 0)).open(),
    ]);
    rows
}
