// SPDX-License-Identifier: GPL-2.0

//! The calling program and the machine: checks and readings that the kernel crate of 7.3 has no name
//! for.

use crate::uapi::abi::Abi;
use kernel::{
    bindings,
    mm::MmWithUser,
    page::PAGE_SIZE,
    prelude::*,
    task::Task, //
};

/// Whether `size` bytes at `address` can be user memory. They need not be mapped.
pub(crate) fn access_ok(address: u64, size: u64) -> bool {
    // SAFETY: A task's own address space stays while it runs.
    let limit = unsafe {
        let mm = (*Task::current_raw()).mm;
        if mm.is_null() {
            return false;
        }
        (*mm).__bindgen_anon_1.task_size
    };
    address
        .checked_add(size)
        .is_some_and(|end| end <= limit as u64)
}

/// Whether the caller is a 32-bit program.
pub(crate) fn is_compat() -> bool {
    /// `TS_COMPAT`: this system call came by a 32-bit gate.
    const TS_COMPAT: u32 = 2;
    // SAFETY: Only the task itself changes its status.
    unsafe { (*Task::current_raw()).thread_info.status & TS_COMPAT != 0 }
}

/// Whether the caller may checkpoint and restore: CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN.
pub(crate) fn may_checkpoint() -> bool {
    // SAFETY: Plain queries about the current task.
    unsafe {
        bindings::capable(bindings::CAP_CHECKPOINT_RESTORE as c_int)
            || bindings::capable(bindings::CAP_SYS_ADMIN as c_int)
    }
}

/// Whether the caller may read performance counters: CAP_PERFMON or CAP_SYS_ADMIN.
pub(crate) fn may_profile() -> bool {
    // SAFETY: Plain queries about the current task.
    unsafe {
        bindings::capable(bindings::CAP_PERFMON as c_int)
            || bindings::capable(bindings::CAP_SYS_ADMIN as c_int)
    }
}

/// Whether the caller may have work done before that of others: CAP_SYS_NICE.
pub(crate) fn may_be_nice() -> bool {
    // SAFETY: A plain query about the current task.
    unsafe { bindings::capable(bindings::CAP_SYS_NICE as c_int) }
}

/// Whether the caller has CAP_SYS_ADMIN.
pub(crate) fn is_admin() -> bool {
    // SAFETY: A plain query about the current task.
    unsafe { bindings::capable(bindings::CAP_SYS_ADMIN as c_int) }
}

/// Whether the caller was killed, and is only to come to its end (`fatal_signal_pending`).
pub(crate) fn is_killed() -> bool {
    if !kernel::current!().signal_pending() {
        return false;
    }
    // SAFETY: A task may read its own pending signals; others set bits meanwhile, one word at a time.
    let signals = unsafe {
        (&raw const (*Task::current_raw()).pending.signal.sig)
            .cast::<c_ulong>()
            .read_volatile()
    };
    signals >> (bindings::SIGKILL - 1) & 1 == 1
}

/// The caller's number in the first PID namespace.
pub(crate) fn this_tgid() -> i32 {
    // SAFETY: A task's own `tgid` never changes.
    unsafe { (*Task::current_raw()).tgid }
}

/// Whether the caller traces a task (`ptrace_parent(task) == current`).
pub(crate) fn traces(task: &Task) -> bool {
    let _rcu = kernel::sync::rcu::read_lock();
    // SAFETY: The task is counted. Its parent is only compared.
    unsafe {
        let task = task.as_ptr();
        (&raw const (*task).ptrace).read_volatile() != 0
            && core::ptr::eq(
                (&raw const (*task).parent).read_volatile(),
                Task::current_raw(),
            )
    }
}

/// Runs `f`, in which user addresses are those of another address space. Only for kernel threads,
/// which have none of their own; anyone else gets EINVAL.
pub(crate) fn with_mm<R>(mm: &MmWithUser, f: impl FnOnce() -> Result<R>) -> Result<R> {
    // SAFETY: A task's own flags and address space may be read.
    let is_thread = unsafe {
        let task = Task::current_raw();
        (*task).flags & bindings::PF_KTHREAD != 0 && (*task).mm.is_null()
    };
    if !is_thread {
        return Err(EINVAL);
    }
    // SAFETY: A kernel thread without an address space; this one has users until after the call.
    unsafe { bindings::kthread_use_mm(mm.as_raw()) };
    let result = f();
    // SAFETY: Begun above.
    unsafe { bindings::kthread_unuse_mm(mm.as_raw()) };
    result
}

/// Copies from user memory what is there. Never waits: pages that aren't there give EFAULT.
pub(crate) fn read_present(address: u64, to: &mut [u8]) -> Result {
    let (to, len) = (to.as_mut_ptr().cast(), to.len());
    // SAFETY: There is room for `len` bytes; any address may be asked for.
    match unsafe { bindings::copy_from_user_nofault(to, address as *const c_void, len) } {
        0 => Ok(()),
        _ => Err(EFAULT),
    }
}

/// Copies to user memory that is there. Never waits: pages that aren't there give EFAULT.
pub(crate) fn write_present(address: u64, from: &[u8]) -> Result {
    let (from, len) = (from.as_ptr().cast(), from.len());
    // SAFETY: There are `len` bytes; any address may be asked for.
    match unsafe { bindings::copy_to_user_nofault(address as *mut c_void, from, len) } {
        0 => Ok(()),
        _ => Err(EFAULT),
    }
}

/// Nanoseconds of the raw monotonic clock.
pub(crate) fn raw_ns() -> u64 {
    // SAFETY: Reads a clock.
    unsafe { bindings::ktime_get_raw() as u64 }
}

/// Nanoseconds since boot, including sleep.
pub(crate) fn boottime_ns() -> u64 {
    // SAFETY: Reads a clock.
    unsafe { bindings::ktime_get_boottime() as u64 }
}

/// Processors that are on.
pub(crate) fn online_cpus() -> u32 {
    // SAFETY: A counter that the kernel updates atomically; any value of it will do.
    unsafe { (&raw const bindings::__num_online_cpus.counter).read_volatile() as u32 }
}

/// Bytes of memory.
pub(crate) fn total_memory() -> u64 {
    // SAFETY: As above.
    let pages = unsafe { (&raw const bindings::_totalram_pages.counter).read_volatile() };
    (pages as u64).saturating_mul(PAGE_SIZE as u64)
}

/// The highest frequency of the first processor in MHz, 0 when unknown.
pub(crate) fn cpu_max_mhz() -> u32 {
    // SAFETY: Asks for processor 0.
    unsafe { bindings::cpufreq_quick_get_max(0) / 1000 }
}

/// The rest of a time in milliseconds, rounded up as `jiffies_to_msecs` does.
pub(crate) fn jiffies_to_msecs(jiffies: usize) -> u32 {
    let second = kernel::time::msecs_to_jiffies(1000) as u64;
    u32::try_from((jiffies as u64).saturating_mul(1000).div_ceil(second)).unwrap_or(u32::MAX)
}

/// Reads an ABI structure from the start of `bytes`.
pub(crate) fn read_abi<T: Abi>(bytes: &[u8]) -> Result<T> {
    let bytes = bytes.get(..core::mem::size_of::<T>()).ok_or(EINVAL)?;
    // SAFETY: As many bytes as `T` has, of which every combination is a value: an `Abi` type is
    // made of integers without padding, as its declaring macro sees to.
    Ok(unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
}

/// Writes an ABI structure to the start of `bytes`.
pub(crate) fn write_abi<T: Abi>(bytes: &mut [u8], value: &T) -> Result {
    let bytes = bytes.get_mut(..core::mem::size_of::<T>()).ok_or(EINVAL)?;
    bytes.copy_from_slice(abi_bytes(core::slice::from_ref(value)));
    Ok(())
}

/// The bytes of ABI structures.
pub(crate) fn abi_bytes<T: Abi>(values: &[T]) -> &[u8] {
    // SAFETY: An `Abi` type has no padding, so all of its bytes are initialised.
    unsafe { core::slice::from_raw_parts(values.as_ptr().cast(), core::mem::size_of_val(values)) }
}
