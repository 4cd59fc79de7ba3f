// SPDX-License-Identifier: MIT OR Apache-2.0
//! SVM, SET_XNACK_MODE, CRIU_OP, SMI_EVENTS, CREATE_PROCESS.

use super::*;
use crate::row::{row, Answer, Row};
use rkfd_uapi::criu::{self, CriuArgs};
use rkfd_uapi::ioctl::{self as requests, ioc, READ_WRITE, TYPE};
use rkfd_uapi::smi::SmiEventsArgs;
use rkfd_uapi::svm::{SetXnackModeArgs, SvmArgs};

const SVM_SIZE: usize = 24;

/// SVM with `room` attributes behind the structure.
fn svm(c: &mut Ctx, room: usize, args: SvmArgs) -> Answer {
    let mut buffer = vec![0u8; SVM_SIZE + 8 * room];
    buffer[..SVM_SIZE].copy_from_slice(&sys::bytes(&args));
    let cmd = ioc(READ_WRITE, TYPE, 0x20, buffer.len());
    Ok(Got::Errno(c.watched(|c| {
        sys::ioctl(&c.kfd, cmd, sys::address(&mut buffer[..]))
    })))
}

fn range(start_addr: u64, size: u64, nattr: u32) -> SvmArgs {
    SvmArgs {
        start_addr,
        size,
        op: 0,
        nattr,
    }
}

fn xnack(c: &mut Ctx, xnack_enabled: i32) -> (Got, i32) {
    let mut args = SetXnackModeArgs { xnack_enabled };
    (
        c.call(&requests::SET_XNACK_MODE, &mut args),
        args.xnack_enabled,
    )
}

fn op(c: &mut Ctx, args: CriuArgs) -> Answer {
    Ok(c.call(&requests::CRIU_OP, &mut { args }))
}

/// RESUME of a living process that has KFD open and a VM.
fn other_resumed(c: &mut Ctx) -> Answer {
    let node = c.node.clone();
    let mut ready = sys::pipe().map_err(|e| format!("pipe: errno {e}"))?;
    let pid = match sys::fork() {
        None => {
            sys::alarm(STALLED);
            let _other = Ctx::new(&node, crate::row::Needs::Vm);
            let _ = std::io::Write::write_all(&mut ready.1, b"x");
            loop {
                std::thread::park();
            }
        }
        Some(pid) => pid,
    };
    let mut byte = [0];
    let came = std::io::Read::read_exact(&mut ready.0, &mut byte);
    let answer = op(
        c,
        CriuArgs {
            op: criu::OP_RESUME,
            pid: pid as u32,
            ..Default::default()
        },
    );
    sys::kill(pid, libc::SIGKILL);
    sys::wait(pid);
    came.map_err(|e| format!("the other process: {e}"))?;
    answer
}

fn criu_op(c: &mut Ctx, op_: u32) -> Answer {
    op(
        c,
        CriuArgs {
            op: op_,
            ..Default::default()
        },
    )
}

pub(super) fn unprivileged(c: &mut Ctx, f: impl FnOnce(&mut Ctx) -> i32) -> Answer {
    Ok(Got::Errno(forked_same(c, f)))
}

/// Runs without capabilities in this process, which is the row's last act.
fn forked_same(c: &mut Ctx, f: impl FnOnce(&mut Ctx) -> i32) -> i32 {
    match sys::drop_privileges() {
        0 => f(c),
        e => 1000 + e,
    }
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    const fn no_svm(full: i32) -> Want { Want::Unsupported(libc::EPERM, full) }
    const S: &str = "SVM";
    const X: &str = "SET_XNACK_MODE";
    const C: &str = "CRIU_OP";
    vec![
        row(S, "one attribute, without room for it", EINVAL, "kfd_chardev.c:1754", |c| svm(c, 0, range(0x10000, 4096, 1))),
        row(S, "three attributes, room for two", EINVAL, "kfd_chardev.c:1754", |c| svm(c, 2, range(0x10000, 4096, 3))),
        row(S, "2^32 - 1 attributes", EINVAL, "kfd_chardev.c:1754", |c| svm(c, 2, range(0x10000, 4096, u32::MAX))),
        row(S, "size 16: not even the structure", EINVAL, "kfd_chardev.c:1754", |c| { let mut b = [0u8; 24]; Ok(Got::Errno(sys::ioctl(&c.kfd, ioc(READ_WRITE, TYPE, 0x20, 16), sys::address(&mut b)))) }),
        row(S, "size 0", EINVAL, "kfd_chardev.c:1754", |c| Ok(Got::Errno(sys::ioctl(&c.kfd, ioc(READ_WRITE, TYPE, 0x20, 0), 0)))),
        row(S, "address 0", EFAULT, "kfd_chardev.c:3713", |c| Ok(Got::Errno(sys::ioctl(&c.kfd, requests::SVM.command(), 0)))),
        row(S, "a range at which there is no memory", no_svm(libc::EFAULT), "kfd_chardev.c:1826", |c| svm(c, 1, range(0x10000, 4096, 1))),
        row(S, "a range that is not aligned", no_svm(libc::EINVAL), "kfd_chardev.c:1826", |c| svm(c, 0, range(0x10001, 4096, 0))),
        row(S, "a range of size 0", no_svm(libc::EINVAL), "kfd_chardev.c:1826", |c| svm(c, 0, range(0x10000, 0, 0))),
        // XNACK modes belong to SVM: a build without it refuses every mode and the query.
        row(X, "query", no_svm(0), "kfd_chardev.c:1819", |c| Ok(xnack(c, -1).0)),
        row(X, "query: the answer is not touched", is(-1i64 as u64), "kfd_chardev.c:1819", |c| Ok(Got::Value(xnack(c, -1).1 as i64 as u64))),
        row(X, "query -5", no_svm(0), "kfd_chardev.c:1819", |c| Ok(xnack(c, -5).0)),
        row(X, "query with a queue", no_svm(0), "kfd_chardev.c:1819", |c| Ok(xnack(c, -1).0)).queue(),
        row(X, "off, which it is", no_svm(0), "kfd_chardev.c:1819", |c| Ok(xnack(c, 0).0)),
        row(X, "off, with a queue", no_svm(libc::EBUSY), "kfd_chardev.c:1819", |c| Ok(xnack(c, 0).0)).queue(),
        row(X, "on, with a queue", no_svm(libc::EBUSY), "kfd_chardev.c:1819", |c| Ok(xnack(c, 1).0)).queue(),
        row(X, "on", no_svm(0), "kfd_chardev.c:1819", |c| Ok(xnack(c, 1).0)),
        row(X, "the topology has no SVM either", is(0), "include/uapi/linux/kfd_sysfs.h: HSA_CAP_SVMAPI_SUPPORTED", |c| Ok(Got::Value((c.node.capability >> 27) & 1))),
        row(C, "without capabilities", EACCES, "kfd_chardev.c:3693", |c| unprivileged(c, |c| c.raw(&requests::CRIU_OP, &mut CriuArgs { op: 99, ..Default::default() }))),
        row(C, "without capabilities, address 0", EACCES, "kfd_chardev.c:3693", |c| unprivileged(c, |c| sys::ioctl(&c.kfd, requests::CRIU_OP.command(), 0))),
        row(C, "unknown operation", EINVAL, "kfd_chardev.c:2945", |c| criu_op(c, 5)),
        row(C, "operation 2^32 - 1", EINVAL, "kfd_chardev.c:2945", |c| criu_op(c, u32::MAX)),
        row(C, "CHECKPOINT without buffers", EINVAL, "kfd_chardev.c:2261", |c| criu_op(c, criu::OP_CHECKPOINT)),
        row(C, "CHECKPOINT without PROCESS_INFO", EINVAL, "kfd_chardev.c:2273", |c| op(c, CriuArgs { op: criu::OP_CHECKPOINT, devices: 4096, bos: 4096, priv_data: 4096, ..Default::default() })),
        row(C, "UNPAUSE without PROCESS_INFO", EINVAL, "kfd_chardev.c:2814", |c| criu_op(c, criu::OP_UNPAUSE)),
        row(C, "RESTORE without buffers", EINVAL, "kfd_chardev.c:2760", |c| criu_op(c, criu::OP_RESTORE)),
        row(C, "RESUME of an unknown process", ESRCH, "kfd_chardev.c:2844", |c| op(c, CriuArgs { op: criu::OP_RESUME, pid: 0x3fff_ffff, ..Default::default() })),
        row(C, "RESUME of process 0", ESRCH, "kfd_chardev.c:2844", |c| criu_op(c, criu::OP_RESUME)),
        row(C, "RESUME of a process without KFD", ESRCH, "kfd_chardev.c:2854", |c| op(c, CriuArgs { op: criu::OP_RESUME, pid: 1, ..Default::default() })),
        row(C, "RESUME of this process, which is not restored", EINVAL, "../amdgpu/amdgpu_amdkfd_gpuvm.c:1665", |c| op(c, CriuArgs { op: criu::OP_RESUME, pid: sys::pid(), ..Default::default() })),
        row(C, "RESUME of another process, which is not restored", EINVAL, "../amdgpu/amdgpu_amdkfd_gpuvm.c:1652", other_resumed),
        row(C, "PROCESS_INFO", Want::Unsupported(libc::EINVAL, 0), "kfd_chardev.c:2875", |c| criu_op(c, criu::OP_PROCESS_INFO)),
        row("SMI_EVENTS", "unknown GPU", EINVAL, "kfd_chardev.c:1744", |c| Ok(c.call(&requests::SMI_EVENTS, &mut SmiEventsArgs { gpuid: 0xdead, anon_fd: 0 }))),
        row("SMI_EVENTS", "GPU 0", EINVAL, "kfd_chardev.c:1744", |c| Ok(c.call(&requests::SMI_EVENTS, &mut SmiEventsArgs::default()))),
        row("SMI_EVENTS", "the GPU", Want::Unsupported(libc::ENOMEM, 0), "kfd_smi_events.c:408", |c| { let mut a = SmiEventsArgs { gpuid: c.gpu, anon_fd: 0 }; Ok(c.call(&requests::SMI_EVENTS, &mut a)) }),
        row("CREATE_PROCESS", "a secondary process", Want::Unsupported(libc::EINVAL, 0), "kfd_chardev.c:3353", |c| Ok(Got::Errno(c.watched(|c| sys::ioctl(&c.kfd, requests::CREATE_PROCESS.command(), 0))))),
    ]
}
