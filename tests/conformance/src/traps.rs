// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rows that imitate a faulty driver. The judge must fail every one of them.

use crate::fixture::GTT;
use crate::row::{row, Got, Row, Want};

pub(crate) fn rows() -> Vec<Row> {
    const WANT: Want = Want::Errno(libc::EINVAL);
    vec![
        row("trap", "an event is left behind", WANT, "", |c| {
            Ok(Got::Errno(c.watched(|c| {
                let _ = c.signal(false).and(c.event(8, false));
                libc::EINVAL
            })))
        }),
        row("trap", "a buffer is left behind", WANT, "", |c| {
            Ok(Got::Errno(c.watched(|c| {
                let _ = c.unmapped_bo(4096, GTT);
                libc::EINVAL
            })))
        }),
        row("trap", "VRAM is left behind", WANT, "", |c| {
            Ok(Got::Errno(c.watched(|c| {
                let _ = c.unmapped_bo(4 << 20, crate::fixture::VRAM);
                libc::EINVAL
            })))
        }),
        row("trap", "a queue is left behind", WANT, "", |c| {
            Ok(Got::Errno(c.watched(|c| {
                let _ = c.new_queue(|a| a.queue_percentage = 0);
                libc::EINVAL
            })))
        })
        .buffers(),
        row("trap", "a panic", WANT, "", |_| panic!("on purpose")),
        row("trap", "a process that ends", WANT, "", |_| {
            rkfd_bare::sys::exit(0)
        }),
        row("trap", "a process that is killed", WANT, "", |_| {
            rkfd_bare::sys::kill(rkfd_bare::sys::pid() as i32, libc::SIGKILL);
            Ok(Got::Errno(libc::EINVAL))
        }),
        row("trap", "preparation fails", WANT, "", |_| {
            Err("on purpose".into())
        }),
        row("trap", "a value for an errno", WANT, "", |_| {
            Ok(Got::Value(libc::EINVAL as u64))
        }),
    ]
}
