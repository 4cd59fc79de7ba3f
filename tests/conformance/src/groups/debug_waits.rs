// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests that wait for the process' debugger, who is another thread of the process; and a debugger that ends.

use super::debug::{attach, must_operate, operate, suspended};
use super::wait_threads::asleep;
use super::*;
use crate::row::{row, Answer, Row};
use rkfd_bare::task::Traced;
use rkfd_uapi::debug as abi;
use rkfd_uapi::ioctl as requests;
use std::sync::mpsc;
use std::thread;

const EINTR: Want = Want::Errno(libc::EINTR);
const RUNTIME: u64 = abi::exception_mask(abi::EC_PROCESS_RUNTIME);

/// Makes a request on another thread, and does `f` with that thread's id when it waits in the request. Returns what the
/// request returned.
fn during<R>(
    c: &Ctx,
    request: u32,
    call: impl FnOnce(&Ctx) -> i32 + Send,
    f: impl FnOnce(i32) -> R,
) -> Result<(i32, R), String> {
    let (send, receive) = mpsc::channel();
    thread::scope(|scope| {
        let waiter = scope.spawn(move || {
            let _ = send.send(sys::thread_id());
            call(c)
        });
        let tid = receive.recv().unwrap_or(0);
        asleep(tid, request);
        let meanwhile = f(tid);
        let answer = waiter.join().map_err(|_| "the thread panicked")?;
        Ok((answer, meanwhile))
    })
}

/// A signal whose handler does nothing, and after which no call is made again.
fn interrupt(tid: i32) {
    sys::ignore_by_handler(libc::SIGUSR1, false);
    sys::kill_thread(tid, libc::SIGUSR1);
}

/// RUNTIME_ENABLE, while which something happens.
fn declare<R>(c: &Ctx, mode_mask: u32, f: impl FnOnce(i32) -> R) -> Result<(i32, R), String> {
    let call = move |c: &Ctx| {
        let mut args = abi::RuntimeEnableArgs {
            mode_mask,
            ..Default::default()
        };
        c.raw(&requests::RUNTIME_ENABLE, &mut args)
    };
    during(c, requests::RUNTIME_ENABLE.command(), call, f)
}

/// The debugger lets the runtime go on.
fn acknowledge(c: &Ctx) -> Result<(), String> {
    let mut its = abi::DbgTrapSendRuntimeEventArgs {
        exception_mask: RUNTIME,
        ..Default::default()
    };
    must_operate(c, abi::OP_SEND_RUNTIME_EVENT, &mut its)
}

fn acknowledged(c: &Ctx, mode_mask: u32) -> Answer {
    let (errno, sent) = declare(c, mode_mask, |_| acknowledge(c))?;
    sent.map(|()| Got::Errno(errno))
}

fn interrupted(c: &Ctx, mode_mask: u32) -> Answer {
    Ok(Got::Errno(declare(c, mode_mask, interrupt)?.0))
}

/// What is known of the runtime's exception while the runtime waits: bytes of it, and whether it is still raised when
/// it was dismissed.
fn known(c: &mut Ctx, dismiss: bool) -> Result<(u64, bool), String> {
    attach(c)?;
    let both = &*c;
    let asked = declare(both, 1, |_| {
        let mut info = [0u64; 8];
        let mut its = abi::DbgTrapQueryExceptionInfoArgs {
            info_ptr: sys::address(&mut info),
            info_size: 64,
            exception_code: abi::EC_PROCESS_RUNTIME,
            clear_exception: dismiss.into(),
            ..Default::default()
        };
        must_operate(both, abi::OP_QUERY_EXCEPTION_INFO, &mut its)?;
        let mut event = abi::DbgTrapQueryDebugEventArgs::default();
        let raised = must_operate(both, abi::OP_QUERY_DEBUG_EVENT, &mut event).is_ok();
        acknowledge(both)?;
        Ok::<_, String>((u64::from(its.info_size), raised))
    });
    asked?.1
}

/// DESTROY_QUEUE of a queue that the debugger has suspended, while which something happens.
fn destroy<R>(c: &mut Ctx, f: impl FnOnce(&Ctx, i32) -> R) -> Result<(i32, R), String> {
    suspended(c, true)?;
    let c = &*c;
    let call = |c: &Ctx| c.destroy_queue(c.queue);
    during(c, requests::DESTROY_QUEUE.command(), call, |tid| f(c, tid))
}

fn destroyed(c: &mut Ctx, f: impl FnOnce(&Ctx) -> Result<(), String>) -> Answer {
    let (errno, done) = destroy(c, |c, _| f(c))?;
    done.map(|()| Got::Errno(errno))
}

fn resume_all(c: &Ctx) -> Result<(), String> {
    let mut all = abi::DbgTrapResumeQueuesArgs::default();
    must_operate(c, abi::OP_RESUME_QUEUES, &mut all)
}

fn resume(c: &Ctx) -> Result<(), String> {
    let mut list = [c.queue];
    let mut its = abi::DbgTrapResumeQueuesArgs {
        queue_array_ptr: sys::address(&mut list),
        num_queues: 1,
        pad: 0,
    };
    must_operate(c, abi::OP_RESUME_QUEUES, &mut its)
}

fn leave(c: &Ctx) -> Result<(), String> {
    must_operate(c, abi::OP_DISABLE, &mut abi::DbgTrapSetFlagsArgs::default())
}

/// A child debugs this process, and ends. Returns the errno of what it did.
fn debugged_by_child(c: &Ctx) -> i32 {
    let pid = sys::pid();
    other_process(c, |o| {
        let Ok(_traced) = Traced::seize(pid as i32) else {
            return 253;
        };
        match super::debug::enabling() {
            Ok(mut its) => operate(o, pid, abi::OP_ENABLE, &mut its),
            Err(_) => 252,
        }
    })
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    const R: &str = "RUNTIME_ENABLE";
    const T: &str = "DBG_TRAP";
    const D: &str = "DESTROY_QUEUE";
    const ON: &str = "kfd_chardev.c: runtime_enable";
    const OFF: &str = "kfd_chardev.c: runtime_disable";
    const WAIT: &str = "kfd_device_queue_manager.c: wait_on_destroy_queue";
    vec![
        row(R, "enable, debugged: the debugger lets it go on", OK, ON, |c| { attach(c)?; acknowledged(c, 1) }),
        row(R, "enable, debugged: a signal comes", EINTR, ON, |c| { attach(c)?; interrupted(c, 1) }),
        row(R, "enable once more after a signal: it waits again", EINTR, ON, |c| { attach(c)?; interrupted(c, 1)?; interrupted(c, 1) }),
        row(R, "enable once more after a signal: the debugger lets it go on", OK, ON, |c| { attach(c)?; interrupted(c, 1)?; acknowledged(c, 1) }),
        row(R, "enable twice, debugged", EBUSY, ON, |c| { attach(c)?; acknowledged(c, 1)?; Ok(Got::Errno(declare(c, 1, |_| ())?.0)) }),
        row(R, "disable, debugged: the debugger lets it go on", OK, OFF, |c| { attach(c)?; acknowledged(c, 1)?; acknowledged(c, 0) }),
        row(R, "disable, debugged: a signal comes", EINTR, OFF, |c| { attach(c)?; acknowledged(c, 1)?; interrupted(c, 0) }),
        row(R, "disable once more after a signal: it waits again", EINTR, OFF, |c| { attach(c)?; acknowledged(c, 1)?; interrupted(c, 0)?; interrupted(c, 0) }),
        row(T, "query: the runtime that waits", is(RUNTIME), ON, |c| {
            attach(c)?;
            let (_, its) = declare(c, 1, |_| { let mut its = abi::DbgTrapQueryDebugEventArgs::default(); must_operate(c, abi::OP_QUERY_DEBUG_EVENT, &mut its)?; acknowledge(c)?; Ok::<_, String>(its) })?;
            Ok(Got::Value(its?.exception_mask))
        }),
        row(T, "exception of the runtime: bytes that are known", is(size_of::<abi::RuntimeInfo>() as u64), "kfd_debug.c: kfd_dbg_trap_query_exception_info", |c| Ok(Got::Value(known(c, false)?.0))),
        row(T, "exception of the runtime: it stays", YES, "kfd_debug.c: kfd_dbg_trap_query_exception_info", |c| Ok(holds(known(c, false)?.1))),
        row(T, "exception of the runtime: dismissed", is(0), "kfd_debug.c: kfd_dbg_trap_query_exception_info", |c| Ok(holds(known(c, true)?.1))),
        row(D, "suspended: the debugger resumes it", OK, WAIT, |c| destroyed(c, resume)).buffers(),
        row(D, "suspended: the debugger resumes all", OK, WAIT, |c| destroyed(c, resume_all)).buffers(),
        row(D, "suspended: the debugger leaves", OK, WAIT, |c| destroyed(c, leave)).buffers(),
        row(D, "suspended, and another thread destroys it", EBUSY, WAIT, |c| { let (_, second) = destroy(c, |c, _| { let second = c.destroy_queue(c.queue); resume(c)?; Ok::<_, String>(second) })?; Ok(Got::Errno(second?)) }).buffers(),
        row(D, "suspended: a signal comes", EINTR, WAIT, |c| Ok(Got::Errno(destroy(c, |_, tid| interrupt(tid))?.0))).buffers(),
        row(D, "suspended: after a signal, resumed", OK, WAIT, |c| { destroy(c, |_, tid| interrupt(tid))?; resume(c)?; Ok(Got::Errno(c.destroy_queue(c.queue))) }).buffers(),
        row(T, "enable by a child that traces this process", OK, "kfd_chardev.c: kfd_ioctl_set_debug_trap", |c| Ok(Got::Errno(debugged_by_child(c)))),
        row(T, "enable when the debugger has ended", OK, "kfd_process.c: kfd_process_notifier_release_internal", |c| { debugged_by_child(c); let mut its = super::debug::enabling()?; Ok(Got::Errno(operate(c, sys::pid(), abi::OP_ENABLE, &mut its))) }),
    ]
}
