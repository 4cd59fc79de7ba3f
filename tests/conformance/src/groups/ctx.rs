// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contexts of the render node's files. Paths are those of `drivers/gpu/drm/amd/amdgpu`.

use super::*;
use crate::fixture::Ctx;
use crate::row::{row, Answer, Row};
use rkfd_uapi::amdgpu::{Sched, SCHED};
use rkfd_uapi::ctx::{self, *};
use std::os::fd::{AsRawFd, OwnedFd};

const NO_CONTEXT: u32 = 0x7777;

fn ask(fd: &OwnedFd, args: &mut ctx::Ctx) -> i32 {
    sys::ioctl(fd, CTX.command(), sys::address(args))
}

/// What the request fails with.
fn tried(c: &Ctx, mut args: ctx::Ctx) -> Answer {
    Ok(Got::Errno(ask(c.render()?, &mut args)))
}

fn of(op: u32, ctx_id: u32) -> ctx::Ctx {
    ctx::Ctx {
        op,
        ctx_id,
        ..Default::default()
    }
}

/// A new context's number.
fn made_by(fd: &OwnedFd) -> Result<u32, String> {
    let mut args = of(OP_ALLOC_CTX, 0);
    crate::fixture::must("ALLOC_CTX", ask(fd, &mut args))?;
    Ok(args.number())
}

fn made(c: &Ctx) -> Result<u32, String> {
    made_by(c.render()?)
}

/// What an operation on a new context fails with, with one thing changed.
fn on_new(c: &Ctx, op: u32, change: impl FnOnce(&mut ctx::Ctx)) -> Answer {
    let mut args = of(op, made(c)?);
    change(&mut args);
    tried(c, args)
}

/// What making a context of a priority fails with.
fn with_priority(fd: &OwnedFd, priority: i32) -> i32 {
    ask(
        fd,
        &mut ctx::Ctx {
            op: OP_ALLOC_CTX,
            priority,
            ..Default::default()
        },
    )
}

/// The same for an ordinary user.
fn unprivileged(c: &Ctx, priority: i32) -> Answer {
    let fd = c.render()?;
    Ok(Got::Errno(forked(|| match sys::drop_privileges() {
        0 => with_priority(fd, priority),
        _ => 254,
    })))
}

/// The answer's words, of a question about a new context.
fn answer(c: &Ctx, op: u32) -> Result<ctx::Ctx, String> {
    let mut args = of(op, made(c)?);
    crate::fixture::must("AMDGPU_CTX", ask(c.render()?, &mut args))?;
    Ok(args)
}

/// What a SCHED fails with, by a new file of the primary node, which is its master: nobody else is.
fn sched(c: &Ctx, change: impl FnOnce(&mut Sched)) -> Answer {
    let master = sys::open(&super::drm::card(c)?).map_err(|e| e.to_string())?;
    let mut args = Sched {
        op: SCHED_OP_CONTEXT,
        fd: c.render()?.as_raw_fd() as u32,
        priority: PRIORITY_LOW,
        ctx_id: made(c)?,
    };
    change(&mut args);
    Ok(Got::Errno(sys::ioctl(
        &master,
        SCHED.command(),
        sys::address(&mut args),
    )))
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    const A: &str = "AMDGPU_CTX ALLOC_CTX";
    const F: &str = "AMDGPU_CTX FREE_CTX";
    const Q: &str = "AMDGPU_CTX QUERY_STATE";
    const Q2: &str = "AMDGPU_CTX QUERY_STATE2";
    const P: &str = "AMDGPU_CTX STABLE_PSTATE";
    const S: &str = "DRM_IOCTL_AMDGPU_SCHED";
    const IOCTL: &str = "amdgpu_ctx.c: amdgpu_ctx_ioctl";
    const ALLOC: &str = "amdgpu_ctx.c: amdgpu_ctx_alloc";
    const PERMIT: &str = "amdgpu_ctx.c: amdgpu_ctx_priority_permit";
    const QUERY: &str = "amdgpu_ctx.c: amdgpu_ctx_query";
    const QUERY2: &str = "amdgpu_ctx.c: amdgpu_ctx_query2";
    const PSTATE: &str = "amdgpu_ctx.c: amdgpu_ctx_stable_pstate";
    const SCHED_IOCTL: &str = "amdgpu_sched.c: amdgpu_sched_ioctl";
    vec![
        row(A, "the first is 1", is(1), "amdgpu_ctx.c: amdgpu_ctx_mgr_init (XA_FLAGS_ALLOC1)", |c| Ok(Got::Value(made(c)?.into()))),
        row(A, "the next is 2", is(2), ALLOC, |c| { made(c)?; Ok(Got::Value(made(c)?.into())) }),
        row(A, "a number that was freed comes again", is(1), ALLOC, |c| { let first = made(c)?; made(c)?; ask(c.render()?, &mut of(OP_FREE_CTX, first)); Ok(Got::Value(made(c)?.into())) }),
        row(A, "another file has its own numbers", is(1), "amdgpu_kms.c: amdgpu_driver_open_kms", |c| { made(c)?; let other = sys::open(&c.node.render).map_err(|e| e.to_string())?; Ok(Got::Value(made_by(&other)?.into())) }),
        row(A, "5,000 of them: the last one's number", is(5000), "amdgpu_ctx.c: amdgpu_ctx_alloc (xa_limit_32b)", |c| { for _ in 1..5000 { made(c)?; } Ok(Got::Value(made(c)?.into())) }),
        row(A, "with a flag", EINVAL, IOCTL, |c| tried(c, ctx::Ctx { flags: 1, ..of(OP_ALLOC_CTX, 0) })),
        row(A, "only the first word is written", is(0x55), IOCTL, |c| { let mut args = of(OP_ALLOC_CTX, 0x55); ask(c.render()?, &mut args); Ok(Got::Value(args.ctx_id.into())) }),
        row(A, "that fails gives the number that was passed", is(0x55), IOCTL, |c| {
            let fd = c.render()?;
            Ok(Got::Value(forked(|| {
                let mut args = ctx::Ctx { priority: PRIORITY_HIGH, ..of(OP_ALLOC_CTX, 0x55) };
                if sys::drop_privileges() == 0 && ask(fd, &mut args) == libc::EACCES { args.number() as i32 } else { 0 }
            }) as u64))
        }),
        row(A, "priority very low", OK, PERMIT, |c| unprivileged(c, PRIORITY_VERY_LOW)),
        row(A, "priority low", OK, PERMIT, |c| unprivileged(c, PRIORITY_LOW)),
        row(A, "priority normal", OK, PERMIT, |c| unprivileged(c, PRIORITY_NORMAL)),
        row(A, "priority high, without privileges", EACCES, PERMIT, |c| unprivileged(c, PRIORITY_HIGH)),
        row(A, "priority very high, without privileges", EACCES, PERMIT, |c| unprivileged(c, PRIORITY_VERY_HIGH)),
        row(A, "priority very high, with CAP_SYS_NICE", OK, PERMIT, |c| Ok(Got::Errno(with_priority(c.render()?, PRIORITY_VERY_HIGH)))),
        row(A, "priority high, by the master of the primary node", OK, PERMIT, |c| {
            let master = sys::open(&super::drm::card(c)?).map_err(|e| e.to_string())?;
            Ok(Got::Errno(forked(|| match sys::drop_privileges() { 0 => with_priority(&master, PRIORITY_HIGH), _ => 254 })))
        }),
        row(A, "priority unset counts as normal", OK, IOCTL, |c| unprivileged(c, PRIORITY_UNSET)),
        row(A, "a priority that is none counts as normal", OK, IOCTL, |c| unprivileged(c, PRIORITY_HIGH + 1)),
        row(F, "a context", OK, IOCTL, |c| on_new(c, OP_FREE_CTX, |_| {})),
        row(F, "none", EINVAL, "amdgpu_ctx.c: amdgpu_ctx_free", |c| tried(c, of(OP_FREE_CTX, NO_CONTEXT))),
        row(F, "number 0", EINVAL, "amdgpu_ctx.c: amdgpu_ctx_free", |c| tried(c, of(OP_FREE_CTX, 0))),
        row(F, "a second time", EINVAL, "amdgpu_ctx.c: amdgpu_ctx_free", |c| { let id = made(c)?; ask(c.render()?, &mut of(OP_FREE_CTX, id)); tried(c, of(OP_FREE_CTX, id)) }),
        row(F, "another file's", EINVAL, "amdgpu_ctx.c: amdgpu_ctx_free", |c| { let id = made(c)?; let other = sys::open(&c.node.render).map_err(|e| e.to_string())?; Ok(Got::Errno(ask(&other, &mut of(OP_FREE_CTX, id)))) }),
        row(F, "with a flag", EINVAL, IOCTL, |c| on_new(c, OP_FREE_CTX, |a| a.flags = 1)),
        row(Q, "no context", EINVAL, QUERY, |c| tried(c, of(OP_QUERY_STATE, NO_CONTEXT))),
        row(Q, "with a flag", EINVAL, IOCTL, |c| on_new(c, OP_QUERY_STATE, |a| a.flags = 1)),
        row(Q, "of a new context: no reset", is(NO_RESET as u64), QUERY, |c| Ok(Got::Value(answer(c, OP_QUERY_STATE)?.state().2.into()))),
        row(Q, "of a new context: no flags, no hangs", is(0), QUERY, |c| { let (flags, hangs, _) = answer(c, OP_QUERY_STATE)?.state(); Ok(Got::Value(flags | u64::from(hangs))) }),
        row(Q2, "no context", EINVAL, QUERY2, |c| tried(c, of(OP_QUERY_STATE2, NO_CONTEXT))),
        row(Q2, "with a flag", EINVAL, IOCTL, |c| on_new(c, OP_QUERY_STATE2, |a| a.flags = 1)),
        row(Q2, "of a new context: no flags, no hangs", is(0), QUERY2, |c| { let (flags, hangs, _) = answer(c, OP_QUERY_STATE2)?.state(); Ok(Got::Value(flags | u64::from(hangs))) }),
        row(Q2, "the last word stays as it was", is(0x1234), QUERY2, |c| { let mut args = ctx::Ctx { priority: 0x1234, ..of(OP_QUERY_STATE2, made(c)?) }; ask(c.render()?, &mut args); Ok(Got::Value(args.state().2.into())) }),
        row(P, "GET: clocks follow the load", is(PSTATE_NONE as u64), PSTATE, |c| Ok(Got::Value(answer(c, OP_GET_STABLE_PSTATE)?.number().into()))),
        row(P, "GET of no context", EINVAL, PSTATE, |c| tried(c, of(OP_GET_STABLE_PSTATE, NO_CONTEXT))),
        row(P, "GET with a flag", EINVAL, IOCTL, |c| on_new(c, OP_GET_STABLE_PSTATE, |a| a.flags = 1)),
        row(P, "SET none, as it is", OK, "amdgpu_ctx.c: __amdgpu_ctx_set_stable_pstate", |c| on_new(c, OP_SET_STABLE_PSTATE, |a| a.flags = PSTATE_NONE)),
        row(P, "SET of no context", EINVAL, PSTATE, |c| tried(c, of(OP_SET_STABLE_PSTATE, NO_CONTEXT))),
        row(P, "SET a state beyond the last", EINVAL, IOCTL, |c| on_new(c, OP_SET_STABLE_PSTATE, |a| a.flags = PSTATE_PEAK + 1)),
        row(P, "SET a flag that is no state", EINVAL, IOCTL, |c| on_new(c, OP_SET_STABLE_PSTATE, |a| a.flags = PSTATE_FLAGS_MASK + 1)),
        row(P, "SET the standard clocks", Want::Unsupported(libc::EINVAL, 0), "../pm/amdgpu_dpm.c: amdgpu_dpm_force_performance_level", |c| on_new(c, OP_SET_STABLE_PSTATE, |a| a.flags = PSTATE_STANDARD)),
        row("AMDGPU_CTX", "operation 0", EINVAL, IOCTL, |c| tried(c, of(0, 0))),
        row("AMDGPU_CTX", "operation 7", EINVAL, IOCTL, |c| on_new(c, OP_SET_STABLE_PSTATE + 1, |_| {})),
        row("AMDGPU_CTX", "the argument at address 0", EFAULT, "../../drm_ioctl.c: drm_ioctl", |c| Ok(Got::Errno(sys::ioctl(c.render()?, CTX.command(), 0)))),
        row("AMDGPU_CS", "nothing to do, for no context", EINVAL, "amdgpu_cs.c: amdgpu_cs_ioctl", |c| Ok(Got::Errno(sys::ioctl(c.render()?, rkfd_uapi::ioctl::ioc(rkfd_uapi::ioctl::READ_WRITE, rkfd_uapi::drm::TYPE, 0x44, 24), sys::address(&mut [0u64; 3]))))),
        row(S, "one context", OK, SCHED_IOCTL, |c| sched(c, |_| {})),
        row(S, "all of a file", OK, SCHED_IOCTL, |c| sched(c, |a| { a.op = SCHED_OP_PROCESS; a.ctx_id = 0 })),
        row(S, "no context", EINVAL, "amdgpu_sched.c: amdgpu_sched_context_priority_override", |c| sched(c, |a| a.ctx_id = NO_CONTEXT)),
        row(S, "operation 3", EINVAL, SCHED_IOCTL, |c| sched(c, |a| a.op = 3)),
        row(S, "a priority that is none", EINVAL, SCHED_IOCTL, |c| sched(c, |a| a.priority = PRIORITY_UNSET)),
        row(S, "no file", EINVAL, "amdgpu_sched.c: amdgpu_sched_context_priority_override", |c| sched(c, |a| a.fd = u32::MAX)),
        row(S, "a file of something else", EINVAL, "amdgpu_drv.c: amdgpu_file_to_fpriv", |c| { let kfd = c.kfd.as_raw_fd() as u32; sched(c, |a| { a.op = SCHED_OP_PROCESS; a.fd = kfd }) }),
    ]
}
