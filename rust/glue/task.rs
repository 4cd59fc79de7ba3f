// SPDX-License-Identifier: GPL-2.0

//! Tasks that a program names by their numbers, and what can be asked about them.
//!
//! The kernel crate of 7.3 finds no task by number, and knows names and namespaces only of the current one.

use core::ptr::NonNull;
use kernel::{
    bindings,
    mm::MmWithUser,
    prelude::*,
    sync::{
        aref::ARef,
        rcu, //
    },
    task::Task, //
};

/// The task that has this number in the caller's namespace.
///
/// # Errors
///
/// ESRCH when there is none.
pub(crate) fn find(number: u32) -> Result<ARef<Task>> {
    // SAFETY: Any number may be asked for, and the result is null or a counted reference, which is given
    // back once the task was looked up by it.
    let task = unsafe {
        let pid = bindings::find_get_pid(number as c_int);
        let task = bindings::get_pid_task(pid, bindings::pid_type_PIDTYPE_PID);
        bindings::put_pid(pid);
        task
    };
    let task = NonNull::new(task).ok_or(ESRCH)?;
    // SAFETY: A task that was counted for us; `Task` is its transparent wrapper.
    Ok(unsafe { ARef::from_raw(task.cast::<Task>()) })
}

/// A task's address space, kept in use.
///
/// # Errors
///
/// ESRCH when it has none: a kernel thread, or one that has ended.
pub(crate) fn mm(task: &Task) -> Result<ARef<MmWithUser>> {
    // SAFETY: The task is counted. The result is null or a counted user of the address space.
    let mm = NonNull::new(unsafe { bindings::get_task_mm(task.as_ptr()) }).ok_or(ESRCH)?;
    // SAFETY: As above; `MmWithUser` is its transparent wrapper, whose last reference calls `mmput`.
    Ok(unsafe { ARef::from_raw(mm.cast::<MmWithUser>()) })
}

/// Whether a task is the caller.
pub(crate) fn is_current(task: &Task) -> bool {
    core::ptr::eq(task.as_ptr(), Task::current_raw())
}

/// The first task of a task's process.
///
/// # Errors
///
/// ESRCH when the task has ended and its parent knows: its leader may be gone, too (`pid_alive`).
pub(crate) fn leader(task: &Task) -> Result<ARef<Task>> {
    let _rcu = rcu::read_lock();
    // SAFETY: The task is counted. As long as it has a number its leader isn't released, and no task that was released
    // after that is freed in this section. Its leader changes only when another thread of the process begins another
    // program.
    unsafe {
        let task = task.as_ptr();
        if (&raw const (*task).thread_pid).read_volatile().is_null() {
            return Err(ESRCH);
        }
        let leader = (&raw const (*task).group_leader).read_volatile();
        Ok(ARef::from(&*leader.cast::<Task>()))
    }
}

/// The number of a task's process in the first PID namespace.
pub(crate) fn tgid(task: &Task) -> i32 {
    // SAFETY: The task is counted; its `tgid` never changes.
    unsafe { (*task.as_ptr()).tgid }
}

/// The number of a task's process as it sees it itself; 0 when it has ended.
pub(crate) fn own_tgid(task: &Task) -> i32 {
    let _rcu = rcu::read_lock();
    // SAFETY: The task is counted, and its namespace isn't freed in this section.
    unsafe {
        match bindings::task_active_pid_ns(task.as_ptr()) {
            ns if ns.is_null() => 0,
            ns => bindings::__task_pid_nr_ns(task.as_ptr(), bindings::pid_type_PIDTYPE_TGID, ns),
        }
    }
}

/// A task's name, ended by a zero byte.
pub(crate) fn name(task: &Task) -> [u8; 16] {
    // SAFETY: The task is counted. It may change its name meanwhile, to what may be a mixture, but always
    // ends with a zero.
    unsafe { (&raw const (*task.as_ptr()).comm).read_volatile() }
}
