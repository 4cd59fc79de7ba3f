// SPDX-License-Identifier: MIT OR Apache-2.0
//! RUNTIME_ENABLE, DBG_TRAP, and the debug requests that Linux has dropped.

use super::*;
use crate::fixture::must;
use crate::row::{row, Answer, Row};
use rkfd_uapi::abi::Abi;
use rkfd_uapi::debug::{self as abi, DbgTrapArgs, RuntimeEnableArgs};
use rkfd_uapi::ioctl::{self as requests, ioc, READ_WRITE, TYPE};
use std::io::Read;
use std::os::fd::IntoRawFd;

/// `HSA_CAP_TRAP_DEBUG_PRECISE_MEMORY_OPERATIONS_SUPPORTED` of `kfd_sysfs.h`.
const PRECISE_MEMORY: u64 = 1 << 18;

fn runtime(c: &mut Ctx, mode_mask: u32) -> Answer {
    Ok(c.call(
        &requests::RUNTIME_ENABLE,
        &mut RuntimeEnableArgs {
            mode_mask,
            ..Default::default()
        },
    ))
}

fn trap(c: &mut Ctx, pid: u32, op: u32) -> Answer {
    Ok(c.call(
        &requests::DBG_TRAP,
        &mut DbgTrapArgs {
            pid,
            op,
            ..Default::default()
        },
    ))
}

/// DBG_TRAP with an operation's own arguments, as the call that a row tests; returns the errno.
pub(super) fn operate<T: Abi>(c: &mut Ctx, pid: u32, op: u32, its: &mut T) -> i32 {
    let mut args = DbgTrapArgs {
        pid,
        op,
        ..Default::default()
    };
    put(&mut args, its);
    let errno = c.call_writing(&requests::DBG_TRAP, &mut args);
    take(&args, its);
    errno
}

/// The same about this process, which must work.
pub(super) fn must_operate<T: Abi>(c: &Ctx, op: u32, its: &mut T) -> Result<(), String> {
    let mut args = DbgTrapArgs {
        pid: sys::pid(),
        op,
        ..Default::default()
    };
    put(&mut args, its);
    must("DBG_TRAP", c.raw(&requests::DBG_TRAP, &mut args))?;
    take(&args, its);
    Ok(())
}

/// An operation's arguments are at most three words of 64 bits, of integers without padding.
fn put<T: Abi>(args: &mut DbgTrapArgs, its: &T) {
    let bytes = sys::bytes(its);
    sys::words_as_bytes(&mut args.data)[..bytes.len()].copy_from_slice(&bytes);
}

fn take<T: Abi>(args: &DbgTrapArgs, its: &mut T) {
    let mut data = args.data;
    let bytes = &sys::words_as_bytes(&mut data)[..size_of::<T>()];
    // SAFETY: As many bytes as `T` has, each of whose values is one of its integers'.
    *its = unsafe { bytes.as_ptr().cast::<T>().read_unaligned() };
}

/// Arguments of an ENABLE with a file that hears of everything.
pub(super) fn enabling() -> Result<abi::DbgTrapEnableArgs, String> {
    let (read, write) = sys::pipe().map_err(|e| format!("pipe: errno {e}"))?;
    // It stays open, so that writing doesn't fail.
    std::mem::forget(read);
    Ok(abi::DbgTrapEnableArgs {
        exception_mask: u64::MAX,
        dbg_fd: write.into_raw_fd() as u32,
        ..Default::default()
    })
}

/// The process debugs itself from now on.
pub(super) fn attach(c: &Ctx) -> Result<(), String> {
    must_operate(c, abi::OP_ENABLE, &mut enabling()?)
}

/// It has a runtime before it does, and all queues are known.
fn attach_to_runtime(c: &mut Ctx) -> Result<(), String> {
    runtime(c, 1)?;
    attach(c)
}

/// What it has of queues, whose exceptions are dismissed.
fn snapshot(c: &Ctx) -> Result<(abi::DbgTrapQueueSnapshotArgs, abi::QueueSnapshotEntry), String> {
    let mut entry = abi::QueueSnapshotEntry::default();
    let mut its = abi::DbgTrapQueueSnapshotArgs {
        exception_mask: u64::MAX,
        snapshot_buf_ptr: sys::address(&mut entry),
        num_queues: 1,
        entry_size: size_of::<abi::QueueSnapshotEntry>() as u32,
    };
    must_operate(c, abi::OP_GET_QUEUE_SNAPSHOT, &mut its)?;
    Ok((its, entry))
}

/// A new queue of a debugged process with a runtime, dismissed or not; suspends it, and returns its entry of
/// the list, without its number.
pub(super) fn suspended(c: &mut Ctx, dismissed: bool) -> Result<u32, String> {
    attach_to_runtime(c)?;
    let queue = c.new_queue(|_| {})?.queue_id;
    if dismissed {
        snapshot(c)?;
    }
    let mut list = [queue];
    let mut its = abi::DbgTrapSuspendQueuesArgs {
        queue_array_ptr: sys::address(&mut list),
        num_queues: 1,
        ..Default::default()
    };
    must_operate(c, abi::OP_SUSPEND_QUEUES, &mut its)?;
    c.queue = queue;
    Ok(list[0] ^ queue)
}

fn suspend(c: &mut Ctx, address: u64, num_queues: u32) -> Answer {
    attach_to_runtime(c)?;
    let mut its = abi::DbgTrapSuspendQueuesArgs {
        queue_array_ptr: address,
        num_queues,
        ..Default::default()
    };
    Ok(Got::Errno(operate(
        c,
        sys::pid(),
        abi::OP_SUSPEND_QUEUES,
        &mut its,
    )))
}

fn query(c: &mut Ctx) -> (i32, abi::DbgTrapQueryDebugEventArgs) {
    let mut its = abi::DbgTrapQueryDebugEventArgs::default();
    (
        operate(c, sys::pid(), abi::OP_QUERY_DEBUG_EVENT, &mut its),
        its,
    )
}

/// Asks what is known about an exception.
fn exception(c: &mut Ctx, code: u32, source_id: u32) -> Answer {
    let mut info = [0u64; 8];
    let mut its = abi::DbgTrapQueryExceptionInfoArgs {
        info_ptr: sys::address(&mut info),
        info_size: 64,
        source_id,
        exception_code: code,
        clear_exception: 0,
    };
    Ok(Got::Errno(operate(
        c,
        sys::pid(),
        abi::OP_QUERY_EXCEPTION_INFO,
        &mut its,
    )))
}

/// What an attaching debugger learns of the runtime.
fn runtime_info(c: &Ctx) -> Result<abi::RuntimeInfo, String> {
    let mut info = abi::RuntimeInfo::default();
    let mut its = abi::DbgTrapEnableArgs {
        rinfo_ptr: sys::address(&mut info),
        rinfo_size: size_of::<abi::RuntimeInfo>() as u32,
        ..enabling()?
    };
    must_operate(c, abi::OP_ENABLE, &mut its)?;
    Ok(info)
}

/// The same of a runtime that has ended.
fn after_disable(c: &mut Ctx) -> Result<abi::RuntimeInfo, String> {
    let mut declared = RuntimeEnableArgs {
        r_debug: 0x5a5a,
        mode_mask: 3,
        ..Default::default()
    };
    must(
        "RUNTIME_ENABLE",
        c.raw(&requests::RUNTIME_ENABLE, &mut declared),
    )?;
    runtime(c, 0)?;
    runtime_info(c)
}

/// A debugger that wants no exceptions, and then all, when one was raised: the bytes that it reads from its file.
fn chosen_late(c: &mut Ctx) -> Result<u64, String> {
    let (mut read, write) = sys::pipe().map_err(|e| format!("pipe: errno {e}"))?;
    let mut none = abi::DbgTrapEnableArgs {
        dbg_fd: write.into_raw_fd() as u32,
        ..Default::default()
    };
    must_operate(c, abi::OP_ENABLE, &mut none)?;
    let mut all = abi::DbgTrapSetExceptionsEnabledArgs {
        exception_mask: u64::MAX,
    };
    must_operate(c, abi::OP_SET_EXCEPTIONS_ENABLED, &mut all)?;
    // It waits until there is something.
    let read = read.read(&mut [0; 8]).map_err(|e| e.to_string())?;
    Ok(read as u64)
}

/// Resumes a queue that was suspended and one that there isn't, and returns the entries without their numbers.
fn resumed(c: &mut Ctx) -> Result<[u32; 2], String> {
    suspended(c, true)?;
    let mut list = [c.queue, 999];
    let mut its = abi::DbgTrapResumeQueuesArgs {
        queue_array_ptr: sys::address(&mut list),
        num_queues: 2,
        pad: 0,
    };
    must_operate(c, abi::OP_RESUME_QUEUES, &mut its)?;
    Ok([list[0] ^ c.queue, list[1] ^ 999])
}

/// What there is of two queues, in words of 64 bits, with room for so many entries of such a length.
fn two(
    c: &mut Ctx,
    num_queues: u32,
    entry_size: u32,
) -> Result<(abi::DbgTrapQueueSnapshotArgs, [u64; 32]), String> {
    attach(c)?;
    c.new_queue(|_| {})?;
    let mut words = [0; 32];
    let mut its = abi::DbgTrapQueueSnapshotArgs {
        snapshot_buf_ptr: sys::address(&mut words),
        num_queues,
        entry_size,
        ..Default::default()
    };
    must_operate(c, abi::OP_GET_QUEUE_SNAPSHOT, &mut its)?;
    Ok((its, words))
}

/// What there is of devices, with room for so many entries of such a length.
fn devices(
    c: &Ctx,
    num_devices: u32,
    entry_size: u32,
) -> Result<abi::DbgTrapDeviceSnapshotArgs, String> {
    attach(c)?;
    let mut room = [0u64; 128];
    let mut its = abi::DbgTrapDeviceSnapshotArgs {
        snapshot_buf_ptr: sys::address(&mut room),
        num_devices,
        entry_size,
        ..Default::default()
    };
    must_operate(c, abi::OP_GET_DEVICE_SNAPSHOT, &mut its)?;
    Ok(its)
}

/// SET_FLAGS: the errno, and the flags that come back.
fn flags(c: &mut Ctx, flags: u32) -> (i32, u32) {
    let mut its = abi::DbgTrapSetFlagsArgs { flags, pad: 0 };
    let errno = operate(c, sys::pid(), abi::OP_SET_FLAGS, &mut its);
    (errno, its.flags)
}

/// Watches an address of the process on its GPU: the errno, and the watch's number.
fn watch(c: &mut Ctx) -> (i32, u32) {
    let mut its = abi::DbgTrapSetNodeAddressWatchArgs {
        address: 0x1000,
        mode: abi::WATCH_MODE_ALL,
        mask: u32::MAX,
        gpu_id: c.gpu,
        id: 77,
    };
    let errno = operate(c, sys::pid(), abi::OP_SET_NODE_ADDRESS_WATCH, &mut its);
    (errno, its.id)
}

fn clear_watch(c: &mut Ctx, id: u32) -> Answer {
    let gpu_id = c.gpu;
    let mut its = abi::DbgTrapClearNodeAddressWatchArgs { gpu_id, id };
    let op = abi::OP_CLEAR_NODE_ADDRESS_WATCH;
    Ok(Got::Errno(operate(c, sys::pid(), op, &mut its)))
}

/// Chooses exceptions that make waves trap: the errno, those that were on before, and those that there are.
fn launch_override(c: &mut Ctx, chosen: u32, on: u32) -> (i32, u32, u32) {
    let mut its = abi::DbgTrapSetWaveLaunchOverrideArgs {
        override_mode: abi::OVERRIDE_OR,
        enable_mask: on,
        support_request_mask: chosen,
        pad: 0,
    };
    let errno = operate(c, sys::pid(), abi::OP_SET_WAVE_LAUNCH_OVERRIDE, &mut its);
    (errno, its.enable_mask, its.support_request_mask)
}

/// An operation of a debugged process with a runtime.
fn control<T: Abi>(c: &mut Ctx, op: u32, its: T) -> Answer {
    attach_to_runtime(c)?;
    Ok(Got::Errno(operate(c, sys::pid(), op, &mut { its })))
}

fn deprecated(c: &mut Ctx, number: u8, size: usize) -> Answer {
    let mut buffer = [0u8; 64];
    let cmd = ioc(READ_WRITE, TYPE, number, size);
    Ok(Got::Errno(c.watched(|c| {
        sys::ioctl(&c.kfd, cmd, sys::address(&mut buffer))
    })))
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    const R: &str = "RUNTIME_ENABLE";
    const T: &str = "DBG_TRAP";
    const SNAPSHOT: &str = "kfd_process_queue_manager.c: pqm_get_queue_snapshot";
    vec![
        row("DBG_REGISTER", "deprecated", EPERM, "kfd_chardev.c:720", |c| deprecated(c, 0x0d, 8)),
        row("DBG_UNREGISTER", "deprecated", EPERM, "kfd_chardev.c:726", |c| deprecated(c, 0x0e, 8)),
        row("DBG_ADDRESS_WATCH", "deprecated", EPERM, "kfd_chardev.c:732", |c| deprecated(c, 0x0f, 16)),
        row("DBG_WAVE_CONTROL", "deprecated", EPERM, "kfd_chardev.c:739", |c| deprecated(c, 0x10, 16)),
        row("DBG_REGISTER", "deprecated, address 0", EFAULT, "kfd_chardev.c:3713", |c| Ok(Got::Errno(sys::ioctl(&c.kfd, requests::DBG_REGISTER_DEPRECATED.command(), 0)))),
        row("DBG_WAVE_CONTROL", "deprecated, size 0", EPERM, "kfd_chardev.c:739", |c| deprecated(c, 0x10, 0)),
        row(R, "enable", OK, "kfd_chardev.c:2987", |c| runtime(c, 1)),
        row(R, "enable, no VM", OK, "kfd_chardev.c:2987", |c| runtime(c, 1)).open(),
        row(R, "enable twice", EBUSY, "kfd_chardev.c:2963", |c| { runtime(c, 1)?; runtime(c, 1) }),
        row(R, "enable through another open of /dev/kfd", EBUSY, "kfd_chardev.c:2963", |c| { runtime(c, 1)?; c.kfd = sys::open("/dev/kfd").map_err(|e| e.to_string())?; runtime(c, 1) }),
        row(R, "enable with a queue", Want::Errno(libc::EEXIST), "kfd_chardev.c:2970", |c| runtime(c, 1)).queue(),
        row(R, "enable twice, the second time with a queue", EBUSY, "kfd_chardev.c:2963", |c| { runtime(c, 1)?; c.new_queue(|_| {})?; runtime(c, 1) }).buffers(),
        row(R, "enable when the queue is gone", OK, "kfd_chardev.c:2969", |c| { c.destroy_queue(c.queue); runtime(c, 1) }).queue(),
        row(R, "disable", OK, "kfd_chardev.c:3101", |c| { runtime(c, 1)?; runtime(c, 0) }),
        row(R, "disable what is not enabled", OK, "kfd_chardev.c:3101", |c| runtime(c, 0)),
        row(R, "disable with a queue", OK, "kfd_chardev.c:3101", |c| { runtime(c, 1)?; c.new_queue(|_| {})?; runtime(c, 0) }).buffers(),
        row(R, "enable, disable, enable", OK, "kfd_chardev.c:2963", |c| { runtime(c, 1)?; runtime(c, 0)?; runtime(c, 1) }),
        row(R, "mode 4: none that there is, so disable", OK, "kfd_chardev.c:3097", |c| runtime(c, 4)),
        row(R, "mode 2 alone: disable", OK, "kfd_chardev.c:3097", |c| runtime(c, 2)),
        row(R, "enable, keeping trap temporaries", OK, "kfd_chardev.c: runtime_enable", |c| runtime(c, 3)),
        row(R, "enable, keeping trap temporaries, twice", EBUSY, "kfd_chardev.c: runtime_enable", |c| { runtime(c, 3)?; runtime(c, 3) }),
        row(R, "enable, keeping trap temporaries, with a queue", Want::Errno(libc::EEXIST), "kfd_chardev.c: runtime_enable", |c| runtime(c, 3)).queue(),
        row(R, "a queue, trap temporaries being kept", OK, "kfd_packet_manager_v9.c: pm_map_process_aldebaran", |c| { runtime(c, 3)?; c.create(|_| {}) }).buffers(),
        row(R, "disable with a queue, trap temporaries being kept", OK, "kfd_chardev.c: runtime_disable", |c| { runtime(c, 3)?; c.new_queue(|_| {})?; runtime(c, 0) }).buffers(),
        row(R, "another process has its own", OK, "kfd_chardev.c:2963", |c| { runtime(c, 1)?; Ok(Got::Errno(other_process(c, |o| match runtime(o, 1) { Ok(Got::Errno(e)) => e, _ => 253 }))) }),
        row(T, "enable of an unknown process", ESRCH, "kfd_chardev.c:3132", |c| trap(c, 0x3fff_ffff, abi::OP_ENABLE)),
        row(T, "enable of a process without /dev/kfd", ESRCH, "kfd_chardev.c:3163", |c| trap(c, 1, abi::OP_ENABLE)),
        row(T, "enable of a process that isn't traced", EPERM, "kfd_chardev.c:3183", |c| { let pid = sys::pid(); Ok(Got::Errno(other_process(c, |o| operate(o, pid, abi::OP_ENABLE, &mut abi::DbgTrapEnableArgs::default())))) }),
        row(T, "enable of this process, no such descriptor", EBADF, "kfd_debug.c:815", |c| { let mut its = abi::DbgTrapEnableArgs { dbg_fd: 0x7fff, ..Default::default() }; Ok(Got::Errno(operate(c, sys::pid(), abi::OP_ENABLE, &mut its))) }),
        row(T, "enable of this process", OK, "kfd_debug.c: kfd_dbg_trap_enable", |c| { let mut its = enabling()?; Ok(Got::Errno(operate(c, sys::pid(), abi::OP_ENABLE, &mut its))) }),
        row(T, "enable twice", Want::Errno(libc::EALREADY), "kfd_debug.c:796", |c| { attach(c)?; let mut its = enabling()?; Ok(Got::Errno(operate(c, sys::pid(), abi::OP_ENABLE, &mut its))) }),
        row(T, "enable twice, no such descriptor", Want::Errno(libc::EALREADY), "kfd_debug.c: kfd_dbg_trap_enable", |c| { attach(c)?; let mut its = abi::DbgTrapEnableArgs { dbg_fd: 0x7fff, ..Default::default() }; Ok(Got::Errno(operate(c, sys::pid(), abi::OP_ENABLE, &mut its))) }),
        row(T, "enable, nowhere to put what the runtime is", EFAULT, "kfd_debug.c:841", |c| { let mut its = abi::DbgTrapEnableArgs { rinfo_ptr: 8, rinfo_size: 16, ..enabling()? }; Ok(Got::Errno(operate(c, sys::pid(), abi::OP_ENABLE, &mut its))) }),
        row(T, "disable after that", EINVAL, "kfd_debug.c:840", |c| { let mut its = abi::DbgTrapEnableArgs { rinfo_ptr: 8, rinfo_size: 16, ..enabling()? }; operate(c, sys::pid(), abi::OP_ENABLE, &mut its); trap(c, sys::pid(), abi::OP_DISABLE) }),
        row(T, "enable: size of what the runtime is", Want::Value(16), "kfd_debug.c: kfd_dbg_trap_enable", |c| { let mut its = enabling()?; must_operate(c, abi::OP_ENABLE, &mut its)?; Ok(Got::Value(its.rinfo_size.into())) }),
        row(T, "enable: address that the runtime has declared", Want::Value(0x5a5a), "kfd_debug.c: kfd_dbg_trap_enable", |c| {
            let mut declared = RuntimeEnableArgs { r_debug: 0x5a5a, mode_mask: 1, ..Default::default() };
            must("RUNTIME_ENABLE", c.raw(&requests::RUNTIME_ENABLE, &mut declared))?;
            let mut info = abi::RuntimeInfo::default();
            must_operate(c, abi::OP_ENABLE, &mut abi::DbgTrapEnableArgs { rinfo_ptr: sys::address(&mut info), rinfo_size: 16, ..enabling()? })?;
            Ok(Got::Value(info.r_debug))
        }),
        row(T, "disable", OK, "kfd_debug.c: kfd_dbg_trap_disable", |c| { attach(c)?; trap(c, sys::pid(), abi::OP_DISABLE) }),
        row(T, "disable twice", EINVAL, "kfd_chardev.c:3194", |c| { attach(c)?; trap(c, sys::pid(), abi::OP_DISABLE)?; trap(c, sys::pid(), abi::OP_DISABLE) }),
        row(T, "enable, disable, enable", OK, "kfd_debug.c: kfd_dbg_trap_disable", |c| { attach(c)?; trap(c, sys::pid(), abi::OP_DISABLE)?; let mut its = enabling()?; Ok(Got::Errno(operate(c, sys::pid(), abi::OP_ENABLE, &mut its))) }),
        row(T, "unknown operation, debugged", EINVAL, "kfd_chardev.c:3319", |c| { attach(c)?; trap(c, sys::pid(), 99) }),
        row(T, "query, nothing raised", Want::Errno(libc::EAGAIN), "kfd_debug.c:93", |c| { attach(c)?; Ok(Got::Errno(query(c).0)) }),
        row(T, "query: a queue that is new", Want::Value(1 << 30), "kfd_process_queue_manager.c:256", |c| { attach(c)?; c.new_queue(|_| {})?; Ok(Got::Value(query(c).1.exception_mask)) }).buffers(),
        row(T, "query: whose GPU", Want::Computed, "kfd_debug.c: kfd_dbg_ev_query_debug_event", |c| { attach(c)?; c.new_queue(|_| {})?; Ok(Got::Pair(query(c).1.gpu_id.into(), c.gpu.into())) }).buffers(),
        row(T, "query: a queue that is gone", Want::Value(1 << 31), "kfd_device_queue_manager.c:2905", |c| { attach(c)?; let queue = c.new_queue(|_| {})?.queue_id; must("DESTROY_QUEUE", c.destroy_queue(queue))?; Ok(Got::Value(query(c).1.exception_mask)) }).buffers(),
        row(T, "query, no exception chosen", Want::Errno(libc::EAGAIN), "kfd_debug.c:93", |c| { attach(c)?; must_operate(c, abi::OP_SET_EXCEPTIONS_ENABLED, &mut abi::DbgTrapSetExceptionsEnabledArgs::default())?; Ok(Got::Errno(query(c).0)) }).queue(),
        row(T, "exception: nowhere to put what is known", EINVAL, "kfd_debug.c:966", |c| { attach(c)?; trap(c, sys::pid(), abi::OP_QUERY_EXCEPTION_INFO) }),
        row(T, "exception: unknown code", EINVAL, "kfd_debug.c:1058", |c| { attach(c)?; exception(c, 77, 0) }),
        row(T, "exception: unknown queue", EINVAL, "kfd_debug.c:990", |c| { attach(c)?; exception(c, abi::EC_QUEUE_NEW, 7) }),
        row(T, "exception: unknown GPU", EINVAL, "kfd_debug.c:1013", |c| { attach(c)?; exception(c, abi::EC_DEVICE_MEMORY_VIOLATION, 7) }),
        row(T, "exception: not raised of the queue", Want::Errno(libc::ENODATA), "kfd_debug.c:995", |c| { attach(c)?; let queue = c.queue; exception(c, abi::EC_QUEUE_WAVE_ABORT, queue) }).queue(),
        row(T, "exception: not raised of the GPU", Want::Errno(libc::ENODATA), "kfd_debug.c:1018", |c| { attach(c)?; let gpu = c.gpu; exception(c, abi::EC_DEVICE_MEMORY_VIOLATION, gpu) }),
        row(T, "exception: not raised of the process", Want::Errno(libc::ENODATA), "kfd_debug.c:1040", |c| { attach(c)?; exception(c, abi::EC_PROCESS_RUNTIME, 0) }),
        row(T, "exception: the queue is new", OK, "kfd_debug.c: kfd_dbg_trap_query_exception_info", |c| { attach(c)?; let queue = c.queue; exception(c, abi::EC_QUEUE_NEW, queue) }).queue(),
        row(T, "page fault for the program, unknown GPU", ENODEV, "kfd_debug.c:274", |c| { attach(c)?; let mut its = abi::DbgTrapSendRuntimeEventArgs { exception_mask: 1 << 32, gpu_id: 7, queue_id: 0 }; Ok(Got::Errno(operate(c, sys::pid(), abi::OP_SEND_RUNTIME_EVENT, &mut its))) }),
        row(T, "suspend queues, no runtime", EPERM, "kfd_chardev.c:3206", |c| { attach(c)?; trap(c, sys::pid(), abi::OP_SUSPEND_QUEUES) }),
        row(T, "flags, no runtime", EPERM, "kfd_chardev.c:3206", |c| { attach(c)?; trap(c, sys::pid(), abi::OP_SET_FLAGS) }),
        row(T, "suspend queues: none", OK, "kfd_device_queue_manager.c:3609", |c| suspend(c, 0, 0)),
        row(T, "suspend queues: one, no list", EINVAL, "kfd_device_queue_manager.c:3609", |c| suspend(c, 0, 1)),
        row(T, "suspend queues: more than there can be", EINVAL, "kfd_device_queue_manager.c:3612", |c| suspend(c, 8, 1025)),
        row(T, "suspend queues: list at a bad address", EFAULT, "kfd_device_queue_manager.c: get_queue_ids", |c| suspend(c, 8, 1)),
        row(T, "suspend a queue: marks", Want::Value(0), "kfd_device_queue_manager.c: suspend_queues", |c| Ok(Got::Value(suspended(c, true)?.into()))).buffers(),
        row(T, "suspend a queue that is new: marks", Want::Value(1 << abi::QUEUE_INVALID_BIT), "kfd_device_queue_manager.c:1224", |c| Ok(Got::Value(suspended(c, false)?.into()))).buffers(),
        row(T, "resume all, and destroy the queue", OK, "kfd_device_queue_manager.c: resume_queues", |c| { suspended(c, true)?; must_operate(c, abi::OP_RESUME_QUEUES, &mut abi::DbgTrapResumeQueuesArgs::default())?; Ok(Got::Errno(c.destroy_queue(c.queue))) }).buffers(),
        row(T, "disable, and destroy a queue that was suspended", OK, "kfd_debug.c: kfd_dbg_trap_deactivate", |c| { suspended(c, true)?; trap(c, sys::pid(), abi::OP_DISABLE)?; Ok(Got::Errno(c.destroy_queue(c.queue))) }).buffers(),
        row(T, "queues: entries of no bytes", EINVAL, "kfd_process_queue_manager.c:735", |c| { attach(c)?; trap(c, sys::pid(), abi::OP_GET_QUEUE_SNAPSHOT) }),
        row(T, "queues: how many", Want::Value(1), "kfd_process_queue_manager.c: pqm_get_queue_snapshot", |c| { attach(c)?; Ok(Got::Value(snapshot(c)?.0.num_queues.into())) }).queue(),
        row(T, "queues: the ring", Want::Computed, "kfd_device_queue_manager.c: set_queue_snapshot_entry", |c| { attach(c)?; Ok(Got::Pair(snapshot(c)?.1.ring_base_address, c.b().ring.va)) }).queue(),
        row(T, "queues: the save area", Want::Computed, "kfd_device_queue_manager.c: set_queue_snapshot_entry", |c| { attach(c)?; Ok(Got::Pair(snapshot(c)?.1.ctx_save_restore_address, c.b().cwsr.va)) }).queue(),
        row(T, "queues: nowhere to put them", EFAULT, "kfd_process_queue_manager.c:750", |c| { attach(c)?; let mut its = abi::DbgTrapQueueSnapshotArgs { snapshot_buf_ptr: 8, num_queues: 1, entry_size: 64, ..Default::default() }; Ok(Got::Errno(operate(c, sys::pid(), abi::OP_GET_QUEUE_SNAPSHOT, &mut its))) }).queue(),
        row(T, "devices: nowhere to put them", EINVAL, "kfd_debug.c:1081", |c| { attach(c)?; trap(c, sys::pid(), abi::OP_GET_DEVICE_SNAPSHOT) }),
        row(T, "devices: the GPU", Want::Computed, "kfd_debug.c: kfd_dbg_trap_device_snapshot", |c| {
            attach(c)?;
            let mut entry = abi::DbgDeviceInfoEntry::default();
            let mut its = abi::DbgTrapDeviceSnapshotArgs { snapshot_buf_ptr: sys::address(&mut entry), num_devices: 1, entry_size: size_of::<abi::DbgDeviceInfoEntry>() as u32, ..Default::default() };
            must_operate(c, abi::OP_GET_DEVICE_SNAPSHOT, &mut its)?;
            Ok(Got::Pair(entry.gpu_id.into(), c.gpu.into()))
        }),
        row(T, "flags: none", OK, "kfd_debug.c: kfd_dbg_trap_set_flags", |c| control(c, abi::OP_SET_FLAGS, abi::DbgTrapSetFlagsArgs::default())),
        row(T, "flags: one memory operation at a time", Want::Unsupported(libc::EACCES, 0), "kfd_debug.c:539", |c| control(c, abi::OP_SET_FLAGS, abi::DbgTrapSetFlagsArgs { flags: abi::FLAG_SINGLE_MEM_OP, pad: 0 })),
        row(T, "enable: what a runtime that has ended declared", is(0), "kfd_chardev.c: runtime_disable", |c| Ok(Got::Value(after_disable(c)?.r_debug))),
        row(T, "enable: trap temporaries are kept", is(1), "kfd_chardev.c: runtime_enable", |c| { runtime(c, 3)?; Ok(Got::Value(runtime_info(c)?.ttmp_setup.into())) }),
        row(T, "enable: trap temporaries of a runtime that has ended", is(0), "kfd_chardev.c: runtime_disable", |c| Ok(Got::Value(after_disable(c)?.ttmp_setup.into()))),
        row(T, "query after another attached: nothing is left", YES, "kfd_debug.c: kfd_dbg_clean_exception_status", |c| {
            attach(c)?;
            trap(c, sys::pid(), abi::OP_DISABLE)?;
            attach(c)?;
            // No call that is watched: that makes a queue of its own, and destroys it.
            Ok(holds(must_operate(c, abi::OP_QUERY_DEBUG_EVENT, &mut abi::DbgTrapQueryDebugEventArgs::default()).is_err()))
        }).queue(),
        row(T, "exceptions chosen that are there: the file is written", is(1), "kfd_debug.c: kfd_dbg_set_enabled_debug_exception_mask", |c| Ok(Got::Value(chosen_late(c)?))).queue(),
        row(T, "exception: a queue that is new, nowhere to put what is known", EINVAL, "kfd_debug.c: kfd_dbg_trap_query_exception_info", |c| {
            attach(c)?;
            let mut its = abi::DbgTrapQueryExceptionInfoArgs { info_size: 64, source_id: c.queue, exception_code: abi::EC_QUEUE_NEW, ..Default::default() };
            Ok(Got::Errno(operate(c, sys::pid(), abi::OP_QUERY_EXCEPTION_INFO, &mut its)))
        }).queue(),
        row(T, "page fault for the program: it hears of it", is(0), "kfd_debug.c: kfd_dbg_send_exception_to_runtime", |c| {
            attach(c)?;
            let event = c.event(rkfd_uapi::event::EVENT_MEMORY, false)?;
            must_operate(c, abi::OP_SEND_RUNTIME_EVENT, &mut abi::DbgTrapSendRuntimeEventArgs { exception_mask: 1 << 32, gpu_id: c.gpu, queue_id: 0 })?;
            Ok(Got::Value(super::wait::wait(c, &[(event, 0)], 0, 0).result.into()))
        }),
        row(T, "resume queues: marks", is(0), "kfd_device_queue_manager.c: resume_queues", |c| Ok(Got::Value(resumed(c)?[0].into()))).buffers(),
        row(T, "resume queues: marks of one that there isn't", is(1 << abi::QUEUE_INVALID_BIT), "kfd_device_queue_manager.c: resume_queues", |c| Ok(Got::Value(resumed(c)?[1].into()))).buffers(),
        row(T, "queues: room for one of two: how many", is(2), SNAPSHOT, |c| Ok(Got::Value(two(c, 1, 64)?.0.num_queues.into()))).queue(),
        row(T, "queues: room for one of two: nothing beyond is written", is(0), SNAPSHOT, |c| Ok(Got::Value(two(c, 1, 64)?.1.iter().skip(8).fold(0, |all, word| all | word)))).queue(),
        row(T, "queues: entries longer than any: what is written of each", is(64), SNAPSHOT, |c| Ok(Got::Value(two(c, 2, 128)?.0.entry_size.into()))).queue(),
        row(T, "queues: entries longer than any: where the second is", YES, SNAPSHOT, |c| { let ring = two(c, 2, 128)?.1; Ok(holds(ring[1] == c.b().ring.va && ring[17] == ring[1] && ring[9] == 0)) }).queue(),
        row(T, "queues: no place for the second: how many were written", is(1), SNAPSHOT, |c| {
            attach(c)?;
            c.new_queue(|_| {})?;
            let map = guarded_page()?;
            let mut its = abi::DbgTrapQueueSnapshotArgs { snapshot_buf_ptr: map.address + 4096 - 64, num_queues: 2, entry_size: 64, ..Default::default() };
            operate(c, sys::pid(), abi::OP_GET_QUEUE_SNAPSHOT, &mut its);
            Ok(Got::Value(its.num_queues.into()))
        }).queue(),
        row(T, "devices: no room: how many", is(1), "kfd_debug.c: kfd_dbg_trap_device_snapshot", |c| Ok(Got::Value(devices(c, 0, 8)?.num_devices.into()))),
        row(T, "devices: room for more: how many", is(1), "kfd_debug.c: kfd_dbg_trap_device_snapshot", |c| Ok(Got::Value(devices(c, 3, 8)?.num_devices.into()))),
        row(T, "devices: entries longer than any: what is written of each", is(size_of::<abi::DbgDeviceInfoEntry>() as u64), "kfd_debug.c: kfd_dbg_trap_device_snapshot", |c| Ok(Got::Value(devices(c, 1, 256)?.entry_size.into()))),
        row(T, "flags: those before", is(1 << 8), "kfd_debug.c: kfd_dbg_trap_set_flags", |c| { attach_to_runtime(c)?; flags(c, 1 << 8); Ok(Got::Value(flags(c, 0).1.into())) }),
        row(T, "flags: none before, after another attached", is(0), "kfd_debug.c: kfd_dbg_trap_deactivate", |c| { attach_to_runtime(c)?; flags(c, 1 << 8); trap(c, sys::pid(), abi::OP_DISABLE)?; attach(c)?; Ok(Got::Value(flags(c, 0).1.into())) }),
        row(T, "flags: one memory operation at a time, as the topology announces", Want::Computed, "kfd_debug.c: kfd_dbg_trap_set_flags", |c| {
            attach_to_runtime(c)?;
            let refused = if c.node.capability & PRECISE_MEMORY != 0 { 0 } else { libc::EACCES };
            Ok(Got::Pair(flags(c, abi::FLAG_SINGLE_MEM_OP).0 as u64, refused as u64))
        }),
        row(T, "launch override: unknown mode", EPERM, "amdgpu_amdkfd_gfx_v12.c: kgd_gfx_v12_validate_trap_override_request", |c| control(c, abi::OP_SET_WAVE_LAUNCH_OVERRIDE, abi::DbgTrapSetWaveLaunchOverrideArgs { override_mode: 7, ..Default::default() })),
        row(T, "launch override: address watch", OK, "kfd_debug.c: kfd_dbg_trap_set_wave_launch_override", |c| { attach_to_runtime(c)?; Ok(Got::Errno(launch_override(c, 1 << 7, 1 << 7).0)) }),
        row(T, "launch override: all that there are", Want::Value(0xc000_01ff), "amdgpu_amdkfd_gfx_v12.c: kgd_gfx_v12_validate_trap_override_request", |c| { attach_to_runtime(c)?; Ok(Got::Value(launch_override(c, 0, 0).2.into())) }),
        row(T, "launch override: an exception that there isn't", Want::Errno(libc::EACCES), "kfd_debug.c:870", |c| { attach_to_runtime(c)?; Ok(Got::Errno(launch_override(c, 1 << 9, 0).0)) }),
        row(T, "launch override: what was on before", Want::Value(0x8000_0080), "amdgpu_amdkfd_gfx_v12.c: kgd_gfx_v12_set_wave_launch_trap_override", |c| { attach_to_runtime(c)?; launch_override(c, 0x8000_0080, u32::MAX); Ok(Got::Value(launch_override(c, 1 << 7, 0).1.into())) }),
        row(T, "launch override: what isn't chosen stays on", Want::Value(1 << 31), "amdgpu_amdkfd_gfx_v12.c: kgd_gfx_v12_set_wave_launch_trap_override", |c| { attach_to_runtime(c)?; launch_override(c, 0x8000_0080, u32::MAX); launch_override(c, 1 << 7, 0); Ok(Got::Value(launch_override(c, 0, 0).1.into())) }),
        row(T, "launch override: nothing after another attached", Want::Value(0), "kfd_debug.c: kfd_dbg_trap_deactivate", |c| { attach_to_runtime(c)?; launch_override(c, 1 << 7, u32::MAX); trap(c, sys::pid(), abi::OP_DISABLE)?; attach(c)?; Ok(Got::Value(launch_override(c, 0, 0).1.into())) }),
        row(T, "launch override with a queue", OK, "kfd_debug.c: kfd_dbg_trap_set_wave_launch_override", |c| { attach_to_runtime(c)?; c.new_queue(|_| {})?; Ok(Got::Errno(launch_override(c, 1 << 7, 1 << 7).0)) }).buffers(),
        row(T, "launch mode: the ordinary one", OK, "kfd_debug.c: kfd_dbg_trap_set_wave_launch_mode", |c| control(c, abi::OP_SET_WAVE_LAUNCH_MODE, abi::DbgTrapSetWaveLaunchModeArgs::default())),
        row(T, "launch mode: unknown", EINVAL, "kfd_debug.c:926", |c| control(c, abi::OP_SET_WAVE_LAUNCH_MODE, abi::DbgTrapSetWaveLaunchModeArgs { launch_mode: 9, pad: 0 })),
        row(T, "launch mode: halted", OK, "kfd_debug.c: kfd_dbg_trap_set_wave_launch_mode", |c| control(c, abi::OP_SET_WAVE_LAUNCH_MODE, abi::DbgTrapSetWaveLaunchModeArgs { launch_mode: 1, pad: 0 })),
        row(T, "launch mode: 2, which has no name", EINVAL, "kfd_debug.c:926", |c| control(c, abi::OP_SET_WAVE_LAUNCH_MODE, abi::DbgTrapSetWaveLaunchModeArgs { launch_mode: 2, pad: 0 })),
        row(T, "launch mode: a byte of it counts", OK, "kfd_debug.c:918", |c| control(c, abi::OP_SET_WAVE_LAUNCH_MODE, abi::DbgTrapSetWaveLaunchModeArgs { launch_mode: 0x101, pad: 0 })),
        row(T, "address watch: unknown GPU", ENODEV, "kfd_chardev.c:3219", |c| control(c, abi::OP_SET_NODE_ADDRESS_WATCH, abi::DbgTrapSetNodeAddressWatchArgs { gpu_id: 7, ..Default::default() })),
        row(T, "address watch", OK, "kfd_debug.c: kfd_dbg_trap_set_dev_address_watch", |c| { attach_to_runtime(c)?; Ok(Got::Errno(watch(c).0)) }),
        row(T, "address watch with a queue", OK, "kfd_debug.c: kfd_dbg_trap_set_dev_address_watch", |c| { attach_to_runtime(c)?; c.new_queue(|_| {})?; Ok(Got::Errno(watch(c).0)) }).buffers(),
        row(T, "address watch, the third: its number", Want::Value(2), "kfd_debug.c: kfd_dbg_get_dev_watch_id", |c| { attach_to_runtime(c)?; watch(c); watch(c); Ok(Got::Value(watch(c).1.into())) }),
        row(T, "address watch, the fifth", ENOMEM, "kfd_debug.c: kfd_dbg_get_dev_watch_id", |c| { attach_to_runtime(c)?; for _ in 0..4 { watch(c); } Ok(Got::Errno(watch(c).0)) }),
        row(T, "address watch, the fifth: its number", Want::Value(u32::MAX.into()), "kfd_debug.c: kfd_dbg_get_dev_watch_id", |c| { attach_to_runtime(c)?; for _ in 0..4 { watch(c); } Ok(Got::Value(watch(c).1.into())) }),
        row(T, "address watch where another has ended: its number", Want::Value(1), "kfd_debug.c: kfd_dbg_clear_dev_watch_id", |c| { attach_to_runtime(c)?; for _ in 0..3 { watch(c); } clear_watch(c, 1)?; Ok(Got::Value(watch(c).1.into())) }),
        row(T, "address watch after another debugger's: its number", Want::Value(0), "kfd_debug.c: kfd_dbg_clear_process_address_watch", |c| { attach_to_runtime(c)?; watch(c); trap(c, sys::pid(), abi::OP_DISABLE)?; attach(c)?; Ok(Got::Value(watch(c).1.into())) }),
        row(T, "address watch, no runtime", EPERM, "kfd_chardev.c:3206", |c| { attach(c)?; Ok(Got::Errno(watch(c).0)) }),
        row(T, "end of an address watch", OK, "kfd_debug.c: kfd_dbg_trap_clear_dev_address_watch", |c| { attach_to_runtime(c)?; watch(c); clear_watch(c, 0) }),
        row(T, "end of an address watch, twice", EINVAL, "kfd_debug.c:440", |c| { attach_to_runtime(c)?; watch(c); clear_watch(c, 0)?; clear_watch(c, 0) }),
        row(T, "end of an address watch with a number too high", EINVAL, "kfd_debug.c:437", |c| { attach_to_runtime(c)?; watch(c); clear_watch(c, 4) }),
        row(T, "end of an address watch that there isn't", EINVAL, "kfd_debug.c:440", |c| { let gpu_id = c.gpu; control(c, abi::OP_CLEAR_NODE_ADDRESS_WATCH, abi::DbgTrapClearNodeAddressWatchArgs { gpu_id, id: 0 }) }),
        row(T, "disable of this process, which is not debugged", EINVAL, "kfd_chardev.c:3194", |c| trap(c, sys::pid(), abi::OP_DISABLE)),
        row(T, "suspend queues, which is not debugged", EINVAL, "kfd_chardev.c:3194", |c| trap(c, sys::pid(), abi::OP_SUSPEND_QUEUES)),
        row(T, "snapshot of the devices, which is not debugged", EINVAL, "kfd_chardev.c:3194", |c| trap(c, sys::pid(), abi::OP_GET_DEVICE_SNAPSHOT)),
        row(T, "unknown operation", EINVAL, "kfd_chardev.c:3194", |c| trap(c, sys::pid(), 99)),
        row(T, "address 0", EFAULT, "kfd_chardev.c:3713", |c| Ok(Got::Errno(sys::ioctl(&c.kfd, requests::DBG_TRAP.command(), 0)))),
    ]
}
