// SPDX-License-Identifier: MIT OR Apache-2.0
//! RUNTIME_ENABLE, DBG_TRAP, and the debug requests that Linux has dropped.

use super::*;
use crate::row::{row, Answer, Row};
use rkfd_uapi::debug::{self as abi, DbgTrapArgs, RuntimeEnableArgs};
use rkfd_uapi::ioctl::{self as requests, ioc, READ_WRITE, TYPE};

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
    const NO_HWS: &str = "kfd_chardev.c:3124";
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
        row(T, "enable of an unknown process", Want::Unsupported(libc::EINVAL, libc::ESRCH), NO_HWS, |c| trap(c, 0x3fff_ffff, abi::OP_ENABLE)),
        row(T, "enable of this process, no such descriptor", Want::Unsupported(libc::EINVAL, libc::EBADF), NO_HWS, |c| trap(c, sys::pid(), abi::OP_ENABLE)),
        row(T, "disable of this process, which is not debugged", EINVAL, "kfd_chardev.c:3194", |c| trap(c, sys::pid(), abi::OP_DISABLE)),
        row(T, "suspend queues, which is not debugged", EINVAL, "kfd_chardev.c:3194", |c| trap(c, sys::pid(), abi::OP_SUSPEND_QUEUES)),
        row(T, "snapshot of the devices, which is not debugged", EINVAL, "kfd_chardev.c:3194", |c| trap(c, sys::pid(), abi::OP_GET_DEVICE_SNAPSHOT)),
        row(T, "unknown operation", EINVAL, "kfd_chardev.c:3194", |c| trap(c, sys::pid(), 99)),
        row(T, "address 0", EFAULT, "kfd_chardev.c:3713", |c| Ok(Got::Errno(sys::ioctl(&c.kfd, requests::DBG_TRAP.command(), 0)))),
    ]
}
